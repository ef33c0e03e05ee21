//! Edge-disjoint spanning trees by matroid union (Roskind85), from any disjoint forests to start
//! with.
//!
//! Edges are offered one by one. An edge that closes a cycle in every forest starts a search for a
//! chain of exchanges: it may replace an edge of the cycle that it closes in one forest, which then
//! looks for a place in the next forest, and so on, until an edge joins two trees. Where the search
//! ends without, the ends of the edge are in a *clump*: no edge within it can ever be placed.

use std::collections::VecDeque;

/// Edge-disjoint forests of a graph.
#[derive(Clone, Debug)]
pub struct Packing {
    nodes: usize,
    edges: Vec<(u32, u32)>,
    /// The forest of every edge.
    forest: Vec<Option<u8>>,
    /// `adjacent[f][v]` = the edges of forest `f` at node `v`.
    adjacent: Vec<Vec<Vec<u32>>>,
    /// Which nodes each forest joins.
    joined: Vec<Unions>,
    clumps: Unions,
}

/// Disjoint sets of nodes.
#[derive(Clone, Debug)]
struct Unions(Vec<u32>);

impl Unions {
    fn new(nodes: usize) -> Self {
        Self((0..u32::try_from(nodes).unwrap_or(u32::MAX)).collect())
    }

    fn find(&mut self, node: u32) -> u32 {
        let mut at = node;
        while self.0[at as usize] != at {
            let above = self.0[self.0[at as usize] as usize];
            self.0[at as usize] = above;
            at = above;
        }
        at
    }

    fn union(&mut self, a: u32, b: u32) -> bool {
        let (a, b) = (self.find(a), self.find(b));
        self.0[a as usize] = b;
        a != b
    }
}

/// No edge.
const NONE: u32 = u32::MAX;

/// Packs as many edges as possible into `count` edge-disjoint forests: spanning trees, if there are
/// as many.
#[must_use]
pub fn pack(nodes: usize, edges: &[(u32, u32)], count: u8) -> Packing {
    Packing::new(nodes, edges, count).complete()
}

impl Packing {
    /// Forests without edges.
    #[must_use]
    pub fn new(nodes: usize, edges: &[(u32, u32)], count: u8) -> Self {
        Self {
            nodes,
            edges: edges.to_vec(),
            forest: vec![None; edges.len()],
            adjacent: vec![vec![Vec::new(); nodes]; usize::from(count)],
            joined: vec![Unions::new(nodes); usize::from(count)],
            clumps: Unions::new(nodes),
        }
    }

    /// Puts an edge into a forest; `false` if it is placed already or would close a cycle there.
    pub fn place(&mut self, edge: usize, forest: u8) -> bool {
        let (a, b) = self.edges[edge];
        if self.forest[edge].is_some() || !self.joined[usize::from(forest)].union(a, b) {
            return false;
        }
        self.insert(edge, forest);
        true
    }

    /// Offers every edge that has no place.
    #[must_use]
    pub fn complete(mut self) -> Self {
        let mut search = Search::new(&self);
        for edge in 0..self.edges.len() {
            if self.forest[edge].is_none() {
                search.offer(&mut self, edge);
            }
        }
        self
    }

    /// The edges of each forest.
    #[must_use]
    pub fn forests(&self) -> Vec<Vec<usize>> {
        let mut forests = vec![Vec::new(); self.adjacent.len()];
        for (edge, forest) in self.forest.iter().enumerate() {
            if let Some(forest) = forest {
                forests[usize::from(*forest)].push(edge);
            }
        }
        forests
    }

    /// Whether every forest is a spanning tree.
    #[must_use]
    pub fn spans(&self) -> bool {
        let placed = self.forest.iter().flatten().count();
        placed == self.adjacent.len() * self.nodes.saturating_sub(1)
    }

    fn insert(&mut self, edge: usize, forest: u8) {
        let (a, b) = self.edges[edge];
        self.forest[edge] = Some(forest);
        let id = number(edge);
        self.adjacent[usize::from(forest)][a as usize].push(id);
        self.adjacent[usize::from(forest)][b as usize].push(id);
    }

    fn remove(&mut self, edge: usize) {
        let Some(forest) = self.forest[edge].take() else {
            return;
        };
        let (a, b) = self.edges[edge];
        let id = number(edge);
        for node in [a, b] {
            let list = &mut self.adjacent[usize::from(forest)][node as usize];
            if let Some(at) = list.iter().position(|&e| e == id) {
                list.swap_remove(at);
            }
        }
    }
}

/// Room for the searches.
struct Search {
    /// `above[f * nodes + v]` = the edge of forest `f` toward the root.
    above: Vec<u32>,
    /// Which forests have been rooted in this search.
    rooted: Vec<bool>,
    /// The edge whose place each edge would give up.
    label: Vec<u32>,
    labelled: Vec<u32>,
    queue: VecDeque<u32>,
    stack: Vec<u32>,
}

impl Search {
    fn new(packing: &Packing) -> Self {
        let forests = packing.adjacent.len();
        Self {
            above: vec![NONE; forests * packing.nodes],
            rooted: vec![false; forests],
            label: vec![NONE; packing.edges.len()],
            labelled: Vec::new(),
            queue: VecDeque::new(),
            stack: Vec::new(),
        }
    }

