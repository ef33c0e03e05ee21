//! A topology as importers gather it, and how it becomes a topology.
//!
//! Nodes and links get one order, so that a file whose lines stand in another order gives the same
//! topology: switches and hosts stand in the natural order of their names; a link begins at its
//! switch, or at the earlier of two switches; links stand in the order of their first ends, then of
//! their second. Formats whose order has a meaning keep it ([`Order::File`]).

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use quantities::{BitRate, Metres, PortId};

use super::super::address::ipv6_of;
use super::super::assumed::AssumedOfNetwork;
use super::super::assumptions::complete;
use super::super::build::{Builder, HostDraft};
use super::super::ids::{HostId, NodeId, SwitchId};
use super::super::layers;
use super::super::model::{Endpoint, Link, Switch, Topology};
use super::super::ports::{GivenPort, Numbering, natural_order};
use super::super::prefix::{Ipv4Prefix, Ipv6Prefix, Subnet};
use super::leave::Leave;
use super::{ImportError, ImportFormat, ImportOptions, Imported};

/// What decides about the order of nodes and links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// The names of the nodes.
    Names,
    /// Nodes stand as the importer has sorted them; links follow them.
    Nodes,
    /// The file.
    File,
}

/// A topology as importers gather it: nodes by name, links by names.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) format: ImportFormat,
    pub(super) name: String,
    pub(super) order: Order,
    pub(super) switches: Vec<String>,
    pub(super) hosts: Vec<DraftHost>,
    pub(super) links: Vec<DraftLink>,
    /// Ports of switches, by name, that need not have a link.
    pub(super) ports: BTreeMap<String, BTreeSet<String>>,
    /// What is to be left out; `None` once that is done.
    pub(super) leave: Option<Leave>,
    largest_part: bool,
    pub(super) notes: Vec<String>,
}

#[derive(Debug, Default)]
pub(super) struct DraftHost {
    pub(super) name: String,
    pub(super) mac: Option<[u8; 6]>,
    /// The address with the length of its network.
    pub(super) ipv4: Option<(Ipv4Addr, u8)>,
}

#[derive(Debug)]
pub(super) struct DraftLink {
    /// Where it stands in the file.
    pub(super) place: String,
    pub(super) ends: [DraftEnd; 2],
    pub(super) rate: Option<BitRate>,
    pub(super) length: Option<Metres>,
    pub(super) up: bool,
    /// Its position among the links of the file.
    pub(super) at: usize,
}

impl DraftLink {
    /// A link that is up, without rate and length.
    pub(super) fn new(place: String, ends: [DraftEnd; 2]) -> Self {
        Self {
            place,
            ends,
            rate: None,
            length: None,
            up: true,
            at: 0,
        }
    }
}

/// One end of a link.
#[derive(Clone, Debug)]
pub(super) struct DraftEnd {
    pub(super) node: String,
    pub(super) port: GivenPort,
    /// What the port is called, where its number comes from elsewhere.
    pub(super) label: Option<String>,
}

impl DraftEnd {
    pub(super) fn new(node: impl Into<String>, port: GivenPort) -> Self {
        Self {
            node: node.into(),
            port,
            label: None,
        }
    }

    /// An end whose port the file does not give.
    pub(super) fn open(node: &str) -> Self {
        Self::new(node, GivenPort::Open)
    }
}

/// The nodes by name.
type Nodes = BTreeMap<String, NodeId>;

impl Draft {
    pub(super) fn new(format: ImportFormat, options: &ImportOptions) -> Self {
        Self {
            format,
            name: options.name.clone(),
            order: Order::Names,
            switches: Vec::new(),
            hosts: Vec::new(),
            links: Vec::new(),
            ports: BTreeMap::new(),
            leave: Some(Leave::new(options)),
            largest_part: options.largest_part,
            notes: Vec::new(),
        }
    }

    pub(super) fn value(&self, place: &str, reason: impl Into<String>) -> ImportError {
        ImportError::Value {
            format: self.format,
            place: place.to_owned(),
            reason: reason.into(),
        }
    }

