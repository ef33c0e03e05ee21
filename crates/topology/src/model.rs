//! The topology graph: what the file format, the generators and every later stage share.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use foldhash::fast::RandomState;
use quantities::{BitRate, Bytes, Metres, PortId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::assumed::{AssumedOfLink, AssumedOfNetwork};
use super::error::{MAX_ENTITIES, TopologyError};
use super::ids::{HostId, LinkId, NodeId, SwitchId};
use super::prefix::Subnet;

/// What a switch stands for.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// A switch.
    #[default]
    Switch,
    /// The forwarding half of a server in a server-centric network (BCube); its host stands behind
    /// it.
    Server,
}

/// A switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Switch {
    /// Unique name, shared name space with hosts.
    pub name: String,
    /// Number of physical ports; links use ports `1..=ports` (port 0 where an importer found it).
    pub ports: u16,
    /// What it stands for.
    pub role: Role,
    /// Layer counted from the hosts (0 = top-of-rack / leaf) where the topology has layers.
    pub layer: Option<u8>,
    /// Pod or other grouping that drawings and addressing follow, where the topology has one.
    pub group: Option<u32>,
    /// The addresses of the hosts behind it, where they are a block of their own.
    pub subnet: Option<Subnet>,
    /// Packet buffer, where it is known (it bounds the lossless priorities: TaggerDraft section
    /// 3.3).
    pub buffer: Option<Bytes>,
    /// What the switch itself calls its ports, where it is known.
    pub interfaces: BTreeMap<PortId, String>,
    /// Administrative and operational state.
    pub up: bool,
}

impl Switch {
    /// A switch that is up, outside any layer, group and subnet, with a buffer of unknown size.
    #[must_use]
    pub fn new(name: impl Into<String>, ports: u16) -> Self {
        Self {
            name: name.into(),
            ports,
            role: Role::Switch,
            layer: None,
            group: None,
            subnet: None,
            buffer: None,
            interfaces: BTreeMap::new(),
            up: true,
        }
    }
}

/// A host (an end port of the network). A BCube server, which forwards, is a switch with a host
/// behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// Unique name, shared name space with switches.
    pub name: String,
    /// Ethernet address.
    pub mac: [u8; 6],
    /// IPv4 address.
    pub ipv4: Ipv4Addr,
    /// IPv6 address.
    pub ipv6: Ipv6Addr,
    /// What the host itself calls its ports, where it is known.
    pub interfaces: BTreeMap<PortId, String>,
}

/// One end of a link: a node and the port of that node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Endpoint {
    /// The node.
    pub node: NodeId,
    /// The port, as the node counts it.
    pub port: PortId,
}

/// A full-duplex link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// One end.
    pub a: Endpoint,
    /// The other end.
    pub b: Endpoint,
    /// Rate of each direction.
    pub rate: BitRate,
    /// Cable length (PFC headroom depends on it: TaggerDraft section 3.3).
    pub length: Metres,
    /// Whether the link carries traffic.
    pub up: bool,
    /// The virtual layers of its ends, where the network is a Flattened Clos.
    pub virtual_layers: Option<VirtualLayers>,
    /// The optical circuit switch or patch panel through which it runs, counted from 1, if it runs
    /// through one.
    pub ocs: Option<u32>,
    /// What of this nobody gave.
    pub assumed: AssumedOfLink,
}

/// The virtual layers that the two ends of a link belong to in a Flattened Clos, counted from 1
/// (FC23 section 3.1): every port between switches stands in one layer, and links join neighbouring
/// layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VirtualLayers {
    /// The layer of end `a`.
    pub a: u8,
    /// The layer of end `b`.
    pub b: u8,
}

/// What stands at the far end of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// The link that the port is plugged into.
    pub link: LinkId,
    /// The far end.
    pub end: Endpoint,
}

