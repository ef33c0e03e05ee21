//! Replays every promised route through the rules: from its source host to its destination host it must
//! stay lossless, the class's initial tag coming first.
//!
//! Shortest and up-down routes are too many to follow one by one: they are replayed over their states (which
//! link a packet is on, with which tag, and what the policy remembers of it). All others are enumerated.
//! The states of up-down routes describe walks that may visit a switch twice, which routes never do; if
//! only such a walk turns lossy, the routes themselves are enumerated, so the answer is always exact.

use quantities::PortId;
use topology::routes::{Path, Route, RoutePolicy, RouteSet};
use topology::{Attachment, Fabric, NodeId, SwitchId};

use super::error::{LostRoute, PlanError};
use super::lookup::{Lookup, TagIx};
use super::shortest;
use super::walk::{Lost, UpDown, Walker};
use crate::model::{Promise, Tables};

/// One promise under replay.
pub(super) struct Replay<'a> {
    pub(super) tables: &'a Tables,
    pub(super) lookup: &'a Lookup,
    /// The class's name.
    class: &'a str,
    /// What the tables take its packets for.
    pub(super) kind: usize,
    /// The tag with which its hosts send.
    pub(super) initial: TagIx,
}

/// Replays one promise; the first thing that is wrong with it.
pub(super) fn promise(
    tables: &Tables,
    lookup: &Lookup,
    promise: &Promise,
) -> Result<(), PlanError> {
    let class = &tables.tagging.classes[promise.class.index()];
    let Some(initial) = lookup.index(class.initial) else {
        return Ok(()); // refused before
    };
    let replay = Replay {
        tables,
        lookup,
        class: &class.name,
        kind: lookup.kind(promise.class),
        initial,
    };
    let set = RouteSet::new(&tables.topology, promise.routes.clone())?;
    replay.policy(&set)
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

    fn policy(&self, set: &RouteSet) -> Result<(), PlanError> {
        let lost = match set.policy() {
            RoutePolicy::Shortest => shortest::replay(self, set.fabric()),
            RoutePolicy::UpDown { bounces } => {
                let space = UpDown::new(set.fabric(), *bounces);
                Walker::new(self, set.fabric(), &space).first_lost()
            }
            _ => return self.enumerated(set),
        };
        match lost {
            None => Ok(()),
            Some(lost) if lost.is_simple(set.fabric()) => {
                Err(PlanError::RouteLost(lost.describe(self, set.fabric())))
            }
            Some(_) => self.enumerated(set),
        }
    }

    /// Follows every path of a policy, all hosts at its ends together.
    fn enumerated(&self, set: &RouteSet) -> Result<(), PlanError> {
        let mut paths = set.paths();
        while let Some(path) = paths.advance() {
            if self.path_is_lossless(set, path) {
                continue;
            }
            for (source, destination) in path.pairs() {
                let route = path.route(set.fabric(), source, destination);
                if let Some(lost) = self.follow(&route) {
                    return Err(PlanError::RouteLost(lost));
                }
            }
        }
        Ok(())
    }

    /// Whether all routes along a path stay lossless. May say no for the sake of a host that is at both
    /// ends of the path; then every route has to be looked at.
    fn path_is_lossless(&self, set: &RouteSet, path: Path<'_>) -> bool {
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

    /// The first host port at which a packet would not arrive lossless. A packet never returns by the port
    /// it came in.
    pub(super) fn leaves(
        &self,
        switch: SwitchId,
        tag: TagIx,
        in_port: PortId,
        hosts: &[Attachment],
    ) -> Option<PortId> {
        let lost = |host: &&Attachment| {
            host.port != in_port && self.step(switch, tag, in_port, host.port).is_none()
        };
        hosts.iter().find(lost).map(|host| host.port)
    }

    /// Follows one route; where it turns lossy, if it does.
    fn follow(&self, route: &Route) -> Option<LostRoute> {
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

impl Lost {
    /// The route in words, with names.
    pub(super) fn describe(&self, replay: &Replay<'_>, fabric: &Fabric) -> LostRoute {
        let topology = &replay.tables.topology;
        let end_name = |switch: SwitchId, port: PortId| match topology.peer(switch, port) {
            Some(peer) => match peer.end.node {
                NodeId::Host(host) => topology.host(host).name.clone(),
                NodeId::Switch(other) => topology.switch(other).name.clone(),
            },
            None => "?".to_owned(),
        };
        let mut nodes = vec![end_name(self.source, self.source_port)];
        nodes.push(topology.switch(self.source).name.clone());
        let mut at = (self.source, self.source_port);
        for &arc in &self.arcs {
            let arc = fabric.arc(arc);
            nodes.push(topology.switch(arc.to).name.clone());
            at = (arc.to, arc.in_port);
        }
        nodes.push(end_name(at.0, self.out_port));
        LostRoute {
            class: replay.class.to_owned(),
            nodes,
            tags: self
                .tags
                .iter()
                .map(|&tag| replay.lookup.tags[usize::from(tag)])
                .collect(),
            switch: topology.switch(at.0).name.clone(),
            in_port: at.1,
            out_port: self.out_port,
        }
    }
}
