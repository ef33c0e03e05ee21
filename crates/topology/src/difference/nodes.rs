//! Which node of the second network is which of the first.
//!
//! Nodes are numbered: switches first, then hosts.

use super::MatchedBy;
use crate::ids::{NodeId, SwitchId};
use crate::model::{Role, Topology};

/// The nodes of two networks, matched.
#[derive(Debug)]
pub(super) struct Nodes {
    /// By what they were matched.
    pub(super) by: MatchedBy,
    /// Switches of the first network that could be matched in another way too.
    pub(super) ambiguous_switches: usize,
    /// By number of a node of the first network: its partner.
    pub(super) of_a: Vec<Option<NodeId>>,
    /// By number of a node of the second network: its partner.
    pub(super) of_b: Vec<Option<NodeId>>,
    /// Switches of the first and of the second network.
    switches: [usize; 2],
}

impl Nodes {
    /// No node has a partner yet.
    pub(super) fn unmatched(a: &Topology, b: &Topology) -> Self {
        Self {
            by: MatchedBy::Name,
            ambiguous_switches: 0,
            of_a: vec![None; count(a)],
            of_b: vec![None; count(b)],
            switches: [a.switches().len(), b.switches().len()],
        }
    }

    /// The number of a node of the first network.
    pub(super) fn number_a(&self, node: NodeId) -> usize {
        number(node, self.switches[0])
    }

    /// The number of a node of the second network.
    pub(super) fn number_b(&self, node: NodeId) -> usize {
        number(node, self.switches[1])
    }

    pub(super) fn pair(&mut self, a: NodeId, b: NodeId) {
        let (at_a, at_b) = (self.number_a(a), self.number_b(b));
        self.of_a[at_a] = Some(b);
        self.of_b[at_b] = Some(a);
    }

    pub(super) fn part(&mut self, a: NodeId, b: NodeId) {
        let (at_a, at_b) = (self.number_a(a), self.number_b(b));
        self.of_a[at_a] = None;
        self.of_b[at_b] = None;
    }

    /// The partner of a node of the first network.
    pub(super) fn partner_of_a(&self, node: NodeId) -> Option<NodeId> {
        self.of_a[self.number_a(node)]
    }

    /// The partner of a node of the second network.
    pub(super) fn partner_of_b(&self, node: NodeId) -> Option<NodeId> {
        self.of_b[self.number_b(node)]
    }

    /// The switch of the second network that is a switch of the first.
    pub(super) fn switch_of(&self, switch: SwitchId) -> Option<SwitchId> {
        match self.partner_of_a(NodeId::Switch(switch))? {
            NodeId::Switch(other) => Some(other),
            NodeId::Host(_) => None,
        }
    }
}

/// How many nodes a network has.
pub(super) fn count(topology: &Topology) -> usize {
    topology.switches().len() + topology.hosts().len()
}

fn number(node: NodeId, switches: usize) -> usize {
    match node {
        NodeId::Switch(switch) => switch.index(),
        NodeId::Host(host) => switches + host.index(),
    }
}

/// All nodes of a network, by number.
pub(super) fn all(topology: &Topology) -> impl Iterator<Item = NodeId> + use<> {
    let hosts = topology.host_ids().map(NodeId::Host);
    topology.switch_ids().map(NodeId::Switch).chain(hosts)
}

/// What a node must have in common with another to be taken for it by structure.
pub(super) fn sort(topology: &Topology, node: NodeId) -> Option<Role> {
    match node {
        NodeId::Switch(switch) => Some(topology.switch(switch).role),
        NodeId::Host(_) => None,
    }
}
