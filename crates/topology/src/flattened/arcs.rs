//! The virtual graph's arcs over links, as searches come upon them.

use std::ops::Range;

use super::{FlattenedLinks, number};

/// Arcs are numbered by the node that they leave; node `rank * switches + switch` is a switch in a
/// rank.
#[derive(Clone, Debug, Default)]
pub(super) struct Arcs {
    /// `first[v]..first[v + 1]` are the arcs that leave node `v`.
    first: Vec<u32>,
    /// The node to which each leads.
    pub(super) to: Vec<u32>,
    /// The position of the link of each.
    pub(super) positions: Vec<u32>,
    /// `entering[v]..entering[v + 1]` are the places in `back` of the arcs that enter node `v`.
    entering: Vec<u32>,
    /// Nodes that arcs leave, and these arcs.
    back: Vec<(u32, u32)>,
}

impl Arcs {
    /// Those of all links.
    pub(super) fn new(graph: &FlattenedLinks) -> Self {
        let wide = graph.switches;
        let mut arcs = Self::default();
        let mut from = Vec::new();
        for rank in 0..=graph.last_rank() {
            for switch in 0..wide {
                arcs.first.push(number(arcs.to.len()));
                let ends = graph.forward(rank, switch);
                let next = number((rank + 1) * wide);
                arcs.to.extend(ends.far.iter().map(|far| next + far));
                arcs.positions.extend(ends.positions);
                from.resize(arcs.to.len(), number(rank * wide + switch));
            }
        }
        arcs.first.push(number(arcs.to.len()));
        arcs.turn(&from);
        arcs
    }

    /// Sorts the arcs by the node that they enter, of equal ones by number.
    fn turn(&mut self, from: &[u32]) {
        let mut ends = vec![0; self.first.len()];
        for &to in &self.to {
            ends[to as usize + 1] += 1;
        }
        for node in 1..ends.len() {
            ends[node] += ends[node - 1];
        }
        self.entering.clone_from(&ends);
        self.back = vec![(0, 0); from.len()];
        for ((arc, &from), &to) in (0..).zip(from).zip(&self.to) {
            let place = &mut ends[to as usize];
            self.back[*place as usize] = (from, arc);
            *place += 1;
        }
    }

    /// The arcs that leave a node.
    pub(super) fn leaving(&self, node: u32) -> Range<usize> {
        span(&self.first, node)
    }

    /// The arcs that enter a node, each after the node that it leaves.
    pub(super) fn entering(&self, node: u32) -> &[(u32, u32)] {
        &self.back[span(&self.entering, node)]
    }
}

fn span(starts: &[u32], node: u32) -> Range<usize> {
    starts[node as usize] as usize..starts[node as usize + 1] as usize
}
