// Checksums (kept, checked, over the payload) and the hash algorithms.
#include <core.p4>
#include <v1model.p4>

header ask_t {
    bit<8>  algorithm;
    bit<8>  bad;
    bit<32> hash;
}

header nine_t {
    bit<72> data;
}

header sum_t {
    bit<16> word;
    bit<16> sum;
    bit<16> with_payload;
}

struct headers_t {
    ask_t  ask;
    nine_t nine;
    sum_t  s;
}

struct meta_t { }

parser P(packet_in pkt, out headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    state start {
        pkt.extract(hdr.ask);
        transition select(hdr.ask.algorithm) {
            0: sum;
            default: nine;
        }
    }
    state nine {
        pkt.extract(hdr.nine);
        transition accept;
    }
    state sum {
        pkt.extract(hdr.s);
        transition accept;
    }
}

control Verify(inout headers_t hdr, inout meta_t meta) {
    apply {
        verify_checksum(hdr.s.isValid(), { hdr.s.word }, hdr.s.sum, HashAlgorithm.csum16);
        verify_checksum_with_payload(hdr.s.isValid(), { hdr.s.word }, hdr.s.with_payload,
                                     HashAlgorithm.csum16);
    }
}

control Ing(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = 1;
        hdr.ask.bad = (bit<8>) sm.checksum_error;
        bit<32> h = 0;
        if (!hdr.nine.isValid()) {
            // What an invalid header holds is not defined.
            h = 0;
        } else if (hdr.ask.algorithm == 1) {
            hash(h, HashAlgorithm.crc16, 32w0, { hdr.nine.data }, 32w0xffffffff);
        } else if (hdr.ask.algorithm == 2) {
            hash(h, HashAlgorithm.crc32, 32w0, { hdr.nine.data }, 64w0x100000000);
        } else if (hdr.ask.algorithm == 3) {
            hash(h, HashAlgorithm.csum16, 32w0, { hdr.nine.data }, 32w0xffffffff);
        } else if (hdr.ask.algorithm == 4) {
            hash(h, HashAlgorithm.xor16, 32w0, { hdr.nine.data }, 32w0xffffffff);
        } else if (hdr.ask.algorithm == 5) {
            hash(h, HashAlgorithm.identity, 32w0, { hdr.nine.data[71:48] }, 32w0xffffffff);
        } else if (hdr.ask.algorithm == 6) {
            hash(h, HashAlgorithm.crc32, 32w1000, { hdr.nine.data }, 32w10);
        } else if (hdr.ask.algorithm == 7) {
            hash(h, HashAlgorithm.crc16, 32w0, { hdr.nine.data[71:67], hdr.nine.data[66:0] },
                 32w0xffffffff);
        }
        hdr.ask.hash = h;
        hdr.s.word = hdr.s.word + 1;
    }
}

control Eg(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    apply { }
}

control Update(inout headers_t hdr, inout meta_t meta) {
    apply {
        update_checksum(hdr.s.isValid(), { hdr.s.word }, hdr.s.sum, HashAlgorithm.csum16);
        update_checksum_with_payload(hdr.s.isValid(), { hdr.s.word }, hdr.s.with_payload,
                                     HashAlgorithm.csum16);
    }
}

control Dep(packet_out pkt, in headers_t hdr) {
    apply {
        pkt.emit(hdr.ask);
        pkt.emit(hdr.nine);
        pkt.emit(hdr.s);
    }
}

V1Switch(P(), Verify(), Ing(), Eg(), Update(), Dep()) main;
