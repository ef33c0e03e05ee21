//! Failover tables as the plan file writes them.

use std::collections::BTreeMap;

use quantities::PortId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;
use topology::{NodeId, Topology};

use super::mask::{PortMask, WIDEST};
use super::table::{
    Action, Origin, PortMatch, ReverseMatch, Rule, RuleRef, SwitchTable, Write, WriteTag,
};
use super::ternary::Ternary;
use super::{Claim, Destination, Failover, LabelKind, MAX_HOPS, Output, Protection, Target};
use crate::{PortSet, Tag};

/// The `failover` part of a plan file.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FailoverFile {
    /// What the header says about failures that were met, unless a destination says otherwise.
    label: LabelKind,
    /// What rules put out.
    output: Output,
    /// What the plan claims, unless a destination claims another number of failures.
    claim: Claim,
    /// The most hops of a reverse or forward route, at most 32; what is longer is dropped.
    stack: u8,
    /// The destinations, by rising code.
    destinations: Vec<DestinationEntry>,
    /// The tables. A switch that is not named has none: it drops what it does not deliver.
    tables: Vec<TableEntry>,
}

/// A destination: either a host, or all hosts at a switch by one of its routings.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DestinationEntry {
    /// The number in the header.
    code: u32,
    /// The host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    host: Option<String>,
    /// The switch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    switch: Option<String>,
    /// Which of the routings to the switch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    path: Option<u16>,
    /// What the header of packets to it says about failures that were met, if not what the plan
    /// says of all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    label: Option<LabelKind>,
    /// How many failures at once packets to it survive, if not as many as the plan claims of all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failures: Option<u32>,
}

/// The rules of a switch.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TableEntry {
    /// The switch.
    switch: String,
    /// Its rules in order: the first that matches counts.
    rules: Vec<RuleEntry>,
}

/// A failover rule. What is absent does not matter.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RuleEntry {
    /// The destination's code.
    dst: Ternary,
    /// Where the packet comes from: `host`, or the port that leads to another switch.
    #[serde(default, rename = "in", skip_serializing_if = "Option::is_none")]
    origin: Option<OriginEntry>,
    /// The number in the header.
    #[serde(default = "any", skip_serializing_if = "is_any")]
    tag: Ternary,
    /// The tree that the packet is on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tree: Option<u8>,
    /// How many hops the reverse route has.
    #[serde(default = "any", skip_serializing_if = "is_any")]
    hops: Ternary,
    /// The reverse route, the latest hop first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    rev: Vec<Ternary>,
    /// Ports that must be up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    up: Option<PortSet>,
    /// Ports that must be down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    down: Option<PortSet>,
    /// The port to leave by, then those of the next switches. Absent: drop.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    to: Vec<u8>,
    /// Whether the packet is dropped.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    drop: bool,
    /// The new number in the header, or those of its bits that change.
    #[serde(default = "any", skip_serializing_if = "is_any")]
    set: Ternary,
    /// The tree that the packet is on from here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    set_tree: Option<u8>,
    /// The lossless tag with which a lossless packet from a host leaves: its channel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    channel: Option<Tag>,
}

/// Where a packet comes from.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
enum OriginEntry {
    /// A port.
    Port(u16),
    /// `host`.
    Word(HostWord),
}

/// The word for packets from hosts.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum HostWord {
    /// From a host.
    Host,
}

const fn any() -> Ternary {
    Ternary::ANY
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature serde asks for"
)]
const fn is_any(ternary: &Ternary) -> bool {
    ternary.is_any()
}

/// Why the failover part of a plan file is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FailoverFileError {
    /// A destination that names neither a host nor a switch, or both.
    #[error(
        "failover.destinations[{at}]: name either a `host`, or a `switch` with its `path`, and nothing else"
    )]
    Destination {
        /// Position.
        at: usize,
    },
    /// A name that is not there.
    #[error("{place}: there is no {kind} `{name}` in the plan's topology; correct the name")]
    NoSuchNode {
        /// Where.
        place: String,
        /// `host` or `switch`.
        kind: &'static str,
        /// The name.
        name: String,
    },
    /// Codes do not rise.
    #[error(
        "failover.destinations[{at}]: code {code} does not rise; list destinations by rising code, each once"
    )]
    Codes {
        /// Position.
        at: usize,
        /// The code.
        code: u32,
    },
    /// Two tables for a switch.
    #[error("failover.tables[{at}]: `{name}` has a table already; give every switch one")]
    SwitchTwice {
        /// Position.
        at: usize,
        /// The switch.
        name: String,
    },
    /// A rule that is no rule.
    #[error("failover.tables: rule {rule} of switch `{switch}`: {reason}")]
    Rule {
        /// The switch.
        switch: String,
        /// Which of its rules, from 1.
        rule: usize,
        /// What is wrong and how to mend it.
        reason: String,
    },
    /// The stack is too deep.
    #[error("failover.stack is {0}, but routes in a header have at most {MAX_HOPS} hops")]
    Stack(u8),
}

