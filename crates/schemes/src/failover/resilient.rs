//! Algorithm 1 of Stephens15 for Plinko and MPLS-FRR: level by level, a backup route for every hop
//! of every route of the level before.
//!
//! Each route knows the switch where packets turn onto it, what their header says there, which
//! ports of that switch have failed, and every failure that its packets have met. So routes are a
//! tree for every source, and the rules of one switch for one header never overlap: each needs the
//! output of the ones before it to be down.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use indexmap::IndexMap;
use plan::failover::{
    Action, Destination, LabelKind, Output, PortMask, PortMatch, ReverseMatch, Rule, Ternary, Write,
};
use quantities::PortId;
use topology::{ArcId, Fabric, SwitchId};

use super::paths::{Failures, Ways};
use super::{FailoverError, FailoverScheme, Network, Placed};

/// A route that packets turn onto at a switch.
#[derive(Clone)]
pub(super) struct Route {
    /// The switch.
    pub(super) at: SwitchId,
    /// The way that its packets have come, the latest port first.
    pub(super) reverse: Vec<u8>,
    /// How many failures its packets have met.
    pub(super) level: u8,
    /// The route that they have followed so far (MPLS-FRR).
    pub(super) followed: u32,
    /// The number of this route (MPLS-FRR).
    pub(super) number: u32,
    /// Ports of the switch that have failed.
    pub(super) down: PortMask,
    /// Everything that has failed.
    pub(super) failures: Failures,
    /// The way on; none if packets are dropped.
    pub(super) path: Vec<ArcId>,
}

impl Route {
    /// A route for packets from hosts, without a way yet.
    pub(super) fn from_host(at: SwitchId) -> Self {
        Self {
            at,
            reverse: vec![],
            level: 0,
            followed: 0,
            number: 0,
            down: PortMask::EMPTY,
            failures: Failures::default(),
            path: vec![],
        }
    }

    /// The route, without a way yet, of packets that find this hop of the route failed.
    pub(super) fn turned_at(&self, network: &Network<'_>, homes: &[SwitchId], hop: usize) -> Self {
        let fabric = &network.fabric;
        let arc = self.path[hop];
        let taken = fabric.arc(arc);
        let come = self.path[..hop].iter().rev();
        let come = come.map(|&arc| byte(fabric.arc(arc).in_port));
        let (followed, down) = match hop {
            0 => (self.followed, self.down),
            _ => (self.number, PortMask::EMPTY),
        };
        Self {
            at: taken.from,
            reverse: come.chain(self.reverse.iter().copied()).collect(),
            level: self.level + 1,
            followed,
            number: 0,
            down: down.with(taken.out_port),
            failures: (self.failures).and(fabric, arc, network.options.protect, homes),
            path: vec![],
        }
    }

    /// The links that its packets have crossed, the last first.
    pub(super) fn crossed(&self, fabric: &Fabric) -> Vec<ArcId> {
        let mut crossed = Vec::new();
        let mut at = self.at;
        for &port in &self.reverse {
            let Some(back) = fabric.arc_at(at, PortId::new(u16::from(port))) else {
                break;
            };
            crossed.push(fabric.reverse(back));
            at = fabric.arc(back).to;
        }
        crossed
    }
}

/// Plans one destination.
pub(super) fn plan(
    network: &Network<'_>,
    destination: &Destination,
) -> Result<Placed, FailoverError> {
    let mut planner = Planner::new(network, destination);
    let mut level = planner.defaults();
    for _ in 0..network.options.resilience {
        let mut next = Vec::new();
        for route in &level {
            planner.protect(route, &mut next);
        }
        level = next;
    }
    if network.options.drops_beyond() {
        level.iter().for_each(|route| planner.end(route));
    }
    planner.finish()
}

/// The rules of all routes to a destination, for schemes whose rules match the way that a packet
/// has come.
pub(super) fn rules_of(
    network: &Network<'_>,
    destination: &Destination,
    routes: &[Route],
) -> Result<Placed, FailoverError> {
    let mut planner = Planner::new(network, destination);
    for route in routes {
        if route.path.is_empty() {
            planner.drop_at(route);
            continue;
        }
        planner.install(route);
        if network.options.drops_beyond() && route.level == network.options.resilience {
            planner.end(route);
        }
    }
    planner.finish()
}

