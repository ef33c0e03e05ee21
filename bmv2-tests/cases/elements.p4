// Whole headers behind indices: where they are is decided before anything is written. `what` chooses the statement.
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

// Moves its first argument on; the header gets marks.
void mark(inout bit<8> at, inout e_t x) {
    at = at + 1;
    x.v = x.v + 0xc0;
    x.w = 0xcc;
}

void fresh(inout bit<8> at, out e_t x) {
    at = at + 1;
    if (!x.isValid()) {
        x.setValid();
        x.v = 0xf0;
        x.w = 0xf1;
    }
}

bit<2> next_index(inout bit<8> at) {
    at = at + 1;
    return (at - 1)[1:0];
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

control Swap(inout e_t x, inout e_t y) {
    apply {
        e_t z = x;
        x = y;
        y = z;
    }
}

control Ing(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    Swap() swap;

    apply {
        sm.egress_spec = 1;
        if (hdr.c.what == 1) {
            mark(hdr.c.a, hdr.s[hdr.c.a[1:0]]);
        } else if (hdr.c.what == 2) {
            fresh(hdr.c.a, hdr.s[hdr.c.a[1:0]]);
        } else if (hdr.c.what == 3) {
            hdr.s[hdr.s[1].v[1:0]] = { 2, 0xdd };
        } else if (hdr.c.what == 4) {
            swap.apply(hdr.s[hdr.c.a[1:0]], hdr.s[hdr.c.b[1:0]]);
        } else if (hdr.c.what == 5) {
            swap.apply(hdr.s[0], hdr.s[hdr.s[0].v[1:0]]);
        } else if (hdr.c.what == 6) {
            hdr.s[next_index(hdr.c.a)] = hdr.s[next_index(hdr.c.a)];
        } else if (hdr.c.what == 7) {
            hdr.s[0] = { 3, hdr.s[hdr.s[0].v[1:0]].w };
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
