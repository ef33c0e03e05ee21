//! Shallow edge-disjoint spanning trees: a packing whose trees are a few hops deep.
//!
//! Unweighted packings come out several times deeper than the graph is wide, and depth is stretch. So the
//! forests first grow side by side, breadth first from roots of their own; matroid union completes them; and
//! then trees exchange edges as long as nodes come nearer to their roots.

use std::collections::VecDeque;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::packing::Packing;

/// A spanning tree with its root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forest {
    /// The root.
    pub root: u32,
    /// The node above each node; the root's is itself.
    pub above: Vec<u32>,
    /// The edge to the node above; `u32::MAX` for the root.
    pub edge: Vec<u32>,
}

/// No edge, or no node.
const NONE: u32 = u32::MAX;
/// Most rounds of exchanges: each goes over all nodes and trees.
const ROUNDS: usize = 40;
/// A round that lowers the sum of depths by less than one in so many is the last.
const WORTH: u64 = 20;

/// Packs `count` edge-disjoint spanning trees that are shallow; `None` if the graph has fewer.
#[must_use]
pub fn shallow_pack(
    nodes: usize,
    edges: &[(u32, u32)],
    count: u8,
    seed: u64,
) -> Option<Vec<Forest>> {
    if nodes == 0 || count == 0 {
        return Some(Vec::new());
    }
    let mut at = vec![Vec::new(); nodes];
    for (number, &(a, b)) in (0u32..).zip(edges) {
        if a != b {
            at[a as usize].push((b, number));
            at[b as usize].push((a, number));
        }
    }
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut order: Vec<u32> = (0..u32::try_from(nodes).ok()?).collect();
    order.shuffle(&mut rng);
    at.iter_mut().for_each(|list| list.shuffle(&mut rng));
    let roots: Vec<u32> = (0..usize::from(count))
        .map(|tree| order[tree % nodes])
        .collect();
    let mut packing = Packing::new(nodes, edges, count);
    grow(&mut packing, &at, &roots);
    let packing = packing.complete();
    if !packing.spans() {
        return None;
    }
    let mut trees = Trees::new(nodes, edges, &packing, &roots);
    for _ in 0..ROUNDS {
        let before = trees.sum_of_depths();
        for node in &order {
            trees.improve(*node, &at[*node as usize]);
        }
        if (before - trees.sum_of_depths()) * WORTH < before {
            break;
        }
    }
    Some(trees.into_forests())
}

/// Grows all forests side by side, a node each in turn, nodes near the root first.
fn grow(packing: &mut Packing, at: &[Vec<(u32, u32)>], roots: &[u32]) {
    let mut fronts: Vec<VecDeque<(u32, usize)>> = roots
        .iter()
        .map(|&root| VecDeque::from([(root, 0)]))
        .collect();
    let mut growing = true;
    while growing {
        growing = false;
        for (forest, front) in (0u8..).zip(&mut fronts) {
            while let Some((node, next)) = front.front_mut() {
                let Some(&(far, edge)) = at[*node as usize].get(*next) else {
                    front.pop_front();
                    continue;
                };
                *next += 1;
                if packing.place(edge as usize, forest) {
                    front.push_back((far, 0));
                    growing = true;
                    break;
                }
            }
        }
    }
}

/// Spanning trees that exchange edges.
struct Trees {
    /// The tree and the lower end of every edge in a tree.
    owner: Vec<Option<(u8, u32)>>,
    trees: Vec<Forest>,
    /// `depth[t][v]`.
    depth: Vec<Vec<u32>>,
    /// `size[t][v]` = nodes below and including `v`.
    size: Vec<Vec<u32>>,
}

impl Trees {
    fn new(nodes: usize, edges: &[(u32, u32)], packing: &Packing, roots: &[u32]) -> Self {
        let forests = packing.forests();
        let mut trees = Self {
            owner: vec![None; edges.len()],
            trees: Vec::new(),
            depth: vec![vec![0; nodes]; roots.len()],
            size: vec![vec![1; nodes]; roots.len()],
        };
        for (forest, &root) in forests.iter().zip(roots) {
            trees.trees.push(hang(nodes, edges, forest, root));
        }
        for tree in 0..trees.trees.len() {
            for node in 0..nodes {
                trees.own(tree, node);
            }
            trees.measure(tree);
        }
        trees
    }

