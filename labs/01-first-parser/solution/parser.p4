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
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            GREETING: look;
            default: accept;
        }
    }
    state look {
        transition select(packet.lookahead<bit<8>>()) {
            1: parse_greeting;
            default: accept;
        }
    }
    state parse_greeting {
        packet.extract(hdr.greeting);
        transition accept;
    }
}

control Verify(inout headers_t hdr, inout metadata_t meta) { apply { } }

control TheIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        if (hdr.greeting.isValid() && hdr.greeting.kind == HELLO) {
            hdr.greeting.kind = ANSWER;
            hdr.greeting.number = hdr.greeting.number + 1;
            standard_metadata.egress_spec = standard_metadata.ingress_port;
        } else if (hdr.ethernet.ether_type == GREETING) {
            mark_to_drop(standard_metadata);
        } else {
            standard_metadata.egress_spec = 9;
        }
    }
}

control TheEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) { apply { } }

control Compute(inout headers_t hdr, inout metadata_t meta) { apply { } }

control TheDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.greeting);
    }
}

V1Switch(TheParser(), Verify(), TheIngress(), TheEgress(), Compute(), TheDeparser()) main;
