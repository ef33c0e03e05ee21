//! Putting ways into lanes of which none has a cycle.
//!
//! Ways are hundreds of thousands, so cycles are not cut one by one: the arcs of a lane are put
//! into an order that few ways go against (Eades93), in time linear in the turns; those that do go
//! to the next lane, where there are fewer turns and fewer cycles.

use topology::{ArcId, Fabric};

use super::paths::{LanePath, LanePaths};
use crate::acyclic::Acyclic;

/// The most lanes that a byte numbers.
const MOST: usize = 200;
/// Ways up to which those that an order leaves out are tried again one by one.
const FEW: usize = 3_000;

/// Where the ways turn from arc to arc.
pub(super) struct Turns {
    arcs: usize,
    /// By way: its turns, as places in `turns`.
    start: Vec<u32>,
    turns: Vec<(u32, u32)>,
}

fn number(arc: ArcId) -> u32 {
    u32::try_from(arc.index()).unwrap_or(u32::MAX)
}

fn turns_of<'a>(path: &LanePath<'a>) -> impl Iterator<Item = (u32, u32)> + use<'a> {
    let pairs = path.arcs.windows(2);
    pairs.map(|pair| (number(pair[0]), number(pair[1])))
}

impl Turns {
    pub(super) fn new(fabric: &Fabric, paths: &LanePaths) -> Self {
        let mut all = Self {
            arcs: fabric.arcs().len(),
            start: vec![0],
            turns: Vec::new(),
        };
        for path in paths.iter() {
            all.turns.extend(turns_of(&path));
            all.start
                .push(u32::try_from(all.turns.len()).unwrap_or(u32::MAX));
        }
        all
    }

    fn of(&self, way: u32) -> &[(u32, u32)] {
        let way = way as usize;
        &self.turns[self.start[way] as usize..self.start[way + 1] as usize]
    }

    fn ways(&self) -> u32 {
        u32::try_from(self.start.len() - 1).unwrap_or(u32::MAX)
    }

    /// Whether all ways fit into one lane.
    pub(super) fn together_acyclic(&self) -> bool {
        let ways: Vec<u32> = (0..self.ways()).collect();
        let graph = Graph::new(self, &ways);
        graph.against(&graph.order()) == 0
    }

    /// The lane of every way, and how many there are: lane by lane, those that go against its order
    /// leave.
    pub(super) fn cut(&self) -> (Vec<u8>, usize) {
        let mut lane = vec![0u8; self.start.len() - 1];
        let mut present: Vec<u32> = (0..self.ways()).collect();
        let mut count = 0;
        loop {
            let here = u8::try_from(count).unwrap_or(u8::MAX);
            for &way in &present {
                lane[way as usize] = here;
            }
            count += 1;
            let moved = self.leave(&present);
            if moved.is_empty() || count > MOST {
                return (lane, count);
            }
            present = moved;
        }
    }

    /// The ways that must leave a lane for the rest to be acyclic.
    fn leave(&self, present: &[u32]) -> Vec<u32> {
        let graph = Graph::new(self, present);
        let position = graph.improved(graph.order());
        let forward = |&way: &u32| {
            let mut turns = self.of(way).iter();
            turns.all(|&(from, to)| position[from as usize] < position[to as usize])
        };
        let (kept, mut moved): (Vec<u32>, Vec<u32>) = present.iter().copied().partition(forward);
        if moved.is_empty() || moved.len() > FEW {
            return moved;
        }
        let mut graph = Acyclic::new(self.arcs);
        let mut turns: Vec<(u32, u32)> =
            kept.iter().flat_map(|&way| self.of(way)).copied().collect();
        turns.sort_unstable();
        turns.dedup();
        graph.fill(turns.into_iter());
        moved.retain(|&way| !admit(&mut graph, self.of(way).iter().copied()));
        moved
    }

