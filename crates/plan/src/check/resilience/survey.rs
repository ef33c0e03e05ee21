//! Walks for figures: what becomes of given packets under given failures.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;
use topology::{HopSearch, LinkId, SwitchId, Topology, UNREACHABLE};

use super::FailureOptions;
use super::sample;
use super::walk::{DestinationRules, End, World};
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
    /// The links between switches that it crossed, each with its direction (whether from the link's
    /// first end), if it arrived.
    pub way: Option<Vec<(LinkId, bool)>>,
    /// The fewest hops between switches that were possible, if there was a way.
    pub fewest: Option<u16>,
}

/// A packet's way through the tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableWalk {
    /// The links between switches that it crossed, each with its direction (whether from the link's
    /// first end).
    pub links: Vec<(LinkId, bool)>,
    /// Whether it arrived.
    pub arrived: bool,
}

/// Hops from every switch, by index, to the nearest of some switches.
type Fewest = BTreeMap<Vec<SwitchId>, Vec<u16>>;

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

    /// Draws sets of so many failures: uniform ones at even places, neighbours at odd ones
    /// (Stephens15 section 4.7).
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

    /// The ways of packets from these switches to one destination, as the tables alone say. A
    /// packet that goes in circles is followed for as long as it takes to see it.
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
        let homes: BTreeSet<Vec<SwitchId>> = groups
            .iter()
            .map(|group| self.homes(flows[group[0]].destination))
            .collect();
        let fewest = self.fewest(homes, failed);
        let outcomes: Vec<(usize, FlowOutcome)> = groups
            .par_iter()
            .flat_map_iter(|group| self.group(failed, flows, group, &fewest))
            .collect();
        let mut sorted: Vec<Option<FlowOutcome>> = vec![None; flows.len()];
        for (at, outcome) in outcomes {
            sorted[at] = Some(outcome);
        }
        sorted.into_iter().flatten().collect()
    }

    /// The switches that have a destination.
    fn homes(&self, destination: usize) -> Vec<SwitchId> {
        let destination = self.world.destination(destination);
        destination.homes(self.world.topology)
    }

    /// The fewest hops from every switch to the nearest of each of these sets of switches under
    /// failures.
    fn fewest(&self, homes: BTreeSet<Vec<SwitchId>>, failed: &[u32]) -> Fewest {
        let world = &self.world;
        let homes: Vec<Vec<SwitchId>> = homes.into_iter().collect();
        let hops = |search: &mut HopSearch, homes: Vec<SwitchId>| {
            let hops = world.hops(search, &homes, failed, None).to_vec();
            (homes, hops)
        };
        let homes = homes.into_par_iter();
        let search = || HopSearch::new(&world.fabric);
        homes.map_init(search, hops).collect()
    }

    /// The outcomes of packets to one destination.
    fn group(
        &self,
        failed: &[u32],
        flows: &[Flow],
        group: &[usize],
        fewest: &Fewest,
    ) -> Vec<(usize, FlowOutcome)> {
        let world = &self.world;
        let mut rules = DestinationRules::new(world, flows[group[0]].destination);
        let fewest = fewest.get(&rules.homes);
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
            let fewest = fewest.and_then(|hops| hops.get(source.index())).copied();
            let outcome = FlowOutcome {
                met_failure,
                way: matches!(end, End::Delivered(_)).then_some(links),
                fewest: fewest.filter(|hops| *hops != UNREACHABLE),
            };
            (at, outcome)
        };
        group.iter().map(outcome).collect()
    }
}
