//! `switchwright bench lanes`: routings in virtual lanes, beside OpenSM's DFSSSP where OpenSM and
//! ibsim are found.

use files::Scratch;
use schemes::failover::LaneRouting;
use serde::Serialize;

use super::none_matches;
use crate::{LANES_CASES, LanesFigure};
use measure::Machine;
use switchwright::cli::fault::{Context, Fault};
use switchwright::cli::terminal::{self, Terminal};

#[derive(Serialize)]
struct LanesReport {
    machine: Machine,
    lanes: Vec<LanesFigure>,
}

/// Runs what has `only` in its name, such as `jellyfish 500 x 40, dfsssp`.
pub(super) fn run(only: Option<&str>, peer: bool, terminal: &Terminal) -> Result<(), Fault> {
    let scratch = Scratch::new().input("temporary directory")?;
    let cases = LANES_CASES
        .iter()
        .flat_map(|case| LaneRouting::ALL.iter().map(move |&routing| (case, routing)));
    let name = |(case, routing): &(&crate::LanesCase, LaneRouting)| {
        format!("{}, {}", case.name, routing.name())
    };
    let all: Vec<_> = cases.collect();
    let wanted = |case: &&(_, _)| only.is_none_or(|text| name(case).contains(text));
    if !all.iter().any(|case| wanted(&case)) {
        let names: Vec<String> = all.iter().map(name).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        return Err(none_matches(only, &names));
    }
    let mut report = LanesReport {
        machine: Machine::here(),
        lanes: Vec::new(),
    };
    for case in all.iter().filter(wanted) {
        let bar = terminal.progress(&name(case));
        let place = peer.then(|| scratch.path());
        let figure = case.0.measure(case.1, place).map_err(Fault::input);
        bar.finish_and_clear();
        report.lanes.push(figure?);
    }
    terminal.result(&report, || describe(&report))
}

fn describe(report: &LanesReport) -> String {
    let row = |f: &LanesFigure| {
        let beside = |read: fn(&crate::OpenSm) -> String| {
            f.open_sm.as_ref().map_or_else(|| "-".to_owned(), read)
        };
        let ratio = f.open_sm.map_or_else(
            || "-".to_owned(),
            |peer| format!("{:.0} x", peer.seconds / f.seconds),
        );
        vec![
            f.name.to_owned(),
            f.routing.to_owned(),
            f.lanes.to_string(),
            f.at_least.to_string(),
            f.longest.to_string(),
            f.most_loaded.to_string(),
            format!("{:.3}", f.seconds),
            format!("{:.3}", f.table_seconds),
            beside(|peer| peer.lanes.to_string()),
            beside(|peer| format!("{:.3}", peer.seconds)),
            ratio,
        ]
    };
    let header = [
        "network",
        "routing",
        "lanes",
        "at least",
        "longest",
        "most loaded",
        "s",
        "plan s",
        "OpenSM lanes",
        "OpenSM s",
        "ratio",
    ];
    let rows: Vec<_> = report.lanes.iter().map(row).collect();
    let right: Vec<usize> = (2..header.len()).collect();
    format!(
        "{}\n{}",
        report.machine.describe(),
        terminal::table(&header, &right, &rows)
    )
}
