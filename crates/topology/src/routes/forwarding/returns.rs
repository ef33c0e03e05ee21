//! What a switch does with packets that come back.

use quantities::PortId;

use super::NextHop;
use crate::{NodeId, SwitchId, Topology};

/// For every port of a group, the member by which a packet goes on that came in by that port.
///
/// Such a packet has come back: the switch behind the port has lost a link, and this switch does
/// not know it yet. The hash would choose the same member again. The neighbours of the group take
/// turns instead, so that a packet which comes back again and again tries all of them. Empty where
/// all members lead to one neighbour.
#[must_use]
pub fn after_return(
    topology: &Topology,
    switch: SwitchId,
    hops: &[NextHop],
) -> Vec<(PortId, NextHop)> {
    // The neighbours in the order of their first members, with their members.
    let mut turns: Vec<(NodeId, Vec<NextHop>)> = Vec::new();
    for hop in hops {
        let Some(peer) = topology.peer(switch, hop.port) else {
            continue;
        };
        match turns.iter_mut().find(|(node, _)| *node == peer.end.node) {
            Some((_, members)) => members.push(*hop),
            None => turns.push((peer.end.node, vec![*hop])),
        }
    }
    let mut all = Vec::new();
    if turns.len() > 1 {
        let after = turns.iter().cycle().skip(1);
        for ((_, members), (_, next)) in turns.iter().zip(after) {
            let onward = next.iter().cycle();
            all.extend(members.iter().map(|hop| hop.port).zip(onward.copied()));
        }
    }
    all
}
