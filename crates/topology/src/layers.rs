//! Finding the layers of a network that does not name them.

use super::ids::{NodeId, SwitchId};
use super::model::Topology;

/// The most layers that are recognised.
const MAX_LAYERS: u8 = 8;

/// The layers of a folded Clos: each switch's distance to the nearest switch with hosts, provided
/// that no link stays within a layer, there are at least two layers, and every switch with hosts
/// reaches every other by going up, then down. `None` if the network is nothing of the kind.
pub(super) fn infer(topology: &Topology) -> Option<Vec<u8>> {
    let switches = topology.switches().len();
    let mut layers: Vec<Option<u8>> = vec![None; switches];
    let edge: Vec<SwitchId> = topology
        .switch_ids()
        .filter(|&s| has_host(topology, s))
        .collect();
    let mut queue = edge.clone();
    for switch in &edge {
        layers[switch.index()] = Some(0);
    }
    let mut next = 0;
    while let Some(&at) = queue.get(next) {
        next += 1;
        let above = layers[at.index()]?
            .checked_add(1)
            .filter(|&layer| layer < MAX_LAYERS)?;
        for neighbour in neighbours(topology, at) {
            if layers[neighbour.index()].is_none() {
                layers[neighbour.index()] = Some(above);
                queue.push(neighbour);
            }
        }
    }
    let layers: Vec<u8> = layers.into_iter().collect::<Option<_>>()?;
    let level =
        |at: SwitchId| neighbours(topology, at).any(|n| layers[n.index()] == layers[at.index()]);
    if layers.iter().all(|&layer| layer == 0) || topology.switch_ids().any(level) {
        return None;
    }
    let served = |&from: &SwitchId| {
        let reached = up_down(topology, &layers, from);
        edge.iter().all(|to| reached[to.index()])
    };
    edge.iter().all(served).then_some(layers)
}

fn has_host(topology: &Topology, switch: SwitchId) -> bool {
    let mut peers = topology.peers(switch);
    peers.any(|(_, peer)| matches!(peer.end.node, NodeId::Host(_)))
}

fn neighbours(topology: &Topology, switch: SwitchId) -> impl Iterator<Item = SwitchId> + '_ {
    topology
        .peers(switch)
        .filter_map(|(_, peer)| match peer.end.node {
            NodeId::Switch(other) => Some(other),
            NodeId::Host(_) => None,
        })
}

/// The switches that can be reached by going up, then down.
fn up_down(topology: &Topology, layers: &[u8], from: SwitchId) -> Vec<bool> {
    // A switch met on the way up may be gone on from in both directions, one met on the way down
    // only down.
    let mut climbed = vec![false; layers.len()];
    let mut met = vec![false; layers.len()];
    let mut stack = vec![(from, true)];
    while let Some((at, climbing)) = stack.pop() {
        let seen = if climbing { &mut climbed } else { &mut met };
        if std::mem::replace(&mut seen[at.index()], true) {
            continue;
        }
        met[at.index()] = true;
        for next in neighbours(topology, at) {
            let up = layers[next.index()] > layers[at.index()];
            if !up || climbing {
                stack.push((next, up));
            }
        }
    }
    met
}