/// A validated topology. Build it with [`Topology::new`]; the adjacency is derived once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    name: String,
    switches: Vec<Switch>,
    hosts: Vec<Host>,
    links: Vec<Link>,
    /// `ports[s][p]` = what stands at port `p` of switch `s`.
    ports: Vec<Vec<Option<Peer>>>,
    /// `uplinks[h]` = the ports of host `h` with their peers, in port order.
    uplinks: Vec<Vec<(PortId, Peer)>>,
    /// Every node by its name.
    by_name: HashMap<String, NodeId, RandomState>,
    /// What whoever plans for it has to assume.
    assumed: AssumedOfNetwork,
}

impl Topology {
    /// Builds and validates a topology.
    ///
    /// # Errors
    /// Any [`TopologyError`].
    pub fn new(
        name: String,
        switches: Vec<Switch>,
        hosts: Vec<Host>,
        links: Vec<Link>,
    ) -> Result<Self, TopologyError> {
        for (count, what) in [
            (switches.len(), "switches"),
            (hosts.len(), "hosts"),
            (links.len(), "links"),
        ] {
            if count > MAX_ENTITIES {
                return Err(TopologyError::TooLarge(count, what));
            }
        }
        let mut topology = Self {
            name,
            ports: switches
                .iter()
                .map(|s| vec![None; usize::from(s.ports) + 1])
                .collect(),
            uplinks: vec![Vec::new(); hosts.len()],
            by_name: HashMap::default(),
            assumed: AssumedOfNetwork::default(),
            switches,
            hosts,
            links,
        };
        let (names, address) = rayon::join(|| topology.names(), || topology.shared_address());
        topology.by_name = names?;
        for id in topology.link_ids() {
            topology.check_link(id)?;
            let Link { a, b, .. } = *topology.link(id);
            topology.plug(a, Peer { link: id, end: b })?;
            topology.plug(b, Peer { link: id, end: a })?;
        }
        topology.check_interfaces()?;
        topology.check_hosts(address)?;
        topology.check_subnets()?;
        topology.check_connected()?;
        Ok(topology)
    }

    /// Every node by its name.
    fn names(&self) -> Result<HashMap<String, NodeId, RandomState>, TopologyError> {
        let count = self.switches.len() + self.hosts.len();
        let mut names = HashMap::with_capacity_and_hasher(count, RandomState::default());
        let switches = self.switch_ids().map(NodeId::Switch);
        for node in switches.chain(self.host_ids().map(NodeId::Host)) {
            let name = self.node_name(node).to_owned();
            let reserved = |c: char| c.is_whitespace() || c == ':' || c == ',';
            if name.is_empty() || name.contains(reserved) {
                return Err(TopologyError::BadName(name));
            }
            match names.entry(name) {
                Entry::Vacant(entry) => entry.insert(node),
                Entry::Occupied(entry) => {
                    return Err(TopologyError::DuplicateName(entry.key().clone()));
                }
            };
        }
        Ok(names)
    }

    /// The first address that two hosts have: the first of them, the second, and the address.
    fn shared_address(&self) -> Option<(HostId, HostId, IpAddr)> {
        let mut owners =
            HashMap::with_capacity_and_hasher(2 * self.hosts.len(), RandomState::default());
        self.host_ids().find_map(|id| {
            let host = self.host(id);
            let addresses = [IpAddr::V4(host.ipv4), IpAddr::V6(host.ipv6)];
            addresses
                .into_iter()
                .find_map(|address| Some((owners.insert(address, id)?, id, address)))
        })
    }

