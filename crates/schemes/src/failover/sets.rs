//! Algorithm 1 of Stephens15 for FCP: what a switch does depends on the set of failures that the
//! header names, not on where the packet comes from.
//!
//! For every set of failures there is one shortest way on from every switch, so that each switch
//! sends all packets with that set the same way: they come nearer to the destination at every hop,
//! and the set only grows, so nothing circulates.

use std::collections::BTreeSet;

use indexmap::IndexMap;
use plan::failover::{Action, Destination, Output, PortMask, PortMatch, Rule, Ternary, Write};
use topology::{ArcId, SwitchId};

use super::paths::{Failures, Ways};
use super::resilient::byte;
use super::{FailoverError, Network, Placed};

/// The ways on under one set of failures.
struct Set {
    hops: Vec<u16>,
    /// The arc to take from each switch, once it has been asked for.
    next: Vec<Option<Option<ArcId>>>,
}

struct Planner<'a> {
    network: &'a Network<'a>,
    code: u32,
    ways: Ways<'a>,
    /// The sets by number.
    sets: IndexMap<Failures, Set, foldhash::fast::FixedState>,
    /// Packets with a set that arrive at a switch, in the order of discovery.
    arrivals: Vec<(SwitchId, usize)>,
    known: BTreeSet<(SwitchId, usize)>,
    rules: Placed,
    longest: usize,
}

/// Plans one destination.
pub(super) fn plan(
    network: &Network<'_>,
    destination: &Destination,
) -> Result<Placed, FailoverError> {
    let mut planner = Planner {
        network,
        code: destination.code,
        ways: network.ways(destination),
        sets: IndexMap::default(),
        arrivals: Vec::new(),
        known: BTreeSet::new(),
        rules: Placed::default(),
        longest: 0,
    };
    let nothing = planner.set(Failures::default());
    for &source in &network.sources {
        planner.arrive(source, nothing);
    }
    let mut at = 0;
    while let Some(&(switch, set)) = planner.arrivals.get(at) {
        let from_host = set == nothing && network.sources.contains(&switch);
        planner.serve(switch, set, from_host);
        at += 1;
    }
    if planner.sets.len() >= 1 << 24 {
        return Err(FailoverError::TooLarge(
            "there are more sets of failures than a tag of 24 bits can number",
        ));
    }
    planner.rules.with_longest(planner.longest, network.options)
}

impl Planner<'_> {
    /// The number of a set of failures.
    fn set(&mut self, failures: Failures) -> usize {
        if let Some(at) = self.sets.get_index_of(&failures) {
            return at;
        }
        let hops = self.ways.hops(&failures).to_vec();
        let next = vec![None; hops.len()];
        self.sets.insert_full(failures, Set { hops, next }).0
    }

    /// The arc that packets with a set leave a switch by.
    fn next(&mut self, switch: SwitchId, set: usize) -> Option<ArcId> {
        let (failures, ways) = self.sets.get_index_mut(set)?;
        if let Some(known) = ways.next[switch.index()] {
            return known;
        }
        let arc = self.ways.step(switch, failures, &ways.hops, None);
        ways.next[switch.index()] = Some(arc);
        arc
    }

    fn arrive(&mut self, switch: SwitchId, set: usize) {
        if !self.ways.homes.contains(&switch) && self.known.insert((switch, set)) {
            self.arrivals.push((switch, set));
        }
    }

    /// The rules of a switch for packets that arrive with a set: the way on under it and, as long
    /// as ports on the way on are down and the resilience lasts, under the sets with those links
    /// too.
    fn serve(&mut self, switch: SwitchId, arrived: usize, from_host: bool) {
        let options = self.network.options;
        let fabric = &self.network.fabric;
        let mut set = arrived;
        let mut down = PortMask::EMPTY;
        loop {
            let Some(arc) = self.next(switch, set) else {
                let ports = PortMatch {
                    up: PortMask::EMPTY,
                    down,
                };
                self.push(switch, arrived, ports, Action::Drop);
                return;
            };
            let taken = fabric.arc(arc);
            // With source routes, a packet on its way looks up a rule only where its route has
            // failed.
            if options.output == Output::HopByHop || from_host || set != arrived {
                let ports = PortMatch {
                    up: PortMask::single(taken.out_port),
                    down,
                };
                let write = if set == arrived {
                    Write::default()
                } else {
                    Write::tag(u32::try_from(set).unwrap_or(u32::MAX))
                };
                let route = self.route(switch, set);
                self.push(switch, arrived, ports, Action::Forward { route, write });
            }
            self.arrive(taken.to, set);
            let failures = self
                .sets
                .get_index(set)
                .map(|(failures, _)| failures.clone());
            let failures = failures.unwrap_or_default();
            down = down.with(taken.out_port);
            if failures.links.len() + failures.switches.len() >= usize::from(options.resilience) {
                // The destination may be a failed switch: then more of its links have failed than
                // are counted.
                if options.drops_beyond() && !failures.links.is_empty() {
                    let up = PortMask::EMPTY;
                    self.push(switch, arrived, PortMatch { up, down }, Action::Drop);
                }
                return;
            }
            let more = failures.and(fabric, arc, options.protect, &self.ways.homes);
            set = self.set(more);
        }
    }

    fn push(&mut self, switch: SwitchId, arrived: usize, ports: PortMatch, action: Action) {
        let rule = Rule {
            tag: Ternary::exact(u32::try_from(arrived).unwrap_or(u32::MAX)),
            ports,
            ..Rule::to(self.code, action)
        };
        self.rules.push(switch, rule);
    }

    /// The ports of the way on: the first, or all of them with source routes.
    fn route(&mut self, from: SwitchId, set: usize) -> Box<[u8]> {
        let fabric = &self.network.fabric;
        let mut ports = Vec::new();
        let mut at = from;
        while let Some(arc) = self.next(at, set) {
            ports.push(byte(fabric.arc(arc).out_port));
            at = fabric.arc(arc).to;
            if self.network.options.output == Output::HopByHop {
                break;
            }
        }
        self.longest = self.longest.max(ports.len());
        ports.into()
    }
}
