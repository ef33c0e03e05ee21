// What becomes of packets between the blocks of Tofino: the first byte of a packet says what shall happen, the second how.

#if __TARGET_TOFINO__ == 2
#include <t2na.p4>
#else
#include <tna.p4>
#endif

const bit<8> BRIDGED = 1;
const bit<8> INGRESS_MIRROR = 2;
const bit<8> EGRESS_MIRROR = 3;

header request_t {
    bit<8> op;
    bit<8> arg;
}

// Before what enters egress.
header bridge_t {
    bit<8> kind;
    bit<8> in_port;
    bit<8> times;       // it was resubmitted
}

header report_t {
    bit<8>  kind;
    bit<8>  in_port;
    bit<8>  times;
    bit<16> out_port;
    bit<16> rid;
    bit<8>  qid;
    bit<16> length;
}

header resubmit_t {
    bit<8>  times;
    bit<56> rest;
}

struct headers_t {
    bridge_t  bridge;
    report_t  report;
    request_t request;
}

struct metadata_t {
    bit<8>     times;
    MirrorId_t session;
    bit<8>     in_port;
}

parser ingress_parser(packet_in packet,
                      out headers_t headers,
                      out metadata_t meta,
                      out ingress_intrinsic_metadata_t intrinsic) {
    resubmit_t again;

    state start {
        packet.extract(intrinsic);
        meta.in_port = intrinsic.ingress_port[7:0];
        transition select(intrinsic.resubmit_flag) {
            0: first;
            1: second;
        }
    }

    state first {
        packet.advance(PORT_METADATA_SIZE);
        transition request;
    }

    state second {
        packet.extract(again);
        packet.advance(PORT_METADATA_SIZE - 64);
        meta.times = again.times;
        transition request;
    }

    state request {
        packet.extract(headers.request);
        transition select(headers.request.op) {
            0xEE: reject;
            0xDD: only_this;
            default: accept;
        }
    }

    state only_this {
        transition select(headers.request.arg) {
            1: accept;
        }
    }
}

control ingress(inout headers_t headers,
                inout metadata_t meta,
                in ingress_intrinsic_metadata_t intrinsic,
                in ingress_intrinsic_metadata_from_parser_t from_parser,
                inout ingress_intrinsic_metadata_for_deparser_t for_deparser,
                inout ingress_intrinsic_metadata_for_tm_t for_tm) {
    PortId_t port = 1w0 ++ headers.request.arg;

    apply {
        headers.bridge.setValid();
        headers.bridge = { BRIDGED, meta.in_port, meta.times };
        if (headers.request.op == 1 || headers.request.op == 0xDD || headers.request.op == 0xEE
            || headers.request.op == 9) {
            for_tm.ucast_egress_port = port;
            for_tm.qid = (QueueId_t)headers.request.arg;
            for_tm.ingress_cos = 3;
        } else if (headers.request.op == 2) {
            for_tm.ucast_egress_port = port;
            for_deparser.drop_ctl = 1;
        } else if (headers.request.op == 3) {
            for_tm.mcast_grp_a = 8w0 ++ headers.request.arg;
        } else if (headers.request.op == 4) {
            for_deparser.mirror_type = 1;
            meta.session = (MirrorId_t)headers.request.arg;
            for_tm.ucast_egress_port = 1;
        } else if (headers.request.op == 5) {
            if (intrinsic.resubmit_flag == 0) {
                for_deparser.resubmit_type = 1;
            } else {
                for_tm.ucast_egress_port = port;
            }
        } else if (headers.request.op == 6) {
            for_tm.ucast_egress_port = port;
            for_tm.bypass_egress = 1;
        } else if (headers.request.op == 7) {
            for_tm.mcast_grp_a = 8w0 ++ headers.request.arg;
            for_tm.mcast_grp_b = 2;
            for_tm.ucast_egress_port = 2;
        } else if (headers.request.op == 10) {
            for_tm.ucast_egress_port = 1;
        } else if (headers.request.op == 11) {
            for_deparser.mirror_type = 1;
            meta.session = (MirrorId_t)headers.request.arg;
            for_deparser.drop_ctl = 1;
        } else if (headers.request.op == 12) {
            for_deparser.mirror_type = 1;
            meta.session = (MirrorId_t)headers.request.arg;
            for_deparser.drop_ctl = 4;
            for_tm.ucast_egress_port = 1;
        }
    }
}

control ingress_deparser(packet_out packet,
                         inout headers_t headers,
                         in metadata_t meta,
                         in ingress_intrinsic_metadata_for_deparser_t for_deparser) {
    Mirror() mirror;
    Resubmit() resubmit;

    apply {
        if (for_deparser.mirror_type == 1) {
            mirror.emit<bridge_t>(meta.session, { INGRESS_MIRROR, meta.in_port, meta.times });
        }
        if (for_deparser.resubmit_type == 1) {
            resubmit.emit<resubmit_t>({ meta.times + 1, 0 });
        }
        packet.emit(headers);
    }
}

struct egress_metadata_t {
    MirrorId_t session;
}

parser egress_parser(packet_in packet,
                     out headers_t headers,
                     out egress_metadata_t meta,
                     out egress_intrinsic_metadata_t intrinsic) {
    state start {
        packet.extract(intrinsic);
        packet.extract(headers.bridge);
        transition select(headers.bridge.kind) {
            EGRESS_MIRROR: accept;
            default: request;
        }
    }

    state request {
        packet.extract(headers.request);
        transition accept;
    }
}

control egress(inout headers_t headers,
               inout egress_metadata_t meta,
               in egress_intrinsic_metadata_t intrinsic,
               in egress_intrinsic_metadata_from_parser_t from_parser,
               inout egress_intrinsic_metadata_for_deparser_t for_deparser,
               inout egress_intrinsic_metadata_for_output_port_t for_port) {
    apply {
        headers.report.setValid();
        headers.report.kind = headers.bridge.kind;
        headers.report.in_port = headers.bridge.in_port;
        headers.report.times = headers.bridge.times;
        headers.report.out_port = 7w0 ++ intrinsic.egress_port;
        headers.report.rid = intrinsic.egress_rid;
        headers.report.qid = (bit<8>)intrinsic.egress_qid;
        headers.report.length = intrinsic.pkt_length;
        if (headers.request.isValid() && headers.request.op == 9) {
            for_deparser.drop_ctl = 1;
        }
        if (headers.request.isValid() && headers.request.op == 10) {
            for_deparser.mirror_type = 2;
            meta.session = (MirrorId_t)headers.request.arg;
        }
        headers.bridge.setInvalid();
    }
}

control egress_deparser(packet_out packet,
                        inout headers_t headers,
                        in egress_metadata_t meta,
                        in egress_intrinsic_metadata_for_deparser_t for_deparser) {
    Mirror() mirror;

    apply {
        if (for_deparser.mirror_type == 2) {
            mirror.emit<bridge_t>(meta.session, { EGRESS_MIRROR, headers.report.in_port, 0 });
        }
        packet.emit(headers.report);
        packet.emit(headers.request);
    }
}

Pipeline(ingress_parser(), ingress(), ingress_deparser(),
         egress_parser(), egress(), egress_deparser()) pipe;

Switch(pipe) main;
