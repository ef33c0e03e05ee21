//! Shallow edge-disjoint spanning trees: a packing whose trees are a few hops deep.
//!
//! Unweighted packings come out several times deeper than the graph is wide, and depth is stretch.
//! So the forests first grow side by side, breadth first from roots of their own; matroid union
//! completes them; and then trees exchange edges as long as nodes come nearer to their roots.

use std::collections::VecDeque;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::packing::Packing;
use super::roots::Roots;

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
const WORTH: i64 = 20;

/// Packs `count` edge-disjoint spanning trees that are shallow around their roots; `None` if the
/// graph has fewer.
#[must_use]
pub fn shallow_pack(
    nodes: usize,
    edges: &[(u32, u32)],
    count: u8,
    roots: Roots<'_>,
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
    let weights = roots.weights(nodes);
    let roots = roots.choose(usize::from(count), &order, &at, &mut rng);
    let mut packing = Packing::new(nodes, edges, count);
    grow(&mut packing, &at, &roots);
    let packing = packing.complete();
    if !packing.spans() {
        return None;
    }
    let mut trees = Trees::new(edges, &packing, &roots, &weights);
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

/// Grows all forests side by side, a node each in turn, layer by layer; the nodes of a layer take
/// turns too, so that none gets all of the next.
fn grow(packing: &mut Packing, at: &[Vec<(u32, u32)>], roots: &[u32]) {
    let mut fronts: Vec<Front> = roots.iter().map(|&root| Front::new(root)).collect();
    let mut growing = true;
    while growing {
        growing = false;
        for (forest, front) in (0u8..).zip(&mut fronts) {
            growing |= front.grow(packing, at, forest);
        }
    }
}

/// Where a forest grows: nodes, each with the place among its edges that comes next.
struct Front {
    layer: VecDeque<(u32, usize)>,
    after: VecDeque<(u32, usize)>,
}

impl Front {
    fn new(root: u32) -> Self {
        Self {
            layer: VecDeque::from([(root, 0)]),
            after: VecDeque::new(),
        }
    }

    /// Adds one node; `false` if there is none to add.
    fn grow(&mut self, packing: &mut Packing, at: &[Vec<(u32, u32)>], forest: u8) -> bool {
        loop {
            let Some((node, next)) = self.layer.pop_front() else {
                if self.after.is_empty() {
                    return false;
                }
                std::mem::swap(&mut self.layer, &mut self.after);
                continue;
            };
            let Some(&(far, edge)) = at[node as usize].get(next) else {
                continue;
            };
            if packing.place(edge as usize, forest) {
                self.layer.push_back((node, next + 1));
                self.after.push_back((far, 0));
                return true;
            }
            self.layer.push_front((node, next + 1));
        }
    }
}

/// Spanning trees that exchange edges.
struct Trees {
    /// The tree and the lower end of every edge in a tree.
    owner: Vec<Option<(u8, u32)>>,
    trees: Vec<Tree>,
}

/// A rooted tree in which a node with all below it can be hung elsewhere, in as many steps as there
/// are nodes below it and above its old and new place.
struct Tree {
    root: u32,
    above: Vec<u32>,
    edge: Vec<u32>,
    depth: Vec<u32>,
    /// How much the depth of each node counts.
    weight: Vec<u32>,
    /// The sum of the weights of the nodes below and including each.
    size: Vec<u32>,
    /// One node below each, and the others by `next` and `last` from there.
    below: Vec<u32>,
    next: Vec<u32>,
    last: Vec<u32>,
    sum_of_depths: i64,
    stack: Vec<u32>,
}

impl Tree {
    fn new(weight: Vec<u32>, forest: Forest) -> Self {
        let nodes = weight.len();
        let mut tree = Self {
            root: forest.root,
            above: forest.above,
            edge: forest.edge,
            depth: vec![0; nodes],
            weight,
            size: vec![0; nodes],
            below: vec![NONE; nodes],
            next: vec![NONE; nodes],
            last: vec![NONE; nodes],
            sum_of_depths: 0,
            stack: Vec::new(),
        };
        let root = tree.root;
        for node in (0u32..).take(nodes).filter(|&node| node != root) {
            tree.link(node, tree.above[node as usize]);
        }
        let order = tree.fathom(tree.root);
        for &node in order.iter().rev() {
            tree.size[node as usize] += tree.weight[node as usize];
            if node != tree.root {
                tree.size[tree.above[node as usize] as usize] += tree.size[node as usize];
            }
        }
        tree
    }

    /// Puts a node first among those below another.
    fn link(&mut self, node: u32, under: u32) {
        let first = std::mem::replace(&mut self.below[under as usize], node);
        self.next[node as usize] = first;
        self.last[node as usize] = NONE;
        if first != NONE {
            self.last[first as usize] = node;
        }
        self.above[node as usize] = under;
    }

    /// Takes a node from among those below another.
    fn unlink(&mut self, node: u32) {
        let (last, next) = (self.last[node as usize], self.next[node as usize]);
        match last {
            NONE => self.below[self.above[node as usize] as usize] = next,
            last => self.next[last as usize] = next,
        }
        if next != NONE {
            self.last[next as usize] = last;
        }
    }

    /// Sets the depths of a node and all below it by that of the node above; they, from above.
    fn fathom(&mut self, top: u32) -> Vec<u32> {
        let mut order = std::mem::take(&mut self.stack);
        order.clear();
        order.push(top);
        let mut at = 0;
        while let Some(&node) = order.get(at) {
            at += 1;
            let depth = match node {
                node if node == self.root => 0,
                node => self.depth[self.above[node as usize] as usize] + 1,
            };
            let deeper = i64::from(depth) - i64::from(self.depth[node as usize]);
            self.sum_of_depths += deeper * i64::from(self.weight[node as usize]);
            self.depth[node as usize] = depth;
            let mut below = self.below[node as usize];
            while below != NONE {
                order.push(below);
                below = self.next[below as usize];
            }
        }
        order
    }

    /// Adds to the sizes of all above a node.
    fn weigh_above(&mut self, node: u32, size: i64) {
        let mut at = node;
        while at != self.root {
            at = self.above[at as usize];
            let own = &mut self.size[at as usize];
            *own = own.saturating_add_signed(i32::try_from(size).unwrap_or(0));
        }
    }

    /// Takes a node with all below it off.
    fn take_off(&mut self, node: u32) {
        self.weigh_above(node, -i64::from(self.size[node as usize]));
        self.unlink(node);
    }

    /// Hangs what was taken off under another node.
    fn hang(&mut self, node: u32, under: u32, edge: u32) {
        self.link(node, under);
        self.edge[node as usize] = edge;
        self.weigh_above(node, i64::from(self.size[node as usize]));
        self.stack = self.fathom(node);
    }

    /// Whether `node` is below `top` or is it.
    fn is_below(&self, node: u32, top: u32) -> bool {
        let mut at = node;
        while self.depth[at as usize] > self.depth[top as usize] {
            at = self.above[at as usize];
        }
        at == top
    }

    /// What hanging a node (with all below it) under another one changes in the sum of depths;
    /// `None` if it is impossible.
    fn gain(&self, node: u32, under: u32) -> Option<i64> {
        if node == self.root {
            return None;
        }
        let (from, to) = (self.depth[node as usize], self.depth[under as usize] + 1);
        let gain = (i64::from(to) - i64::from(from)) * i64::from(self.size[node as usize]);
        // A node below this one is deeper, so hanging under it gains nothing.
        (gain < 0 || !self.is_below(under, node)).then_some(gain)
    }

    /// The nodes from `entry` up to `top`, each with the weight of the nodes that hang on it but
    /// not on the one before.
    fn way_up(&self, entry: u32, top: u32) -> Vec<(u32, u32)> {
        let mut way = vec![(entry, self.size[entry as usize])];
        let mut at = entry;
        while at != top {
            let above = self.above[at as usize];
            way.push((above, self.size[above as usize] - self.size[at as usize]));
            at = above;
        }
        way
    }

    /// What [`Tree::turn`] changes in the sum of depths.
    fn turn_gain(&self, way: &[(u32, u32)], under: u32) -> i64 {
        let first = i64::from(self.depth[under as usize]) + 1;
        let changes = (first..).zip(way).map(|(depth, &(node, own))| {
            (depth - i64::from(self.depth[node as usize])) * i64::from(own)
        });
        changes.sum()
    }

    /// Takes the last node of a way off, turns the way round so that its first is on top, and hangs
    /// that under a node.
    fn turn(&mut self, way: &[(u32, u32)], under: u32, edge: u32) {
        let Some(&(top, _)) = way.last() else { return };
        self.take_off(top);
        let edges: Vec<u32> = way
            .iter()
            .map(|&(node, _)| self.edge[node as usize])
            .collect();
        for &(node, _) in &way[..way.len() - 1] {
            self.unlink(node);
        }
        let mut size = 0;
        for &(node, own) in way.iter().rev() {
            size += own;
            self.size[node as usize] = size;
        }
        for (pair, edge) in way.windows(2).zip(edges) {
            self.link(pair[1].0, pair[0].0);
            self.edge[pair[1].0 as usize] = edge;
        }
        self.hang(way[0].0, under, edge);
    }
}

impl Trees {
    fn new(edges: &[(u32, u32)], packing: &Packing, roots: &[u32], weights: &[u32]) -> Self {
        let nodes = weights.len();
        let mut trees = Self {
            owner: vec![None; edges.len()],
            trees: Vec::new(),
        };
        for (forest, &root) in packing.forests().iter().zip(roots) {
            let forest = hang(nodes, edges, forest, root);
            trees.trees.push(Tree::new(weights.to_vec(), forest));
        }
        for tree in 0..trees.trees.len() {
            for node in (0u32..).take(nodes) {
                trees.own(tree, node);
            }
        }
        trees
    }

    /// Notes whose the edge above a node is.
    fn own(&mut self, tree: usize, node: u32) {
        let edge = self.trees[tree].edge[node as usize];
        if edge != NONE {
            let number = u8::try_from(tree).unwrap_or(u8::MAX);
            self.owner[edge as usize] = Some((number, node));
        }
    }

    fn sum_of_depths(&self) -> i64 {
        self.trees.iter().map(|tree| tree.sum_of_depths).sum()
    }

    /// Looks for better edges above a node, in all trees.
    fn improve(&mut self, node: u32, around: &[(u32, u32)]) {
        for tree in 0..self.trees.len() {
            for &(under, edge) in around {
                match self.owner[edge as usize] {
                    Some((other, _)) if usize::from(other) == tree => {}
                    None => self.take_free(tree, node, under, edge),
                    Some((other, lower)) if lower == node => {
                        self.swap_above(tree, usize::from(other), node);
                    }
                    Some((other, lower)) => {
                        self.take_from_below(tree, usize::from(other), node, lower, edge);
                    }
                }
            }
        }
    }

    /// An edge that no tree has.
    fn take_free(&mut self, tree: usize, node: u32, under: u32, edge: u32) {
        let gain = self.trees[tree].gain(node, under);
        if gain.is_none_or(|gain| gain >= 0) {
            return;
        }
        let old = self.trees[tree].edge[node as usize];
        self.owner[old as usize] = None;
        self.hang_under(tree, node, under, edge);
    }

    /// Two trees exchange the edges above a node.
    fn swap_above(&mut self, a: usize, b: usize, node: u32) {
        let at = node as usize;
        let (under_a, under_b) = (self.trees[b].above[at], self.trees[a].above[at]);
        let gain_a = self.trees[a].gain(node, under_a);
        let (Some(gain_a), Some(gain_b)) = (gain_a, self.trees[b].gain(node, under_b)) else {
            return;
        };
        if gain_a + gain_b >= 0 {
            return;
        }
        let (edge_a, edge_b) = (self.trees[b].edge[at], self.trees[a].edge[at]);
        self.hang_under(a, node, under_a, edge_a);
        self.hang_under(b, node, under_b, edge_b);
    }

    /// Tree `a` hangs `node` under `lower`, which hangs under `node` in tree `b`; tree `b` gets the
    /// edge above `node` in `a` and hangs what was below by it.
    fn take_from_below(&mut self, a: usize, b: usize, node: u32, lower: u32, edge: u32) {
        let gain = self.trees[a].gain(node, lower);
        let Some(gain) = gain.filter(|&gain| gain < 0) else {
            return;
        };
        let entry = self.trees[a].above[node as usize];
        if !self.trees[b].is_below(entry, lower) {
            return;
        }
        let way = self.trees[b].way_up(entry, lower);
        if gain + self.trees[b].turn_gain(&way, node) >= 0 {
            return;
        }
        let freed = self.trees[a].edge[node as usize];
        self.trees[b].turn(&way, node, freed);
        for (node, _) in way {
            self.own(b, node);
        }
        self.hang_under(a, node, lower, edge);
    }

    fn hang_under(&mut self, tree: usize, node: u32, under: u32, edge: u32) {
        self.trees[tree].take_off(node);
        self.trees[tree].hang(node, under, edge);
        self.own(tree, node);
    }

    fn into_forests(self) -> Vec<Forest> {
        let forest = |tree: Tree| Forest {
            root: tree.root,
            above: tree.above,
            edge: tree.edge,
        };
        self.trees.into_iter().map(forest).collect()
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
        let trees = shallow_pack(60, &edges, 5, Roots::Spread, 1).expect("five trees");
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
        assert!(shallow_pack(60, &edges, 10, Roots::Spread, 1).is_none());
    }

    #[test]
    fn trees_stay_whole_through_exchanges() {
        let mut rng = ChaCha8Rng::seed_from_u64(9);
        let nodes = 40u32;
        let edges: Vec<(u32, u32)> = (0..200)
            .map(|_| (rng.random_range(0..nodes), rng.random_range(0..nodes)))
            .filter(|(a, b)| a != b)
            .collect();
        // Deep trees, so that there is much to exchange.
        let packing = super::super::packing::pack(40, &edges, 3);
        let mut trees = Trees::new(&edges, &packing, &[0, 1, 2], &[1; 40]);
        let mut around = vec![Vec::new(); 40];
        for (number, &(a, b)) in (0u32..).zip(&edges) {
            around[a as usize].push((b, number));
            around[b as usize].push((a, number));
        }
        let first = trees.sum_of_depths();
        for _ in 0..5 {
            for node in 0..nodes {
                let before = trees.sum_of_depths();
                trees.improve(node, &around[node as usize]);
                assert!(trees.sum_of_depths() <= before);
            }
        }
        assert!(trees.sum_of_depths() < first);
        let sizes: Vec<Vec<u32>> = trees.trees.iter().map(|tree| tree.size.clone()).collect();
        let sum = trees.sum_of_depths();
        let mut depths = 0;
        for (forest, size) in trees.into_forests().into_iter().zip(sizes) {
            let depth = forest.depths();
            assert!(
                depth.iter().all(|&depth| depth < nodes),
                "a node hangs on no root"
            );
            depths += depth.iter().map(|&d| i64::from(d)).sum::<i64>();
            // Every node counts for all above it, itself included.
            let counted: u32 = size.iter().sum();
            assert_eq!(counted, depth.iter().map(|d| d + 1).sum::<u32>());
        }
        assert_eq!(depths, sum);
    }
}
