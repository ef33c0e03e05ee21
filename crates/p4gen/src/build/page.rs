//! `report.html`: the report for a person, in one file that needs nothing else.

use std::collections::BTreeMap;

use askama::Template;
use plan::{CheckedPlan, RuleForm};

use super::report::{BuildReport, SwitchReport};
use crate::layout::table;

/// The page. Every field is text in its final form.
#[derive(Template)]
#[template(path = "report.html")]
struct Page {
    name: String,
    scheme: String,
    target: String,
    program: String,
    version: &'static str,
    proof: Vec<String>,
    cards: Vec<Card>,
    carrier: &'static str,
    tags_text: String,
    tags: Vec<Tag>,
    lossy_code: u16,
    classes: Vec<Class>,
    switches_text: String,
    roles: Vec<Role>,
    headroom_text: String,
    priorities: usize,
    picture: String,
    notes: Vec<String>,
    commands: String,
}

pub(crate) struct Card {
    pub(crate) figure: String,
    pub(crate) label: &'static str,
}

struct Tag {
    tag: u8,
    code: u16,
    priority: u8,
}

struct Class {
    name: String,
    dscp: u16,
    initial: u8,
    highest: String,
}

/// Switches of one layer, with the range of their figures.
struct Role {
    name: String,
    number: usize,
    rules: String,
    exact: String,
    tcam: String,
    routes: String,
    groups: String,
    entries: String,
    port_headroom: String,
    headroom: String,
    affordable: String,
}

/// Renders the page. `picture` is the network as SVG, or empty.
pub(crate) fn render(
    plan: &CheckedPlan,
    report: &BuildReport,
    files: &Files,
    picture: &str,
) -> Result<String, askama::Error> {
    Page {
        name: report.network.name.clone(),
        scheme: scheme(report),
        target: report.target.clone(),
        program: report.program.clone(),
        version: env!("CARGO_PKG_VERSION"),
        proof: proof(plan, report),
        cards: cards(report),
        carrier: carrier_text(report),
        tags_text: tags_text(report),
        tags: tags(report),
        lossy_code: report.lossy_code,
        classes: classes(report),
        switches_text: switches_text(plan, report),
        roles: roles(report),
        headroom_text: headroom_text(plan),
        priorities: report.tags.len(),
        picture: network(picture),
        notes: notes(report),
        commands: files.commands(plan),
    }
    .render()
}

/// The section with the network's picture, if there is one.
pub(crate) fn network(picture: &str) -> String {
    match picture {
        "" => String::new(),
        svg => format!("<h2>Network</h2>\n<figure>{svg}</figure>\n"),
    }
}

/// How the page says that the build is used.
pub(crate) struct Files {
    /// Commands, a line each.
    pub(crate) commands: String,
    /// Whether `trace` runs it.
    pub(crate) trace: bool,
}

impl Files {
    pub(crate) fn commands(&self, plan: &CheckedPlan) -> String {
        let hosts = plan.topology().hosts();
        let (Some(from), Some(to)) = (hosts.first(), hosts.last()) else {
            return self.commands.clone();
        };
        if !self.trace {
            return self.commands.clone();
        }
        let (from, to) = (&from.name, &to.name);
        format!(
            "switchwright trace . --from {from} --to {to}\n{}",
            self.commands
        )
    }
}

/// What the target leaves undone, and how much of its pipeline the program takes.
pub(crate) fn notes(report: &BuildReport) -> Vec<String> {
    let mut notes: Vec<String> = report
        .restrictions
        .iter()
        .map(|r| (*r).to_owned())
        .collect();
    if let Some(estimate) = &report.pipeline {
        notes.push(estimate.sentence());
        notes.extend(estimate.warnings.iter().cloned());
    }
    notes
}

pub(crate) fn scheme(report: &BuildReport) -> String {
    let made = &report.provenance;
    match made.algorithm.as_str() {
        "" => made.scheme.clone(),
        algorithm => format!("{} ({algorithm})", made.scheme),
    }
}

fn proof(plan: &CheckedPlan, report: &BuildReport) -> Vec<String> {
    let mut lines = vec![
        "No cyclic buffer dependency over (ingress port, priority), for any routing whatever: PAUSE cannot \
         deadlock this network."
            .to_owned(),
        "Tags never fall; distinct tags have distinct priorities; no two rules contradict each other."
            .to_owned(),
    ];
    for promise in &plan.tables().promises {
        let class = plan.tagging().classes.get(promise.class.index());
        let class = class.map_or("?", |c| c.name.as_str());
        lines.push(format!(
            "Class {class}: every route of the promised kind ({}) stays lossless from end to end.",
            promise.routes
        ));
    }
    let resilience = &report.proof.resilience;
    if resilience.claimed > 0 {
        lines.push(format!(
            "Survives {} failures ({} sets of failures tried).",
            resilience.claimed,
            number(resilience.sets_checked)
        ));
    }
    lines
}

fn cards(report: &BuildReport) -> Vec<Card> {
    let card = |figure: u64, label| Card {
        figure: number(figure),
        label,
    };
    vec![
        card(report.network.switches as u64, "switches"),
        card(report.network.hosts as u64, "hosts"),
        card(report.network.links as u64, "links"),
        card(report.tags.len() as u64, "lossless tags"),
        card(
            report.rules.max_per_switch,
            "tag rules, at most, per switch",
        ),
        card(report.entries_total, "entries in all"),
    ]
}

