// Large tables of every match kind, a selector with large groups. `bmv2_tests::many` makes the entries and packets and
// knows the answers. The packet names the table; the action writes `result`. Every packet goes back to port 1.
#include <core.p4>
#include <v1model.p4>

header query_t {
    bit<8>  which;
    bit<16> result;
    bit<16> a;
    bit<32> b;
    bit<48> c;
}

struct headers_t {
    query_t q;
}

struct meta_t { }

#include "plumbing.p4"

parser P(packet_in pkt, out headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    state start {
        pkt.extract(hdr.q);
        transition accept;
    }
}

control Ing(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    @name("pick") action_selector(HashAlgorithm.identity, 8192, 16) pick;

    action answer(bit<16> value) {
        hdr.q.result = value;
    }

    table exact_many {
        key = { hdr.q.c : exact; hdr.q.a : exact; }
        actions = { answer; }
        default_action = answer(0xffff);
        size = 8192;
    }
    table lpm_many {
        key = { hdr.q.b : lpm; }
        actions = { answer; }
        default_action = answer(0xffff);
        size = 8192;
    }
    table exact_lpm_many {
        key = { hdr.q.a : exact; hdr.q.b : lpm; }
        actions = { answer; }
        default_action = answer(0xffff);
        size = 8192;
    }
    table ternary_many {
        key = { hdr.q.b : ternary; hdr.q.c : ternary; }
        actions = { answer; }
        default_action = answer(0xffff);
        size = 8192;
    }
    table range_many {
        key = { hdr.q.a : range; hdr.q.b : range; }
        actions = { answer; }
        default_action = answer(0xffff);
        size = 8192;
    }
    table optional_many {
        key = { hdr.q.a : optional; hdr.q.b : optional; }
        actions = { answer; }
        default_action = answer(0xffff);
        size = 8192;
    }
    table mixed_many {
        key = { hdr.q.a : range; hdr.q.b : lpm; hdr.q.c : ternary; hdr.q.which : exact; }
        actions = { answer; }
        default_action = answer(0xffff);
        size = 8192;
    }
    table select_many {
        key = { hdr.q.a : exact; hdr.q.c : selector; }
        actions = { answer; }
        implementation = pick;
        size = 8192;
    }

    apply {
        sm.egress_spec = 1;
        switch (hdr.q.which) {
            1: { exact_many.apply(); }
            2: { lpm_many.apply(); }
            3: { exact_lpm_many.apply(); }
            4: { ternary_many.apply(); }
            5: { range_many.apply(); }
            6: { optional_many.apply(); }
            7: { mixed_many.apply(); }
            8: { select_many.apply(); }
            default: { mark_to_drop(sm); }
        }
    }
}

control Eg(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    apply { }
}

control Dep(packet_out pkt, in headers_t hdr) {
    apply {
        pkt.emit(hdr.q);
    }
}

V1Switch(P(), NoVerify(), Ing(), Eg(), NoUpdate(), Dep()) main;
