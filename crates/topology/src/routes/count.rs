//! Counting routes without walking them, where the policy allows.

use rayon::prelude::*;

use super::policy::RoutePolicy;
use super::set::RouteSet;
use crate::{Arc, ArcId, Attachment, Fabric, SwitchId, UNREACHABLE};

/// How many routes there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouteCount {
    /// The number, from host to host.
    pub routes: u128,
    /// Whether it is exact. Up-down routes that are long enough to meet themselves are counted with
    /// those that do, and so are all routes through virtual layers, so that the number is an upper
    /// bound.
    pub exact: bool,
}

impl RouteSet {
    /// Counts the routes. Shortest and up-down routes are counted by dynamic programming over
    /// links; the routes of the other policies are enumerated.
    #[must_use]
    pub fn count(&self) -> RouteCount {
        let fabric = self.fabric();
        let mut total = Total::new(fabric);
        let mut exact = true;
        match self.policy() {
            RoutePolicy::Shortest => {
                total.add(|from| (shortest_ways(fabric, from), 0));
            }
            RoutePolicy::UpDown { bounces } => {
                let counter = UpDownWays::new(fabric, *bounces);
                let longest = total.add(|from| counter.from(from));
                exact = longest <= shortest_cycle(fabric);
            }
            RoutePolicy::VirtualUpDown { bounces } => {
                let counter = VirtualWays::new(fabric, *bounces);
                total.add(|from| (counter.from(from), 0));
                exact = false;
            }
            _ => self.for_each_path(|path| {
                let pairs = u128::try_from(path.pairs().count()).unwrap_or(u128::MAX);
                total.routes = total.routes.saturating_add(pairs);
            }),
        }
        RouteCount {
            routes: total.routes,
            exact,
        }
    }
}

/// Adds up paths times host pairs.
struct Total<'a> {
    fabric: &'a Fabric,
    /// Whether a host is attached twice, so that pairs of ends can be one host.
    multihomed: bool,
    routes: u128,
}

impl<'a> Total<'a> {
    fn new(fabric: &'a Fabric) -> Self {
        let mut hosts = Vec::new();
        for switch in fabric.switch_ids() {
            hosts.extend(fabric.attachments(switch).iter().map(|a| a.host));
        }
        let attached = hosts.len();
        hosts.sort_unstable();
        hosts.dedup();
        Self {
            fabric,
            multihomed: hosts.len() < attached,
            routes: 0,
        }
    }

    /// Adds the paths that `ways` tells to every switch and the length of the longest, from each
    /// switch with hosts; returns the greatest length.
    fn add(&mut self, ways: impl Fn(SwitchId) -> (Vec<u128>, usize) + Sync) -> usize {
        let sources: Vec<SwitchId> = self.fabric.edge_switches().collect();
        let counted = sources.par_iter().map(|&from| {
            let (ways, length) = ways(from);
            (self.routes_from(from, &ways), length)
        });
        let (routes, longest) =
            counted.reduce(|| (0, 0), |a, b| (a.0.saturating_add(b.0), a.1.max(b.1)));
        self.routes = self.routes.saturating_add(routes);
        longest
    }

    fn routes_from(&self, from: SwitchId, ways: &[u128]) -> u128 {
        let mut routes = 0u128;
        let near = self.fabric.attachments(from);
        for to in self.fabric.edge_switches() {
            let far = self.fabric.attachments(to);
            let ways = if to == from { 1 } else { ways[to.index()] };
            if ways == 0 {
                continue;
            }
            let mut pairs = near.len() * far.len();
            if self.multihomed || to == from {
                let same = |a: &Attachment| far.iter().filter(|b| b.host == a.host).count();
                pairs -= near.iter().map(same).sum::<usize>();
            }
            let pairs = u128::try_from(pairs).unwrap_or(u128::MAX);
            routes = routes.saturating_add(ways.saturating_mul(pairs));
        }
        routes
    }
}

