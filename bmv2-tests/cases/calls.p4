// Where an argument is, is decided before the call: nothing that a later argument, the callee or an earlier copy out
// changes can move it. `what` chooses the shape of the call.
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
    c_t    c;
    e_t[4] s;
}

struct meta_t { }

#include "plumbing.p4"

// Moves its first argument on; the second gets what it was and a mark.
void mark(inout bit<8> at, inout bit<8> x) {
    at = at + 1;
    x = x + 0xc0;
}

void mark_half(inout bit<8> at, inout bit<4> x) {
    at = at + 1;
    x = x + 0xc;
}

void mark_out(out bit<8> at, out bit<8> x) {
    at = 3;
    x = 0xc0;
}

// Moves its argument on and returns what it was.
bit<8> next(inout bit<8> at) {
    at = at + 1;
    return at - 1;
}

bit<2> next_index(inout bit<8> at) {
    at = at + 1;
    return (at - 1)[1:0];
}

bit<8> minus(in bit<8> x, in bit<8> y) {
    return x - y;
}

bit<8> keep(inout bit<8> x, in bit<8> y) {
    bit<8> old = x;
    x = y;
    return old;
}

void two(inout bit<8> x, inout bit<8> y) {
    x = x + 1;
    y = y + 0x10;
}

void low_then_all(out bit<4> low, inout bit<8> all) {
    low = 0xf;
    all = all + 0x20;
}

parser P(packet_in pkt, out headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    state start {
        pkt.extract(hdr.c);
        pkt.extract(hdr.s.next);
        pkt.extract(hdr.s.next);
        pkt.extract(hdr.s.next);
        pkt.extract(hdr.s.next);
        transition accept;
    }
}

control Mark(inout bit<8> at, inout bit<8> x) {
    apply {
        at = at + 1;
        x = x + 0xc0;
    }
}

control Leave(inout bit<8> at, inout bit<8> x, inout bit<4> half) {
    apply {
        at = at + 1;
        x = x + 0xc0;
        half = half + 1;
        if (at != 0) {
            exit;
        }
        x = 0;
    }
}

control Ing(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    Mark() marks;
    Leave() leave;

    // Changes what the index of its argument is made of, behind the back of the call.
    action touch(inout bit<8> x) {
        hdr.c.a = hdr.c.a + 1;
        x = x + 0xc0;
    }

    action leave_action(inout bit<8> x, inout bit<4> half) {
        hdr.c.a = hdr.c.a + 1;
        x = x + 0xc0;
        half = half + 1;
        exit;
    }

    table bound {
        key = { hdr.c.what : exact; }
        actions = { touch(hdr.s[hdr.c.a[1:0]].v); }
        const default_action = touch(hdr.s[hdr.c.a[1:0]].v);
    }

    action found() { hdr.c.b = 0xbb; }
    action missed() { hdr.c.b = 0xee; }
    // The first key is looked up as it was before the second was computed.
    table keys {
        key = {
            hdr.c.a : exact @name("first");
            next(hdr.c.a) : exact @name("second");
            hdr.c.a : exact @name("third");
        }
        actions = { found; missed; }
        const default_action = missed;
        const entries = { (1, 1, 2) : found; }
    }

    apply {
        sm.egress_spec = 1;
        if (hdr.c.what == 1) {
            mark(hdr.c.a, hdr.s[hdr.c.a[1:0]].v);
        } else if (hdr.c.what == 2) {
            touch(hdr.s[hdr.c.a[1:0]].v);
        } else if (hdr.c.what == 3) {
            marks.apply(hdr.c.a, hdr.s[hdr.c.a[1:0]].v);
        } else if (hdr.c.what == 5) {
            mark_half(hdr.c.a, hdr.s[hdr.c.a[1:0]].v[7:4]);
        } else if (hdr.c.what == 6) {
            mark(hdr.c.a, hdr.s[next_index(hdr.c.a)].v);
        } else if (hdr.c.what == 7) {
            hdr.s[hdr.c.a[1:0]].v = next(hdr.c.a);
        } else if (hdr.c.what == 8) {
            hdr.s[0].w = minus(hdr.c.a, next(hdr.c.a));
            hdr.s[1].w = keep(hdr.c.b, next(hdr.c.b));
        } else if (hdr.c.what == 9) {
            mark_out(hdr.c.a, hdr.s[hdr.c.a[1:0]].v);
        } else if (hdr.c.what == 10) {
            bound.apply();
        } else if (hdr.c.what == 11) {
            two(hdr.c.b, hdr.c.b);
            low_then_all(hdr.s[3].v[3:0], hdr.s[3].v);
        } else if (hdr.c.what == 12) {
            leave.apply(hdr.c.a, hdr.s[hdr.c.a[1:0]].v, hdr.s[hdr.c.a[1:0]].w[3:0]);
        } else if (hdr.c.what == 13) {
            leave_action(hdr.s[hdr.c.a[1:0]].v, hdr.s[hdr.c.a[1:0]].w[7:4]);
        } else if (hdr.c.what == 15) {
            keys.apply();
        } else if (hdr.c.what == 16) {
            // The element that the first argument leads to is the one that the second changes.
            mark(hdr.s[hdr.s[0].v[1:0]].v, hdr.s[0].v);
        } else if (hdr.c.what == 17) {
            hdr.s[next_index(hdr.c.a)].v = hdr.s[next_index(hdr.c.a)].w;
        } else if (hdr.c.what == 18) {
            hdr.s[hdr.c.a[1:0]].v += next(hdr.c.a);
        }
    }
}

control Eg(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    apply { }
}

control Dep(packet_out pkt, in headers_t hdr) {
    apply {
        pkt.emit(hdr.c);
        pkt.emit(hdr.s);
    }
}

V1Switch(P(), NoVerify(), Ing(), Eg(), NoUpdate(), Dep()) main;
