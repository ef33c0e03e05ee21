//! A policy applied to a topology: the set of routes, enumerated lazily.

use std::sync::Arc;

use super::bcube::Bcube;
use super::error::RouteError;
use super::explicit::{self, Listed};
use super::policy::RoutePolicy;
use super::route::{Path, Route};
use super::search::{Guide, Search};
use super::virtual_layers::VirtualReach;
use super::yen;
use crate::flattened::{FlattenedError, FlattenedLinks};
use crate::{ArcId, Distances, Fabric, SwitchId, Topology};

/// The most virtual layers: the costs of forwarding count ranks to 126.
const MOST_LAYERS: usize = 64;

/// The routes of a policy over the live part of a topology.
///
/// Routes are handed out as [`Path`]s, one per sequence of links, so that hosts on the same switch
/// do not multiply the work; [`RouteSet::routes`] spells them out host by host. Nothing is stored
/// but the path under way. The order depends on ids and port numbers alone.
#[derive(Clone, Debug)]
pub struct RouteSet {
    policy: RoutePolicy,
    fabric: Fabric,
    /// Whether a switch has hosts, by switch index.
    edge: Arc<[bool]>,
    aid: Aid,
}

/// What a policy needs beside the fabric.
#[derive(Clone, Debug)]
enum Aid {
    None,
    /// Distances to every edge switch, and the row of each by switch index.
    Distances(Distances, Vec<usize>),
    Bcube(Bcube),
    /// The listed routes, by first switch, else in their order.
    Listed(Vec<Listed>),
}

impl RouteSet {
    /// Applies a policy to a topology.
    ///
    /// # Errors
    /// [`RouteError`] if the policy does not fit the topology.
    pub fn new(topology: &Topology, policy: RoutePolicy) -> Result<Self, RouteError> {
        let fabric = Fabric::new(topology);
        let aid = Self::aid(topology, &fabric, &policy)?;
        let edge = fabric
            .switch_ids()
            .map(|s| !fabric.attachments(s).is_empty());
        Ok(Self {
            edge: edge.collect(),
            policy,
            fabric,
            aid,
        })
    }

    /// Checks that the policy fits, and prepares what it needs.
    fn aid(topology: &Topology, fabric: &Fabric, policy: &RoutePolicy) -> Result<Aid, RouteError> {
        match policy {
            RoutePolicy::UpDown { .. } => {
                if let Some(switch) = topology.unlayered_switch() {
                    let switch = topology.switch(switch).name.clone();
                    return Err(RouteError::NotLayered { switch });
                }
            }
            RoutePolicy::VirtualUpDown { .. } => {
                let layers = FlattenedLinks::new(topology)?.layer_count();
                if layers > MOST_LAYERS {
                    let most = MOST_LAYERS;
                    return Err(FlattenedError::TooManyLayers { layers, most }.into());
                }
            }
            RoutePolicy::AllSimple { max_switches: 0 } => {
                return Err(RouteError::Nothing("the most switches of a route"));
            }
            RoutePolicy::Ksp { k: 0 } => {
                return Err(RouteError::Nothing("the number of shortest paths"));
            }
            RoutePolicy::Ksp { .. } => {
                let targets: Vec<_> = fabric.edge_switches().collect();
                let mut rows = vec![0; fabric.switch_count()];
                for (row, target) in targets.iter().enumerate() {
                    rows[target.index()] = row;
                }
                return Ok(Aid::Distances(Distances::new(fabric, &targets), rows));
            }
            RoutePolicy::BcubeDigit | RoutePolicy::BcubeRotations => {
                return Ok(Aid::Bcube(Bcube::new(topology)?));
            }
            RoutePolicy::Explicit { routes } => {
                let mut listed = explicit::resolve(topology, fabric, routes)?;
                listed.sort_by_key(|route| route.from);
                return Ok(Aid::Listed(listed));
            }
            RoutePolicy::AllSimple { .. } | RoutePolicy::Shortest => {}
        }
        Ok(Aid::None)
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
            walk: None,
        }
    }

    /// Starts the walk through the paths from one switch to the targets.
    fn walk(&self, from: SwitchId, targets: &Arc<[bool]>) -> Walk<'_> {
        let guide = match &self.policy {
            RoutePolicy::Shortest => Guide::shortest(&self.fabric, from, targets),
            RoutePolicy::AllSimple { max_switches } => {
                Guide::within(&self.fabric, targets, max_switches.saturating_sub(1))
            }
            RoutePolicy::UpDown { bounces } => Guide::up_down(&self.fabric, targets, *bounces),
            RoutePolicy::VirtualUpDown { bounces } => Guide::VirtualUpDown {
                reach: VirtualReach::new(&self.fabric, targets, *bounces),
                most: *bounces,
            },
            RoutePolicy::Ksp { .. } | RoutePolicy::BcubeDigit | RoutePolicy::BcubeRotations => {
                let wanted = |s: &SwitchId| targets[s.index()];
                let mut ahead: Vec<_> = self.fabric.edge_switches().filter(wanted).collect();
                ahead.reverse();
                return Walk::Pairs {
                    from,
                    ahead,
                    to: from,
                    paths: Vec::new().into_iter(),
                    current: Vec::new(),
                };
            }
            RoutePolicy::Explicit { .. } => {
                let listed: &[Listed] = match &self.aid {
                    Aid::Listed(listed) => listed,
                    _ => &[],
                };
                let start = listed.partition_point(|route| route.from < from);
                let end = listed.partition_point(|route| route.from <= from);
                return Walk::Listed {
                    ahead: listed[start..end].iter(),
                    current: None,
                };
            }
        };
        let search = Search::new(&self.fabric, guide, from, Arc::clone(targets));
        Walk::Search(from, search)
    }

    /// The paths of one pair, for policies that are defined pair by pair.
    fn pair(&self, from: SwitchId, to: SwitchId) -> Vec<Vec<ArcId>> {
        if from == to {
            return vec![Vec::new()];
        }
        match (&self.policy, &self.aid) {
            (RoutePolicy::Ksp { k }, Aid::Distances(distances, rows)) => {
                let k = usize::try_from(*k).unwrap_or(usize::MAX);
                let row = distances.row(rows[to.index()]);
                yen::k_shortest(&self.fabric, from, to, k, row)
            }
            (RoutePolicy::BcubeDigit, Aid::Bcube(bcube)) => {
                let highest = bcube.levels() - 1;
                bcube.paths(&self.fabric, from, to, std::iter::once(highest))
            }
            (_, Aid::Bcube(bcube)) => {
                bcube.paths(&self.fabric, from, to, (0..bcube.levels()).rev())
            }
            _ => Vec::new(),
        }
    }

    /// The structure of a BCube policy.
    pub(super) fn bcube(&self) -> Option<&Bcube> {
        match &self.aid {
            Aid::Bcube(bcube) => Some(bcube),
            _ => None,
        }
    }

    /// The routes of an explicit policy.
    pub(super) fn listed(&self) -> &[Listed] {
        match &self.aid {
            Aid::Listed(listed) => listed,
            _ => &[],
        }
    }
}

