// Two controls, each with an action of one control-plane name, as programs translated from P4_14 have them; and types
// that `type` makes, whose values are written as plain numbers.
#include <core.p4>
#include <v1model.p4>

type bit<12> vlan_t;

const vlan_t NATIVE = 1;

header request_t {
    bit<8> key;
    bit<8> first;
    bit<8> second;
    bit<4> zero;
    vlan_t vlan;
}

struct headers_t {
    request_t request;
}

struct meta_t {
    vlan_t vlan;
}

#include "plumbing.p4"

parser P(packet_in pkt, out headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    state start {
        pkt.extract(hdr.request);
        meta.vlan = 2;
        transition select(hdr.request.vlan) {
            NATIVE: accept;
            0x7 &&& 0xf: seven;
            default: accept;
        }
    }

    state seven {
        meta.vlan = 7;
        transition accept;
    }
}

control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    @name(".add") action add_first(bit<8> by) {
        hdr.request.first = hdr.request.first + by;
        sm.egress_spec = 1;
    }
    @name(".move") action move(vlan_t to) {
        meta.vlan = to;
        sm.egress_spec = 1;
    }
    table ingress_keys {
        key = { hdr.request.key: exact; }
        actions = { add_first; move; }
        default_action = move(5);
    }
    apply {
        ingress_keys.apply();
        if (hdr.request.vlan == 9) {
            meta.vlan = meta.vlan == 5 ? 6 : meta.vlan;
        }
    }
}

control E(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    @name(".add") action add_first(bit<8> by) {
        hdr.request.first = hdr.request.first + by;
        sm.egress_spec = 1;
    }
    table egress_vlans {
        key = { meta.vlan: exact; }
        actions = { add_first; NoAction; }
        const default_action = NoAction();
        const entries = {
            NATIVE: add_first(0x40);
            6: add_first(0x60);
            7: add_first(0x70);
        }
    }
    table egress_keys {
        key = { hdr.request.second: exact; }
        actions = { add_first; }
        default_action = add_first(0);
    }
    apply {
        egress_vlans.apply();
        egress_keys.apply();
        hdr.request.vlan = meta.vlan;
    }
}

control D(packet_out pkt, in headers_t hdr) {
    apply {
        pkt.emit(hdr);
    }
}

V1Switch(P(), NoVerify(), I(), E(), NoUpdate(), D()) main;
