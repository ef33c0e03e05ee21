//! Shortest ways up and down where arcs have lengths.

use super::FlattenedLinks;
use crate::SwitchId;

/// The next step of a way that stays at its switch.
const STAYS: u32 = u32::MAX;

/// The shortest ways up and down from all switches to one, among all that there are.
#[derive(Clone, Debug)]
pub struct ShortestWays<'a> {
    graph: &'a FlattenedLinks,
    /// From every node of the virtual graph to the target, rank by rank.
    distances: Vec<f64>,
    /// The link by which the way leads on, as a place among those of its switch.
    next: Vec<u32>,
}

impl<'a> ShortestWays<'a> {
    /// Without a target yet: no switch has a way.
    #[must_use]
    pub fn new(graph: &'a FlattenedLinks) -> Self {
        let nodes = (graph.last_rank() + 1) * graph.switches;
        Self {
            graph,
            distances: vec![f64::INFINITY; nodes],
            next: vec![STAYS; nodes],
        }
    }

    /// Finds the ways to a switch; `lengths` are those of all arcs, upward ones first, none
    /// negative.
    pub fn aim(&mut self, target: SwitchId, lengths: &[f64]) {
        let switches = self.graph.switches;
        let last = self.graph.last_rank();
        self.distances[last * switches..].fill(f64::INFINITY);
        self.distances[last * switches + target.index()] = 0.0;
        for rank in (0..last).rev() {
            let (nodes, beyond) = self.distances.split_at_mut((rank + 1) * switches);
            for switch in 0..switches {
                let mut best = (beyond[switch], STAYS);
                let links = self.graph.forward(rank, switch);
                for ((&far, &position), place) in links.far.iter().zip(links.positions).zip(0..) {
                    let length = lengths[self.graph.arc(rank, position) as usize];
                    let distance = beyond[far as usize] + length;
                    if distance < best.0 {
                        best = (distance, place);
                    }
                }
                let node = rank * switches + switch;
                (nodes[node], self.next[node]) = best;
            }
        }
    }

    /// The length of a switch's way; infinite if it has none.
    #[must_use]
    pub fn distance(&self, from: SwitchId) -> f64 {
        self.distances[from.index()]
    }

    /// The arcs of a switch's way; none where there is no way, nor from the target itself.
    pub fn arcs(&self, from: SwitchId) -> impl Iterator<Item = usize> + '_ {
        let last = self.graph.last_rank();
        let mut switch = from.index();
        let ranks = if self.distance(from).is_finite() {
            0..last
        } else {
            0..0
        };
        ranks.filter_map(move |rank| {
            let place = self.next[rank * self.graph.switches + switch];
            let links = self.graph.forward(rank, switch);
            switch = *links.far.get(place as usize)? as usize;
            Some(self.graph.arc(rank, links.positions[place as usize]) as usize)
        })
    }
}
