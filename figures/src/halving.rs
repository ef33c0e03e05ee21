//! Halves of a network with few links between them (Fiduccia and Mattheyses): an upper bound of its
//! bisection bandwidth.

use std::collections::BTreeSet;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use topology::{Fabric, Topology};

/// Random halves to begin with.
const STARTS: u64 = 16;

/// The fewest links between switches that were found to cut the network into two halves, equal but
/// for one switch.
#[must_use]
pub(super) fn halving(topology: &Topology, seed: u64) -> u64 {
    let fabric = Fabric::new(topology);
    let near: Vec<Vec<usize>> = fabric
        .switch_ids()
        .map(|at| fabric.out_arcs(at).map(|(_, arc)| arc.to.index()).collect())
        .collect();
    let found = (0..STARTS).into_par_iter().map(|start| {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(start);
        Halves::random(&near, &mut rng).improve()
    });
    found.min().unwrap_or(0)
}

/// A network in two halves.
struct Halves<'a> {
    near: &'a [Vec<usize>],
    /// Which half every switch is in.
    right: Vec<bool>,
}

impl<'a> Halves<'a> {
    fn random(near: &'a [Vec<usize>], rng: &mut ChaCha8Rng) -> Self {
        let mut order: Vec<usize> = (0..near.len()).collect();
        order.shuffle(rng);
        let mut right = vec![false; near.len()];
        for &node in &order[..near.len() / 2] {
            right[node] = true;
        }
        Self { near, right }
    }

    /// Links cut.
    fn cut(&self) -> u64 {
        let crossing = |node: usize| {
            let far = self.near[node].iter();
            far.filter(|&&other| self.right[other] != self.right[node])
                .count()
        };
        (0..self.near.len()).map(crossing).sum::<usize>() as u64 / 2
    }

    /// Exchanges switches as long as fewer links are cut; how many are left.
    fn improve(mut self) -> u64 {
        while self.pass() {}
        self.cut()
    }

    /// Moves every switch once, the best first, from the larger half; then takes back all after the
    /// best moment. Whether fewer links are cut.
    fn pass(&mut self) -> bool {
        let nodes = self.near.len();
        let mut gain: Vec<i64> = (0..nodes).map(|node| self.gain(node)).collect();
        let mut free = [BTreeSet::new(), BTreeSet::new()];
        for node in 0..nodes {
            free[usize::from(self.right[node])].insert((gain[node], node));
        }
        let mut moved = Vec::with_capacity(nodes);
        let (mut won, mut best) = (0i64, (0i64, 0usize));
        // From the left half first, then in turn.
        let mut from_right = false;
        while let Some((own, node)) = free[usize::from(from_right)].pop_last() {
            won += own;
            moved.push(node);
            self.right[node] = !from_right;
            for &other in self.near[node].iter().filter(|&&other| other != node) {
                let entry = (gain[other], other);
                let side = usize::from(self.right[other]);
                // A link to the half that the switch has left is cut now, one to that which it has
                // joined no longer.
                gain[other] += if self.right[other] == from_right {
                    2
                } else {
                    -2
                };
                if free[side].remove(&entry) {
                    free[side].insert((gain[other], other));
                }
            }
            from_right = !from_right;
            if !from_right && won > best.0 {
                best = (won, moved.len());
            }
        }
        for &node in &moved[best.1..] {
            self.right[node] = !self.right[node];
        }
        best.0 > 0
    }

    /// How many links fewer are cut if a switch changes its half.
    fn gain(&self, node: usize) -> i64 {
        let links = self.near[node].iter().filter(|&&other| other != node);
        links
            .map(|&other| {
                if self.right[other] == self.right[node] {
                    -1
                } else {
                    1
                }
            })
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use topology::generate::{Cables, Jellyfish, JellyfishSize};

    #[test]
    fn two_cliques_come_apart() {
        // Two cliques of six with two links between them, mixed up.
        let mut near = vec![Vec::new(); 12];
        let mut join = |a: usize, b: usize| {
            near[a].push(b);
            near[b].push(a);
        };
        for a in 0..12 {
            for b in a + 1..12 {
                if a % 2 == b % 2 {
                    join(a, b);
                }
            }
        }
        join(0, 1);
        join(4, 9);
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let cut = (0..4).map(|_| Halves::random(&near, &mut rng).improve());
        assert_eq!(cut.min(), Some(2));
    }

    #[test]
    fn halves_of_a_random_graph_are_near_what_theory_says() {
        let jellyfish = Jellyfish {
            size: JellyfishSize::Switches {
                switches: 200,
                fabric_ports: 20,
            },
            ports: 21,
            seed: 1,
            cables: Cables::default(),
        };
        let cut = halving(&jellyfish.generate().unwrap(), 1);
        // n (d/4 - 0.7632 sqrt(d/4)) for random regular graphs of large degree (Dembo, Montanari,
        // Sen 2017).
        let expected = 200.0 * (5.0 - 0.7632 * 5f64.sqrt());
        let ratio = cut as f64 / expected;
        assert!((0.95..1.08).contains(&ratio), "{cut} beside {expected}");
        assert_eq!(cut, halving(&jellyfish.generate().unwrap(), 1));
    }
}
