//! Packets that installed entries forward.

use std::sync::Arc;

use p4exec::trace::{TraceEvent, Tracer};
use p4exec::{Executor, Interpreter, Outputs, RuntimeState};
use p4ir::ValidProgram;
use quantities::{Nanos, PortId};

use crate::{Choices, PacketMaker, Pool};

/// Packets with the ports they come in at.
pub type Traffic = Vec<(PortId, Vec<u8>)>;

/// What to generate.
#[derive(Clone, Copy, Debug)]
pub struct TrafficSpec {
    /// Bytes of a packet.
    pub size: usize,
    /// Different packets.
    pub count: usize,
    /// Where chance begins.
    pub seed: u64,
}

/// Counts what a packet hits.
#[derive(Default)]
struct Hits(usize);

impl Tracer for Hits {
    fn event(&mut self, event: TraceEvent) {
        if matches!(&event, TraceEvent::Table(table) if table.hit.is_some()) {
            self.0 += 1;
        }
    }
}

/// Packets that the installed entries forward: drawn from the program's parser and the entries'
/// keys, tried on the interpreter with the same state, best first by the tables they hit. Fewer, or
/// none, where chance finds no more.
#[must_use]
pub fn traffic(program: &Arc<ValidProgram>, state: &RuntimeState, spec: TrafficSpec) -> Traffic {
    let mut choices = Choices::seeded(spec.seed);
    let mut pool = Pool::new(program, &mut choices);
    pool.add_entries(state);
    let maker = PacketMaker::new(Arc::clone(program));
    let Ok(mut trial) = Interpreter::new(Arc::clone(program)) else {
        return Traffic::new();
    };
    *trial.state_mut() = state.clone();
    let mut found: Vec<(usize, (PortId, Vec<u8>))> = Vec::new();
    let mut out = Outputs::default();
    for _ in 0..spec.count * 40 {
        let mut bytes = maker.well_formed(&pool, &mut choices);
        bytes.resize(spec.size, 0);
        let port = PortId::new(pool.port(&mut choices));
        let mut hits = Hits::default();
        out.clear();
        trial.process_traced(Nanos::new(0), &bytes, port, &mut out, &mut hits);
        if !out.sent.is_empty() && out.dropped.is_empty() {
            found.push((hits.0, (port, bytes)));
        }
    }
    found.sort_by_key(|(hits, _)| std::cmp::Reverse(*hits));
    found
        .into_iter()
        .take(spec.count)
        .map(|(_, packet)| packet)
        .collect()
}
