//! One way for every pair of switches with hosts.

use topology::{ArcId, Fabric, SwitchId, UNREACHABLE};

use super::super::paths::mix;

/// The ways of all pairs, one after the other.
#[derive(Default)]
pub(super) struct LanePaths {
    ends: Vec<(SwitchId, SwitchId)>,
    /// By way: where its arcs begin; last where all end.
    start: Vec<usize>,
    arcs: Vec<ArcId>,
}

/// A way.
pub(super) struct LanePath<'a> {
    pub(super) from: SwitchId,
    pub(super) to: SwitchId,
    pub(super) arcs: &'a [ArcId],
}

impl LanePaths {
    fn new() -> Self {
        Self {
            start: vec![0],
            ..Self::default()
        }
    }

    fn push(&mut self, from: SwitchId, to: SwitchId, arcs: impl Iterator<Item = ArcId>) {
        self.ends.push((from, to));
        self.arcs.extend(arcs);
        self.start.push(self.arcs.len());
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn get(&self, at: usize) -> LanePath<'_> {
        let (from, to) = self.ends[at];
        LanePath {
            from,
            to,
            arcs: &self.arcs[self.start[at]..self.start[at + 1]],
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = LanePath<'_>> {
        (0..self.len()).map(|at| self.get(at))
    }

    pub(super) fn longest(&self) -> usize {
        self.iter().map(|path| path.arcs.len()).max().unwrap_or(0)
    }

    /// Pairs of hosts over the arc that has most.
    pub(super) fn most_loaded(&self, fabric: &Fabric) -> u64 {
        let mut load = vec![0u64; fabric.arcs().len()];
        for path in self.iter() {
            let pairs = hosts(fabric, path.from) * hosts(fabric, path.to);
            for arc in path.arcs {
                load[arc.index()] += pairs;
            }
        }
        load.into_iter().max().unwrap_or(0)
    }
}

fn hosts(fabric: &Fabric, switch: SwitchId) -> u64 {
    fabric.attachments(switch).len() as u64
}

/// Switches by rising distance from one, those that cannot reach it left out.
fn by_distance(hops: &[u16]) -> Vec<SwitchId> {
    let farthest = hops.iter().copied().filter(|&h| h != UNREACHABLE).max();
    let mut at_distance = vec![Vec::new(); usize::from(farthest.unwrap_or(0)) + 1];
    for (switch, &hops) in (0..).map(SwitchId::new).zip(hops) {
        if hops != UNREACHABLE {
            at_distance[usize::from(hops)].push(switch);
        }
    }
    at_distance.concat()
}

/// The switches with hosts, those with most first.
fn by_hosts(fabric: &Fabric) -> Vec<SwitchId> {
    let mut edge: Vec<SwitchId> = fabric.edge_switches().collect();
    edge.sort_by_key(|&switch| std::cmp::Reverse(fabric.attachments(switch).len()));
    edge
}

/// DFSSSP's ways: destination by destination, of the shortest those over the links that have least
/// so far; then every switch adds its hosts to every link of its way.
pub(super) fn dfsssp(fabric: &Fabric) -> LanePaths {
    let mut weight = vec![0u64; fabric.arcs().len()];
    let mut paths = LanePaths::new();
    let switches = fabric.switch_count();
    let mut next: Vec<Option<ArcId>> = vec![None; switches];
    let mut along = vec![0u64; switches];
    for to in by_hosts(fabric) {
        let hops = fabric.distances(to);
        let order = by_distance(&hops);
        for &at in order.iter().skip(1) {
            let nearer = fabric
                .out_arcs(at)
                .filter(|(_, arc)| hops[arc.to.index()] + 1 == hops[at.index()]);
            let over = |&(id, arc): &(ArcId, &topology::Arc)| {
                (weight[id.index()] + along[arc.to.index()], id.index())
            };
            let best = nearer.min_by_key(over);
            next[at.index()] = best.map(|(id, _)| id);
            along[at.index()] = best.as_ref().map_or(0, |best| over(best).0);
        }
        along[to.index()] = 0;
        let mut carried = vec![0u64; switches];
        for &at in order.iter().skip(1).rev() {
            carried[at.index()] += hosts(fabric, at);
            if let Some(arc) = next[at.index()] {
                weight[arc.index()] += carried[at.index()];
                carried[fabric.arc(arc).to.index()] += carried[at.index()];
            }
        }
        for &from in order.iter().skip(1) {
            if hosts(fabric, from) > 0 {
                paths.push(from, to, follow(fabric, &next, from, to));
            }
        }
    }
    paths
}

fn follow<'a>(
    fabric: &'a Fabric,
    next: &'a [Option<ArcId>],
    from: SwitchId,
    to: SwitchId,
) -> impl Iterator<Item = ArcId> + 'a {
    let mut at = from;
    std::iter::from_fn(move || {
        let arc = next[at.index()].filter(|_| at != to)?;
        at = fabric.arc(arc).to;
        Some(arc)
    })
}

