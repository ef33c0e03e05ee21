# Tells a failover program on a Tofino which ports are up, with bfrt_python (the `bfshell` of Intel's SDE or of
# open-p4studio). It goes on until it is interrupted.
#
#     SWITCHWRIGHT_BFRT=/path/to/switches/NAME/bfrt.json bfshell -b /path/to/bfrt_ports.py
#
# That a port goes down needs no control plane: the packet generator of its pipe sends a packet, which takes the port's
# bit out of the register in every pipe. This script sets that up; it writes the bits of ports that are up, at the
# beginning and whenever one comes back, and re-arms the generator for that port. SWITCHWRIGHT_PIPES (default 4) is the
# number of pipes, SWITCHWRIGHT_GENERATOR the generator's port of a pipe where it is neither 68 (Tofino 1) nor 6
# (Tofino 2), SWITCHWRIGHT_ONCE=1 ends after one round.

import json
import os
import time

path = os.environ.get("SWITCHWRIGHT_BFRT", "bfrt.json")
with open(path) as file:
    build = json.load(file)
if build["format"] != "switchwright-bfrt" or build["version"] != 1:
    raise SystemExit("%s is not a switchwright-bfrt file of version 1" % path)

PIPES = int(os.environ.get("SWITCHWRIGHT_PIPES", "4"))
APP = 1                # of the generator; 0 is left to others
GROUP = 1              # multicast, of pipe 0: PORT_DOWN_GROUP of the program
WORD = 0xFFFFFFFF
BUFFER = 64            # bytes of a generated packet; only its header counts

chip = bfrt.tf2 if hasattr(bfrt, "tf2") else bfrt.tf1
generator = int(os.environ.get("SWITCHWRIGHT_GENERATOR", "6" if hasattr(bfrt, "tf2") else "68"))
ingress = getattr(bfrt, build["program"]).pipe.ingress

# Device port -> its bits, one number a register: what `port_down` takes away.
bits = {}
for table in build["tables"]:
    if table["table"] == build["pipe"] + ".ingress.port_down":
        for entry in table["entries"]:
            others = [int(entry["data"][name], 0) for name in ("others", "others_high") if name in entry["data"]]
            bits[int(entry["key"]["port"], 0)] = [WORD & ~word for word in others]


def up(port):
    """Whether a port is up."""
    entry = bfrt.port.port.get(dev_port=port, from_hw=True, print_ents=False)
    return bool(entry.data[b"$PORT_UP"])


def registers():
    yield ingress.ports_up, "ports_up"
    if hasattr(ingress, "ports_up_high"):
        yield ingress.ports_up_high, "ports_up_high"


def write(ports):
    """These ports are up, in every pipe."""
    for number, (register, name) in enumerate(registers()):
        word = 0
        for port in ports:
            word |= bits[port][number]
        register.mod(REGISTER_INDEX=0, f1=word)


def rearm(ports):
    for port in ports:
        chip.pktgen.port_cfg.mod(dev_port=port, clear_port_down_enable=True)


def start():
    """The generator sends one packet for a port that goes down; the other pipes get it too."""
    inputs = [pipe << 7 | generator for pipe in range(PIPES)]
    for port in inputs:
        chip.pktgen.port_cfg.mod(dev_port=port, pktgen_enable=True, recirculation_enable=True)
    chip.pktgen.pkt_buffer.mod(pkt_buffer_offset=0, pkt_buffer_size=BUFFER, buffer=[0] * BUFFER)
    chip.pktgen.app_cfg.mod_with_trigger_port_down(
        app_id=APP, pkt_len=BUFFER, pkt_buffer_offset=0, pipe_local_source_port=generator,
        increment_source_port=False, batch_count_cfg=0, packets_per_batch_cfg=0, ibg=0, ipg=0, app_enable=True)
    # One group for every pipe: the ports of all others. A packet that came back would go round for ever.
    for pipe, port in enumerate(inputs):
        group = GROUP + pipe
        others = [other for other in inputs if other != port]
        bfrt.pre.node.add(MULTICAST_NODE_ID=group, MULTICAST_RID=0, MULTICAST_LAG_ID=[], DEV_PORT=others)
        bfrt.pre.mgid.add(MGID=group, MULTICAST_NODE_ID=[group],
                          MULTICAST_NODE_L1_XID_VALID=[False], MULTICAST_NODE_L1_XID=[0])


def settle():
    """Writes what is up until nothing has changed meanwhile: a write must not undo what the generator has said."""
    while True:
        before = {port for port in bits if up(port)}
        write(before)
        if {port for port in bits if up(port)} == before:
            return before


start()
rearm(bits)
known = settle()
print("%s: %d of %d ports are up" % (build["switch"], len(known), len(bits)))
while not os.environ.get("SWITCHWRIGHT_ONCE"):
    time.sleep(0.1)
    now = {port for port in bits if up(port)}
    if now - known:
        rearm(now - known)
        now = settle()
    known = now
