//! Arc-disjoint spanning arborescences toward a root (Edmonds, by the construction in Lovász's
//! proof).
//!
//! A tree takes an arc only if every switch can still be reached over as many arc-disjoint ways as
//! trees remain to be built. Such an arc always exists; trees grow layer by layer, so that they are
//! shallow. Within a layer switches come in random order and hang under the one that has the fewest
//! below it, and no tree takes more than its share of the root's links, so that the load is spread
//! over links.

use std::collections::VecDeque;

use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use topology::{ArcId, Fabric, SwitchId};

use super::TreeGrowth;

/// Builds `count` arc-disjoint arborescences toward `root`, at random: for each the arc by which
/// every switch goes on.
///
/// # Errors
/// How many there are, if those are fewer.
pub fn arborescences(
    fabric: &Fabric,
    root: SwitchId,
    count: usize,
    growth: TreeGrowth,
    rng: &mut ChaCha8Rng,
) -> Result<Vec<Vec<Option<ArcId>>>, usize> {
    let mut flows = Flows::new(fabric, root);
    let live: Vec<SwitchId> = {
        let hops = fabric.distances(root);
        let reached = |s: &SwitchId| hops[s.index()] != topology::UNREACHABLE;
        fabric.switch_ids().filter(reached).collect()
    };
    let others = || live.iter().filter(|&&switch| switch != root);
    let found = others().map(|&switch| flows.at_most(switch, count)).min();
    match found {
        Some(found) if found < count => return Err(found),
        _ => {}
    }
    let mut trees = Vec::with_capacity(count);
    for remaining in (0..count).rev() {
        trees.push(match growth {
            TreeGrowth::Shallow => grow(fabric, &mut flows, root, remaining, rng),
            TreeGrowth::Random => grow_at_random(fabric, &mut flows, root, remaining, rng),
        });
    }
    Ok(trees)
}

/// Grows one tree that leaves `remaining` arc-disjoint ways to every switch.
fn grow(
    fabric: &Fabric,
    flows: &mut Flows<'_>,
    root: SwitchId,
    remaining: usize,
    rng: &mut ChaCha8Rng,
) -> Vec<Option<ArcId>> {
    let mut next = vec![None; fabric.switch_count()];
    let mut below = vec![0usize; fabric.switch_count()];
    let free = |flows: &Flows<'_>| {
        let inward = fabric.out(root).map(|out| fabric.reverse(out));
        inward.filter(|arc| !flows.used[arc.index()]).count()
    };
    let share = free(flows).div_ceil(remaining + 1);
    let mut reached = vec![root];
    // What only the root's other links lead to comes last, whatever the share.
    for most in [share, usize::MAX] {
        let mut front = reached.clone();
        while !front.is_empty() {
            front.sort_unstable();
            let mut fresh = Vec::new();
            for switch in outside(fabric, &front, root, &next, rng) {
                let mut inward: Vec<ArcId> = fabric
                    .out_arcs(switch)
                    .filter(|(id, arc)| {
                        front.binary_search(&arc.to).is_ok() && !flows.used[id.index()]
                    })
                    .map(|(id, _)| id)
                    .collect();
                inward.shuffle(rng);
                inward.sort_by_key(|&arc| below[fabric.arc(arc).to.index()]);
                let fits = |&arc: &ArcId| {
                    let full = fabric.arc(arc).to == root && below[root.index()] >= most;
                    !full && flows.take(arc, remaining)
                };
                if let Some(arc) = inward.into_iter().find(fits) {
                    next[switch.index()] = Some(arc);
                    below[fabric.arc(arc).to.index()] += 1;
                    fresh.push(switch);
                }
            }
            reached.extend(&fresh);
            front = fresh;
        }
    }
    next
}

/// Grows one tree by random arcs, whatever the depth.
fn grow_at_random(
    fabric: &Fabric,
    flows: &mut Flows<'_>,
    root: SwitchId,
    remaining: usize,
    rng: &mut ChaCha8Rng,
) -> Vec<Option<ArcId>> {
    let mut next = vec![None; fabric.switch_count()];
    let mut inward: Vec<ArcId> = fabric.out(root).map(|out| fabric.reverse(out)).collect();
    loop {
        inward.retain(|&arc| {
            let from = fabric.arc(arc).from;
            from != root && next[from.index()].is_none() && !flows.used[arc.index()]
        });
        inward.shuffle(rng);
        let Some(arc) = inward
            .iter()
            .copied()
            .find(|&arc| flows.take(arc, remaining))
        else {
            return next;
        };
        let from = fabric.arc(arc).from;
        next[from.index()] = Some(arc);
        inward.extend(fabric.out(from).map(|out| fabric.reverse(out)));
    }
}

