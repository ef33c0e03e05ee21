//! Two halves of a set of arcs, each in an order that one graph's edges within it follow.
//!
//! Where every pair of arcs in a row can be put into one of two acyclic graphs by where it leads,
//! two tags do. Finding such halves is colouring a directed graph with two colours; it is searched
//! for as graphs are coloured in practice: a partial solution, and moves that place one more arc
//! and take out what stands in its way.

use std::collections::BTreeMap;

use rand::RngExt;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;

/// The two halves.
const SIDES: usize = 2;
/// Room between neighbours of an order when it is numbered anew.
const GAP: u64 = 1 << 20;

/// A directed graph: by node, where its edges come from and lead.
#[derive(Clone, Debug, Default)]
pub(super) struct Graph {
    into: Vec<Vec<u32>>,
    out: Vec<Vec<u32>>,
}

impl Graph {
    pub(super) fn new(nodes: usize) -> Self {
        Self {
            into: vec![Vec::new(); nodes],
            out: vec![Vec::new(); nodes],
        }
    }

    /// Adds an edge, which is not there yet.
    pub(super) fn add(&mut self, from: u32, to: u32) {
        self.out[from as usize].push(to);
        self.into[to as usize].push(from);
    }
}

/// A half under construction: its nodes in an order that all edges between them follow.
struct Half<'a> {
    graph: &'a Graph,
    /// By node: its label, if it is in here.
    label: Vec<Option<u64>>,
    /// Nodes by label, rising.
    order: BTreeMap<u64, u32>,
    /// By node: the move up to which it may not come back.
    barred: Vec<u64>,
}

/// A place for a node: right after a label, or right before one; anywhere if neither.
#[derive(Clone, Copy)]
enum Place {
    Anywhere,
    After(u64),
    Before(u64),
}

impl<'a> Half<'a> {
    fn new(graph: &'a Graph) -> Self {
        Self {
            graph,
            label: vec![None; graph.out.len()],
            order: BTreeMap::new(),
            barred: vec![0; graph.out.len()],
        }
    }

    fn labels<'b>(&'b self, nodes: &'b [u32]) -> impl Iterator<Item = u64> + 'b {
        nodes.iter().filter_map(|node| self.label[*node as usize])
    }

    /// The places to try, each with how many nodes would have to go: behind all that lead to the
    /// node, before all that it leads to.
    fn places(&self, node: u32) -> Vec<(usize, Place)> {
        let (into, out) = (
            &self.graph.into[node as usize],
            &self.graph.out[node as usize],
        );
        let mut places = Vec::new();
        if let Some(last) = self.labels(into).max() {
            let gone = self.labels(out).filter(|label| *label <= last).count();
            places.push((gone, Place::After(last)));
        }
        if let Some(first) = self.labels(out).min() {
            let gone = self.labels(into).filter(|label| *label >= first).count();
            places.push((gone, Place::Before(first)));
        }
        if places.is_empty() {
            places.push((0, Place::Anywhere));
        }
        places
    }

    /// Puts a node into a place; the nodes that have to go for it.
    fn put(&mut self, node: u32, place: Place) -> Vec<u32> {
        let (into, out) = (
            &self.graph.into[node as usize],
            &self.graph.out[node as usize],
        );
        let in_the_way = |nodes: &[u32], wrong: &dyn Fn(u64) -> bool| -> Vec<u32> {
            let labelled = nodes.iter().copied();
            labelled
                .filter(|n| self.label[*n as usize].is_some_and(wrong))
                .collect()
        };
        let gone = match place {
            Place::Anywhere => Vec::new(),
            Place::After(last) => in_the_way(out, &|label| label <= last),
            Place::Before(first) => in_the_way(into, &|label| label >= first),
        };
        for node in &gone {
            if let Some(label) = self.label[*node as usize].take() {
                self.order.remove(&label);
            }
        }
        let label = match self.free(place) {
            Some(label) => label,
            None => {
                let place = self.number_anew(place);
                self.free(place).unwrap_or(0)
            }
        };
        self.label[node as usize] = Some(label);
        self.order.insert(label, node);
        gone
    }

    /// A free label at a place.
    fn free(&self, place: Place) -> Option<u64> {
        let last = self.order.last_key_value().map(|(label, _)| *label);
        let (low, high) = match place {
            Place::Anywhere => (last.unwrap_or(0), u64::MAX),
            Place::After(label) => {
                let next = self.order.range(label + 1..).next();
                (label, next.map_or(u64::MAX, |(label, _)| *label))
            }
            Place::Before(label) => {
                let before = self.order.range(..label).next_back();
                (before.map_or(0, |(label, _)| *label), label)
            }
        };
        let step = ((high - low) / 2).min(GAP);
        (step > 0).then(|| match place {
            Place::Before(_) => high - step,
            _ => low + step,
        })
    }

