// Errors of Tofino's parsers in a program that reads `parser_err` of egress, and not that of ingress. The packet leaves with a report before it.

#if __TARGET_TOFINO__ == 2
#include <t2na.p4>
#else
#include <tna.p4>
#endif

header request_t {
    bit<8> op;
    bit<8> port;
}

header more_t {
    bit<32> more;
}

header report_t {
    bit<16> ingress_error;
    bit<16> egress_error;
    bit<8>  more_in_ingress;
    bit<8>  more_in_egress;
}

struct headers_t {
    report_t  report;
    request_t request;
    more_t    more;
}

struct metadata_t {}

parser ingress_parser(packet_in packet,
                      out headers_t headers,
                      out metadata_t meta,
                      out ingress_intrinsic_metadata_t intrinsic) {
    state start {
        packet.extract(intrinsic);
        packet.advance(PORT_METADATA_SIZE);
        packet.extract(headers.request);
        transition select(headers.request.op) {
            1 .. 3: accept;
            4: reject;
            5: more;
        }
    }

    state more {
        packet.extract(headers.more);
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
        headers.report.setValid();
        headers.report.ingress_error = 0xFFFF;
        headers.report.more_in_ingress = 0;
        if (headers.more.isValid()) {
            headers.report.more_in_ingress = 1;
        }
        for_tm.ucast_egress_port = 1w0 ++ headers.request.port;
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

parser egress_parser(packet_in packet,
                     out headers_t headers,
                     out metadata_t meta,
                     out egress_intrinsic_metadata_t intrinsic) {
    state start {
        packet.extract(intrinsic);
        packet.extract(headers.report);
        packet.extract(headers.request);
        transition select(headers.request.op) {
            1: more;
            2: reject;
            4 .. 5: accept;
        }
    }

    state more {
        packet.extract(headers.more);
        transition accept;
    }
}

control egress(inout headers_t headers,
               inout metadata_t meta,
               in egress_intrinsic_metadata_t intrinsic,
               in egress_intrinsic_metadata_from_parser_t from_parser,
               inout egress_intrinsic_metadata_for_deparser_t for_deparser,
               inout egress_intrinsic_metadata_for_output_port_t for_port) {
    apply {
        headers.report.egress_error = from_parser.parser_err;
        headers.report.more_in_egress = 0;
        if (headers.more.isValid()) {
            headers.report.more_in_egress = 1;
        }
    }
}

control egress_deparser(packet_out packet,
                        inout headers_t headers,
                        in metadata_t meta,
                        in egress_intrinsic_metadata_for_deparser_t for_deparser) {
    apply {
        packet.emit(headers);
    }
}

Pipeline(ingress_parser(), ingress(), ingress_deparser(),
         egress_parser(), egress(), egress_deparser()) pipe;

Switch(pipe) main;
