//! Ways of DF-FI that are chosen within channels: where ways that know nothing of channels need too
//! many of them, or close a cycle by themselves.
//!
//! As Domke16 routes on the dependency graph: every channel has a graph of the pairs of links that
//! its packets take one after the other, and a way may only take pairs that close no cycle there. A
//! unit (source switch, destination, first link) is planned in one channel with all its backup
//! ways: in the one to which it brings the fewest new pairs. Ways without failures stay shortest;
//! backup ways are longer where the channel has no shortest.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use indexmap::IndexMap;
use plan::failover::Failover;
use topology::{ArcId, SwitchId};

use super::paths::{Failures, mix};
use super::resilient::{self, Route};
use super::{FailoverError, Network, PathPolicy};
use crate::acyclic::Acyclic;

/// The channel of every unit of a destination.
pub(super) type Chosen = IndexMap<(SwitchId, ArcId), u8>;

/// Hops by which backup ways may be longer than the shortest.
const LONGER: [usize; 1] = [4];

/// The same in the first attempt, which is quick: it takes the first channel that has room for a
/// unit.
const QUICK: [usize; 2] = [0, 2];

/// The same where no channel has room for a unit otherwise and no other may be opened.
const MUCH_LONGER: [usize; 3] = [4, 8, 32];

/// With how many orders of equal ways a unit is tried in a channel.
const ORDERS: u64 = 4;

/// How often everything is planned anew with other orders.
const ATTEMPTS: u64 = 8;

/// Links that are looked at in all before it is given up; a release build looks at some 15 million
/// a second.
const MAX_LOOKED_AT: u64 = 300_000_000;

/// How often a way is looked for anew when its pairs close a cycle together.
const TRIES: usize = 32;

/// Plans every destination with at most so many channels; `None` if that was not found.
pub(super) fn plan(
    network: &Network<'_>,
    most: u8,
) -> Result<Option<(Failover, Vec<Chosen>)>, FailoverError> {
    let mut left = MAX_LOOKED_AT;
    let found = (0..ATTEMPTS).find_map(|attempt| {
        let mut planner = Planner {
            network,
            most: usize::from(most),
            attempt,
            channels: Vec::new(),
            left,
        };
        let found = planner.all();
        left = planner.left;
        found
    });
    let Some((routes, chosen)) = found else {
        return Ok(None);
    };
    let mut failover = network.empty();
    network.gather(&mut failover, |destination| {
        let all = &network.destinations;
        let at = all.partition_point(|other| other.code < destination.code);
        resilient::rules_of(network, destination, &routes[at])
    })?;
    Ok(Some((failover, chosen)))
}

/// Links that packets who know of these failures must not take: one more failure, and all that is
/// left has been crossed.
type DeadEnds = BTreeSet<(Failures, ArcId)>;

struct Planner<'a> {
    network: &'a Network<'a>,
    most: usize,
    attempt: u64,
    /// The pairs of links that packets of a channel take.
    channels: Vec<Acyclic>,
    /// How many links may still be looked at.
    left: u64,
}

/// A unit as a channel would have it.
struct Fit {
    channel: usize,
    routes: Vec<Route>,
    /// What it brings to the channel.
    added: Vec<(u32, u32)>,
}

impl Fit {
    /// Pairs that are new to the channel, then the lengths of ways.
    fn cost(&self) -> (usize, usize) {
        let lengths = self.routes.iter().map(|route| route.path.len());
        (self.added.len(), lengths.sum())
    }
}