    fn own(&mut self, tree: usize, node: usize) {
        let edge = self.trees[tree].edge[node];
        if edge != NONE {
            let number = u8::try_from(tree).unwrap_or(u8::MAX);
            self.owner[edge as usize] = Some((number, node as u32));
        }
    }

    /// Depths and sizes of a tree anew.
    fn measure(&mut self, tree: usize) {
        let forest = &self.trees[tree];
        let nodes = forest.above.len();
        let mut below = vec![Vec::new(); nodes];
        for (node, &above) in (0u32..).zip(&forest.above) {
            if node != forest.root {
                below[above as usize].push(node);
            }
        }
        let mut order = vec![forest.root];
        let depth = &mut self.depth[tree];
        depth[forest.root as usize] = 0;
        let mut at = 0;
        while let Some(&node) = order.get(at) {
            at += 1;
            for &next in &below[node as usize] {
                depth[next as usize] = depth[node as usize] + 1;
                order.push(next);
            }
        }
        let size = &mut self.size[tree];
        size.fill(1);
        for &node in order.iter().rev() {
            if node != forest.root {
                size[forest.above[node as usize] as usize] += size[node as usize];
            }
        }
    }

    fn sum_of_depths(&self) -> u64 {
        self.depth
            .iter()
            .flatten()
            .map(|&depth| u64::from(depth))
            .sum()
    }

    /// Whether `node` is below `top` or is it.
    fn is_below(&self, tree: usize, node: u32, top: u32) -> bool {
        let depth = &self.depth[tree];
        let mut at = node;
        while depth[at as usize] > depth[top as usize] {
            at = self.trees[tree].above[at as usize];
        }
        at == top
    }

    /// What hanging a node (with all below it) under another one changes in the sum of depths; `None` if it
    /// is impossible.
    fn gain(&self, tree: usize, node: u32, under: u32) -> Option<i64> {
        if node == self.trees[tree].root || self.is_below(tree, under, node) {
            return None;
        }
        let depth = &self.depth[tree];
        let change = i64::from(depth[under as usize]) + 1 - i64::from(depth[node as usize]);
        Some(change * i64::from(self.size[tree][node as usize]))
    }

    /// Looks for better edges above a node, in all trees.
    fn improve(&mut self, node: u32, around: &[(u32, u32)]) {
        for tree in 0..self.trees.len() {
            for &(under, edge) in around {
                match self.owner[edge as usize] {
                    Some((other, _)) if usize::from(other) == tree => {}
                    None => self.take_free(tree, node, under, edge),
                    Some((other, lower)) if lower == node => {
                        self.swap_above(tree, usize::from(other), node)
                    }
                    Some((other, lower)) => {
                        self.take_from_below(tree, usize::from(other), node, lower, edge)
                    }
                }
            }
        }
    }

    /// An edge that no tree has.
    fn take_free(&mut self, tree: usize, node: u32, under: u32, edge: u32) {
        if self.gain(tree, node, under).is_none_or(|gain| gain >= 0) {
            return;
        }
        let old = self.trees[tree].edge[node as usize];
        self.owner[old as usize] = None;
        self.hang_under(tree, node, under, edge);
        self.measure(tree);
    }

    /// Two trees exchange the edges above a node.
    fn swap_above(&mut self, a: usize, b: usize, node: u32) {
        let at = node as usize;
        let (under_a, under_b) = (self.trees[b].above[at], self.trees[a].above[at]);
        let (Some(gain_a), Some(gain_b)) =
            (self.gain(a, node, under_a), self.gain(b, node, under_b))
        else {
            return;
        };
        if gain_a + gain_b >= 0 {
            return;
        }
        let (edge_a, edge_b) = (self.trees[b].edge[at], self.trees[a].edge[at]);
        self.hang_under(a, node, under_a, edge_a);
        self.hang_under(b, node, under_b, edge_b);
        self.measure(a);
        self.measure(b);
    }

