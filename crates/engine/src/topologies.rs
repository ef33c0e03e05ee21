//! Topologies: made or imported, and drawn.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use spec::TopologySpec;
use topology::import::{ImportOptions, import};
use topology::{Endpoint, NodeId, Role, SwitchId, Topology};

use crate::limits::{MAX_HOSTS, MAX_LINKS, MAX_SWITCHES, Trust};
use crate::request::{Given, TopologyRequest};
use crate::{Refusal, value};

/// The topology of a request.
///
/// # Errors
/// The generator or importer refuses it, or it is too large.
pub(crate) fn make(given: &Given, trust: Trust) -> Result<(Topology, Vec<String>), Refusal> {
    let made = match given {
        Given::Make { topology, cables } => {
            affordable(topology, trust)?;
            (
                topology.generate(cables).map_err(Refusal::wrong)?,
                Vec::new(),
            )
        }
        Given::Text {
            text,
            hosts_per_node,
            name,
            mend,
        } => {
            let usual = ImportOptions::default();
            let options = ImportOptions {
                hosts_per_node: *hosts_per_node,
                name: name.clone().unwrap_or(usual.name),
                ..ImportOptions::default()
            };
            trust.at_most("hosts at every node", 1_000, *hosts_per_node)?;
            let imported = import(text, &options).map_err(Refusal::wrong)?;
            let notes = imported.notes;
            (mended(&imported.topology, mend)?, notes)
        }
    };
    small_enough(&made.0, trust)?;
    Ok(made)
}

/// A topology with the links and switches of these names up.
fn mended(topology: &Topology, names: &[String]) -> Result<Topology, Refusal> {
    let (mut links, mut switches) = (Vec::new(), Vec::new());
    for name in names {
        match topology.switch_named(name) {
            Ok(switch) => switches.push(switch),
            Err(_) => links.push(topology.link_named(name).map_err(Refusal::wrong)?),
        }
    }
    Ok(topology.with_mended(&links, &switches))
}

/// Refuses a topology that is too large.
pub(crate) fn small_enough(topology: &Topology, trust: Trust) -> Result<(), Refusal> {
    let switches = topology.switches().len();
    trust.at_most("the number of switches", MAX_SWITCHES, switches)?;
    trust.at_most("the number of hosts", MAX_HOSTS, topology.hosts().len())?;
    trust.at_most("the number of links", MAX_LINKS, topology.links().len())
}

/// Refuses what would be too large before it is made.
fn affordable(spec: &TopologySpec, trust: Trust) -> Result<(), Refusal> {
    let power = |n: u16, k: u32| u64::from(n).saturating_pow(k);
    let (switches, hosts) = match spec {
        TopologySpec::ThreeNode | TopologySpec::Drawn(_) => (0, 0),
        TopologySpec::Line(row) | TopologySpec::Ring(row) => {
            let switches = u64::from(row.switches);
            (switches, switches.saturating_mul(row.hosts.into()))
        }
        TopologySpec::Clos(clos) => {
            let pods = u64::from(clos.pods.unwrap_or(1));
            let each = u64::from(clos.leaves) + u64::from(clos.aggregations.unwrap_or(0));
            let leaves = pods.saturating_mul(clos.leaves.into());
            let switches = pods.saturating_mul(each).saturating_add(clos.spines.into());
            (switches, leaves.saturating_mul(clos.hosts.into()))
        }
        TopologySpec::FatTree(tree) => {
            (power(tree.k, 2).saturating_mul(5) / 4, power(tree.k, 3) / 4)
        }
        TopologySpec::Bcube(cube) => {
            let servers = power(cube.n, u32::from(cube.k).saturating_add(1));
            (servers, servers)
        }
        // The fewest switches for so many hosts are no more than the hosts.
        TopologySpec::Egft(tree) => (0, tree.hosts.into()),
        TopologySpec::Jellyfish(fish) => (
            fish.switches.unwrap_or(0).into(),
            fish.hosts.unwrap_or(0).into(),
        ),
        TopologySpec::FlattenedClos(clos) => (clos.switches.into(), 0),
        TopologySpec::Xpander(xpander) => (xpander.switches.into(), 0),
    };
    trust.at_most("the number of switches", MAX_SWITCHES, switches)?;
    trust.at_most("the number of hosts", MAX_HOSTS, hosts)
}

/// Answers `draw`.
pub(crate) fn draw(asked: &TopologyRequest, trust: Trust) -> Result<Value, Refusal> {
    let (topology, _) = make(&asked.topology, trust)?;
    Ok(json!({ "svg": topology.to_svg() }))
}

