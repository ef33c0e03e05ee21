//! What a report tells of tags: codes, classes, rules, headroom.

use std::collections::BTreeMap;

use plan::{CarrierKind, CheckedPlan, ClassId, NewTag, PlanSummary, RuleForm};
use serde::Serialize;

use crate::family::summary::{
    Section, Source, Summary, SwitchReport, by_layer, bytes, number, range,
};
use crate::layout::{edge_dscp, table};

/// A lossless tag.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TagReport {
    /// The tag.
    pub tag: u8,
    /// What stands for it in the carrier, for class 0.
    pub code: u16,
    /// Its priority.
    pub priority: u8,
}

impl TagReport {
    /// The tags of a plan, rising.
    pub(crate) fn all(plan: &CheckedPlan) -> Vec<Self> {
        let code = |tag| plan.carrier().code(ClassId::new(0), NewTag::Lossless(tag));
        let priorities = plan.tagging().priorities.iter();
        priorities
            .map(|(tag, priority)| Self {
                tag: tag.get(),
                code: code(*tag).map_or(0, |c| c.get()),
                priority: priority.get(),
            })
            .collect()
    }
}

/// A lossless class.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ClassReport {
    /// Its name.
    pub name: String,
    /// The tag with which its hosts send.
    pub initial: u8,
    /// The highest tag that it may carry, where class bits are carried.
    pub limit: Option<u8>,
    /// The code of its first tag.
    pub code: u16,
    /// The DSCP with which a host picks it.
    pub dscp: u16,
}

impl ClassReport {
    /// The classes of a plan.
    pub(crate) fn all(plan: &CheckedPlan) -> Vec<Self> {
        let carrier = plan.carrier();
        let classes = plan.tagging().classes.iter().zip(0..);
        classes
            .map(|(class, number)| {
                let id = ClassId::new(number);
                let code = carrier.code(id, NewTag::Lossless(class.initial));
                let code = code.map_or(0, |c| c.get());
                Self {
                    name: class.name.clone(),
                    initial: class.initial.get(),
                    limit: class.limit.map(|t| t.get()),
                    code,
                    dscp: match carrier.kind {
                        CarrierKind::Dscp => code,
                        _ => u16::from(edge_dscp(id)),
                    },
                }
            })
            .collect()
    }
}

/// Tag rules over all switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RulesReport {
    /// Rules of all switches.
    pub total: u64,
    /// Rules of the switch that has most.
    pub max_per_switch: u64,
    /// How many exact-port rules they stand for.
    pub exact_total: u64,
    /// Bits of one key.
    pub key_bits: u64,
    /// TCAM bits of the switch that needs most.
    pub tcam_bits_max: u64,
}

impl RulesReport {
    /// Of a plan's summary.
    pub(crate) fn of(summary: &PlanSummary) -> Self {
        Self {
            total: summary.rules_total,
            max_per_switch: summary.rules_max_per_switch,
            exact_total: summary.exact_rules_total,
            key_bits: summary.key_bits,
            tcam_bits_max: summary.tcam_bits_max,
        }
    }
}

/// What a report page tells of a plan's tags.
pub(super) fn summary(source: &Source<'_>) -> Summary {
    let plan = source.plan;
    let tags = TagReport::all(plan);
    let rules = RulesReport::of(&plan.summary(0.0));
    Summary {
        proof: proof(source),
        figures: vec![
            (tags.len() as u64, "lossless tags"),
            (rules.max_per_switch, "tag rules, at most, per switch"),
        ],
        sections: sections(source, &tags, &rules),
    }
}

fn sections(source: &Source<'_>, tags: &[TagReport], rules: &RulesReport) -> Vec<Section> {
    let plan = source.plan;
    let mut sections = vec![tag_section(plan, tags), class_section(plan, tags)];
    match source.maps {
        Some(platform) => {
            sections.push(map_section(source, platform));
            sections.push(mapped_switch_section(source));
        }
        None => sections.push(switch_section(source, rules)),
    }
    sections.push(headroom_section(source, tags.len()));
    sections
}

/// The routes of a switch, of both versions of IP.
fn routes(switch: &SwitchReport) -> u64 {
    let tables = [table::IPV4_ROUTE, table::IPV6_ROUTE];
    let count = |table| switch.tables.get(table).copied().unwrap_or(0);
    tables.into_iter().map(count).sum()
}

