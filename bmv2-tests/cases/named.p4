// Arguments are evaluated from left to right as the call writes them, and results are copied out in that order
// (P4_16, section 6.8): also where the call names the parameters, in another order than they are declared in.
#include <core.p4>
#include <v1model.p4>

// One field per call.
header r_t {
    bit<8> function_in;
    bit<8> function_out;
    bit<8> action_in;
    bit<8> action_out;
    bit<8> table_in;
    bit<8> table_out;
    bit<8> control_in;
    bit<8> control_out;
    bit<8> parser_in;
    bit<8> parser_out;
    bit<8> method;
    bit<16> extern_function;
    bit<8> default_value;
    bit<8> nested;
    bit<8> value_first;
    bit<8> place_first;
    bit<8> index;
}

header v_t {
    varbit<32> rest;
}

header last_t {
    bit<8> length;
}

struct headers_t {
    r_t    r;
    v_t    v;
    last_t last;
}

struct meta_t {
    bit<8> parser_in;
    bit<8> parser_out;
    bit<8> n;
}

// The calls so far, this one included.
bit<8> tick(inout bit<8> n) {
    n = n + 1;
    return n;
}

bit<8> pair(in bit<8> x, in bit<8> y) {
    return x[3:0] ++ y[3:0];
}

bit<8> pair_or(in bit<8> x = 5, in bit<8> y) {
    return x[3:0] ++ y[3:0];
}

void mark(out bit<8> first, out bit<8> second) {
    first = 0xaa;
    second = 0xbb;
}

void add(inout bit<8> to, in bit<8> what) {
    to = to + what;
}

parser Pairs(packet_in packet, in bit<8> x, in bit<8> y, out bit<8> o) {
    state start {
        o = x[3:0] ++ y[3:0];
        transition accept;
    }
}

parser Marks(packet_in packet, out bit<8> first, out bit<8> second) {
    state start {
        first = 0xaa;
        second = 0xbb;
        transition accept;
    }
}

parser P(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    Pairs() pairs;
    Marks() marks;
    state start {
        packet.extract(hdr.r);
        // The size stands in front of the header.
        packet.extract(variableFieldSizeInBits = (bit<32>) (hdr.r.index << 3), variableSizeHeader = hdr.v);
        packet.extract(hdr.last);
        pairs.apply(o = meta.parser_in, y = tick(meta.n), packet = packet, x = tick(meta.n));
        marks.apply(second = meta.parser_out, packet = packet, first = meta.parser_out);
        verify(toSignal = error.NoMatch, check = hdr.last.length == 7);
        transition accept;
    }
}

control Pair(in bit<8> x, in bit<8> y, out bit<8> o) {
    apply { o = x[3:0] ++ y[3:0]; }
}

control Mark(out bit<8> first, out bit<8> second) {
    apply {
        first = 0xaa;
        second = 0xbb;
    }
}

control Ver(inout headers_t hdr, inout meta_t meta) { apply { } }

control Ing(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    register<bit<8>>(8) cells;
    bit<8> n = 0;
    bit<8> k = 0;
    Pair() a_pair;
    Mark() a_mark;

    action pair_in(in bit<8> x, in bit<8> y, out bit<8> o) { o = x[3:0] ++ y[3:0]; }
    action mark_out(out bit<8> first, out bit<8> second) {
        first = 0xaa;
        second = 0xbb;
    }
    action pair_with(in bit<8> x, in bit<8> y, out bit<8> o, bit<8> port) {
        o = x[3:0] ++ y[3:0];
        std.egress_spec = (bit<9>) port;
    }
    table pairs {
        actions = { pair_with(y = tick(n), o = hdr.r.table_in, x = tick(n)); }
        const default_action = pair_with(y = tick(n), port = 1, x = tick(n), o = hdr.r.table_in);
    }
    table marks {
        actions = { mark_out(second = hdr.r.table_out, first = hdr.r.table_out); }
        default_action = mark_out(first = hdr.r.table_out, second = hdr.r.table_out);
    }

    apply {
        hdr.r.parser_in = meta.parser_in;
        hdr.r.parser_out = meta.parser_out;
        hdr.r.function_in = pair(y = tick(n), x = tick(n));
        mark(second = hdr.r.function_out, first = hdr.r.function_out);
        n = 0;
        pair_in(y = tick(n), o = hdr.r.action_in, x = tick(n));
        mark_out(second = hdr.r.action_out, first = hdr.r.action_out);
        n = 0;
        pairs.apply();
        marks.apply();
        n = 0;
        a_pair.apply(o = hdr.r.control_in, y = tick(n), x = tick(n));
        a_mark.apply(second = hdr.r.control_out, first = hdr.r.control_out);
        n = 0;
        cells.write(value = tick(n), index = (bit<32>) tick(n));
        // Where the result goes is decided before the index is computed.
        cells.read(index = 2, result = hdr.r.method);
        n = 0;
        hash(data = { tick(n) }, algo = HashAlgorithm.identity, base = (bit<16>) (tick(n) << 4),
             result = hdr.r.extern_function, max = 16w256);
        hdr.r.default_value = pair_or(y = 3);
        n = 0;
        hdr.r.nested = pair(y = pair(y = tick(n), x = tick(n)), x = tick(n));
        n = 0;
        add(what = tick(n), to = n);
        hdr.r.value_first = n;
        n = 0;
        add(to = n, what = tick(n));
        hdr.r.place_first = n;
        if (std.parser_error != error.NoError) {
            hdr.r.index = 0xee;
        }
    }
}

control Eg(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) { apply { } }

control Upd(inout headers_t hdr, inout meta_t meta) { apply { } }

control Dep(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.r);
        packet.emit(hdr.v);
        packet.emit(hdr.last);
    }
}

V1Switch(P(), Ver(), Ing(), Eg(), Upd(), Dep()) main;
