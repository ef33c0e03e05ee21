//! Matching nodes by how they are joined: colour refinement, then growth from what is matched.
//!
//! Two nodes have the same colour if the same lies within a number of links of them: kinds of
//! nodes, numbers of ports, and nodes that are matched already. A colour that exactly one node of
//! each network has is a match. A difference changes the colours of all nodes near it, so the rest
//! is matched from neighbours: what stands at a port of a matched node is probably what stands at
//! the same port of its partner. Each such port is a vote, and the pair with the most votes is
//! next.
//! Where all colours are shared, candidates are tried: what follows from a pair has to agree.

use std::collections::{BTreeMap, BinaryHeap};

use super::nodes::{Nodes, all, count, sort};
use crate::ids::NodeId;
use crate::model::{Role, Topology};

/// How many links around a node its last colour covers.
const ROUNDS: usize = 8;

/// The colours of all nodes after each round.
type Colours = Vec<Vec<u64>>;

/// Completes a matching: nodes that have no partner yet get one if structure tells which.
pub(super) fn complete(a: &Topology, b: &Topology, nodes: &mut Nodes) {
    if nodes.of_a.iter().all(Option::is_some) || nodes.of_b.iter().all(Option::is_some) {
        return;
    }
    let fixed: Vec<bool> = nodes.of_a.iter().map(Option::is_some).collect();
    let (colours_a, colours_b) = both_colours(a, b, nodes);
    let first: Vec<NodeId> = all(a).collect();
    let second: Vec<NodeId> = all(b).collect();
    if !nodes.of_a.iter().any(Option::is_some) {
        match_unique(&first, &second, (&colours_a, &colours_b), nodes);
    }
    grow(a, b, nodes);
    let colours = (&colours_a, &colours_b);
    while let Some((x, y, alone)) = (Trial { a, b, nodes }).next(colours, (&first, &second)) {
        if !alone {
            nodes.ambiguous_switches += shared(a, &colours_a, nodes);
        }
        nodes.pair(x, y);
        grow(a, b, nodes);
    }
    drop_doubtful(a, b, &fixed, nodes);
}

/// How many switches without a partner have a colour that another of them has too.
fn shared(a: &Topology, colours: &Colours, nodes: &Nodes) -> usize {
    let Some(last) = colours.last() else { return 0 };
    let switches = last.iter().zip(&nodes.of_a).take(a.switches().len());
    let mut sizes: BTreeMap<u64, usize> = BTreeMap::new();
    for (colour, _) in switches.filter(|(_, partner)| partner.is_none()) {
        *sizes.entry(*colour).or_default() += 1;
    }
    sizes.values().filter(|size| **size > 1).sum()
}

/// Switches that are tried before the rest is given up.
const TRIED: usize = 8;

/// How many conflicts may be beside links that agree: differences between the networks make some.
const fn allowed(agreeing: usize) -> usize {
    8 + agreeing / 4
}

/// Nodes that look alike are tried: what follows from a pair, port by port, agrees with the rest of
/// both networks or not.
struct Trial<'a> {
    a: &'a Topology,
    b: &'a Topology,
    nodes: &'a Nodes,
}