/// The switches of a target whose maps take the place of tag rules.
fn mapped_switch_section(source: &Source<'_>) -> Section {
    let row = |(name, switches): (String, Vec<&SwitchReport>)| {
        let range = |of: &dyn Fn(&SwitchReport) -> u64| range(&switches, of, number);
        vec![
            name,
            switches.len().to_string(),
            range(&|s| s.rules.rules),
            range(&routes),
            range(&|s| s.groups),
        ]
    };
    Section {
        title: "Switches",
        text: "What the plan has for each switch. The maps above express its tag rules. Ranges are over the switches of a \
               row."
            .to_owned(),
        columns: vec!["switches", "number", "tag rules", "routes", "ECMP groups"],
        rows: by_layer(source.switches).into_iter().map(row).collect(),
        words: false,
    }
}

/// The maps of one switch of each layer, and the priorities that PFC pauses.
fn map_section(source: &Source<'_>, platform: &'static sonic::Platform) -> Section {
    let plan = source.plan;
    let options = sonic::Options::on(platform);
    let mut rows = Vec::new();
    for (_, switches) in by_layer(source.switches) {
        let first = switches.first();
        let found = first.and_then(|one| plan.topology().switch_named(&one.name).ok());
        let Some(switch) = found else { continue };
        let Ok(config) = sonic::configure(plan, switch, &options) else {
            continue;
        };
        let name = &plan.topology().switch(switch).name;
        rows.extend(map_rows(name, &config));
    }
    Section {
        title: "Maps",
        text: "The QoS maps of the first switch of each layer, as config_db.json has them, and the priorities for which PFC \
               is enabled. Numbers that a map does not list have no entry."
            .to_owned(),
        columns: vec!["switch", "table", "map", "entries"],
        rows,
        words: true,
    }
}

/// The maps of a switch, and its PFC priorities by ports.
fn map_rows(switch: &str, config: &sonic::ConfigDb) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for kind in sonic::tables::MapKind::ALL {
        for (name, map) in config.maps.get(&kind).into_iter().flatten() {
            rows.push(vec![
                switch.to_owned(),
                kind.table().to_owned(),
                name.clone(),
                map_text(map),
            ]);
        }
    }
    let mut enabled: BTreeMap<Vec<u8>, Vec<&str>> = BTreeMap::new();
    for (port, row) in &config.port_qos {
        let priorities = row.pfc_enable.iter().copied().collect();
        enabled.entry(priorities).or_default().push(port);
    }
    for (priorities, ports) in enabled {
        let words: Vec<String> = priorities.iter().map(u8::to_string).collect();
        let ports = match ports[..] {
            [only] => only.to_owned(),
            [first, .., last] => format!("{first} to {last} ({} ports)", ports.len()),
            [] => String::new(),
        };
        rows.push(vec![
            switch.to_owned(),
            "PORT_QOS_MAP pfc_enable".to_owned(),
            ports,
            format!("PFC for {}", words.join(", ")),
        ]);
    }
    rows
}

/// A map between numbers, runs of numbers with the same value together: `0-25 to 0, 26 to 3`.
fn map_text(map: &BTreeMap<u8, u8>) -> String {
    let mut runs: Vec<(u8, u8, u8)> = Vec::new();
    for (&from, &to) in map {
        match runs.last_mut() {
            Some((_, last, value)) if *value == to && last.checked_add(1) == Some(from) => {
                *last = from;
            }
            _ => runs.push((from, from, to)),
        }
    }
    let run = |&(first, last, to): &(u8, u8, u8)| match first == last {
        true => format!("{first} to {to}"),
        false => format!("{first}-{last} to {to}"),
    };
    runs.iter().map(run).collect::<Vec<_>>().join(", ")
}

fn proof(source: &Source<'_>) -> Vec<String> {
    let plan = source.plan;
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
    let resilience = source.resilience;
    if resilience.claimed > 0 {
        lines.push(format!(
            "Survives {} failures ({} sets of failures tried).",
            resilience.claimed,
            number(resilience.sets_checked)
        ));
    }
    lines
}

