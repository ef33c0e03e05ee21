// Tofino's residual checksums: a parser takes from a packet's checksum all headers that the sum covers, so that what is left
// is the sum of the payload; the deparser adds up the headers anew.

#if __TARGET_TOFINO__ == 2
#include <t2na.p4>
#else
#include <tna.p4>
#endif

header outer_t {
    bit<8>  op;
    bit<8>  count;      // of inner headers
    bit<16> a;
    bit<16> sum;        // of all bytes behind `sum`, of `a`, and of the payload
    bit<16> b;
}

header inner_t {
    bit<16> x;
    bit<8>  y;
    bit<8>  z;
}

struct headers_t {
    outer_t    outer;
    inner_t[3] inner;
    inner_t    last;
}

struct metadata_t {
    bit<16> residual;
    bit<8>  left;
}

// A parser that does not know of the sum.
parser last_parser(packet_in packet, inout headers_t headers) {
    state start {
        packet.extract(headers.last);
        transition accept;
    }
}

parser ingress_parser(packet_in packet,
                      out headers_t headers,
                      out metadata_t meta,
                      out ingress_intrinsic_metadata_t intrinsic) {
    Checksum() sum;
    last_parser() subparser;

    state start {
        packet.extract(intrinsic);
        packet.advance(PORT_METADATA_SIZE);
        meta.residual = 0;
        transition outer;
    }

    // Comes again behind the state that marks the end.
    state inner {
        packet.extract(headers.inner.next);
        meta.left = meta.left - 1;
        transition select(meta.left) {
            0: end;
            default: inner;
        }
    }

    state outer {
        packet.extract(headers.outer);
        meta.left = headers.outer.count;
        sum.subtract({ headers.outer.sum });
        transition select(headers.outer.op) {
            1: mark;
            2: mark_late;
            default: accept;
        }
    }

    state mark {
        sum.subtract_all_and_deposit(meta.residual);
        sum.subtract({ headers.outer.a, headers.outer.b });
        transition inner;
    }

    // What was extracted before the call is not taken away.
    state mark_late {
        packet.extract(headers.inner.next);
        sum.subtract({ headers.outer.a, headers.outer.b });
        sum.subtract_all_and_deposit(meta.residual);
        transition end;
    }

    state end {
        subparser.apply(packet, headers);
        transition accept;
    }
}

control ingress(inout headers_t headers,
                inout metadata_t meta,
                in ingress_intrinsic_metadata_t intrinsic,
                in ingress_intrinsic_metadata_from_parser_t from_parser,
                inout ingress_intrinsic_metadata_for_deparser_t for_deparser,
                inout ingress_intrinsic_metadata_for_tm_t for_tm) {
    apply {
        headers.outer.a = headers.outer.a + 0x1111;
        headers.last.x = headers.last.x - 1;
        for_tm.ucast_egress_port = intrinsic.ingress_port;
        for_tm.bypass_egress = 1;
    }
}

control ingress_deparser(packet_out packet,
                         inout headers_t headers,
                         in metadata_t meta,
                         in ingress_intrinsic_metadata_for_deparser_t for_deparser) {
    Checksum() sum;

    apply {
        if (headers.outer.op == 1) {
            headers.outer.sum = sum.update({
                headers.outer.a, headers.outer.b, headers.inner[0], headers.inner[1], headers.inner[2],
                headers.last, meta.residual
            });
        } else if (headers.outer.op == 2) {
            headers.outer.sum = sum.update({ headers.outer.a, headers.outer.b, headers.last, meta.residual });
        } else {
            headers.outer.sum = meta.residual;
        }
        packet.emit(headers);
    }
}

struct nothing_t {}

parser egress_parser(packet_in packet,
                     out nothing_t headers,
                     out nothing_t meta,
                     out egress_intrinsic_metadata_t intrinsic) {
    state start {
        packet.extract(intrinsic);
        transition accept;
    }
}

control egress(inout nothing_t headers,
               inout nothing_t meta,
               in egress_intrinsic_metadata_t intrinsic,
               in egress_intrinsic_metadata_from_parser_t from_parser,
               inout egress_intrinsic_metadata_for_deparser_t for_deparser,
               inout egress_intrinsic_metadata_for_output_port_t for_port) {
    apply {}
}

control egress_deparser(packet_out packet,
                        inout nothing_t headers,
                        in nothing_t meta,
                        in egress_intrinsic_metadata_for_deparser_t for_deparser) {
    apply {}
}

Pipeline(ingress_parser(), ingress(), ingress_deparser(),
         egress_parser(), egress(), egress_deparser()) pipe;

Switch(pipe) main;
