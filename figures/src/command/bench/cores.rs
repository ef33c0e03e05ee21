//! `switchwright bench cores`: packets per second of a data plane with several threads, beside one.

use crate::{CORES_CASES, CoresFigure, CoresRun};
use measure::Machine;
use serde::Serialize;

use super::none_matches;
use switchwright::cli::fault::Fault;
use switchwright::cli::terminal::{self, Terminal};

#[derive(Serialize)]
struct CoresReport {
    machine: Machine,
    cores: Vec<CoresFigure>,
}

pub(super) fn run(only: Option<&str>, terminal: &Terminal) -> Result<(), Fault> {
    let wanted = |name: &str| only.is_none_or(|text| name.contains(text));
    if !CORES_CASES.iter().any(|case| wanted(case.name)) {
        return Err(none_matches(only, &CORES_CASES.map(|case| case.name)));
    }
    let bar = terminal.progress("cores");
    let mut cores = Vec::new();
    for case in CORES_CASES.into_iter().filter(|case| wanted(case.name)) {
        let step = |what: &str| bar.set_message(what.to_owned());
        cores.push(case.measure(step).map_err(Fault::input)?);
    }
    bar.finish_and_clear();
    let report = CoresReport {
        machine: Machine::here(),
        cores,
    };
    terminal.result(&report, || describe(&report))
}

fn describe(report: &CoresReport) -> String {
    let row = |case: &CoresFigure, run: &CoresRun| {
        let or_dash = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
        vec![
            case.name.to_owned(),
            run.threads.to_string(),
            format!("{:.2}", run.packets_per_second / 1e6),
            format!("{:.2}", run.ratio),
            format!("{:.2}", run.paired_ratio),
            or_dash(run.efficiency.map(|e| format!("{e:.2}"))),
            or_dash(run.off_processor.map(|w| format!("{:.0} %", 100.0 * w))),
        ]
    };
    let cases = report.cores.iter();
    let rows: Vec<Vec<String>> = cases
        .flat_map(|case| case.runs.iter().map(move |run| row(case, run)))
        .collect();
    let header = [
        "case",
        "threads",
        "M packets/s",
        "of one",
        "of one, paired",
        "a processor's, of one",
        "off processor",
    ];
    format!(
        "{}\n{}",
        report.machine.describe(),
        terminal::table(&header, &[1, 2, 3, 4, 5, 6], &rows)
    )
}
