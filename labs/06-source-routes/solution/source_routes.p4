#include "net.p4"

header hop_t {
    bit<1> last;
    bit<7> port;
}

header inner_t {
    bit<16> ether_type;
}

struct headers_t {
    ethernet_t ethernet;
    hop_t[8]   hops;
    inner_t    inner;
}

struct metadata_t {

}

parser TheParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            0x88b7: parse_hop;
            default: accept;
        }
    }
    state parse_hop {
        packet.extract(hdr.hops.next);
        transition select(hdr.hops.last.last) {
            0: parse_hop;
            default: parse_inner;
        }
    }
    state parse_inner {
        packet.extract(hdr.inner);
        transition accept;
    }
}

control Verify(inout headers_t hdr, inout metadata_t meta) { apply { } }

control TheIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    action drop() {
        mark_to_drop(standard_metadata);
    }

    action set_route(bit<7> first, bit<7> second) {
        hdr.hops.push_front(1);
        hdr.hops[0].setValid();
        hdr.hops[0].last = 1;
        hdr.hops[0].port = second;
        hdr.inner.setValid();
        hdr.inner.ether_type = hdr.ethernet.ether_type;
        hdr.ethernet.ether_type = 0x88b7;
        standard_metadata.egress_spec = (bit<9>) first;
    }

    table routes {
        key = { hdr.ethernet.dst: exact; }
        actions = { set_route; drop; }
        default_action = drop();
    }

    apply {
        if (standard_metadata.parser_error != error.NoError) {
            drop();
        } else if (hdr.hops[0].isValid()) {
            standard_metadata.egress_spec = (bit<9>) hdr.hops[0].port;
            if (hdr.hops[0].last == 1) {
                hdr.ethernet.ether_type = hdr.inner.ether_type;
                hdr.inner.setInvalid();
            }
            hdr.hops.pop_front(1);
        } else if (standard_metadata.ingress_port == 0) {
            routes.apply();
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
        packet.emit(hdr);
    }
}

V1Switch(TheParser(), Verify(), TheIngress(), TheEgress(), Compute(), TheDeparser()) main;
