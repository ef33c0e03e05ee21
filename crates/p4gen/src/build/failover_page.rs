//! `report.html` of a build with failover tables.

use askama::Template;
use plan::CheckedPlan;
use plan::check::Resilience;
use plan::failover::{Element, LabelKind, Output, StateCounts};

use super::page::{Card, Files, by_layer, network, notes, number, range, scheme};
use super::report::{BuildReport, FailoverReport, SwitchReport};

#[derive(Template)]
#[template(path = "report_failover.html")]
struct Page {
    name: String,
    scheme: String,
    target: String,
    program: String,
    version: &'static str,
    proof: Vec<String>,
    cards: Vec<Card>,
    header: String,
    switches_text: String,
    roles: Vec<Role>,
    picture: String,
    notes: Vec<String>,
    commands: String,
}

/// Switches of one layer, with the range of their figures.
struct Role {
    name: String,
    number: usize,
    rules: String,
    tcam: String,
    tofino: String,
    entries: String,
}

/// Renders the page. `picture` is the network as SVG, or empty.
pub(crate) fn render(
    plan: &CheckedPlan,
    report: &BuildReport,
    failover: &FailoverReport,
    files: &Files,
    picture: &str,
) -> Result<String, askama::Error> {
    Page {
        name: report.network.name.clone(),
        scheme: scheme(report),
        target: report.target.clone(),
        program: report.program.clone(),
        version: env!("CARGO_PKG_VERSION"),
        proof: proof(failover, &report.proof.resilience),
        cards: cards(report, failover),
        header: header(failover),
        switches_text: "A rule has the width that its key needs at most; ranges are over the switches of a row.".to_owned(),
        roles: roles(plan, report),
        picture: network(picture),
        notes: notes(report),
        commands: files.commands(plan),
    }
    .render()
}

fn proof(failover: &FailoverReport, proof: &Resilience) -> Vec<String> {
    let element = match failover.element {
        Element::Link => "links",
        Element::Switch => "switches",
    };
    let mut lines = vec![format!(
        "Any {} {element} may fail at once: a packet that has a way arrives, and none circulates.",
        failover.resilience
    )];
    let how = if proof.exhaustive {
        "all of them".to_owned()
    } else {
        format!("all of {}, a sample beyond", proof.exhaustive_failures)
    };
    lines.push(format!(
        "{} sets of at most {} failures tried ({how}).",
        number(proof.sets_checked),
        proof.checked_failures
    ));
    lines
}

fn cards(report: &BuildReport, failover: &FailoverReport) -> Vec<Card> {
    let card = |figure: u64, label| Card {
        figure: number(figure),
        label,
    };
    vec![
        card(report.network.switches as u64, "switches"),
        card(report.network.hosts as u64, "hosts"),
        card(report.network.links as u64, "links"),
        card(failover.resilience.into(), "failures survived"),
        card(failover.rules_max_per_switch, "rules, at most, per switch"),
        card(report.entries_total, "entries in all"),
    ]
}

fn header(failover: &FailoverReport) -> String {
    let label = match failover.label {
        LabelKind::ReverseRoute => "the way that a packet has come",
        LabelKind::FailureSet => "the set of failed links that a packet has met",
        LabelKind::RouteId => "the route that a packet follows",
        LabelKind::FailedTrees => "the trees that have failed",
    };
    let output = match failover.output {
        Output::HopByHop => "a rule gives the next port",
        Output::SourceRoutes => "a rule gives the ports of the whole way",
    };
    format!(
        "Inside the fabric a header tells {label}; {output}. Routes have at most {} hops; packets are stamped with \
         version {}. Hosts never see the header.",
        failover.stack, failover.version
    )
}

fn roles(plan: &CheckedPlan, report: &BuildReport) -> Vec<Role> {
    let counts = plan.tables().failover.as_ref().map(|f| f.counts());
    let counts = counts.unwrap_or_default();
    let of = |switch: &SwitchReport, figure: fn(&StateCounts) -> u64| {
        let at = report.switches.iter().position(|s| s.name == switch.name);
        at.and_then(|at| counts.get(at)).map_or(0, figure)
    };
    by_layer(report)
        .into_iter()
        .map(|(name, switches)| Role {
            name,
            number: switches.len(),
            rules: range(&switches, &|s| of(s, |c| c.rules), number),
            tcam: range(&switches, &|s| of(s, |c| c.tcam_bits), number),
            tofino: range(&switches, &|s| of(s, |c| c.tofino.bits), number),
            entries: range(&switches, &SwitchReport::entries, number),
        })
        .collect()
}