    /// The connected parts: by node, the number of its part. Parts are numbered in the order of
    /// their first nodes, switches before hosts.
    fn parts(&self) -> BTreeMap<String, usize> {
        let mut neighbours: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for link in &self.links {
            let [a, b] = &link.ends;
            neighbours.entry(&a.node).or_default().push(&b.node);
            neighbours.entry(&b.node).or_default().push(&a.node);
        }
        let mut part_of = BTreeMap::new();
        let mut next = 0;
        let hosts = self.hosts.iter().map(|host| &host.name);
        for start in self.switches.iter().chain(hosts) {
            if part_of.contains_key(start) {
                continue;
            }
            let mut stack = vec![start.as_str()];
            while let Some(at) = stack.pop() {
                if part_of.insert(at.to_owned(), next).is_none() {
                    stack.extend(neighbours.get(at).into_iter().flatten());
                }
            }
            next += 1;
        }
        part_of
    }

    /// Removes all nodes that are not in the part with the most nodes (of equal parts, the first).
    fn keep_largest_part(&mut self) {
        let part_of = self.parts();
        let mut sizes: BTreeMap<usize, usize> = BTreeMap::new();
        for part in part_of.values() {
            *sizes.entry(*part).or_default() += 1;
        }
        let largest = sizes
            .into_iter()
            .max_by_key(|(part, size)| (*size, std::cmp::Reverse(*part)));
        let Some((largest, _)) = largest else { return };
        let kept = |name: &String| part_of.get(name) == Some(&largest);
        let hosts = self.hosts.iter().map(|host| &host.name);
        let lost: Vec<&str> = self
            .switches
            .iter()
            .chain(hosts)
            .filter(|name| !kept(name))
            .map(String::as_str)
            .collect();
        if lost.is_empty() {
            return;
        }
        let note = format!(
            "not connected to the largest part and left out: {}",
            lost.join(", ")
        );
        self.notes.push(note);
        self.switches.retain(kept);
        self.hosts.retain(|host| kept(&host.name));
        self.links.retain(|link| kept(&link.ends[0].node));
    }

    /// A draft for each connected part; the first has the notes.
    ///
    /// # Errors
    /// As [`Draft::leave_out`].
    pub(super) fn split(mut self) -> Result<Vec<Self>, ImportError> {
        self.prepare()?;
        let part_of = self.parts();
        let count = part_of.values().max().map_or(1, |last| last + 1);
        let at = |name: &String| part_of.get(name).copied().unwrap_or(0);
        let mut drafts: Vec<Self> = (0..count)
            .map(|_| Self {
                format: self.format,
                name: self.name.clone(),
                order: self.order,
                switches: Vec::new(),
                hosts: Vec::new(),
                links: Vec::new(),
                ports: BTreeMap::new(),
                leave: None,
                largest_part: false,
                notes: std::mem::take(&mut self.notes),
            })
            .collect();
        for switch in self.switches {
            drafts[at(&switch)].switches.push(switch);
        }
        for host in self.hosts {
            drafts[at(&host.name)].hosts.push(host);
        }
        for link in self.links {
            drafts[at(&link.ends[0].node)].links.push(link);
        }
        for (switch, names) in self.ports {
            drafts[at(&switch)].ports.insert(switch, names);
        }
        Ok(drafts)
    }

    /// Leaves out what is to be left out, and sorts the nodes.
    fn prepare(&mut self) -> Result<(), ImportError> {
        let hosts: BTreeSet<String> = self.hosts.iter().map(|host| host.name.clone()).collect();
        self.leave_out(&|node| hosts.contains(node))?;
        if self.order == Order::Names {
            self.switches.sort_by(|a, b| natural_order(a, b));
            self.hosts.sort_by(|a, b| natural_order(&a.name, &b.name));
        }
        Ok(())
    }

