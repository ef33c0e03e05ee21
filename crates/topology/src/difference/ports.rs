//! Which port of the second network is which of the first.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use foldhash::fast::RandomState;
use quantities::PortId;

use super::item::{End, NodeKind};
use super::nodes::Nodes;
use crate::ids::{HostId, LinkId, NodeId, SwitchId};
use crate::model::{Endpoint, Topology};

/// A port of either network. Ports that match are the same slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Slot {
    /// The node's number in the first network; after those, the nodes that only the second has.
    pub(super) node: usize,
    /// The port's number in the first network; [`ONLY_B`] and the number, if only the second has
    /// the port.
    pub(super) port: u32,
}

/// Ports from here on are ports that only the second network has.
const ONLY_B: u32 = 1 << 16;

/// The slots of both networks.
#[derive(Debug)]
pub(super) struct Slots {
    /// By link of the first network: its slots.
    pub(super) of_a: Vec<[Slot; 2]>,
    /// By link of the second network: its slots.
    pub(super) of_b: Vec<[Slot; 2]>,
    /// Where a slot is in the second network, and its link there.
    ends_b: HashMap<Slot, (Endpoint, LinkId), RandomState>,
    /// The link of the first network at a slot.
    links_a: HashMap<Slot, LinkId, RandomState>,
    /// By switch of the first network: its ports by number of its partner's.
    maps: Vec<PortMap>,
}

/// The ports of a switch of the second network as its partner in the first numbers them.
#[derive(Debug, Default)]
struct PortMap {
    /// Ports whose number differs; nothing for those that the first network does not have.
    other: BTreeMap<PortId, Option<PortId>>,
}

impl PortMap {
    /// By interface names, if both switches have some in common; else by numbers.
    fn new(a: &BTreeMap<PortId, String>, b: &BTreeMap<PortId, String>, b_ports: u16) -> Self {
        let by_name: BTreeMap<&str, PortId> = a
            .iter()
            .map(|(port, name)| (name.as_str(), *port))
            .collect();
        let shared = b.values().any(|name| by_name.contains_key(name.as_str()));
        if !shared {
            return Self::default();
        }
        let mut other = BTreeMap::new();
        let mut taken: BTreeSet<PortId> = a.keys().copied().collect();
        for (port, name) in b {
            let same = by_name.get(name.as_str()).copied();
            if same != Some(*port) {
                other.insert(*port, same);
            }
        }
        // Ports without a name keep their number, unless that is a named port's.
        for port in (0..=b_ports).map(PortId::new) {
            if !b.contains_key(&port) && !taken.insert(port) {
                other.insert(port, None);
            }
        }
        Self { other }
    }

    fn slot_port(&self, port: PortId) -> u32 {
        match self.other.get(&port) {
            None => port.get().into(),
            Some(Some(port)) => port.get().into(),
            Some(None) => ONLY_B + u32::from(port.get()),
        }
    }
}

impl Slots {
    pub(super) fn new(a: &Topology, b: &Topology, nodes: &Nodes) -> Self {
        let map = |id| {
            nodes.switch_of(id).map_or_else(PortMap::default, |other| {
                let (own, other) = (a.switch(id), b.switch(other));
                PortMap::new(&own.interfaces, &other.interfaces, other.ports)
            })
        };
        let mut slots = Self {
            of_a: Vec::with_capacity(a.links().len()),
            of_b: Vec::with_capacity(b.links().len()),
            links_a: HashMap::default(),
            ends_b: HashMap::default(),
            maps: a.switch_ids().map(map).collect(),
        };
        slots.place_a(a, nodes);
        slots.place_b(b, nodes);
        slots
    }

    fn place_a(&mut self, a: &Topology, nodes: &Nodes) {
        for (id, link) in a.link_ids().zip(a.links()) {
            let slot = |end: Endpoint| Slot {
                node: nodes.number_a(end.node),
                port: end.port.get().into(),
            };
            let pair = [slot(link.a), slot(link.b)];
            self.of_a.push(pair);
            self.links_a.extend(pair.map(|slot| (slot, id)));
        }
    }

    fn place_b(&mut self, b: &Topology, nodes: &Nodes) {
        let mut plugs = Plugs::default();
        // Ports of hosts come second: which of them is which depends on where they lead.
        for link in b.links() {
            for (near, far) in [(link.a, link.b), (link.b, link.a)] {
                if self.is_plug(near, nodes) {
                    let far = (!self.is_plug(far, nodes)).then(|| self.slot_b(far, nodes));
                    plugs.add(near, far);
                }
            }
        }
        let plugged = plugs.assign(nodes, &self.links_a, &self.of_a);
        for (id, link) in b.link_ids().zip(b.links()) {
            let slot = |end: Endpoint| {
                let known = plugged.get(&end).copied();
                known.unwrap_or_else(|| self.slot_b(end, nodes))
            };
            let pair = [slot(link.a), slot(link.b)];
            self.of_b.push(pair);
            for (slot, end) in pair.into_iter().zip([link.a, link.b]) {
                self.ends_b.insert(slot, (end, id));
            }
        }
    }

