#include <core.p4>
#include <v1model.p4>

header ethernet_t {
    bit<48> dst;
    bit<48> source;
    bit<16> ether_type;
}

struct headers {
    ethernet_t ethernet;
}

struct metadata { }

parser Parse(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.ethernet);
        transition accept;
    }
}

control Verify(inout headers hdr, inout metadata meta) {
    apply { }
}

control Forward(inout headers hdr, inout metadata meta, inout standard_metadata_t standard) {
    action drop() {
        mark_to_drop(standard);
    }
    action send(bit<9> port) {
        standard.egress_spec = port;
    }
    table mac {
        key = { hdr.ethernet.dst: exact; }
        actions = { send; drop; }
        default_action = drop();
        const entries = {
            0x020000000001: send(1);
            0x020000000002: send(2);
        }
    }
    apply {
        mac.apply();
    }
}

control Outgoing(inout headers hdr, inout metadata meta, inout standard_metadata_t standard) {
    apply { }
}

control Compute(inout headers hdr, inout metadata meta) {
    apply { }
}

control Deparse(packet_out packet, in headers hdr) {
    apply {
        packet.emit(hdr.ethernet);
    }
}

V1Switch(Parse(), Verify(), Forward(), Outgoing(), Compute(), Deparse()) main;
