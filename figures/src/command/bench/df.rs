//! `switchwright bench df`: lossless priorities that failover needs, beside Stephens15's Tables 5.1
//! to 5.3.

use serde::Serialize;

use crate::failover::{PriorityEnd, PriorityFigure, priorities, priority_cases, priority_ends};
use measure::Machine;
use switchwright::cli::fault::Fault;
use switchwright::cli::terminal::{self, Terminal};

#[derive(Serialize)]
struct ChannelsReport {
    machine: Machine,
    priorities: Vec<PriorityFigure>,
    /// Where the 7 lossless priorities of a switch end.
    ends: Vec<PriorityEnd>,
}

/// Runs what has `only` in its name, such as `egft-b1 1024 t2 e1`.
pub(super) fn run(only: Option<&str>, terminal: &Terminal) -> Result<(), Fault> {
    let mut report = ChannelsReport {
        machine: Machine::here(),
        priorities: Vec::new(),
        ends: Vec::new(),
    };
    for case in priority_cases() {
        let name = case.name();
        if !only.is_none_or(|text| name.contains(text)) {
            continue;
        }
        let bar = terminal.progress(&name);
        let figure = priorities(&case).map_err(Fault::input);
        bar.finish_and_clear();
        report.priorities.push(figure?);
    }
    report.ends = priority_ends(&report.priorities);
    terminal.result(&report, || describe(&report))
}

fn describe(report: &ChannelsReport) -> String {
    let number = |number: Option<u32>| number.map_or_else(|| "-".to_owned(), |n| n.to_string());
    let rows: Vec<Vec<String>> = report
        .priorities
        .iter()
        .map(|figure| {
            vec![
                figure.case.clone(),
                figure.paper.to_string(),
                number(figure.df_fi),
                number(figure.df_fi_at_least),
                number(figure.rising),
                number(figure.rising_at_least),
                format!("{:.1}", figure.seconds),
            ]
        })
        .collect();
    let header = [
        "case",
        "Stephens15",
        "df-fi",
        "at least",
        "rising",
        "at least",
        "s",
    ];
    let none = || "none of these".to_owned();
    let ends = report.ends.iter().map(|end| {
        let (df_fi, rising) = (end.df_fi.clone(), end.rising.clone());
        format!(
            "more than 7 lossless priorities on {}: by df-fi {}, by rising tags {}\n",
            end.graph,
            df_fi.unwrap_or_else(none),
            rising.unwrap_or_else(none)
        )
    });
    format!(
        "{}\n{}- : more walks than are looked at, or ways that close a cycle by themselves; all with seed 1\n{}",
        report.machine.describe(),
        terminal::table(&header, &[1, 2, 3, 4, 5, 6], &rows),
        ends.collect::<String>()
    )
}
