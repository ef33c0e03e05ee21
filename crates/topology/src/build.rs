//! Assembling a topology node by node, for generators and importers.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};

use quantities::{BitRate, Metres, PortId};

use super::address::{Layout, host_address, ipv6_of, mac_of};
use super::assumed::{AssumedOfLink, AssumedOfNetwork};
use super::error::TopologyError;
use super::ids::{HostId, NodeId, SwitchId};
use super::model::{Endpoint, Host, Link, Switch, Topology};
use super::prefix::Subnet;

/// What is known of a host before addresses are assigned; what is `None` is derived.
#[derive(Clone, Debug, Default)]
pub(super) struct HostDraft {
    pub(super) name: String,
    pub(super) mac: Option<[u8; 6]>,
    pub(super) ipv4: Option<Ipv4Addr>,
    pub(super) ipv6: Option<Ipv6Addr>,
    pub(super) interfaces: BTreeMap<PortId, String>,
}

/// A topology under construction.
#[derive(Debug)]
pub(super) struct Builder {
    name: String,
    switches: Vec<Switch>,
    hosts: Vec<HostDraft>,
    links: Vec<Link>,
    assumed: AssumedOfNetwork,
}

impl Builder {
    pub(super) fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            switches: Vec::new(),
            hosts: Vec::new(),
            links: Vec::new(),
            assumed: AssumedOfNetwork::default(),
        }
    }

    pub(super) fn switch(&mut self, switch: Switch) -> SwitchId {
        self.switches.push(switch);
        SwitchId::new(id(self.switches.len()))
    }

    pub(super) fn host(&mut self, draft: HostDraft) -> HostId {
        self.hosts.push(draft);
        HostId::new(id(self.hosts.len()))
    }

    pub(super) fn link(&mut self, a: Endpoint, b: Endpoint, rate: BitRate, length: Metres) {
        let up = true;
        self.push(Link {
            a,
            b,
            rate,
            length,
            up,
            virtual_layers: None,
            ocs: None,
            assumed: AssumedOfLink::default(),
        });
    }

    pub(super) fn push(&mut self, link: Link) {
        self.links.push(link);
    }

    /// Gives a switch its subnet.
    pub(super) fn set_subnet(&mut self, switch: SwitchId, subnet: Subnet) {
        self.switches[switch.index()].subnet = Some(subnet);
    }

    /// Says what of the network as a whole nobody gave.
    pub(super) fn set_assumed(&mut self, assumed: AssumedOfNetwork) {
        self.assumed = assumed;
    }

    /// How many hosts there are so far.
    pub(super) fn host_count(&self) -> usize {
        self.hosts.len()
    }

    /// Derives what addresses are missing and validates the whole.
    ///
    /// If no host has an IPv4 address yet, every edge switch gets a subnet. Otherwise the given
    /// addresses stand, and a host without one gets the next free address of `10.0.0.0/8`.
    pub(super) fn finish(mut self) -> Result<Topology, TopologyError> {
        let structured = !self.hosts.is_empty() && self.hosts.iter().all(|h| h.ipv4.is_none());
        if !(structured && self.assign_subnets()) {
            self.fill_gaps();
        }
        let hosts = self.hosts.into_iter().map(|draft| {
            let ipv4 = draft.ipv4.unwrap_or(Ipv4Addr::UNSPECIFIED);
            Host {
                name: draft.name,
                mac: draft.mac.unwrap_or_else(|| mac_of(ipv4)),
                ipv4,
                ipv6: draft.ipv6.unwrap_or_else(|| ipv6_of(ipv4)),
                interfaces: draft.interfaces,
            }
        });
        let hosts = hosts.collect();
        let topology = Topology::new(self.name, self.switches, hosts, self.links)?;
        Ok(topology.with_assumed(self.assumed))
    }

    /// The first switch that each host is linked to.
    fn edges(&self) -> Vec<Option<SwitchId>> {
        let mut edges = vec![None; self.hosts.len()];
        for link in &self.links {
            for (near, far) in [(link.a.node, link.b.node), (link.b.node, link.a.node)] {
                if let (NodeId::Host(h), NodeId::Switch(s)) = (near, far) {
                    edges[h.index()].get_or_insert(s);
                }
            }
        }
        edges
    }

    /// Gives every edge switch a subnet and its hosts addresses from it; `false` if they do not
    /// fit.
    fn assign_subnets(&mut self) -> bool {
        let edges = self.edges();
        // Edge switches by group, then id; `None` sorts first and is a group like any other.
        let mut groups: BTreeMap<Option<u32>, BTreeMap<SwitchId, u32>> = BTreeMap::new();
        for edge in edges.iter().flatten() {
            let group = groups.entry(self.switches[edge.index()].group).or_default();
            *group.entry(*edge).or_default() += 1;
        }
        let largest = groups.values().map(BTreeMap::len).max().unwrap_or(0);
        let fullest = groups.values().flat_map(BTreeMap::values).max();
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let Some(layout) = Layout::fit(
            count(groups.len()),
            count(largest),
            fullest.copied().unwrap_or(0),
        ) else {
            return false;
        };
        for (group, members) in (0..).zip(groups.values()) {
            for (edge, switch) in (0..).zip(members.keys()) {
                self.switches[switch.index()].subnet = Some(layout.subnet(group, edge));
            }
        }
        let mut taken: BTreeMap<Subnet, u32> = BTreeMap::new();
        for (host, edge) in self.hosts.iter_mut().zip(&edges) {
            if let Some(subnet) = edge.and_then(|edge| self.switches[edge.index()].subnet) {
                let number = taken.entry(subnet).or_default();
                host.ipv4 = Some(host_address(subnet, *number));
                *number += 1;
            }
        }
        true
    }

    /// Gives every host without an IPv4 address the next one that is free.
    fn fill_gaps(&mut self) {
        let taken: std::collections::BTreeSet<_> =
            self.hosts.iter().filter_map(|h| h.ipv4).collect();
        let mut free = (u32::from(Ipv4Addr::new(10, 0, 0, 1))..)
            .map(Ipv4Addr::from)
            .filter(|address| !taken.contains(address));
        for host in &mut self.hosts {
            if host.ipv4.is_none() {
                host.ipv4 = free.next();
            }
        }
    }
}

/// A port of a switch.
pub(super) fn at_switch(switch: SwitchId, port: u16) -> Endpoint {
    Endpoint {
        node: NodeId::Switch(switch),
        port: PortId::new(port),
    }
}

/// The first port of a host.
pub(super) fn at_host(host: HostId) -> Endpoint {
    Endpoint {
        node: NodeId::Host(host),
        port: PortId::new(0),
    }
}

/// The id of the last of `len` entities; [`Topology::new`] refuses more than ids can count.
fn id(len: usize) -> u32 {
    u32::try_from(len - 1).unwrap_or(u32::MAX)
}
