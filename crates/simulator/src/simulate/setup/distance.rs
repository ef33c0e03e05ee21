//! How far hosts are from each other: links, time on them, and what hosts add so that round trips
//! are as a scenario says.

use std::collections::BTreeMap;

use plan::propagation;
use quantities::BitRate;
use topology::{HostId, LinkId, NodeId, SwitchId, Topology};

use crate::simulate::host::flow::ANSWER_LENGTH;

/// A path with the fewest links.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Path {
    /// Nanoseconds that light takes.
    light: u64,
    /// Nanoseconds that a byte takes to be sent, on all links together.
    per_byte: f64,
}

/// See the module documentation.
#[derive(Debug)]
pub(crate) struct Distances<'a> {
    topology: &'a Topology,
    /// The rate of all links, if the scenario says one.
    rate: Option<BitRate>,
    /// What a frame takes on the wire beyond its bytes.
    overhead: u64,
    /// By first and last switch; filled as it is asked for.
    paths: BTreeMap<SwitchId, Vec<Option<Path>>>,
}

impl<'a> Distances<'a> {
    pub(crate) const fn new(topology: &'a Topology, rate: Option<BitRate>, overhead: u64) -> Self {
        Self {
            topology,
            rate,
            overhead,
            paths: BTreeMap::new(),
        }
    }

    /// Nanoseconds that a frame of so many bytes takes from host to host through an empty network,
    /// but for what hosts add.
    pub(crate) fn one_way(&mut self, from: HostId, to: HostId, bytes: u32) -> u64 {
        let path = self.path(from, to);
        let wire = u64::from(bytes) + self.overhead;
        path.light + (path.per_byte * wire as f64).round() as u64
    }

    /// Nanoseconds that a data frame there and its answer back take.
    pub(crate) fn round_trip(&mut self, from: HostId, to: HostId, bytes: u32) -> u64 {
        self.one_way(from, to, bytes) + self.one_way(to, from, ANSWER_LENGTH)
    }

    /// What a frame takes on the wire beyond its bytes.
    pub(crate) const fn overhead(&self) -> u64 {
        self.overhead
    }

    /// Nanoseconds that so many bytes take on a host's own link.
    pub(crate) fn on_uplink(&self, host: HostId, bytes: u64) -> f64 {
        let uplink = self.topology.uplinks(host).first();
        uplink.map_or(0.0, |(_, peer)| self.per_byte(peer.link) * bytes as f64)
    }

    fn per_byte(&self, link: LinkId) -> f64 {
        let rate = self.rate.unwrap_or(self.topology.link(link).rate);
        8e9 / rate.get().max(1) as f64
    }

    fn over(&self, link: LinkId) -> Path {
        Path {
            light: propagation(self.topology.link(link).length).get(),
            per_byte: self.per_byte(link),
        }
    }

    fn path(&mut self, from: HostId, to: HostId) -> Path {
        let uplink = |host: HostId| self.topology.uplinks(host).first();
        let (Some((_, first)), Some((_, last))) = (uplink(from), uplink(to)) else {
            return Path::default();
        };
        let ends = self.over(first.link).and(self.over(last.link));
        let (NodeId::Switch(start), NodeId::Switch(end)) = (first.end.node, last.end.node) else {
            return ends;
        };
        if !self.paths.contains_key(&start) {
            let paths = self.ways_from(start);
            self.paths.insert(start, paths);
        }
        let between = self.paths.get(&start).and_then(|paths| paths[end.index()]);
        ends.and(between.unwrap_or_default())
    }

    /// Ways with the fewest links from a switch to every other.
    fn ways_from(&self, start: SwitchId) -> Vec<Option<Path>> {
        let mut found = vec![None; self.topology.switches().len()];
        found[start.index()] = Some(Path::default());
        let mut frontier = vec![(start, Path::default())];
        while !frontier.is_empty() {
            let mut next = Vec::new();
            for (switch, path) in frontier {
                for (_, peer) in self.topology.peers(switch) {
                    if let NodeId::Switch(far) = peer.end.node
                        && found[far.index()].is_none()
                    {
                        let path = path.and(self.over(peer.link));
                        found[far.index()] = Some(path);
                        next.push((far, path));
                    }
                }
            }
            frontier = next;
        }
        found
    }
}

impl Path {
    fn and(self, more: Self) -> Self {
        Self {
            light: self.light + more.light,
            per_byte: self.per_byte + more.per_byte,
        }
    }
}
