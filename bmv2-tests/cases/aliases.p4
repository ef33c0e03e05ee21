// Controls and sub-parsers that are applied at several places, with arguments that share storage: each parameter is a
// variable of its own, and of two copies out to one place the last one counts. `what` chooses the call.
#include <core.p4>
#include <v1model.p4>

header c_t {
    bit<8> what;
    bit<8> a;
    bit<8> b;
}

header e_t {
    bit<8> v;
    bit<8> w;
}

struct headers_t {
    c_t c;
    e_t h;
    e_t k;
}

struct meta_t {
    bit<8> m;
}

#include "plumbing.p4"

// Takes a header and counts it; there is one that it does not take.
parser Take(packet_in pkt, out e_t h, inout bit<8> count) {
    state start {
        pkt.extract(h);
        count = count + 1;
        transition select(h.v) {
            0xff: reject;
            default: accept;
        }
    }
}

parser Two(packet_in pkt, inout bit<8> x, inout bit<8> y) {
    state start {
        x = x + 1;
        y = y + 0x10;
        transition accept;
    }
}

parser P(packet_in pkt, out headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    Take() take;
    Two() two;

    state start {
        pkt.extract(hdr.c);
        transition select(hdr.c.what) {
            0x80 &&& 0xf0: sub_parsers;
            0x90 &&& 0xf0: counted_in_header;
            default: rest;
        }
    }
    state rest {
        take.apply(pkt, hdr.h, meta.m);
        take.apply(pkt, hdr.k, meta.m);
        transition accept;
    }
    state sub_parsers {
        two.apply(pkt, hdr.c.a, hdr.c.b);
        two.apply(pkt, hdr.c.b, hdr.c.b);
        two.apply(pkt, hdr.c.b, hdr.c.a);
        transition rest;
    }
    // The count is in a header, at last in the one that is taken.
    state counted_in_header {
        take.apply(pkt, hdr.h, hdr.c.b);
        take.apply(pkt, hdr.k, hdr.h.w);
        take.apply(pkt, hdr.h, hdr.h.w);
        transition accept;
    }
}

control Adder(inout bit<8> x, inout bit<8> y);

control Add(inout bit<8> x, inout bit<8> y) {
    apply {
        x = x + 1;
        y = y + 0x10;
    }
}

control Both(inout e_t h, in bit<8> v, out bit<8> w) {
    apply {
        h.v = h.v + 1;
        w = v + h.v;
        h.w = 0xcc;
    }
}

control Fresh(out e_t h, in e_t k) {
    apply {
        if (h.isValid()) {
            h.setInvalid();
        } else {
            h = { k.w, k.v };
        }
    }
}

control Inner(inout bit<8> x, inout bit<8> y) {
    Add() add;
    apply {
        add.apply(x, y);
        add.apply(y, x);
        add.apply(y, y);
    }
}

control Leave(inout bit<8> x, inout bit<8> y) {
    apply {
        x = x + 1;
        y = y + 0x10;
        exit;
    }
}

// Applied in two controls, which both are given it.
control Given(inout bit<8> x, inout bit<8> y)(Adder add) {
    apply {
        add.apply(y, x);
    }
}

control Ing(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    Add() add;
    Both() both;
    Fresh() fresh;
    Inner() inner;
    // Applied once: p4c fails where a control that exits is applied at two places.
    Leave() leave;
    Given(add) one;
    Given(add) other;

    apply {
        sm.egress_spec = 1;
        if (hdr.c.what == 1) {
            add.apply(hdr.c.a, hdr.c.b);
        } else if (hdr.c.what == 2) {
            add.apply(hdr.c.b, hdr.c.b);
        } else if (hdr.c.what == 3) {
            add.apply(hdr.c.b, hdr.c.a);
        } else if (hdr.c.what == 4) {
            add.apply(hdr.c.a, meta.m);
            add.apply(meta.m, hdr.c.b);
            hdr.h.v = meta.m;
        } else if (hdr.c.what == 5) {
            both.apply(hdr.h, hdr.h.v, hdr.h.w);
        } else if (hdr.c.what == 6) {
            both.apply(hdr.h, hdr.k.v, hdr.k.w);
        } else if (hdr.c.what == 7) {
            both.apply(hdr.k, hdr.h.v, hdr.h.v);
        } else if (hdr.c.what == 8) {
            fresh.apply(hdr.h, hdr.k);
        } else if (hdr.c.what == 9) {
            fresh.apply(hdr.h, hdr.h);
        } else if (hdr.c.what == 10) {
            fresh.apply(hdr.k, hdr.h);
        } else if (hdr.c.what == 11) {
            inner.apply(hdr.c.a, hdr.c.b);
        } else if (hdr.c.what == 12) {
            inner.apply(hdr.c.b, hdr.c.b);
        } else if (hdr.c.what == 14) {
            leave.apply(hdr.c.b, hdr.c.b);
        } else if (hdr.c.what == 15) {
            one.apply(hdr.c.a, hdr.c.b);
            other.apply(hdr.c.b, hdr.c.b);
        }
    }
}

control Eg(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    apply { }
}

control Dep(packet_out pkt, in headers_t hdr) {
    apply {
        pkt.emit(hdr.c);
        pkt.emit(hdr.h);
        pkt.emit(hdr.k);
    }
}

V1Switch(P(), NoVerify(), Ing(), Eg(), NoUpdate(), Dep()) main;