/// The number of shortest paths from a switch to every other.
fn shortest_ways(fabric: &Fabric, from: SwitchId) -> Vec<u128> {
    let hops = fabric.distances(from);
    let mut order: Vec<_> = fabric.switch_ids().collect();
    order.retain(|s| hops[s.index()] != UNREACHABLE);
    order.sort_by_key(|s| hops[s.index()]);
    let mut ways = vec![0u128; hops.len()];
    ways[from.index()] = 1;
    for at in order {
        for (_, arc) in fabric.out_arcs(at) {
            if hops[arc.to.index()] == hops[at.index()] + 1 {
                let sum = ways[arc.to.index()].saturating_add(ways[at.index()]);
                ways[arc.to.index()] = sum;
            }
        }
    }
    ways
}

/// Counts up-down walks that do not turn back to the switch they just left.
///
/// Walks are told apart by their last arc and the bounces they have used, and extended all
/// together, one arc a step. An arc takes over all walks that arrive at its tail less those that
/// came from where it leads.
struct UpDownWays<'a> {
    fabric: &'a Fabric,
    /// Bounces used: `0..classes`.
    classes: usize,
    /// Whether no other arc joins the same switches.
    lone: Vec<bool>,
}

impl<'a> UpDownWays<'a> {
    fn new(fabric: &'a Fabric, most: u8) -> Self {
        let twins = |arc: &Arc| {
            fabric
                .out_arcs(arc.from)
                .filter(|(_, a)| a.to == arc.to)
                .count()
        };
        Self {
            fabric,
            classes: usize::from(most) + 1,
            lone: fabric.arcs().iter().map(|arc| twins(arc) == 1).collect(),
        }
    }

    /// The number of walks from a switch to every other, and the length of the longest.
    fn from(&self, from: SwitchId) -> (Vec<u128>, usize) {
        let (fabric, classes) = (self.fabric, self.classes);
        let mut total = vec![0u128; fabric.switch_count()];
        let mut last = vec![0u128; fabric.arcs().len() * classes];
        for arc in fabric.out(from) {
            last[arc.index() * classes] = 1;
        }
        let mut next = vec![0u128; last.len()];
        // Walks that arrive at each switch from below and from above, by bounces.
        let mut sums = vec![0u128; fabric.switch_count() * 2 * classes];
        let mut length = 0;
        loop {
            sums.fill(0);
            let mut alive = false;
            for (arc, ways) in self.fabric.arcs().iter().zip(last.chunks(classes)) {
                if ways.iter().all(|&ways| ways == 0) {
                    continue;
                }
                alive = true;
                let above = usize::from(fabric.layer(arc.to) < fabric.layer(arc.from));
                let base = (arc.to.index() * 2 + above) * classes;
                for (sum, &ways) in sums[base..].iter_mut().zip(ways) {
                    *sum = sum.saturating_add(ways);
                    total[arc.to.index()] = total[arc.to.index()].saturating_add(ways);
                }
            }
            if !alive {
                return (total, length);
            }
            length += 1;
            for switch in fabric.switch_ids() {
                let base = switch.index() * 2 * classes;
                let arrived = &sums[base..base + 2 * classes];
                let idle = arrived.iter().all(|&ways| ways == 0);
                for arc in fabric.out(switch) {
                    let ways = &mut next[arc.index() * classes..][..classes];
                    ways.fill(0);
                    if !idle {
                        self.extend(arc, arrived, &last, ways);
                    }
                }
            }
            std::mem::swap(&mut last, &mut next);
        }
    }

    /// The walks that take `arc` next, given those that arrived at its tail.
    fn extend(&self, arc: ArcId, arrived: &[u128], last: &[u128], ways: &mut [u128]) {
        let classes = self.classes;
        let up = usize::from(self.fabric.is_up(arc));
        let (from_below, from_above) = arrived.split_at(classes);
        for bounces in 0..classes {
            // The reverse of an arc that leads up arrives from above, and the other way round.
            let back = self.back(arc, bounces, last);
            let (below, above) = if up == 1 { (0, back) } else { (back, 0) };
            let below = from_below[bounces].saturating_sub(below);
            let above = from_above[bounces].saturating_sub(above);
            ways[bounces] = ways[bounces].saturating_add(below);
            if let Some(paid) = ways.get_mut(bounces + up) {
                *paid = paid.saturating_add(above);
            }
        }
    }

