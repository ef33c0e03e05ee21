//! A policy applied to a topology: the set of routes, enumerated lazily.

use std::sync::Arc;

use thiserror::Error;

use super::policy::RoutePolicy;
use super::route::{Path, Route};
use super::search::{Guide, Search};
use crate::topology::{Fabric, SwitchId, Topology};

/// Why a policy does not apply to a topology.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RouteError {
    /// Up-down routes need to know what is up.
    #[error(
        "up-down routes need a layered topology, but switch `{switch}` has no layer or is linked to a switch \
         of its own layer; set `layer` on every switch, or use shortest paths"
    )]
    NotLayered {
        /// A switch that breaks the layers.
        switch: String,
    },
    /// Too few switches for any route.
    #[error("a route has at least 1 switch; raise the limit of 0 switches")]
    NoSwitches,
}

/// The routes of a policy over the live part of a topology.
///
/// Routes are handed out as [`Path`]s, one per sequence of links, so that hosts on the same switch do
/// not multiply the work; [`RouteSet::routes`] spells them out host by host. Nothing is stored but the
/// path under way. The order depends on ids and port numbers alone.
#[derive(Clone, Debug)]
pub struct RouteSet {
    policy: RoutePolicy,
    fabric: Fabric,
    /// Whether a switch has hosts, by switch index.
    edge: Arc<[bool]>,
}

impl RouteSet {
    /// Applies a policy to a topology.
    ///
    /// # Errors
    /// [`RouteError`] if the policy does not fit the topology.
    pub fn new(topology: &Topology, policy: RoutePolicy) -> Result<Self, RouteError> {
        match &policy {
            RoutePolicy::UpDown { .. } => {
                if let Some(switch) = topology.unlayered_switch() {
                    let switch = topology.switch(switch).name.clone();
                    return Err(RouteError::NotLayered { switch });
                }
            }
            RoutePolicy::AllSimple { max_switches: 0 } => return Err(RouteError::NoSwitches),
            RoutePolicy::AllSimple { .. } | RoutePolicy::Shortest => {}
        }
        let fabric = Fabric::new(topology);
        let edge = fabric
            .switch_ids()
            .map(|s| !fabric.attachments(s).is_empty());
        Ok(Self {
            edge: edge.collect(),
            policy,
            fabric,
        })
    }

    /// The policy.
    #[must_use]
    pub fn policy(&self) -> &RoutePolicy {
        &self.policy
    }

    /// The live network that the routes run over; [`Path::arcs`] are its arcs.
    #[must_use]
    pub fn fabric(&self) -> &Fabric {
        &self.fabric
    }

    /// All paths.
    #[must_use]
    pub fn paths(&self) -> Paths<'_> {
        self.paths_of(self.fabric.edge_switches().collect(), None)
    }

    /// The paths that start at one switch.
    #[must_use]
    pub fn paths_from(&self, from: SwitchId) -> Paths<'_> {
        self.paths_of(vec![from], None)
    }

    /// The paths from one switch to another.
    #[must_use]
    pub fn paths_between(&self, from: SwitchId, to: SwitchId) -> Paths<'_> {
        let mut targets = vec![false; self.edge.len()];
        targets[to.index()] = self.edge[to.index()];
        self.paths_of(vec![from], Some(targets.into()))
    }

    /// Calls `visit` on all paths.
    pub fn for_each_path(&self, mut visit: impl FnMut(Path<'_>)) {
        let mut paths = self.paths();
        while let Some(path) = paths.advance() {
            visit(path);
        }
    }

    /// All routes, host by host.
    pub fn routes(&self) -> impl Iterator<Item = Route> + '_ {
        let mut paths = self.paths();
        let batches = std::iter::from_fn(move || {
            let path = paths.advance()?;
            let route = |(source, destination)| path.route(&self.fabric, source, destination);
            Some(path.pairs().map(route).collect::<Vec<_>>())
        });
        batches.flatten()
    }

    fn paths_of(&self, mut sources: Vec<SwitchId>, targets: Option<Arc<[bool]>>) -> Paths<'_> {
        sources.retain(|s| self.edge[s.index()]);
        sources.reverse();
        Paths {
            set: self,
            sources,
            targets: targets.unwrap_or_else(|| Arc::clone(&self.edge)),
            search: None,
        }
    }

    fn guide(&self, source: SwitchId, targets: &[bool]) -> Guide {
        match self.policy {
            RoutePolicy::Shortest => Guide::shortest(&self.fabric, source, targets),
            RoutePolicy::AllSimple { max_switches } => {
                Guide::within(&self.fabric, targets, max_switches.saturating_sub(1))
            }
            RoutePolicy::UpDown { bounces } => Guide::up_down(&self.fabric, targets, bounces),
        }
    }
}

/// A walk through the paths of a [`RouteSet`].
#[derive(Debug)]
pub struct Paths<'a> {
    set: &'a RouteSet,
    /// The sources still to come, last first.
    sources: Vec<SwitchId>,
    targets: Arc<[bool]>,
    search: Option<(SwitchId, Search<'a>)>,
}

impl Paths<'_> {
    /// The next path. Its links are borrowed until the next call.
    pub fn advance(&mut self) -> Option<Path<'_>> {
        let (from, to) = self.step()?;
        let (_, search) = self.search.as_ref()?;
        let fabric = &self.set.fabric;
        Some(Path {
            from,
            to,
            arcs: search.arcs(),
            sources: fabric.attachments(from),
            destinations: fabric.attachments(to),
        })
    }

    /// Moves to the next path that joins two different hosts; its ends.
    fn step(&mut self) -> Option<(SwitchId, SwitchId)> {
        loop {
            if let Some((from, search)) = &mut self.search {
                while let Some(to) = search.advance() {
                    if to != *from || self.set.fabric.attachments(to).len() > 1 {
                        return Some((*from, to));
                    }
                }
            }
            let from = self.sources.pop()?;
            let guide = self.set.guide(from, &self.targets);
            let targets = Arc::clone(&self.targets);
            self.search = Some((from, Search::new(&self.set.fabric, guide, from, targets)));
        }
    }
}