/// Answers `summary`: counts, degrees, distances.
pub(crate) fn summary(asked: &TopologyRequest, trust: Trust) -> Result<Value, Refusal> {
    let (topology, _) = make(&asked.topology, trust)?;
    value(topology.summary())
}

/// Answers `topology`.
pub(crate) fn topology(asked: &TopologyRequest, trust: Trust) -> Result<Value, Refusal> {
    let (topology, notes) = make(&asked.topology, trust)?;
    let mut view = view(&topology)?;
    view["notes"] = value(notes)?;
    view["file"] = value(topology.to_json())?;
    Ok(view)
}

/// By switch, the number of its pod: what hangs together below the highest layer, where that is
/// more than one part of several switches.
fn pods(topology: &Topology) -> Vec<Option<usize>> {
    let count = topology.switches().len();
    let top = topology.switches().iter().filter_map(|s| s.layer).max();
    let Some(top) = top.filter(|_| topology.is_layered()) else {
        return vec![None; count];
    };
    let below = |id: SwitchId| topology.switch(id).layer.is_some_and(|layer| layer < top);
    let mut pods: Vec<Option<usize>> = vec![None; count];
    let mut sizes: Vec<usize> = Vec::new();
    for start in topology.switch_ids() {
        if !below(start) || pods[start.index()].is_some() {
            continue;
        }
        let number = sizes.len();
        sizes.push(0);
        let mut open = vec![start];
        pods[start.index()] = Some(number);
        while let Some(at) = open.pop() {
            sizes[number] += 1;
            for (_, peer) in topology.peers(at) {
                let NodeId::Switch(next) = peer.end.node else {
                    continue;
                };
                if below(next) && pods[next.index()].is_none() {
                    pods[next.index()] = Some(number);
                    open.push(next);
                }
            }
        }
    }
    match sizes.len() > 1 && sizes.iter().all(|&size| size > 1) {
        true => pods,
        false => vec![None; count],
    }
}

/// A topology as a page draws it. Nodes are named by number in the lists.
pub(crate) fn view(topology: &Topology) -> Result<Value, Refusal> {
    let places = topology.positions();
    let round = |at: f64| (at * 10.0).round() / 10.0;
    let switches = topology.switches().iter().zip(&places.switches);
    let pods = pods(topology);
    let switches: Vec<Value> = switches
        .zip(&pods)
        .map(|((switch, (x, y)), pod)| {
            json!({
                "pod": pod, "name": switch.name, "ports": switch.ports, "layer": switch.layer, "up": switch.up,
                "server": switch.role == Role::Server, "x": round(*x), "y": round(*y),
            })
        })
        .collect();
    let hosts = topology.host_ids().zip(&places.hosts);
    let hosts: Vec<Value> = hosts
        .map(|(id, at)| {
            let host = topology.host(id);
            let uplink = topology.uplinks(id).first().map(|(_, peer)| peer.end.node);
            let switch = match uplink {
                Some(NodeId::Switch(switch)) => Some(switch.index()),
                _ => None,
            };
            json!({
                "name": host.name, "ipv4": host.ipv4.to_string(), "switch": switch,
                "at": at.map(|(x, y)| [round(x), round(y)]),
            })
        })
        .collect();
    let end = |end: Endpoint| match end.node {
        NodeId::Switch(id) => json!({ "switch": id.index(), "port": end.port }),
        NodeId::Host(id) => json!({ "host": id.index(), "port": end.port }),
    };
    let mut pairs: BTreeMap<[NodeId; 2], usize> = BTreeMap::new();
    let pair = |id| {
        let link = topology.link(id);
        [link.a.node, link.b.node]
    };
    let sorted = |id| {
        let mut ends = pair(id);
        ends.sort_unstable();
        ends
    };
    for id in topology.link_ids() {
        *pairs.entry(sorted(id)).or_default() += 1;
    }
    let name = |id| match pairs.get(&sorted(id)) {
        // As `--fail` takes it: without ports where the ends say which.
        Some(1) => pair(id).map(|node| topology.node_name(node)).join("-"),
        _ => topology.link_name(id),
    };
    let links: Vec<Value> = topology
        .link_ids()
        .map(|id| {
            let link = topology.link(id);
            json!({
                "name": name(id), "a": end(link.a), "b": end(link.b),
                "gbps": link.rate.get() as f64 / 1e9, "up": topology.is_live(id),
            })
        })
        .collect();
    Ok(json!({
        "name": topology.name(), "width": round(places.width), "height": round(places.height),
        "layered": topology.is_layered(),
        "switches": switches, "hosts": hosts, "links": links,
    }))
}
