// What compiled programs do to a packet, for counting instructions (`cargo xtask counts`): it is parsed (PARSE), the key of a table is made
// of it as well (KEY), or a router's work is done and its headers are put together again (DEPARSE).
#include <core.p4>
#include <v1model.p4>

header ethernet_t { bit<48> dst; bit<48> src; bit<16> type; }
header vlan_t { bit<3> pcp; bit<1> dei; bit<12> id; bit<16> type; }
header ipv4_t {
    bit<4> version; bit<4> ihl; bit<8> tos; bit<16> len; bit<16> id; bit<16> frag;
    bit<8> ttl; bit<8> protocol; bit<16> checksum; bit<32> src; bit<32> dst;
}
header ports_t { bit<16> src; bit<16> dst; }
struct headers_t { ethernet_t ethernet; vlan_t vlan; ipv4_t ipv4; ports_t ports; }
struct metadata_t {}

parser P(packet_in packet, out headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    state start {
        packet.extract(h.ethernet);
        transition select(h.ethernet.type) { 0x8100: vlan; 0x0800: ipv4; default: accept; }
    }
    state vlan {
        packet.extract(h.vlan);
        transition select(h.vlan.type) { 0x0800: ipv4; default: accept; }
    }
    state ipv4 {
        packet.extract(h.ipv4);
        transition select(h.ipv4.ihl, h.ipv4.protocol) { (5, 6): ports; (5, 17): ports; default: accept; }
    }
    state ports { packet.extract(h.ports); transition accept; }
}

control V(inout headers_t h, inout metadata_t m) {
    apply {
#if defined(DEPARSE)
        verify_checksum(h.ipv4.isValid(),
            { h.ipv4.version, h.ipv4.ihl, h.ipv4.tos, h.ipv4.len, h.ipv4.id, h.ipv4.frag,
              h.ipv4.ttl, h.ipv4.protocol, h.ipv4.src, h.ipv4.dst },
            h.ipv4.checksum, HashAlgorithm.csum16);
#endif
    }
}

control I(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    action deny() { mark_to_drop(s); }
    action permit(bit<9> port) { s.egress_spec = port; }
    table flows {
        key = {
            h.ipv4.src: exact; h.ipv4.dst: exact; h.ipv4.protocol: exact;
            h.ports.src: exact; h.ports.dst: exact;
        }
        actions = { permit; deny; }
        default_action = deny();
        size = 1024;
    }
    apply {
#if defined(KEY)
        flows.apply();
#elif defined(DEPARSE)
        h.ethernet.dst = h.ethernet.src;
        h.vlan.pcp = 5;
        h.ipv4.ttl = h.ipv4.ttl - 1;
        s.egress_spec = 2;
#else
        if (h.ports.dst != 0) { mark_to_drop(s); }
#endif
    }
}

control E(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) { apply {} }

control C(inout headers_t h, inout metadata_t m) {
    apply {
#if defined(DEPARSE)
        update_checksum(h.ipv4.isValid(),
            { h.ipv4.version, h.ipv4.ihl, h.ipv4.tos, h.ipv4.len, h.ipv4.id, h.ipv4.frag,
              h.ipv4.ttl, h.ipv4.protocol, h.ipv4.src, h.ipv4.dst },
            h.ipv4.checksum, HashAlgorithm.csum16);
#endif
    }
}

control D(packet_out packet, in headers_t h) {
    apply { packet.emit(h.ethernet); packet.emit(h.vlan); packet.emit(h.ipv4); packet.emit(h.ports); }
}

V1Switch(P(), V(), I(), E(), C(), D()) main;
