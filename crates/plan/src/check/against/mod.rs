//! What a plan is worth on a network that is not quite the plan's: the network that was really
//! cabled.
//!
//! The switches hold what was built from the plan. So nothing is computed anew for the other
//! network: packets are forwarded by the entries that [`Tables::routing`] gives for the plan's own
//! network, and every obligation of the [theorem](super) is examined for these entries and tag
//! rules on the other network's cables.
//!
//! Links and switches that are down are a state of the plan's network, not another network. For
//! them forwarding is that of the plan once routing has converged on the state; entries that have
//! no live next hop until then are counted ([`Stranded`]).

mod consequences;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use serde::Serialize;
use thiserror::Error;
use topology::difference::{Comparison, Difference, Item, MatchBy};
use topology::{Fabric, NodeId, SwitchId, Topology, UNREACHABLE};

pub use consequences::{MisledEntries, MisledRules, PortPeer, ShortHeadroom, Stranded};

use super::evidence::Evidence;
use super::resilience::WalkSource;
use super::{CheckFailure, CheckReport, Options, Verdict, conclude};
use crate::model::Tables;

/// Why a plan cannot be examined on a network.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AgainstError {
    /// No switch has the same name in both.
    #[error(
        "none of the plan's switches ({plan}, ...) is in the network `{network}`; give `--against` a network whose switches have the names of the plan"
    )]
    NoSwitch {
        /// The first of the plan's switches.
        plan: String,
        /// The network.
        network: String,
    },
}

/// A plan and a network that may differ from the plan's.
#[derive(Debug)]
pub struct Against {
    plan: Tables,
    /// The plan's tables on the cables of the other network.
    on: Tables,
    /// The plan's network in the state of the other: what is down there is down.
    state: Topology,
    difference: Difference,
}

/// What a network that differs from a plan's means for what was built from the plan.
#[derive(Clone, Debug, Serialize)]
pub struct AgainstReport {
    /// Whether the network is the plan's.
    pub equal: bool,
    /// What differs.
    #[serde(flatten)]
    pub difference: Difference,
    /// Whether everything that the plan promises holds on this network, for the entries as built.
    pub holds: bool,
    /// What does not hold, a sentence each.
    pub broken: Vec<String>,
    /// Forwarding entries that send packets to another node than planned, or nowhere.
    pub entries: Vec<MisledEntries>,
    /// Tag rules for ports that lead elsewhere than planned.
    pub tag_rules: Vec<MisledRules>,
    /// Ports that need more PFC headroom than the plan gives them.
    pub headroom: Vec<ShortHeadroom>,
    /// Entries without a live next hop, until routing converges on what is down.
    pub stranded: Option<Stranded>,
    /// The verdict on the plan for its own network; absent if that was not asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<Verdict>,
}

impl Against {
    /// Puts the plan's tables on the cables of another network.
    ///
    /// # Errors
    /// [`AgainstError::NoSwitch`] if the network has none of the plan's switches.
    pub fn new(plan: Tables, network: &Topology) -> Result<Self, AgainstError> {
        let names = Comparison::new(&plan.topology, network, MatchBy::Name);
        if names.matched_switches() == 0 {
            return Err(AgainstError::NoSwitch {
                plan: plan
                    .topology
                    .switches()
                    .first()
                    .map_or_else(String::new, |s| s.name.clone()),
                network: network.name().to_owned(),
            });
        }
        let comparison = Comparison::new(&plan.topology, network, MatchBy::Auto);
        let (difference, cables, state) = (
            comparison.difference(),
            comparison.second_as_first(),
            comparison.first_in_state_of_second(),
        );
        let on = match difference.is_empty() {
            true => plan.clone(),
            false => Tables {
                topology: cables,
                ..plan.clone()
            },
        };
        Ok(Self {
            plan,
            on,
            state,
            difference,
        })
    }

    /// What differs.
    #[must_use]
    pub const fn difference(&self) -> &Difference {
        &self.difference
    }

    /// The plan's tables on the cables of the network.
    #[must_use]
    pub const fn tables(&self) -> &Tables {
        &self.on
    }

    /// The plan.
    #[must_use]
    pub const fn plan(&self) -> &Tables {
        &self.plan
    }

