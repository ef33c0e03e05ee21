//! One way for every pair of switches with hosts.

use topology::{ArcId, Fabric, SwitchId, UNREACHABLE};

use super::super::paths::mix;
use crate::cells::arc_id;

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

/// The network as plain lists, for what is gone through hundreds of times.
struct Flat {
    /// By switch: its first arc; last how many arcs there are.
    first: Vec<u32>,
    /// By arc: the switch where it ends.
    to: Vec<u32>,
}

impl Flat {
    fn new(fabric: &Fabric) -> Self {
        let mut first: Vec<u32> = fabric
            .switch_ids()
            .map(|s| fabric.out_range(s).start)
            .collect();
        let arcs = fabric.arcs();
        first.push(u32::try_from(arcs.len()).unwrap_or(u32::MAX));
        let to = arcs
            .iter()
            .map(|arc| u32::try_from(arc.to.index()).unwrap_or(u32::MAX));
        Self {
            first,
            to: to.collect(),
        }
    }

    fn arcs(&self, switch: usize) -> std::ops::Range<usize> {
        self.first[switch] as usize..self.first[switch + 1] as usize
    }

    /// Links to a switch from every other, and those that reach it in the order of their distance, itself first.
    fn search(&self, to: SwitchId, hops: &mut [u16], order: &mut Vec<u32>) {
        hops.fill(UNREACHABLE);
        order.clear();
        hops[to.index()] = 0;
        order.push(u32::try_from(to.index()).unwrap_or(u32::MAX));
        let mut next = 0;
        while let Some(&at) = order.get(next) {
            next += 1;
            let farther = hops[at as usize] + 1;
            // Links join both ways.
            for &other in &self.to[self.arcs(at as usize)] {
                if hops[other as usize] == UNREACHABLE {
                    hops[other as usize] = farther;
                    order.push(other);
                }
            }
        }
    }
}

/// The switches with hosts, those with most first.
fn by_hosts(fabric: &Fabric) -> Vec<SwitchId> {
    let mut edge: Vec<SwitchId> = fabric.edge_switches().collect();
    edge.sort_by_key(|&switch| std::cmp::Reverse(fabric.attachments(switch).len()));
    edge
}

/// DFSSSP's ways: destination by destination, of the shortest those over the links that have least so far; then every switch adds its
/// hosts to every link of its way.
pub(super) fn dfsssp(fabric: &Fabric) -> LanePaths {
    let flat = Flat::new(fabric);
    let mut weight = vec![0u64; flat.to.len()];
    let mut paths = LanePaths::new();
    let switches = fabric.switch_count();
    let own: Vec<u64> = fabric
        .switch_ids()
        .map(|switch| hosts(fabric, switch))
        .collect();
    let mut next: Vec<Option<ArcId>> = vec![None; switches];
    let mut along = vec![0u64; switches];
    let (mut hops, mut order) = (vec![UNREACHABLE; switches], Vec::with_capacity(switches));
    for to in by_hosts(fabric) {
        flat.search(to, &mut hops, &mut order);
        along[to.index()] = 0;
        for at in order.iter().skip(1).map(|&at| at as usize) {
            let nearer = hops[at] - 1;
            let mut best = (u64::MAX, None);
            for arc in flat.arcs(at) {
                let there = flat.to[arc] as usize;
                if hops[there] == nearer && weight[arc] + along[there] < best.0 {
                    best = (weight[arc] + along[there], Some(arc));
                }
            }
            along[at] = best.0;
            next[at] = best.1.map(arc_id);
        }
        let mut carried = vec![0u64; switches];
        for at in order.iter().skip(1).rev().map(|&at| at as usize) {
            carried[at] += own[at];
            if let Some(arc) = next[at] {
                weight[arc.index()] += carried[at];
                carried[flat.to[arc.index()] as usize] += carried[at];
            }
        }
        for &from in order.iter().skip(1) {
            if own[from as usize] > 0 {
                let from = SwitchId::new(from);
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
            let spread = mix(((from.index() as u64) << 32) | to.index() as u64);
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

/// Ways that go up, then down: nearer to a root in the middle of the network is up, of equally near switches that with the lower number.
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
