//! The compiled executor allocates nothing per packet: counted while warm batches run.

use std::sync::Arc;

use p4exec::ExecutorKind;
use p4exec::exec::Batch;
use p4front::Options;
use p4test::compile;
use p4test::random::{Scenario, Step};
use packetgen::Choices;
use quantities::{Nanos, PortId};

/// Packets of one batch.
const PACKETS: usize = 256;
/// Batches counted.
const ROUNDS: u64 = 20;

/// Warm batches of random packets on random entries: packets forwarded by one, and allocations of
/// all.
fn allocations(program: &str, seed: u64) -> (usize, u64) {
    let root = p4test::root();
    let options = Options {
        include_paths: vec![root.join("p4src")],
        ..Options::on_disk()
    };
    let program = compile(&root.join(program), &options).expect("a program of ours");
    let scenario = Scenario::new(&program, PACKETS, &mut Choices::seeded(seed));
    let scenario = scenario.expect("a program of ours has a state");
    let mut executor =
        p4exec::executor(ExecutorKind::Compile, Arc::clone(&program)).expect("a program of ours");
    let mut packets: Vec<(PortId, Arc<[u8]>)> = Vec::new();
    for step in scenario.steps {
        match step {
            Step::Update(update) => {
                // Some updates are meant to be refused.
                let _ = executor.state_mut().apply(*update, Nanos::new(0));
            }
            Step::Packet { port, bytes } => packets.push((port, bytes.into())),
            Step::Port { .. } | Step::Wait(_) => {}
        }
    }
    let packets: Vec<(PortId, &[u8])> = packets.iter().map(|(p, b)| (*p, &**b)).collect();
    let mut batch = Batch::default();
    let mut round = |now: u64| {
        batch.clear();
        executor.process_batch(Nanos::new(now * 1_000_000), &packets, &mut batch);
        batch.sent.len()
    };
    let sent = (0..3).map(&mut round).last().unwrap_or(0);
    let counted = allocation_counter::measure(|| {
        for now in 3..3 + ROUNDS {
            round(now);
        }
    });
    (sent, counted.count_total)
}

#[test]
fn warm_batches_allocate_nothing() {
    for program in [
        "p4src/generated/tagger-dscp-sets33.p4",
        "p4src/generated/tagger-vlan-pcp-sets33.p4",
        "bmv2-tests/cases/matches.p4",
        "bmv2-tests/cases/selector.p4",
    ] {
        let mut forwarded = 0;
        for seed in 0..8 {
            let (sent, allocations) = allocations(program, seed);
            assert_eq!(allocations, 0, "{program}, seed {seed}");
            forwarded += sent;
        }
        assert!(forwarded > 0, "{program} forwards nothing");
    }
}