    /// Numbers the ports, builds and validates the topology.
    pub(super) fn finish(mut self) -> Result<Imported, ImportError> {
        self.prepare()?;
        if self.largest_part {
            self.keep_largest_part();
        }
        let nodes = self.nodes();
        self.check_links(&nodes)?;
        self.sort_links(&nodes);
        let (mut ends, mut interfaces) = self.number_ports(&nodes)?;
        self.check_ports(&ends)?;
        if self.order != Order::File {
            // Ports that were open have numbers now.
            let mut order: Vec<usize> = (0..ends.len()).collect();
            order.sort_by_key(|&at| ends[at]);
            let mut links: Vec<Option<DraftLink>> = self.links.drain(..).map(Some).collect();
            self.links = order.iter().filter_map(|&at| links[at].take()).collect();
            ends = order.iter().map(|&at| ends[at]).collect();
        }
        let mut builder = Builder::new(std::mem::take(&mut self.name));
        self.add_nodes(&mut builder, &ends, &mut interfaces);
        for (link, &[a, b]) in self.links.iter().zip(&ends) {
            builder.push(link.build(a, b));
        }
        for (switch, subnet) in self.subnets(&nodes) {
            builder.set_subnet(switch, subnet);
        }
        // None of the formats says how large a switch's buffer is, or how long a frame may be.
        builder.set_assumed(AssumedOfNetwork {
            buffer: true,
            mtu: true,
        });
        let format = self.format;
        let topology = builder.finish();
        let topology = topology.map_err(|source| ImportError::Topology { format, source })?;
        let topology = self.with_layers(topology);
        Ok(Imported {
            topology,
            format,
            notes: self.notes,
        })
    }

    fn nodes(&self) -> Nodes {
        let switches = (0..).zip(&self.switches);
        let switches = switches.map(|(at, name)| (name.clone(), NodeId::Switch(SwitchId::new(at))));
        let hosts = (0..).zip(&self.hosts);
        let hosts = hosts.map(|(at, host)| (host.name.clone(), NodeId::Host(HostId::new(at))));
        switches.chain(hosts).collect()
    }

    /// Adds switches and hosts with the names of their ports.
    fn add_nodes(
        &self,
        builder: &mut Builder,
        ends: &[[Endpoint; 2]],
        interfaces: &mut BTreeMap<NodeId, BTreeMap<PortId, String>>,
    ) {
        let mut last: BTreeMap<NodeId, u16> = BTreeMap::new();
        for end in ends.iter().flatten() {
            let last = last.entry(end.node).or_default();
            *last = (*last).max(end.port.get());
        }
        for (at, switch) in (0..).zip(&self.switches) {
            let node = NodeId::Switch(SwitchId::new(at));
            let interfaces = interfaces.remove(&node).unwrap_or_default();
            let named = interfaces.keys().next_back().map_or(0, |port| port.get());
            let ports = last.get(&node).copied().unwrap_or(0).max(named);
            builder.switch(Switch {
                interfaces,
                ..Switch::new(switch.clone(), ports)
            });
        }
        for (at, host) in (0..).zip(&self.hosts) {
            let node = NodeId::Host(HostId::new(at));
            builder.host(HostDraft {
                name: host.name.clone(),
                mac: host.mac,
                ipv4: host.ipv4.map(|(address, _)| address),
                ipv6: host.ipv4.map(|(address, _)| ipv6_of(address)),
                interfaces: interfaces.remove(&node).unwrap_or_default(),
            });
        }
    }

