// The program of `switchwright bench ports`: a learning-free L2 switch. One exact table on the destination
// address says where a frame leaves; what it does not know is dropped. Entries are part of the program, so that
// every contender runs the same without a controller.
#include <core.p4>
#include <v1model.p4>

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> type;
}

struct headers_t {
    ethernet_t ethernet;
}

struct metadata_t { }

parser Parse(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.ethernet);
        transition accept;
    }
}

control Verify(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control Forward(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    action drop() {
        mark_to_drop(std);
    }

    action forward(bit<9> port) {
        std.egress_spec = port;
    }

    table where_to {
        key = {
            hdr.ethernet.dst: exact;
        }
        actions = {
            forward;
            drop;
        }
        const default_action = drop();
        const entries = {
            0x020000000001: forward(1);
            0x020000000002: forward(2);
        }
    }

    apply {
        where_to.apply();
    }
}

control Leave(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply { }
}

control Compute(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control Deparse(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
    }
}

V1Switch(Parse(), Verify(), Forward(), Leave(), Compute(), Deparse()) main;
