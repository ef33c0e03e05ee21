// Clones, multicast, resubmit and recirculate, with the metadata that survives each.
#include <core.p4>
#include <v1model.p4>

header req_t {
    bit<8>  what;
    bit<8>  arg;
    bit<8>  kind;   // instance type seen by egress
    bit<8>  kept;
    bit<8>  lost;
    bit<8>  rid;
}

struct headers_t {
    req_t r;
}

struct meta_t {
    @field_list(1, 2)
    bit<8> kept;
    bit<8> lost;
    @field_list(2)
    bit<8> rounds;
}

#include "plumbing.p4"

const bit<8> UNICAST     = 0;
const bit<8> CLONE_IN    = 1;
const bit<8> CLONE_OUT   = 2;
const bit<8> MULTICAST   = 3;
const bit<8> RESUBMIT    = 4;
const bit<8> RECIRCULATE = 5;
const bit<8> TRUNCATE    = 6;
const bit<8> CLONE_DROP  = 7;

parser P(packet_in pkt, out headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    state start {
        pkt.extract(hdr.r);
        transition accept;
    }
}

control Ing(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = 1;
        if (sm.instance_type == 0) {
            meta.kept = 0xaa;
            meta.lost = 0xbb;
        }
        if (hdr.r.what == CLONE_IN) {
            clone_preserving_field_list(CloneType.I2E, (bit<32>) hdr.r.arg, 1);
            hdr.r.arg = 0;
        } else if (hdr.r.what == CLONE_DROP) {
            clone(CloneType.I2E, (bit<32>) hdr.r.arg);
            mark_to_drop(sm);
        } else if (hdr.r.what == MULTICAST) {
            sm.mcast_grp = (bit<16>) hdr.r.arg;
        } else if (hdr.r.what == RESUBMIT) {
            if (meta.rounds < hdr.r.arg) {
                meta.rounds = meta.rounds + 1;
                hdr.r.what = UNICAST;
                resubmit_preserving_field_list(2);
            } else {
                hdr.r.arg = meta.rounds + 0x80;
            }
        } else if (hdr.r.what == TRUNCATE) {
            truncate((bit<32>) hdr.r.arg);
        }
    }
}

control Eg(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.r.kind = (bit<8>) sm.instance_type;
        hdr.r.kept = meta.kept;
        hdr.r.lost = meta.lost;
        hdr.r.rid = (bit<8>) sm.egress_rid;
        if (hdr.r.what == CLONE_OUT && sm.instance_type == 0) {
            clone_preserving_field_list(CloneType.E2E, (bit<32>) hdr.r.arg, 1);
        } else if (hdr.r.what == RECIRCULATE && hdr.r.arg != 0) {
            hdr.r.arg = hdr.r.arg - 1;
            recirculate_preserving_field_list(1);
        }
    }
}

control Dep(packet_out pkt, in headers_t hdr) {
    apply {
        pkt.emit(hdr.r);
    }
}

V1Switch(P(), NoVerify(), Ing(), Eg(), NoUpdate(), Dep()) main;
