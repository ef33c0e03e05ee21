//! What only the compiled executor could do differently: batches, traces in between, many programs.

use std::sync::Arc;

use p4exec::{Batch, Compiled, Executor, ExecutorKind, Interpreter, Outputs, TraceEvent, executor};
use quantities::{Nanos, PortId};

use super::packet_path::{configured, program};

/// All operations of the test program that end, with a few arguments and lengths.
fn packets() -> Vec<Vec<u8>> {
    let mut packets = vec![vec![], vec![5]];
    for op in 0..=11u8 {
        for arg in [0, 9, 255] {
            if op != 10 {
                packets.push(vec![op, arg, 1, 2, 3]);
            }
        }
    }
    packets
}

#[test]
fn a_batch_is_what_its_packets_are_one_by_one() {
    let packets = packets();
    let list: Vec<(PortId, &[u8])> = packets.iter().map(|p| (PortId::new(1), &p[..])).collect();
    let mut expected = Batch::default();
    configured(ExecutorKind::Interp).process_batch(Nanos::new(7_000), &list, &mut expected);
    for kind in ExecutorKind::ALL {
        let mut batch = Batch::default();
        configured(kind).process_batch(Nanos::new(7_000), &list, &mut batch);
        assert_eq!(batch.sent, expected.sent, "{kind}");
        assert_eq!(batch.bytes, expected.bytes, "{kind}");
        assert_eq!(batch.dropped, expected.dropped, "{kind}");

        let mut single = configured(kind);
        let (mut sent, mut dropped) = (Vec::new(), Vec::new());
        for packet in &packets {
            let mut out = Outputs::default();
            single.process(Nanos::new(7_000), packet, PortId::new(1), &mut out);
            sent.extend(out.sent.into_iter().map(|o| (o.port, o.bytes, o.metadata)));
            dropped.extend(out.dropped);
        }
        let batched: Vec<_> = expected
            .sent
            .iter()
            .map(|d| (d.port, expected.packet(d).to_vec(), d.metadata))
            .collect();
        assert_eq!(sent, batched, "{kind}");
        assert!(dropped.iter().eq(expected.dropped.iter().map(|(_, r)| r)));
    }
}

#[test]
fn tracing_changes_nothing() {
    let [mut plain, mut traced] = [(); 2].map(|()| configured(ExecutorKind::Compile));
    for (n, packet) in packets().iter().enumerate() {
        let now = Nanos::new(n as u64 * 1000);
        let [mut a, mut b] = [(); 2].map(|()| Outputs::default());
        plain.process(now, packet, PortId::new(1), &mut a);
        let mut events: Vec<TraceEvent> = Vec::new();
        if n % 2 == 0 {
            traced.process_traced(now, packet, PortId::new(1), &mut b, &mut events);
            assert!(!events.is_empty());
        } else {
            traced.process(now, packet, PortId::new(1), &mut b);
        }
        assert_eq!((a.sent, a.dropped), (b.sent, b.dropped), "{packet:?}");
    }
}

/// Two switches of one program that take turns with one frame, beside two that have their own.
macro_rules! take_turns {
    ($executor:ident) => {{
        let mut own = [(); 2].map(|()| $executor::new(program()).unwrap());
        let first = $executor::new(program()).unwrap();
        let mut shared = [(); 2].map(|()| first.sibling().unwrap());
        let mut frame = Vec::new();
        for (n, packet) in packets().iter().enumerate() {
            let [mut expected, mut out] = [(); 2].map(|()| Outputs::default());
            own[n % 2].process(Nanos::new(0), packet, PortId::new(1), &mut expected);
            let switch = &mut shared[n % 2];
            switch.swap_frame(&mut frame);
            switch.process(Nanos::new(0), packet, PortId::new(1), &mut out);
            switch.swap_frame(&mut frame);
            assert_eq!((out.sent, out.dropped), (expected.sent, expected.dropped));
        }
    }};
}

#[test]
fn siblings_may_share_a_frame() {
    take_turns!(Interpreter);
    take_turns!(Compiled);
}

#[test]
fn executors_move_between_threads_and_may_be_dropped_there() {
    let mut switch = executor(ExecutorKind::Compile, program()).unwrap();
    let worker = std::thread::spawn(move || {
        let mut out = Outputs::default();
        switch.process(Nanos::new(0), &[0, 3], PortId::new(1), &mut out);
        out.sent.len()
    });
    assert_eq!(worker.join().unwrap(), 1);
}

#[test]
fn the_code_of_a_dropped_program_is_freed() {
    // In a process of its own: the other tests of this one take and free memory at the same time.
    const NAME: &str = "agree::the_code_of_a_dropped_program_is_freed";
    if std::env::var_os("ALONE").is_none() {
        let test = std::env::current_exe().unwrap();
        let alone = std::process::Command::new(test)
            .args(["--exact", NAME])
            .env("ALONE", "1")
            .status();
        assert!(alone.unwrap().success());
        return;
    }
    // Each program takes at least four pages of code; leaked, these would exceed any small limit.
    let program = program();
    let size = || {
        let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
        let pages = text.split(' ').next().and_then(|n| n.parse::<u64>().ok());
        pages.unwrap_or(0)
    };
    for _ in 0..20 {
        drop(Compiled::new(Arc::clone(&program)).unwrap());
    }
    let before = size();
    for _ in 0..300 {
        drop(Compiled::new(Arc::clone(&program)).unwrap());
    }
    let grown = size().saturating_sub(before);
    assert!(grown < 600, "grew by {grown} pages over 300 programs");
}
