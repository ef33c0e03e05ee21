// One of every entity of P4Runtime, for the conformance checks.
#include <core.p4>
#include <v1model.p4>

const bit<9> CPU_PORT = 255;

@controller_header("packet_in")
header packet_in_t { bit<9> ingress_port; bit<7> pad; }
@controller_header("packet_out")
header packet_out_t { bit<9> egress_port; bit<7> pad; }
header h_t { bit<8> kind; bit<32> to; bit<16> extra; }
struct H { packet_out_t pout; packet_in_t pin; h_t h; }
struct learn_t { bit<32> to; bit<9> port; }
struct M { bit<8> set; bit<2> colour; bit<16> sum; bit<128> wide; bit<12> odd; }

parser P(packet_in b, out H h, inout M m, inout standard_metadata_t s) {
    value_set<bit<8>>(4) special;
    state start {
        transition select(s.ingress_port) { CPU_PORT: from_cpu; default: body; }
    }
    state from_cpu { b.extract(h.pout); transition body; }
    state body {
        b.extract(h.h);
        transition select(h.h.kind) { special: marked; default: accept; }
    }
    state marked { m.set = 1; transition accept; }
}
control V(inout H h, inout M m) { apply { } }
control I(inout H h, inout M m, inout standard_metadata_t s) {
    direct_counter(CounterType.packets_and_bytes) hits;
    direct_meter<bit<2>>(MeterType.packets) rate;
    counter(16, CounterType.packets_and_bytes) seen;
    meter(8, MeterType.packets) flow;
    register<bit<16>>(32) sums;
    action_selector(HashAlgorithm.crc16, 32w16, 32w16) spread;
    @max_group_size(4) @selector_size_semantics("sum_of_members") @max_member_weight(10)
    action_selector(HashAlgorithm.crc16, 32w8, 32w16) balance;
    action_profile(4) shared;

    action send(bit<9> port) { s.egress_spec = port; }
    action group(bit<16> id) { s.mcast_grp = id; }
    action copy(bit<32> session) { clone(CloneType.I2E, session); }
    action drop() { mark_to_drop(s); }
    action to_cpu() { s.egress_spec = CPU_PORT; h.pin.setValid(); h.pin.ingress_port = s.ingress_port; }
    action counted() { hits.count(); }
    action metered() { rate.read(m.colour); }
    action learn() { digest<learn_t>(1, { h.h.to, s.ingress_port }); s.egress_spec = 1; }
    action wide(bit<128> a, bit<12> b) { m.wide = a; m.odd = b; }

    table exact_one {
        key = { h.h.to: exact; }
        actions = { send; drop; group; copy; to_cpu; learn; wide; }
        default_action = drop();
        size = 64;
        support_timeout = true;
    }
    table routes {
        key = { h.h.to: lpm; }
        actions = { send; drop; @defaultonly NoAction; @tableonly to_cpu; }
        default_action = NoAction();
        size = 1024;
    }
    table acl {
        key = { h.h.to: ternary; h.h.extra: range; h.h.kind: optional; }
        actions = { counted; NoAction; }
        default_action = NoAction();
        counters = hits;
        size = 8;
    }
    table policed {
        key = { h.h.extra: exact; }
        actions = { metered; NoAction; }
        const default_action = NoAction();
        meters = rate;
    }
    table fixed {
        key = { h.h.kind: ternary; h.h.extra: exact; }
        actions = { send; NoAction; }
        const entries = { (1 &&& 3, 7): send(3); (_, 8): send(2); }
        default_action = NoAction();
    }
    table begun {
        key = { h.h.kind: exact; }
        actions = { send; NoAction; }
        entries = { const 200: send(3); 201: send(2); }
        default_action = NoAction();
        size = 16;
    }
    table ecmp {
        key = { h.h.kind: exact; h.h.to: selector; }
        actions = { send; drop; NoAction; }
        implementation = spread;
        size = 16;
    }
    table balanced {
        key = { h.h.kind: exact; h.h.to: selector; }
        actions = { send; drop; NoAction; }
        implementation = balance;
        size = 16;
    }
    table indirect {
        key = { h.h.kind: exact; }
        actions = { send; drop; NoAction; }
        implementation = shared;
        size = 16;
    }
    table odd {
        key = { m.wide: exact; m.odd: exact; }
        actions = { NoAction; }
        default_action = NoAction();
        size = 16;
    }
    table keyless { actions = { send; NoAction; } default_action = NoAction(); }

    apply {
        if (h.pout.isValid()) {
            s.egress_spec = h.pout.egress_port;
            h.pout.setInvalid();
        } else {
            seen.count((bit<32>) h.h.kind);
            flow.execute_meter((bit<32>) h.h.kind, m.colour);
            sums.read(m.sum, (bit<32>) h.h.kind);
            m.sum = m.sum + h.h.extra;
            sums.write((bit<32>) h.h.kind, m.sum);
            exact_one.apply();
            routes.apply();
            acl.apply();
            policed.apply();
            fixed.apply();
            begun.apply();
            ecmp.apply();
            balanced.apply();
            indirect.apply();
            odd.apply();
            keyless.apply();
            if (m.set == 1) { s.egress_spec = 4; }
        }
    }
}
control E(inout H h, inout M m, inout standard_metadata_t s) { apply { } }
control D(packet_out b, in H h) { apply { b.emit(h.pin); b.emit(h.h); } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
