//! Arc-disjoint spanning arborescences toward a root (Edmonds, by the construction in Lovász's proof).
//!
//! A tree takes an arc only if every switch can still be reached over as many arc-disjoint ways as trees remain
//! to be built. Such an arc always exists; the one nearest to the root is taken, so that trees are shallow.

use std::collections::VecDeque;

use topology::{ArcId, Fabric, SwitchId};

/// Builds `count` arc-disjoint arborescences toward `root`: for each the arc by which every switch goes on.
///
/// # Errors
/// How many there are, if those are fewer.
pub fn arborescences(
    fabric: &Fabric,
    root: SwitchId,
    count: usize,
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
        trees.push(grow(fabric, &mut flows, root, remaining, live.len()));
    }
    Ok(trees)
}

/// Grows one tree that leaves `remaining` arc-disjoint ways to every switch.
fn grow(
    fabric: &Fabric,
    flows: &mut Flows<'_>,
    root: SwitchId,
    remaining: usize,
    live: usize,
) -> Vec<Option<ArcId>> {
    let mut next = vec![None; fabric.switch_count()];
    let mut order = vec![root];
    let mut at = 0;
    while order.len() < live {
        let Some(&inner) = order.get(at) else { break };
        at += 1;
        for (outward, arc) in fabric.out_arcs(inner) {
            // Packets go inward: from `arc.to` to `inner`.
            let inward = fabric.reverse(outward);
            let outer = arc.to;
            if outer == root || next[outer.index()].is_some() || flows.used[inward.index()] {
                continue;
            }
            flows.used[inward.index()] = true;
            if flows.at_most(outer, remaining) < remaining {
                flows.used[inward.index()] = false;
                continue;
            }
            next[outer.index()] = Some(inward);
            order.push(outer);
        }
    }
    next
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
            for root in fabric.switch_ids() {
                let degree = fabric.out(root).count();
                let most = count.min(degree);
                let trees = arborescences(&fabric, root, most).expect("trees");
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
                assert!(arborescences(&fabric, root, degree + 1).is_err());
            }
        }
    }
}
