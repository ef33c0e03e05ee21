//! All ports of a network in one row.

use quantities::PortId;
use topology::{NodeId, SwitchId, Topology};

use super::lookup::TagIx;

/// A lossless ingress buffer: the number of a port among all ports, and a tag.
pub(in crate::check) type IngressBuffer = (u32, TagIx);

/// No switch stands at this port.
const NOTHING: u32 = u32::MAX;

/// All ports of all switches in one row, and what they are plugged into.
pub(in crate::check) struct Ports {
    /// `first[s]` is the number of port 0 of switch `s`.
    first: Vec<u32>,
    /// The port of a switch that each port is plugged into.
    peer: Vec<u32>,
    /// Whether a host is plugged in.
    host: Vec<bool>,
    /// The switch of each port.
    owner: Vec<SwitchId>,
}

impl Ports {
    pub(in crate::check) fn new(topology: &Topology) -> Self {
        let mut first = Vec::with_capacity(topology.switches().len() + 1);
        let mut owner = Vec::new();
        for (id, switch) in topology.switch_ids().zip(topology.switches()) {
            first.push(u32::try_from(owner.len()).unwrap_or(u32::MAX));
            owner.extend(std::iter::repeat_n(id, usize::from(switch.ports) + 1));
        }
        first.push(u32::try_from(owner.len()).unwrap_or(u32::MAX));
        let mut ports = Self {
            peer: vec![NOTHING; owner.len()],
            host: vec![false; owner.len()],
            first,
            owner,
        };
        for switch in topology.switch_ids() {
            for (port, peer) in topology.peers(switch) {
                let at = ports.at(switch, port) as usize;
                match peer.end.node {
                    NodeId::Switch(other) => ports.peer[at] = ports.at(other, peer.end.port),
                    NodeId::Host(_) => ports.host[at] = true,
                }
            }
        }
        ports
    }

    /// The number of a port.
    pub(in crate::check) fn at(&self, switch: SwitchId, port: PortId) -> u32 {
        self.first[switch.index()] + u32::from(port.get())
    }

    /// How many ports there are.
    pub(in crate::check) fn count(&self) -> usize {
        self.owner.len()
    }

    /// The switch and the port of a number.
    pub(in crate::check) fn name(&self, at: u32) -> (SwitchId, PortId) {
        let switch = self.owner[at as usize];
        let port = at - self.first[switch.index()];
        (switch, PortId::new(u16::try_from(port).unwrap_or(u16::MAX)))
    }

    /// The ingress port at the far end of the link, if that is a switch.
    pub(in crate::check) fn peer(&self, at: u32) -> Option<u32> {
        let peer = self.peer[at as usize];
        (peer != NOTHING).then_some(peer)
    }

    /// Whether a host is plugged into a port.
    pub(in crate::check) fn faces_host(&self, at: u32) -> bool {
        self.host[at as usize]
    }

    /// Ports that face hosts.
    pub(in crate::check) fn host_facing(&self) -> impl Iterator<Item = u32> + '_ {
        (0u32..)
            .zip(&self.host)
            .filter_map(|(at, host)| host.then_some(at))
    }
}
