//! Failover tables: what a switch does with a packet as a function of its destination, of what its
//! header says it has met, and of which of the switch's own ports are up (Stephens15 sections 4.2
//! to 4.4).
//!
//! One model holds all five forwarding functions. A packet carries a *destination code* and a
//! [`Label`]: the reverse route (Plinko), a number (the failure set of FCP, the route of MPLS-FRR,
//! the set of failed trees of EDST and ADST) and, where trees are marked, the tree that it is on.
//! It may carry a *forward route* too: the ports by which it leaves the next switches. At a switch,
//! in this order:
//!
//! 1. If there is a forward route: its first port is taken off; if that port is up the packet
//!    leaves by it, else the whole forward route is discarded.
//! 2. A switch that the destination stands at hands the packet to the host.
//! 3. The first rule of the switch's table that matches says what to do; without one the packet is
//!    dropped.
//!
//! The reverse route that a rule sees is the list of ports by which the packet came into the
//! switches it has crossed, the latest (this switch's own) first; a host's port is not in it, so it
//! is empty where the packet comes from a host. A place of the reverse route beyond its end
//! reads 0. Packets to a destination whose label is not the reverse route keep none: it stays
//! empty, however far they go.
//!
//! Destinations may differ in their label and in how many failures they survive ([`Protection`]).

mod file;
mod mask;
mod state;
mod table;
mod ternary;

use quantities::PortId;
use strum::{EnumMessage, IntoStaticStr, VariantArray};
use topology::{HostId, SwitchId, Topology};

pub use file::{FailoverFile, FailoverFileError};
pub use mask::{PortMask, WIDEST};
pub use state::{StateCounts, TofinoTcam, longest_hops};
pub use table::{
    Action, Origin, PortMatch, ReverseMatch, Rule, RuleRef, SwitchTable, Write, WriteTag,
};
pub use ternary::{Ternary, TernaryError};

/// The most ports that a reverse or forward route can hold: what the parser of a generated program
/// unrolls.
pub const MAX_HOPS: usize = 32;

/// What the header says about failures that were met (Stephens15 section 4.3.2, Table 4.2 and Table
/// 4.6).
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum LabelKind {
    /// Plinko: the way that the packet has come.
    ReverseRoute,
    /// FCP: a number for the set of failed links.
    FailureSet,
    /// MPLS-FRR: a number for the route.
    RouteId,
    /// EDST and ADST: the trees that have failed, one bit each.
    FailedTrees,
}

impl LabelKind {
    /// What it is, in words.
    #[must_use]
    pub const fn describe(self) -> &'static str {
        match self {
            Self::ReverseRoute => "the way that a packet has come",
            Self::FailureSet => "the set of failed links that a packet has met",
            Self::RouteId => "the route that a packet follows",
            Self::FailedTrees => "the trees that have failed",
        }
    }
}

/// What a forwarding rule puts out.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Output {
    /// One port: every switch on the way has a rule.
    HopByHop,
    /// The ports of all switches on the rest of the way, put into the header.
    SourceRoutes,
}

/// What may fail.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
    IntoStaticStr,
    VariantArray,
    EnumMessage,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Element {
    /// Links between switches.
    #[strum(serialize = "links", message = "Links between switches")]
    #[default]
    Link,
    /// Switches.
    #[strum(serialize = "switches", message = "Switches")]
    Switch,
}

/// What a plan claims: any so many failures at once, and no packet is lost that a way remains for.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// How many.
    pub failures: u32,
    /// Of what.
    #[serde(default)]
    pub element: Element,
}

/// Where packets can be bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// One host.
    Host(HostId),
    /// All hosts at a switch, by one of several independent routings (Stephens15 section 4.6.3).
    Switch {
        /// The switch.
        switch: SwitchId,
        /// Which of the routings.
        path: u16,
    },
}

/// How packets to a destination survive failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Protection {
    /// What their header says.
    pub label: LabelKind,
    /// How many failures at once they survive, as the plan claims.
    pub failures: u32,
}