/// The state of an enumeration from one switch.
#[derive(Debug)]
enum Walk<'a> {
    /// Depth-first, to all targets at once.
    Search(SwitchId, Search<'a>),
    /// Pair by pair.
    Pairs {
        from: SwitchId,
        /// The targets still to come, last first.
        ahead: Vec<SwitchId>,
        to: SwitchId,
        paths: std::vec::IntoIter<Vec<ArcId>>,
        current: Vec<ArcId>,
    },
    /// As listed.
    Listed {
        ahead: std::slice::Iter<'a, Listed>,
        current: Option<&'a Listed>,
    },
}

/// A walk through the paths of a [`RouteSet`].
#[derive(Debug)]
pub struct Paths<'a> {
    set: &'a RouteSet,
    /// The sources still to come, last first.
    sources: Vec<SwitchId>,
    targets: Arc<[bool]>,
    walk: Option<Walk<'a>>,
}

impl Paths<'_> {
    /// The next path. Its links are borrowed until the next call.
    pub fn advance(&mut self) -> Option<Path<'_>> {
        let (from, to) = self.step()?;
        let fabric = &self.set.fabric;
        let path = |arcs| Path {
            from,
            to,
            arcs,
            sources: fabric.attachments(from),
            destinations: fabric.attachments(to),
        };
        match self.walk.as_ref()? {
            Walk::Search(_, search) => Some(path(search.arcs())),
            Walk::Pairs { current, .. } => Some(path(current)),
            Walk::Listed { current, .. } => current.map(|listed| Path {
                sources: std::slice::from_ref(&listed.source),
                destinations: std::slice::from_ref(&listed.destination),
                ..path(&listed.arcs)
            }),
        }
    }

    /// Moves to the next path that joins two different hosts; its ends.
    fn step(&mut self) -> Option<(SwitchId, SwitchId)> {
        loop {
            if let Some(walk) = &mut self.walk
                && let Some(ends) = walk.step(self.set, &self.targets)
            {
                return Some(ends);
            }
            let from = self.sources.pop()?;
            self.walk = Some(self.set.walk(from, &self.targets));
        }
    }
}

impl Walk<'_> {
    fn step(&mut self, set: &RouteSet, targets: &[bool]) -> Option<(SwitchId, SwitchId)> {
        let joins = |from, to| from != to || set.fabric.attachments(to).len() > 1;
        match self {
            Self::Search(from, search) => loop {
                let to = search.advance()?;
                if joins(*from, to) {
                    return Some((*from, to));
                }
            },
            Self::Pairs {
                from,
                ahead,
                to,
                paths,
                current,
            } => loop {
                if let Some(path) = paths.next() {
                    *current = path;
                    return Some((*from, *to));
                }
                *to = ahead.pop()?;
                if joins(*from, *to) {
                    *paths = set.pair(*from, *to).into_iter();
                }
            },
            Self::Listed { ahead, current } => {
                *current = ahead.find(|route| targets[route.to.index()]);
                current.map(|route| (route.from, route.to))
            }
        }
    }
}
