// The packet path around the blocks: what `simple_switch` does with drops, clones, multicast,
// resubmitted and recirculated packets, and in which order. The first byte says what to do; the
// rest of the header tells what the blocks saw.
#include <core.p4>
#include <v1model.p4>

header report_t {
    bit<8>  op;
    bit<8>  round;         // rises with every ingress
    bit<8>  ingress_type;  // instance types
    bit<8>  egress_type;
    bit<16> ingress_port;
    bit<16> egress_port;
    bit<16> rid;
    bit<16> ingress_length;
    bit<16> egress_length;
    bit<8>  kept;          // metadata, if it came through
    bit<8>  lost;
}

// A list by the name of a constant.
const bit<8> KEPT = 1;

struct headers_t {
    report_t r;
}

struct meta_t {
    @field_list(KEPT)
    bit<8> kept;
    bit<8> lost;
}

#include "plumbing.p4"

parser P(packet_in pkt, out headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    state start {
        pkt.extract(hdr.r);
        transition accept;
    }
}

control Ing(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    apply {
        bool first = sm.instance_type == 0;
        bit<8> op = hdr.r.op;
        sm.egress_spec = 1;
        hdr.r.round = hdr.r.round + 1;
        hdr.r.ingress_type = (bit<8>) sm.instance_type;
        hdr.r.ingress_port = (bit<16>) sm.ingress_port;
        hdr.r.ingress_length = (bit<16>) sm.packet_length;
        hdr.r.kept = meta.kept;
        hdr.r.lost = meta.lost;
        meta.kept = 0x11;
        meta.lost = 0x22;
        if (op == 0x02) {
            sm.egress_spec = 511;
        } else if (op == 0x03) {
            mark_to_drop(sm);
            clone_preserving_field_list(CloneType.I2E, 5, 1);
        } else if (op == 0x04) {
            clone_preserving_field_list(CloneType.I2E, 5, 1);
            meta.kept = 0x33; // kept as it is at the end of ingress
        } else if (op == 0x05) {
            clone(CloneType.I2E, 5);
            clone(CloneType.I2E, 6);
        } else if (op == 0x06) {
            clone(CloneType.I2E, 77); // no such session
        } else if (op == 0x07) {
            clone(CloneType.I2E, 7);  // to a multicast group
        } else if (op == 0x10) {
            sm.mcast_grp = 1;
        } else if (op == 0x11) {
            sm.mcast_grp = 1;
            sm.egress_spec = 511;
        } else if (op == 0x12) {
            sm.mcast_grp = 1;
            mark_to_drop(sm);
        } else if (op == 0x13) {
            sm.mcast_grp = 99; // no such group
        } else if (op == 0x14) {
            sm.egress_rid = 9;
        } else if (op == 0x20 && first) {
            resubmit_preserving_field_list(1);
        } else if (op == 0x21 && first) {
            resubmit_preserving_field_list(1);
            mark_to_drop(sm);
        } else if (op == 0x22 && first) {
            resubmit_preserving_field_list(1);
            clone(CloneType.I2E, 5);
            sm.mcast_grp = 1;
        } else if (op == 0x23 && first) {
            resubmit_preserving_field_list(2); // an empty list
        } else if (op == 0x40) {
            truncate(20);
        } else if (op == 0x41) {
            truncate(24);
            truncate(18);
        } else if (op == 0x42) {
            truncate(18);
            truncate(24);
        } else if (op == 0x43) {
            truncate(18);
            sm.mcast_grp = 1;
        } else if (op == 0x44) {
            truncate(18);
            clone(CloneType.I2E, 5);
        } else if (op == 0x45) {
            truncate(200);
        } else if (op == 0x46) {
            truncate(3); // within the header
        } else if (op == 0x49 && first) {
            truncate(18);
            resubmit_preserving_field_list(1);
        } else if (op == 0x60) {
            sm.instance_type = 7;
        } else if (op == 0x61) {
            sm.priority = 3;
        }
    }
}

control Eg(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    apply {
        bit<8> op = hdr.r.op;
        hdr.r.egress_type = (bit<8>) sm.instance_type;
        hdr.r.egress_port = (bit<16>) sm.egress_port;
        hdr.r.rid = sm.egress_rid;
        hdr.r.egress_length = (bit<16>) sm.packet_length;
        if (sm.instance_type != 0 && sm.instance_type != 5) {
            hdr.r.kept = meta.kept;
            hdr.r.lost = meta.lost;
        }
        bool clone_of = sm.instance_type == 2;
        bool once = hdr.r.round == 1 && !clone_of;
        if (op == 0x30 && once) {
            recirculate_preserving_field_list(1);
        } else if (op == 0x31 && once) {
            recirculate_preserving_field_list(1);
            mark_to_drop(sm);
        } else if (op == 0x32 && once) {
            recirculate_preserving_field_list(1);
            clone_preserving_field_list(CloneType.E2E, 6, 1);
        } else if (op == 0x33 && once) {
            hdr.r.setInvalid(); // comes back shorter: the parser takes what was payload
            recirculate_preserving_field_list(1);
        } else if (op == 0x50 && once) {
            clone_preserving_field_list(CloneType.E2E, 6, 1);
            hdr.r.round = 0x77; // after the call, yet in the clone
            meta.kept = 0x44;
        } else if (op == 0x51 && once) {
            clone_preserving_field_list(CloneType.E2E, 6, 1);
            mark_to_drop(sm);
        } else if (op == 0x52 && once) {
            clone(CloneType.E2E, 7); // to a multicast group
        } else if (op == 0x53) {
            sm.egress_spec = 3; // too late to matter
        } else if (op == 0x54) {
            mark_to_drop(sm);
            sm.egress_spec = 0; // taken back
        } else if (op == 0x55) {
            sm.mcast_grp = 1;   // too late to matter
        } else if (op == 0x47) {
            truncate(18);
        } else if (op == 0x48 && once) {
            truncate(18);
            recirculate_preserving_field_list(1);
        } else if (op == 0x4a && once) {
            truncate(18);
            clone(CloneType.E2E, 6);
        }
    }
}

control Dep(packet_out pkt, in headers_t hdr) {
    apply {
        pkt.emit(hdr.r);
    }
}

V1Switch(P(), NoVerify(), Ing(), Eg(), NoUpdate(), Dep()) main;
