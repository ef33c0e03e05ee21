//! `switchwright bench simulate --threads N`: the simulator by several threads beside one, and what
//! more cores would give.

use serde::Serialize;

use crate::{ParallelFigure, Projection, SharedFigure, SimulationBench, parallel};
use measure::Machine;
use switchwright::cli::fault::Fault;
use switchwright::cli::terminal::{self, Terminal};

/// Ports of a switch of the fat-tree: 320 switches, 1024 hosts.
const PORTS: u16 = 16;
/// Simulated microseconds, and runs of which the shortest counts.
const MICROS: f64 = 300.0;
const RUNS: usize = 3;

#[derive(Serialize)]
struct ThreadsReport {
    machine: Machine,
    threads: ParallelFigure,
}

pub(super) fn run(terminal: &Terminal, threads: u16) -> Result<(), Fault> {
    let bar = terminal.progress("planning");
    let bench = SimulationBench::new(PORTS).map_err(Fault::input)?;
    let told = |what: &str| bar.set_message(what.to_owned());
    let figure = parallel(&bench, MICROS, threads.into(), RUNS, told).map_err(Fault::input)?;
    bar.finish_and_clear();
    let report = ThreadsReport {
        machine: Machine::here(),
        threads: figure,
    };
    terminal.result(&report, || describe(&report))
}

fn describe(report: &ThreadsReport) -> String {
    let figure = &report.threads;
    let row = |run: &SharedFigure| {
        vec![
            run.windows.threads.to_string(),
            format!("{:.2}", run.seconds),
            format!("{:.2}", run.packet_hops as f64 / run.seconds / 1e6),
            format!("{:.2}", run.speedup),
            if run.same { "yes" } else { "NO" }.to_owned(),
        ]
    };
    let header = ["threads", "wall s", "M hops/s", "speed-up", "same bytes"];
    let rows: Vec<Vec<String>> = figure.runs.iter().map(row).collect();
    let measured = terminal::table(&header, &[0, 1, 2, 3], &rows);
    let row = |found: &Projection| {
        vec![
            found.cores.to_string(),
            found.windows.windows.to_string(),
            format!("{:.0}", found.windows.events_per_window()),
            found.windows.messages.to_string(),
            format!("{:.2}", found.balance),
            format!("{:.1}", found.speedup),
            format!("{:.0} %", 100.0 * found.efficiency),
        ]
    };
    let header = [
        "cores",
        "windows",
        "events in each",
        "messages",
        "balance",
        "speed-up",
        "efficiency",
    ];
    let rows: Vec<Vec<String>> = figure.projections.iter().map(row).collect();
    let projected = terminal::table(&header, &[0, 1, 2, 3, 4, 5, 6], &rows);
    format!(
        "{}\n{}, {} switches, {} hosts, {:.0} us of virtual time\n{measured}\nComputed, from the events of every window of so many parts, \
         the time of an event on one core, and {:.0} ns for two threads to meet (more in proportion to their number):\n{projected}",
        report.machine.describe(),
        figure.case,
        figure.switches,
        figure.hosts,
        figure.simulated_us,
        figure.wait_ns,
    )
}
