// Tofino's hashes: results wider and narrower than the algorithm's, data that do not fill whole bytes, polynomials that
// the program describes, selectors. The first byte of a packet says what to compute; the results come back in the packet.

#if __TARGET_TOFINO__ == 2
#include <t2na.p4>
#else
#include <tna.p4>
#endif

header request_t {
    bit<8>  op;
    bit<32> a;
    bit<32> b;
}

header result_t {
    bit<64> first;
    bit<64> second;
}

struct headers_t {
    request_t request;
    result_t  result;
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
        transition accept;
    }
}

control ingress(inout headers_t headers,
                inout metadata_t meta,
                in ingress_intrinsic_metadata_t intrinsic,
                in ingress_intrinsic_metadata_from_parser_t from_parser,
                inout ingress_intrinsic_metadata_for_deparser_t for_deparser,
                inout ingress_intrinsic_metadata_for_tm_t for_tm) {
    // Wider and narrower than the CRC.
    Hash<bit<32>>(HashAlgorithm_t.CRC16) crc16_wide;
    Hash<bit<20>>(HashAlgorithm_t.CRC8) crc8_wide;
    Hash<bit<48>>(HashAlgorithm_t.CRC32) crc32_wide;
    Hash<bit<64>>(HashAlgorithm_t.CRC64) crc64;
    Hash<bit<16>>(HashAlgorithm_t.CRC64) crc64_narrow;
    Hash<bit<16>>(HashAlgorithm_t.CRC16) crc16;
    Hash<bit<32>>(HashAlgorithm_t.CRC32) crc32;

    // Described by the program.
    CRCPolynomial<bit<32>>(32w0x1EDC6F41, true, false, true, 32w0xFFFFFFFF, 32w0xFFFFFFFF) castagnoli;
    Hash<bit<16>>(HashAlgorithm_t.CUSTOM, castagnoli) custom_narrow;
    CRCPolynomial<bit<16>>(16w0x1021, false, false, true, 16w0xFFFF, 16w0) extended;
    Hash<bit<40>>(HashAlgorithm_t.CUSTOM, extended) custom_wide;
    CRCPolynomial<bit<16>>(16w0x1021, false, false, false, 16w0xFFFF, 16w0) plain;
    Hash<bit<40>>(HashAlgorithm_t.CUSTOM, plain) custom_plain;
    CRCPolynomial<bit<5>>(5w0x05, true, false, true, 5w0x1F, 5w0x1F) usb;
    Hash<bit<12>>(HashAlgorithm_t.CUSTOM, usb) custom_five;
    // The last operand is exclusive-ored before the remainder is reflected.
    CRCPolynomial<bit<16>>(16w0x1021, true, false, true, 16w0xB2AA, 16w0x000F) lopsided;
    Hash<bit<16>>(HashAlgorithm_t.CUSTOM, lopsided) custom_lopsided;

    Hash<bit<12>>(HashAlgorithm_t.IDENTITY) identity_narrow;
    Hash<bit<24>>(HashAlgorithm_t.IDENTITY) identity_wide;
    Hash<bit<16>>(HashAlgorithm_t.XOR8) xor8_wide;
    Hash<bit<4>>(HashAlgorithm_t.XOR8) xor8_narrow;
    Hash<bit<32>>(HashAlgorithm_t.XOR32) xor32;
    Hash<bit<64>>(HashAlgorithm_t.RANDOM) random;
    Hash<bit<64>>(HashAlgorithm_t.RANDOM) random_again;
    // Nothing calls it.
    Alpm(number_partitions = 1024, subtrees_per_partition = 2) algorithmic;
    Lpf<bit<32>, bit<8>>(16) unused_filter;

    ActionProfile(8) members;
    Hash<bit<16>>(HashAlgorithm_t.CRC16) by_crc16;
    ActionSelector(members, by_crc16, SelectorMode_t.FAIR, 8, 4) crc_picked;
    ActionProfile(8) custom_members;
    Hash<bit<16>>(HashAlgorithm_t.CUSTOM, extended) by_custom;
    ActionSelector(custom_members, by_custom, SelectorMode_t.FAIR, 8, 4) custom_picked;

    action pick(bit<64> which) {
        headers.result.first = which;
    }

    table by_key {
        key = {
            headers.request.op      : exact;
            headers.request.a[8:0]  : selector;
            headers.request.b[2:0]  : selector;
        }
        actions = { pick; NoAction; }
        const default_action = NoAction();
        implementation = crc_picked;
    }

    table by_custom_key {
        key = {
            headers.request.op     : exact;
            headers.request.a[8:0] : selector;
        }
        actions = { pick; NoAction; }
        const default_action = NoAction();
        implementation = custom_picked;
    }

    action route(bit<64> to) {
        headers.result.second = to;
    }

    table routes {
        key = { headers.request.a : lpm; }
        actions = { route; }
        alpm = algorithmic;
        size = 16;
        default_action = route(7);
    }

    apply {
        headers.result.setValid();
        bit<32> a = headers.request.a;
        bit<32> b = headers.request.b;
        if (headers.request.op == 1) {
            headers.result.first = 12w0 ++ crc8_wide.get({ a, b }) ++ crc16_wide.get({ a, b });
            headers.result.second = 16w0 ++ crc32_wide.get({ a, b });
        } else if (headers.request.op == 2) {
            // 46 bits.
            headers.result.first = 16w0 ++ crc16.get({ a[16:0], a[31:17], b[13:0] })
                                   ++ crc32.get({ a[16:0], a[31:17], b[13:0] });
            // One bit; three of them.
            headers.result.second = 16w0 ++ crc16.get({ a[0:0] }) ++ crc32.get(b[2:0]);
        } else if (headers.request.op == 3) {
            headers.result.first = 8w0 ++ custom_narrow.get({ a, b }) ++ custom_wide.get({ a, b });
            headers.result.second = 24w0 ++ custom_plain.get({ a, b });
        } else if (headers.request.op == 4) {
            headers.result.first = crc64.get({ a, b });
            headers.result.second = 20w0 ++ custom_five.get({ a, b }) ++ custom_lopsided.get({ a, b })
                                    ++ crc64_narrow.get({ a, b });
        } else if (headers.request.op == 5) {
            headers.result.first = 28w0 ++ identity_narrow.get({ a, b[3:0] })
                                   ++ identity_wide.get({ a[11:0], b[4:0] });
            // 20 bits: the last word is filled up behind.
            headers.result.second = 12w0 ++ xor8_wide.get({ a[15:0], b[3:0] })
                                    ++ xor8_narrow.get({ a[15:0], b[3:0] }) ++ xor32.get({ a, b[7:0] });
        } else if (headers.request.op == 6) {
            if (random.get({ a, b }) == random_again.get({ a, b })) {
                headers.result.first = 1;
            }
            if (random.get({ a, b }) == random_again.get({ b, a })) {
                headers.result.second = 1;
            }
        } else if (headers.request.op == 7) {
            by_key.apply();
        } else if (headers.request.op == 8) {
            by_custom_key.apply();
        } else if (headers.request.op == 9) {
            routes.apply();
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
