//! `report.html`: the report for a person, in one file that needs nothing else.

use askama::Template;
use plan::CheckedPlan;

use super::report::BuildReport;
use super::sceptic::Sceptic;
use crate::entries::Row;
use crate::family::summary::{Section, Summary, number};

/// The page. Every field is text in its final form.
#[derive(Template)]
#[template(path = "build/report.html")]
struct Page<'a> {
    name: &'a str,
    scheme: String,
    target: &'a str,
    program: &'a str,
    version: &'static str,
    verdict: String,
    proof: Vec<String>,
    conditions: Vec<String>,
    assumptions: Vec<(&'static str, &'static str)>,
    evidence: Vec<String>,
    counterexample: String,
    repeat: String,
    inputs: Vec<(String, String)>,
    figures: Vec<(String, &'static str)>,
    sections: Vec<Section>,
    picture: &'a str,
    notes: Vec<String>,
    style: &'static str,
    columns: [&'static str; 7],
    /// None where they are too many.
    entries: &'a [[String; 7]],
    entries_total: String,
    commands: String,
}

/// Rows of entries that the page lists at most.
pub(super) const MAX_ROWS: u64 = 3_000;

/// How the page says that the build is used.
pub(super) struct Usage {
    /// Commands, a line each.
    pub(super) commands: String,
    /// Whether `trace` runs it.
    pub(super) trace: bool,
}

/// Renders the page. `picture` is the network as SVG, or empty.
pub(super) fn render(
    plan: &CheckedPlan,
    report: &BuildReport,
    (summary, sceptic): (Summary, Sceptic),
    usage: Usage,
    (picture, entries): (&str, &[[String; 7]]),
) -> Result<String, askama::Error> {
    let network = &report.network;
    let mut figures = vec![
        (network.switches as u64, "switches"),
        (network.hosts as u64, "hosts"),
        (network.links as u64, "links"),
    ];
    figures.extend(summary.figures);
    figures.push((report.entries_total, "entries in all"));
    let figures = figures.into_iter();
    Page {
        name: &network.name,
        scheme: scheme(report),
        target: &report.target,
        program: &report.program,
        version: env!("CARGO_PKG_VERSION"),
        verdict: sceptic.verdict,
        proof: summary.proof,
        conditions: sceptic.conditions,
        assumptions: sceptic.assumptions,
        evidence: sceptic.evidence,
        counterexample: sceptic.counterexample,
        repeat: sceptic.repeat,
        inputs: sceptic.inputs,
        figures: figures.map(|(n, what)| (number(n), what)).collect(),
        sections: summary.sections,
        picture,
        notes: notes(report),
        style: report::STYLE,
        columns: Row::COLUMNS,
        entries,
        entries_total: number(report.entries_total),
        commands: commands(plan, usage),
    }
    .render()
}

/// What the target does not do, and how much of its pipeline the program takes, as HTML.
fn notes(report: &BuildReport) -> Vec<String> {
    let mut notes: Vec<String> = report
        .restrictions
        .iter()
        .map(|r| (*r).to_owned())
        .collect();
    if let Some(estimate) = &report.pipeline {
        notes.push(estimate.sentence());
        notes.extend(estimate.warnings.iter().cloned());
    }
    notes.iter().map(|note| with_code(note)).collect()
}

/// Text as HTML, where what stands between backticks is code.
fn with_code(text: &str) -> String {
    let parts = text.split('`').enumerate();
    let written = parts.map(|(at, part)| match at % 2 {
        0 => report::escape(part),
        _ => format!("<code>{}</code>", report::escape(part)),
    });
    written.collect()
}

fn scheme(report: &BuildReport) -> String {
    let made = &report.provenance;
    match made.algorithm.as_str() {
        "" => made.scheme.clone(),
        algorithm => format!("{} ({algorithm})", made.scheme),
    }
}

fn commands(plan: &CheckedPlan, usage: Usage) -> String {
    let hosts = plan.topology().hosts();
    match (hosts.first(), hosts.last()) {
        (Some(from), Some(to)) if usage.trace => format!(
            "switchwright trace . --from {} --to {}\n{}",
            from.name, to.name, usage.commands
        ),
        _ => usage.commands,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backticks_become_code() {
        assert_eq!(with_code("a `b<c` d"), "a <code>b&lt;c</code> d");
        assert_eq!(with_code("plain & simple"), "plain &amp; simple");
    }
}