fn carrier_text(report: &BuildReport) -> &'static str {
    match report.carrier.name() {
        "dscp" => "DSCP",
        "vlan-pcp" => "VLAN PCP",
        "vlan-vid" => "VLAN id",
        _ => "shim tag",
    }
}

fn tags_text(report: &BuildReport) -> String {
    format!(
        "A packet carries its tag in the {}. Each tag has a priority of its own, which PFC pauses; whatever no \
         rule matches is lossy, from there to its end.",
        carrier_text(report)
    )
}

fn tags(report: &BuildReport) -> Vec<Tag> {
    let tag = |t: &super::report::TagReport| Tag {
        tag: t.tag,
        code: t.code,
        priority: t.priority,
    };
    report.tags.iter().map(tag).collect()
}

fn classes(report: &BuildReport) -> Vec<Class> {
    let highest = report.tags.iter().map(|t| t.tag).max().unwrap_or(0);
    let class = |c: &super::report::ClassReport| Class {
        name: c.name.clone(),
        dscp: c.dscp,
        initial: c.initial,
        highest: c.limit.unwrap_or(highest).to_string(),
    };
    report.classes.iter().map(class).collect()
}

fn switches_text(plan: &CheckedPlan, report: &BuildReport) -> String {
    let form = match plan.tagging().form {
        RuleForm::Exact => "name one ingress and one egress port each",
        RuleForm::PortSets => {
            "match sets of ports as one-hot bitmaps, so that one rule covers any number of ports"
        }
    };
    format!(
        "Rules {form}; a key has {} bits. Ranges are over the switches of a row.",
        report.rules.key_bits
    )
}

fn headroom_text(plan: &CheckedPlan) -> String {
    let budget = &plan.tables().budget;
    format!(
        "What PFC may still receive after it asked to pause, for one priority (MTU {} bytes, links as long as the \
         topology says); the buffer of {} affords so many lossless priorities.",
        number(budget.mtu.get()),
        bytes(budget.buffer.get())
    )
}

/// One row per layer; where there are no layers, one row.
fn roles(report: &BuildReport) -> Vec<Role> {
    by_layer(report)
        .into_iter()
        .map(|(name, switches)| role(name, &switches))
        .collect()
}

/// The switches of every layer under its name; where there are no layers, all under one.
pub(crate) fn by_layer(report: &BuildReport) -> Vec<(String, Vec<&SwitchReport>)> {
    let mut layers: BTreeMap<Option<u8>, Vec<&SwitchReport>> = BTreeMap::new();
    for switch in &report.switches {
        layers.entry(switch.layer).or_default().push(switch);
    }
    let top = report.switches.iter().filter_map(|s| s.layer).max();
    layers
        .into_iter()
        .map(|(layer, switches)| (layer_name(layer, top), switches))
        .collect()
}

/// The lowest and the highest of a figure, as text.
pub(crate) fn range(
    switches: &[&SwitchReport],
    of: &dyn Fn(&SwitchReport) -> u64,
    show: fn(u64) -> String,
) -> String {
    let low = switches.iter().map(|s| of(s)).min().unwrap_or(0);
    let high = switches.iter().map(|s| of(s)).max().unwrap_or(0);
    if low == high {
        show(low)
    } else {
        format!("{} to {}", show(low), show(high))
    }
}

fn layer_name(layer: Option<u8>, top: Option<u8>) -> String {
    match layer {
        None => "all".to_owned(),
        Some(0) => "layer 0 (hosts)".to_owned(),
        layer if layer == top => format!("layer {} (top)", top.unwrap_or(0)),
        Some(layer) => format!("layer {layer}"),
    }
}

fn role(name: String, switches: &[&SwitchReport]) -> Role {
    let range = |of: &dyn Fn(&SwitchReport) -> u64, show| range(switches, of, show);
    let count = |table| move |s: &SwitchReport| s.tables.get(table).copied().unwrap_or(0);
    let routes = |s: &SwitchReport| count(table::IPV4_ROUTE)(s) + count(table::IPV6_ROUTE)(s);
    Role {
        name,
        number: switches.len(),
        rules: range(&|s| s.rules.rules, number),
        exact: range(&|s| s.rules.exact, number),
        tcam: range(&|s| s.rules.tcam_bits, number),
        routes: range(&routes, number),
        groups: range(&|s| s.groups, number),
        entries: range(&SwitchReport::entries, number),
        port_headroom: range(&|s| s.headroom.per_port_max.get(), bytes),
        headroom: range(&|s| s.headroom.per_priority.get(), bytes),
        affordable: range(&|s| s.headroom.affordable, number),
    }
}

/// A number with thin spaces between its thousands.
pub(crate) fn number(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::with_capacity(digits.len() * 2);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push('\u{2009}');
        }
        out.push(digit);
    }
    out
}

/// A number of bytes; from 10 KiB on in KiB or MiB.
fn bytes(value: u64) -> String {
    const KIB: u64 = 1 << 10;
    const MIB: u64 = 1 << 20;
    match value {
        0..10_240 => format!("{} B", number(value)),
        10_240..1_048_576 => format!("{}.{} KiB", value / KIB, value % KIB * 10 / KIB),
        _ => format!("{}.{} MiB", value / MIB, value % MIB * 10 / MIB),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        assert_eq!(number(0), "0");
        assert_eq!(number(999), "999");
        assert_eq!(number(1_234_567), "1\u{2009}234\u{2009}567");
        assert_eq!(bytes(21_968), "21.4 KiB");
        assert_eq!(bytes(12 << 20), "12.0 MiB");
    }
}
