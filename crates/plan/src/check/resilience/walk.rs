//! One packet's walk through the tables, and which links it depends on.

use std::collections::BTreeMap;

use quantities::PortId;
use serde::{Deserialize, Serialize};
use topology::{Fabric, HopSearch, LinkId, NodeId, SwitchId, Topology};

use super::FailureOptions;
use super::hop::Hop;
use super::lossless::{Tags, host_ports};
use super::rules::SwitchRules;
use crate::check::failures::LostPacket;
use crate::failover::{
    Action, Destination, Element, Failover, Label, LabelKind, Origin, PortMask, Protection,
    SwitchTable,
};
use crate::tag::Tag;

/// What stands behind a port.
#[derive(Clone, Copy, Debug)]
pub(super) struct Behind {
    pub(super) link: LinkId,
    pub(super) switch: SwitchId,
    pub(super) port: PortId,
}

/// The network and its tables, ready for walks.
pub(super) struct World<'a> {
    pub(super) topology: &'a Topology,
    pub(super) failover: &'a Failover,
    pub(super) fabric: Fabric,
    pub(super) element: Element,
    /// The lossless tags, if walks are to be replayed with them.
    pub(super) tags: Option<&'a Tags<'a>>,
    /// By arc: how many pairs of arcs come before its own, and last how many there are.
    pub(super) pair_base: Vec<usize>,
    /// The switches that packets enter the network at.
    pub(super) sources: Vec<SwitchId>,
    /// What may fail, in rising order.
    pub(super) elements: Vec<u32>,
    /// `behind[s][p]` where a live link to another switch is plugged in.
    behind: Vec<Vec<Option<Behind>>>,
    /// The ports of every switch that are up while nothing fails.
    up: Vec<PortMask>,
    rules: Vec<ByDestination>,
}

/// Which rules of a switch can match a destination.
struct ByDestination {
    /// By mask of the destination: (value, place) of the rules, in rising order.
    by_mask: BTreeMap<u32, Vec<(u32, u32)>>,
}

impl ByDestination {
    fn new(table: &SwitchTable) -> Self {
        let mut by_mask: BTreeMap<u32, Vec<(u32, u32)>> = BTreeMap::new();
        for (at, rule) in (0u32..).zip(table.iter()) {
            let destination = rule.destination;
            let own = by_mask.entry(destination.mask()).or_default();
            own.push((destination.value(), at));
        }
        by_mask.values_mut().for_each(|own| own.sort_unstable());
        Self { by_mask }
    }

    /// Places of the rules that match a code, in order.
    fn places(&self, code: u32) -> Vec<u32> {
        let own = self.by_mask.iter().flat_map(|(mask, rules)| {
            let value = code & mask;
            let start = rules.partition_point(|&(v, _)| v < value);
            let equal = rules[start..].iter().take_while(move |&&(v, _)| v == value);
            equal.map(|&(_, at)| at)
        });
        let mut places: Vec<u32> = own.collect();
        places.sort_unstable();
        places
    }
}

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// It arrived after so many hops between switches.
    Delivered(u32),
    /// A rule dropped it.
    Dropped,
    /// No rule matched.
    NoRule,
    /// A rule sent it out of a port that is down or leads to no switch.
    DeadPort(PortId),
    /// Its route no longer fits the header.
    Stack,
    /// It came into a state that it had been in before.
    Circles,
}

impl End {
    fn describe(self) -> String {
        match self {
            Self::Delivered(_) => "it arrives".to_owned(),
            Self::Dropped => "a rule drops it there, although there is a way".to_owned(),
            Self::NoRule => "no rule matches it there, although there is a way".to_owned(),
            Self::DeadPort(port) => {
                format!(
                    "a rule sends it out of port {port} there, which is down or leads to no switch"
                )
            }
            Self::Stack => "its route no longer fits the header there".to_owned(),
            Self::Circles => "it has been there before and goes in circles".to_owned(),
        }
    }
}

/// A case: a packet and what has failed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Case {
    pub(super) failures: usize,
    pub(super) destination: usize,
    pub(super) source: SwitchId,
    pub(super) failed: Vec<u32>,
}

/// The state of a packet in a switch.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Packet {
    at: SwitchId,
    origin: Origin,
    label: Label,
    /// The forward route, the next port last.
    forward: Vec<u8>,
}

/// The rules for one destination, gathered as switches are met.
pub(super) struct DestinationRules<'w> {
    world: &'w World<'w>,
    code: u32,
    /// What the header of packets to it says.
    label: LabelKind,
    pub(super) homes: Vec<SwitchId>,
    rules: Vec<Option<SwitchRules<'w>>>,
}