/// The ways on from a switch that are part of routes.
#[derive(Clone, Default)]
struct Common {
    /// How many routes each is part of.
    counts: IndexMap<Box<[ArcId]>, u32, foldhash::fast::FixedState>,
    /// Their places in `counts`: the most common first, of those the shortest, of those the oldest.
    ranked: BTreeSet<(Reverse<u32>, usize, usize)>,
}

impl Common {
    /// Counts a way on once more.
    fn count(&mut self, way: &[ArcId]) {
        let place = match self.counts.get_full_mut(way) {
            Some((place, _, count)) => {
                self.ranked.remove(&(Reverse(*count), way.len(), place));
                *count += 1;
                self.ranked.insert((Reverse(*count), way.len(), place));
                return;
            }
            None => self.counts.insert_full(way.into(), 1).0,
        };
        self.ranked.insert((Reverse(1), way.len(), place));
    }

    /// The ways on, the most common first.
    fn ways(&self) -> impl Iterator<Item = &[ArcId]> {
        let known = |&(_, _, place): &(_, _, usize)| self.counts.get_index(place);
        self.ranked.iter().filter_map(known).map(|(way, _)| &**way)
    }
}

struct Planner<'a> {
    network: &'a Network<'a>,
    code: u32,
    ways: Ways<'a>,
    /// How often each way on from a switch is part of a route.
    common: Vec<Common>,
    rules: Placed,
    routes: u32,
    longest: usize,
}

impl<'a> Planner<'a> {
    fn new(network: &'a Network<'a>, destination: &Destination) -> Self {
        Self {
            network,
            code: destination.code,
            ways: network.ways(destination),
            common: vec![Common::default(); network.fabric.switch_count()],
            rules: Placed::default(),
            routes: 0,
            longest: 0,
        }
    }

    /// The rules, if the header has room for the ways.
    fn finish(self) -> Result<Placed, FailoverError> {
        self.rules.with_longest(self.longest, self.network.options)
    }

    /// The routes that are followed while nothing fails.
    fn defaults(&mut self) -> Vec<Route> {
        let mut routes = Vec::new();
        for &source in &self.network.sources {
            if self.ways.homes.contains(&source) {
                continue;
            }
            routes.extend(self.complete(Route::from_host(source)));
        }
        routes
    }

    /// Backup routes for every hop of a route.
    fn protect(&mut self, route: &Route, next: &mut Vec<Route>) {
        for hop in 0..route.path.len() {
            let start = route.turned_at(self.network, &self.ways.homes, hop);
            next.extend(self.complete(start));
        }
    }

    /// Drops what meets one more failure on a route of the last level whose packets have met a
    /// failed link to their destination: where that is a failed switch, they may meet as many
    /// failures as it has links.
    fn end(&mut self, route: &Route) {
        if route.failures.links.is_empty() {
            return;
        }
        let fabric = &self.network.fabric;
        let mut reverse = route.reverse.clone();
        for (hop, &arc) in route.path.iter().enumerate() {
            let taken = fabric.arc(arc);
            let (followed, down) = match hop {
                0 => (route.followed, route.down),
                _ => (route.number, PortMask::EMPTY),
            };
            let down = down.with(taken.out_port);
            let rule = self.rule(&reverse, followed, PortMask::EMPTY, down);
            self.rules.push(taken.from, rule(Action::Drop));
            reverse.insert(0, byte(taken.in_port));
        }
    }

    /// Finds the way of a new route and makes its rules; a rule that drops if there is no way.
    fn complete(&mut self, mut route: Route) -> Option<Route> {
        let crossed = self.crossed(&route);
        // A backup way that follows the order of links is the same for many; a common one leaves
        // less of the order.
        let ordered = self.ways.order.is_some() && !crossed.is_empty();
        let common = (self.network.options.paths.takes_common() && !ordered)
            .then(|| self.most_common(route.at, &route.failures, &crossed))
            .flatten();
        let path = common.or_else(|| {
            self.ways
                .shortest_beside(route.at, &route.failures, &crossed)
        });
        let Some(path) = path else {
            self.drop_at(&route);
            return None;
        };
        self.routes += 1;
        route.number = self.routes;
        route.path = path;
        self.count(&route.path);
        self.install(&route);
        Some(route)
    }

