// The least and the greatest of the bytes and pairs of bytes of a cell: Tofino 2.

#include <t2na.p4>

header request_t {
    bit<8>  op;
    bit<16> mask;
    bit<64> value;
}

header result_t {
    bit<16> best;
    bit<8>  at;
}

struct headers_t {
    request_t request;
    result_t  result;
}

struct metadata_t {}

struct pair_t {
    bit<32> low;
    bit<32> high;
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
    Register<pair_t, bit<1>>(1) pairs;
    Register<bit<128>, bit<1>>(1, 0x0f0e0d0c0b0a09080706050403020110) wide;

    RegisterAction<pair_t, bit<1>, bit<8>>(pairs) least = {
        void apply(inout pair_t value, out bit<8> rv, out bit<8> at) {
            value.low = headers.request.value[31:0];
            value.high = headers.request.value[63:32];
            bit<4> index;
            rv = this.min8(value, headers.request.mask, index);
            at = 4w0 ++ index;
        }
    };

    RegisterAction<pair_t, bit<1>, bit<16>>(pairs) greatest = {
        void apply(inout pair_t value, out bit<16> rv, out bit<16> at) {
            bit<3> index;
            rv = this.max16(value, headers.request.mask[7:0], index);
            at = 13w0 ++ index;
        }
    };

    MinMaxAction<bit<128>, bit<1>, bit<8>>(wide) of_all = {
        void apply(inout bit<128> value, out bit<8> rv) {
            rv = this.max8(value, headers.request.mask);
        }
    };

    apply {
        headers.result.setValid();
        headers.result.best = 0;
        headers.result.at = 0;
        if (headers.request.op == 1) {
            bit<8> at;
            headers.result.best = 8w0 ++ least.execute(0, at);
            headers.result.at = at;
        } else if (headers.request.op == 2) {
            bit<16> at;
            headers.result.best = greatest.execute(0, at);
            headers.result.at = at[7:0];
        } else if (headers.request.op == 3) {
            headers.result.best = 8w0 ++ of_all.execute(0);
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
