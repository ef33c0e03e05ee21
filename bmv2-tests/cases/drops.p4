// `mark_to_drop` acts on the standard metadata that it is given: the packet's own, a parameter, or a copy.
#include <core.p4>
#include <v1model.p4>

header c_t {
    bit<8>  what;
    bit<16> spec;   // egress_spec of the copy
}

struct headers_t {
    c_t c;
}

struct meta_t {
    standard_metadata_t copy;
}

#include "plumbing.p4"

void drop_by_function(inout standard_metadata_t sm) {
    mark_to_drop(sm);
}

action drop_by_parameter(inout standard_metadata_t sm) {
    mark_to_drop(sm);
}

parser P(packet_in pkt, out headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    state start {
        pkt.extract(hdr.c);
        transition accept;
    }
}

control Inner(inout standard_metadata_t sm, inout standard_metadata_t other) {
    apply { mark_to_drop(sm); }
}

control Ing(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    standard_metadata_t local = sm;
    Inner() inner;
    // Drops, and the caller's standard metadata is written by the copy at the end.
    action drop_and_keep(inout standard_metadata_t given) {
        mark_to_drop(given);
        given.egress_spec = 3;
    }
    table listed {
        key = { hdr.c.what : exact; }
        actions = { drop_by_parameter(sm); NoAction; }
        const default_action = NoAction();
        const entries = { 2 : drop_by_parameter(sm); }
    }
    apply {
        sm.egress_spec = 1;
        sm.mcast_grp = 7;
        local = sm;
        meta.copy = sm;
        if (hdr.c.what == 0) {
            drop_by_parameter(sm);
        } else if (hdr.c.what == 1) {
            drop_by_function(sm);
        } else if (hdr.c.what == 2) {
            listed.apply();
        } else if (hdr.c.what == 3) {
            // A copy of the control: the packet goes.
            mark_to_drop(local);
            hdr.c.spec = (bit<16>) local.egress_spec + (local.mcast_grp << 12);
        } else if (hdr.c.what == 4) {
            // A copy in the metadata.
            drop_by_parameter(meta.copy);
            hdr.c.spec = (bit<16>) meta.copy.egress_spec;
        } else if (hdr.c.what == 5) {
            inner.apply(sm, local);
        } else if (hdr.c.what == 6) {
            inner.apply(local, sm);
            hdr.c.spec = (bit<16>) local.egress_spec;
        } else if (hdr.c.what == 7) {
            drop_and_keep(sm);
        } else if (hdr.c.what == 8) {
            mark_to_drop(local);
            sm = local;
        } else {
            mark_to_drop(sm);
        }
        if (hdr.c.what != 7) {
            sm.mcast_grp = 0;
        }
    }
}

control Eg(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    apply { }
}

control Dep(packet_out pkt, in headers_t hdr) {
    apply { pkt.emit(hdr.c); }
}

V1Switch(P(), NoVerify(), Ing(), Eg(), NoUpdate(), Dep()) main;