    /// The links that a packet which turns onto a route must not cross again (DF-FI): those that it
    /// has crossed.
    fn crossed(&self, route: &Route) -> Vec<ArcId> {
        match self.network.options.scheme {
            FailoverScheme::DfFi => route.crossed(&self.network.fabric),
            _ => Vec::new(),
        }
    }

    /// Drops the packets of a route that has no way.
    fn drop_at(&mut self, route: &Route) {
        let rule = self.rule(&route.reverse, route.followed, PortMask::EMPTY, route.down);
        self.rules.push(route.at, rule(Action::Drop));
    }

    /// The rules of a route: one where packets turn onto it and, hop by hop, one at every switch
    /// after it.
    fn install(&mut self, route: &Route) {
        let fabric = &self.network.fabric;
        let source_routes = self.network.options.output == Output::SourceRoutes;
        let ports: Box<[u8]> = route
            .path
            .iter()
            .map(|&arc| byte(fabric.arc(arc).out_port))
            .collect();
        let labelled = self.network.options.scheme == FailoverScheme::MplsFrr;
        self.longest = self.longest.max(if labelled {
            ports.len()
        } else {
            route.reverse.len() + ports.len()
        });
        let mut reverse = route.reverse.clone();
        for (hop, &arc) in route.path.iter().enumerate() {
            let arc = fabric.arc(arc);
            let up = PortMask::single(arc.out_port);
            let (followed, down) = match hop {
                0 => (route.followed, route.down),
                _ => (route.number, PortMask::EMPTY),
            };
            let out = match hop {
                0 if source_routes => ports.clone(),
                _ => Box::new([ports[hop]]),
            };
            let write = if labelled && hop == 0 {
                Write::tag(route.number)
            } else {
                Write::default()
            };
            let rule = self.rule(&reverse, followed, up, down);
            let action = Action::Forward { route: out, write };
            self.rules.push(arc.from, rule(action));
            if source_routes {
                break;
            }
            reverse.insert(0, byte(arc.in_port));
        }
    }

    /// A rule for packets with this header while these ports are up and those down.
    fn rule(
        &self,
        reverse: &[u8],
        followed: u32,
        up: PortMask,
        down: PortMask,
    ) -> impl FnOnce(Action) -> Rule + use<> {
        let code = self.code;
        let plinko = self.network.options.scheme.label() == LabelKind::ReverseRoute;
        let reverse = if plinko {
            ReverseMatch::exact(reverse.iter().copied())
        } else {
            ReverseMatch::default()
        };
        let tag = if plinko {
            Ternary::ANY
        } else {
            Ternary::exact(followed)
        };
        move |action| Rule {
            tag,
            reverse,
            ports: PortMatch { up, down },
            ..Rule::to(code, action)
        }
    }

    /// The most common of the ways on from a switch that avoid the failures (Stephens15 section
    /// 4.5.3); of equally common ones the shortest.
    fn most_common(
        &self,
        at: SwitchId,
        failures: &Failures,
        crossed: &[ArcId],
    ) -> Option<Vec<ArcId>> {
        let fabric = &self.network.fabric;
        let open = |&arc: &ArcId| failures.spare(fabric, arc) && !crossed.contains(&arc);
        let mut ways = self.common[at.index()].ways();
        ways.find(|way| way.iter().all(open) && self.follows(way, crossed))
            .map(<[ArcId]>::to_vec)
    }

    /// Whether a way on follows the order of links, if there is one.
    fn follows(&self, path: &[ArcId], crossed: &[ArcId]) -> bool {
        let Some(order) = self.ways.order else {
            return true;
        };
        let links = crossed.first().into_iter().chain(path);
        let places = links.map(|arc| order[arc.index()]);
        places.is_sorted_by(|a, b| a < b)
    }

    /// Counts the ways on from every switch of a path.
    fn count(&mut self, path: &[ArcId]) {
        if !self.network.options.paths.takes_common() {
            return;
        }
        for start in 0..path.len() {
            let from = self.network.fabric.arc(path[start]).from;
            self.common[from.index()].count(&path[start..]);
        }
    }
}

/// A port as a hop; [`Network::new`] has seen to it that ports fit.
pub(super) fn byte(port: PortId) -> u8 {
    u8::try_from(port.get()).unwrap_or(u8::MAX)
}
