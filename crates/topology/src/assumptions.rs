//! What nobody has said about a network, and what is assumed instead.
//!
//! A fact of a link is given by a file, derived (by a generator, or from coordinates), or assumed:
//! a default stands in its place. Results that depend on assumed facts say so.

use std::collections::BTreeMap;
use std::fmt;

use quantities::{BitRate, Bytes, Metres};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::assumed::AssumedOfLink;
use super::cables::Cables;
use super::ids::NodeId;
use super::model::{Link, Topology};

/// The packet buffer of a switch that is assumed where nobody gives one: that of a Trident II
/// (TaggerDraft section 3.3).
pub const BUFFER: Bytes = Bytes::new(12 << 20);
/// The largest frame that is assumed where nobody gives one.
pub const MTU: Bytes = Bytes::new(1500);

/// A kind of fact.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Fact {
    /// The rate of a link.
    Rate,
    /// The length of a link.
    Length,
    /// The packet buffer of a switch.
    Buffer,
    /// The largest frame.
    Mtu,
}

/// Facts of one kind for which one value was assumed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Assumption {
    /// The kind of fact.
    pub what: Fact,
    /// Of how many links or switches; 1 for a fact of the network.
    pub count: usize,
    /// What is assumed, with its unit.
    pub value: String,
    /// The options that supply the fact.
    pub option: &'static str,
}

impl fmt::Display for Assumption {
    /// A line: what is missing, what is assumed, how to supply it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { count, value, .. } = self;
        let (one, many) = match self.what {
            Fact::Rate => ("rate of 1 link is", "rate of % links is"),
            Fact::Length => ("length of 1 link is", "length of % links is"),
            Fact::Buffer => ("buffer of 1 switch is", "buffer of % switches is"),
            Fact::Mtu => ("MTU is", "MTU is"),
        };
        let what = match count {
            1 => one.to_owned(),
            _ => many.replace('%', &count.to_string()),
        };
        write!(f, "{what} not given: {value} assumed ({})", self.option)
    }
}

/// What is assumed about a network. Empty if everything is given or derived.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Assumptions(Vec<Assumption>);

impl Assumptions {
    /// Whether nothing is assumed.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The assumptions, by kind and value.
    pub fn iter(&self) -> impl Iterator<Item = &Assumption> {
        self.0.iter()
    }

    /// These without facts of some kinds.
    #[must_use]
    pub fn without(mut self, kinds: &[Fact]) -> Self {
        self.0
            .retain(|assumption| !kinds.contains(&assumption.what));
        self
    }

    /// The condition of a verdict: `64 assumed rates and 64 assumed lengths`; empty if nothing is
    /// assumed.
    #[must_use]
    pub fn condition(&self) -> String {
        let mut counts: BTreeMap<Fact, usize> = BTreeMap::new();
        for assumption in &self.0 {
            *counts.entry(assumption.what).or_default() += assumption.count;
        }
        let count = |(what, count): (&Fact, &usize)| {
            let name = match what {
                Fact::Rate => "rate",
                Fact::Length => "length",
                Fact::Buffer => "buffer",
                Fact::Mtu => return "an assumed MTU".to_owned(),
            };
            let ending = if *count == 1 { "" } else { "s" };
            format!("{count} assumed {name}{ending}")
        };
        let parts: Vec<String> = counts.iter().map(count).collect();
        match &parts[..] {
            [] => String::new(),
            [one] => one.clone(),
            [most @ .., last] => format!("{} and {last}", most.join(", ")),
        }
    }
}

/// Facts that stand in place of those that a file does not give.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Supplied {
    /// Rate of links between a host and a switch.
    pub host_rate: Option<BitRate>,
    /// Rate of links between switches.
    pub fabric_rate: Option<BitRate>,
    /// Length of links between a host and a switch.
    pub host_length: Option<Metres>,
    /// Length of links between switches.
    pub fabric_length: Option<Metres>,
}

