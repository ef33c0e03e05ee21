//! Switches parted among machines: parts of equal size, each grown from a switch by the neighbours
//! that it has most links to, so that few links cross.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use topology::{NodeId, SwitchId, Topology};

/// The machine of every switch, by its index; all machines have as many switches, or one fewer.
pub(super) fn part(topology: &Topology, machines: usize) -> Vec<usize> {
    let switches = topology.switches().len();
    let mut machine_of: Vec<Option<usize>> = vec![None; switches];
    for machine in 0..machines {
        let size = switches / machines + usize::from(machine < switches % machines);
        let mut links = vec![0_usize; switches];
        // Free switches next to the part, those with most links into it first, then in their own
        // order.
        let mut near: BTreeSet<(Reverse<usize>, usize)> = BTreeSet::new();
        for _ in 0..size {
            let next = near.pop_first().map(|(_, at)| at);
            let next = next.or_else(|| machine_of.iter().position(Option::is_none));
            let Some(next) = next else { break };
            machine_of[next] = Some(machine);
            let id = SwitchId::new(u32::try_from(next).unwrap_or(u32::MAX));
            for (_, peer) in topology.peers(id) {
                if let NodeId::Switch(other) = peer.end.node
                    && machine_of[other.index()].is_none()
                {
                    let other = other.index();
                    near.remove(&(Reverse(links[other]), other));
                    links[other] += 1;
                    near.insert((Reverse(links[other]), other));
                }
            }
        }
    }
    machine_of
        .into_iter()
        .map(Option::unwrap_or_default)
        .collect()
}
