// Checksums over headers that are not there: their fields are left out, and a checksum in such a header is
// neither verified nor written. `which` says which of the two optional headers follow.
#include <core.p4>
#include <v1model.p4>

header first_t {
    bit<8>  which;
    bit<8>  wrong;
    bit<16> a;
    bit<16> sum;
}

header second_t {
    bit<16> b;
    bit<16> sum;
}

header third_t {
    bit<16> c;
    bit<16> d;
}

struct headers_t {
    first_t  first;
    second_t second;
    third_t  third;
}

struct meta_t { }

parser P(packet_in pkt, out headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    state start {
        pkt.extract(hdr.first);
        transition select(hdr.first.which) {
            1: second;
            2: third;
            3: both;
            default: accept;
        }
    }
    state second {
        pkt.extract(hdr.second);
        transition accept;
    }
    state both {
        pkt.extract(hdr.second);
        transition third;
    }
    state third {
        pkt.extract(hdr.third);
        transition accept;
    }
}

control Verify(inout headers_t hdr, inout meta_t meta) {
    apply {
        verify_checksum(true, { hdr.second.b, hdr.third.c }, hdr.second.sum, HashAlgorithm.csum16);
    }
}

control Ing(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = 1;
        hdr.first.wrong = (bit<8>) sm.checksum_error;
    }
}

control Eg(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    apply { }
}

control Update(inout headers_t hdr, inout meta_t meta) {
    apply {
        update_checksum(true, { hdr.first.a, hdr.second, hdr.third.c }, hdr.first.sum, HashAlgorithm.csum16);
        update_checksum(true, { hdr.third.c }, hdr.second.sum, HashAlgorithm.csum16);
    }
}

control Dep(packet_out pkt, in headers_t hdr) {
    apply {
        pkt.emit(hdr);
    }
}

V1Switch(P(), Verify(), Ing(), Eg(), Update(), Dep()) main;
