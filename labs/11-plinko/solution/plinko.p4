#include "net.p4"

header plinko_t {
    bit<16> destination;
    bit<8>  failures;
    bit<8>  limit;
    bit<16> ether_type;
}

struct headers_t {
    ethernet_t ethernet;
    plinko_t   plinko;
}

struct metadata_t {
    @switchwright("port_status")
    bit<8> port_status;
}

parser TheParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            0x88b8: parse_plinko;
            default: accept;
        }
    }
    state parse_plinko {
        packet.extract(hdr.plinko);
        transition accept;
    }
}

control Verify(inout headers_t hdr, inout metadata_t meta) { apply { } }

control TheIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    action drop() {
        mark_to_drop(standard_metadata);
    }

    action out_by(bit<9> port) {
        standard_metadata.egress_spec = port;
    }

    action met(bit<9> port, bit<8> failures) {
        standard_metadata.egress_spec = port;
        hdr.plinko.failures = failures;
    }

    action bounce(bit<8> failures) {
        standard_metadata.egress_spec = standard_metadata.ingress_port;
        hdr.plinko.failures = failures;
    }

    action deliver(bit<9> port) {
        standard_metadata.egress_spec = port;
        hdr.ethernet.ether_type = hdr.plinko.ether_type;
        hdr.plinko.setInvalid();
    }

    table forward {
        key = {
            meta.port_status: ternary;
            hdr.plinko.destination: exact;
            hdr.plinko.failures: exact;
        }
        actions = { out_by; met; bounce; deliver; drop; }
        default_action = drop();
    }

    apply {
        if (!hdr.plinko.isValid() || hdr.plinko.limit == 0) {
            drop();
            return;
        }
        hdr.plinko.limit = hdr.plinko.limit - 1;
        forward.apply();
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
