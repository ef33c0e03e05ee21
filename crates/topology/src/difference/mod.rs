//! What differs between two networks: the one that was planned and the one that was built, read
//! from files or heard from its switches.
//!
//! [`Comparison::new`] matches the nodes of both networks, and the ports of nodes that match, by
//! name or by structure ([`MatchBy`]). A port of either network is then a *slot*, and a cable joins
//! two slots. A slot has at most one cable in each network, so the cables that are in one network
//! alone form paths and cycles in which the two networks alternate. A cycle of four cables is an
//! exchange of two cables; a path of two is a cable in a wrong port. Each path or cycle is one
//! difference.
//!
//! Not compared: addresses, layers, groups, subnets, the names of the networks, and how many ports
//! a switch has. Sources that describe a real network seldom know them.

mod cables;
mod facts;
mod item;
mod matching;
mod nodes;
mod onto;
mod ports;
mod structure;
#[cfg(test)]
mod tests;

use std::fmt;

use serde::Serialize;

use crate::model::Topology;
pub use item::{Cable, End, Item, NodeKind, Reconnected};
use nodes::Nodes;
use ports::Slots;

/// How the nodes of two networks are matched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MatchBy {
    /// By name; a node whose name only one network has is matched by its place among the others. If
    /// no switch has the same name in both networks, by structure.
    #[default]
    Auto,
    /// By name alone.
    Name,
    /// By structure; names that both networks have are no evidence.
    Structure,
}

/// By what nodes were matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MatchedBy {
    /// Names.
    Name,
    /// Structure: how nodes are joined.
    Structure,
}

/// Two networks whose nodes and ports are matched.
#[derive(Debug)]
pub struct Comparison<'a> {
    a: &'a Topology,
    b: &'a Topology,
    nodes: Nodes,
    slots: Slots,
}

impl<'a> Comparison<'a> {
    /// Matches the nodes and the ports of two networks.
    #[must_use]
    pub fn new(a: &'a Topology, b: &'a Topology, by: MatchBy) -> Self {
        let nodes = matching::matched(a, b, by);
        let slots = Slots::new(a, b, &nodes);
        Self { a, b, nodes, slots }
    }

    /// How many switches of the first network are matched with a switch of the second.
    #[must_use]
    pub fn matched_switches(&self) -> usize {
        let switches = self.a.switch_ids();
        switches
            .filter(|&id| self.nodes.switch_of(id).is_some())
            .count()
    }

    /// Everything that differs.
    #[must_use]
    pub fn difference(&self) -> Difference {
        let mut items = cables::items(self);
        items.extend(facts::items(self));
        Difference {
            a: self.a.name().to_owned(),
            b: self.b.name().to_owned(),
            matched_by: self.nodes.by,
            ambiguous_switches: self.nodes.ambiguous_switches,
            items,
        }
    }
}

/// What differs between two networks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// The name of the first network.
    pub a: String,
    /// The name of the second network.
    pub b: String,
    /// By what nodes were matched.
    pub matched_by: MatchedBy,
    /// How many switches of the first network could also be matched in another way, because
    /// structure does not distinguish them; 0 if nodes were matched by name.
    pub ambiguous_switches: usize,
    /// The differences: nodes first, then cables, then what they are like.
    #[serde(rename = "differences")]
    pub items: Vec<Item>,
}

impl Difference {
    /// Whether nothing differs.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The differences of cables and nodes: what joins what.
    pub fn cabling(&self) -> impl Iterator<Item = &Item> {
        self.items.iter().filter(|item| item.is_cabling())
    }
}

impl fmt::Display for Difference {
    /// A line for each difference.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.matched_by == MatchedBy::Structure {
            writeln!(f, "switches are matched by structure, not by name")?;
        }
        if self.ambiguous_switches > 0 {
            writeln!(
                f,
                "structure does not distinguish {} switches: they are matched in one of several ways",
                self.ambiguous_switches
            )?;
        }
        item::lines(&self.items, f)
    }
}