    /// Whether a port of the second network has no number that sources agree on: it is a host's, or
    /// of a node that is a host in the first network.
    fn is_plug(&self, end: Endpoint, nodes: &Nodes) -> bool {
        matches!(end.node, NodeId::Host(_))
            || matches!(nodes.partner_of_b(end.node), Some(NodeId::Host(_)))
    }

    /// The slot of a port of a switch of the second network.
    fn slot_b(&self, end: Endpoint, nodes: &Nodes) -> Slot {
        match nodes.partner_of_b(end.node) {
            Some(partner) => {
                let port = match partner {
                    NodeId::Switch(switch) => self.maps[switch.index()].slot_port(end.port),
                    NodeId::Host(_) => end.port.get().into(),
                };
                let node = nodes.number_a(partner);
                Slot { node, port }
            }
            None => Slot {
                node: nodes.of_a.len() + nodes.number_b(end.node),
                port: ONLY_B + u32::from(end.port.get()),
            },
        }
    }

    /// The link of the first network at a slot.
    pub(super) fn link_a(&self, slot: Slot) -> Option<LinkId> {
        self.links_a.get(&slot).copied()
    }

    /// Where a slot is in the second network.
    fn end_b(&self, slot: Slot) -> Option<Endpoint> {
        self.ends_b.get(&slot).map(|(end, _)| *end)
    }

    /// The link of the second network at a slot.
    pub(super) fn link_b(&self, slot: Slot) -> Option<LinkId> {
        self.ends_b.get(&slot).map(|(_, link)| *link)
    }

    /// A slot in words.
    pub(super) fn name(&self, slot: Slot, a: &Topology, b: &Topology) -> End {
        let (topology, node) = match node_at(a, slot.node) {
            Some(node) => (a, Some(node)),
            None => (b, node_at(b, slot.node - super::nodes::count(a))),
        };
        let number = slot.port.checked_sub(ONLY_B).unwrap_or(slot.port);
        let port = PortId::new(u16::try_from(number).unwrap_or(u16::MAX));
        let interface = |topology: &Topology, end: Endpoint| match end.node {
            NodeId::Switch(switch) => topology.interface(switch, end.port).map(str::to_owned),
            NodeId::Host(_) => None,
        };
        let own = node_at(a, slot.node).filter(|_| slot.port < ONLY_B);
        let own = own.and_then(|node| interface(a, Endpoint { node, port }));
        let other = || self.end_b(slot).and_then(|end| interface(b, end));
        End {
            kind: node.map_or(NodeKind::Switch, kind),
            node: node.map_or_else(String::new, |node| topology.node_name(node).to_owned()),
            port,
            interface: own.or_else(other),
        }
    }
}

/// The node of a number.
pub(super) fn node_at(topology: &Topology, number: usize) -> Option<NodeId> {
    let switches = topology.switches().len();
    let raw = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    match number.checked_sub(switches) {
        None => Some(NodeId::Switch(SwitchId::new(raw(number)))),
        Some(host) if host < topology.hosts().len() => Some(NodeId::Host(HostId::new(raw(host)))),
        Some(_) => None,
    }
}

/// What a node is.
pub(super) const fn kind(node: NodeId) -> NodeKind {
    match node {
        NodeId::Switch(_) => NodeKind::Switch,
        NodeId::Host(_) => NodeKind::Host,
    }
}

/// Ports of the second network whose numbers say nothing, by node.
#[derive(Default)]
struct Plugs {
    of_node: BTreeMap<NodeId, Vec<(Endpoint, Option<Slot>)>>,
}

impl Plugs {
    fn add(&mut self, near: Endpoint, far: Option<Slot>) {
        self.of_node.entry(near.node).or_default().push((near, far));
    }

    /// The slots of all of them: the port that leads to the same place in the first network; the
    /// others in the order of their numbers.
    fn assign(
        self,
        nodes: &Nodes,
        links_a: &HashMap<Slot, LinkId, RandomState>,
        slots_a: &[[Slot; 2]],
    ) -> BTreeMap<Endpoint, Slot> {
        let mut free: BTreeMap<usize, BTreeSet<Slot>> = BTreeMap::new();
        for slot in slots_a.iter().flatten() {
            free.entry(slot.node).or_default().insert(*slot);
        }
        let mut assigned = BTreeMap::new();
        for (node, mut ports) in self.of_node {
            ports.sort_unstable();
            let partner = nodes
                .partner_of_b(node)
                .map(|partner| nodes.number_a(partner));
            let own = nodes.of_a.len() + nodes.number_b(node);
            let mut none = BTreeSet::new();
            let free = match partner {
                Some(partner) => free.entry(partner).or_default(),
                None => &mut none,
            };
            let mut rest = Vec::new();
            for (end, far) in ports {
                let same = far.and_then(|far| {
                    let [x, y] = slots_a[links_a.get(&far)?.index()];
                    Some(if x == far { y } else { x })
                });
                match same.filter(|same| free.remove(same)) {
                    Some(same) => {
                        assigned.insert(end, same);
                    }
                    None => rest.push(end),
                }
            }
            for end in rest {
                let slot = free.pop_first().unwrap_or(Slot {
                    node: partner.unwrap_or(own),
                    port: ONLY_B + u32::from(end.port.get()),
                });
                assigned.insert(end, slot);
            }
        }
        assigned
    }
}