impl Planner<'_> {
    /// By destination: all routes, and the channels of its units.
    fn all(&mut self) -> Option<(Vec<Vec<Route>>, Vec<Chosen>)> {
        let network = self.network;
        let count = network.destinations.len();
        let mut routes = vec![Vec::new(); count];
        let mut chosen = vec![Chosen::default(); count];
        for &source in &network.sources {
            for (at, destination) in network.destinations.iter().enumerate() {
                let seed = mix(network.options.seed ^ u64::from(destination.code));
                let toward = Toward {
                    network,
                    homes: destination.homes(network.topology),
                    spread: mix(seed ^ (self.attempt << 32)),
                };
                if toward.homes.contains(&source) {
                    continue;
                }
                let mut start = Route::from_host(source);
                for _ in 0..=network.options.resilience {
                    let fit = self.unit(&toward, &start)?;
                    let channel = u8::try_from(fit.channel).ok()?;
                    let first = fit.routes.first().and_then(|route| route.path.first());
                    let first = first.copied();
                    routes[at].extend(fit.routes);
                    let Some(first) = first else { break };
                    chosen[at].insert((source, first), channel);
                    start = toward.beside(&start, first);
                }
            }
        }
        Some((routes, chosen))
    }

    /// A unit in the channel to which it brings the fewest pairs; in a new one if it fits into
    /// none.
    fn unit(&mut self, toward: &Toward<'_>, start: &Route) -> Option<Fit> {
        let mut dead = DeadEnds::new();
        let quick = self.attempt == 0;
        let usual: &[usize] = if quick { &QUICK } else { &LONGER };
        let mut fit = self.first(toward, start, usual, &mut dead);
        if fit.is_none() && self.channels.len() < self.most {
            let arcs = self.network.fabric.arcs().len();
            self.channels.push(Acyclic::new(arcs));
            fit = self.first(toward, start, usual, &mut dead);
        }
        let fit = fit.or_else(|| self.first(toward, start, &MUCH_LONGER, &mut dead))?;
        let graph = &mut self.channels[fit.channel];
        let all = fit.added.iter().all(|&(from, to)| graph.add(from, to));
        all.then_some(fit)
    }

    /// The best of the channels that are open, with ways as short as they can be there.
    fn first(
        &mut self,
        toward: &Toward<'_>,
        start: &Route,
        longer: &[usize],
        dead: &mut DeadEnds,
    ) -> Option<Fit> {
        let mut longer = longer.iter();
        longer.find_map(|&longer| self.best(toward, start, longer, dead))
    }

    /// The best of the channels that are open; in the first attempt the first that has room.
    fn best(
        &mut self,
        toward: &Toward<'_>,
        start: &Route,
        longer: usize,
        dead: &mut DeadEnds,
    ) -> Option<Fit> {
        let quick = self.attempt == 0;
        let orders = if quick { 1 } else { ORDERS };
        let mut best: Option<Fit> = None;
        for channel in 0..self.channels.len() {
            for order in 0..orders {
                let mut fit = None;
                for _ in 0..TRIES {
                    let known = dead.len();
                    fit = self.fit(channel, toward, start, (longer, order), dead);
                    if dead.len() == known {
                        break;
                    }
                }
                let better = |fit: &Fit| best.as_ref().is_none_or(|best| fit.cost() < best.cost());
                if let Some(fit) = fit.filter(better) {
                    best = Some(fit);
                }
                if quick && best.is_some() {
                    return best;
                }
            }
        }
        best
    }

    /// A unit in a channel, whose graph stays as it is.
    fn fit(
        &mut self,
        channel: usize,
        toward: &Toward<'_>,
        start: &Route,
        (longer, order): (usize, u64),
        dead: &mut DeadEnds,
    ) -> Option<Fit> {
        let mut unit = Unit {
            toward,
            graph: &mut self.channels[channel],
            added: Vec::new(),
            longer,
            order,
            routes: Vec::new(),
            left: &mut self.left,
            dead,
        };
        let planned = unit.plan(start).is_some();
        let Unit {
            graph,
            added,
            routes,
            ..
        } = unit;
        added.iter().for_each(|&(from, to)| graph.remove(from, to));
        planned.then_some(Fit {
            channel,
            routes,
            added,
        })
    }
}

/// A destination, as its ways are looked for.
struct Toward<'a> {
    network: &'a Network<'a>,
    homes: Vec<SwitchId>,
    spread: u64,
}

impl Toward<'_> {
    /// What becomes of a packet that was to turn onto a route at its first hop when that fails too:
    /// no way yet.
    fn beside(&self, route: &Route, first: ArcId) -> Route {
        let fabric = &self.network.fabric;
        let taken = fabric.arc(first);
        let protect = self.network.options.protect;
        Route {
            down: route.down.with(taken.out_port),
            failures: route.failures.and(fabric, first, protect, &self.homes),
            level: route.level + 1,
            ..Route::from_host(route.at)
        }
    }

    /// Hops to the destination from every switch, around failures and the links that the packet has
    /// crossed.
    fn hops(&self, failures: &Failures, crossed: &[ArcId]) -> Vec<usize> {
        let fabric = &self.network.fabric;
        let mut hops = vec![usize::MAX; fabric.switch_count()];
        let mut reached = self.homes.clone();
        for home in &self.homes {
            hops[home.index()] = 0;
        }
        let mut done = 0;
        while let Some(&at) = reached.get(done) {
            done += 1;
            for (out, arc) in fabric.out_arcs(at) {
                let far = arc.to;
                let known = hops[far.index()] != usize::MAX || failures.switches.contains(&far);
                let back = fabric.reverse(out);
                if !known && failures.spare(fabric, back) && !crossed.contains(&back) {
                    hops[far.index()] = hops[at.index()] + 1;
                    reached.push(far);
                }
            }
        }
        hops
    }
}