/// A destination: what stands in the header, and whom it means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Destination {
    /// The number in the header.
    pub code: u32,
    /// Whom it means.
    pub target: Target,
    /// How packets to it survive failures, where that is not as the plan says for all (Stephens15
    /// section 4.9).
    pub own: Option<Protection>,
}

impl Destination {
    /// A destination of which the plan says what it says for all.
    #[must_use]
    pub const fn new(code: u32, target: Target) -> Self {
        Self {
            code,
            target,
            own: None,
        }
    }

    /// The switches at which packets have arrived, in id order.
    #[must_use]
    pub fn homes(&self, topology: &Topology) -> Vec<SwitchId> {
        match self.target {
            Target::Switch { switch, .. } => vec![switch],
            Target::Host(host) => {
                let live = |(_, peer): &(PortId, topology::Peer)| {
                    topology.is_live(peer.link).then_some(peer.end.node)
                };
                let nodes = topology.uplinks(host).iter().filter_map(live);
                let mut homes: Vec<_> = nodes
                    .filter_map(|node| match node {
                        topology::NodeId::Switch(switch) => Some(switch),
                        topology::NodeId::Host(_) => None,
                    })
                    .collect();
                homes.sort_unstable();
                homes.dedup();
                homes
            }
        }
    }

    /// Whom it means, in words.
    #[must_use]
    pub fn describe(&self, topology: &Topology) -> String {
        match self.target {
            Target::Host(host) => format!("`{}`", topology.host(host).name),
            Target::Switch { switch, path } => {
                format!("`{}` by routing {path}", topology.switch(switch).name)
            }
        }
    }
}

/// What a packet's header says about its way.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Label {
    /// Failure set, route id, or the failed trees.
    pub tag: u32,
    /// The tree that the packet is on, counted from 1, where trees are marked; else 0.
    pub tree: u8,
    /// The ports by which the packet came in, the latest first; kept only where labels are reverse
    /// routes.
    pub reverse: Vec<u8>,
}

/// The failover tables of a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failover {
    /// What the header says, unless a destination says otherwise.
    pub label: LabelKind,
    /// What rules put out.
    pub output: Output,
    /// What the plan claims, unless a destination claims another number of failures.
    pub claim: Claim,
    /// The most hops that a reverse or forward route may have; what is longer is dropped.
    pub stack: u8,
    /// The destinations, by rising code.
    pub destinations: Vec<Destination>,
    /// The tables of all switches, in switch order.
    pub tables: Vec<SwitchTable>,
}

/// Destinations whose packets survive failures in one way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// That way.
    pub protection: Protection,
    /// How many destinations there are.
    pub destinations: usize,
}

impl Failover {
    /// How packets survive failures, unless their destination says otherwise.
    #[must_use]
    pub const fn usual(&self) -> Protection {
        Protection {
            label: self.label,
            failures: self.claim.failures,
        }
    }

    /// How packets to a destination survive failures.
    #[must_use]
    pub fn protection(&self, destination: &Destination) -> Protection {
        destination.own.unwrap_or(self.usual())
    }

    /// The destinations by how their packets survive failures: one part, unless some say otherwise.
    /// What is usual comes first.
    #[must_use]
    pub fn parts(&self) -> Vec<Part> {
        let mut parts: Vec<Part> = Vec::new();
        let usual = self.usual();
        let all = self.destinations.iter().map(|own| self.protection(own));
        for protection in all {
            match parts.iter_mut().find(|part| part.protection == protection) {
                Some(part) => part.destinations += 1,
                None => parts.push(Part {
                    protection,
                    destinations: 1,
                }),
            }
        }
        parts.sort_by_key(|part| part.protection != usual);
        if parts.is_empty() {
            parts.push(Part {
                protection: usual,
                destinations: 0,
            });
        }
        parts
    }

    /// What the header says to one destination or another: each kind once.
    #[must_use]
    pub fn labels(&self) -> Vec<LabelKind> {
        let mut labels = Vec::new();
        for part in self.parts() {
            if !labels.contains(&part.protection.label) {
                labels.push(part.protection.label);
            }
        }
        labels
    }

    /// The table of one switch.
    #[must_use]
    pub fn table(&self, switch: SwitchId) -> Option<&SwitchTable> {
        self.tables.get(switch.index())
    }
}
