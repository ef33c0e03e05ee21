// Action data that is no scalar: structs, headers and arrays of the actions of a table, given by the default action and by
// entries. The control plane sees one parameter for each scalar in them.

#if __TARGET_TOFINO__ == 2
#include <t2na.p4>
#else
#include <tna.p4>
#endif

header request_t {
    bit<8> key;
}

header mark_t {
    bit<8> a;
    bit<8> b;
}

header result_t {
    bit<8> first;
    bit<8> second;
    bit<8> third;
}

struct headers_t {
    request_t request;
    mark_t    mark;
    result_t  result;
}

struct metadata_t {}

struct inner_t {
    bit<8> low;
    bit<8> high;
}

struct outer_t {
    bit<8>     first;
    inner_t[2] pairs;
}

parser ingress_parser(packet_in packet,
                      out headers_t headers,
                      out metadata_t meta,
                      out ingress_intrinsic_metadata_t intrinsic) {
    state start {
        packet.extract(intrinsic);
        packet.advance(PORT_METADATA_SIZE);
        packet.extract(headers.request);
        transition accept;
    }
}

control ingress(inout headers_t headers,
                inout metadata_t meta,
                in ingress_intrinsic_metadata_t intrinsic,
                in ingress_intrinsic_metadata_from_parser_t from_parser,
                inout ingress_intrinsic_metadata_for_deparser_t for_deparser,
                inout ingress_intrinsic_metadata_for_tm_t for_tm) {
    action show(outer_t all, bit<8> more) {
        headers.result.first = all.first;
        headers.result.second = all.pairs[1].low;
        headers.result.third = all.pairs[0].high + more;
    }

    action mark(mark_t how) {
        headers.mark = how;
    }

    table act {
        key = { headers.request.key : exact; }
        actions = { show; mark; }
        default_action = show({ 1, { { 2, 3 }, { 4, 5 } } }, 0x10);
        const entries = {
            7 : mark({ 0xa1, 0xa2 });
            8 : mark((mark_t) {#});
            9 : show({ 0x20, { { 0, 0x30 }, { 0x40, 0 } } }, 1);
        }
    }

    apply {
        headers.result.setValid();
        headers.result.first = 0;
        headers.result.second = 0;
        headers.result.third = 0;
        act.apply();
        // The action called by the program takes the struct as it is.
        if (headers.request.key == 10) {
            show({ 0x50, { { 0, 0x60 }, { 0x70, 0 } } }, 2);
        }
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
