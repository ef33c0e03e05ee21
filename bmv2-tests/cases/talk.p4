// What the data plane and the control plane tell each other beside tables: a value set of the parser, digests; and the
// queue a packet waits in. The parser notes in `sets` whether the set matched. Every packet goes to port 1.
#include <core.p4>
#include <v1model.p4>

header talk_t {
    bit<8>  kind;
    bit<8>  op;
    bit<16> a;
    bit<8>  sets;
}

struct headers_t {
    talk_t t;
}

struct meta_t {
    bit<8> sets;
}

struct seen_t {
    bit<16> a;
    bit<8>  op;
    bit<9>  port;
}

struct odd_t {
    bit<3>  low;
    int<7>  high;
}

#include "plumbing.p4"

parser P(packet_in pkt, out headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    value_set<bit<8>>(4) plain;

    state start {
        pkt.extract(hdr.t);
        transition select(hdr.t.kind) {
            plain: in_plain;
            default: accept;
        }
    }
    state in_plain {
        meta.sets = 1;
        transition accept;
    }
}

control Ing(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = 1;
        hdr.t.sets = meta.sets;
        if (hdr.t.op == 1) {
            digest<seen_t>(1, { hdr.t.a, hdr.t.op, sm.ingress_port });
            hdr.t.a = 0; // the message has the values of the call
        } else if (hdr.t.op == 2) {
            digest<odd_t>(1, { hdr.t.a[2:0], (int<7>) hdr.t.a[9:3] });
        } else if (hdr.t.op == 3) {
            digest<seen_t>(1, { hdr.t.a, hdr.t.op, sm.ingress_port });
            mark_to_drop(sm); // the message is sent all the same
        } else if (hdr.t.op == 5) {
            digest<seen_t>(1, { hdr.t.a, hdr.t.op, sm.ingress_port });
            digest<seen_t>(1, { hdr.t.a + 1, hdr.t.op, sm.ingress_port }); // the last counts
        } else if (hdr.t.op == 4) {
            sm.priority = (bit<3>) hdr.t.a;
        }
    }
}

control Eg(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    apply { }
}

control Dep(packet_out pkt, in headers_t hdr) {
    apply {
        pkt.emit(hdr.t);
    }
}

V1Switch(P(), NoVerify(), Ing(), Eg(), NoUpdate(), Dep()) main;