/// LASH's ways: a shortest one for each pair, the same both ways.
pub(super) fn lash(fabric: &Fabric) -> LanePaths {
    let mut paths = LanePaths::new();
    let edge: Vec<SwitchId> = fabric.edge_switches().collect();
    for (number, &to) in edge.iter().enumerate() {
        let hops = fabric.distances(to);
        for &from in &edge[..number] {
            if hops[from.index()] == UNREACHABLE {
                continue;
            }
            let spread = mix((from.index() as u64) << 32 | to.index() as u64);
            let mut at = from;
            let mut way = Vec::new();
            while at != to {
                let nearer = fabric
                    .out_arcs(at)
                    .filter(|(_, arc)| hops[arc.to.index()] + 1 == hops[at.index()]);
                let Some((id, arc)) = nearer.min_by_key(|(id, _)| mix(spread ^ id.index() as u64))
                else {
                    break;
                };
                way.push(id);
                at = arc.to;
            }
            paths.push(from, to, way.iter().copied());
            paths.push(to, from, way.iter().rev().map(|&arc| fabric.reverse(arc)));
        }
    }
    paths
}

/// Ways that go up, then down: nearer to a root in the middle of the network is up, of equally near
/// switches that with the lower number.
pub(super) fn up_down(fabric: &Fabric) -> LanePaths {
    let far = |switch: SwitchId| {
        let hops = fabric.distances(switch);
        let reached = hops.iter().filter(|&&hops| hops != UNREACHABLE);
        let sum: u64 = reached.clone().map(|&hops| u64::from(hops)).sum();
        (std::cmp::Reverse(reached.count()), sum, switch.index())
    };
    let Some(root) = fabric.switch_ids().min_by_key(|&switch| far(switch)) else {
        return LanePaths::new();
    };
    let level = fabric.distances(root);
    let rank = |switch: SwitchId| (level[switch.index()], switch.index());
    let mut ranked: Vec<SwitchId> = fabric.switch_ids().collect();
    ranked.sort_by_key(|&switch| rank(switch));
    let is_up = |arc: &topology::Arc| rank(arc.to) < rank(arc.from);
    let mut load = vec![0u64; fabric.arcs().len()];
    let mut paths = LanePaths::new();
    for to in by_hosts(fabric) {
        // Links to the destination if one may only go down, and if one may go up first.
        let mut down = vec![UNREACHABLE; fabric.switch_count()];
        down[to.index()] = 0;
        for &at in ranked.iter().rev() {
            let ways = fabric.out_arcs(at).filter(|(_, arc)| !is_up(arc));
            let nearest = ways
                .map(|(_, arc)| down[arc.to.index()].saturating_add(1))
                .min();
            down[at.index()] = down[at.index()].min(nearest.unwrap_or(UNREACHABLE));
        }
        let mut any = down.clone();
        for &at in &ranked {
            let ways = fabric.out_arcs(at).filter(|(_, arc)| is_up(arc));
            let nearest = ways
                .map(|(_, arc)| any[arc.to.index()].saturating_add(1))
                .min();
            any[at.index()] = any[at.index()].min(nearest.unwrap_or(UNREACHABLE));
        }
        for from in fabric.edge_switches().filter(|&from| from != to) {
            let way = climb(fabric, (from, to), (&down, &any), &is_up, &load);
            let Some(way) = way else { continue };
            for arc in &way {
                load[arc.index()] += hosts(fabric, from) * hosts(fabric, to);
            }
            paths.push(from, to, way.into_iter());
        }
    }
    paths
}

/// Of the shortest ways up, then down, the one that takes the least loaded link at every switch.
fn climb(
    fabric: &Fabric,
    (from, to): (SwitchId, SwitchId),
    (down, any): (&[u16], &[u16]),
    is_up: &dyn Fn(&topology::Arc) -> bool,
    load: &[u64],
) -> Option<Vec<ArcId>> {
    let mut way = Vec::new();
    let (mut at, mut descending) = (from, false);
    while at != to {
        let left = if descending { down } else { any }[at.index()];
        if left == UNREACHABLE {
            return None;
        }
        let leads = |(_, arc): &(ArcId, &topology::Arc)| {
            let rest = match is_up(arc) {
                true if descending => return false,
                true => any,
                false => down,
            };
            rest[arc.to.index()].checked_add(1) == Some(left)
        };
        let ways = fabric.out_arcs(at).filter(leads);
        let (id, arc) = ways.min_by_key(|(id, _)| (load[id.index()], id.index()))?;
        descending |= !is_up(arc);
        way.push(id);
        at = arc.to;
    }
    Some(way)
}
