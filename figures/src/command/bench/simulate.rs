//! `switchwright bench simulate`: packet-hops per second on one core with the compiled pipeline,
//! beside csg-htsim without one, and a long run that must lose nothing.

use files::Scratch;
use serde::Serialize;

use crate::{HtsimBench, HtsimError, HtsimFigure, PUBLISHED, SimulationBench, SimulationFigure};
use measure::Machine;
use switchwright::cli::fault::{Context, Fault, Status};
use switchwright::cli::terminal::{self, Terminal};

/// Packets of a run that measures speed, and how many such runs there are; the quickest counts.
const PACKETS: u64 = 1_000_000;
const RUNS: usize = 3;
/// Ports of a switch of the fat-tree.
const PORTS: u16 = 8;

#[derive(Serialize)]
struct SimulateReport {
    machine: Machine,
    /// The quickest of the short runs, and the long one.
    simulate: Vec<SimulationFigure>,
    /// The quickest run of csg-htsim, if it was found.
    peer: Option<HtsimFigure>,
    /// Our packet-hops per second over the peer's.
    ratio: Option<f64>,
    /// What the literature says of others.
    published: Vec<Published>,
}

#[derive(Serialize)]
struct Published {
    simulator: &'static str,
    events_per_second: f64,
    /// Whether this bench measured it.
    measured: bool,
}

pub(super) fn run(terminal: &Terminal, packets: u64, peers: bool) -> Result<(), Fault> {
    let bar = terminal.progress("planning");
    let bench = SimulationBench::new(PORTS).map_err(Fault::input)?;
    let scratch = Scratch::new().input("temporary directory")?;
    let beside = match peers {
        true => HtsimBench::new(&bench, scratch.path()).map_err(of_peer)?,
        false => None,
    };
    let mut best: Option<SimulationFigure> = None;
    let mut peer: Option<HtsimFigure> = None;
    // In turn, so that what else the machine does slows down both.
    for run in 1..=RUNS {
        bar.set_message(format!("speed, run {run} of {RUNS}"));
        let figure = bench.run(PACKETS).map_err(Fault::input)?;
        best = quicker(best, figure, |f| f.hops_per_second);
        if let Some(beside) = &beside {
            bar.set_message(format!("csg-htsim, run {run} of {RUNS}"));
            let figure = beside.run().map_err(of_peer)?;
            peer = quicker(peer, figure, |f| f.hops_per_second);
        }
    }
    let ours = best.as_ref().map(|figure| figure.hops_per_second);
    let mut simulate: Vec<SimulationFigure> = best.into_iter().collect();
    if packets > 0 {
        bar.set_message(format!("{packets} packets"));
        simulate.push(bench.run(packets).map_err(Fault::input)?);
    }
    bar.finish_and_clear();
    let published = PUBLISHED.map(|(simulator, events_per_second)| Published {
        simulator,
        events_per_second,
        measured: false,
    });
    let theirs = peer.as_ref().map(|figure| figure.hops_per_second);
    let report = SimulateReport {
        machine: Machine::here(),
        simulate,
        ratio: ours.zip(theirs).map(|(ours, theirs)| ours / theirs),
        peer,
        published: published.into(),
    };
    terminal.result(&report, || describe(&report))
}

/// The one of two figures that has the higher rate.
fn quicker<T>(best: Option<T>, figure: T, rate: impl Fn(&T) -> f64) -> Option<T> {
    match best {
        Some(best) if rate(&best) >= rate(&figure) => Some(best),
        _ => Some(figure),
    }
}

fn of_peer(error: HtsimError) -> Fault {
    Fault::with(Status::Target, error)
}

fn describe(report: &SimulateReport) -> String {
    let millions = |value: f64| format!("{:.2}", value / 1e6);
    let row = |figure: &SimulationFigure| {
        vec![
            format!("{}, {} hosts", figure.case, figure.hosts),
            figure.packets.to_string(),
            figure.packet_hops.to_string(),
            figure.lossless_drops.to_string(),
            figure.deadlocks.to_string(),
            figure.pauses.to_string(),
            format!("{:.0} %", 100.0 * figure.headroom_used),
            format!("{:.1}", figure.seconds),
            figure
                .core_seconds
                .map_or_else(|| "-".to_owned(), |s| format!("{s:.1}")),
            millions(figure.hops_per_second),
            millions(figure.events_per_second),
            figure
                .peak_memory
                .map_or_else(|| "-".to_owned(), |b| (b.get() >> 20).to_string()),
        ]
    };
    let rows: Vec<Vec<String>> = report.simulate.iter().map(row).collect();
    let header = [
        "case",
        "packets",
        "packet-hops",
        "drops",
        "deadlocks",
        "pauses",
        "headroom",
        "wall s",
        "core s",
        "M hops/s",
        "M events/s",
        "peak MiB",
    ];
    let right: Vec<usize> = (1..header.len()).collect();
    let mut text = format!(
        "{}\n{}",
        report.machine.describe(),
        terminal::table(&header, &right, &rows)
    );
    if let (Some(peer), Some(ratio)) = (&report.peer, report.ratio) {
        text.push_str(&format!(
            "csg-htsim (htsim_roce, no P4 pipeline), the same permutation: {} packets, {} packet-hops (data and acknowledgements), core {:.1} s, \
             {} M hops/s; ours is {ratio:.2} times as fast\n",
            peer.packets,
            peer.packet_hops,
            peer.seconds,
            millions(peer.hops_per_second),
        ));
    }
    for other in &report.published {
        text.push_str(&format!(
            "{}: {} million events/s by the literature, without a P4 pipeline; not measured here\n",
            other.simulator,
            other.events_per_second / 1e6
        ));
    }
    text
}