const fn carrier_text(carrier: CarrierKind) -> &'static str {
    match carrier {
        CarrierKind::Dscp => "DSCP",
        CarrierKind::VlanPcp => "VLAN PCP",
        CarrierKind::VlanVid => "VLAN id",
        CarrierKind::Shim => "shim tag",
    }
}

fn tag_section(plan: &CheckedPlan, tags: &[TagReport]) -> Section {
    let carrier = carrier_text(plan.carrier().kind);
    let row = |tag: &TagReport| {
        vec![
            tag.tag.to_string(),
            tag.code.to_string(),
            tag.priority.to_string(),
        ]
    };
    let lossy = plan.carrier().lossy.get().to_string();
    let mut rows: Vec<_> = tags.iter().map(row).collect();
    rows.push(vec!["lossy".to_owned(), lossy, "0".to_owned()]);
    Section {
        title: "Tags",
        text: format!(
            "A packet carries its tag in the {carrier}. Each tag has a priority of its own, which PFC pauses; whatever no \
             rule matches is lossy, from there to its end."
        ),
        columns: vec!["tag", carrier, "priority"],
        rows,
        words: false,
    }
}

fn class_section(plan: &CheckedPlan, tags: &[TagReport]) -> Section {
    let highest = tags.iter().map(|t| t.tag).max().unwrap_or(0);
    let row = |class: ClassReport| {
        vec![
            class.name,
            class.dscp.to_string(),
            class.initial.to_string(),
            class.limit.unwrap_or(highest).to_string(),
        ]
    };
    Section {
        title: "Classes",
        text: "How hosts choose a lossless class.".to_owned(),
        columns: vec!["class", "DSCP that hosts send", "first tag", "highest tag"],
        rows: ClassReport::all(plan).into_iter().map(row).collect(),
        words: false,
    }
}

fn switch_section(source: &Source<'_>, rules: &RulesReport) -> Section {
    let form = match source.plan.tagging().form {
        RuleForm::Exact => "name one ingress and one egress port each",
        RuleForm::PortSets => {
            "match sets of ports as one-hot bitmaps, so that one rule covers any number of ports"
        }
    };
    let row = |(name, switches): (String, Vec<&SwitchReport>)| {
        let range = |of: &dyn Fn(&SwitchReport) -> u64| range(&switches, of, number);
        vec![
            name,
            switches.len().to_string(),
            range(&|s| s.rules.rules),
            range(&|s| s.rules.exact),
            range(&|s| s.rules.tcam_bits),
            range(&routes),
            range(&|s| s.groups),
            range(&SwitchReport::entries),
        ]
    };
    Section {
        title: "Switches",
        text: format!(
            "Rules {form}; a key has {} bits. Ranges are over the switches of a row.",
            rules.key_bits
        ),
        columns: vec![
            "switches",
            "number",
            "tag rules",
            "as exact ports",
            "TCAM bits",
            "routes",
            "ECMP groups",
            "entries",
        ],
        rows: by_layer(source.switches).into_iter().map(row).collect(),
        words: false,
    }
}

fn headroom_section(source: &Source<'_>, priorities: usize) -> Section {
    let budget = &source.plan.tables().budget;
    let most = u64::from(budget.lossless_priorities);
    let row = |(name, switches): (String, Vec<&SwitchReport>)| {
        vec![
            name,
            range(&switches, &|s| s.headroom.per_port_max.get(), bytes),
            range(&switches, &|s| s.headroom.per_priority.get(), bytes),
            priorities.to_string(),
            range(&switches, &|s| s.headroom.affordable.min(most), number),
        ]
    };
    Section {
        title: "Headroom",
        text: format!(
            "The bytes that may arrive at a port after it has sent a pause, for one priority (MTU {} bytes, lengths and rates of \
             the topology). Affordable: the number of the switch's {most} lossless priorities for which its buffer of {} has room.",
            number(budget.mtu.get()),
            bytes(budget.buffer.get())
        ),
        columns: vec![
            "switches",
            "worst port, one priority",
            "all ports, one priority",
            "lossless priorities in use",
            "affordable",
        ],
        rows: by_layer(source.switches).into_iter().map(row).collect(),
        words: false,
    }
}