    /// The checks that concern one link alone.
    fn check_link(&self, id: LinkId) -> Result<(), TopologyError> {
        let link = self.link(id);
        for node in [link.a.node, link.b.node] {
            let known = match node {
                NodeId::Switch(s) => s.index() < self.switches.len(),
                NodeId::Host(h) => h.index() < self.hosts.len(),
            };
            if !known {
                return Err(TopologyError::DanglingLink {
                    node: match node {
                        NodeId::Switch(s) => s.to_string(),
                        NodeId::Host(h) => h.to_string(),
                    },
                    link: format!("links[{}]", id.index()),
                });
            }
        }
        let described = || self.describe_link(id);
        if link.a.node == link.b.node {
            let node = self.node_name(link.a.node).to_owned();
            let link = described();
            return Err(TopologyError::SelfLink { node, link });
        }
        if matches!(
            (link.a.node, link.b.node),
            (NodeId::Host(_), NodeId::Host(_))
        ) {
            return Err(TopologyError::HostToHost { link: described() });
        }
        if link.rate.get() == 0 {
            return Err(TopologyError::NoRate { link: described() });
        }
        self.check_virtual_layers(id)
    }

    fn check_virtual_layers(&self, id: LinkId) -> Result<(), TopologyError> {
        let link = self.link(id);
        let Some(VirtualLayers { a, b }) = link.virtual_layers else {
            return Ok(());
        };
        let link_name = || self.describe_link(id);
        if [link.a, link.b]
            .iter()
            .any(|end| matches!(end.node, NodeId::Host(_)))
        {
            return Err(TopologyError::HostInVirtualLayer { link: link_name() });
        }
        if a.min(b) == 0 || a.abs_diff(b) != 1 {
            let link = link_name();
            return Err(TopologyError::VirtualLayersApart { link, a, b });
        }
        Ok(())
    }

    fn plug(&mut self, near: Endpoint, peer: Peer) -> Result<(), TopologyError> {
        let taken = match near.node {
            NodeId::Switch(s) => {
                let ports = self.switches[s.index()].ports;
                match self.ports[s.index()].get_mut(usize::from(near.port.get())) {
                    Some(slot) => slot.replace(peer),
                    None => {
                        return Err(TopologyError::NoSuchPort {
                            node: self.node_name(near.node).to_owned(),
                            port: near.port,
                            ports,
                            link: self.describe_link(peer.link),
                        });
                    }
                }
            }
            NodeId::Host(h) => {
                let uplinks = &mut self.uplinks[h.index()];
                match uplinks.binary_search_by_key(&near.port, |&(port, _)| port) {
                    Ok(at) => Some(uplinks[at].1),
                    Err(at) => {
                        uplinks.insert(at, (near.port, peer));
                        None
                    }
                }
            }
        };
        match taken {
            None => Ok(()),
            Some(first) => Err(TopologyError::PortUsedTwice {
                node: self.node_name(near.node).to_owned(),
                port: near.port,
                first: self.describe_link(first.link),
                second: self.describe_link(peer.link),
            }),
        }
    }

    fn check_interfaces(&self) -> Result<(), TopologyError> {
        for switch in &self.switches {
            let has = |port: PortId| port.get() <= switch.ports;
            check_names(&switch.name, &switch.interfaces, has)?;
        }
        for (host, uplinks) in self.hosts.iter().zip(&self.uplinks) {
            let has = |port: PortId| uplinks.iter().any(|&(own, _)| own == port);
            check_names(&host.name, &host.interfaces, has)?;
        }
        Ok(())
    }

    /// Of hosts that lack a link and those that share an address, the first is told.
    fn check_hosts(&self, shared: Option<(HostId, HostId, IpAddr)>) -> Result<(), TopologyError> {
        let lonely = self.host_ids().find(|id| self.uplinks(*id).is_empty());
        let name = |id: HostId| self.host(id).name.clone();
        match (lonely, shared) {
            (Some(id), _) if shared.is_none_or(|(_, second, _)| id <= second) => {
                Err(TopologyError::HostWithoutLink(name(id)))
            }
            (_, Some((first, second, address))) => Err(TopologyError::DuplicateAddress {
                first: name(first),
                second: name(second),
                address,
            }),
            _ => Ok(()),
        }
    }

