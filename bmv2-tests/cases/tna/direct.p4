// Tofino's direct registers: a cell for each entry of a table, and one for a miss. And parameters of stateful programs.

#if __TARGET_TOFINO__ == 2
#include <t2na.p4>
#else
#include <tna.p4>
#endif

header request_t {
    bit<8>  key;
    bit<32> a;
}

header result_t {
    bit<32> first;
    bit<32> second;
}

struct headers_t {
    request_t request;
    result_t  result;
}

struct metadata_t {}

struct pair_t {
    bit<16> low;
    bit<16> high;
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
    DirectRegister<bit<32>>(100) sums;
    DirectRegister<pair_t>() pairs;
    RegisterParam<bit<16>>(7) step;

    // What was there before.
    DirectRegisterAction<bit<32>, bit<32>>(sums) add = {
        void apply(inout bit<32> value, out bit<32> before) {
            before = value;
            value = value + headers.request.a;
        }
    };

    // No result.
    DirectRegisterAction<bit<32>, void>(sums) clear = {
        void apply(inout bit<32> value) {
            value = 0;
        }
    };

    DirectRegisterAction<pair_t, bit<16>>(pairs) carry = {
        void apply(inout pair_t value, out bit<16> high) {
            value.low = value.low + step.read();
            if (value.low >= 20) {
                value.low = 0;
                value.high = value.high + 1;
            }
            high = value.high;
        }
    };

    action do_add() {
        headers.result.first = add.execute();
    }

    action do_clear() {
        clear.execute();
    }

    table act {
        key = { headers.request.key : exact; }
        actions = { do_add; do_clear; }
        default_action = do_add();
        registers = sums;
        size = 4;
    }

    action do_carry() {
        headers.result.second = 16w0 ++ carry.execute();
    }

    // The cell is read and written without a stateful program.
    action do_plain() {
        pair_t pair = pairs.read();
        headers.result.second = pair.low ++ pair.high;
        pairs.write({ 3, 4 });
    }

    table act_on_pairs {
        key = { headers.request.key : ternary; }
        actions = { do_carry; do_plain; NoAction; }
        const default_action = NoAction();
        registers = pairs;
        const entries = {
            0x80 &&& 0xf0 : do_plain();
            0x10 &&& 0x10 : do_carry();
        }
    }

    apply {
        headers.result.setValid();
        headers.result.first = 0;
        headers.result.second = 0;
        act.apply();
        act_on_pairs.apply();
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