    /// The first lane for every pair of ways, there and back, in which they close no cycle; long
    /// ways first, for they are hard to place.
    pub(super) fn first_that_fits(&self, paths: &LanePaths) -> (Vec<u8>, usize) {
        let mut lane = vec![0u8; paths.len()];
        let mut lanes: Vec<Acyclic> = vec![Acyclic::new(self.arcs)];
        let mut order: Vec<usize> = (0..paths.len()).step_by(2).collect();
        order.sort_by_key(|&at| std::cmp::Reverse(paths.get(at).arcs.len()));
        for at in order {
            let both = || turns_of(&paths.get(at)).chain(turns_of(&paths.get(at + 1)));
            let found = lanes.iter_mut().position(|graph| admit(graph, both()));
            let found = found.unwrap_or_else(|| {
                let mut graph = Acyclic::new(self.arcs);
                admit(&mut graph, both());
                lanes.push(graph);
                lanes.len() - 1
            });
            let found = u8::try_from(found).unwrap_or(u8::MAX);
            (lane[at], lane[at + 1]) = (found, found);
        }
        (lane, lanes.len())
    }
}

/// Adds all turns, or none if they close a cycle.
fn admit(graph: &mut Acyclic, turns: impl Iterator<Item = (u32, u32)>) -> bool {
    let mut added = Vec::new();
    for (from, to) in turns {
        if graph.has(from, to) {
            continue;
        }
        if !graph.add(from, to) {
            for (from, to) in added {
                graph.remove(from, to);
            }
            return false;
        }
        added.push((from, to));
    }
    true
}

/// The turns of a lane with how many ways make each.
struct Graph {
    /// By arc: where its turns begin, out and in.
    out: Vec<u32>,
    into: Vec<u32>,
    /// The other arc of each, and its weight.
    heads: Vec<(u32, u32)>,
    tails: Vec<(u32, u32)>,
}

/// Lists by first number, laid out one after the other, of pairs that are sorted.
fn lists(nodes: usize, pairs: impl Iterator<Item = (u32, u32)>) -> (Vec<u32>, Vec<(u32, u32)>) {
    let mut start = vec![0u32; nodes + 1];
    let mut all: Vec<(u32, u32)> = Vec::new();
    let mut last = None;
    for (node, other) in pairs {
        match all.last_mut() {
            Some(entry) if last == Some((node, other)) => entry.1 += 1,
            _ => {
                all.push((other, 1));
                start[node as usize + 1] += 1;
                last = Some((node, other));
            }
        }
    }
    for node in 0..nodes {
        start[node + 1] += start[node];
    }
    (start, all)
}

impl Graph {
    fn new(turns: &Turns, present: &[u32]) -> Self {
        let mut pairs: Vec<u64> = Vec::new();
        for &way in present {
            pairs.extend(
                turns
                    .of(way)
                    .iter()
                    .map(|&(from, to)| u64::from(from) << 32 | u64::from(to)),
            );
        }
        pairs.sort_unstable();
        #[expect(clippy::cast_possible_truncation, reason = "halves of a word")]
        let split = |pair: u64| ((pair >> 32) as u32, pair as u32);
        let (out, heads) = lists(turns.arcs, pairs.iter().map(|&pair| split(pair)));
        for pair in &mut pairs {
            *pair = pair.rotate_left(32);
        }
        pairs.sort_unstable();
        let (into, tails) = lists(turns.arcs, pairs.iter().map(|&pair| split(pair)));
        Self {
            out,
            into,
            heads,
            tails,
        }
    }

    fn nodes(&self) -> usize {
        self.out.len() - 1
    }

    fn heads(&self, node: usize) -> &[(u32, u32)] {
        &self.heads[self.out[node] as usize..self.out[node + 1] as usize]
    }

    fn tails(&self, node: usize) -> &[(u32, u32)] {
        &self.tails[self.into[node] as usize..self.into[node + 1] as usize]
    }

    /// The weight of the turns that lead backward.
    fn against(&self, position: &[u32]) -> u64 {
        let backward = (0..self.nodes()).flat_map(|node| {
            let own = position[node];
            let heads = self.heads(node).iter();
            heads.filter(move |(to, _)| position[*to as usize] <= own)
        });
        backward.map(|&(_, weight)| u64::from(weight)).sum()
    }

