//! `switchwright bench switches`: what a switch costs as a process, in time until it is ready and
//! in memory.

use files::Scratch;
use quantities::Bytes;
use serde::Serialize;

use crate::{SwitchFigure, SwitchesError};
use measure::Machine;
use switchwright::cli::fault::{Context, Fault, Status};
use switchwright::cli::own;
use switchwright::cli::terminal::{self, Terminal};

#[derive(Serialize)]
struct SwitchesReport {
    machine: Machine,
    switches: Vec<SwitchFigure>,
}

pub(super) fn run(terminal: &Terminal, processes: u32) -> Result<(), Fault> {
    let scratch = Scratch::new().input("temporary directory")?;
    let command = own::file()?;
    let bar = terminal.progress("switches");
    let step = |what: &str| bar.set_message(what.to_owned());
    let measured = crate::measure_switches(&command, scratch.path(), processes as usize, &step);
    bar.finish_and_clear();
    let report = SwitchesReport {
        machine: Machine::here(),
        switches: measured.map_err(|error| match error {
            SwitchesError::Io(_) => Fault::input(&error),
            _ => Fault::with(Status::Target, &error),
        })?,
    };
    terminal.result(&report, || describe(&report))
}

fn describe(report: &SwitchesReport) -> String {
    let mebibytes = |bytes: Option<Bytes>| {
        bytes.map_or_else(
            || "-".to_owned(),
            |b| format!("{:.1}", b.get() as f64 / f64::from(1 << 20)),
        )
    };
    let row = |figure: &SwitchFigure| {
        vec![
            figure.driver.to_owned(),
            figure.ports.to_string(),
            if figure.program { "yes" } else { "no" }.to_owned(),
            figure.processes.to_string(),
            format!("{:.0}", figure.ready_ms),
            figure
                .processor_ms
                .map_or_else(|| "-".to_owned(), |ms| format!("{ms:.0}")),
            mebibytes(figure.resident),
            mebibytes(figure.proportional),
            mebibytes(figure.own),
        ]
    };
    let rows: Vec<Vec<String>> = report.switches.iter().map(row).collect();
    let header = [
        "driver",
        "ports",
        "program",
        "processes",
        "ready ms",
        "processor ms",
        "resident MiB",
        "its share MiB",
        "its own MiB",
    ];
    format!(
        "{}\n{}",
        report.machine.describe(),
        terminal::table(&header, &[1, 3, 4, 5, 6, 7, 8], &rows)
    )
}
