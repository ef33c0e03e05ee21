//! Batches through large tables: the compiled executor looks up the first keys of many packets
//! together, whatever lies before them.

use std::sync::Arc;

use p4exec::tables::{ActionCall, EntryAction, EntryPriority, FieldMatch, NewEntry};
use p4exec::value::Bits;
use p4exec::{Batch, Compiled, Executor, ExecutorKind, Update, executor};
use p4front::Options;
use p4ir::ValidProgram;
use p4test::compile_text;
use packetgen::Choices;
use quantities::{Nanos, PortId};

/// Entries of each table: more than the executor asks for before it looks ahead.
const ENTRIES: usize = 5000;

/// Every kind of packet comes to a table first in another way.
const PROGRAM: &str = "
#include <core.p4>
#include <v1model.p4>
header h_t { bit<8> kind; bit<32> a; bit<32> b; bit<8> mark; }
struct headers { h_t h; }
struct meta { bit<8> small; }
parser P(packet_in packet, out headers h, inout meta m, inout standard_metadata_t s) {
    state start { packet.extract(h.h); transition accept; }
}
control V(inout headers h, inout meta m) { apply {} }
control I(inout headers h, inout meta m, inout standard_metadata_t s) {
    register<bit<32>>(1) last;
    counter(1, CounterType.packets) seen;
    action mark(bit<8> mark) { h.h.mark = h.h.mark ^ mark; s.egress_spec = 2; }
    action drop() { mark_to_drop(s); }
    action set_small(bit<8> small) { m.small = small; }
    table flows { key = { h.h.a: exact; h.h.b: exact; } actions = { mark; drop; } default_action = drop(); size = 8192; }
    table routes { key = { h.h.a: lpm; } actions = { mark; drop; } default_action = drop(); size = 8192; }
    table wide_routes { key = { h.h.b: exact; h.h.a: lpm; } actions = { mark; drop; } default_action = mark(1); size = 8192; }
    table rules { key = { h.h.a: ternary; h.h.b: ternary; } actions = { mark; drop; } default_action = drop(); size = 8192; }
    table ranges { key = { h.h.a: range; m.small: exact; } actions = { mark; drop; } default_action = mark(3); size = 8192; }
    table few { key = { h.h.b: ternary; } actions = { set_small; } size = 16; }
    apply {
        s.egress_spec = 1;
        if (h.h.kind == 0) { flows.apply(); }
        else if (h.h.kind == 1) { routes.apply(); }
        else if (h.h.kind == 2) { rules.apply(); }
        else if (h.h.kind == 3) {
            // What the packet before left decides the key.
            bit<32> before;
            last.read(before, 0);
            last.write(0, h.h.a);
            h.h.a = before;
            flows.apply();
        }
        else if (h.h.kind == 4) { seen.count(0); routes.apply(); rules.apply(); }
        else if (h.h.kind == 5) { few.apply(); ranges.apply(); }
        else if (h.h.kind == 6) {
            // Once more, to another table.
            if (flows.apply().hit) { clone(CloneType.I2E, 1); }
            if (s.instance_type == 0) { h.h.kind = 1; resubmit_preserving_field_list(1); }
        }
        else { wide_routes.apply(); }
    }
}
control E(inout headers h, inout meta m, inout standard_metadata_t s) { apply {} }
control C(inout headers h, inout meta m) { apply {} }
control D(packet_out packet, in headers h) { apply { packet.emit(h.h); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
";

fn bits(width: u32, value: u32) -> Bits {
    Bits::from_u64(width, u64::from(value))
}

/// The key of a table's entry, and what of a packet it matches.
fn key(table: &str, nth: usize, choices: &mut Choices<'_>) -> (Vec<FieldMatch>, [u32; 2]) {
    let [a, b] = [(); 2].map(|()| choices.number() as u32);
    let prefix_len = 8 + choices.below(25) as u32;
    let prefix = a & (u32::MAX << (32 - prefix_len));
    let longest = FieldMatch::Lpm {
        value: bits(32, prefix),
        prefix_len,
    };
    // Some twenty masks.
    let [of_a, of_b] = [(); 2].map(|()| u32::MAX << (choices.below(5) as u32 * 7));
    let masked = |value, mask| FieldMatch::Ternary {
        value: bits(32, value & mask),
        mask: bits(32, mask),
    };
    let exact = |width, value| FieldMatch::Exact(bits(width, value));
    let key = match table {
        "I.flows" => vec![exact(32, a), exact(32, b)],
        "I.routes" => vec![longest],
        "I.wide_routes" => vec![exact(32, b % 8), longest],
        "I.rules" => vec![masked(a, of_a), masked(b, of_b)],
        "I.ranges" => {
            let range = FieldMatch::Range {
                low: bits(32, a),
                high: bits(32, a.saturating_add(1 << 20)),
            };
            vec![range, exact(8, b % 4)]
        }
        _ => vec![masked(nth as u32, 3)],
    };
    let b = if table == "I.wide_routes" { b % 8 } else { b };
    (key, [a, b])
}

/// A switch with its tables filled, and what of packets its entries match.
fn filled(mut switch: Box<dyn Executor + Send>) -> (Box<dyn Executor + Send>, Vec<[u32; 2]>) {
    let mut choices = Choices::seeded(7);
    let mut matched = Vec::new();
    let state = switch.state_mut();
    for name in [
        "I.flows",
        "I.routes",
        "I.wide_routes",
        "I.rules",
        "I.ranges",
        "I.few",
    ] {
        let table = state.table_named(name).expect("a table of the program");
        let few = name == "I.few";
        let action = state.action_named(if few { "I.set_small" } else { "I.mark" });
        let action = action.expect("an action of the program");
        let priority = !matches!(name, "I.flows" | "I.routes" | "I.wide_routes");
        for n in 0..if few { 4 } else { ENTRIES } {
            let (key, of_packet) = key(name, n, &mut choices);
            let call = ActionCall {
                action,
                args: vec![bits(8, n as u32 % 251)],
            };
            let entry = NewEntry {
                key,
                priority: EntryPriority(if priority { 1 + n as i32 } else { 0 }),
                action: EntryAction::Call(call),
                is_const: false,
                options: Default::default(),
            };
            // A prefix may be drawn twice; the second is refused, by every executor.
            if state
                .apply(Update::InsertEntry { table, entry }, Nanos::new(0))
                .is_ok()
            {
                matched.push(of_packet);
            }
        }
    }
    (switch, matched)
}

/// So many packets, most of which an entry matches.
fn packets(matched: &[[u32; 2]], count: usize, choices: &mut Choices<'_>) -> Vec<Vec<u8>> {
    let packet = |_| {
        let [a, b] = if !choices.one_in(5) {
            matched[choices.below(matched.len())]
        } else {
            [(); 2].map(|()| choices.number() as u32)
        };
        let mut bytes = vec![choices.below(9) as u8];
        bytes.extend(a.to_be_bytes());
        bytes.extend(b.to_be_bytes());
        bytes.extend([0; 20]);
        bytes.truncate(8 + choices.below(22));
        bytes
    };
    (0..count).map(packet).collect()
}

/// What became of a batch.
fn run(switch: &mut dyn Executor, packets: &[Vec<u8>]) -> (Vec<(u32, PortId, Vec<u8>)>, String) {
    let list: Vec<(PortId, &[u8])> = packets.iter().map(|p| (PortId::new(1), &p[..])).collect();
    let mut out = Batch::default();
    switch.process_batch(Nanos::new(5_000), &list, &mut out);
    let sent = out.sent.iter();
    let sent = sent.map(|d| (d.arrival, d.port, out.packet(d).to_vec()));
    (sent.collect(), format!("{:?}", out.dropped))
}

fn program() -> Arc<ValidProgram> {
    compile_text("ahead.p4", PROGRAM, &Options::default()).expect("the program compiles")
}

#[test]
fn first_look_ups_together_find_what_each_finds() {
    let program = program();
    let listing = Compiled::listing(Arc::clone(&program)).expect("code is written");
    assert!(listing.iter().any(|function| function.name == "look ahead"));
    let [(mut one, matched), (mut other, _)] = [ExecutorKind::Interp, ExecutorKind::Compile]
        .map(|kind| filled(executor(kind, Arc::clone(&program)).expect("it starts")));
    let mut choices = Choices::seeded(11);
    let mut sent = 0;
    for count in [1, 2, 15, 16, 17, 31, 32, 33, 64, 100, 256, 1000, 3000] {
        let packets = packets(&matched, count, &mut choices);
        let expected = run(&mut *one, &packets);
        sent += expected.0.len();
        assert_eq!(run(&mut *other, &packets), expected, "{count} packets");
        // Entries come and go between batches.
        for switch in [&mut one, &mut other] {
            let state = switch.state_mut();
            let table = state.table_named("I.flows").expect("a table");
            let known = state.table(table).expect("a table");
            let entry = known.iter().nth(count % ENTRIES / 2).expect("an entry");
            let (key, priority) = (entry.key(), entry.priority());
            let update = Update::DeleteEntry {
                table,
                key,
                priority,
            };
            let removed = state.apply(update, Nanos::new(0));
            removed.expect("an entry goes");
        }
    }
    assert!(sent > 1500, "most packets match something: {sent}");
}
