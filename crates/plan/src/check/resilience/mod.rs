//! The proof of failover tables: for every set of at most K failures and every pair of a switch
//! with hosts and a destination, the packet arrives if a way remains, and it never circulates.
//!
//! Packets are walked through the tables alone. A walk depends on the state of few links: those
//! that the rules it met have asked about. Whatever else fails, the walk is the same; so for each
//! pair the sets of failures are explored as a tree: walk with nothing failed, then fail each link
//! that the walk depended on, with those before it held up, and walk again. Every set of failures
//! falls into exactly one of the walks, and sets that touch nothing on a walk are not walked again.
//! The number of failures rises from none; where K would take too many walks, all sets of fewer
//! failures are explored as far as that goes, and of the sets of K some are drawn: half of them at
//! random, half of neighbouring links (Stephens15 section 4.7).
//!
//! Where destinations differ in how many failures they survive, each is proven for as many as the
//! plan claims of it.

mod explore;
mod hop;
mod losses;
pub(super) mod lossless;
mod pairs;
mod rules;
mod sample;
mod shape;
mod shares;
mod survey;
mod tagged;
mod walk;

use explore::{Explorer, Findings};
use quantities::Progress;
use rayon::prelude::*;
use topology::{ArcId, SwitchId, Topology};

use super::failures::{FailureReport, PartReport, Sample};
use crate::failover::{Element, Failover, Part};
use hop::Hop;
pub use losses::Losses;
use lossless::Tags;
use sample::Drawn;
pub(super) use shape::shape;
pub(super) use shares::WalkSource;
pub use shares::{ForeignShare, Share, WalkedShare};
pub use survey::{Flow, FlowOutcome, Survey, TableWalk};
pub use tagged::{TaggedPacket, TaggedSurvey, TaggedWalk};
use walk::World;

/// What the proof of failover tables is asked for.
#[derive(Clone, Copy, Debug)]
pub struct FailureOptions {
    /// The most failures at once; as many as the plan claims if absent.
    pub failures: Option<u32>,
    /// Walks after which exploring gives way to drawing.
    pub most_walks: u64,
    /// Sets of failures that are drawn, where exploring is too much.
    pub samples: u32,
    /// Seed of the drawing.
    pub seed: u64,
}

impl Default for FailureOptions {
    fn default() -> Self {
        Self {
            failures: None,
            most_walks: 60_000_000,
            samples: 200,
            seed: 1,
        }
    }
}

/// Walks packets through failover tables under failures.
#[must_use]
pub fn resilience(
    topology: &Topology,
    failover: &Failover,
    options: &FailureOptions,
) -> FailureReport {
    let quiet = Progress::default();
    walk_all(
        topology,
        failover,
        (options, &quiet),
        None,
        WalkSource::Here,
    )
}

/// The same, with the lossless tags that packets have on the way.
pub(super) fn walk_all(
    topology: &Topology,
    failover: &Failover,
    (options, progress): (&FailureOptions, &Progress),
    tags: Option<&Tags<'_>>,
    source: WalkSource<'_>,
) -> FailureReport {
    let mut world = World::new(topology, failover);
    world.tags = tags;
    let parts = failover.parts();
    let claims = parts.iter().map(|part| part.protection.failures);
    let elements = world.elements();
    let wanted = world.wanted(options);
    let mut report = FailureReport {
        claimed: claims.min().unwrap_or(failover.claim.failures),
        checked_failures: wanted,
        stretch_max: 1.0,
        ..FailureReport::default()
    };
    let mut deepest = Findings::default();
    for failures in 0..=wanted {
        let Some(findings) = source.explored(&world, failures, (options, progress)) else {
            break;
        };
        report.exhaustive = failures == wanted;
        report.exhaustive_failures = failures;
        report.sets_checked = sets(elements as u64, failures);
        // Each failure more multiplies the walks by about as much as the one before.
        let growth = findings.walks / deepest.walks.max(1);
        let next = findings.walks.saturating_mul(growth);
        deepest = findings;
        if failures > 0 && next > options.most_walks.saturating_mul(2) {
            break;
        }
    }
    if !report.exhaustive {
        let drawn = Drawn::new(topology, &world, options);
        let sets = drawn.beyond(report.exhaustive_failures) as u64;
        report.sets_checked = report.sets_checked.saturating_add(sets);
        report.sample = Some(Sample::of(u64::from(options.samples)));
        deepest = deepest.and(source.drawn(&world, &drawn, (options, progress)));
    }
    if parts.len() > 1 {
        let explored = report.exhaustive_failures;
        let part = |part: &Part| {
            PartReport::of(part, explored, |claimed| {
                world.at_most(options.failures.unwrap_or(claimed))
            })
        };
        report.parts = parts.iter().map(part).collect();
    }
    report.take(&world, deepest);
    report
}