    /// Blocks nest or are disjoint, so in address order it is enough to compare neighbours.
    fn check_subnets(&self) -> Result<(), TopologyError> {
        let owned = |s: &Switch| Some((s.subnet?, s.name.clone()));
        let mut subnets: Vec<_> = self.switches.iter().filter_map(owned).collect();
        let overlap = |first: &(Subnet, String), second: &(Subnet, String)| {
            Err(TopologyError::SubnetsOverlap {
                first: first.1.clone(),
                second: second.1.clone(),
                prefix: second.0.ipv4,
            })
        };
        subnets.sort_by_key(|(subnet, _)| (subnet.ipv4, subnet.ipv6));
        for pair in subnets.windows(2) {
            if pair[0].0.ipv4.contains(pair[1].0.ipv4.address()) {
                return overlap(&pair[0], &pair[1]);
            }
        }
        subnets.sort_by_key(|(subnet, _)| (subnet.ipv6, subnet.ipv4));
        for pair in subnets.windows(2) {
            if pair[0].0.ipv6.contains(pair[1].0.ipv6.address()) {
                return overlap(&pair[0], &pair[1]);
            }
        }
        Ok(())
    }

    fn check_connected(&self) -> Result<(), TopologyError> {
        if self.switches.is_empty() {
            return Err(TopologyError::NoSwitch);
        }
        let mut seen = vec![false; self.switches.len()];
        seen[0] = true;
        let mut frontier = vec![SwitchId::new(0)];
        while let Some(at) = frontier.pop() {
            for (_, peer) in self.peers(at) {
                if let NodeId::Switch(next) = peer.end.node
                    && !std::mem::replace(&mut seen[next.index()], true)
                {
                    frontier.push(next);
                }
            }
        }
        match seen.iter().position(|seen| !seen) {
            None => Ok(()),
            Some(lost) => Err(TopologyError::Disconnected(
                self.switches[lost].name.clone(),
            )),
        }
    }

    /// The topology's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// All switches, in id order.
    #[must_use]
    pub fn switches(&self) -> &[Switch] {
        &self.switches
    }

    /// All hosts, in id order.
    #[must_use]
    pub fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    /// All links, in id order.
    #[must_use]
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// The ids of all switches.
    pub fn switch_ids(&self) -> impl Iterator<Item = SwitchId> + use<> {
        (0..u32::try_from(self.switches.len()).unwrap_or(u32::MAX)).map(SwitchId::new)
    }

    /// The ids of all hosts.
    pub fn host_ids(&self) -> impl Iterator<Item = HostId> + use<> {
        (0..u32::try_from(self.hosts.len()).unwrap_or(u32::MAX)).map(HostId::new)
    }

    /// The ids of all links.
    pub fn link_ids(&self) -> impl Iterator<Item = LinkId> + use<> {
        (0..u32::try_from(self.links.len()).unwrap_or(u32::MAX)).map(LinkId::new)
    }

    /// One switch.
    #[must_use]
    pub fn switch(&self, id: SwitchId) -> &Switch {
        &self.switches[id.index()]
    }

    /// One host.
    #[must_use]
    pub fn host(&self, id: HostId) -> &Host {
        &self.hosts[id.index()]
    }

    /// One link.
    #[must_use]
    pub fn link(&self, id: LinkId) -> &Link {
        &self.links[id.index()]
    }

    /// What stands at a port of a switch, whatever its state.
    #[must_use]
    pub fn peer(&self, switch: SwitchId, port: PortId) -> Option<Peer> {
        *self.ports[switch.index()].get(usize::from(port.get()))?
    }