impl Trial<'_> {
    /// A switch without a partner and the one that is it most probably, and whether no other is as
    /// probable; nothing if no switch has such a partner.
    fn next(
        &self,
        (colours_a, colours_b): (&Colours, &Colours),
        (first, second): (&[NodeId], &[NodeId]),
    ) -> Option<(NodeId, NodeId, bool)> {
        let switches = 0..self.a.switches().len();
        let free = switches.filter(|at| self.nodes.of_a[*at].is_none());
        for x in free.take(TRIED) {
            let mut before = 0;
            for (own, other) in colours_a.iter().zip(colours_b).rev() {
                let alike = |at: &usize| other[*at] == own[x] && self.nodes.of_b[*at].is_none();
                let candidates: Vec<usize> = (0..other.len()).filter(alike).collect();
                // A node near a difference looks like its partner only from less far.
                if candidates.len() == std::mem::replace(&mut before, candidates.len()) {
                    continue;
                }
                let candidates = candidates.into_iter().map(|at| second[at]);
                if let Some((y, alone)) = self.best(first[x], candidates) {
                    return Some((first[x], y, alone));
                }
            }
        }
        None
    }

    /// The candidate from which most follows, and whether no other does as well; nothing if
    /// conflicts follow from each of them.
    fn best(&self, x: NodeId, candidates: impl Iterator<Item = NodeId>) -> Option<(NodeId, bool)> {
        let mut best: Option<(usize, NodeId)> = None;
        let mut ties = 0;
        for y in candidates {
            let (agreeing, conflicts) = self.follow(x, y);
            if conflicts > allowed(agreeing) {
                continue;
            }
            let score = agreeing.saturating_sub(conflicts);
            match best {
                Some((most, _)) if most > score => {}
                Some((most, _)) if most == score => ties += 1,
                _ => (best, ties) = (Some((score, y)), 0),
            }
            // Nothing is better than two candidates without any conflict.
            if conflicts == 0 && ties > 0 {
                break;
            }
        }
        best.map(|(_, y)| (y, ties == 0))
    }

    /// How many links agree if two nodes are the same, and how many do not.
    fn follow(&self, x: NodeId, y: NodeId) -> (usize, usize) {
        let (mut of_a, mut of_b) = (BTreeMap::from([(x, y)]), BTreeMap::from([(y, x)]));
        let mut ahead = vec![(x, y)];
        let (mut agreeing, mut conflicts) = (0, 0);
        while let Some((x, y)) = ahead.pop() {
            let pairs = opposite(self.a, self.b, (x, y));
            let links = around(self.a, x).len() + around(self.b, y).len();
            conflicts += links.saturating_sub(2 * pairs.len());
            for (near, far, exact) in pairs {
                let known_a = of_a.get(&near).copied();
                let known_a = known_a.or_else(|| self.nodes.partner_of_a(near));
                let known_b = of_b.get(&far).copied();
                let known_b = known_b.or_else(|| self.nodes.partner_of_b(far));
                match (known_a, known_b) {
                    _ if !exact => conflicts += 1,
                    (None, None) => {
                        of_a.insert(near, far);
                        of_b.insert(far, near);
                        ahead.push((near, far));
                        agreeing += 1;
                    }
                    (Some(known), _) if known == far => agreeing += 1,
                    _ => conflicts += 1,
                }
            }
            if conflicts > allowed(agreeing) {
                break;
            }
        }
        (agreeing, conflicts)
    }
}

/// By number of a node of the first network: a number that it shares with its partner.
fn seeds(of_a: &[Option<NodeId>]) -> Vec<Option<u64>> {
    let seed = |(at, partner): (usize, &Option<NodeId>)| partner.map(|_| at as u64 + 1);
    of_a.iter().enumerate().map(seed).collect()
}

fn both_colours(a: &Topology, b: &Topology, nodes: &Nodes) -> (Colours, Colours) {
    let seeds_a = seeds(&nodes.of_a);
    let partner_seed = |partner: &Option<NodeId>| seeds_a[nodes.number_a((*partner)?)];
    let seeds_b: Vec<Option<u64>> = nodes.of_b.iter().map(partner_seed).collect();
    (colours(a, &seeds_a), colours(b, &seeds_b))
}

