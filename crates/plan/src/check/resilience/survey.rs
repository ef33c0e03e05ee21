//! Walks for figures: what becomes of given packets under given failures.

use rayon::prelude::*;
use topology::{LinkId, SwitchId, Topology, UNREACHABLE};

use super::sample;
use super::walk::{DestinationRules, End, World};
use super::{FailureOptions, explore::Judge};
use crate::failover::{Element, Failover};

/// A packet's source and its destination, by place in the list of destinations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Flow {
    /// The switch that it enters the network at.
    pub source: SwitchId,
    /// Place of its destination.
    pub destination: usize,
}

/// What became of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowOutcome {
    /// Whether its way without failures has met one of them.
    pub met_failure: bool,
    /// The links between switches that it crossed, each with its direction (whether from the link's first end),
    /// if it arrived.
    pub way: Option<Vec<(LinkId, bool)>>,
    /// The fewest hops between switches that were possible, if there was a way.
    pub fewest: Option<u16>,
}

/// A packet's way through the tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableWalk {
    /// The links between switches that it crossed, each with its direction (whether from the link's first end).
    pub links: Vec<(LinkId, bool)>,
    /// Whether it arrived.
    pub arrived: bool,
}

/// Failover tables, ready to be walked again and again.
pub struct Survey<'a> {
    pub(super) world: World<'a>,
}

impl<'a> Survey<'a> {
    /// Gets tables ready for failures of what the plan protects.
    #[must_use]
    pub fn new(topology: &'a Topology, failover: &'a Failover) -> Self {
        Self::of(topology, failover, failover.claim.element)
    }

    /// Gets tables ready for failures of links or of switches, whatever the plan protects.
    #[must_use]
    pub fn of(topology: &'a Topology, failover: &'a Failover, element: Element) -> Self {
        Self {
            world: World::of(topology, failover, element),
        }
    }

    /// Draws sets of so many failures: uniform ones at even places, neighbours at odd ones (Stephens15 section 4.7).
    #[must_use]
    pub fn draw(&self, size: u32, samples: u32, seed: u64) -> Vec<Vec<u32>> {
        let options = FailureOptions {
            samples,
            seed,
            ..FailureOptions::default()
        };
        sample::draw(self.world.topology, &self.world, size, &options)
    }

    /// How many destinations there are.
    #[must_use]
    pub fn destinations(&self) -> usize {
        self.world.failover.destinations.len()
    }

    /// The ways of packets from these switches to one destination, as the tables alone say. A packet that goes in
    /// circles is followed for as long as it takes to see it.
    #[must_use]
    pub fn walks(
        &self,
        failed: &[u32],
        destination: usize,
        sources: &[SwitchId],
    ) -> Vec<TableWalk> {
        let mut rules = DestinationRules::new(&self.world, destination);
        let walk = |&source: &SwitchId| {
            let (end, links) = rules.links(source, failed);
            TableWalk {
                links,
                arrived: matches!(end, End::Delivered(_)),
            }
        };
        sources.iter().map(walk).collect()
    }

    /// The outcomes of packets under a set of failures, in the order of the packets.
    #[must_use]
    pub fn outcomes(&self, failed: &[u32], flows: &[Flow]) -> Vec<FlowOutcome> {
        let mut order: Vec<usize> = (0..flows.len()).collect();
        order.sort_by_key(|&at| flows[at].destination);
        let groups: Vec<&[usize]> = order
            .chunk_by(|&a, &b| flows[a].destination == flows[b].destination)
            .collect();
        let outcomes: Vec<(usize, FlowOutcome)> = groups
            .par_iter()
            .flat_map_iter(|group| self.group(failed, flows, group))
            .collect();
        let mut sorted: Vec<Option<FlowOutcome>> = vec![None; flows.len()];
        for (at, outcome) in outcomes {
            sorted[at] = Some(outcome);
        }
        sorted.into_iter().flatten().collect()
    }

    /// The outcomes of packets to one destination.
    fn group(&self, failed: &[u32], flows: &[Flow], group: &[usize]) -> Vec<(usize, FlowOutcome)> {
        let world = &self.world;
        let destination = flows[group[0]].destination;
        let mut rules = DestinationRules::new(world, destination);
        let homes = rules.homes.clone();
        let mut judge = Judge::new(world, destination, &homes);
        let (_, dead) = world.failed(failed);
        let outcome = |&at: &usize| {
            let source = flows[at].source;
            if dead.contains(&source) {
                let lost = FlowOutcome {
                    met_failure: true,
                    way: None,
                    fewest: None,
                };
                return (at, lost);
            }
            let mut examined = Vec::new();
            rules.walk(source, &[], &mut examined);
            let met_failure = examined.iter().any(|element| failed.contains(element));
            let (end, links) = rules.links(source, failed);
            let fewest = judge.fewest(source, &homes, failed);
            let outcome = FlowOutcome {
                met_failure,
                way: matches!(end, End::Delivered(_)).then_some(links),
                fewest: (fewest != UNREACHABLE).then_some(fewest),
            };
            (at, outcome)
        };
        group.iter().map(outcome).collect()
    }
}
