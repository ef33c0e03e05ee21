//! How long ways are over edge-disjoint spanning trees of a Flattened Clos, beside FC23's Tables 2
//! and 7.

use rayon::prelude::*;
use schemes::failover::pack;
use serde::Serialize;
use topology::{ArcId, Fabric, SwitchId, Topology};

/// What FC23 prints of trees; its lengths count switches.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PaperTrees {
    /// Switches of a way on a tree, on average over pairs and trees.
    pub length: f64,
    /// Switches of a pair's shortest way on any of them, on average.
    pub shortest: f64,
}

/// The trees of a network.
#[derive(Clone, Debug, Serialize)]
pub struct TreeLengths {
    /// How many there are: half as many as a switch has links to others.
    pub trees: usize,
    /// Switches of a way on a tree, on average over pairs and trees.
    pub length: f64,
    /// Switches of a pair's shortest way on any of them, on average.
    pub shortest: f64,
    /// What FC23 prints.
    pub paper: PaperTrees,
}

impl TreeLengths {
    /// Packs as many edge-disjoint spanning trees as there are and measures their ways.
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    pub(super) fn new(topology: &Topology, paper: PaperTrees) -> Self {
        let fabric = Fabric::new(topology);
        let trees = spanning_trees(&fabric);
        let switches = fabric.switch_count();
        let sums = (0..switches).into_par_iter().map(|from| {
            let mut nearest = vec![u16::MAX; switches];
            let mut all = 0;
            for tree in &trees {
                for (near, hops) in nearest.iter_mut().zip(distances(&fabric, tree, from)) {
                    all += u64::from(hops);
                    *near = (*near).min(hops);
                }
            }
            (all, nearest.into_iter().map(u64::from).sum::<u64>())
        });
        let (all, nearest) = sums.reduce(|| (0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
        let pairs = (switches * switches.saturating_sub(1)).max(1) as f64;
        Self {
            trees: trees.len(),
            length: all as f64 / pairs / trees.len().max(1) as f64 + 1.0,
            shortest: nearest as f64 / pairs + 1.0,
            paper,
        }
    }
}

/// A tree: the arcs that leave every switch.
type Tree = Vec<Vec<ArcId>>;

/// As many edge-disjoint spanning trees as there are links for.
pub(super) fn spanning_trees(fabric: &Fabric) -> Vec<Tree> {
    let switches = fabric.switch_count();
    let number = |switch: SwitchId| u32::try_from(switch.index()).unwrap_or(u32::MAX);
    let arcs = fabric.switch_ids().flat_map(|s| fabric.out_arcs(s));
    // Of the two arcs of a link the first.
    let forward = arcs.filter(|(id, _)| id.index() < fabric.reverse(*id).index());
    let forward: Vec<ArcId> = forward.map(|(id, _)| id).collect();
    let ends = |&id: &ArcId| (number(fabric.arc(id).from), number(fabric.arc(id).to));
    let edges: Vec<(u32, u32)> = forward.iter().map(ends).collect();
    let count = edges.len() / switches.max(1);
    let packing = pack(switches, &edges, u8::try_from(count).unwrap_or(u8::MAX));
    let spanning = packing
        .forests()
        .into_iter()
        .filter(|forest| forest.len() + 1 == switches);
    let tree = |forest: Vec<usize>| {
        let mut tree = vec![Vec::new(); switches];
        for edge in forest {
            for id in [forward[edge], fabric.reverse(forward[edge])] {
                tree[fabric.arc(id).from.index()].push(id);
            }
        }
        tree
    };
    spanning.map(tree).collect()
}

/// Links from a switch to all others over a tree.
fn distances(fabric: &Fabric, tree: &Tree, from: usize) -> Vec<u16> {
    let mut hops = vec![u16::MAX; tree.len()];
    hops[from] = 0;
    let mut queue = vec![from];
    let mut next = 0;
    while let Some(&at) = queue.get(next) {
        next += 1;
        for &arc in &tree[at] {
            let to = fabric.arc(arc).to.index();
            if hops[to] == u16::MAX {
                hops[to] = hops[at].saturating_add(1);
                queue.push(to);
            }
        }
    }
    hops
}
