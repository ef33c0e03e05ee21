//! Which programs' packets are independent of each other and of time, and that they are.

use std::sync::Arc;

use p4exec::{Batch, Executor, ExecutorKind, are_packets_independent, executor};
use p4front::Options;
use p4test::{compile, compile_text, generated, root, statements};
use quantities::{Nanos, PortId};

use super::both::of_one_header;

fn is_independent(declared: &str, applied: &str) -> bool {
    let text = of_one_header("bit<32> a; bit<48> b;", declared, applied);
    let program = compile_text("one.p4", &text, &Options::default());
    are_packets_independent(&program.expect("the program compiles"))
}

#[test]
fn packets_that_count_hash_and_write_times_are_independent() {
    for (declared, applied) in [
        ("", "h.h.a = h.h.a + 1;"),
        (
            "counter(8, CounterType.packets) c;",
            "c.count(h.h.a & 7); s.egress_spec = 2;",
        ),
        (
            "",
            "hash(h.h.a, HashAlgorithm.crc32, 32w0, { h.h.b }, 32w0xffff); if (h.h.a == 0) { mark_to_drop(s); }",
        ),
        // A time that is written, or goes with the whole, is not looked at.
        (
            "action a(inout standard_metadata_t t) { t.egress_spec = 3; }",
            "s.ingress_global_timestamp = 5; a(s); standard_metadata_t t = s; s.egress_spec = t.egress_spec;",
        ),
        (
            "action a(bit<9> port) { s.egress_spec = port; }
             direct_counter(CounterType.packets) c;
             table t { key = { h.h.a : exact; } actions = { a; NoAction; } counters = c; default_action = NoAction; }",
            "t.apply();",
        ),
    ] {
        assert!(is_independent(declared, applied), "{declared} {applied}");
    }
}

#[test]
fn packets_that_leave_something_or_see_the_time_are_not() {
    for (declared, applied) in [
        ("register<bit<32>>(8) r;", "r.read(h.h.a, 0);"),
        ("register<bit<32>>(8) r;", "if (h.h.a == 7) { r.write(0, h.h.a); }"),
        ("meter(8, MeterType.packets) m;", "m.execute_meter(0, h.h.a);"),
        ("", "random(h.h.a, 0, 9);"),
        ("", "digest<bit<32>>(1, h.h.a);"),
        ("", "clone(CloneType.I2E, 5);"),
        ("", "h.h.b = s.ingress_global_timestamp;"),
        ("", "if (s.ingress_global_timestamp > 9) { h.h.a = 1; }"),
        ("", "h.h.a = s.deq_timedelta;"),
        // By way of a copy, of an action, of a key.
        ("", "standard_metadata_t t = s; h.h.b = t.ingress_global_timestamp;"),
        (
            "action a(in standard_metadata_t t) { h.h.b = t.ingress_global_timestamp + 1; }",
            "a(s);",
        ),
        (
            "table t { key = { s.ingress_global_timestamp : exact; } actions = { NoAction; } default_action = NoAction; }",
            "t.apply();",
        ),
        // In what is called by a table alone.
        (
            "register<bit<32>>(8) r;
             action a() { r.write(0, h.h.a); }
             table t { key = { h.h.a : exact; } actions = { a; NoAction; } default_action = NoAction; }",
            "t.apply();",
        ),
    ] {
        assert!(!is_independent(declared, applied), "{declared} {applied}");
    }
}

/// The simulator runs them on many packets at once.
#[test]
fn packets_of_generated_programs_are_independent() {
    let mut seen = 0;
    let mut options = Options::on_disk();
    options.include_paths.push(root().join("p4src"));
    for entry in std::fs::read_dir(generated()).expect("the rendered programs") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|extension| extension != "p4") {
            continue;
        }
        let program = compile(&path, &options).expect("it compiles");
        let name = path.display();
        assert!(are_packets_independent(&program), "{name}");
        seen += 1;
    }
    assert!(seen > 5, "{seen} programs");
}

/// What a packet comes to: its number, what is sent of it, and how often it is dropped.
type Outcome = (usize, Vec<(PortId, Vec<u8>)>, usize);

/// What each of these packets comes to, at this time, in this order; by number.
fn outcomes(executor: &mut dyn Executor, now: Nanos, packets: &[(usize, &[u8])]) -> Vec<Outcome> {
    let arrivals: Vec<_> = packets.iter().map(|(_, p)| (PortId::new(1), *p)).collect();
    let mut batch = Batch::default();
    executor.process_batch(now, &arrivals, &mut batch);
    let mut outcomes: Vec<_> = (0u32..)
        .zip(packets)
        .map(|(arrival, (number, _))| {
            let sent = batch.sent.iter().filter(|d| d.arrival == arrival);
            let sent = sent.map(|d| (d.port, batch.packet(d).to_vec())).collect();
            let dropped = batch.dropped.iter().filter(|(a, _)| *a == arrival).count();
            (*number, sent, dropped)
        })
        .collect();
    outcomes.sort_unstable_by_key(|outcome| outcome.0);
    outcomes
}

/// Random programs of all statements: packets come to the same in any order, one by one or at once,
/// at any time.
#[test]
fn independent_packets_come_to_the_same_in_any_order_and_at_any_time() {
    let mut seen = 0;
    for seed in 0..60 {
        let (program, packets) = statements::seeded(seed);
        let text = program.to_string();
        let program = compile_text("random.p4", &text, &Options::default()).expect("it compiles");
        if !are_packets_independent(&program) {
            continue;
        }
        seen += 1;
        for kind in ExecutorKind::ALL {
            let start = || executor(kind, Arc::clone(&program)).expect("it starts");
            let mut numbered: Vec<(usize, &[u8])> =
                packets.iter().map(Vec::as_slice).enumerate().collect();
            let at_once = outcomes(&mut *start(), Nanos::new(0), &numbered);
            numbered.reverse();
            let reversed = outcomes(&mut *start(), Nanos::new(77_777_777), &numbered);
            assert_eq!(at_once, reversed, "seed {seed}, {kind}\n{text}");
            let mut one_by_one = start();
            let mut single: Vec<_> = numbered
                .iter()
                .flat_map(|packet| outcomes(&mut *one_by_one, Nanos::new(5_000), &[*packet]))
                .collect();
            single.sort_unstable_by_key(|outcome| outcome.0);
            assert_eq!(at_once, single, "seed {seed}, {kind}\n{text}");
        }
    }
    assert!(seen > 20, "{seen} programs");
}