    /// Examines every obligation on the network, with forwarding as it was built.
    ///
    /// # Errors
    /// Everything that does not hold.
    pub fn check(&self, options: &Options) -> Result<CheckReport, Box<CheckFailure>> {
        let built = self.built();
        let routing = built.routing();
        let evidence = Evidence::gather_by(&self.on, Some(&routing), options, WalkSource::Here);
        conclude(evidence)
    }

    /// The plan in the state of the network: what its entries are made from.
    fn built(&self) -> Tables {
        Tables {
            topology: self.state.clone(),
            ..self.plan.clone()
        }
    }

    /// What the outcome of a check on the network means, and its report.
    #[must_use]
    pub fn conclude(
        &self,
        outcome: Result<CheckReport, Box<CheckFailure>>,
    ) -> (CheckReport, AgainstReport) {
        let (mut report, mut broken) = match outcome {
            Ok(report) => (report, Vec::new()),
            Err(failure) => {
                let said = failure.errors.iter().map(ToString::to_string).collect();
                (failure.report, said)
            }
        };
        let consequences = consequences::of(&self.plan, &self.built(), &self.on);
        let headroom = consequences.headroom;
        broken.extend(headroom.iter().map(ToString::to_string));
        broken.extend(self.strangers());
        broken.extend(self.cut_off());
        let holds = broken.is_empty() && report.verdict != Verdict::Refuted;
        if !holds {
            report.verdict = Verdict::Refuted;
            report.proven = false;
            report.counterexample = report
                .counterexample
                .take()
                .or_else(|| broken.first().cloned());
        }
        let about = AgainstReport {
            equal: self.difference.is_empty(),
            difference: self.difference.clone(),
            holds,
            broken,
            entries: consequences.entries,
            tag_rules: consequences.tag_rules,
            headroom,
            stranded: consequences.stranded,
            plan: None,
        };
        (report, about)
    }

    /// Switches that only one of the networks has.
    fn strangers(&self) -> Vec<String> {
        let items = self.difference.items.iter();
        let stranger = |item: &Item| match item {
            Item::NodeAdded {
                node,
                what: topology::difference::NodeKind::Switch,
                ..
            } => Some(format!(
                "switch `{node}` is not in the plan: nothing is shown of what it does with packets"
            )),
            Item::NodeMissing {
                node,
                what: topology::difference::NodeKind::Switch,
                ..
            } => Some(format!("switch `{node}` of the plan is missing")),
            Item::NodeKind { node, from, to } => Some(format!(
                "`{node}` is a {}, but the plan has a {}",
                to.name(),
                from.name()
            )),
            _ => None,
        };
        items.filter_map(stranger).collect()
    }

    /// Switches with hosts that live cables join in the plan's network, and not in this one.
    fn cut_off(&self) -> Vec<String> {
        let (planned, real) = (Fabric::new(&self.state), Fabric::new(&self.on.topology));
        let edges: Vec<SwitchId> = planned.edge_switches().collect();
        let Some(&first) = edges.first() else {
            return Vec::new();
        };
        let reach = |fabric: &Fabric| -> BTreeSet<SwitchId> {
            let distances = fabric.distances(first);
            let ids = fabric.switch_ids();
            ids.filter(|id| distances[id.index()] != UNREACHABLE)
                .collect()
        };
        let (before, after) = (reach(&planned), reach(&real));
        let topology = &self.on.topology;
        let missing = |id: &SwitchId| {
            let name = &topology.switch(*id).name;
            self.difference
                .items
                .iter()
                .any(|item| matches!(item, Item::NodeMissing { node, .. } if node == name))
        };
        let lost = edges
            .iter()
            .filter(|id| before.contains(id) && !after.contains(id));
        lost.filter(|id| !missing(id))
            .map(|id| {
                let name = &topology.switch(*id).name;
                let from = &topology.switch(first).name;
                format!("no way of live links is left from `{from}` to `{name}`")
            })
            .collect()
    }
}

/// What a port leads to: a node's name, or nothing.
fn peer(topology: &Topology, switch: SwitchId, port: quantities::PortId) -> Option<NodeId> {
    Some(topology.peer(switch, port)?.end.node)
}
