//! P4Info of a program without its source.
#![allow(clippy::unwrap_used, missing_docs)]

use p4front::source::SourceMap;
use p4front::{Options, p4info_of};

const PROGRAM: &str = r#"
#include <core.p4>
#include <v1model.p4>
header h_t { bit<8> a; bit<32> b; }
struct H { h_t h; }
struct M { }
parser P(packet_in b, out H h, inout M m, inout standard_metadata_t s) {
    value_set<bit<8>>(4) special;
    state start { b.extract(h.h); transition select(h.h.a) { special: accept; default: accept; } }
}
control V(inout H h, inout M m) { apply { } }
control I(inout H h, inout M m, inout standard_metadata_t s) {
    direct_counter(CounterType.bytes) hits;
    counter(16, CounterType.packets) seen;
    meter(8, MeterType.bytes) flow;
    register<bit<16>>(32) sums;
    action_selector(HashAlgorithm.crc16, 32w16, 32w16) spread;
    action send(bit<9> port) { s.egress_spec = port; }
    action none() { }
    table plain {
        key = { h.h.b: lpm; h.h.a: exact; }
        actions = { send; @defaultonly none; }
        default_action = none();
        counters = hits;
        support_timeout = true;
        size = 99;
    }
    table spreading {
        key = { h.h.a: exact; h.h.b: selector; }
        actions = { send; none; }
        implementation = spread;
    }
    apply {
        bit<32> colour;
        bit<16> sum;
        seen.count(0);
        flow.execute_meter(32w0, colour);
        sums.read(sum, 0);
        plain.apply();
        spreading.apply();
    }
}
control E(inout H h, inout M m, inout standard_metadata_t s) { apply { } }
control D(packet_out b, in H h) { apply { b.emit(h.h); } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
"#;

/// This program's source says nothing that its names do not.
#[test]
fn a_program_tells_the_control_plane_that_its_source_tells() {
    let mut map = SourceMap::new();
    let main = map.add("main.p4", PROGRAM).unwrap();
    let compiled = p4front::compile(&mut map, main, &Options::default()).unwrap();
    let mut derived = p4info_of(&compiled.ir);
    let mut told = compiled.p4info;
    for info in [&mut derived, &mut told] {
        info.actions.sort_by_key(|action| action.id());
        for action in &mut info.actions {
            // The words of the source.
            action
                .preamble
                .iter_mut()
                .for_each(|p| p.annotations.clear());
        }
        for table in &mut info.tables {
            table.initial_default_action = None;
            // The order and the words of the source.
            table
                .action_refs
                .iter_mut()
                .for_each(|r| r.annotations.clear());
        }
    }
    assert_eq!(derived.tables, told.tables);
    assert_eq!(derived.actions, told.actions);
    assert_eq!(derived.action_profiles, told.action_profiles);
    assert_eq!(derived.counters, told.counters);
    assert_eq!(derived.direct_counters, told.direct_counters);
    assert_eq!(derived.meters, told.meters);
    assert_eq!(derived.registers, told.registers);
    assert_eq!(derived.value_sets.len(), told.value_sets.len());
}