/// A number in which every bit depends on all bits of both (the finaliser of SplitMix64).
const fn mix(a: u64, b: u64) -> u64 {
    let mut x = a
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .wrapping_add(b)
        .wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

fn colours(topology: &Topology, seeds: &[Option<u64>]) -> Colours {
    let kind = |node: NodeId| match sort(topology, node) {
        None => 1,
        Some(Role::Switch) => 2,
        Some(Role::Server) => 3,
    };
    let start = |(node, seed): (NodeId, &Option<u64>)| mix(kind(node), seed.unwrap_or(0));
    let mut rounds: Colours = vec![all(topology).zip(seeds).map(start).collect()];
    let switches = topology.switches().len();
    let number = |node: NodeId| match node {
        NodeId::Switch(switch) => switch.index(),
        NodeId::Host(host) => switches + host.index(),
    };
    for _ in 0..ROUNDS {
        let Some(before) = rounds.last() else { break };
        // A sum does not depend on the order of links.
        let mut seen = vec![0u64; count(topology)];
        for link in topology.links() {
            for (near, far) in [(link.a, link.b), (link.b, link.a)] {
                let ports = mix(label(near.node, near.port), label(far.node, far.port));
                let view = mix(before[number(far.node)], ports);
                let sum = &mut seen[number(near.node)];
                *sum = sum.wrapping_add(view);
            }
        }
        let next = before.iter().zip(&seen);
        let next = next.map(|(old, seen)| mix(*old, *seen)).collect();
        rounds.push(next);
    }
    rounds
}

/// A port as structure sees it. Hosts have no ports that sources agree on.
fn label(node: NodeId, port: quantities::PortId) -> u64 {
    match node {
        NodeId::Switch(_) => u64::from(port.get()) + 1,
        NodeId::Host(_) => 0,
    }
}

/// Pairs the nodes whose colour nobody else has, in the first round in which that is so.
fn match_unique(
    first: &[NodeId],
    second: &[NodeId],
    (colours_a, colours_b): (&Colours, &Colours),
    nodes: &mut Nodes,
) {
    for (colours_a, colours_b) in colours_a.iter().zip(colours_b) {
        let alone = |colours: &[u64], partners: &[Option<NodeId>]| {
            let mut owners: BTreeMap<u64, Option<usize>> = BTreeMap::new();
            for (at, colour) in colours.iter().enumerate() {
                let free = partners[at].is_none();
                let owner = owners.entry(*colour);
                owner
                    .and_modify(|owner| *owner = None)
                    .or_insert(free.then_some(at));
            }
            owners
        };
        let of_b = alone(colours_b, &nodes.of_b);
        for (colour, x) in alone(colours_a, &nodes.of_a) {
            if let (Some(x), Some(Some(y))) = (x, of_b.get(&colour)) {
                nodes.pair(first[x], second[*y]);
            }
        }
    }
}

/// A pair of nodes, by numbers, in the order in which pairs are matched: many votes first, then low
/// numbers.
type Candidate = (usize, std::cmp::Reverse<(usize, usize)>);

/// Matches what stands at the same ports of nodes that are matched.
fn grow(a: &Topology, b: &Topology, nodes: &mut Nodes) {
    let first: Vec<NodeId> = all(a).collect();
    let second: Vec<NodeId> = all(b).collect();
    let mut votes: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    let mut queue: BinaryHeap<Candidate> = BinaryHeap::new();
    let pairs: Vec<(NodeId, NodeId)> = first
        .iter()
        .zip(&nodes.of_a)
        .filter_map(|(x, y)| Some((*x, (*y)?)))
        .collect();
    for (x, y) in pairs {
        vote(a, b, (x, y), nodes, (&mut votes, &mut queue));
    }
    while let Some((seen, std::cmp::Reverse((x, y)))) = queue.pop() {
        if votes.get(&(x, y)) != Some(&seen) || nodes.of_a[x].is_some() || nodes.of_b[y].is_some() {
            continue;
        }
        let (x, y) = (first[x], second[y]);
        nodes.pair(x, y);
        vote(a, b, (x, y), nodes, (&mut votes, &mut queue));
    }
}

/// What stands at the ports of a switch: the far end and the port there.
fn around(topology: &Topology, node: NodeId) -> Vec<(u64, NodeId, u64)> {
    let view = |near: u64, end: crate::model::Endpoint| (near, end.node, label(end.node, end.port));
    match node {
        NodeId::Switch(switch) => topology
            .peers(switch)
            .map(|(port, peer)| view(label(node, port), peer.end))
            .collect(),
        NodeId::Host(host) => {
            let uplinks = topology.uplinks(host).iter();
            uplinks.map(|(_, peer)| view(0, peer.end)).collect()
        }
    }
}

/// The neighbours of a pair that stand at equal ports, and whether the ports at their own end are
/// equal too.
fn opposite(a: &Topology, b: &Topology, (x, y): (NodeId, NodeId)) -> Vec<(NodeId, NodeId, bool)> {
    let theirs = around(b, y);
    let mut found = Vec::new();
    for (port, near, back) in around(a, x) {
        // Ports of switches rise and come once; the few of a host are all called 0.
        let start = theirs.partition_point(|(other, _, _)| *other < port);
        let same = theirs[start..]
            .iter()
            .take_while(|(other, _, _)| *other == port);
        for (_, far, other) in same {
            if sort(a, near) == sort(b, *far) {
                found.push((near, *far, back == *other));
            }
        }
    }
    found
}

fn vote(
    a: &Topology,
    b: &Topology,
    pair: (NodeId, NodeId),
    nodes: &Nodes,
    (votes, queue): (
        &mut BTreeMap<(usize, usize), usize>,
        &mut BinaryHeap<Candidate>,
    ),
) {
    for (near, far, exact) in opposite(a, b, pair) {
        let key = (nodes.number_a(near), nodes.number_b(far));
        if nodes.of_a[key.0].is_some() || nodes.of_b[key.1].is_some() {
            continue;
        }
        let count = votes.entry(key).or_default();
        *count += if exact { 2 } else { 1 };
        queue.push((*count, std::cmp::Reverse(key)));
    }
}

/// Takes pairs apart most of whose links lead to nodes that are no partners.
fn drop_doubtful(a: &Topology, b: &Topology, fixed: &[bool], nodes: &mut Nodes) {
    let pairs = all(a).zip(fixed).filter(|(_, fixed)| !**fixed);
    let pairs: Vec<(NodeId, NodeId)> = pairs
        .filter_map(|(x, _)| Some((x, nodes.partner_of_a(x)?)))
        .collect();
    let doubtful = |&(x, y): &(NodeId, NodeId)| {
        let agreeing = opposite(a, b, (x, y))
            .iter()
            .filter(|(near, far, _)| nodes.partner_of_a(*near) == Some(*far))
            .count();
        let links = around(a, x).len().max(around(b, y).len());
        2 * agreeing < links
    };
    let doubtful: Vec<(NodeId, NodeId)> = pairs.into_iter().filter(doubtful).collect();
    for (x, y) in doubtful {
        nodes.part(x, y);
    }
}