impl<'a> World<'a> {
    /// Ready for failures of what the plan protects.
    pub(super) fn new(topology: &'a Topology, failover: &'a Failover) -> Self {
        Self::of(topology, failover, failover.claim.element)
    }

    /// Ready for failures of anything.
    pub(super) fn of(topology: &'a Topology, failover: &'a Failover, element: Element) -> Self {
        let fabric = Fabric::new(topology);
        let mut behind = Vec::new();
        let mut up = Vec::new();
        for switch in topology.switch_ids() {
            let mut ports = vec![None; usize::from(topology.switch(switch).ports) + 1];
            let mut live = PortMask::EMPTY;
            for (port, peer) in topology
                .peers(switch)
                .filter(|(_, p)| topology.is_live(p.link))
            {
                live = live.with(port);
                if let NodeId::Switch(far) = peer.end.node {
                    ports[usize::from(port.get())] = Some(Behind {
                        link: peer.link,
                        switch: far,
                        port: peer.end.port,
                    });
                }
            }
            behind.push(ports);
            up.push(live);
        }
        let number = |index: usize| u32::try_from(index).unwrap_or(u32::MAX);
        let mut elements: Vec<u32> = match element {
            Element::Link => fabric
                .arcs()
                .iter()
                .map(|arc| number(arc.link.index()))
                .collect(),
            Element::Switch => {
                let live = topology.switch_ids().filter(|&s| topology.switch(s).up);
                live.map(|s| number(s.index())).collect()
            }
        };
        elements.sort_unstable();
        elements.dedup();
        let mut pair_base = vec![0];
        let mut pairs = 0;
        for arc in fabric.arcs() {
            pairs += fabric.out(arc.to).count();
            pair_base.push(pairs);
        }
        Self {
            topology,
            failover,
            element,
            tags: None,
            pair_base,
            sources: fabric.edge_switches().collect(),
            elements,
            behind,
            up,
            rules: failover.tables.iter().map(ByDestination::new).collect(),
            fabric,
        }
    }

    /// The most failures at once that are asked for, of all destinations.
    pub(super) fn wanted(&self, options: &FailureOptions) -> u32 {
        let all = 0..self.failover.destinations.len();
        let claimed = self.failover.claim.failures;
        let most = all.map(|at| self.wanted_to(at, options)).max();
        most.unwrap_or_else(|| self.at_most(options.failures.unwrap_or(claimed)))
    }

    /// The most failures at once that are asked for of packets to one destination: as many as are
    /// claimed of it.
    pub(super) fn wanted_to(&self, destination: usize, options: &FailureOptions) -> u32 {
        let claimed = self.protection(destination).failures;
        self.at_most(options.failures.unwrap_or(claimed))
    }

    /// So many failures, or as many as there can be.
    pub(super) fn at_most(&self, failures: u32) -> u32 {
        failures.min(u32::try_from(self.elements()).unwrap_or(u32::MAX))
    }

    /// How packets to a destination survive failures.
    pub(super) fn protection(&self, destination: usize) -> Protection {
        self.failover.protection(self.destination(destination))
    }

    /// Whether this is a number of something that may fail.
    pub(super) fn has(&self, element: u32) -> bool {
        self.elements.binary_search(&element).is_ok()
    }

    /// How many things may fail.
    pub(super) fn elements(&self) -> usize {
        self.elements.len()
    }

    /// How many pairs of an arc and one that leaves where it ends there are.
    pub(super) fn pairs(&self) -> usize {
        self.pair_base.last().copied().unwrap_or(0)
    }

    pub(super) fn destination(&self, at: usize) -> &Destination {
        &self.failover.destinations[at]
    }

    fn behind(&self, switch: SwitchId, port: PortId) -> Option<Behind> {
        *self.behind[switch.index()].get(usize::from(port.get()))?
    }

    /// What must not fail for a port of a switch to be up, if it can fail at all.
    fn element(&self, switch: SwitchId, port: PortId) -> Option<u32> {
        let behind = self.behind(switch, port)?;
        let index = match self.element {
            Element::Link => behind.link.index(),
            Element::Switch => behind.switch.index(),
        };
        u32::try_from(index).ok()
    }

    /// The ports of a switch that are up.
    fn status(&self, switch: SwitchId, failed: &[u32]) -> PortMask {
        let mut status = self.up[switch.index()];
        for &element in failed {
            match self.element {
                Element::Link => {
                    let link = self.topology.link(LinkId::new(element));
                    for end in [link.a, link.b] {
                        if end.node == NodeId::Switch(switch) {
                            status = status.without(PortMask::single(end.port));
                        }
                    }
                }
                Element::Switch => {
                    for port in status.iter() {
                        if self.element(switch, port) == Some(element) {
                            status = status.without(PortMask::single(port));
                        }
                    }
                }
            }
        }
        status
    }

