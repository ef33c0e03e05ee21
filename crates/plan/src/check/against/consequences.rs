//! What other cables mean for entries, tag rules and headroom, port by port.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use quantities::{Bytes, PortId};
use serde::Serialize;
use topology::routes::forwarding::{ForwardAction, Routing, SwitchForwarding};
use topology::{NodeId, SwitchId, Topology};

use super::peer;
use crate::budget::headroom;
use crate::check::forward::Flattened;
use crate::model::Tables;
use crate::tag::Tag;

/// Names of destinations in a report.
const NAMED: usize = 8;

/// A port of a switch, and what it leads to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PortPeer {
    /// The switch.
    pub switch: String,
    /// The port.
    pub port: PortId,
    /// What the switch calls it, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
    /// The node that the port leads to in the plan; nothing if it has no cable there.
    pub planned: Option<String>,
    /// The node that it leads to on this network; nothing if it has no cable, or one to a node
    /// that the plan does not have.
    pub actual: Option<String>,
}

impl fmt::Display for PortPeer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.switch)?;
        match &self.interface {
            Some(name) => f.write_str(name)?,
            None => write!(f, "port {}", self.port)?,
        }
        let name = |node: &Option<String>| node.clone().unwrap_or_else(|| "nothing".to_owned());
        let (planned, actual) = (name(&self.planned), name(&self.actual));
        write!(f, " leads to {actual}, not to {planned}")
    }
}

/// Forwarding entries of a switch that send packets by a port which leads elsewhere than planned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MisledEntries {
    /// The port.
    #[serde(flatten)]
    pub port: PortPeer,
    /// How many entries have the port among their next hops.
    pub entries: u64,
    /// How many hosts these entries are for.
    pub destinations: u64,
    /// The first of these hosts.
    pub first: Vec<String>,
}

impl fmt::Display for MisledEntries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hosts = self.first.join(", ");
        let more = if self.destinations as usize > self.first.len() {
            ", ..."
        } else {
            ""
        };
        write!(
            f,
            "{}: {} entries for {} hosts ({hosts}{more})",
            self.port, self.entries, self.destinations
        )
    }
}

/// Tag rules of a switch for ports that lead elsewhere than planned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MisledRules {
    /// The switch.
    pub switch: String,
    /// The ports.
    pub ports: Vec<PortId>,
    /// How many rules match packets that come in or leave by one of them.
    pub rules: u64,
    /// Those of the ports that lead in another direction: to a host, up, down, or nowhere.
    pub turned: Vec<PortId>,
}

impl fmt::Display for MisledRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |ports: &[PortId]| {
            let ports: Vec<String> = ports.iter().map(ToString::to_string).collect();
            ports.join(", ")
        };
        let (rules, ports) = (self.rules, list(&self.ports));
        write!(f, "{}: {rules} rules match ports {ports}", self.switch)?;
        match self.turned[..] {
            [] => f.write_str(", which lead in the same direction as planned"),
            _ => write!(f, "; {} lead in another direction", list(&self.turned)),
        }
    }
}

/// A port that needs more headroom than the plan gives it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ShortHeadroom {
    /// The switch.
    pub switch: String,
    /// The port.
    pub port: PortId,
    /// What the switch calls it, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
    /// Headroom of one priority as planned.
    pub planned: Bytes,
    /// Headroom of one priority at the rate and the length of the cable that is there.
    pub needed: Bytes,
}

impl fmt::Display for ShortHeadroom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let port = match &self.interface {
            Some(name) => name.clone(),
            None => format!("port {}", self.port),
        };
        let (switch, planned, needed) = (&self.switch, self.planned, self.needed);
        write!(
            f,
            "headroom of {switch} {port} is {planned} bytes for each priority, but its cable needs {needed}"
        )
    }
}

/// Entries that have no live next hop in the state of the network, until routing has converged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stranded {
    /// How many entries, over all switches.
    pub entries: u64,
    /// The switches that have some.
    pub switches: Vec<String>,
}

