// Arrays inside headers: elements follow each other in the packet, alone, in structs, in arrays of
// arrays, and in headers that stand in a stack. Sets of a `select` whose bounds the packet holds.
#include <core.p4>
#include <v1model.p4>

struct pair_t {
    bit<4>    high;
    bit<4>[3] low;
}

header list_t {
    bit<8>     op;
    bit<8>     at;
    bit<8>     value;
    bit<8>[4]  bytes;
    pair_t[2]  pairs;
    bit<4>[2][2] grid;
}

header cell_t {
    bit<8>[2] v;
}

header limits_t {
    bit<8> low;
    bit<8> high;
    bit<8> key;
}

header verdict_t {
    bit<8> v;
}

struct headers_t {
    limits_t  limits;
    verdict_t verdict;
    list_t    list;
    cell_t[3] cells;
}

struct meta_t {
    bit<8> verdict;
}

#include "plumbing.p4"

parser P(packet_in pkt, out headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    state start {
        pkt.extract(hdr.limits);
        transition select(hdr.limits.key, hdr.limits.low) {
            (hdr.limits.high, 0xff): equal;
            (0x10 .. 0x1f, 0xfe): known;
            (hdr.limits.high &&& 0xf0, 0xfd): masked;
            (hdr.limits.low .. hdr.limits.high, _): within;
            default: rest;
        }
    }
    state equal {
        meta.verdict = 1;
        transition rest;
    }
    state known {
        meta.verdict = 2;
        transition rest;
    }
    state masked {
        meta.verdict = 3;
        transition rest;
    }
    state within {
        meta.verdict = 4;
        transition rest;
    }
    state rest {
        pkt.extract(hdr.list);
        transition cells;
    }
    state cells {
        pkt.extract(hdr.cells.next);
        // The second byte of an element says whether another follows.
        transition select(hdr.cells.last.v[1]) {
            0: accept;
            default: cells;
        }
    }
}

control Ing(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    action set_first(bit<8> v) {
        hdr.list.bytes[0] = v;
    }
    table by_element {
        key = { hdr.list.bytes[3]: exact; }
        actions = { set_first; NoAction; }
        const entries = { 0x77: set_first(0xee); }
        default_action = NoAction();
    }
    apply {
        sm.egress_spec = 1;
        hdr.verdict.setValid();
        hdr.verdict.v = meta.verdict;
        by_element.apply();
        if (hdr.list.op == 1) {
            hdr.list.bytes[hdr.list.at[1:0]] = hdr.list.value;
        } else if (hdr.list.op == 2) {
            hdr.list.value = hdr.list.bytes[hdr.list.at[1:0]];
        } else if (hdr.list.op == 3) {
            hdr.list.pairs[1] = hdr.list.pairs[0];
            hdr.list.pairs[0].low[2] = hdr.list.value[3:0];
        } else if (hdr.list.op == 4) {
            hdr.list.grid[hdr.list.at[0:0]][hdr.list.at[1:1]] = hdr.list.value[3:0];
        } else if (hdr.list.op == 5) {
            hdr.list.bytes = { 1, 2, 3, hdr.list.bytes[0] };
        } else if (hdr.list.op == 6) {
            hdr.cells[1] = hdr.cells[0];
            hdr.cells[0].v[1] = hdr.list.value;
        } else if (hdr.list.op == 7) {
            list_t copy = hdr.list;
            hdr.list.setInvalid();
            hdr.list.setValid();
            hdr.list.op = copy.op;
            hdr.list.bytes[1] = copy.bytes[2];
            hdr.list.grid = copy.grid;
        } else if (hdr.list.op == 8) {
            hdr.cells.pop_front(1);
        }
    }
}

control Eg(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    apply { }
}

control Dep(packet_out pkt, in headers_t hdr) {
    apply {
        pkt.emit(hdr.verdict);
        pkt.emit(hdr.list);
        pkt.emit(hdr.cells);
    }
}

V1Switch(P(), NoVerify(), Ing(), Eg(), NoUpdate(), Dep()) main;
