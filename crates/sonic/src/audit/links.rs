//! What can be seen at a cable: PFC at both ends.

use std::collections::BTreeSet;

use quantities::PortId;
use topology::{NodeId, Peer, SwitchId};

use super::{Finding, FindingKind, View};
use crate::interfaces::interface;

pub(super) fn findings(view: &View<'_>) -> Vec<Finding> {
    let topology = view.fabric.topology;
    let mut findings = Vec::new();
    for switch in topology.switch_ids() {
        for (port, peer) in topology.peers(switch) {
            findings.extend(maps(view, switch, port));
            findings.extend(both_ends(view, switch, port, peer));
        }
    }
    findings
}

/// A port that leads to a switch and is bound to nothing, on a switch where others are.
fn maps(view: &View<'_>, switch: SwitchId, port: PortId) -> Option<Finding> {
    let config = view.config(switch);
    let name = interface(view.fabric.topology, switch, port);
    let bare = !config.port_qos.is_empty() && !config.port_qos.contains_key(&name);
    bare.then(|| Finding {
        kind: FindingKind::NoMaps,
        place: view.name(switch, port),
        problem: "other ports of the switch have a row in PORT_QOS_MAP, this one has none"
            .to_owned(),
    })
}

fn both_ends(view: &View<'_>, switch: SwitchId, port: PortId, peer: Peer) -> Option<Finding> {
    let NodeId::Switch(far) = peer.end.node else {
        return None;
    };
    // A cable is told once.
    if (far, peer.end.port) < (switch, port) {
        return None;
    }
    let (here, there) = (view.enabled(switch, port), view.enabled(far, peer.end.port));
    if here == there {
        return None;
    }
    let kind = match here.is_empty() || there.is_empty() {
        true => FindingKind::PfcOneEnd,
        false => FindingKind::PfcPriorities,
    };
    Some(Finding {
        kind,
        place: view.name(switch, port),
        problem: format!(
            "PFC for {} here, for {} at {}",
            list(&here),
            list(&there),
            view.name(far, peer.end.port)
        ),
    })
}

fn list(priorities: &BTreeSet<u8>) -> String {
    let all: Vec<String> = priorities.iter().map(u8::to_string).collect();
    match all.is_empty() {
        true => "no priority".to_owned(),
        false => all.join(", "),
    }
}
