//! Edge-disjoint trees in figures: the time of a packing, and how deep its trees are.

use schemes::failover::{Forest, Roots, pack, shallow_pack};
use serde::{Deserialize, Serialize};
use topology::generate::{Cables, Jellyfish, JellyfishSize};
use topology::{Fabric, SwitchId, Topology};

use super::super::machine::timed;
use super::super::planning::MeasureError;

/// Edge-disjoint trees in figures.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct TreesFigure {
    /// Nodes.
    pub nodes: usize,
    /// Edges.
    pub edges: usize,
    /// Trees.
    pub trees: u8,
    /// Seconds for shallow trees: the best of three runs.
    pub seconds: f64,
    /// Seconds for trees of any depth.
    pub plain_seconds: f64,
    /// Depth of every tree hung on its centre.
    pub depths: Vec<u32>,
    /// Depth of every tree of the plain packing.
    pub plain_depths: Vec<u32>,
}

/// Packs edge-disjoint spanning trees of the switches of a topology.
///
/// # Errors
/// [`MeasureError::NoTables`] if there are not as many.
pub fn trees(topology: &Topology, count: u8) -> Result<TreesFigure, MeasureError> {
    let fabric = Fabric::new(topology);
    let number = |s: SwitchId| u32::try_from(s.index()).unwrap_or(u32::MAX);
    let both = fabric.arcs().iter().filter(|arc| arc.from < arc.to);
    let edges: Vec<(u32, u32)> = both.map(|arc| (number(arc.from), number(arc.to))).collect();
    let nodes = fabric.switch_count();
    let mut seconds = f64::INFINITY;
    let mut found = None;
    for _ in 0..3 {
        let (trees, taken) = timed(|| shallow_pack(nodes, &edges, count, Roots::Spread, 1));
        seconds = seconds.min(taken);
        found = trees;
    }
    let found = found.ok_or(MeasureError::NoTables)?;
    let (plain, plain_seconds) = timed(|| pack(nodes, &edges, count));
    let of_edges = |tree: Vec<usize>| radius(nodes, tree.into_iter().map(|edge| edges[edge]));
    let of_above = |tree: &Forest| {
        let up = (0u32..).zip(tree.above.iter().copied());
        radius(nodes, up.filter(|(node, above)| node != above))
    };
    Ok(TreesFigure {
        nodes,
        edges: edges.len(),
        trees: count,
        seconds,
        plain_seconds,
        depths: found.iter().map(of_above).collect(),
        plain_depths: plain.forests().into_iter().map(of_edges).collect(),
    })
}

/// The depth of a tree hung on its centre: half the longest way in it, rounded up.
fn radius(nodes: usize, edges: impl Iterator<Item = (u32, u32)>) -> u32 {
    let mut around = vec![Vec::new(); nodes];
    for (a, b) in edges {
        around[a as usize].push(b);
        around[b as usize].push(a);
    }
    let farthest = |start: u32| {
        let mut depth = vec![u32::MAX; nodes];
        depth[start as usize] = 0;
        let mut order = vec![start];
        let mut at = 0;
        while let Some(&node) = order.get(at) {
            at += 1;
            for &next in &around[node as usize] {
                if depth[next as usize] == u32::MAX {
                    depth[next as usize] = depth[node as usize] + 1;
                    order.push(next);
                }
            }
        }
        let last = order[order.len() - 1];
        (last, depth[last as usize])
    };
    let (end, _) = farthest(0);
    farthest(end).1.div_ceil(2)
}

/// A random graph of the degree, for [`trees`].
///
/// # Errors
/// [`MeasureError::Generate`].
pub fn regular_graph(switches: u32, degree: u16) -> Result<Topology, MeasureError> {
    let size = JellyfishSize::Switches {
        switches,
        fabric_ports: degree,
    };
    let jellyfish = Jellyfish {
        size,
        ports: degree + 1,
        seed: 1,
        cables: Cables::default(),
    };
    Ok(jellyfish.generate()?)
}
