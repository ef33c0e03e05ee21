//! Walks shared out: each machine walks to some of the destinations, and what all of them found is
//! put together again.
//!
//! A share is a pure function of the tables, the options and its number, so shares may be walked
//! anywhere, in any order, and again; together they are what one machine finds.

use quantities::Progress;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use thiserror::Error;
use topology::Topology;

use super::explore::{Explorer, Findings};
use super::lossless::Tags;
use super::sample::Drawn;
use super::walk::{Case, World};
use super::{FailureOptions, sample};
use crate::failover::Failover;

/// A share of the destinations: those whose number leaves `index` when divided by `of`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// Which, from 0.
    pub index: usize,
    /// Of how many; at least 1.
    pub of: usize,
}

impl Share {
    /// All destinations.
    pub const ALL: Self = Self { index: 0, of: 1 };

    fn destinations(self, all: usize) -> Vec<usize> {
        (self.index..all).step_by(self.of.max(1)).collect()
    }
}

/// What walks to a share of the destinations have shown.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct WalkedShare {
    /// By the number of failures: all sets of at most so many. Ends before the number that took too
    /// many walks.
    explored: Vec<Findings>,
    /// The sets that are drawn where all are too many.
    drawn: Findings,
}

/// Shares that are not of this plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "what share {share} has found names switches, links or destinations that the plan does not have"
)]
pub struct ForeignShare {
    /// Its place among the shares, from 1.
    pub share: usize,
}

/// Where the proof takes walks through failover tables from.
#[derive(Clone, Copy, Debug)]
pub(in crate::check) enum WalkSource<'a> {
    /// Packets are walked here.
    Here,
    /// Packets were walked in shares, which are put together.
    Shares(&'a [WalkedShare]),
}

impl WalkSource<'_> {
    /// What all sets of at most so many failures show; `None` if that takes too many walks.
    pub(super) fn explored(
        self,
        world: &World<'_>,
        failures: u32,
        (options, progress): (&FailureOptions, &Progress),
    ) -> Option<Findings> {
        let shares = match self {
            Self::Here => return explore(world, failures, (options, progress), Share::ALL),
            Self::Shares(shares) => shares,
        };
        let place = failures as usize;
        let found = shares
            .iter()
            .map(|share| share.explored.get(place).cloned());
        let found: Option<Vec<Findings>> = found.collect();
        let found = found?.into_iter().fold(Findings::default(), Findings::and);
        (found.walks <= options.most_walks).then_some(found)
    }

    /// What sets that were drawn show.
    pub(super) fn drawn(
        self,
        world: &World<'_>,
        sets: &Drawn,
        (options, progress): (&FailureOptions, &Progress),
    ) -> Findings {
        match self {
            Self::Here => sample::walk_all(world, options, sets, progress),
            Self::Shares(shares) => {
                let found = shares.iter().map(|share| share.drawn.clone());
                found.fold(Findings::default(), Findings::and)
            }
        }
    }
}

/// Explores all sets of at most so many failures, and of no more than are asked for of a
/// destination, for a share of the destinations; `None` if that takes too many walks.
fn explore(
    world: &World<'_>,
    failures: u32,
    (options, progress): (&FailureOptions, &Progress),
    share: Share,
) -> Option<Findings> {
    let walks = std::sync::atomic::AtomicU64::new(0);
    let destinations = share.destinations(world.failover.destinations.len());
    progress.begin(destinations.len() as u64);
    destinations
        .par_iter()
        .map(|&destination| {
            let most = failures.min(world.wanted_to(destination, options));
            let mut explorer = Explorer::new(world, destination, most, &walks, options.most_walks);
            let findings = explorer.all_sources(&mut |_, _| {});
            progress.advance(1);
            findings
        })
        .try_reduce(Findings::default, |a, b| Some(a.and(b)))
}

impl WalkedShare {
    /// Walks to a share of the destinations.
    pub(in crate::check) fn walk(
        topology: &Topology,
        failover: &Failover,
        (options, progress): (&FailureOptions, &Progress),
        tags: Option<&Tags<'_>>,
        share: Share,
    ) -> Self {
        let mut world = World::new(topology, failover);
        world.tags = tags;
        let wanted = world.wanted(options);
        let explored = (0..=wanted)
            .map_while(|failures| explore(&world, failures, (options, progress), share));
        let explored = explored.collect();
        // Whether all shares together take too many walks is not known to one of them.
        let sets = Drawn::new(topology, &world, options);
        let destinations = share.destinations(failover.destinations.len());
        Self {
            explored,
            drawn: sample::walk_to_each(&world, &destinations, (options, &sets), progress),
        }
    }

    /// Whether all that shares name is there.
    ///
    /// # Errors
    /// [`ForeignShare`]: the first one that names something else.
    pub(in crate::check) fn check_all(
        shares: &[Self],
        topology: &Topology,
        failover: &Failover,
    ) -> Result<(), ForeignShare> {
        let world = World::new(topology, failover);
        let known = |case: &Case| {
            case.destination < failover.destinations.len()
                && case.source.index() < topology.switches().len()
                && case.failed.iter().all(|element| world.has(*element))
        };
        let own = |share: &Self| {
            let mut findings = share.explored.iter().chain([&share.drawn]);
            findings.all(|findings| findings.cases().all(known))
        };
        match shares.iter().position(|share| !own(share)) {
            Some(place) => Err(ForeignShare { share: place + 1 }),
            None => Ok(()),
        }
    }
}