    /// Positions by Eades93: sinks to the back, sources to the front, else the arc whose turns lead
    /// out most; in buckets by that surplus.
    fn order(&self) -> Vec<u32> {
        let nodes = self.nodes();
        let sum = |list: &[(u32, u32)]| {
            list.iter()
                .map(|&(_, weight)| i64::from(weight))
                .sum::<i64>()
        };
        let mut leads_out: Vec<i64> = (0..nodes).map(|node| sum(self.heads(node))).collect();
        let mut leads_in: Vec<i64> = (0..nodes).map(|node| sum(self.tails(node))).collect();
        let most = leads_out
            .iter()
            .chain(&leads_in)
            .copied()
            .max()
            .unwrap_or(0);
        let bucket = |surplus: i64| usize::try_from(surplus + most).unwrap_or(0);
        let mut buckets: Vec<Vec<u32>> = vec![Vec::new(); bucket(most) + 1];
        let mut easy: Vec<usize> = Vec::new();
        for node in (0..nodes).rev() {
            buckets[bucket(leads_out[node] - leads_in[node])]
                .push(u32::try_from(node).unwrap_or(u32::MAX));
            if leads_out[node] == 0 || leads_in[node] == 0 {
                easy.push(node);
            }
        }
        let mut left = vec![true; nodes];
        let mut position = vec![0u32; nodes];
        let (mut front, mut back) = (0u32, u32::try_from(nodes).unwrap_or(u32::MAX));
        let mut highest = buckets.len() - 1;
        for _ in 0..nodes {
            let node = loop {
                if let Some(node) = easy.pop() {
                    if left[node] {
                        break node;
                    }
                    continue;
                }
                let Some(node) = buckets[highest].pop() else {
                    if highest == 0 {
                        return position;
                    }
                    highest -= 1;
                    continue;
                };
                let node = node as usize;
                // An entry that is out of date is passed over: the node stands in another bucket
                // too.
                if left[node] && bucket(leads_out[node] - leads_in[node]) == highest {
                    break node;
                }
            };
            left[node] = false;
            if leads_out[node] == 0 {
                back -= 1;
                position[node] = back;
            } else {
                position[node] = front;
                front += 1;
            }
            let mut touch = |other: u32, out: i64, into: i64| {
                let at = other as usize;
                if !left[at] {
                    return;
                }
                leads_out[at] -= out;
                leads_in[at] -= into;
                if leads_out[at] == 0 || leads_in[at] == 0 {
                    easy.push(at);
                }
                let place = bucket(leads_out[at] - leads_in[at]);
                buckets[place].push(other);
                highest = highest.max(place);
            };
            for &(to, weight) in self.heads(node) {
                touch(to, 0, i64::from(weight));
            }
            for &(from, weight) in self.tails(node) {
                touch(from, i64::from(weight), 0);
            }
        }
        position
    }

    /// Positions after some rounds in which every arc moves to where the fewest of its own turns
    /// lead backward.
    fn improved(&self, position: Vec<u32>) -> Vec<u32> {
        const ROUNDS: usize = 3;
        let nodes = self.nodes();
        let mut place: Vec<f64> = position.iter().map(|&at| f64::from(at)).collect();
        let mut around: Vec<(f64, i64)> = Vec::new();
        for _ in 0..ROUNDS {
            for node in 0..nodes {
                let (heads, tails) = (self.heads(node), self.tails(node));
                if heads.is_empty() || tails.is_empty() {
                    continue;
                }
                // Passing a tail mends its turn, passing a head breaks one.
                around.clear();
                around.extend(
                    heads
                        .iter()
                        .map(|&(to, weight)| (place[to as usize], -i64::from(weight))),
                );
                around.extend(
                    tails
                        .iter()
                        .map(|&(from, weight)| (place[from as usize], i64::from(weight))),
                );
                around.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
                let (mut gain, mut best, mut after) = (0i64, 0i64, None);
                let mut own = 0i64;
                for (at, &(there, change)) in around.iter().enumerate() {
                    gain += change;
                    if there < place[node] {
                        own = gain;
                    }
                    if gain > best {
                        (best, after) = (gain, Some(at));
                    }
                }
                if best <= own {
                    continue;
                }
                place[node] = match after {
                    None => around[0].0 - 1.0,
                    Some(at) if at + 1 == around.len() => around[at].0 + 1.0,
                    Some(at) => f64::midpoint(around[at].0, around[at + 1].0),
                };
            }
        }
        let mut order: Vec<u32> = (0..u32::try_from(nodes).unwrap_or(u32::MAX)).collect();
        order.sort_by(|&a, &b| {
            place[a as usize]
                .total_cmp(&place[b as usize])
                .then(a.cmp(&b))
        });
        let mut improved = vec![0u32; nodes];
        for (at, node) in (0u32..).zip(order) {
            improved[node as usize] = at;
        }
        improved
    }
}