    /// The failed links and switches of a set.
    pub(super) fn failed(&self, set: &[u32]) -> (Vec<LinkId>, Vec<SwitchId>) {
        match self.element {
            Element::Link => (set.iter().map(|&e| LinkId::new(e)).collect(), vec![]),
            Element::Switch => (vec![], set.iter().map(|&e| SwitchId::new(e)).collect()),
        }
    }

    /// The fewest hops from every switch to the nearest of some under failures, as far as `until`:
    /// see [`HopSearch::search`].
    pub(super) fn hops<'s>(
        &self,
        search: &'s mut HopSearch,
        homes: &[SwitchId],
        failed: &[u32],
        until: Option<SwitchId>,
    ) -> &'s [u16] {
        let (links, switches) = self.failed(failed);
        let alive = homes.iter().filter(|home| !switches.contains(home));
        let alive: Vec<SwitchId> = alive.copied().collect();
        search.search(&self.fabric, &alive, &links, &switches, until)
    }

    /// A case in words, walked once more.
    pub(super) fn describe(&self, case: &Case) -> LostPacket {
        let mut rules = DestinationRules::new(self, case.destination);
        let mut hops = Vec::new();
        let end = rules.walk_hops(case.source, &case.failed, &mut Vec::new(), &mut hops);
        let mut way = &hops[..];
        let mut what = end.describe();
        if let (Some(tags), Some(last), End::Delivered(_)) = (self.tags, hops.last(), end) {
            let hosts = host_ports(
                &self.fabric,
                self.destination(case.destination),
                last.switch,
            );
            if let Err(lossy) = tags.replay(&self.fabric, &hops, &hosts, |_| {}) {
                way = lossy.way(&hops);
                what = tags.describe(&lossy);
            }
        }
        let step = |hop: &Hop| {
            let came = match hop.origin {
                Origin::Port(port) => format!("{port}:"),
                _ => String::new(),
            };
            let left = hop.out.map_or_else(String::new, |port| format!(":{port}"));
            format!("{came}{}{left}", self.topology.switch(hop.switch).name)
        };
        let name = |&e: &u32| super::name(self.topology, self.element, e);
        LostPacket {
            pair: format!(
                "`{}` to {}",
                self.topology.switch(case.source).name,
                self.destination(case.destination).describe(self.topology)
            ),
            failed: case.failed.iter().map(name).collect(),
            walk: way.iter().map(step).collect(),
            end: what,
        }
    }
}

impl<'w> DestinationRules<'w> {
    pub(super) fn new(world: &'w World<'w>, destination: usize) -> Self {
        let label = world.protection(destination).label;
        let destination = world.destination(destination);
        Self {
            world,
            code: destination.code,
            label,
            homes: destination.homes(world.topology),
            rules: (0..world.failover.tables.len()).map(|_| None).collect(),
        }
    }

    /// Walks a packet. `examined` is filled with what was up and must stay so for the walk to stay
    /// the same.
    pub(super) fn walk(
        &mut self,
        source: SwitchId,
        failed: &[u32],
        examined: &mut Vec<u32>,
    ) -> End {
        self.follow(source, failed, examined, &mut |_| {})
    }

    /// The same, telling the way.
    pub(super) fn walk_hops(
        &mut self,
        source: SwitchId,
        failed: &[u32],
        examined: &mut Vec<u32>,
        hops: &mut Vec<Hop>,
    ) -> End {
        hops.clear();
        self.follow(source, failed, examined, &mut |hop| hops.push(hop))
    }

    /// Walks a packet and tells which links it crossed, and whether from their first end.
    pub(super) fn links(&mut self, source: SwitchId, failed: &[u32]) -> (End, Vec<(LinkId, bool)>) {
        let world = self.world;
        let mut links = Vec::new();
        let mut note = |hop: Hop| {
            if let Some(behind) = hop.out.and_then(|port| world.behind(hop.switch, port)) {
                let first = world.topology.link(behind.link).a.node;
                links.push((behind.link, first == NodeId::Switch(hop.switch)));
            }
        };
        let end = self.follow(source, failed, &mut Vec::new(), &mut note);
        (end, links)
    }

