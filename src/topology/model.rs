//! The topology graph: what the file format, the generators and every later stage share.

use std::net::{Ipv4Addr, Ipv6Addr};

use thiserror::Error;
use units::{BitRate, Metres, PortId};

use super::ids::{HostId, LinkId, NodeId, SwitchId};

/// A switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Switch {
    /// Unique name, shared name space with hosts.
    pub name: String,
    /// Number of physical ports; links use ports `1..=ports` (port 0 where an importer found it).
    pub ports: u16,
    /// Layer counted from the hosts (0 = top-of-rack / leaf) where the topology has layers.
    pub layer: Option<u8>,
    /// Pod or other grouping that drawings and addressing follow, where the topology has one.
    pub group: Option<u32>,
    /// Administrative and operational state.
    pub up: bool,
}

/// A host (an end port of the network). A BCube server, which forwards, is a switch with a host behind it.
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
    /// Cable length (PFC headroom depends on it: 002 section 3.3).
    pub length: Metres,
    /// Whether the link carries traffic.
    pub up: bool,
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
}

/// Why a topology is refused; each message names the entity and how to mend it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TopologyError {
    /// Two links use the same port.
    #[error("port {port} of `{node}` is used by two links; give one of them another port")]
    PortUsedTwice {
        /// The node's name.
        node: String,
        /// The port.
        port: PortId,
    },
    /// A link names a port the switch does not have.
    #[error("port {port} of switch `{node}` does not exist: the switch has {ports} ports")]
    NoSuchPort {
        /// The switch's name.
        node: String,
        /// The port.
        port: PortId,
        /// How many ports there are.
        ports: u16,
    },
    /// Two nodes share a name.
    #[error("the name `{0}` is used by two nodes")]
    DuplicateName(String),
    /// A link's end is not a node of this topology.
    #[error("a link ends at `{0}`, which is neither a switch nor a host of this topology")]
    DanglingLink(String),
    /// A switch cannot reach the others.
    #[error("switch `{0}` is not connected to the rest of the network")]
    Disconnected(String),
    /// A host has no link.
    #[error("host `{0}` has no link")]
    HostWithoutLink(String),
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
        let mut topology = Self {
            name,
            ports: switches
                .iter()
                .map(|s| vec![None; usize::from(s.ports) + 1])
                .collect(),
            uplinks: vec![Vec::new(); hosts.len()],
            switches,
            hosts,
            links,
        };
        for index in 0..topology.links.len() {
            let link = topology.links[index].clone();
            let id = LinkId::new(u32::try_from(index).unwrap_or(u32::MAX));
            topology.plug(
                link.a,
                Peer {
                    link: id,
                    end: link.b,
                },
            )?;
            topology.plug(
                link.b,
                Peer {
                    link: id,
                    end: link.a,
                },
            )?;
        }
        Ok(topology)
    }

    fn plug(&mut self, near: Endpoint, peer: Peer) -> Result<(), TopologyError> {
        match near.node {
            NodeId::Switch(s) => {
                let switch = &self.switches[s.index()];
                let Some(slot) = self.ports[s.index()].get_mut(usize::from(near.port.get())) else {
                    return Err(TopologyError::NoSuchPort {
                        node: switch.name.clone(),
                        port: near.port,
                        ports: switch.ports,
                    });
                };
                if slot.replace(peer).is_some() {
                    return Err(TopologyError::PortUsedTwice {
                        node: switch.name.clone(),
                        port: near.port,
                    });
                }
            }
            NodeId::Host(h) => self.uplinks[h.index()].push((near.port, peer)),
        }
        Ok(())
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

    /// The ports of a host with the switch ports they lead to.
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
}
