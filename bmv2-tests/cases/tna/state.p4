// Tofino's externs: registers and their actions, hashes, checksums, counters of the parser. The first byte of a packet
// says what to compute; the results come back in the packet.

#if __TARGET_TOFINO__ == 2
#include <t2na.p4>
#else
#include <tna.p4>
#endif

header request_t {
    bit<8>  op;
    bit<8>  index;
    bit<32> a;
    bit<32> b;
}

header result_t {
    bit<32> first;
    bit<32> second;
    bit<16> sum;        // Internet checksum of a and b
    bit<16> rest;       // parser's sum without a
    bit<8>  wrong;      // a and b do not sum up to ones
    bit<8>  count;      // of the parser
}

struct headers_t {
    request_t request;
    result_t  result;
}

struct metadata_t {
    bit<16> rest;
    bool    wrong;
    bit<8>  count;
}

struct pair_t {
    bit<16> low;
    bit<16> high;
}

parser ingress_parser(packet_in packet,
                      out headers_t headers,
                      out metadata_t meta,
                      out ingress_intrinsic_metadata_t intrinsic) {
    Checksum() both;
    Checksum() without;
    ParserCounter() counter;

    state start {
        packet.extract(intrinsic);
        packet.advance(PORT_METADATA_SIZE);
        counter.set(8w3);
        packet.extract(headers.request);
        both.add({ headers.request.a, headers.request.b });
        without.add(headers.request.a);
        without.add(headers.request.b);
        without.subtract({ headers.request.a });
        meta.wrong = both.verify();
        meta.rest = without.get();
        transition more;
    }

    // Counts down to zero.
    state more {
        counter.decrement(1);
        meta.count = meta.count + 1;
        transition select(counter.is_zero()) {
            true: accept;
            false: more;
        }
    }
}

control ingress(inout headers_t headers,
                inout metadata_t meta,
                in ingress_intrinsic_metadata_t intrinsic,
                in ingress_intrinsic_metadata_from_parser_t from_parser,
                inout ingress_intrinsic_metadata_for_deparser_t for_deparser,
                inout ingress_intrinsic_metadata_for_tm_t for_tm) {
    Register<bit<32>, bit<8>>(16, 100) counts;
    Register<pair_t, bit<8>>(16, { 8, 1 }) pairs;
    Counter<bit<64>, bit<8>>(16, CounterType_t.PACKETS) seen;
    Meter<bit<8>>(16, MeterType_t.PACKETS) meter;
    Hash<bit<16>>(HashAlgorithm_t.CRC16) crc16;
    Hash<bit<32>>(HashAlgorithm_t.CRC32) crc32;
    Hash<bit<12>>(HashAlgorithm_t.CRC32) crc32_short;
    Hash<bit<20>>(HashAlgorithm_t.IDENTITY) identity;
    Hash<bit<16>>(HashAlgorithm_t.XOR16) xor16;
    Hash<bit<8>>(HashAlgorithm_t.XOR8) xor8;
    Random<bit<4>>() random;

    // What was there before.
    RegisterAction<bit<32>, bit<8>, bit<32>>(counts) add = {
        void apply(inout bit<32> value, out bit<32> before) {
            before = value;
            value = value + headers.request.a;
        }
    };

    RegisterAction<bit<32>, bit<8>, bit<32>>(counts) clear = {
        void apply(inout bit<32> value) {
            value = 0;
        }
    };

    RegisterAction<pair_t, bit<8>, bit<16>>(pairs) carry = {
        void apply(inout pair_t value, out bit<16> high) {
            value.low = value.low + 1;
            if (value.low >= 10) {
                value.low = 0;
                value.high = value.high + 1;
            }
            high = value.high;
        }
    };

    action do_add() {
        headers.result.first = add.execute(headers.request.index);
        seen.count(headers.request.index);
    }

    action do_clear() {
        clear.execute(headers.request.index);
    }

    action do_carry() {
        headers.result.first = 16w0 ++ carry.execute(headers.request.index);
    }

    table act {
        key = { headers.request.op : exact; }
        actions = { do_add; do_clear; do_carry; NoAction; }
        const default_action = NoAction();
        const entries = {
            1 : do_add();
            2 : do_clear();
            3 : do_carry();
        }
    }

    apply {
        headers.result.setValid();
        headers.result.rest = meta.rest;
        headers.result.count = meta.count;
        headers.result.wrong = 0;
        if (meta.wrong) {
            headers.result.wrong = 1;
        }
        act.apply();
        if (headers.request.op == 4) {
            counts.write(headers.request.index, headers.request.a);
        } else if (headers.request.op == 5) {
            headers.result.first = counts.read(headers.request.index);
            pair_t pair = pairs.read(headers.request.index);
            headers.result.second = pair.low ++ pair.high;
        } else if (headers.request.op == 6) {
            headers.result.first[15:0] = crc16.get({ headers.request.a, headers.request.b });
            headers.result.second = crc32.get({ headers.request.a, headers.request.b });
        } else if (headers.request.op == 7) {
            headers.result.first = (bit<32>)identity.get({ headers.request.a, headers.request.b });
            headers.result.second = 4w0 ++ crc32_short.get({ headers.request.a, headers.request.b })
                                  ++ xor16.get({ headers.request.a, headers.request.b });
        } else if (headers.request.op == 8) {
            headers.result.first = min(headers.request.a, headers.request.b);
            headers.result.second = max(headers.request.a, headers.request.b);
        } else if (headers.request.op == 9) {
            headers.result.first = (bit<32>)xor8.get({ headers.request.index, headers.request.a });
            headers.result.second = (bit<32>)meter.execute(headers.request.index);
        } else if (headers.request.op == 10) {
            headers.result.first = (bit<32>)(random.get() & 0);
        }
        for_tm.ucast_egress_port = intrinsic.ingress_port;
        for_tm.bypass_egress = 1;
    }
}

control ingress_deparser(packet_out packet,
                         inout headers_t headers,
                         in metadata_t meta,
                         in ingress_intrinsic_metadata_for_deparser_t for_deparser) {
    Checksum() checksum;

    apply {
        headers.result.sum = checksum.update({ headers.request.a, headers.request.b });
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
