#include "net.p4"

struct headers_t {
    ethernet_t ethernet;
    ipv4_t     ipv4;
}

struct metadata_t {
    @switchwright("port_status")
    bit<8> port_status;
    bit<9> primary;
    bit<9> backup;
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
        transition accept;
    }
}

control Verify(inout headers_t hdr, inout metadata_t meta) { apply { } }

control TheIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    action drop() {
        mark_to_drop(standard_metadata);
    }

    action set_ways(bit<9> primary, bit<9> backup) {
        meta.primary = primary;
        meta.backup = backup;
    }

    table routes {
        key = { hdr.ipv4.dst: lpm; }
        actions = { set_ways; drop; }
        default_action = drop();
    }

    counter(8, CounterType.packets) detours;

    apply {
        if (!hdr.ipv4.isValid() || !routes.apply().hit) {
            drop();
            return;
        }
        if ((meta.port_status >> (bit<8>) meta.primary) & 1 == 1) {
            standard_metadata.egress_spec = meta.primary;
        } else if ((meta.port_status >> (bit<8>) meta.backup) & 1 == 1 && meta.backup != standard_metadata.ingress_port) {
            standard_metadata.egress_spec = meta.backup;
            detours.count((bit<32>) meta.primary);
        } else {
            drop();
        }
    }
}

control TheEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply { }
}

control Compute(inout headers_t hdr, inout metadata_t meta) {
    apply {

    }
}

control TheDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
    }
}

V1Switch(TheParser(), Verify(), TheIngress(), TheEgress(), Compute(), TheDeparser()) main;
