//! Replays every promised route through the rules: from its source host to its destination host it
//! must stay lossless, the class's initial tag coming first.
//!
//! Shortest and up-down routes (through virtual layers, too) are too many to follow one by one:
//! they are replayed over their states (which link a packet is on, with which tag, and what the
//! policy remembers of it). All others are enumerated. The states of up-down routes describe walks
//! that may visit a switch twice, which routes never do; if only such a walk turns lossy, the
//! routes themselves are enumerated, so the answer is always exact.

mod replay;
mod shortest;
mod walk;

use quantities::PortId;
use topology::routes::{RoutePolicy, RouteSet};
use topology::{Fabric, NodeId, SwitchId};

use super::error::{LostRoute, PlanError};
use super::rules::Rules;
use crate::model::Promise;
use replay::OnePlan;
pub(super) use replay::{Marking, Replay, Row};
use walk::{Lost, UpDown, VirtualUpDown, Walker};

/// Replays one promise; the first thing that is wrong with it.
pub(super) fn replay(rules: &Rules<'_>, promise: &Promise) -> Result<(), PlanError> {
    let (tables, lookup) = (rules.tables, &rules.lookup);
    let class = &tables.tagging.classes[promise.class.index()];
    let Some(initial) = lookup.index(class.initial) else {
        return Ok(()); // refused before
    };
    let replay = Replay {
        tables,
        marking: OnePlan {
            lookup,
            kind: lookup.kind(promise.class),
        },
        class: &class.name,
        initial,
    };
    let set = RouteSet::new(&tables.topology, promise.routes.clone())?;
    replay.policy(&set)
}

impl<M: Marking> Replay<'_, M> {
    /// Replays the routes of a set; the first that turns lossy.
    pub(super) fn policy(&self, set: &RouteSet) -> Result<(), PlanError> {
        let lost = match set.policy() {
            RoutePolicy::Shortest => shortest::replay(self, set.fabric()),
            RoutePolicy::UpDown { bounces } => {
                let space = UpDown::new(set.fabric(), *bounces);
                Walker::new(self, set.fabric(), &space).first_lost()
            }
            RoutePolicy::VirtualUpDown { bounces } => {
                let space = VirtualUpDown::new(set.fabric(), *bounces);
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
}

impl Lost {
    /// The route in words, with names.
    pub(super) fn describe<M: Marking>(
        &self,
        replay: &Replay<'_, M>,
        fabric: &Fabric,
    ) -> LostRoute {
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
                .map(|&tag| replay.marking.name(tag))
                .collect(),
            switch: topology.switch(at.0).name.clone(),
            in_port: at.1,
            out_port: self.out_port,
        }
    }
}
