//! Roots of spanning trees: nodes that are near to all switches with hosts, and far from each
//! other.

use std::collections::VecDeque;

use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;

/// Where the trees of a packing have their roots.
#[derive(Clone, Copy, Debug)]
pub enum Roots<'a> {
    /// All at one node.
    At(u32),
    /// Each at a node of its own, at random.
    Spread,
    /// Each at a node of its own, first those from which the farthest of the marked nodes (the
    /// switches with hosts) is nearest: on a fat-tree the core. Ways between marked nodes are what
    /// counts there, not the depths of the others.
    Central(&'a [bool]),
}

/// How much deeper a marked node may not be, for one level of one that is not.
const WEIGHT: u32 = 16;
/// From how many marked nodes distances are measured.
const SAMPLES: usize = 32;

impl Roots<'_> {
    /// How much the depth of each node counts.
    pub(super) fn weights(self, nodes: usize) -> Vec<u32> {
        match self {
            Self::Central(marked) => {
                let weight = |&marked: &bool| if marked { WEIGHT } else { 1 };
                marked.iter().map(weight).collect()
            }
            Self::At(_) | Self::Spread => vec![1; nodes],
        }
    }

    /// As many roots as trees; `order` is all nodes at random, `at` the neighbours of each with the
    /// edge there.
    pub(super) fn choose(
        self,
        count: usize,
        order: &[u32],
        at: &[Vec<(u32, u32)>],
        rng: &mut ChaCha8Rng,
    ) -> Vec<u32> {
        match self {
            Self::At(root) => vec![root; count],
            Self::Spread => order.iter().copied().cycle().take(count).collect(),
            Self::Central(marked) if marked.iter().all(|&marked| marked) => {
                Self::Spread.choose(count, order, at, rng)
            }
            Self::Central(marked) => central(count, marked, order, at, rng),
        }
    }
}

/// Distances from a node, in edges; the highest number where none leads.
fn distances(at: &[Vec<(u32, u32)>], from: u32) -> Vec<u32> {
    let mut far = vec![u32::MAX; at.len()];
    far[from as usize] = 0;
    let mut queue = VecDeque::from([from]);
    while let Some(node) = queue.pop_front() {
        for &(next, _) in &at[node as usize] {
            if far[next as usize] == u32::MAX {
                far[next as usize] = far[node as usize] + 1;
                queue.push_back(next);
            }
        }
    }
    far
}

fn central(
    count: usize,
    marked: &[bool],
    order: &[u32],
    at: &[Vec<(u32, u32)>],
    rng: &mut ChaCha8Rng,
) -> Vec<u32> {
    let all: Vec<u32> = (0u32..)
        .zip(marked)
        .filter_map(|(node, &m)| m.then_some(node))
        .collect();
    let mut farthest = vec![0; at.len()];
    for &from in all.sample(rng, SAMPLES) {
        for (most, far) in farthest.iter_mut().zip(distances(at, from)) {
            *most = far.max(*most);
        }
    }
    let mut rest: Vec<u32> = order.to_vec();
    rest.sort_by_key(|&node| farthest[node as usize]);
    // The distance to the nearest root so far.
    let mut nearest = vec![u32::MAX; at.len()];
    let mut roots = Vec::new();
    while roots.len() < count && !rest.is_empty() {
        let class = farthest[rest[0] as usize];
        let classed = rest
            .iter()
            .take_while(|&&node| farthest[node as usize] == class);
        // The first of those that are farthest.
        let (place, _) = classed
            .enumerate()
            .max_by_key(|&(place, &node)| (nearest[node as usize], std::cmp::Reverse(place)))
            .unwrap_or((0, &0));
        let root = rest.remove(place);
        for (near, far) in nearest.iter_mut().zip(distances(at, root)) {
            *near = far.min(*near);
        }
        roots.push(root);
    }
    let found = roots.clone();
    roots.extend(found.into_iter().cycle().take(count - roots.len()));
    roots
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn roots_are_the_core_a_group_each_first() {
        // Two pods of two aggregation and two edge switches; aggregation switch i of a pod has the
        // cores of group i.
        let mut at = vec![Vec::new(); 12];
        let mut join = |a: u32, b: u32| {
            at[a as usize].push((b, 0));
            at[b as usize].push((a, 0));
        };
        for pod in 0..2 {
            for i in 0..2 {
                let above = 4 + 2 * pod + i;
                (0..2).for_each(|edge| join(2 * pod + edge, above));
                (0..2).for_each(|core| join(above, 8 + 2 * i + core));
            }
        }
        let marked: Vec<bool> = (0..12).map(|node| node < 4).collect();
        let order: Vec<u32> = (0..12).rev().collect();
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let roots = Roots::Central(&marked).choose(4, &order, &at, &mut rng);
        let group = |root: u32| (root - 8) / 2;
        assert!(roots.iter().all(|&root| root >= 8), "{roots:?}");
        assert_ne!(group(roots[0]), group(roots[1]));
        let many = Roots::Central(&marked).choose(14, &order, &at, &mut rng);
        assert_eq!(many.len(), 14);
        assert_eq!(many[12..], many[..2]);
    }
}
