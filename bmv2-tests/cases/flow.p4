// Where control goes: hit and miss, action_run, exit and return through copies out, loops, direct
// action calls with directions.
#include <core.p4>
#include <v1model.p4>

header h_t {
    bit<8> what;
    bit<8> x;
    bit<8> y;
}

struct headers_t {
    h_t h;
}

struct meta_t { }

#include "plumbing.p4"

parser P(packet_in pkt, out headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    state start {
        pkt.extract(hdr.h);
        transition accept;
    }
}

control Inner(inout bit<8> x, out bit<8> y) {
    action leave() {
        x = x + 1;
        exit;
    }
    apply {
        y = 5;
        if (x == 7) {
            return;
        }
        if (x == 8) {
            leave();
        }
        y = 6;
    }
}

bit<8> twice(in bit<8> v) {
    if (v > 100) {
        return 200;
    }
    return v + v;
}

control Ing(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    Inner() inner;

    action set_y(bit<8> v) {
        hdr.h.y = v;
    }
    action quit() {
        hdr.h.y = 0x99;
        exit;
    }
    action swap(inout bit<8> a, inout bit<8> b) {
        bit<8> t = a;
        a = b;
        b = t;
    }
    table t {
        key = { hdr.h.x : exact; }
        actions = { set_y; quit; NoAction; }
        default_action = NoAction();
    }

    apply {
        sm.egress_spec = 1;
        if (hdr.h.what == 1) {
            if (t.apply().hit) {
                hdr.h.x = 0x11;
            } else {
                hdr.h.x = 0x22;
            }
        } else if (hdr.h.what == 2) {
            switch (t.apply().action_run) {
                set_y: { hdr.h.x = 0x33; }
                NoAction: { hdr.h.x = 0x44; }
            }
        } else if (hdr.h.what == 3) {
            inner.apply(hdr.h.x, hdr.h.y);
            hdr.h.what = 0x77;
        } else if (hdr.h.what == 4) {
            swap(hdr.h.x, hdr.h.y);
        } else if (hdr.h.what == 5) {
            bit<8> sum = 0;
            for (bit<8> i = 0; i < hdr.h.x; i = i + 1) {
                if (i == 3) {
                    continue;
                }
                if (i == 6) {
                    break;
                }
                sum = sum + i;
            }
            hdr.h.y = sum;
        } else if (hdr.h.what == 6) {
            hdr.h.y = twice(twice(hdr.h.x));
        }
    }
}

control Eg(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    apply { }
}

control Dep(packet_out pkt, in headers_t hdr) {
    apply {
        pkt.emit(hdr.h);
    }
}

V1Switch(P(), NoVerify(), Ing(), Eg(), NoUpdate(), Dep()) main;
