//! Sets of failures that are drawn: uniformly, and of neighbours (Stephens15 section 4.7).

use std::collections::{BTreeMap, BTreeSet};

use quantities::Progress;
use rand::seq::{IndexedRandom, SliceRandom};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use topology::{LinkId, NodeId, SwitchId, Topology};

use super::FailureOptions;
use super::explore::{Findings, Judge};
use super::walk::{DestinationRules, World};
use crate::failover::Element;

/// Draws sets of `size` failures: uniform and correlated ones in turn.
pub(super) fn draw(
    topology: &Topology,
    world: &World<'_>,
    size: u32,
    options: &FailureOptions,
) -> Vec<Vec<u32>> {
    let mut rng = ChaCha8Rng::seed_from_u64(options.seed);
    let size = usize::try_from(size)
        .unwrap_or(usize::MAX)
        .min(world.elements.len());
    (0..options.samples)
        .map(|number| {
            if number % 2 == 0 {
                uniform(&world.elements, size, &mut rng)
            } else {
                correlated(topology, world, size, &mut rng)
            }
        })
        .collect()
}

fn uniform(elements: &[u32], size: usize, rng: &mut ChaCha8Rng) -> Vec<u32> {
    let mut set: Vec<u32> = elements.sample(rng, size).copied().collect();
    set.sort_unstable();
    set
}

/// A first element at random, then neighbours of those chosen already.
fn correlated(
    topology: &Topology,
    world: &World<'_>,
    size: usize,
    rng: &mut ChaCha8Rng,
) -> Vec<u32> {
    let mut set: Vec<u32> = Vec::with_capacity(size);
    let mut near: Vec<u32> = Vec::new();
    while set.len() < size {
        let next = if near.is_empty() {
            let rest: Vec<u32> = world
                .elements
                .iter()
                .copied()
                .filter(|e| !set.contains(e))
                .collect();
            match rest.choose(rng) {
                Some(&element) => element,
                None => break,
            }
        } else {
            near.swap_remove(rng.random_range(0..near.len()))
        };
        set.push(next);
        let mut fresh: Vec<u32> = neighbours(topology, world.element, next)
            .into_iter()
            .filter(|e| !set.contains(e) && !near.contains(e))
            .filter(|e| world.elements.binary_search(e).is_ok())
            .collect();
        fresh.shuffle(rng);
        near.append(&mut fresh);
    }
    set.sort_unstable();
    set
}

fn neighbours(topology: &Topology, element: Element, number: u32) -> Vec<u32> {
    let around = |switch: SwitchId| topology.peers(switch);
    match element {
        Element::Link => {
            let link = topology.link(LinkId::new(number));
            let ends = [link.a.node, link.b.node].into_iter();
            let switches = ends.filter_map(|node| match node {
                NodeId::Switch(switch) => Some(switch),
                NodeId::Host(_) => None,
            });
            switches
                .flat_map(|s| around(s).map(|(_, peer)| peer.link.index()))
                .filter_map(|index| u32::try_from(index).ok())
                .collect()
        }
        Element::Switch => around(SwitchId::new(number))
            .filter_map(|(_, peer)| match peer.end.node {
                NodeId::Switch(far) => u32::try_from(far.index()).ok(),
                NodeId::Host(_) => None,
            })
            .collect(),
    }
}

/// The sets that are drawn, by how many failures they have: as many as are asked for of one
/// destination or another.
pub(super) struct Drawn(BTreeMap<u32, Vec<Vec<u32>>>);

impl Drawn {
    pub(super) fn new(topology: &Topology, world: &World<'_>, options: &FailureOptions) -> Self {
        let all = 0..world.failover.destinations.len();
        let sizes: BTreeSet<u32> = all.map(|at| world.wanted_to(at, options)).collect();
        let draw = |size| (size, draw(topology, world, size, options));
        Self(sizes.into_iter().map(draw).collect())
    }

    /// These sets, for destinations of which so many failures are asked.
    #[cfg(test)]
    pub(super) fn given(failures: u32, sets: Vec<Vec<u32>>) -> Self {
        Self(BTreeMap::from([(failures, sets)]))
    }

    /// How many sets of more failures than those of which all were explored.
    pub(super) fn beyond(&self, explored: u32) -> usize {
        let beyond = self.0.range(explored.saturating_add(1)..);
        beyond.map(|(_, sets)| sets.len()).sum()
    }
}

/// As [`walk_to_each`], to all destinations.
pub(super) fn walk_all(
    world: &World<'_>,
    options: &FailureOptions,
    drawn: &Drawn,
    progress: &Progress,
) -> Findings {
    let all: Vec<usize> = (0..world.failover.destinations.len()).collect();
    walk_to_each(world, &all, (options, drawn), progress)
}

/// Walks every pair of a source and one of these destinations under every set of as many failures
/// as are asked for of it that touches what its walk without failures depends on; under the others
/// the walk is that one.
pub(super) fn walk_to_each(
    world: &World<'_>,
    destinations: &[usize],
    (options, drawn): (&FailureOptions, &Drawn),
    progress: &Progress,
) -> Findings {
    progress.begin(destinations.len() as u64);
    destinations
        .par_iter()
        .map(|&destination| {
            let sets = drawn.0.get(&world.wanted_to(destination, options));
            let sets = sets.map_or(&[][..], Vec::as_slice);
            let findings = walk_to(world, destination, sets);
            progress.advance(1);
            findings
        })
        .reduce(Findings::default, Findings::and)
}

fn walk_to(world: &World<'_>, destination: usize, drawn: &[Vec<u32>]) -> Findings {
    let mut rules = DestinationRules::new(world, destination);
    let homes = rules.homes.clone();
    let mut judge = Judge::new(world, destination, &homes);
    let mut touched = Vec::new();
    let mut way = Vec::new();
    for &source in world
        .sources
        .iter()
        .filter(|source| !homes.contains(source))
    {
        touched.clear();
        let end = rules.walk_hops(source, &[], &mut touched, &mut way);
        judge.judge(source, &homes, &[], (end, &way));
        for failed in drawn {
            let (_, dead) = world.failed(failed);
            let same = failed.iter().all(|element| !touched.contains(element));
            if same || dead.contains(&source) {
                continue;
            }
            let end = rules.walk_hops(source, failed, &mut Vec::new(), &mut way);
            judge.judge(source, &homes, failed, (end, &way));
        }
    }
    judge.findings
}