/// All of it.
pub(super) struct Consequences {
    pub(super) entries: Vec<MisledEntries>,
    pub(super) tag_rules: Vec<MisledRules>,
    pub(super) headroom: Vec<ShortHeadroom>,
    pub(super) stranded: Option<Stranded>,
}

/// What the cables of `on` mean for the tables of a plan. `built` is the plan in the state of the
/// network.
pub(super) fn of(plan: &Tables, built: &Tables, on: &Tables) -> Consequences {
    let changed = changed_ports(&built.topology, &on.topology);
    let entries = match (plan.failover.is_none(), built.routing()) {
        (true, Ok(routing)) if !changed.is_empty() => misled(built, on, &routing, &changed),
        _ => Vec::new(),
    };
    Consequences {
        entries,
        tag_rules: misled_rules(plan, on, &changed),
        headroom: short(plan, on),
        stranded: stranded(plan, &built.topology),
    }
}

/// By switch: its ports that lead to another node than planned.
type Changed = BTreeMap<SwitchId, BTreeSet<PortId>>;

fn changed_ports(planned: &Topology, real: &Topology) -> Changed {
    let mut changed = Changed::new();
    for switch in planned.switch_ids() {
        let ports = (0..=planned.switch(switch).ports).map(PortId::new);
        let other = ports.filter(|port| peer(planned, switch, *port) != peer(real, switch, *port));
        let other: BTreeSet<PortId> = other.collect();
        if !other.is_empty() {
            changed.insert(switch, other);
        }
    }
    changed
}

fn port_peer(planned: &Topology, real: &Topology, switch: SwitchId, port: PortId) -> PortPeer {
    let name = |topology: &Topology| {
        let node = peer(topology, switch, port)?;
        Some(topology.node_name(node).to_owned())
    };
    PortPeer {
        switch: planned.switch(switch).name.clone(),
        port,
        interface: planned.interface(switch, port).map(str::to_owned),
        planned: name(planned),
        actual: name(real),
    }
}

/// Whether an entry sends by a port.
fn sends(table: &SwitchForwarding, action: ForwardAction, port: PortId) -> bool {
    let ForwardAction::Group(group) = action else {
        return false;
    };
    let hops = table.groups.get(group).unwrap_or_default();
    hops.iter().any(|hop| hop.port == port)
}

/// The actions of all entries of a switch.
fn actions(table: &SwitchForwarding) -> impl Iterator<Item = ForwardAction> + '_ {
    let v4 = table.ipv4.iter().map(|(_, action)| *action);
    v4.chain(table.ipv6.iter().map(|(_, action)| *action))
}

fn misled(
    built: &Tables,
    on: &Tables,
    routing: &Routing<'_>,
    changed: &Changed,
) -> Vec<MisledEntries> {
    let flattened = Flattened::new(&built.topology, routing);
    let mut found = Vec::new();
    for (&switch, ports) in changed {
        let hosts = flattened.hosts_by_port(&built.topology, switch, ports);
        let table = routing.table(switch);
        for (&port, hosts) in &hosts {
            let entries = actions(&table).filter(|action| sends(&table, *action, port));
            let first = hosts.iter().take(NAMED);
            found.push(MisledEntries {
                port: port_peer(&built.topology, &on.topology, switch, port),
                entries: entries.count() as u64,
                destinations: hosts.len() as u64,
                first: first
                    .map(|host| built.topology.host(*host).name.clone())
                    .collect(),
            });
        }
    }
    found
}

/// Where a port leads, seen from the hosts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Nowhere,
    Host,
    Up,
    Down,
    /// Between switches without layers, or of the same layer.
    Level,
}

fn direction(topology: &Topology, switch: SwitchId, port: PortId) -> Direction {
    match peer(topology, switch, port) {
        None => Direction::Nowhere,
        Some(NodeId::Host(_)) => Direction::Host,
        Some(NodeId::Switch(far)) => {
            match topology
                .switch(far)
                .layer
                .cmp(&topology.switch(switch).layer)
            {
                std::cmp::Ordering::Greater => Direction::Up,
                std::cmp::Ordering::Less => Direction::Down,
                std::cmp::Ordering::Equal => Direction::Level,
            }
        }
    }
}

