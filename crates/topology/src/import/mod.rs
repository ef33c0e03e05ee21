//! Importers: topology files of other tools, recognised by their content.
//!
//! What a foreign file leaves open is filled in: ports are numbered, missing addresses derived,
//! subnets taken over where a switch has one of its own, and layers recognised where the network is
//! a Clos.

mod containerlab;
mod csv;
mod fabric;
mod graphml;
mod mininet;
#[cfg(test)]
mod tests;

pub use fabric::{NamedText, configurations, import_fabric, import_fabric_parts};

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::Ipv4Addr;

use quantities::{BitRate, Metres, PortId};
use thiserror::Error;

use super::address::ipv6_of;
use super::build::{Builder, HostDraft};
use super::cables::Cables;
use super::error::TopologyError;
use super::file::{self, FileError};
use super::ids::{NodeId, SwitchId};
use super::layers;
use super::model::{Endpoint, Link, Switch, Topology};
use super::prefix::{Ipv4Prefix, Ipv6Prefix, Subnet};

/// The kinds of files that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportFormat {
    /// Switchwright's own topology file.
    Switchwright,
    /// p4-utils `p4app.json`.
    P4Utils,
    /// `topology.json` of the p4lang tutorials.
    Tutorials,
    /// GraphML, as in the Internet Topology Zoo.
    GraphMl,
    /// A containerlab topology definition (YAML).
    Containerlab,
    /// Links as comma-separated values.
    Csv,
    /// A folder of configurations of switches under SONiC, of LLDP tables, or of both.
    Fabric,
}

impl fmt::Display for ImportFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Switchwright => "Switchwright topology",
            Self::P4Utils => "p4-utils p4app.json",
            Self::Tutorials => "p4lang tutorials topology.json",
            Self::GraphMl => "GraphML",
            Self::Containerlab => "containerlab topology",
            Self::Csv => "CSV of links",
            Self::Fabric => "SONiC configurations and LLDP tables",
        })
    }
}

/// What a file does not say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportOptions {
    /// The topology's name, where the file has none.
    pub name: String,
    /// Hosts to put on every node of a GraphML file, which has none, or of a CSV of links that has
    /// none.
    pub hosts_per_node: u16,
    /// Rates and lengths of links, where the file gives none.
    pub cables: Cables,
    /// Whether to keep only the largest part of a network that is not connected, instead of
    /// refusing it.
    pub largest_part: bool,
}

impl Default for ImportOptions {
    fn default() -> Self {
        Self {
            name: "imported".to_owned(),
            hosts_per_node: 1,
            cables: Cables::default(),
            largest_part: false,
        }
    }
}

/// An imported topology.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// The topology.
    pub topology: Topology,
    /// What kind of file it came from.
    pub format: ImportFormat,
    /// What was left out or decided on the way, a sentence each.
    pub notes: Vec<String>,
}

/// Why a file was not imported.
#[derive(Debug, Error)]
pub enum ImportError {
    /// None of the formats.
    #[error(
        "this is none of the formats that can be imported (p4-utils p4app.json, p4lang tutorials topology.json, \
         GraphML, containerlab YAML, CSV of links with the columns a and b): {0}"
    )]
    Unknown(String),
    /// The file is of a known kind, but broken.
    #[error("{format}: {reason}")]
    Syntax {
        /// The kind of file.
        format: ImportFormat,
        /// What its parser says, with the place.
        reason: String,
    },
    /// A part of the file makes no sense.
    #[error("{format}: {place}: {reason}")]
    Value {
        /// The kind of file.
        format: ImportFormat,
        /// Where.
        place: String,
        /// What is wrong and how to mend it.
        reason: String,
    },
    /// Our own format, with a fault.
    #[error(transparent)]
    Native(#[from] FileError),
    /// The parts are fine, the whole is not.
    #[error("{format}: {source}")]
    Topology {
        /// The kind of file.
        format: ImportFormat,
        /// What is wrong with the topology.
        source: TopologyError,
    },
}

