// Every match kind, alone and mixed. A packet names the table to apply; the table's action writes
// `result`. Every packet goes back to port 1.
#include <core.p4>
#include <v1model.p4>

header query_t {
    bit<8>  which;
    bit<8>  result;
    bit<16> a;
    bit<32> b;
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
    action answer(bit<8> value) {
        hdr.q.result = value;
    }

    table exact_two {
        key = { hdr.q.a : exact; hdr.q.b : exact; }
        actions = { answer; }
        default_action = answer(0xff);
    }
    table lpm_one {
        key = { hdr.q.b : lpm; }
        actions = { answer; }
        default_action = answer(0xff);
    }
    table exact_lpm {
        key = { hdr.q.b : lpm; hdr.q.a : exact; }
        actions = { answer; }
        default_action = answer(0xff);
    }
    table ternary_one {
        key = { hdr.q.b : ternary; }
        actions = { answer; }
        default_action = answer(0xff);
    }
    table range_one {
        key = { hdr.q.a : range; }
        actions = { answer; }
        default_action = answer(0xff);
    }
    table optional_two {
        key = { hdr.q.a : optional; hdr.q.b : optional; }
        actions = { answer; }
        default_action = answer(0xff);
    }
    table mixed {
        key = { hdr.q.a : range; hdr.q.b : lpm; }
        actions = { answer; }
        default_action = answer(0xff);
    }
    table constant {
        key = { hdr.q.b : ternary; hdr.q.a : range; }
        actions = { answer; }
        const default_action = answer(0xff);
        const entries = {
            (0x0a000000 &&& 0xff000000, 10 .. 20) : answer(1);
            (0x0a000000 &&& 0xff000000, _)        : answer(2);
            (_, 15)                               : answer(3);
        }
    }

    apply {
        sm.egress_spec = 1;
        switch (hdr.q.which) {
            1: { exact_two.apply(); }
            2: { lpm_one.apply(); }
            3: { exact_lpm.apply(); }
            4: { ternary_one.apply(); }
            5: { range_one.apply(); }
            6: { optional_two.apply(); }
            7: { mixed.apply(); }
            8: { constant.apply(); }
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
