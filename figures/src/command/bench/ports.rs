//! `switchwright bench ports`: frames per second through the switch, beside what raw sockets can
//! carry at best.

use files::Scratch;
use serde::Serialize;

use crate::{LinkFigure, PortFigure, PortsError};
use measure::Machine;
use switchwright::cli::fault::{Context, Fault, Status};
use switchwright::cli::terminal::{self, Terminal};

#[derive(Serialize)]
struct PortsReport {
    machine: Machine,
    ports: Vec<PortFigure>,
    links: Vec<LinkFigure>,
}

pub(super) fn run(terminal: &Terminal, peers: bool) -> Result<(), Fault> {
    let scratch = Scratch::new().input("temporary directory")?;
    let bar = terminal.progress("ports");
    let step = |what: &str| bar.set_message(what.to_owned());
    let fault = |error: PortsError| match error {
        PortsError::Net(_) => Fault::with(Status::Target, &error),
        _ => Fault::input(&error),
    };
    step("links going down");
    let links = crate::measure_links().map_err(fault)?;
    let ports = crate::measure_ports(scratch.path(), peers, &step).map_err(fault)?;
    bar.finish_and_clear();
    let report = PortsReport {
        machine: Machine::here(),
        ports,
        links,
    };
    terminal.result(&report, || describe(&report))
}

fn describe(report: &PortsReport) -> String {
    let row = |figure: &PortFigure| {
        vec![
            figure.contender.to_owned(),
            figure.length.to_string(),
            format!("{:.0}", figure.unpaced),
            format!("{:.2}", figure.ratio),
            figure
                .core_time
                .map_or_else(|| "-".to_owned(), |t| format!("{t:.0}")),
            figure
                .core_ratio
                .map_or_else(|| "-".to_owned(), |r| format!("{r:.2}")),
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
        "core ns/frame",
        "of bare",
        "paced load/s",
        "carried",
        "growth KiB",
    ];
    let micros = |time: quantities::Nanos| format!("{:.0}", time.get() as f64 / 1e3);
    let row = |figure: &LinkFigure| {
        vec![
            figure.end.to_owned(),
            figure.part.to_owned(),
            micros(figure.median),
            micros(figure.most),
            micros(figure.worst),
        ]
    };
    let links: Vec<Vec<String>> = report.links.iter().map(row).collect();
    let links_header = ["end off", "a lost link", "median us", "99 % us", "worst us"];
    format!(
        "{}\n{}\n{}",
        report.machine.describe(),
        terminal::table(&header, &[1, 2, 3, 4, 5, 6, 7, 8], &rows),
        terminal::table(&links_header, &[2, 3, 4], &links)
    )
}