    /// The walks that arrived at the tail of `arc` from the switch it leads to.
    fn back(&self, arc: ArcId, bounces: usize, last: &[u128]) -> u128 {
        let ways = |arc: ArcId| last[self.fabric.reverse(arc).index() * self.classes + bounces];
        if self.lone[arc.index()] {
            return ways(arc);
        }
        let Arc { from, to, .. } = *self.fabric.arc(arc);
        let twins = self.fabric.out_arcs(from).filter(|(_, twin)| twin.to == to);
        twins.fold(0, |sum, (twin, _)| sum.saturating_add(ways(twin)))
    }
}

/// Counts walks up and down through virtual layers that do not turn back over the link they came
/// by.
struct VirtualWays<'a> {
    fabric: &'a Fabric,
    classes: usize,
    ranks: usize,
    /// The arcs with their ranks, lowest first.
    arcs: Vec<(usize, ArcId)>,
}

impl<'a> VirtualWays<'a> {
    fn new(fabric: &'a Fabric, most: u8) -> Self {
        let mut arcs: Vec<(usize, ArcId)> = fabric
            .switch_ids()
            .flat_map(|switch| fabric.out(switch))
            .filter_map(|arc| Some((fabric.rank(arc)?.into(), arc)))
            .collect();
        arcs.sort_unstable();
        Self {
            fabric,
            classes: usize::from(most) + 1,
            ranks: 2 * usize::from(fabric.virtual_layer_count()),
            arcs,
        }
    }

    /// The number of walks from a switch to every other.
    fn from(&self, from: SwitchId) -> Vec<u128> {
        let switches = self.fabric.switch_count();
        let mut total = vec![0u128; switches];
        // Walks that have come by arcs of a rank, by switch; and by arc, with one bounce less and
        // with as many.
        let mut fewer = vec![0u128; switches * self.ranks];
        let mut fewer_by_arc = vec![0u128; self.fabric.arcs().len()];
        for class in 0..self.classes {
            let mut arrived = vec![0u128; switches * self.ranks];
            let mut by_arc = vec![0u128; self.fabric.arcs().len()];
            for &(rank, id) in &self.arcs {
                let arc = self.fabric.arc(id);
                let back = self.fabric.reverse(id);
                let returns = self.fabric.rank(back).map_or(0, usize::from);
                let base = arc.from.index() * self.ranks;
                let sum = |ways: &[u128]| ways.iter().fold(0, |a: u128, b| a.saturating_add(*b));
                let rising = sum(&arrived[base..base + rank]);
                let bounced = sum(&fewer[base + rank..base + self.ranks]);
                let turned = if returns < rank {
                    &by_arc
                } else {
                    &fewer_by_arc
                };
                let ways = u128::from(class == 0 && arc.from == from)
                    .saturating_add(rising)
                    .saturating_add(bounced)
                    .saturating_sub(turned[back.index()]);
                by_arc[id.index()] = ways;
                let there = &mut arrived[arc.to.index() * self.ranks + rank];
                *there = there.saturating_add(ways);
                total[arc.to.index()] = total[arc.to.index()].saturating_add(ways);
            }
            (fewer, fewer_by_arc) = (arrived, by_arc);
        }
        total
    }
}

/// The fewest links of a cycle of different switches: 4 if every link joins neighbouring layers
/// (the graph is bipartite then), else 3. A walk of no more links that does not turn back and ends
/// elsewhere than it began visits no switch twice.
fn shortest_cycle(fabric: &Fabric) -> usize {
    let adjacent = |arc: &Arc| {
        let layers = (fabric.layer(arc.from), fabric.layer(arc.to));
        matches!(layers, (Some(a), Some(b)) if a.abs_diff(b) == 1)
    };
    if fabric.arcs().iter().all(adjacent) {
        4
    } else {
        3
    }
}
