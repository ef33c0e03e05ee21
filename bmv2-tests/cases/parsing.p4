// Stacks, varbit, lookahead, verify, and what ingress sees when the parser gives up.
#include <core.p4>
#include <v1model.p4>

error { BadMagic }

header first_t {
    bit<8> kind;
    bit<8> error_seen;
}

header item_t {
    bit<1>  last;
    bit<7>  value;
}

header opts_t {
    bit<4>       length;
    bit<4>       pad;
    varbit<120>  data;
}

header tail_t {
    bit<8> stacked;
    bit<8> top;
}

struct headers_t {
    first_t    first;
    item_t[3]  items;
    opts_t     opts;
    tail_t     tail;
}

struct meta_t { }

#include "plumbing.p4"

parser P(packet_in pkt, out headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    state start {
        pkt.extract(hdr.first);
        transition select(hdr.first.kind) {
            1: items;
            2: opts;
            3: magic;
            4 .. 6: skip;
            0x10 &&& 0xf0: accept;
        }
    }
    state items {
        pkt.extract(hdr.items.next);
        transition select(hdr.items.last.last) {
            0: items;
            1: accept;
        }
    }
    state opts {
        bit<4> words = pkt.lookahead<bit<4>>();
        verify(words > 0, error.HeaderTooShort);
        pkt.extract(hdr.opts, 8 * ((bit<32>) words) - 8);
        transition accept;
    }
    state magic {
        verify(pkt.lookahead<bit<16>>() == 0xcafe, error.BadMagic);
        transition accept;
    }
    state skip {
        pkt.advance(8 * (bit<32>) hdr.first.kind);
        transition accept;
    }
}

control Ing(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = 1;
        if (sm.parser_error == error.NoError) {
            hdr.first.error_seen = 0;
        } else if (sm.parser_error == error.PacketTooShort) {
            hdr.first.error_seen = 1;
        } else if (sm.parser_error == error.NoMatch) {
            hdr.first.error_seen = 2;
        } else if (sm.parser_error == error.StackOutOfBounds) {
            hdr.first.error_seen = 3;
        } else if (sm.parser_error == error.HeaderTooShort) {
            hdr.first.error_seen = 4;
        } else if (sm.parser_error == error.BadMagic) {
            hdr.first.error_seen = 5;
        }
        if (hdr.items[0].isValid()) {
            hdr.tail.setValid();
            hdr.tail.top = (bit<8>) hdr.items[0].value;
            hdr.items.pop_front(1);
            if (hdr.items[1].isValid()) {
                hdr.tail.stacked = 3;
            } else if (hdr.items[0].isValid()) {
                hdr.tail.stacked = 2;
            } else {
                hdr.tail.stacked = 1;
            }
        }
    }
}

control Eg(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    apply { }
}

control Dep(packet_out pkt, in headers_t hdr) {
    apply {
        pkt.emit(hdr.first);
        pkt.emit(hdr.items);
        pkt.emit(hdr.opts);
        pkt.emit(hdr.tail);
    }
}

V1Switch(P(), NoVerify(), Ing(), Eg(), NoUpdate(), Dep()) main;