/// A unit that is being planned in a channel.
struct Unit<'a> {
    toward: &'a Toward<'a>,
    graph: &'a mut Acyclic,
    /// The pairs that it has brought to the channel.
    added: Vec<(u32, u32)>,
    /// Hops by which backup ways may be longer than the shortest.
    longer: usize,
    /// Which of several orders equal ways have.
    order: u64,
    routes: Vec<Route>,
    /// How many links may still be looked at.
    left: &'a mut u64,
    dead: &'a mut DeadEnds,
}

impl Unit<'_> {
    /// All routes of the unit; `None` if one finds no way in the channel.
    fn plan(&mut self, start: &Route) -> Option<()> {
        let resilience = self.toward.network.options.resilience;
        let fabric = &self.toward.network.fabric;
        let first = self.complete(start.clone())?;
        self.routes.push(first);
        let mut done = 0;
        while let Some(route) = self.routes.get(done).cloned() {
            done += 1;
            if route.level < resilience {
                // What meets a failure at its first link belongs to the unit of another.
                let from = usize::from(route.reverse.is_empty());
                let crossed = route.crossed(fabric);
                for hop in from..route.path.len() {
                    // A link that the packet has crossed is up.
                    let link = fabric.arc(route.path[hop]).link;
                    let mut before = crossed.iter().chain(&route.path[..hop]);
                    if before.any(|&arc| fabric.arc(arc).link == link) {
                        continue;
                    }
                    let turned = route.turned_at(self.toward.network, &self.toward.homes, hop);
                    let turned = self.complete(turned)?;
                    self.routes.push(turned);
                }
            }
        }
        Some(())
    }

    /// A route with its way, an empty one if the network has none; `None` if the channel has none.
    fn complete(&mut self, mut route: Route) -> Option<Route> {
        let crossed = route.crossed(&self.toward.network.fabric);
        self.look_at(self.toward.network.fabric.arcs().len())?;
        let hops = self.toward.hops(&route.failures, &crossed);
        if hops[route.at.index()] == usize::MAX {
            return self.give_up(route, &crossed);
        }
        let mut banned = BTreeSet::new();
        for _ in 0..TRIES {
            let path = self.search(&route, &crossed, &hops, &banned)?;
            match self.take(crossed.first().copied(), &path) {
                Ok(()) => {
                    route.path = path;
                    return Some(route);
                }
                Err(pair) => drop(banned.insert(pair)),
            }
        }
        None
    }

    /// Counts links that are looked at; `None` if there have been too many.
    fn look_at(&mut self, links: usize) -> Option<()> {
        *self.left = self.left.checked_sub(links as u64)?;
        Some(())
    }

    /// A route without a way if there is none at all; else the link by which its packets came is a
    /// dead end.
    fn give_up(&mut self, route: Route, crossed: &[ArcId]) -> Option<Route> {
        let hops = self.toward.hops(&route.failures, &[]);
        let Some(&last) = crossed
            .first()
            .filter(|_| hops[route.at.index()] != usize::MAX)
        else {
            return Some(route);
        };
        let fabric = &self.toward.network.fabric;
        let here = fabric
            .out_arcs(route.at)
            .filter(|(_, arc)| route.down.contains(arc.out_port));
        let here: Vec<_> = here.map(|(_, arc)| (arc.link, arc.to)).collect();
        let mut before = route.failures;
        before
            .links
            .retain(|link| here.iter().all(|(at, _)| at != link));
        before
            .switches
            .retain(|switch| here.iter().all(|(_, to)| to != switch));
        self.dead.insert((before, last));
        None
    }

    /// Adds the pairs of a way to the channel's graph; else the first that closes a cycle.
    fn take(&mut self, last: Option<ArcId>, path: &[ArcId]) -> Result<(), (ArcId, ArcId)> {
        let before = self.added.len();
        let links: Vec<ArcId> = last.into_iter().chain(path.iter().copied()).collect();
        for pair in links.windows(2) {
            let (from, to) = (number(pair[0]), number(pair[1]));
            if self.graph.has(from, to) {
                continue;
            }
            if !self.graph.add(from, to) {
                for (from, to) in self.added.drain(before..) {
                    self.graph.remove(from, to);
                }
                return Err((pair[0], pair[1]));
            }
            self.added.push((from, to));
        }
        Ok(())
    }

    /// The shortest way over pairs of which none closes a cycle by itself; of several one with few
    /// new pairs.
    fn search(
        &mut self,
        route: &Route,
        crossed: &[ArcId],
        hops: &[usize],
        banned: &BTreeSet<(ArcId, ArcId)>,
    ) -> Option<Vec<ArcId>> {
        let fabric = &self.toward.network.fabric;
        let by_default = route.failures == Failures::default();
        let longer = if by_default { 0 } else { self.longer };
        let most = hops[route.at.index()] + longer;
        let dead = self.dead.iter();
        let dead = dead.filter(|(failures, _)| *failures == route.failures);
        let dead: Vec<ArcId> = dead.map(|&(_, arc)| arc).collect();
        let mut came: Vec<Option<Option<ArcId>>> = vec![None; fabric.arcs().len()];
        let mut open =
            BinaryHeap::from([Reverse((0, 0, 0, route.at, crossed.first().copied(), None))]);
        while let Some(Reverse((length, cost, _, at, last, before))) = open.pop() {
            if length > 0
                && let Some(last) = last
            {
                if came[last.index()].is_some() {
                    continue;
                }
                came[last.index()] = Some(before);
                if self.toward.homes.contains(&at) {
                    return Some(path_to(&came, last));
                }
            }
            self.look_at(fabric.out(at).count())?;
            for (next, arc) in fabric.out_arcs(at) {
                let left = hops[arc.to.index()];
                let barred = left == usize::MAX || length + 1 + left > most;
                let taken =
                    came[next.index()].is_some() || crossed.contains(&next) || dead.contains(&next);
                if barred || taken || !route.failures.spare(fabric, next) {
                    continue;
                }
                let Some(price) = self.price(last, next, banned) else {
                    continue;
                };
                let price = if by_default || self.order > 0 {
                    0
                } else {
                    price
                };
                let before = if length > 0 { last } else { None };
                let tie = self.tie(route.at, next);
                open.push(Reverse((
                    length + 1,
                    cost + price,
                    tie,
                    arc.to,
                    Some(next),
                    before,
                )));
            }
        }
        None
    }

    /// What a pair costs the channel: nothing if it has it already; `None` if it closes a cycle.
    fn price(
        &mut self,
        last: Option<ArcId>,
        next: ArcId,
        banned: &BTreeSet<(ArcId, ArcId)>,
    ) -> Option<u32> {
        let Some(last) = last else { return Some(0) };
        let (from, to) = (number(last), number(next));
        if self.graph.has(from, to) {
            return Some(0);
        }
        let fits = !banned.contains(&(last, next)) && self.graph.admits(from, to);
        fits.then_some(1)
    }

    /// Which of equal links comes first.
    fn tie(&self, from: SwitchId, arc: ArcId) -> u64 {
        let spread = self.toward.spread ^ mix(self.order);
        match self.toward.network.options.paths {
            PathPolicy::FirstShortest if self.order == 0 => arc.index() as u64,
            PathPolicy::Common => mix(spread ^ arc.index() as u64),
            PathPolicy::RandomShortest | PathPolicy::FirstShortest | PathPolicy::CommonOnly => {
                mix(mix(spread ^ from.index() as u64) ^ arc.index() as u64)
            }
        }
    }
}

/// The links to one, each but the first with the one before it.
fn path_to(came: &[Option<Option<ArcId>>], last: ArcId) -> Vec<ArcId> {
    let mut path = vec![last];
    let mut at = last;
    while let Some(Some(before)) = came[at.index()] {
        path.push(before);
        at = before;
    }
    path.reverse();
    path
}

fn number(arc: ArcId) -> u32 {
    u32::try_from(arc.index()).unwrap_or(u32::MAX)
}
