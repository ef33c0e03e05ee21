// An action selector hashing one field by `identity`, so that the case can say which member is
// picked; and a profile without a selector.
#include <core.p4>
#include <v1model.p4>

header flow_t {
    bit<8>  way;
    bit<8>  out_tag;
    bit<16> flow;
}

struct headers_t {
    flow_t f;
}

struct meta_t { }

#include "plumbing.p4"

parser P(packet_in pkt, out headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    state start {
        pkt.extract(hdr.f);
        transition accept;
    }
}

control Ing(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    @name("ecmp") action_selector(HashAlgorithm.identity, 64, 16) ecmp;
    @name("shared") action_profile(8) shared;

    action send(bit<9> port, bit<8> tag) {
        sm.egress_spec = port;
        hdr.f.out_tag = tag;
    }
    action drop() {
        mark_to_drop(sm);
    }

    table by_group {
        key = { hdr.f.way : exact; hdr.f.flow : selector; }
        actions = { send; drop; }
        implementation = ecmp;
        default_action = drop();
    }
    table by_member {
        key = { hdr.f.way : exact; }
        actions = { send; drop; }
        implementation = shared;
        default_action = drop();
    }

    apply {
        if (hdr.f.way < 100) {
            by_group.apply();
        } else {
            by_member.apply();
        }
    }
}

control Eg(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    apply { }
}

control Dep(packet_out pkt, in headers_t hdr) {
    apply {
        pkt.emit(hdr.f);
    }
}

V1Switch(P(), NoVerify(), Ing(), Eg(), NoUpdate(), Dep()) main;
