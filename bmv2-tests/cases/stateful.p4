// Counters, meters and registers, direct and indexed. The packet names a cell; the answer has the
// meters' colours and what the register held.
#include <core.p4>
#include <v1model.p4>

header cell_t {
    bit<8>  index;
    bit<8>  colour;
    bit<8>  direct_colour;
    bit<32> before;
}

struct headers_t {
    cell_t c;
}

struct meta_t {
    bit<8>  colour;
    bit<8>  direct_colour;
}

#include "plumbing.p4"

parser P(packet_in pkt, out headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    state start {
        pkt.extract(hdr.c);
        transition accept;
    }
}

control Ing(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    counter(16, CounterType.packets_and_bytes) seen;
    meter(16, MeterType.packets) police;
    register<bit<32>>(16) total;
    direct_counter(CounterType.packets_and_bytes) hits;
    direct_meter<bit<8>>(MeterType.packets) police_direct;

    action mark() {
        hits.count();
        police_direct.read(meta.direct_colour);
    }
    table cells {
        key = { hdr.c.index : exact; }
        actions = { mark; NoAction; }
        default_action = NoAction();
        counters = hits;
        meters = police_direct;
    }

    apply {
        sm.egress_spec = 1;
        meta.direct_colour = 9;
        seen.count((bit<32>) hdr.c.index);
        police.execute_meter((bit<32>) hdr.c.index, meta.colour);
        bit<32> old = 0xdead;
        total.read(old, (bit<32>) hdr.c.index);
        total.write((bit<32>) hdr.c.index, old + sm.packet_length);
        cells.apply();
        hdr.c.before = old;
        hdr.c.colour = meta.colour;
        hdr.c.direct_colour = meta.direct_colour;
    }
}

control Eg(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    apply { }
}

control Dep(packet_out pkt, in headers_t hdr) {
    apply {
        pkt.emit(hdr.c);
    }
}

V1Switch(P(), NoVerify(), Ing(), Eg(), NoUpdate(), Dep()) main;
