// A table by longest prefix and one by exact match, for a million entries each.
#include <core.p4>
#include <v1model.p4>

header h_t { bit<32> to; }
struct H { h_t h; }
struct M { }

parser P(packet_in b, out H h, inout M m, inout standard_metadata_t s) {
    state start { b.extract(h.h); transition accept; }
}
control V(inout H h, inout M m) { apply { } }
control I(inout H h, inout M m, inout standard_metadata_t s) {
    action send(bit<9> port) { s.egress_spec = port; }
    action drop() { mark_to_drop(s); }
    table routes {
        key = { h.h.to: lpm; }
        actions = { send; drop; }
        default_action = drop();
        size = 1048576;
    }
    table hosts {
        key = { h.h.to: exact; }
        actions = { send; drop; }
        default_action = drop();
        size = 1048576;
    }
    apply { if (!hosts.apply().hit) { routes.apply(); } }
}
control E(inout H h, inout M m, inout standard_metadata_t s) { apply { } }
control D(packet_out b, in H h) { apply { b.emit(h.h); } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
