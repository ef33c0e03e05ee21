//! `switchwright bench scale`: how plans, proofs and builds grow with the network.

use std::process::Command;

use files::Scratch;
use p4gen::targets::Format;
use serde::{Deserialize, Serialize};

use super::none_matches;
use crate::{SCALE_CASES, ScaleCase, ScaleFigure};
use measure::Machine;
use switchwright::cli::fault::{Context, Fault};
use switchwright::cli::terminal::{self, Terminal};

#[derive(Serialize)]
struct ScaleReport {
    machine: Machine,
    /// The format of the entries.
    format: &'static str,
    scale: Vec<ScaleFigure>,
}

/// As much of a report as is read back from a run of one case.
#[derive(Deserialize)]
struct Ran {
    scale: Vec<ScaleFigure>,
}

/// Runs what has `only` in its name: several cases each in a process of its own, so that none
/// counts the memory of another.
pub(super) fn run(only: Option<&str>, format: Format, terminal: &Terminal) -> Result<(), Fault> {
    let wanted = |case: &&ScaleCase| only.is_none_or(|text| case.name().contains(text));
    let cases: Vec<ScaleCase> = SCALE_CASES.iter().filter(wanted).copied().collect();
    if cases.is_empty() {
        let names: Vec<String> = SCALE_CASES.iter().map(|case| case.name()).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        return Err(none_matches(only, &names));
    }
    let mut report = ScaleReport {
        machine: Machine::here(),
        format: format.name(),
        scale: Vec::new(),
    };
    let alone = cases.len() == 1;
    for case in cases {
        let bar = terminal.progress(&case.name());
        let figure = match alone {
            true => here(case, format).map(|figure| vec![figure]),
            false => apart(case, format),
        };
        bar.finish_and_clear();
        report.scale.extend(figure?);
    }
    terminal.result(&report, || describe(&report))
}

/// Measures a case in this process.
fn here(case: ScaleCase, format: Format) -> Result<ScaleFigure, Fault> {
    let scratch = Scratch::new().input("temporary directory")?;
    case.measure(format, &scratch.path().join("build"))
        .map_err(Fault::input)
}

/// Measures a case by this very command, in a process of its own.
fn apart(case: ScaleCase, format: Format) -> Result<Vec<ScaleFigure>, Fault> {
    let own = std::env::current_exe().input("this program's own path")?;
    let mut command = Command::new(own);
    command.args(["bench", "scale", "--only", &case.name()]);
    command.args(["--formats", format.name(), "--json"]);
    let output = command.output().input(case.name())?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(Fault::input(format!("{}: {}", case.name(), said.trim())));
    }
    let ran: Ran = serde_json::from_slice(&output.stdout).input(case.name())?;
    Ok(ran.scale)
}

fn describe(report: &ScaleReport) -> String {
    let seconds = |s: Option<f64>| s.map_or_else(|| "-".to_owned(), |s| format!("{s:.2}"));
    let mib = |bytes: u64| (bytes >> 20).to_string();
    let row = |f: &ScaleFigure| {
        vec![
            f.name.clone(),
            f.switches.to_string(),
            f.hosts.to_string(),
            seconds(f.plan_seconds),
            seconds(f.proof_seconds),
            seconds(f.build_seconds),
            seconds(f.processor_seconds()),
            seconds(Some(f.clock_seconds)),
            f.peak_memory
                .map_or_else(|| "-".to_owned(), |b| mib(b.get())),
            f.entries.to_string(),
            f.routes_max.to_string(),
            f.entries_max.to_string(),
            mib(f.bytes.get()),
        ]
    };
    let header = [
        "network",
        "switches",
        "hosts",
        "plan s",
        "proof s",
        "build s",
        "all s",
        "clock s",
        "peak MiB",
        "entries",
        "prefixes/switch",
        "entries/switch",
        "build MiB",
    ];
    let rows: Vec<Vec<String>> = report.scale.iter().map(row).collect();
    let right: Vec<usize> = (1..header.len()).collect();
    format!(
        "{}\n{}seconds: of processor time on all cores, but `clock`; entries as {}; per switch: of the switch that has most\n",
        report.machine.describe(),
        terminal::table(&header, &right, &rows),
        report.format
    )
}