    /// Tree `a` hangs `node` under `lower`, which hangs under `node` in tree `b`; tree `b` gets the edge above
    /// `node` in `a` and hangs what was below by it.
    fn take_from_below(&mut self, a: usize, b: usize, node: u32, lower: u32, edge: u32) {
        let Some(gain) = self.gain(a, node, lower) else {
            return;
        };
        let entry = self.trees[a].above[node as usize];
        if gain >= 0 || !self.is_below(b, entry, lower) {
            return;
        }
        let before: i64 = self.depth[b].iter().map(|&d| i64::from(d)).sum();
        let saved = self.trees[b].clone();
        let freed = self.trees[a].edge[node as usize];
        // Turn the way from `entry` up to `lower` round, so that `entry` is on top.
        let (mut under, mut by, mut at) = (node, freed, entry);
        loop {
            let forest = &mut self.trees[b];
            let above = std::mem::replace(&mut forest.above[at as usize], under);
            let up = std::mem::replace(&mut forest.edge[at as usize], by);
            if at == lower {
                break;
            }
            (under, by, at) = (at, up, above);
        }
        self.measure(b);
        let after: i64 = self.depth[b].iter().map(|&d| i64::from(d)).sum();
        if gain + after - before >= 0 {
            self.trees[b] = saved;
            self.measure(b);
            return;
        }
        self.hang_under(a, node, lower, edge);
        self.measure(a);
        for node in 0..self.trees[b].above.len() {
            self.own(b, node);
        }
    }

    fn hang_under(&mut self, tree: usize, node: u32, under: u32, edge: u32) {
        self.trees[tree].above[node as usize] = under;
        self.trees[tree].edge[node as usize] = edge;
        self.own(tree, node as usize);
    }

    fn into_forests(self) -> Vec<Forest> {
        self.trees
    }
}

/// Hangs the edges of a spanning tree on a root.
fn hang(nodes: usize, edges: &[(u32, u32)], tree: &[usize], root: u32) -> Forest {
    let mut at = vec![Vec::new(); nodes];
    for &edge in tree {
        let (a, b) = edges[edge];
        at[a as usize].push((b, edge as u32));
        at[b as usize].push((a, edge as u32));
    }
    let mut forest = Forest {
        root,
        above: vec![root; nodes],
        edge: vec![NONE; nodes],
    };
    let mut stack = vec![root];
    while let Some(node) = stack.pop() {
        for &(next, edge) in &at[node as usize] {
            if edge != forest.edge[node as usize] {
                forest.above[next as usize] = node;
                forest.edge[next as usize] = edge;
                stack.push(next);
            }
        }
    }
    forest
}

impl Forest {
    /// The depth of every node.
    #[must_use]
    pub fn depths(&self) -> Vec<u32> {
        let mut depth = vec![NONE; self.above.len()];
        depth[self.root as usize] = 0;
        for start in 0..self.above.len() {
            let mut way = Vec::new();
            let mut at = start;
            while depth[at] == NONE {
                way.push(at);
                at = self.above[at] as usize;
            }
            for (above, node) in (depth[at] + 1..).zip(way.into_iter().rev()) {
                depth[node] = above;
            }
        }
        depth
    }
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;

    #[test]
    fn the_trees_span_share_no_edge_and_are_shallow() {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let nodes = 60u32;
        let edges: Vec<(u32, u32)> = (0..480)
            .map(|_| (rng.random_range(0..nodes), rng.random_range(0..nodes)))
            .filter(|(a, b)| a != b)
            .collect();
        let trees = shallow_pack(60, &edges, 5, 1).expect("five trees");
        let mut used = vec![false; edges.len()];
        for tree in &trees {
            for (node, &edge) in (0u32..).zip(&tree.edge) {
                if node == tree.root {
                    continue;
                }
                let (a, b) = edges[edge as usize];
                let above = tree.above[node as usize];
                assert!((a, b) == (node, above) || (b, a) == (node, above));
                assert!(!std::mem::replace(&mut used[edge as usize], true));
            }
            let deepest = tree.depths().into_iter().max().unwrap_or(0);
            assert!(deepest <= 8, "{deepest}");
        }
        assert!(shallow_pack(60, &edges, 10, 1).is_none());
    }
}
