//! What can be seen at a cable: PFC at both ends, headroom.

use std::collections::BTreeSet;

use plan::headroom;
use quantities::PortId;
use topology::{NodeId, Peer, SwitchId};

use super::{Finding, FindingKind, View};
use crate::interfaces::interface;
use crate::tables::{ConfigDb, MapKind};

pub(super) fn findings(view: &View<'_>) -> Vec<Finding> {
    let topology = view.fabric.topology;
    let mut findings = Vec::new();
    for switch in topology.switch_ids() {
        for (port, peer) in topology.peers(switch) {
            findings.extend(maps(view, switch, port));
            findings.extend(both_ends(view, switch, port, peer));
            findings.extend(room(view, switch, port, peer));
        }
    }
    findings
}

fn config<'a>(view: &'a View<'_>, switch: SwitchId) -> &'a ConfigDb {
    &view.fabric.configs[switch.index()]
}

/// The priorities with PFC of a port.
fn enabled(view: &View<'_>, switch: SwitchId, port: PortId) -> BTreeSet<u8> {
    let name = interface(view.fabric.topology, switch, port);
    let row = config(view, switch).port_qos.get(&name);
    row.map(|row| row.pfc_enable.clone()).unwrap_or_default()
}

/// A port that leads to a switch and is bound to nothing, on a switch where others are.
fn maps(view: &View<'_>, switch: SwitchId, port: PortId) -> Option<Finding> {
    let config = config(view, switch);
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
    let (here, there) = (
        enabled(view, switch, port),
        enabled(view, far, peer.end.port),
    );
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

/// Headroom of every priority with PFC (TaggerDraft section 3.3). What the switch computes itself (`NULL`) is taken for granted.
fn room(view: &View<'_>, switch: SwitchId, port: PortId, peer: Peer) -> Vec<Finding> {
    let topology = view.fabric.topology;
    let config = config(view, switch);
    let name = interface(topology, switch, port);
    let link = topology.link(peer.link);
    let need = headroom(link.rate, link.length, view.fabric.mtu).get();
    let mut findings = Vec::new();
    for priority in enabled(view, switch, port) {
        let mapped = config.map_of(MapKind::PfcToPriorityGroup, &name);
        let group = mapped.and_then(|map| map.get(&priority).copied());
        let group = group.unwrap_or(priority);
        let row = config.priority_groups.get(&(name.clone(), group));
        let problem = match row {
            Some(None) => continue,
            None => format!("priority group {group} has PFC and no row in BUFFER_PG"),
            Some(Some(profile)) => {
                let xoff = config.profiles.get(profile).and_then(|row| row.xoff);
                match xoff {
                    None => format!(
                        "priority group {group} has PFC, and its profile `{profile}` no headroom (`xoff`)"
                    ),
                    Some(xoff) if xoff < need => format!(
                        "priority group {group} has {xoff} bytes of headroom (profile `{profile}`); {} Mb/s over {} m \
                         with frames of {} bytes want {need}",
                        link.rate.get() / 1_000_000,
                        link.length,
                        view.fabric.mtu
                    ),
                    Some(_) => continue,
                }
            }
        };
        findings.push(Finding {
            kind: FindingKind::Headroom,
            place: view.name(switch, port),
            problem,
        });
    }
    findings
}