impl Topology {
    /// What is assumed about the network.
    #[must_use]
    pub fn assumptions(&self) -> Assumptions {
        let mut rates: BTreeMap<BitRate, usize> = BTreeMap::new();
        let mut lengths: BTreeMap<Metres, usize> = BTreeMap::new();
        for link in self.links() {
            if link.assumed.rate {
                *rates.entry(link.rate).or_default() += 1;
            }
            if link.assumed.length {
                *lengths.entry(link.length).or_default() += 1;
            }
        }
        let assumption = |what, count, value, option| Assumption {
            what,
            count,
            value,
            option,
        };
        let mut found = Vec::new();
        for (rate, count) in rates.into_iter().rev() {
            let options = "`topo import --rate`, `--fabric-rate`, `--host-rate`";
            found.push(assumption(Fact::Rate, count, gigabits(rate), options));
        }
        for (length, count) in lengths.into_iter().rev() {
            let options = "`topo import --length`, `--fabric-length`, `--host-length`";
            let value = format!("{length} m");
            found.push(assumption(Fact::Length, count, value, options));
        }
        let unknown = self.switches().iter().filter(|s| s.buffer.is_none());
        let unknown = unknown.count();
        let network = self.assumed();
        if network.buffer && unknown > 0 {
            let value = format!("{} MiB", BUFFER.get() >> 20);
            found.push(assumption(Fact::Buffer, unknown, value, "`plan --buffer`"));
        }
        if network.mtu {
            found.push(assumption(Fact::Mtu, 1, format!("{MTU} B"), "`plan --mtu`"));
        }
        Assumptions(found)
    }

    /// A copy with facts in place of those that are assumed.
    #[must_use]
    pub fn with_supplied(mut self, supplied: &Supplied) -> Self {
        self.change_links(|link, to_host| {
            let (rate, length) = match to_host {
                true => (supplied.host_rate, supplied.host_length),
                false => (supplied.fabric_rate, supplied.fabric_length),
            };
            if let Some(rate) = rate.filter(|_| link.assumed.rate) {
                link.rate = rate;
                link.assumed.rate = false;
            }
            if let Some(length) = length.filter(|_| link.assumed.length) {
                link.length = length;
                link.assumed.length = false;
            }
        });
        self
    }
}

/// The rate and the length of a link of which neither may be known, and what is assumed then.
pub(super) fn complete(
    ends: [NodeId; 2],
    rate: Option<BitRate>,
    length: Option<Metres>,
) -> (BitRate, Metres, AssumedOfLink) {
    let cables = Cables::default();
    let (usual_rate, usual_length) = match is_to_host(ends) {
        true => (cables.host_rate, cables.host_length),
        false => (cables.fabric_rate, cables.fabric_length),
    };
    let assumed = AssumedOfLink {
        rate: rate.is_none(),
        length: length.is_none(),
    };
    (
        rate.unwrap_or(usual_rate),
        length.unwrap_or(usual_length),
        assumed,
    )
}

/// Whether a link between these nodes leads to a host.
pub(super) fn is_to_host(ends: [NodeId; 2]) -> bool {
    ends.iter().any(|node| matches!(node, NodeId::Host(_)))
}

impl Link {
    /// Whether it leads to a host.
    #[must_use]
    pub fn is_to_host(&self) -> bool {
        is_to_host([self.a.node, self.b.node])
    }
}

/// A rate in gigabits per second: `100 Gb/s`, `2.5 Gb/s`.
fn gigabits(rate: BitRate) -> String {
    const GIGA: u64 = 1_000_000_000;
    let (whole, rest) = (rate.get() / GIGA, rate.get() % GIGA);
    match rest {
        0 => format!("{whole} Gb/s"),
        _ => format!(
            "{whole}.{} Gb/s",
            format!("{rest:09}").trim_end_matches('0')
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_names_each_kind_once() {
        let assumption = |what, count| Assumption {
            what,
            count,
            value: "x".to_owned(),
            option: "`o`",
        };
        let mut all = Assumptions::default();
        assert_eq!(all.condition(), "");
        for (what, count, words) in [
            (Fact::Rate, 1, "1 assumed rate"),
            (Fact::Rate, 3, "4 assumed rates"),
            (Fact::Length, 2, "4 assumed rates and 2 assumed lengths"),
            (
                Fact::Mtu,
                1,
                "4 assumed rates, 2 assumed lengths and an assumed MTU",
            ),
        ] {
            all.0.push(assumption(what, count));
            assert_eq!(all.condition(), words);
        }
        let text = all.iter().last().map(ToString::to_string);
        assert_eq!(text.as_deref(), Some("MTU is not given: x assumed (`o`)"));
        assert_eq!(all.without(&[Fact::Mtu, Fact::Rate]).iter().count(), 1);
    }

    #[test]
    fn rates_are_written_in_gigabits() {
        assert_eq!(gigabits(BitRate::gbps(400)), "400 Gb/s");
        assert_eq!(gigabits(BitRate::new(2_500_000_000)), "2.5 Gb/s");
        assert_eq!(gigabits(BitRate::new(1_000_000)), "0.001 Gb/s");
    }
}
