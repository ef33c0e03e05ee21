//! `switchwright bench tags`: lossless priorities and rules by topology and size.

use serde::Serialize;

use super::none_matches;
use crate::{TaggingFigure, tagging_cases};
use switchwright::cli::fault::Fault;
use switchwright::cli::terminal::{self, Terminal};

#[derive(Serialize)]
struct TagsReport {
    tags: Vec<TaggingFigure>,
}

/// Runs what has `only` in its name.
pub(super) fn run(only: Option<&str>, terminal: &Terminal) -> Result<(), Fault> {
    let cases = tagging_cases();
    let wanted = |name: &str| only.is_none_or(|text| name.contains(text));
    if !cases.iter().any(|case| wanted(&case.name)) {
        let names: Vec<&str> = cases.iter().map(|case| case.name.as_str()).collect();
        return Err(none_matches(only, &names));
    }
    let mut report = TagsReport { tags: Vec::new() };
    for case in cases.iter().filter(|case| wanted(&case.name)) {
        let bar = terminal.progress(&case.name);
        let figure = case.measure().map_err(Fault::input);
        bar.finish_and_clear();
        report.tags.push(figure?);
    }
    terminal.result(&report, || describe(&report))
}

fn describe(report: &TagsReport) -> String {
    let row = |f: &TaggingFigure| {
        let greedy = match f.greedy_installable {
            true => f.greedy_tags.to_string(),
            false => format!("{}, not installable", f.greedy_tags),
        };
        vec![
            f.name.clone(),
            f.switches.to_string(),
            f.hosts.to_string(),
            f.priorities.to_string(),
            f.rules_total.to_string(),
            f.rules_max.to_string(),
            f.exact_rules_total.to_string(),
            f.exact_rules_max.to_string(),
            greedy,
        ]
    };
    let header = [
        "network",
        "switches",
        "hosts",
        "priorities",
        "rules",
        "at most",
        "exact rules",
        "at most",
        "greedy tags",
    ];
    let rows: Vec<_> = report.tags.iter().map(row).collect();
    terminal::table(&header, &[1, 2, 3, 4, 5, 6, 7], &rows)
        + "greedy: Tagger17's Algorithm 2 as a count; not installable: some key of its rules would need several new tags\n"
}