    /// Finds a place for an edge, if there is one.
    fn offer(&mut self, packing: &mut Packing, edge: usize) {
        let (x, y) = packing.edges[edge];
        if x == y || packing.clumps.find(x) == packing.clumps.find(y) {
            return;
        }
        // Most edges find a place at once.
        let forests = packing.adjacent.len();
        for forest in 0..forests {
            if packing.place(edge, u8::try_from(forest).unwrap_or(u8::MAX)) {
                return;
            }
        }
        self.rooted.fill(false);
        for edge in self.labelled.drain(..) {
            self.label[edge as usize] = NONE;
        }
        self.queue.clear();
        self.queue.push_back(number(edge));
        while let Some(at) = self.queue.pop_front() {
            let from = packing.forest[at as usize];
            let forest = from.map_or(0, |f| (usize::from(f) + 1) % forests);
            let (a, b) = packing.edges[at as usize];
            let joined = &mut packing.joined[forest];
            if joined.find(a) != joined.find(b) {
                joined.union(a, b);
                self.augment(packing, at as usize, forest);
                return;
            }
            if !self.rooted[forest] {
                self.root(packing, forest, x);
            }
            self.label_path(packing, at, forest, x);
        }
        packing.clumps.union(x, y);
    }

    /// Points every node of the root's tree toward the root.
    fn root(&mut self, packing: &Packing, forest: usize, root: u32) {
        self.rooted[forest] = true;
        let base = forest * packing.nodes;
        self.above[base..base + packing.nodes].fill(NONE);
        self.stack.clear();
        self.stack.push(root);
        while let Some(node) = self.stack.pop() {
            for &edge in &packing.adjacent[forest][node as usize] {
                if edge == self.above[base + node as usize] {
                    continue;
                }
                let next = other(packing.edges[edge as usize], node);
                self.above[base + next as usize] = edge;
                self.stack.push(next);
            }
        }
    }

    /// Labels the edges of a forest between the ends of `edge` and the labelled ones around the
    /// root.
    fn label_path(&mut self, packing: &Packing, edge: u32, forest: usize, root: u32) {
        let base = forest * packing.nodes;
        let (a, b) = packing.edges[edge as usize];
        for end in [a, b] {
            self.stack.clear();
            let mut at = end;
            while at != root {
                let above = self.above[base + at as usize];
                if above == NONE || self.label[above as usize] != NONE {
                    break;
                }
                self.stack.push(above);
                at = other(packing.edges[above as usize], at);
            }
            while let Some(step) = self.stack.pop() {
                self.label[step as usize] = edge;
                self.labelled.push(step);
                self.queue.push_back(step);
            }
        }
    }

    /// Moves `edge` into `forest`, the edge that it was labelled with into its old one, and so on.
    fn augment(&mut self, packing: &mut Packing, edge: usize, forest: usize) {
        let (mut edge, mut forest) = (edge, forest);
        loop {
            let old = packing.forest[edge];
            packing.remove(edge);
            packing.insert(edge, u8::try_from(forest).unwrap_or(u8::MAX));
            let Some(old) = old else { return };
            forest = usize::from(old);
            edge = self.label[edge] as usize;
        }
    }
}

fn other((a, b): (u32, u32), end: u32) -> u32 {
    if a == end { b } else { a }
}

fn number(edge: usize) -> u32 {
    u32::try_from(edge).unwrap_or(NONE)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The most edges of `count` disjoint forests, by the matroid union theorem: the least over all
    /// sets of edges `A` of `|E - A| + count * rank(A)`.
    fn most(nodes: usize, edges: &[(u32, u32)], count: usize) -> usize {
        let sets = 0u32..1 << edges.len();
        let bound = sets.map(|set| {
            let mut unions = Unions::new(nodes);
            let within = edges
                .iter()
                .enumerate()
                .filter(|(at, _)| set >> at & 1 == 1);
            let rank = within.filter(|(_, (a, b))| unions.union(*a, *b)).count();
            edges.len() - set.count_ones() as usize + count * rank
        });
        bound.min().unwrap_or(0)
    }

    proptest! {
        #[test]
        fn as_many_edges_as_the_theorem_says(
            edges in prop::collection::vec((0u32..6, 0u32..6), 0..13),
            count in 1u8..4,
            first in prop::collection::vec((0usize..13, 0u8..4), 0..8),
        ) {
            let mut packing = Packing::new(6, &edges, count);
            for (edge, forest) in first {
                if edge < edges.len() && forest < count {
                    packing.place(edge, forest);
                }
            }
            let packing = packing.complete();
            let forests = packing.forests();
            for forest in &forests {
                let mut unions = Unions::new(6);
                for &edge in forest {
                    prop_assert!(unions.union(edges[edge].0, edges[edge].1), "a cycle");
                }
            }
            let placed: usize = forests.iter().map(Vec::len).sum();
            prop_assert_eq!(placed, most(6, &edges, usize::from(count)));
        }
    }
}
