//! Tagging by turns: whether a packet's tag rises depends on its ingress and egress port alone, not
//! on the tag. Such rules are written once per switch as port sets and serve any number of classes.

use plan::{PortSet, Tag};
use quantities::PortId;
use topology::routes::RoutePolicy;
use topology::{Distances, Fabric, NodeId, SwitchId, Topology, UNREACHABLE};

use super::Tagged;
use super::classes::{ClassPlan, spell_out};
use super::error::SchemeError;
use super::options::TaggerOptions;
use super::turn::Turn;

/// Tagger17 numbers the tags of a Clos from 1.
const FIRST_CLOS_TAG: Tag = Tag::new(1);

/// Tagger for layered topologies (Tagger17): a packet rises by one tag whenever it comes from a
/// higher layer and leaves for a higher layer again. `k` bounces take `k + 1` tags, which is
/// optimal, and with port sets two rules per tag and switch.
pub(super) fn clos(topology: &Topology, options: &TaggerOptions) -> Result<Tagged, SchemeError> {
    if let Some(switch) = topology.unlayered_switch() {
        return Err(SchemeError::NotLayered {
            switch: topology.switch(switch).name.clone(),
        });
    }
    let bounces = match &options.routes {
        None => options.bounces,
        Some(RoutePolicy::UpDown { bounces }) => *bounces,
        Some(other) => {
            return Err(SchemeError::Routes {
                algorithm: "clos",
                expected: "up-down routes",
                given: other.to_string(),
            });
        }
    };
    let layer = |switch: SwitchId| topology.switch(switch).layer;
    tag_turns(topology, options, FIRST_CLOS_TAG, bounces, |switch| {
        let plugged: PortSet = topology.peers(switch).map(|(port, _)| port).collect();
        let up: PortSet = ports_to(topology, switch, |peer| layer(peer) > layer(switch));
        let mut turns = vec![Turn {
            precedence: 0,
            in_ports: plugged.clone(),
            out_ports: plugged,
            rises: false,
        }];
        if !up.is_empty() {
            turns.push(Turn {
                precedence: 1,
                in_ports: up.clone(),
                out_ports: up,
                rises: true,
            });
        }
        turns
    })
}

/// TTL tagging: a packet rises on every link between switches. On its way to a host it keeps its
/// tag.
pub(super) fn ttl(
    topology: &Topology,
    hops: u8,
    options: &TaggerOptions,
) -> Result<Tagged, SchemeError> {
    let rises = hops.max(1) - 1;
    tag_turns(topology, options, Tag::new(0), rises, |switch| {
        let plugged: PortSet = topology.peers(switch).map(|(port, _)| port).collect();
        let fabric = ports_to(topology, switch, |_| true);
        let hosts: PortSet = plugged.iter().filter(|p| !fabric.contains(*p)).collect();
        let turn = |out_ports, rises| Turn {
            precedence: 0,
            in_ports: plugged.clone(),
            out_ports,
            rises,
        };
        let turns = [turn(hosts, false), turn(fabric, true)];
        let used = turns.into_iter().filter(|turn| !turn.out_ports.is_empty());
        used.collect()
    })
}

/// How many switches the longest shortest path between hosts passes.
pub(super) fn longest_shortest_path(topology: &Topology) -> Result<u8, SchemeError> {
    let fabric = Fabric::new(topology);
    let edge: Vec<SwitchId> = fabric.edge_switches().collect();
    let distances = Distances::new(&fabric, &edge);
    let distances = &distances;
    let hops = |row| edge.iter().map(move |s| distances.row(row)[s.index()]);
    let finite = (0..edge.len()).flat_map(hops).filter(|h| *h != UNREACHABLE);
    let switches = usize::from(finite.max().unwrap_or(0)) + 1;
    u8::try_from(switches).map_err(|_| SchemeError::TooManyTags {
        needed: switches,
        most: usize::from(u8::MAX),
    })
}

/// The ports that lead to switches of a kind.
fn ports_to(topology: &Topology, switch: SwitchId, kind: impl Fn(SwitchId) -> bool) -> PortSet {
    let ports = topology.peers(switch).filter_map(|(port, peer)| {
        let wanted = matches!(peer.end.node, NodeId::Switch(other) if kind(other));
        wanted.then_some::<PortId>(port)
    });
    ports.collect()
}

/// Spells the same turns out for all tags and classes.
pub(super) fn tag_turns(
    topology: &Topology,
    options: &TaggerOptions,
    first: Tag,
    rises: u8,
    turns: impl Fn(SwitchId) -> Vec<Turn>,
) -> Result<Tagged, SchemeError> {
    let (tags, classes) = ClassPlan::new(options).allot(first, rises)?;
    let rules = topology
        .switch_ids()
        .map(|switch| spell_out(&turns(switch), &tags, &classes))
        .collect();
    Ok(Tagged {
        tags,
        classes,
        rules,
    })
}