fn misled_rules(plan: &Tables, on: &Tables, changed: &Changed) -> Vec<MisledRules> {
    let (planned, real) = (&plan.topology, &on.topology);
    let of_switch = |(&switch, ports): (&SwitchId, &BTreeSet<PortId>)| {
        let rules = plan.tagging.rules.get(switch.index())?;
        let matches = |port: &PortId| {
            let rule = |rule: &crate::model::TagRule| {
                rule.in_ports.contains(*port) || rule.out_ports.contains(*port)
            };
            rules.iter().filter(|r| rule(r)).count()
        };
        let ports: Vec<PortId> = ports
            .iter()
            .copied()
            .filter(|port| matches(port) > 0)
            .collect();
        let any = rules.iter().filter(|rule| {
            let contains =
                |port: &PortId| rule.in_ports.contains(*port) || rule.out_ports.contains(*port);
            ports.iter().any(contains)
        });
        let turned = ports.iter().copied();
        let turned = turned
            .filter(|port| direction(planned, switch, *port) != direction(real, switch, *port));
        Some(MisledRules {
            switch: planned.switch(switch).name.clone(),
            rules: any.count() as u64,
            turned: turned.collect(),
            ports,
        })
        .filter(|found| found.rules > 0)
    };
    changed.iter().filter_map(of_switch).collect()
}

/// Ports whose cable needs more headroom than planned, if lossless packets may come in there.
fn short(plan: &Tables, on: &Tables) -> Vec<ShortHeadroom> {
    let mut found = Vec::new();
    if !plan.has_tags() {
        return found;
    }
    let mtu = plan.budget.mtu;
    let need = |topology: &Topology, switch, port| {
        let link = topology.link(topology.peer(switch, port)?.link);
        Some(headroom(link.rate, link.length, mtu))
    };
    for switch in on.topology.switch_ids() {
        let rules = plan.tagging.rules.get(switch.index());
        let rules = rules.map_or(&[][..], Vec::as_slice);
        for (port, _) in on.topology.peers(switch) {
            let planned = need(&plan.topology, switch, port);
            let comes: BTreeSet<Tag> = rules
                .iter()
                .filter(|rule| rule.in_ports.contains(port))
                .map(|rule| rule.tag)
                .collect();
            let planned = match planned {
                None if comes.is_empty() => continue,
                planned => planned.unwrap_or_default(),
            };
            if let Some(needed) = need(&on.topology, switch, port)
                && needed > planned
            {
                found.push(ShortHeadroom {
                    switch: plan.topology.switch(switch).name.clone(),
                    port,
                    interface: plan.topology.interface(switch, port).map(str::to_owned),
                    planned,
                    needed,
                });
            }
        }
    }
    found
}

/// Entries made for the plan's own network all of whose next hops are down in another state of it.
fn stranded(plan: &Tables, state: &Topology) -> Option<Stranded> {
    let own = &plan.topology;
    let down = |topology: &Topology, switch, port| {
        let peer = topology.peer(switch, port);
        peer.is_some_and(|peer| !topology.is_live(peer.link))
    };
    let fell: Vec<SwitchId> = own
        .switch_ids()
        .filter(|id| {
            let mut ports = own.peers(*id);
            ports.any(|(port, _)| down(state, *id, port) && !down(own, *id, port))
        })
        .collect();
    if fell.is_empty() || plan.failover.is_some() {
        return None;
    }
    let routing = plan.routing().ok()?;
    let mut stranded = Stranded {
        entries: 0,
        switches: Vec::new(),
    };
    for switch in fell {
        if !state.switch(switch).up {
            continue;
        }
        let table = routing.table(switch);
        let lost = |action: &ForwardAction| {
            let ForwardAction::Group(group) = action else {
                return false;
            };
            let hops = table.groups.get(*group).unwrap_or_default();
            hops.iter().all(|hop| down(state, switch, hop.port))
        };
        let lost = actions(&table).filter(lost).count() as u64;
        if lost > 0 {
            stranded.entries += lost;
            stranded.switches.push(own.switch(switch).name.clone());
        }
    }
    Some(stranded).filter(|found| found.entries > 0)
}