    /// The plugged ports of a switch in port order, with their peers, whatever their state.
    pub fn peers(&self, switch: SwitchId) -> impl Iterator<Item = (PortId, Peer)> + '_ {
        self.ports[switch.index()]
            .iter()
            .enumerate()
            .filter_map(|(port, peer)| Some((PortId::new(u16::try_from(port).ok()?), (*peer)?)))
    }

    /// The ports of a host with the switch ports they lead to, in port order.
    #[must_use]
    pub fn uplinks(&self, host: HostId) -> &[(PortId, Peer)] {
        &self.uplinks[host.index()]
    }

    /// Whether a link and both the nodes it joins are up.
    #[must_use]
    pub fn is_live(&self, link: LinkId) -> bool {
        let link = self.link(link);
        let node_up = |node| match node {
            NodeId::Switch(s) => self.switch(s).up,
            NodeId::Host(_) => true,
        };
        link.up && node_up(link.a.node) && node_up(link.b.node)
    }

    /// Whether every switch has a layer and no link joins two switches of the same layer, so that
    /// each link between switches has an upper and a lower end.
    #[must_use]
    pub fn is_layered(&self) -> bool {
        self.unlayered_switch().is_none()
    }

    /// A switch that keeps the topology from being layered: it has no layer, or a peer in its own.
    #[must_use]
    pub fn unlayered_switch(&self) -> Option<SwitchId> {
        self.switch_ids().find(|&s| {
            let layer = self.switch(s).layer;
            layer.is_none()
                || self.peers(s).any(|(_, peer)| match peer.end.node {
                    NodeId::Switch(other) => self.switch(other).layer == layer,
                    NodeId::Host(_) => false,
                })
        })
    }

    /// A copy in which the given links are down.
    #[must_use]
    pub fn with_failed_links(&self, failed: &[LinkId]) -> Self {
        let mut topology = self.clone();
        for link in failed {
            topology.links[link.index()].up = false;
        }
        topology
    }

    /// A copy in which the given links and switches are up.
    #[must_use]
    pub fn with_mended(&self, links: &[LinkId], switches: &[SwitchId]) -> Self {
        let mut mended = self.clone();
        for link in links {
            mended.links[link.index()].up = true;
        }
        for switch in switches {
            mended.switches[switch.index()].up = true;
        }
        mended
    }

    /// A copy in which the given switches are down, and with them their links.
    #[cfg(test)]
    pub(crate) fn with_failed_switches(&self, failed: &[SwitchId]) -> Self {
        let mut topology = self.clone();
        for switch in failed {
            topology.switches[switch.index()].up = false;
        }
        topology
    }

    /// A copy with other links, and with switches that differ in what is up and in buffers. Unlike
    /// [`Topology::new`], nodes may be without a link and parts of the network without a
    /// connection. Each port has at most one of the links, and all their ends exist.
    pub(super) fn with_cables(&self, switches: Vec<Switch>, links: Vec<Link>) -> Self {
        let mut topology = Self {
            name: self.name.clone(),
            ports: self
                .ports
                .iter()
                .map(|ports| vec![None; ports.len()])
                .collect(),
            uplinks: vec![Vec::new(); self.hosts.len()],
            by_name: self.by_name.clone(),
            assumed: self.assumed,
            switches,
            hosts: self.hosts.clone(),
            links,
        };
        for id in topology.link_ids() {
            let Link { a, b, .. } = *topology.link(id);
            // A port that is used twice or does not exist keeps the first link.
            let _ = topology.plug(a, Peer { link: id, end: b });
            let _ = topology.plug(b, Peer { link: id, end: a });
        }
        topology
    }

    /// A copy with the given layers, by switch index.
    pub(super) fn with_layers(mut self, layers: &[u8]) -> Self {
        for (switch, &layer) in self.switches.iter_mut().zip(layers) {
            switch.layer = Some(layer);
        }
        self
    }

    /// A copy in which everything is up.
    #[must_use]
    pub fn all_up(&self) -> Self {
        let mut topology = self.clone();
        topology.links.iter_mut().for_each(|link| link.up = true);
        topology
            .switches
            .iter_mut()
            .for_each(|switch| switch.up = true);
        topology
    }

    /// What of the network as a whole nobody gave.
    #[must_use]
    pub const fn assumed(&self) -> AssumedOfNetwork {
        self.assumed
    }

    /// A copy of which this is assumed as a whole.
    #[must_use]
    pub const fn with_assumed(mut self, assumed: AssumedOfNetwork) -> Self {
        self.assumed = assumed;
        self
    }

    /// Changes every link; `change` also learns whether the link leads to a host.
    pub(super) fn change_links(&mut self, change: impl Fn(&mut Link, bool)) {
        for link in &mut self.links {
            let to_host = link.is_to_host();
            change(link, to_host);
        }
    }

    /// What a switch itself calls one of its ports, where it is known.
    #[must_use]
    pub fn interface(&self, switch: SwitchId, port: PortId) -> Option<&str> {
        let interfaces = &self.switch(switch).interfaces;
        interfaces.get(&port).map(String::as_str)
    }

    /// What the node at an end calls its port, where it is known.
    #[must_use]
    pub fn interface_at(&self, end: Endpoint) -> Option<&str> {
        let interfaces = match end.node {
            NodeId::Switch(switch) => &self.switch(switch).interfaces,
            NodeId::Host(host) => &self.host(host).interfaces,
        };
        interfaces.get(&end.port).map(String::as_str)
    }

    /// The port of a node that a text names: by its number, or by what the node calls it.
    #[must_use]
    pub fn port_named(&self, node: NodeId, text: &str) -> Option<PortId> {
        if let Ok(number) = text.parse() {
            return Some(PortId::new(number));
        }
        let interfaces = match node {
            NodeId::Switch(switch) => &self.switch(switch).interfaces,
            NodeId::Host(host) => &self.host(host).interfaces,
        };
        let mut named = interfaces.iter();
        named.find_map(|(&port, name)| (name == text).then_some(port))
    }

    /// The Ethernet address of a switch's port: locally administered, apart from those of generated
    /// hosts.
    #[must_use]
    pub fn port_mac(&self, switch: SwitchId, port: PortId) -> [u8; 6] {
        let number = u64::try_from(switch.index()).unwrap_or(u64::MAX);
        let [.., a, b, c] = number.to_be_bytes();
        let [high, low] = port.get().to_be_bytes();
        [0x06, a, b, c, high, low]
    }

    /// The name of a node.
    #[must_use]
    pub fn node_name(&self, node: NodeId) -> &str {
        match node {
            NodeId::Switch(s) => &self.switch(s).name,
            NodeId::Host(h) => &self.host(h).name,
        }
    }

    /// The node of a name.
    #[must_use]
    pub fn node(&self, name: &str) -> Option<NodeId> {
        self.by_name.get(name).copied()
    }

    /// An endpoint as the topology file writes it: `s1:3`.
    #[must_use]
    pub fn endpoint_name(&self, end: Endpoint) -> String {
        format!("{}:{}", self.node_name(end.node), end.port)
    }

    /// A link as messages name it: its position in the topology and its ends.
    #[must_use]
    pub fn describe_link(&self, id: LinkId) -> String {
        let link = self.link(id);
        let (a, b) = (self.endpoint_name(link.a), self.endpoint_name(link.b));
        format!("links[{}] ({a} - {b})", id.index())
    }
}

/// Checks the names of a node's ports.
fn check_names(
    node: &str,
    interfaces: &BTreeMap<PortId, String>,
    has: impl Fn(PortId) -> bool,
) -> Result<(), TopologyError> {
    let mut owners = BTreeMap::new();
    for (&port, name) in interfaces {
        let wrong = |problem: String| TopologyError::Interface {
            node: node.to_owned(),
            name: name.clone(),
            problem,
        };
        if !has(port) {
            return Err(wrong(format!("there is no port {port}")));
        }
        if name.is_empty() || name.contains(|c: char| c.is_whitespace() || c == ',') {
            return Err(wrong("it is empty or holds a space or a comma".to_owned()));
        }
        if let Some(first) = owners.insert(name, port) {
            return Err(wrong(format!("port {first} is called so too")));
        }
    }
    Ok(())
}
