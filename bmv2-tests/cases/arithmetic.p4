// P4's arithmetic on two operands, one operation a packet, in widths that are not machine words.
#include <core.p4>
#include <v1model.p4>

header calc_t {
    bit<8>   op;
    bit<8>   a;
    bit<8>   b;
    bit<8>   r;
}

header wide_t {
    bit<136> x;
    bit<136> y;
}

struct headers_t {
    calc_t c;
    wide_t w;
}

struct meta_t { }

#include "plumbing.p4"

parser P(packet_in pkt, out headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    state start {
        pkt.extract(hdr.c);
        transition select(hdr.c.op) {
            0x80 &&& 0x80: wide;
            default: accept;
        }
    }
    state wide {
        pkt.extract(hdr.w);
        transition accept;
    }
}

control Ing(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = 1;
        bit<8> a = hdr.c.a;
        bit<8> b = hdr.c.b;
        int<8> sa = (int<8>) a;
        int<8> sb = (int<8>) b;
        bit<8> r = 0;
        if (hdr.c.op == 1) { r = a + b; }
        else if (hdr.c.op == 2) { r = a - b; }
        else if (hdr.c.op == 3) { r = a * b; }
        else if (hdr.c.op == 4) { r = a |+| b; }
        else if (hdr.c.op == 5) { r = a |-| b; }
        else if (hdr.c.op == 6) { r = (bit<8>) (sa |+| sb); }
        else if (hdr.c.op == 7) { r = (bit<8>) (sa |-| sb); }
        else if (hdr.c.op == 8) { r = a << b; }
        else if (hdr.c.op == 9) { r = a >> b; }
        else if (hdr.c.op == 10) { r = (bit<8>) (sa >> b); }
        else if (hdr.c.op == 11) { r = (sa < sb) ? 8w1 : 8w0; }
        else if (hdr.c.op == 12) { r = (a < b) ? 8w1 : 8w0; }
        else if (hdr.c.op == 13) { r = (a ^ b) & ~(a | b); }
        else if (hdr.c.op == 14) { r = -a; }
        else if (hdr.c.op == 15) { r = a[3:0] ++ b[7:4]; }
        else if (hdr.c.op == 16) { r = a; r[5:2] = b[3:0]; }
        else if (hdr.c.op == 17) { r = (bit<8>) (int<8>) ((int<12>) sa >> 4); }
        else if (hdr.c.op == 18) { bit<3> t = a[2:0]; t = t + b[2:0]; r = (bit<8>) t; }
        else if (hdr.c.op == 0x81) { hdr.w.x = hdr.w.x + hdr.w.y; }
        else if (hdr.c.op == 0x82) { hdr.w.x = hdr.w.x << b; }
        else if (hdr.c.op == 0x83) { hdr.w.x = hdr.w.x - hdr.w.y; }
        else if (hdr.c.op == 0x84) { hdr.w.x = hdr.w.y[7:0] ++ hdr.w.x[135:8]; }
        hdr.c.r = r;
    }
}

control Eg(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    apply { }
}

control Dep(packet_out pkt, in headers_t hdr) {
    apply {
        pkt.emit(hdr.c);
        pkt.emit(hdr.w);
    }
}

V1Switch(P(), NoVerify(), Ing(), Eg(), NoUpdate(), Dep()) main;