/// Imports a topology file, whichever kind it is.
///
/// # Errors
/// [`ImportError`], which names the place and says how to mend it.
pub fn import(text: &str, options: &ImportOptions) -> Result<Imported, ImportError> {
    let start = text.trim_start_matches('\u{feff}').trim_start();
    let draft = if start.starts_with('<') {
        graphml::read(text, options)?
    } else if start.starts_with('{') {
        let keys = mininet::keys(text)?;
        let has = |key: &str| keys.iter().any(|k| k == key);
        if has("format") {
            return Ok(Imported {
                topology: Topology::from_json(text)?,
                format: ImportFormat::Switchwright,
                notes: Vec::new(),
            });
        }
        if has("topology") || has("targets") {
            mininet::read_p4utils(text, options)?
        } else if has("links") && has("hosts") {
            mininet::read_tutorials(text, options)?
        } else {
            let known = format!("its keys are {}", keys.join(", "));
            return Err(ImportError::Unknown(known));
        }
    } else if csv::is_table(start) {
        csv::read(start, options)?
    } else if has_key(text, "topology") {
        match containerlab::read(text, options)? {
            containerlab::LabFile::Draft(draft) => draft,
            containerlab::LabFile::Topology(topology) => {
                return Ok(Imported {
                    topology,
                    format: ImportFormat::Containerlab,
                    notes: Vec::new(),
                });
            }
        }
    } else {
        return Err(ImportError::Unknown(match start.is_empty() {
            true => "it is empty".to_owned(),
            false => "it is no XML, no JSON, no CSV whose first line names the columns a and b, and YAML without the key `topology`".to_owned(),
        }));
    };
    draft.finish()
}

/// Puts hosts on every switch, under names that no switch has.
fn add_hosts(draft: &mut Draft, per_switch: u16) {
    let taken: BTreeSet<String> = draft.switches.iter().cloned().collect();
    let mut names = (1u64..)
        .map(|n| format!("h{n}"))
        .filter(|name| !taken.contains(name));
    for switch in &draft.switches {
        for name in names.by_ref().take(usize::from(per_switch)) {
            let end = |node: &str| DraftEnd {
                node: node.to_owned(),
                port: None,
            };
            draft.links.push(DraftLink {
                place: format!("host `{name}`"),
                ends: [end(switch), end(&name)],
                rate: None,
                length: None,
            });
            draft.hosts.push(DraftHost {
                name,
                ..DraftHost::default()
            });
        }
    }
}

/// The port number that an interface name ends in.
fn trailing_number(interface: &str) -> Option<u16> {
    let digits = interface
        .chars()
        .rev()
        .take_while(char::is_ascii_digit)
        .count();
    interface[interface.len() - digits..].parse().ok()
}

/// Whether a YAML file has this key at its outermost level, in block or flow style.
fn has_key(text: &str, key: &str) -> bool {
    let begins = |line: &str| {
        let line = line.trim_start_matches(['\u{feff}', '"', '\'']);
        let rest = line.strip_prefix(key);
        rest.is_some_and(|rest| {
            rest.trim_start_matches(['"', '\''])
                .trim_start()
                .starts_with(':')
        })
    };
    text.lines().any(begins)
}

/// A topology as importers gather it: nodes by name, links by names.
#[derive(Debug)]
struct Draft {
    format: ImportFormat,
    name: String,
    switches: Vec<String>,
    hosts: Vec<DraftHost>,
    links: Vec<DraftLink>,
    /// What switches call their ports.
    interfaces: BTreeMap<String, BTreeMap<u16, String>>,
    cables: Cables,
    largest_part: bool,
    notes: Vec<String>,
}

#[derive(Debug, Default)]
struct DraftHost {
    name: String,
    mac: Option<[u8; 6]>,
    /// The address with the length of its network.
    ipv4: Option<(Ipv4Addr, u8)>,
}

#[derive(Debug)]
struct DraftLink {
    /// Where it stands in the file.
    place: String,
    ends: [DraftEnd; 2],
    rate: Option<BitRate>,
    length: Option<Metres>,
}

#[derive(Clone, Debug)]
struct DraftEnd {
    node: String,
    /// The port, where the file gives one; else the next free one.
    port: Option<u16>,
}

impl Draft {
    fn new(format: ImportFormat, options: &ImportOptions) -> Self {
        Self {
            format,
            name: options.name.clone(),
            switches: Vec::new(),
            hosts: Vec::new(),
            links: Vec::new(),
            interfaces: BTreeMap::new(),
            cables: options.cables,
            largest_part: options.largest_part,
            notes: Vec::new(),
        }
    }

