#include "net.p4"

struct headers_t {
    ethernet_t ethernet;
    ipv4_t     ipv4;
    ports_t    ports;
}

struct metadata_t {
    bit<16> group;
    bit<16> ways;
    bit<16> way;
}

parser TheParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            ETHERTYPE_IPV4: parse_ipv4;
            default: accept;
        }
    }
    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.protocol) {
            6: parse_ports;
            17: parse_ports;
            default: accept;
        }
    }
    state parse_ports {
        packet.extract(hdr.ports);
        transition accept;
    }
}

control Verify(inout headers_t hdr, inout metadata_t meta) { apply { } }

control TheIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    action drop() {
        mark_to_drop(standard_metadata);
    }

    action set_group(bit<16> group, bit<16> ways) {
        meta.group = group;
        meta.ways = ways;
    }

    action forward(bit<48> mac, bit<9> port) {
        hdr.ethernet.dst = mac;
        standard_metadata.egress_spec = port;
    }

    table groups {
        key = { hdr.ipv4.dst: lpm; }
        actions = { set_group; drop; }
        default_action = drop();
    }

    table ways {
        key = {
            meta.group: exact;
            meta.way: exact;
        }
        actions = { forward; drop; }
        default_action = drop();
    }

    apply {
        if (!hdr.ipv4.isValid() || !groups.apply().hit) {
            drop();
            return;
        }
        if (hdr.ports.isValid()) {
            hash(meta.way, HashAlgorithm.crc16, (bit<16>) 0,
                { hdr.ipv4.src, hdr.ipv4.dst, hdr.ipv4.protocol, hdr.ports.src, hdr.ports.dst }, meta.ways);
        }
        ways.apply();
    }
}

control TheEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply { }
}

control Compute(inout headers_t hdr, inout metadata_t meta) {
    apply {
        // The checksum stays right: nothing in the header of IPv4 changes.
    }
}

control TheDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.ports);
    }
}

V1Switch(TheParser(), Verify(), TheIngress(), TheEgress(), Compute(), TheDeparser()) main;