impl Failover {
    /// Reads the failover part of a plan file.
    ///
    /// # Errors
    /// [`FailoverFileError`].
    pub(crate) fn from_file(
        file: FailoverFile,
        topology: &Topology,
    ) -> Result<Self, FailoverFileError> {
        if usize::from(file.stack) > MAX_HOPS {
            return Err(FailoverFileError::Stack(file.stack));
        }
        let mut tables: Vec<Option<SwitchTable>> = vec![None; topology.switches().len()];
        for (at, entry) in file.tables.into_iter().enumerate() {
            let Some(NodeId::Switch(switch)) = topology.node(&entry.switch) else {
                return Err(no_such(
                    format!("failover.tables[{at}]"),
                    "switch",
                    entry.switch,
                ));
            };
            let mut table = SwitchTable::default();
            for (number, rule) in entry.rules.into_iter().enumerate() {
                let rule = Rule::try_from(rule).map_err(|reason| FailoverFileError::Rule {
                    switch: entry.switch.clone(),
                    rule: number + 1,
                    reason,
                })?;
                table.push(rule);
            }
            table.shrink();
            if tables[switch.index()].replace(table).is_some() {
                let name = entry.switch;
                return Err(FailoverFileError::SwitchTwice { at, name });
            }
        }
        let usual = Protection {
            label: file.label,
            failures: file.claim.failures,
        };
        Ok(Self {
            label: file.label,
            output: file.output,
            claim: file.claim,
            stack: file.stack,
            destinations: destinations(file.destinations, usual, topology)?,
            tables: tables.into_iter().map(Option::unwrap_or_default).collect(),
        })
    }

    /// Writes the failover part of a plan file, a rule a line.
    pub(crate) fn write_json(&self, topology: &Topology, text: &mut String) {
        let json = |value: &dyn erased::Json| value.json();
        text.push_str("  \"failover\": {\n");
        for (key, value) in [
            ("label", json(&self.label)),
            ("output", json(&self.output)),
            ("claim", json(&self.claim)),
            ("stack", json(&self.stack)),
        ] {
            text.push_str(&format!("    \"{key}\": {value},\n"));
        }
        text.push_str("    \"destinations\": [");
        for (at, destination) in self.destinations.iter().enumerate() {
            let entry = DestinationEntry::of(destination, topology);
            text.push_str(if at == 0 { "\n      " } else { ",\n      " });
            text.push_str(&json(&entry));
        }
        text.push_str("\n    ],\n    \"tables\": [");
        let named = topology.switches().iter().zip(&self.tables);
        let filled = named.filter(|(_, table)| !table.is_empty());
        for (at, (switch, table)) in filled.enumerate() {
            let comma = if at == 0 { "" } else { "," };
            text.push_str(&format!(
                "{comma}\n      {{\"switch\": {}, \"rules\": [",
                json(&switch.name)
            ));
            for (at, rule) in table.iter().enumerate() {
                text.push_str(if at == 0 { "\n        " } else { ",\n        " });
                text.push_str(&json(&RuleEntry::from(rule)));
            }
            text.push_str("\n      ]}");
        }
        text.push_str("\n    ]\n  },\n");
    }
}

/// Anything that has a JSON form, so that one closure can write them all.
mod erased {
    pub(super) trait Json {
        fn json(&self) -> String;
    }

    impl<T: serde::Serialize> Json for T {
        /// Plain structs of strings and numbers always have a JSON form.
        fn json(&self) -> String {
            serde_json::to_string(self).unwrap_or_default()
        }
    }
}

fn no_such(place: String, kind: &'static str, name: String) -> FailoverFileError {
    FailoverFileError::NoSuchNode { place, kind, name }
}

