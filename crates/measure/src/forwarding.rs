//! How fast an executor forwards: packets in memory, one thread.

use std::time::Instant;

use p4exec::Executor;
use p4exec::exec::Batch;
use packetgen::Traffic;
use quantities::{Bytes, Nanos, PortId};
use serde::Serialize;

use super::machine::resident_memory;

/// Packets given to an executor at a time.
const BATCH: usize = 256;

/// How long to forward.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// At most so many packets.
    pub packets: u64,
    /// At most so many seconds.
    pub seconds: f64,
}

/// What one executor did.
#[derive(Clone, Debug, Serialize)]
pub struct ForwardingFigure {
    /// `interp` or `compile`.
    pub executor: String,
    /// Packets given.
    pub packets: u64,
    /// Packets that came out.
    pub sent: u64,
    /// Packets and copies dropped.
    pub dropped: u64,
    /// Wall-clock time.
    pub seconds: f64,
    /// Packets given per second.
    pub packets_per_second: f64,
    /// Memory of the process after warming up.
    pub memory_before: Option<Bytes>,
    /// Memory of the process at the end.
    pub memory_after: Option<Bytes>,
}

/// Gives the traffic to an executor, over and over.
pub fn forward(
    name: &str,
    executor: &mut dyn Executor,
    traffic: &Traffic,
    budget: Budget,
) -> ForwardingFigure {
    let packets = traffic.iter().cycle().take(BATCH.max(traffic.len()));
    let packets: Vec<(PortId, &[u8])> = packets.map(|(p, b)| (*p, b.as_slice())).collect();
    let batches: Vec<&[(PortId, &[u8])]> = packets.chunks(BATCH).collect();
    let mut out = Batch::default();
    let mut now = 1_000_000;
    let mut give = |batch: &[(PortId, &[u8])], out: &mut Batch| {
        out.clear();
        now += 1000 * batch.len() as u64;
        executor.process_batch(Nanos::new(now), batch, out);
        (out.sent.len() as u64, out.dropped.len() as u64)
    };
    for batch in &batches {
        give(batch, &mut out);
    }
    let memory_before = resident_memory();
    let (mut given, mut sent, mut dropped) = (0, 0, 0);
    let start = Instant::now();
    'time: while !batches.is_empty() {
        for batch in &batches {
            if given >= budget.packets || start.elapsed().as_secs_f64() >= budget.seconds {
                break 'time;
            }
            let left = usize::try_from(budget.packets - given).unwrap_or(usize::MAX);
            let batch = &batch[..batch.len().min(left)];
            let (out_now, dropped_now) = give(batch, &mut out);
            given += batch.len() as u64;
            sent += out_now;
            dropped += dropped_now;
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    ForwardingFigure {
        executor: name.to_owned(),
        packets: given,
        sent,
        dropped,
        seconds,
        packets_per_second: if seconds > 0.0 {
            given as f64 / seconds
        } else {
            0.0
        },
        memory_before,
        memory_after: resident_memory(),
    }
}