    /// Spreads the labels; the same place in the new ones.
    fn number_anew(&mut self, place: Place) -> Place {
        let old = std::mem::take(&mut self.order);
        let mut moved = place;
        for (at, (label, node)) in (1..).zip(old) {
            let new = at * GAP;
            moved = match place {
                Place::After(old) if old == label => Place::After(new),
                Place::Before(old) if old == label => Place::Before(new),
                _ => moved,
            };
            self.label[node as usize] = Some(new);
            self.order.insert(new, node);
        }
        moved
    }
}

/// What a search has found.
pub(super) struct Halves {
    /// The nodes of each half, in order.
    pub(super) halves: [Vec<u32>; SIDES],
    /// The nodes that found no place.
    pub(super) left: Vec<u32>,
    /// Moves made.
    pub(super) moves: u64,
}

/// Searches for halves of all nodes, the first in an order of one graph, the second in an order of
/// the other; the best that at most so many moves find, or as many as `go_on` allows.
pub(super) fn halve(
    graphs: &[Graph; SIDES],
    most: u64,
    rng: &mut ChaCha8Rng,
    go_on: &dyn Fn() -> bool,
) -> Halves {
    /// Moves between two questions whether to go on.
    const STRETCH: u64 = 4096;
    let nodes = graphs[0].out.len();
    let mut halves = [Half::new(&graphs[0]), Half::new(&graphs[1])];
    let mut left: Vec<u32> = (0..u32::try_from(nodes).unwrap_or(u32::MAX)).collect();
    let mut best: Option<([Vec<u32>; SIDES], Vec<u32>)> = None;
    let mut moves = 0;
    while !left.is_empty() && moves < most && (moves % STRETCH != 0 || go_on()) {
        moves += 1;
        let at = rng.random_range(0..left.len());
        let node = left.swap_remove(at);
        let open = |side: &usize| halves[*side].barred[node as usize] <= moves;
        let mut sides: Vec<usize> = (0..SIDES).filter(open).collect();
        if sides.is_empty() {
            sides = (0..SIDES).collect();
        }
        let mut places: Vec<(usize, usize, Place)> = Vec::new();
        for side in sides {
            let found = halves[side].places(node).into_iter();
            places.extend(found.map(|(gone, place)| (gone, side, place)));
        }
        let fewest = places.iter().map(|(gone, ..)| *gone).min().unwrap_or(0);
        places.retain(|(gone, ..)| *gone == fewest);
        let Some(&(_, side, place)) = places.choose(rng) else {
            break; // there is always a place
        };
        for gone in halves[side].put(node, place) {
            let wait = rng.random_range(1..=10) + left.len() as u64 * 3 / 5;
            halves[side].barred[gone as usize] = moves + wait;
            left.push(gone);
        }
        if best
            .as_ref()
            .is_none_or(|(_, least)| left.len() < least.len())
            && left.len() < nodes / 8
        {
            best = Some((orders(&halves), left.clone()));
        }
    }
    let (halves, left) = match best {
        Some(best) if best.1.len() <= left.len() => best,
        _ => (orders(&halves), left),
    };
    Halves {
        halves,
        left,
        moves,
    }
}

fn orders(halves: &[Half<'_>; SIDES]) -> [Vec<u32>; SIDES] {
    [0, 1].map(|side| halves[side].order.values().copied().collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::SeedableRng;

    use super::*;

    fn graph(nodes: usize, edges: &[(u32, u32)]) -> Graph {
        let mut graph = Graph::new(nodes);
        for &(from, to) in edges {
            graph.add(from, to);
        }
        graph
    }

    #[test]
    fn a_cycle_is_cut_into_two() {
        let ring = graph(5, &[(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)]);
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let found = halve(&[ring.clone(), ring], 1000, &mut rng, &|| true);
        assert!(found.left.is_empty() && found.moves < 100);
    }

    proptest! {
        #[test]
        fn halves_follow_their_graphs(
            edges in proptest::collection::btree_set((0u32..12, 0u32..12), 0..60),
            other in proptest::collection::btree_set((0u32..12, 0u32..12), 0..60),
            seed in 0u64..1000,
        ) {
            let simple = |edges: &std::collections::BTreeSet<(u32, u32)>| {
                edges.iter().copied().filter(|(a, b)| a != b).collect::<Vec<_>>()
            };
            let both = [simple(&edges), simple(&other)];
            let graphs = [graph(12, &both[0]), graph(12, &both[1])];
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let found = halve(&graphs, 5000, &mut rng, &|| true);
            let mut all: Vec<u32> = found.halves.concat();
            all.extend(&found.left);
            all.sort_unstable();
            prop_assert_eq!(all, (0..12).collect::<Vec<u32>>());
            for (half, edges) in found.halves.iter().zip(&both) {
                let at = |node: &u32| half.iter().position(|n| n == node);
                for (from, to) in edges {
                    if let (Some(from), Some(to)) = (at(from), at(to)) {
                        prop_assert!(from < to);
                    }
                }
            }
        }
    }
}