    fn value(&self, place: &str, reason: impl Into<String>) -> ImportError {
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
    fn split(mut self) -> Vec<Self> {
        let part_of = self.parts();
        let count = part_of.values().max().map_or(1, |last| last + 1);
        let at = |name: &String| part_of.get(name).copied().unwrap_or(0);
        let mut drafts: Vec<Self> = (0..count)
            .map(|_| Self {
                format: self.format,
                name: self.name.clone(),
                switches: Vec::new(),
                hosts: Vec::new(),
                links: Vec::new(),
                interfaces: BTreeMap::new(),
                cables: self.cables,
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
        for (switch, names) in self.interfaces {
            drafts[at(&switch)].interfaces.insert(switch, names);
        }
        drafts
    }

    /// Numbers the ports, builds and validates the topology.
    fn finish(mut self) -> Result<Imported, ImportError> {
        if self.largest_part {
            self.keep_largest_part();
        }
        let mut nodes: BTreeMap<String, NodeId> = BTreeMap::new();
        for (number, name) in (0..).zip(&self.switches) {
            nodes.insert(name.clone(), NodeId::Switch(SwitchId::new(number)));
        }
        for (number, host) in (0..).zip(&self.hosts) {
            nodes.insert(host.name.clone(), NodeId::Host(super::HostId::new(number)));
        }
        let ports = self.number_ports(&nodes)?;
        let mut builder = Builder::new(std::mem::take(&mut self.name));
        let mut last: BTreeMap<&str, u16> = BTreeMap::new();
        for (node, port) in ports.iter().flatten() {
            let last = last.entry(node).or_default();
            *last = (*last).max(*port);
        }
        for switch in &self.switches {
            let interfaces = self.interfaces.remove(switch).unwrap_or_default();
            let named = interfaces.keys().next_back().copied().unwrap_or(0);
            let ports = last.get(switch.as_str()).copied().unwrap_or(0).max(named);
            let named = interfaces.into_iter();
            builder.switch(Switch {
                interfaces: named
                    .map(|(port, name)| (PortId::new(port), name))
                    .collect(),
                ..Switch::new(switch.clone(), ports)
            });
        }
        for host in &self.hosts {
            builder.host(HostDraft {
                name: host.name.clone(),
                mac: host.mac,
                ipv4: host.ipv4.map(|(address, _)| address),
                ipv6: host.ipv4.map(|(address, _)| ipv6_of(address)),
            });
        }
        for (link, [a, b]) in self.links.iter().zip(&ports) {
            let end = |(name, port): &(String, u16)| Endpoint {
                node: nodes[name],
                port: PortId::new(*port),
            };
            let (a, b) = (end(a), end(b));
            let host = matches!(
                (a.node, b.node),
                (NodeId::Host(_), _) | (_, NodeId::Host(_))
            );
            let cables = &self.cables;
            let (rate, length) = match host {
                true => (cables.host_rate, cables.host_length),
                false => (cables.fabric_rate, cables.fabric_length),
            };
            builder.push(Link {
                a,
                b,
                rate: link.rate.unwrap_or(rate),
                length: link.length.unwrap_or(length),
                up: true,
                virtual_layers: None,
                ocs: None,
            });
        }
        for (switch, subnet) in self.subnets(&nodes) {
            builder.set_subnet(switch, subnet);
        }
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

    /// Gives every link end a port: its own, or the lowest free one (from 1 on switches, 0 on
    /// hosts).
    fn number_ports(
        &self,
        nodes: &BTreeMap<String, NodeId>,
    ) -> Result<Vec<[(String, u16); 2]>, ImportError> {
        let mut taken: BTreeMap<&str, BTreeSet<u16>> = BTreeMap::new();
        for link in &self.links {
            for end in &link.ends {
                if !nodes.contains_key(&end.node) {
                    let reason = format!(
                        "there is no node `{}`; add it or correct the link",
                        end.node
                    );
                    return Err(self.value(&link.place, reason));
                }
                taken.entry(&end.node).or_default().extend(end.port);
            }
        }
        let mut numbered = Vec::new();
        for link in &self.links {
            let mut number = |end: &DraftEnd| {
                let taken = taken.entry(link.node(end)).or_default();
                let first = u16::from(matches!(nodes[&end.node], NodeId::Switch(_)));
                let free = || (first..=u16::MAX).find(|port| !taken.contains(port));
                let port = end.port.or_else(free).ok_or_else(|| {
                    self.value(&link.place, format!("`{}` has no port left", end.node))
                })?;
                taken.insert(port);
                Ok::<_, ImportError>((end.node.clone(), port))
            };
            let [a, b] = &link.ends;
            numbered.push([number(a)?, number(b)?]);
        }
        Ok(numbered)
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
    /// The name of an end, borrowed from the link.
    fn node<'a>(&'a self, end: &DraftEnd) -> &'a str {
        let [a, b] = &self.ends;
        if a.node == end.node { &a.node } else { &b.node }
    }
}

/// An address with or without the length of its network.
fn parse_cidr(text: &str) -> Option<(Ipv4Addr, u8)> {
    let (address, length) = text.split_once('/').unwrap_or((text, "32"));
    let length: u8 = length.trim().parse().ok().filter(|&length| length <= 32)?;
    Some((address.trim().parse().ok()?, length))
}

/// A rate given in megabits per second, as Mininet does.
fn parse_megabits(megabits: f64) -> Option<BitRate> {
    file::parse_rate(megabits / 1000.0)
}