    /// The checks that name a link by its place in the file.
    fn check_links(&self, nodes: &Nodes) -> Result<(), ImportError> {
        for link in &self.links {
            let wrong = |reason: String| Err(self.value(&link.place, reason));
            for end in &link.ends {
                let node = &end.node;
                if !nodes.contains_key(node) {
                    return wrong(format!(
                        "there is no node `{node}`; add it or correct the link"
                    ));
                }
                let reserved = |c: char| c.is_whitespace() || c == ':' || c == ',';
                if node.is_empty() || node.contains(reserved) {
                    return wrong(format!(
                        "the name `{node}` is empty or holds a space, a comma or a colon; rename the node"
                    ));
                }
                let names = end.port.name().into_iter().chain(end.label.as_deref());
                for name in names {
                    if name.is_empty() || name.contains(|c: char| c.is_whitespace() || c == ',') {
                        return wrong(format!(
                            "the interface `{name}` of `{node}` is empty or holds a space or a comma; \
                             write its name without"
                        ));
                    }
                }
            }
            let [a, b] = &link.ends;
            if a.node == b.node {
                return wrong(format!("joins `{}` to itself; remove it", a.node));
            }
            if let (NodeId::Host(_), NodeId::Host(_)) = (nodes[&a.node], nodes[&b.node]) {
                return wrong(format!(
                    "joins the hosts `{}` and `{}`; put a switch between them",
                    a.node, b.node
                ));
            }
        }
        Ok(())
    }

    /// Sorts the links by their ends, unless the order of the file has a meaning.
    fn sort_links(&mut self, nodes: &Nodes) {
        for (at, link) in self.links.iter_mut().enumerate() {
            link.at = at;
        }
        if self.order == Order::File {
            return;
        }
        for link in &mut self.links {
            if nodes[&link.ends[0].node] > nodes[&link.ends[1].node] {
                link.ends.swap(0, 1);
            }
        }
        self.links.sort_by_cached_key(|link| {
            let [a, b] = &link.ends;
            let (near, far) = (nodes[&a.node], nodes[&b.node]);
            // As generators do: where no ports are given, hosts have the first.
            let far = (matches!(far, NodeId::Switch(_)), far);
            let (near_port, far_port) = (a.port.clone(), b.port.clone());
            let facts = (link.rate, link.length, link.up);
            (near, near_port, far, far_port, facts)
        });
    }

    /// The ends of all links with numbers, and the names of the ports of each node.
    #[expect(clippy::type_complexity, reason = "two results of one pass")]
    fn number_ports(
        &self,
        nodes: &Nodes,
    ) -> Result<
        (
            Vec<[Endpoint; 2]>,
            BTreeMap<NodeId, BTreeMap<PortId, String>>,
        ),
        ImportError,
    > {
        let mut ends_of: BTreeMap<NodeId, Vec<&DraftEnd>> = BTreeMap::new();
        for end in self.links.iter().flat_map(|link| &link.ends) {
            ends_of.entry(nodes[&end.node]).or_default().push(end);
        }
        let mut numberings: BTreeMap<NodeId, Numbering> = BTreeMap::new();
        for (name, &node) in nodes {
            let ends = ends_of.get(&node).map_or(&[][..], Vec::as_slice);
            let numbers = ends.iter().filter_map(|end| match end.port {
                GivenPort::Number(number) => Some(number),
                GivenPort::Name(_) | GivenPort::Open => None,
            });
            let spare = self.ports.get(name).into_iter().flatten();
            let names = ends.iter().filter_map(|end| end.port.name());
            let names = names.chain(spare.map(String::as_str));
            let first = u16::from(matches!(node, NodeId::Switch(_)));
            let numbering = Numbering::new(first, numbers, names)
                .ok_or_else(|| self.value(&format!("`{name}`"), "has more ports than numbers"))?;
            numberings.insert(node, numbering);
        }
        let mut interfaces: BTreeMap<NodeId, BTreeMap<PortId, String>> = BTreeMap::new();
        let mut numbered = Vec::with_capacity(self.links.len());
        for link in &self.links {
            let mut number = |end: &DraftEnd| {
                let node = nodes[&end.node];
                let numbering = numberings.get_mut(&node);
                let port = numbering.and_then(|numbering| numbering.number(&end.port));
                let port = PortId::new(port.ok_or_else(|| {
                    self.value(&link.place, format!("`{}` has no port left", end.node))
                })?);
                if let Some(label) = &end.label {
                    let labels = interfaces.entry(node).or_default();
                    labels.insert(port, label.clone());
                }
                Ok::<_, ImportError>(Endpoint { node, port })
            };
            let [a, b] = &link.ends;
            numbered.push([number(a)?, number(b)?]);
        }
        for (node, numbering) in numberings {
            let names = numbering.into_names();
            let names = names.map(|(port, name)| (PortId::new(port), name));
            interfaces.entry(node).or_default().extend(names);
        }
        Ok((numbered, interfaces))
    }