fn destinations(
    entries: Vec<DestinationEntry>,
    usual: Protection,
    topology: &Topology,
) -> Result<Vec<Destination>, FailoverFileError> {
    let mut seen = BTreeMap::new();
    let mut found = Vec::with_capacity(entries.len());
    for (at, entry) in entries.into_iter().enumerate() {
        let code = entry.code;
        let own = (entry.label.is_some() || entry.failures.is_some()).then(|| Protection {
            label: entry.label.unwrap_or(usual.label),
            failures: entry.failures.unwrap_or(usual.failures),
        });
        let rises = seen.last_key_value().is_none_or(|(&last, ())| last < code);
        if seen.insert(code, ()).is_some() || !rises {
            return Err(FailoverFileError::Codes { at, code });
        }
        let place = || format!("failover.destinations[{at}]");
        let target = match (entry.host, entry.switch, entry.path) {
            (Some(host), None, None) => match topology.node(&host) {
                Some(NodeId::Host(host)) => Target::Host(host),
                _ => return Err(no_such(place(), "host", host)),
            },
            (None, Some(switch), path) => match topology.node(&switch) {
                Some(NodeId::Switch(switch)) => Target::Switch {
                    switch,
                    path: path.unwrap_or(0),
                },
                _ => return Err(no_such(place(), "switch", switch)),
            },
            _ => return Err(FailoverFileError::Destination { at }),
        };
        found.push(Destination { code, target, own });
    }
    Ok(found)
}

impl DestinationEntry {
    fn of(destination: &Destination, topology: &Topology) -> Self {
        let entry = Self {
            code: destination.code,
            host: None,
            switch: None,
            path: None,
            label: destination.own.map(|own| own.label),
            failures: destination.own.map(|own| own.failures),
        };
        match destination.target {
            Target::Host(host) => Self {
                host: Some(topology.host(host).name.clone()),
                ..entry
            },
            Target::Switch { switch, path } => Self {
                switch: Some(topology.switch(switch).name.clone()),
                path: Some(path),
                ..entry
            },
        }
    }
}

impl From<RuleRef<'_>> for RuleEntry {
    fn from(rule: RuleRef<'_>) -> Self {
        let set = |mask: PortMask| (!mask.is_empty()).then(|| mask.to_set());
        let (to, write) = match rule.action {
            Action::Drop => (vec![], Write::default()),
            Action::Forward { route, write } => (route.to_vec(), *write),
        };
        Self {
            dst: rule.destination,
            origin: match rule.origin {
                Origin::Any => None,
                Origin::Host => Some(OriginEntry::Word(HostWord::Host)),
                Origin::Port(port) => Some(OriginEntry::Port(port.get())),
            },
            tag: rule.tag,
            tree: rule.tree,
            hops: rule.reverse.count,
            rev: rule.reverse.hops.to_vec(),
            up: set(rule.ports.up),
            down: set(rule.ports.down),
            drop: to.is_empty(),
            to,
            set: Ternary::new(write.tag.value, write.tag.mask),
            set_tree: write.tree,
            channel: write.channel,
        }
    }
}

impl TryFrom<RuleEntry> for Rule {
    type Error = String;

    fn try_from(entry: RuleEntry) -> Result<Self, String> {
        let mask = |set: &Option<PortSet>| match set {
            None => Ok(PortMask::EMPTY),
            Some(set) => PortMask::of_set(set).ok_or_else(|| {
                format!("ports `{set}` reach beyond the port status, which ends at port {WIDEST}")
            }),
        };
        if entry.rev.len() > MAX_HOPS || entry.to.len() > MAX_HOPS {
            return Err(format!("routes have at most {MAX_HOPS} hops"));
        }
        if entry.drop != entry.to.is_empty() {
            return Err("give either the ports of `to`, or `\"drop\": true`".to_owned());
        }
        let action = if entry.drop {
            Action::Drop
        } else {
            Action::Forward {
                route: entry.to.into(),
                write: Write {
                    tag: WriteTag {
                        value: entry.set.value(),
                        mask: entry.set.mask(),
                    },
                    tree: entry.set_tree,
                    channel: entry.channel,
                },
            }
        };
        let ports = PortMatch {
            up: mask(&entry.up)?,
            down: mask(&entry.down)?,
        };
        if !ports.up.and(ports.down).is_empty() {
            return Err("a port cannot be both up and down; remove it from one".to_owned());
        }
        Ok(Self {
            destination: entry.dst,
            tag: entry.tag,
            tree: entry.tree,
            origin: match entry.origin {
                None => Origin::Any,
                Some(OriginEntry::Word(HostWord::Host)) => Origin::Host,
                Some(OriginEntry::Port(port)) => Origin::Port(PortId::new(port)),
            },
            reverse: ReverseMatch {
                count: entry.hops,
                hops: entry.rev.into(),
            },
            ports,
            action,
        })
    }
}
