//! One promise: its class, and the tag with which a packet leaves each switch.

use quantities::PortId;
use topology::routes::{Path, Route, RouteSet};
use topology::{Attachment, SwitchId};

use crate::check::error::LostRoute;
use crate::check::rules::lookup::{LOSSY, Lookup, TagIx};
use crate::model::Tables;

/// One promise under replay.
pub(super) struct Replay<'a> {
    pub(super) tables: &'a Tables,
    pub(super) lookup: &'a Lookup,
    /// The class's name.
    pub(super) class: &'a str,
    /// What the tables take its packets for.
    pub(super) kind: usize,
    /// The tag with which its hosts send.
    pub(super) initial: TagIx,
}

impl Replay<'_> {
    /// The tag after one switch; `None` if lossy.
    pub(super) fn step(
        &self,
        switch: SwitchId,
        tag: TagIx,
        in_port: PortId,
        out_port: PortId,
    ) -> Option<TagIx> {
        self.lookup.get(switch, self.kind, tag, in_port, out_port)
    }

    /// Whether all routes along a path stay lossless. May say no for the sake of a host that is at
    /// both ends of the path; then every route has to be looked at.
    pub(super) fn path_is_lossless(&self, set: &RouteSet, path: Path<'_>) -> bool {
        let fabric = set.fabric();
        let mut at = path.from;
        let mut states: Vec<(PortId, TagIx)> = path
            .sources
            .iter()
            .map(|source| (source.port, self.initial))
            .collect();
        for &id in path.arcs {
            let arc = fabric.arc(id);
            let mut next = Vec::new();
            for (in_port, tag) in states {
                match self.step(at, tag, in_port, arc.out_port) {
                    None => return false,
                    Some(tag) if !next.contains(&(arc.in_port, tag)) => {
                        next.push((arc.in_port, tag));
                    }
                    Some(_) => {}
                }
            }
            states = next;
            at = arc.to;
        }
        states
            .iter()
            .all(|&(in_port, tag)| self.leaves(at, tag, in_port, path.destinations).is_none())
    }

    /// The first host port at which a packet would not arrive lossless. A packet never returns by
    /// the port it came in.
    pub(super) fn leaves(
        &self,
        switch: SwitchId,
        tag: TagIx,
        in_port: PortId,
        hosts: &[Attachment],
    ) -> Option<PortId> {
        let row = self.lookup.row(switch, self.kind, tag, in_port);
        let lost =
            |host: &&Attachment| host.port != in_port && row[usize::from(host.port.get())] == LOSSY;
        hosts.iter().find(lost).map(|host| host.port)
    }

    /// Follows one route; where it turns lossy, if it does.
    pub(super) fn follow(&self, route: &Route) -> Option<LostRoute> {
        let topology = &self.tables.topology;
        let mut tag = self.initial;
        let mut tags = Vec::new();
        for hop in &route.hops {
            tags.push(self.lookup.tags[usize::from(tag)]);
            match self.step(hop.switch, tag, hop.in_port, hop.out_port) {
                Some(next) => tag = next,
                None => {
                    let mut nodes = vec![topology.host(route.source).name.clone()];
                    let switches = route.hops.iter().map(|h| topology.switch(h.switch));
                    nodes.extend(switches.map(|s| s.name.clone()));
                    nodes.push(topology.host(route.destination).name.clone());
                    return Some(LostRoute {
                        class: self.class.to_owned(),
                        nodes,
                        tags,
                        switch: topology.switch(hop.switch).name.clone(),
                        in_port: hop.in_port,
                        out_port: hop.out_port,
                    });
                }
            }
        }
        None
    }
}
