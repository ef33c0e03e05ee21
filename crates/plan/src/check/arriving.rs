//! Which lossless priorities can come in by which port, whatever the routing: headroom for others
//! is never used (TaggerDraft section 3.3 has half of it in trees).

use std::collections::{BTreeMap, BTreeSet};

use quantities::{Bytes, PortId, Priority};
use serde::Serialize;
use topology::{NodeId, SwitchId, Topology};

use super::checked::CheckedPlan;
use crate::budget::headroom;
use crate::model::Tables;
use crate::tag::{NewTag, Tag};

/// PFC headroom of a switch for the priorities that can come in port by port, and for all at all
/// ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct HeadroomNeeded {
    /// What is needed.
    pub needed: Bytes,
    /// What all lossless priorities at all plugged ports would take.
    pub all: Bytes,
}

impl HeadroomNeeded {
    /// What is needed as a part of all; 0 if there is nothing.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "megabytes")]
    pub fn part(&self) -> f64 {
        self.needed.get() as f64 / self.all.get().max(1) as f64
    }
}

impl CheckedPlan {
    /// The lossless priorities that can come in by every port of every switch, by whatever ways:
    /// those of tags with which hosts begin, and that rules of the switch at the other end can
    /// give.
    #[must_use]
    pub fn arriving(&self) -> Vec<BTreeMap<PortId, BTreeSet<Priority>>> {
        let tables = self.tables();
        let tags = arriving_tags(tables);
        let priority = |tag: &Tag| tables.tagging.priority(NewTag::Lossless(*tag));
        let lossless = |tags: &BTreeSet<Tag>| -> BTreeSet<Priority> {
            tags.iter().map(priority).filter(|p| p.get() > 0).collect()
        };
        let of_switch = |ports: &BTreeMap<PortId, BTreeSet<Tag>>| {
            ports
                .iter()
                .map(|(&port, tags)| (port, lossless(tags)))
                .collect()
        };
        tags.iter().map(of_switch).collect()
    }

    /// The headroom that every switch needs.
    #[must_use]
    pub fn headroom_needed(&self) -> Vec<HeadroomNeeded> {
        let (topology, budget) = (self.topology(), &self.tables().budget);
        let priorities: BTreeSet<_> = self.tagging().priorities.values().collect();
        let of_switch = |(switch, arriving): (SwitchId, BTreeMap<PortId, BTreeSet<Priority>>)| {
            let (mut needed, mut all) = (0u64, 0u64);
            for (port, peer) in topology.peers(switch) {
                let link = topology.link(peer.link);
                let one = headroom(link.rate, link.length, budget.mtu).get();
                let own = arriving.get(&port).map_or(0, BTreeSet::len) as u64;
                needed = needed.saturating_add(one.saturating_mul(own));
                all = all.saturating_add(one.saturating_mul(priorities.len() as u64));
            }
            HeadroomNeeded {
                needed: Bytes::new(needed),
                all: Bytes::new(all),
            }
        };
        topology
            .switch_ids()
            .zip(self.arriving())
            .map(of_switch)
            .collect()
    }
}

/// The tags that can come in by every port, and that some rule there matches: others turn lossy at
/// once.
fn arriving_tags(tables: &Tables) -> Vec<BTreeMap<PortId, BTreeSet<Tag>>> {
    let topology = &tables.topology;
    let mut arriving = vec![BTreeMap::<PortId, BTreeSet<Tag>>::new(); topology.switches().len()];
    let mut ahead: Vec<(SwitchId, PortId, Tag)> = Vec::new();
    // Rules of failover tables may give packets from hosts any channel.
    let begun: BTreeSet<Tag> = match tables.failover {
        Some(_) => tables.tagging.priorities.keys().copied().collect(),
        None => tables
            .tagging
            .classes
            .iter()
            .map(|class| class.initial)
            .collect(),
    };
    for switch in topology.switch_ids() {
        for (port, peer) in topology.peers(switch) {
            if matches!(peer.end.node, NodeId::Host(_)) {
                ahead.extend(begun.iter().map(|&tag| (switch, port, tag)));
            }
        }
    }
    while let Some((switch, port, tag)) = ahead.pop() {
        let rules = tables
            .tagging
            .rules
            .get(switch.index())
            .into_iter()
            .flatten();
        let mut own = rules
            .filter(|rule| rule.tag == tag && rule.in_ports.contains(port))
            .peekable();
        if own.peek().is_none()
            || !arriving[switch.index()]
                .entry(port)
                .or_default()
                .insert(tag)
        {
            continue;
        }
        for rule in own {
            let NewTag::Lossless(new) = rule.new_tag else {
                continue;
            };
            for out in rule.out_ports.iter() {
                ahead.extend(next(topology, switch, out).map(|(to, entered)| (to, entered, new)));
            }
        }
    }
    arriving
}

/// The switch at the other end of a port, and the port there.
fn next(topology: &Topology, switch: SwitchId, out: PortId) -> Option<(SwitchId, PortId)> {
    let peer = topology.peer(switch, out)?;
    match peer.end.node {
        NodeId::Switch(to) => Some((to, peer.end.port)),
        NodeId::Host(_) => None,
    }
}