impl FailureReport {
    fn take(&mut self, world: &World<'_>, findings: Findings) {
        self.walks = findings.walks;
        self.lost = findings.lost;
        self.loops = findings.loops;
        self.stretch_max = self.stretch_max.max(findings.stretch);
        self.first_lost = findings.first.map(|case| world.describe(&case));
        let Some(tags) = world.tags else { return };
        self.lossy = Some(findings.lossy);
        let acyclic = findings.pairs.is_acyclic(world);
        self.priorities_at_least = Some(if acyclic { 1 } else { 2 });
        self.first_lossy = findings.first_lossy.map(|case| world.describe(&case));
        let case = |edge: usize| findings.causes.get(edge).and_then(Option::as_ref);
        let causes = (0..tags.wanted()).map(|edge| pairs::cause(world, world.topology, case(edge)));
        self.causes = causes.collect();
    }
}

/// The way of a packet that arrives.
#[derive(Clone, Copy, Debug)]
pub struct Way<'a> {
    /// The switch that it enters the network at.
    pub source: SwitchId,
    /// The links that it crosses, each in its direction.
    pub arcs: &'a [ArcId],
}

/// Shows the ways of all packets that arrive, under every set of as many failures as the tables
/// claim that packets to their destination survive: one value for each destination, in their order.
/// `None` if there are more than `most_walks` walks.
pub fn fold_ways<T: Send>(
    topology: &Topology,
    failover: &Failover,
    most_walks: u64,
    start: impl Fn() -> T + Sync,
    see: impl Fn(&mut T, Way<'_>) + Sync,
) -> Option<Vec<T>> {
    let world = World::new(topology, failover);
    let walks = std::sync::atomic::AtomicU64::new(0);
    (0..failover.destinations.len())
        .into_par_iter()
        .map(|destination| {
            let mut value = start();
            let mut arcs = Vec::new();
            let mut show = |source: SwitchId, hops: &[Hop]| {
                arcs.clear();
                let arc = |hop: &Hop| world.fabric.arc_at(hop.switch, hop.out?);
                arcs.extend(hops.iter().filter_map(arc));
                see(
                    &mut value,
                    Way {
                        source,
                        arcs: &arcs,
                    },
                );
            };
            let failures = world.at_most(world.protection(destination).failures);
            let mut explorer = Explorer::new(&world, destination, failures, &walks, most_walks);
            explorer.all_sources(&mut show)?;
            Some(value)
        })
        .collect()
}

/// How many sets of at most so many of the elements there are.
fn sets(elements: u64, failures: u32) -> u64 {
    let mut total = 0u64;
    let mut one = 1u128;
    for chosen in 0..=u64::from(failures).min(elements) {
        if chosen > 0 {
            one = one.saturating_mul(u128::from(elements - chosen + 1)) / u128::from(chosen);
        }
        total = total.saturating_add(u64::try_from(one).unwrap_or(u64::MAX));
    }
    total
}

/// The name of what may fail, for messages.
fn name(topology: &Topology, element: Element, number: u32) -> String {
    match element {
        Element::Link => topology.link_name(topology::LinkId::new(number)),
        Element::Switch => {
            let switch = topology::SwitchId::new(number);
            topology.switch(switch).name.clone()
        }
    }
}

#[cfg(test)]
mod tests;
