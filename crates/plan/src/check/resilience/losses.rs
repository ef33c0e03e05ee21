//! How much of all traffic is lost under sets of failures: every packet of the network, not a
//! sample of them.

use rayon::prelude::*;
use topology::UNREACHABLE;

use super::explore::Judge;
use super::survey::Survey;
use super::walk::{DestinationRules, End, World};

impl Survey<'_> {
    /// For each set of failures how many flows are lost although there is a way, and how many
    /// because there is none. A flow is a host and a destination that is not at its own switch; see
    /// [`Self::flows`] for how many there are.
    #[must_use]
    pub fn losses(&self, sets: &[Vec<u32>]) -> Vec<Losses> {
        let all: Vec<usize> = (0..self.destinations()).collect();
        self.losses_to(&all, sets)
    }

    /// As [`Self::losses`], of packets to some of the destinations, by their places.
    #[must_use]
    pub fn losses_to(&self, destinations: &[usize], sets: &[Vec<u32>]) -> Vec<Losses> {
        let world = &self.world;
        let failed: Vec<Elements> = sets.iter().map(|set| Elements::new(world, set)).collect();
        let none = || vec![Losses::default(); sets.len()];
        let of_destination = |&destination: &usize| losses_of(world, destination, &failed);
        let add = |mut all: Vec<Losses>, own: Vec<Losses>| {
            for (all, own) in all.iter_mut().zip(own) {
                all.avoidable += own.avoidable;
                all.cut_off += own.cut_off;
            }
            all
        };
        destinations
            .par_iter()
            .map(of_destination)
            .reduce(none, add)
    }

    /// How many flows [`Self::losses`] looks at.
    #[must_use]
    pub fn flows(&self) -> u64 {
        let all: Vec<usize> = (0..self.destinations()).collect();
        self.flows_to(&all)
    }

    /// How many flows [`Self::losses_to`] looks at.
    #[must_use]
    pub fn flows_to(&self, destinations: &[usize]) -> u64 {
        let world = &self.world;
        let hosts = |switch| world.fabric.attachments(switch).len() as u64;
        let to = |&destination: &usize| {
            let homes = world.destination(destination).homes(world.topology);
            let away = world.sources.iter().filter(|at| !homes.contains(at));
            away.map(|&at| hosts(at)).sum::<u64>()
        };
        destinations.iter().map(to).sum()
    }

    /// Hops between switches of these flows while nothing has failed, on average over those that
    /// arrive.
    #[must_use]
    pub fn mean_hops(&self) -> f64 {
        let world = &self.world;
        let of_destination = |destination| {
            let mut rules = DestinationRules::new(world, destination);
            let homes = rules.homes.clone();
            let (mut hops, mut flows) = (0, 0);
            for &source in world.sources.iter().filter(|at| !homes.contains(at)) {
                if let End::Delivered(own) = rules.walk(source, &[], &mut Vec::new()) {
                    let hosts = world.fabric.attachments(source).len() as u64;
                    hops += hosts * u64::from(own);
                    flows += hosts;
                }
            }
            (hops, flows)
        };
        let (hops, flows) = (0..self.destinations())
            .into_par_iter()
            .map(of_destination)
            .reduce(|| (0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
        hops as f64 / flows.max(1) as f64
    }
}

/// Flows that are lost under a set of failures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Lost although there was a way.
    pub avoidable: u64,
    /// Lost because there was none, or because their source had failed.
    pub cut_off: u64,
}

/// A set of failed elements: as a list, and to look one up.
struct Elements<'a> {
    list: &'a [u32],
    bits: Vec<u64>,
}

impl<'a> Elements<'a> {
    fn new(world: &World<'_>, list: &'a [u32]) -> Self {
        let most = world.elements.last().map_or(0, |&last| last as usize);
        let mut bits = vec![0; most / 64 + 1];
        for &element in list {
            if let Some(word) = bits.get_mut(element as usize / 64) {
                *word |= 1 << (element % 64);
            }
        }
        Self { list, bits }
    }

    fn has(&self, element: u32) -> bool {
        let word = self.bits.get(element as usize / 64);
        word.is_some_and(|word| word >> (element % 64) & 1 == 1)
    }
}

fn losses_of(world: &World<'_>, destination: usize, sets: &[Elements<'_>]) -> Vec<Losses> {
    let mut rules = DestinationRules::new(world, destination);
    let homes = rules.homes.clone();
    let mut judge = Judge::new(world, destination, &homes);
    let mut losses = vec![Losses::default(); sets.len()];
    for &source in world.sources.iter().filter(|at| !homes.contains(at)) {
        let hosts = world.fabric.attachments(source).len() as u64;
        let mut examined = Vec::new();
        let arrives = matches!(rules.walk(source, &[], &mut examined), End::Delivered(_));
        for (set, losses) in sets.iter().zip(&mut losses) {
            let (_, dead) = world.failed(set.list);
            if dead.contains(&source) {
                losses.cut_off += hosts;
                continue;
            }
            // Most walks meet none of the failures and stay as they are.
            if arrives && !examined.iter().any(|&element| set.has(element)) {
                continue;
            }
            let end = rules.walk(source, set.list, &mut Vec::new());
            if matches!(end, End::Delivered(_)) {
                continue;
            }
            let counted = if judge.fewest(source, &homes, set.list) == UNREACHABLE {
                &mut losses.cut_off
            } else {
                &mut losses.avoidable
            };
            *counted += hosts;
        }
    }
    losses
}