/// The neighbours of a layer that are not in the tree, in random order.
fn outside(
    fabric: &Fabric,
    front: &[SwitchId],
    root: SwitchId,
    next: &[Option<ArcId>],
    rng: &mut ChaCha8Rng,
) -> Vec<SwitchId> {
    let around = front.iter().flat_map(|&inner| fabric.out_arcs(inner));
    let mut outside: Vec<SwitchId> = around
        .map(|(_, arc)| arc.to)
        .filter(|&outer| outer != root && next[outer.index()].is_none())
        .collect();
    outside.sort_unstable();
    outside.dedup();
    outside.shuffle(rng);
    outside
}

/// Arc-disjoint ways to the root over the arcs that no tree uses.
struct Flows<'a> {
    fabric: &'a Fabric,
    root: SwitchId,
    used: Vec<bool>,
    /// Arcs of the present flow.
    flowing: Vec<bool>,
    touched: Vec<ArcId>,
    came_by: Vec<Option<(ArcId, bool)>>,
    seen: Vec<u32>,
    round: u32,
    queue: VecDeque<SwitchId>,
}

impl<'a> Flows<'a> {
    fn new(fabric: &'a Fabric, root: SwitchId) -> Self {
        Self {
            fabric,
            root,
            used: vec![false; fabric.arcs().len()],
            flowing: vec![false; fabric.arcs().len()],
            touched: Vec::new(),
            came_by: vec![None; fabric.switch_count()],
            seen: vec![0; fabric.switch_count()],
            round: 0,
            queue: VecDeque::new(),
        }
    }

    /// Takes an arc for a tree, unless that leaves fewer than `remaining` ways from where it
    /// starts.
    fn take(&mut self, arc: ArcId, remaining: usize) -> bool {
        self.used[arc.index()] = true;
        let leaves = self.at_most(self.fabric.arc(arc).from, remaining) >= remaining;
        self.used[arc.index()] = leaves;
        leaves
    }

    /// How many arc-disjoint ways there are from a switch to the root, counted up to `most`.
    fn at_most(&mut self, from: SwitchId, most: usize) -> usize {
        for arc in self.touched.drain(..) {
            self.flowing[arc.index()] = false;
        }
        (0..most).take_while(|_| self.augment(from)).count()
    }

    /// One more way, if there is one.
    fn augment(&mut self, from: SwitchId) -> bool {
        self.round += 1;
        self.queue.clear();
        self.queue.push_back(from);
        self.seen[from.index()] = self.round;
        while let Some(at) = self.queue.pop_front() {
            for (id, arc) in self.fabric.out_arcs(at) {
                if self.seen[arc.to.index()] == self.round {
                    continue;
                }
                let back = self.fabric.reverse(id);
                let step = if !self.used[id.index()] && !self.flowing[id.index()] {
                    (id, true)
                } else if self.flowing[back.index()] {
                    (back, false)
                } else {
                    continue;
                };
                self.seen[arc.to.index()] = self.round;
                self.came_by[arc.to.index()] = Some(step);
                if arc.to == self.root {
                    self.push(from);
                    return true;
                }
                self.queue.push_back(arc.to);
            }
        }
        false
    }

    fn push(&mut self, from: SwitchId) {
        let mut at = self.root;
        while at != from {
            let Some((arc, forward)) = self.came_by[at.index()] else {
                return;
            };
            self.flowing[arc.index()] = forward;
            self.touched.push(arc);
            let arc = self.fabric.arc(arc);
            at = if forward { arc.from } else { arc.to };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use topology::generate::{Cables, FatTree, Jellyfish, JellyfishSize};

    #[test]
    fn as_many_trees_as_the_connectivity_and_no_arc_twice() {
        let cables = Cables::default();
        let size = JellyfishSize::Switches {
            switches: 20,
            fabric_ports: 5,
        };
        let jellyfish = Jellyfish {
            size,
            ports: 8,
            seed: 1,
            cables,
        };
        let fat_tree = FatTree { k: 4, cables };
        for (topology, count) in [
            (jellyfish.generate().expect("a valid Jellyfish"), 5),
            (fat_tree.generate().expect("a valid fat-tree"), 2),
        ] {
            let fabric = Fabric::new(&topology);
            let mut rng = ChaCha8Rng::seed_from_u64(1);
            for root in fabric.switch_ids() {
                let degree = fabric.out(root).count();
                let most = count.min(degree);
                let growth = if root.index().is_multiple_of(2) {
                    TreeGrowth::Shallow
                } else {
                    TreeGrowth::Random
                };
                let trees = arborescences(&fabric, root, most, growth, &mut rng).expect("trees");
                let mut used = vec![false; fabric.arcs().len()];
                for tree in &trees {
                    for start in fabric.switch_ids() {
                        let mut at = start;
                        let mut hops = 0;
                        while at != root {
                            at = fabric.arc(tree[at.index()].expect("an arc")).to;
                            hops += 1;
                            assert!(hops <= fabric.switch_count());
                        }
                        if let Some(arc) = tree[start.index()] {
                            assert!(!std::mem::replace(&mut used[arc.index()], true));
                        }
                    }
                }
                assert!(arborescences(&fabric, root, degree + 1, growth, &mut rng).is_err());
            }
        }
    }
}