    /// Refuses a port that two links use.
    fn check_ports(&self, ends: &[[Endpoint; 2]]) -> Result<(), ImportError> {
        let mut used: BTreeMap<Endpoint, &DraftLink> = BTreeMap::new();
        for (link, numbered) in self.links.iter().zip(ends) {
            for (end, &at) in link.ends.iter().zip(numbered) {
                let Some(other) = used.insert(at, link) else {
                    continue;
                };
                let (first, second) = match other.at < link.at {
                    true => (other, link),
                    false => (link, other),
                };
                let port = match end.port.name().or(end.label.as_deref()) {
                    Some(name) => format!("port `{name}`"),
                    None => format!("port {}", at.port),
                };
                return Err(self.value(
                    &second.place,
                    format!(
                        "{port} of `{}` is used twice, here and by {}; give one of them another port",
                        end.node, first.place
                    ),
                ));
            }
        }
        Ok(())
    }

    /// The subnets of switches whose hosts share one network that nobody else is in.
    fn subnets(&self, nodes: &BTreeMap<String, NodeId>) -> Vec<(SwitchId, Subnet)> {
        let mut networks: BTreeMap<Ipv4Prefix, BTreeSet<SwitchId>> = BTreeMap::new();
        let mut of_switch: BTreeMap<SwitchId, BTreeSet<Option<Ipv4Prefix>>> = BTreeMap::new();
        let hosts: BTreeMap<&str, &DraftHost> = self
            .hosts
            .iter()
            .map(|host| (host.name.as_str(), host))
            .collect();
        for link in &self.links {
            let [a, b] = &link.ends;
            for (near, far) in [(a, b), (b, a)] {
                let (Some(host), Some(NodeId::Switch(switch))) =
                    (hosts.get(near.node.as_str()), nodes.get(&far.node))
                else {
                    continue;
                };
                let network = host
                    .ipv4
                    .map(|(address, length)| Ipv4Prefix::new(address, length));
                of_switch.entry(*switch).or_default().insert(network);
                if let Some(network) = network {
                    networks.entry(network).or_default().insert(*switch);
                }
            }
        }
        let own = |(switch, networks_here): (SwitchId, BTreeSet<Option<Ipv4Prefix>>)| {
            let mut here = networks_here.into_iter();
            let (Some(Some(network)), None) = (here.next(), here.next()) else {
                return None;
            };
            let overlaps = networks.keys().filter(|other| {
                other.contains(network.address()) || network.contains(other.address())
            });
            let alone = overlaps.count() == 1 && networks[&network].len() == 1;
            let ipv6 = Ipv6Prefix::new(ipv6_of(network.address()), 96 + network.length());
            (alone && network.length() <= 30).then_some((
                switch,
                Subnet {
                    ipv4: network,
                    ipv6,
                },
            ))
        };
        of_switch.into_iter().filter_map(own).collect()
    }

    /// Names the layers, if the network has any.
    fn with_layers(&mut self, topology: Topology) -> Topology {
        let Some(layers) = layers::infer(&topology) else {
            return topology;
        };
        let count = layers.iter().max().map_or(0, |&top| u32::from(top) + 1);
        self.notes.push(format!(
            "the network was recognised as a Clos of {count} layers; remove `layer` from the file if it is none"
        ));
        topology.with_layers(&layers)
    }
}

impl DraftLink {
    /// The link between two numbered ends.
    fn build(&self, a: Endpoint, b: Endpoint) -> Link {
        let (rate, length, assumed) = complete([a.node, b.node], self.rate, self.length);
        Link {
            a,
            b,
            rate,
            length,
            up: self.up,
            virtual_layers: None,
            ocs: None,
            assumed,
        }
    }
}
