//! `switchwright bench p4runtime`: entries per second over gRPC, written and read back, beside
//! BMv2.

use controlplane::p4c;
use files::Scratch;
use serde::Serialize;

use crate::RuntimeFigure;
use measure::Machine;
use switchwright::cli::fault::{Context, Fault, Status};
use switchwright::cli::own;
use switchwright::cli::terminal::{self, Terminal};

#[derive(Serialize)]
struct P4RuntimeReport {
    machine: Machine,
    p4runtime: Vec<RuntimeFigure>,
}

pub(super) fn run(terminal: &Terminal, peers: bool, entries: usize) -> Result<(), Fault> {
    let scratch = Scratch::new().input("temporary directory")?;
    let command = own::file()?;
    let bar = terminal.progress("p4runtime");
    // BMv2 runs beside where both it and its compiler are.
    let json = (peers && installed("simple_switch_grpc"))
        .then(|| p4c::bmv2_json(crate::RUNTIME_PROGRAM).ok())
        .flatten();
    let step = |what: &str| bar.set_message(what.to_owned());
    let measured =
        crate::measure_p4runtime(&command, scratch.path(), json.as_deref(), entries, &step);
    bar.finish_and_clear();
    let report = P4RuntimeReport {
        machine: Machine::here(),
        p4runtime: measured.map_err(|error| Fault::with(Status::Target, &error))?,
    };
    terminal.result(&report, || describe(&report))
}

fn installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

fn describe(report: &P4RuntimeReport) -> String {
    let times = |ratio: Option<f64>| ratio.map_or_else(|| "-".to_owned(), |r| format!("{r:.1} x"));
    let row = |figure: &RuntimeFigure| {
        let memory = figure.memory_per_entry;
        vec![
            figure.server.to_owned(),
            figure.table.to_owned(),
            figure.entries.to_string(),
            format!("{:.0}", figure.writes),
            times(figure.write_ratio),
            format!("{:.0}", figure.reads),
            times(figure.read_ratio),
            memory.map_or_else(|| "-".to_owned(), |b| b.get().to_string()),
        ]
    };
    let rows: Vec<Vec<String>> = report.p4runtime.iter().map(row).collect();
    let header = [
        "server",
        "table",
        "entries",
        "writes/s",
        "of peer",
        "reads/s",
        "of peer",
        "bytes/entry",
    ];
    format!(
        "{}\n{}",
        report.machine.describe(),
        terminal::table(&header, &[2, 3, 4, 5, 6, 7], &rows)
    )
}
