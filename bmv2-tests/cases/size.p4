// The `size` of a table is a recommendation: one that gives more entries holds them all.
#include <core.p4>
#include <v1model.p4>

header c_t {
    bit<8> what;
}

struct headers_t {
    c_t c;
}

struct meta_t { }

#include "plumbing.p4"

parser P(packet_in pkt, out headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    state start {
        pkt.extract(hdr.c);
        transition accept;
    }
}

control Ing(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    action to(bit<9> port) { sm.egress_spec = port; }
    table constant {
        key = { hdr.c.what : exact; }
        actions = { to; NoAction; }
        size = 2;
        const default_action = NoAction();
        const entries = { 1 : to(1); 2 : to(2); 3 : to(3); }
    }
    table initial {
        key = { hdr.c.what : ternary; }
        actions = { to; NoAction; }
        size = 1;
        default_action = NoAction();
        entries = { 4 : to(4); 5 : to(5); }
    }
    apply {
        sm.egress_spec = 9;
        constant.apply();
        initial.apply();
    }
}

control Eg(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    apply { }
}

control Dep(packet_out pkt, in headers_t hdr) {
    apply { pkt.emit(hdr.c); }
}

V1Switch(P(), NoVerify(), Ing(), Eg(), NoUpdate(), Dep()) main;
