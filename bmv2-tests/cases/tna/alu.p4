// A parser's counter that is set from a field, and the predicate of the stateful ALU: on Tofino 1 and 2.

#if __TARGET_TOFINO__ == 2
#include <t2na.p4>
#define LOW_NIBBLE 8w0x0f
#else
#include <tna.p4>
#define LOW_NIBBLE 3w3
#endif

header request_t {
    bit<8> length;      // of the header and its words, in bytes
    bit<8> a;
    bit<8> b;
}

header word_t {
    bit<8> value;
}

header result_t {
    bit<16> err;
    bit<8>  words;
    bit<8>  which;
}

struct headers_t {
    request_t request;
    result_t  result;
    word_t[4] words;
}

struct metadata_t {
    bit<8> words;
}

parser ingress_parser(packet_in packet,
                      out headers_t headers,
                      out metadata_t meta,
                      out ingress_intrinsic_metadata_t intrinsic) {
    ParserCounter() counter;

    state start {
        packet.extract(intrinsic);
        packet.advance(PORT_METADATA_SIZE);
        packet.extract(headers.request);
        // A quarter of the length, at most 15, less one.
        counter.set(headers.request.length, 8w80, 8w2, LOW_NIBBLE, 8w255);
        transition more;
    }

    state more {
        transition select(counter.is_zero()) {
            true: accept;
            false: word;
        }
    }

    state word {
        packet.extract(headers.words.next);
        meta.words = meta.words + 1;
        counter.decrement(1);
        transition more;
    }
}

control ingress(inout headers_t headers,
                inout metadata_t meta,
                in ingress_intrinsic_metadata_t intrinsic,
                in ingress_intrinsic_metadata_from_parser_t from_parser,
                inout ingress_intrinsic_metadata_for_deparser_t for_deparser,
                inout ingress_intrinsic_metadata_for_tm_t for_tm) {
    Register<bit<8>, bit<1>>(1, 0x20) limit;

    // Which of two comparisons hold: one bit for each combination.
    RegisterAction<bit<8>, bit<1>, bit<8>>(limit) which = {
        void apply(inout bit<8> value, out bit<8> rv) {
            rv = this.predicate(headers.request.a > value, headers.request.b == value);
        }
    };

    apply {
        headers.result.setValid();
        headers.result.err = from_parser.parser_err;
        headers.result.words = meta.words;
        headers.result.which = which.execute(0);
        for_tm.ucast_egress_port = intrinsic.ingress_port;
        for_tm.bypass_egress = 1;
    }
}

control ingress_deparser(packet_out packet,
                         inout headers_t headers,
                         in metadata_t meta,
                         in ingress_intrinsic_metadata_for_deparser_t for_deparser) {
    apply {
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
