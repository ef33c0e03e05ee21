//! Where the time of a compiled program goes: the program is compiled again and again, cut at one
//! place more, and what a part costs is the difference between two cuts. Compiled code does work
//! where its result is used, so a header that nobody reads costs its parser nothing.

use std::sync::Arc;

use p4exec::compile::Cut;
use p4exec::{BuildError, Compiled, Executor};
use p4ir::{TableId, ValidProgram};
use packetgen::Traffic;
use serde::Serialize;

use super::forwarding::{Budget, forward};

/// Runs of each cut, in turn; the quickest counts.
const RUNS: usize = 5;

/// Seconds of a run.
const SECONDS: f64 = 0.02;

/// What the parts of a program cost, in nanoseconds over all packets.
#[derive(Clone, Debug, Serialize)]
pub struct Profile {
    /// Packets in: what a program costs that takes them and does nothing. What comes out is written
    /// in `deparser`.
    pub around: f64,
    /// Checksums that are verified are in `ingress`, those that are computed in `deparser`.
    pub parser: f64,
    /// With its tables.
    pub ingress: f64,
    /// With its tables.
    pub egress: f64,
    /// Behind egress: headers and payload are put together, and the departure noted.
    pub deparser: f64,
    /// The sum.
    pub whole: f64,
    /// By table.
    pub tables: Vec<TableCost>,
}

/// What a table costs where it is applied, its actions left out.
#[derive(Clone, Debug, Serialize)]
pub struct TableCost {
    /// The table.
    pub name: String,
    /// Entries in it.
    pub entries: usize,
    /// Making the key.
    pub key: f64,
    /// Looking it up.
    pub look_up: f64,
}

/// The costs of a program with its entries on some packets; `None` where blocks are compiled one by
/// one and cannot be cut.
///
/// # Errors
/// What `refused` makes of a program that cannot be compiled; what `fill` says.
pub fn profile<E>(
    program: &Arc<ValidProgram>,
    fill: impl Fn(&mut dyn Executor) -> Result<(), E>,
    refused: impl Fn(BuildError) -> E,
    traffic: &Traffic,
) -> Result<Option<Profile>, E> {
    let tables: Vec<TableId> = program.tables.keys().collect();
    let mut cuts = vec![Cut::Start, Cut::Parsed, Cut::Ingress, Cut::Egress];
    for id in &tables {
        cuts.extend([Cut::Key(*id), Cut::LookUp(*id), Cut::Action(*id)]);
    }
    let mut executors = vec![Compiled::new(Arc::clone(program)).map_err(&refused)?];
    for cut in cuts {
        match Compiled::cut(Arc::clone(program), cut).map_err(&refused)? {
            Some(executor) => executors.push(executor),
            None => return Ok(None),
        }
    }
    for executor in &mut executors {
        fill(executor)?;
    }
    let times = quickest(&mut executors, traffic);
    let [whole, start, parsed, ingress, egress, by_table @ ..] = &times[..] else {
        return Ok(None);
    };
    let between = |from: &f64, to: &f64| (to - from).max(0.0);
    let state = executors[0].state();
    let table = |(id, times): (&TableId, &[f64])| TableCost {
        name: program.tables[*id].name.clone(),
        entries: state.control.table(*id).map_or(0, |table| table.len()),
        key: between(&times[0], &times[1]),
        look_up: between(&times[1], &times[2]),
    };
    Ok(Some(Profile {
        around: *start,
        parser: between(start, parsed),
        ingress: between(parsed, ingress),
        egress: between(ingress, egress),
        deparser: between(egress, whole),
        whole: *whole,
        tables: tables.iter().zip(by_table.chunks(3)).map(table).collect(),
    }))
}

/// Nanoseconds that a packet takes with each executor, the best of some runs of all in turn.
fn quickest(executors: &mut [Compiled], traffic: &Traffic) -> Vec<f64> {
    let budget = Budget {
        packets: u64::MAX,
        seconds: SECONDS,
    };
    let mut best = vec![f64::INFINITY; executors.len()];
    for _ in 0..RUNS {
        for (best, executor) in best.iter_mut().zip(&mut *executors) {
            let figure = forward("compile", executor, traffic, budget);
            *best = best.min(1e9 / figure.packets_per_second);
        }
    }
    best
}