    fn follow(
        &mut self,
        source: SwitchId,
        failed: &[u32],
        examined: &mut Vec<u32>,
        note: &mut impl FnMut(Hop),
    ) -> End {
        let world = self.world;
        let reverse = self.label == LabelKind::ReverseRoute;
        let mut packet = Packet {
            at: source,
            origin: Origin::Host,
            label: Label::default(),
            forward: Vec::new(),
        };
        // Brent: a state kept from a power of two steps ago comes back if the packet goes in
        // circles.
        let mut kept: Option<Packet> = None;
        let mut hops = 0u32;
        loop {
            let decided = self.decide(&mut packet, failed, examined);
            note(Hop {
                switch: packet.at,
                origin: packet.origin,
                out: decided.ok().map(|(out, _)| out),
                channel: decided.ok().and_then(|(_, channel)| channel),
            });
            let out = match decided {
                Ok((out, _)) => out,
                Err(End::Delivered(_)) => return End::Delivered(hops),
                Err(end) => return end,
            };
            let Some(behind) = world.behind(packet.at, out) else {
                return End::DeadPort(out);
            };
            packet.at = behind.switch;
            packet.origin = Origin::Port(behind.port);
            hops += 1;
            if reverse {
                if packet.label.reverse.len() >= usize::from(world.failover.stack) {
                    return End::Stack;
                }
                let port = u8::try_from(behind.port.get()).unwrap_or(u8::MAX);
                packet.label.reverse.insert(0, port);
            } else if kept.as_ref() == Some(&packet) {
                return End::Circles;
            } else if hops.is_power_of_two() {
                kept = Some(packet.clone());
            }
        }
    }

    /// The port by which a packet leaves a switch, and the lossless channel that it gets.
    fn decide(
        &mut self,
        packet: &mut Packet,
        failed: &[u32],
        examined: &mut Vec<u32>,
    ) -> Result<(PortId, Option<Tag>), End> {
        let world = self.world;
        let at = packet.at;
        let status = world.status(at, failed);
        if let Some(hop) = packet.forward.pop() {
            let port = PortId::new(u16::from(hop));
            if status.contains(port) {
                examine(world, at, port, examined);
                return Ok((port, None));
            }
            packet.forward.clear();
        }
        if self.homes.contains(&at) {
            return Err(End::Delivered(0));
        }
        let Some(action) = self.look_up(packet, status, examined) else {
            return Err(End::NoRule);
        };
        let Action::Forward { route, write } = action else {
            return Err(End::Dropped);
        };
        let Some((first, rest)) = route.split_first() else {
            return Err(End::Dropped);
        };
        if rest.len() > usize::from(world.failover.stack) {
            return Err(End::Stack);
        }
        let port = PortId::new(u16::from(*first));
        if !status.contains(port) {
            return Err(End::DeadPort(port));
        }
        examine(world, at, port, examined);
        write.apply(&mut packet.label);
        packet.forward.extend(rest.iter().rev());
        Ok((port, write.channel))
    }

    /// The action of the first rule that matches. It stays the first as long as the ports that it
    /// needs stay up and, for every rule before it, one of the ports that kept it from matching.
    fn look_up(
        &mut self,
        packet: &Packet,
        status: PortMask,
        examined: &mut Vec<u32>,
    ) -> Option<&'w Action> {
        let world = self.world;
        let at = packet.at;
        let (code, label) = (self.code, self.label);
        let rules = self.rules[at.index()].get_or_insert_with(|| {
            let table = &world.failover.tables[at.index()];
            let places = world.rules[at.index()].places(code);
            let own = places.iter().filter_map(|&at| table.get(at as usize));
            SwitchRules::new(label, own.collect())
        });
        for rule in rules.candidates(packet.origin, &packet.label) {
            if !rule.matches_packet(code, packet.origin, &packet.label) {
                continue;
            }
            if rule.ports.matches(status) {
                for port in rule.ports.up.iter() {
                    examine(world, at, port, examined);
                }
                return Some(rule.action);
            }
            if !status.contains_all(rule.ports.up) {
                continue; // a port that it needs is down, and stays down whatever else fails
            }
            // It is enough that one of the ports that it wants down stays up; one that cannot fail
            // is best.
            let standing = rule.ports.down.and(status);
            let held = |port| {
                let element = world.element(at, port);
                element.is_none_or(|element| examined.contains(&element))
            };
            if !standing.iter().any(held)
                && let Some(port) = standing.iter().next()
            {
                examine(world, at, port, examined);
            }
        }
        None
    }
}

/// Notes that a port had to be up.
fn examine(world: &World<'_>, switch: SwitchId, port: PortId, examined: &mut Vec<u32>) {
    if let Some(element) = world.element(switch, port)
        && !examined.contains(&element)
    {
        examined.push(element);
    }
}
