//! `switchwright bench simulate`: packet-hops per second on one core with the compiled pipeline, and a long run that
//! must lose nothing.

use serde::Serialize;

use super::super::fault::Fault;
use super::super::terminal::{self, Terminal};
use measure::{Machine, PUBLISHED, SimulationBench, SimulationFigure};

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

pub(super) fn run(terminal: &Terminal, packets: u64) -> Result<(), Fault> {
    let bar = terminal.progress("planning");
    let bench = SimulationBench::new(PORTS).map_err(Fault::input)?;
    let mut best: Option<SimulationFigure> = None;
    for run in 1..=RUNS {
        bar.set_message(format!("speed, run {run} of {RUNS}"));
        let figure = bench.run(PACKETS).map_err(Fault::input)?;
        let better = |b: &SimulationFigure| b.hops_per_second < figure.hops_per_second;
        if best.as_ref().is_none_or(better) {
            best = Some(figure);
        }
    }
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
    let report = SimulateReport {
        machine: Machine::here(),
        simulate,
        published: published.into(),
    };
    terminal.result(&report, || describe(&report))
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
    for other in &report.published {
        text.push_str(&format!(
            "{}: {} million events/s by the literature, without a P4 pipeline; not measured here\n",
            other.simulator,
            other.events_per_second / 1e6
        ));
    }
    text
}
