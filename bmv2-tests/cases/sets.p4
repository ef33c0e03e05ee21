// Value sets of several fields, which match as annotations say; the file for BMv2 has no place for these. The parser notes in
// `sets` which sets matched. Every packet goes to port 1.
#include <core.p4>
#include <v1model.p4>

header sets_t {
    bit<8>  kind;
    bit<8>  op;
    bit<16> a;
    bit<8>  sets;
}

struct headers_t {
    sets_t t;
}

struct meta_t {
    bit<8> sets;
}

struct pair_t {
    bit<8> kind;
    @match(ternary)
    bit<16> a;
}

#include "plumbing.p4"

parser P(packet_in pkt, out headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    value_set<bit<8>>(4) plain;
    value_set<pair_t>(4) pairs;

    state start {
        pkt.extract(hdr.t);
        transition select(hdr.t.kind) {
            plain: in_plain;
            default: look_at_pairs;
        }
    }
    state in_plain {
        meta.sets = meta.sets | 1;
        transition look_at_pairs;
    }
    state look_at_pairs {
        transition select(hdr.t.kind, hdr.t.a) {
            (0xee, 0xffff): accept; // before the set: it never sees these
            pairs: in_pairs;
            default: accept;
        }
    }
    state in_pairs {
        meta.sets = meta.sets | 2;
        transition accept;
    }
}

control Ing(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = 1;
        hdr.t.sets = meta.sets;
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
