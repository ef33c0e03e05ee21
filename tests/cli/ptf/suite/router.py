"""examples/switch/router.p4 on a running switch: the control plane by p4runtime-shell, the packets by PTF.

Test parameters: grpc (HOST:PORT), p4info and config (files).
"""

import ptf
import ptf.testutils as testutils
from ptf.base_tests import BaseTest
from ptf.mask import Mask
from ptf.packet import Ether

import p4runtime_sh.shell as sh
from p4runtime_sh.p4runtime import P4RuntimeWriteException

CPU_PORT = 255


def mac(number):
    return "02:00:00:00:00:%02x" % number


class RouterTest(BaseTest):
    """Loads the program anew for every test."""

    def setUp(self):
        super().setUp()
        self.dataplane = ptf.dataplane_instance
        self.dataplane.flush()
        given = testutils.test_params_get()
        config = sh.FwdPipeConfig(given["p4info"], given["config"])
        sh.setup(device_id=0, grpc_addr=given["grpc"], election_id=(0, 1), config=config)

    def tearDown(self):
        sh.teardown()
        super().tearDown()

    def forward(self, destination, port):
        entry = sh.TableEntry("Forward.where_to")(action="Forward.forward")
        entry.match["hdr.ethernet.dst"] = destination
        entry.action["port"] = str(port)
        entry.insert()
        return entry

    def route(self, prefix, port, next_hop):
        entry = sh.TableEntry("Forward.routes")(action="Forward.route")
        entry.match["hdr.ipv4.dst"] = prefix
        entry.action["port"] = str(port)
        entry.action["next_hop"] = next_hop
        entry.insert()
        return entry


class Forwarding(RouterTest):
    """A known address leaves where its entry says, an unknown one nowhere."""

    def runTest(self):
        entry = self.forward(mac(2), 2)
        packet = testutils.simple_tcp_packet(eth_dst=mac(2), eth_src=mac(1), ip_ttl=1)
        testutils.send_packet(self, 1, packet)
        testutils.verify_packets(self, packet, [2])
        unknown = testutils.simple_tcp_packet(eth_dst=mac(9), eth_src=mac(1), ip_ttl=1)
        testutils.send_packet(self, 1, unknown)
        testutils.verify_no_other_packets(self)
        entry.action["port"] = "3"
        entry.modify()
        testutils.send_packet(self, 1, packet)
        testutils.verify_packets(self, packet, [3])
        entry.delete()
        testutils.send_packet(self, 1, packet)
        testutils.verify_no_other_packets(self)


class Counting(RouterTest):
    """Direct counters count what the entries forwarded."""

    def runTest(self):
        entry = self.forward(mac(2), 2)
        packet = testutils.simple_udp_packet(eth_dst=mac(2), eth_src=mac(1), pktlen=200)
        for _ in range(5):
            testutils.send_packet(self, 1, packet)
            testutils.verify_packet(self, packet, 2)
        counter = sh.DirectCounterEntry("Forward.forwarded")
        counter.table_entry.match["hdr.ethernet.dst"] = mac(2)
        found = next(counter.read())
        self.assertEqual((found.packet_count, found.byte_count), (5, 1000))
        entry.delete()


class Flooding(RouterTest):
    """A multicast group reaches all ports but the one a packet came from."""

    def runTest(self):
        group = sh.MulticastGroupEntry(7)
        for port in (1, 2, 3):
            group.add(port, port)
        group.insert()
        entry = sh.TableEntry("Forward.where_to")(action="Forward.flood")
        entry.match["hdr.ethernet.dst"] = "ff:ff:ff:ff:ff:ff"
        entry.action["group"] = "7"
        entry.insert()
        packet = testutils.simple_arp_packet(eth_src=mac(1))
        testutils.send_packet(self, 1, packet)
        testutils.verify_packets(self, packet, [2, 3])


class Routing(RouterTest):
    """The longest prefix wins, TTL and addresses change, the checksum is right."""

    def runTest(self):
        self.route("10.0.0.0/8", 2, mac(0x22))
        self.route("10.1.0.0/16", 3, mac(0x33))
        for address, port, next_hop in (("10.2.0.1", 2, mac(0x22)), ("10.1.0.1", 3, mac(0x33))):
            fields = {"ip_src": "192.0.2.1", "ip_dst": address}
            packet = testutils.simple_tcp_packet(eth_dst=mac(9), eth_src=mac(1), ip_ttl=64, **fields)
            expected = testutils.simple_tcp_packet(eth_dst=next_hop, eth_src=mac(9), ip_ttl=63, **fields)
            testutils.send_packet(self, 1, packet)
            testutils.verify_packets(self, expected, [port])
        dying = testutils.simple_tcp_packet(eth_dst=mac(9), ip_dst="10.1.0.1", ip_ttl=1)
        testutils.send_packet(self, 1, dying)
        testutils.verify_no_other_packets(self)


class Controller(RouterTest):
    """Packets to the controller carry where they came in; packets from it leave where they say."""

    def runTest(self):
        entry = sh.TableEntry("Forward.routes")(action="Forward.to_controller")
        entry.match["hdr.ipv4.dst"] = "198.51.100.0/24"
        entry.insert()
        packet = testutils.simple_udp_packet(eth_dst=mac(9), eth_src=mac(1), ip_dst="198.51.100.4")
        incoming = sh.PacketIn()
        received = []
        testutils.send_packet(self, 3, packet)
        incoming.sniff(lambda message: received.append(message), timeout=3)
        self.assertEqual(len(received), 1)
        metadata = {m.metadata_id: m.value for m in received[0].packet.metadata}
        self.assertEqual(metadata[1], b"\x03")
        # The checksum is computed on the way; all else is as it was sent.
        same = Mask(packet)
        same.set_do_not_care_packet(Ether, "type")
        self.assertTrue(same.pkt_match(received[0].packet.payload))
        outgoing = sh.PacketOut(bytes(packet))
        outgoing.metadata["egress_port"] = "2"
        outgoing.metadata["padding"] = "0"
        outgoing.send()
        testutils.verify_packets(self, packet, [2])


class Refusals(RouterTest):
    """What does not fit is refused with the right code, and changes nothing."""

    def runTest(self):
        entry = self.forward(mac(2), 2)
        with self.assertRaisesRegex(P4RuntimeWriteException, "ALREADY_EXISTS"):
            entry.insert()
        gone = sh.TableEntry("Forward.where_to")(action="Forward.forward")
        gone.match["hdr.ethernet.dst"] = mac(8)
        gone.action["port"] = "1"
        with self.assertRaisesRegex(P4RuntimeWriteException, "NOT_FOUND"):
            gone.modify()
        self.assertEqual(len(list(sh.TableEntry("Forward.where_to").read())), 1)
