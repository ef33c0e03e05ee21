// A router whose one table is large, for measuring: flows by their five-tuple (EXACT), routes (ROUTES), or else an
// access list over the five-tuple.
#include <core.p4>
#include <v1model.p4>

header ethernet_t { bit<48> dst; bit<48> src; bit<16> type; }
header ipv4_t {
    bit<4> version; bit<4> ihl; bit<8> tos; bit<16> len; bit<16> id; bit<16> frag;
    bit<8> ttl; bit<8> protocol; bit<16> checksum; bit<32> src; bit<32> dst;
}
header ports_t { bit<16> src; bit<16> dst; }
struct headers_t { ethernet_t ethernet; ipv4_t ipv4; ports_t ports; }
struct metadata_t {}

parser P(packet_in packet, out headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    state start {
        packet.extract(h.ethernet);
        transition select(h.ethernet.type) { 0x0800: ipv4; default: accept; }
    }
    state ipv4 {
        packet.extract(h.ipv4);
        transition select(h.ipv4.ihl, h.ipv4.protocol) { (5, 6): ports; (5, 17): ports; default: accept; }
    }
    state ports { packet.extract(h.ports); transition accept; }
}

control V(inout headers_t h, inout metadata_t m) { apply {} }

control I(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    action deny() { mark_to_drop(s); }
    action permit(bit<9> port) { s.egress_spec = port; }
    table large {
#if defined(EXACT)
        key = {
            h.ipv4.src: exact; h.ipv4.dst: exact; h.ipv4.protocol: exact;
            h.ports.src: exact; h.ports.dst: exact;
        }
#elif defined(ROUTES)
        key = { h.ipv4.dst: lpm; }
#else
        key = {
            h.ipv4.src: ternary; h.ipv4.dst: ternary; h.ipv4.protocol: ternary;
            h.ports.src: ternary; h.ports.dst: ternary;
        }
#endif
        actions = { permit; deny; }
        default_action = deny();
        size = 1048576;
    }
    apply { large.apply(); }
}

control E(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) { apply {} }
control C(inout headers_t h, inout metadata_t m) { apply {} }
control D(packet_out packet, in headers_t h) {
    apply { packet.emit(h.ethernet); packet.emit(h.ipv4); packet.emit(h.ports); }
}

V1Switch(P(), V(), I(), E(), C(), D()) main;
