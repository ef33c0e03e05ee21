#include "net.p4"

const bit<16> GREETING = 0x1234;
const bit<8>  HELLO = 1;
const bit<8>  ANSWER = 2;

header greeting_t {
    bit<8>  version;
    bit<8>  kind;
    bit<16> number;
}

struct headers_t {
    ethernet_t ethernet;
    greeting_t greeting;
}

struct metadata_t { }

parser TheParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    state start {
        // TODO: Ethernet, then the greeting.
        transition accept;
    }
}

control Verify(inout headers_t hdr, inout metadata_t meta) { apply { } }

control TheIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        // TODO: answer greetings, drop those that cannot be answered.
        standard_metadata.egress_spec = 9;
    }
}

control TheEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) { apply { } }

control Compute(inout headers_t hdr, inout metadata_t meta) { apply { } }

control TheDeparser(packet_out packet, in headers_t hdr) {
    apply {
        // TODO: what was extracted is gone unless it is emitted.
    }
}

V1Switch(TheParser(), Verify(), TheIngress(), TheEgress(), Compute(), TheDeparser()) main;
