//! `switchwright bench ports`: frames per second through the switch, beside what raw sockets can carry at best.

use serde::Serialize;
use tempfile::TempDir;

use super::super::fault::{Context, Fault, Status};
use super::super::terminal::{self, Terminal};
use crate::measure::{self, Machine, PortFigure, PortsError};

#[derive(Serialize)]
struct Report {
    machine: Machine,
    ports: Vec<PortFigure>,
}

pub(super) fn run(terminal: &Terminal, peers: bool) -> Result<(), Fault> {
    let scratch = TempDir::new().input("temporary directory")?;
    let bar = terminal.progress("ports");
    let step = |what: &str| bar.set_message(what.to_owned());
    let ports =
        measure::measure_ports(scratch.path(), peers, &step).map_err(|error| match error {
            PortsError::Net(_) => Fault::with(Status::Target, &error),
            _ => Fault::input(&error),
        })?;
    bar.finish_and_clear();
    let machine = Machine::here();
    let report = Report { machine, ports };
    terminal.result(&report, || describe(&report))
}

fn describe(report: &Report) -> String {
    let row = |figure: &PortFigure| {
        vec![
            figure.contender.to_owned(),
            figure.length.to_string(),
            format!("{:.0}", figure.unpaced),
            format!("{:.2}", figure.ratio),
            format!("{:.0}", figure.offered),
            format!("{:.2} %", 100.0 * figure.carried),
            figure
                .growth
                .map_or_else(|| "-".to_owned(), |b| (b.get() >> 10).to_string()),
        ]
    };
    let rows: Vec<Vec<String>> = report.ports.iter().map(row).collect();
    let header = [
        "forwarder",
        "bytes",
        "frames/s",
        "of bare",
        "paced load/s",
        "carried",
        "growth KiB",
    ];
    format!(
        "{}\n{}",
        report.machine.describe(),
        terminal::table(&header, &[1, 2, 3, 4, 5, 6], &rows)
    )
}
