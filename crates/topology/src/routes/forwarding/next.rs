//! The next hops of every switch toward every class of hosts.

use std::collections::{BTreeMap, HashMap};

use foldhash::fast::FixedState;
use indexmap::IndexMap;
use rayon::prelude::*;

use super::super::policy::RoutePolicy;
use super::super::set::RouteSet;
use super::super::virtual_layers::bounces;
use super::costs::{Cost, Kind, Metric, Step};
use super::groups::places;
use super::lpm::{AddressPlan, Class};
use super::{ForwardAction, Groups, NextHop, SwitchForwarding};
use crate::{Arc, ArcId, Distances, Fabric, HostId, NodeId, SwitchId, Topology};

/// Classes whose costs are computed before they are put in rows: what is held twice.
const CLASSES_AT_ONCE: usize = 256;

/// Arcs of a switch that fit a mask.
const MASK_ARCS: usize = 64;

/// The costs of every switch to every class, from which next hops are read off.
#[derive(Debug)]
pub(super) struct NextSets {
    set: RouteSet,
    classes: usize,
    /// What counts on the way to every class.
    kinds: Vec<Kind>,
    /// `costs[s * classes + c]`: row by row, since a switch compares its row with its neighbours'.
    costs: Vec<Cost>,
    /// Pinned arcs in the same order, or nothing.
    pins: Vec<Option<ArcId>>,
    /// Whether only the first of several equal arcs is used.
    single: bool,
    /// Whether an arc is up now; costs may be from before it went down.
    alive: Vec<bool>,
}

/// An arc that leaves a switch, with the costs from its far end.
struct Onward<'a> {
    arc: ArcId,
    costs: &'a [Cost],
}

impl NextSets {
    /// Computes the costs over the fabric of a route set; `now` is the topology as it is.
    pub(super) fn new(set: RouteSet, plan: &AddressPlan, now: &Topology) -> Self {
        let fabric = set.fabric();
        let kind = match set.policy() {
            RoutePolicy::UpDown { .. } => Kind::Layers,
            RoutePolicy::VirtualUpDown { .. } => Kind::Ranks { first: 0 },
            _ => Kind::Hops,
        };
        let metric = Metric { fabric, kind };
        let one = |class: &Class| {
            let mut pins = pins(&set, class);
            let (metric, costs) = metric.settled(&class.targets, &mut pins);
            (costs, pins, metric.kind)
        };
        let (switches, classes) = (fabric.switch_count(), plan.classes.len());
        let mut costs = vec![Cost::NEVER; switches * classes];
        let mut kinds = Vec::with_capacity(classes);
        let mut all_pins = Vec::new();
        for (chunk, some) in plan.classes.chunks(CLASSES_AT_ONCE).enumerate() {
            if let Some(distances) = hops_only(&set, kind, some) {
                let first = chunk * CLASSES_AT_ONCE;
                for (switch, row) in costs.chunks_mut(classes).enumerate() {
                    for (class, cost) in row[first..first + some.len()].iter_mut().enumerate() {
                        *cost = Cost::of_hops(distances.row(class)[switch]);
                    }
                }
                kinds.resize(first + some.len(), kind);
                continue;
            }
            let by_class: Vec<_> = some.par_iter().map(one).collect();
            for (class, (row, pins, kind)) in (chunk * CLASSES_AT_ONCE..).zip(by_class) {
                for (switch, cost) in row.into_iter().enumerate() {
                    costs[switch * classes + class] = cost;
                }
                if !pins.is_empty() {
                    all_pins.resize(switches * classes, None);
                }
                for (switch, pin) in pins.into_iter().enumerate() {
                    all_pins[switch * classes + class] = pin;
                }
                kinds.push(kind);
            }
        }
        let alive = fabric.arcs().iter().map(|arc| now.is_live(arc.link));
        Self {
            classes,
            kinds,
            costs,
            pins: all_pins,
            single: matches!(set.policy(), RoutePolicy::Ksp { .. }),
            alive: alive.collect(),
            set,
        }
    }

    fn fabric(&self) -> &Fabric {
        self.set.fabric()
    }

    /// What counts on the way to a class.
    fn metric(&self, class: usize) -> Metric<'_> {
        Metric {
            fabric: self.fabric(),
            kind: self.kinds[class],
        }
    }

    /// The costs from a switch, by class.
    fn row(&self, switch: SwitchId) -> &[Cost] {
        let first = switch.index() * self.classes;
        &self.costs[first..first + self.classes]
    }

    fn cost(&self, switch: SwitchId, class: usize) -> Cost {
        self.costs[switch.index() * self.classes + class]
    }

    /// The cost of the way to a class that begins with an arc.
    fn over(&self, arc: ArcId, class: usize) -> Cost {
        let metric = self.metric(class);
        let to = metric.fabric.arc(arc).to;
        self.cost(to, class).over(metric.step(arc))
    }

    /// The arcs by which a switch sends to a class, as they were planned.
    fn planned(&self, switch: SwitchId, class: usize) -> Vec<ArcId> {
        let pin = self.pins.get(switch.index() * self.classes + class);
        if let Some(&Some(pin)) = pin {
            return vec![pin];
        }
        let cost = self.cost(switch, class);
        if cost == Cost::NEVER {
            return Vec::new();
        }
        let arcs = self.fabric().out(switch);
        let nearest = arcs.filter(|&arc| self.over(arc, class) == cost);
        nearest.take(self.most()).collect()
    }

    /// The most arcs of a group.
    fn most(&self) -> usize {
        if self.single { 1 } else { usize::MAX }
    }

    /// The arcs by which a switch sends to a class now, as `planned` lists them: those that are up,
    /// else a detour.
    fn left(&self, switch: SwitchId, class: usize, planned: &mut Vec<ArcId>) {
        if planned.is_empty() {
            return;
        }
        planned.retain(|arc| self.alive[arc.index()]);
        if !planned.is_empty() {
            return;
        }
        *planned = match self.kinds[class] {
            Kind::Ranks { .. } => self.ranked_detour(switch, class),
            Kind::Hops | Kind::Layers => self.detour(switch, class),
        };
        planned.truncate(self.most());
    }

    /// The arcs to the best neighbours that have a planned way which is not back to here.
    fn detour(&self, switch: SwitchId, class: usize) -> Vec<ArcId> {
        let fabric = self.fabric();
        let helps = |to: SwitchId| {
            let mut onward = self.planned(to, class).into_iter();
            onward.any(|arc| fabric.arc(arc).to != switch) || self.cost(to, class) == Cost::ZERO
        };
        let mut best = (Cost::NEVER, Vec::new());
        for (id, arc) in fabric.out_arcs(switch) {
            let cost = self.over(id, class);
            if !self.alive[id.index()] || cost > best.0 || cost == Cost::NEVER || !helps(arc.to) {
                continue;
            }
            if cost < best.0 {
                best = (cost, Vec::new());
            }
            best.1.push(id);
        }
        best.1
    }

    /// The arcs over which packets bounce least, whatever the planned way by which they have come,
    /// then those of the least cost, to neighbours from which no planned way leads back to here.
    fn ranked_detour(&self, switch: SwitchId, class: usize) -> Vec<ArcId> {
        let fabric = self.fabric();
        let inward = fabric.out(switch).map(|arc| fabric.reverse(arc));
        let planned = inward.filter(|&arc| {
            let cost = self.cost(fabric.arc(arc).from, class);
            cost != Cost::NEVER && cost == self.over(arc, class)
        });
        let come = planned.filter_map(|arc| fabric.rank(arc)).max();
        let mut best = (None, Vec::new());
        for (id, arc) in fabric.out_arcs(switch) {
            let cost = self.over(id, class);
            let Some(rank) = fabric.rank(id) else {
                continue;
            };
            if !self.alive[id.index()] || cost == Cost::NEVER {
                continue;
            }
            let bounces = cost.bounces() + u32::from(bounces(come, rank));
            let key = Some((bounces, cost));
            if best.0.is_some() && key > best.0 || !self.avoids(arc.to, switch, class) {
                continue;
            }
            if key != best.0 {
                best = (key, Vec::new());
            }
            best.1.push(id);
        }
        best.1
    }

    /// Whether no planned way from a switch to a class passes another switch.
    fn avoids(&self, from: SwitchId, other: SwitchId, class: usize) -> bool {
        let mut met = vec![from];
        let mut next = 0;
        while let Some(&at) = met.get(next) {
            if at == other {
                return false;
            }
            next += 1;
            for arc in self.planned(at, class) {
                let to = self.fabric().arc(arc).to;
                if !met.contains(&to) {
                    met.push(to);
                }
            }
        }
        true
    }

    /// The tables of one switch.
    pub(super) fn table(
        &self,
        topology: &Topology,
        plan: &AddressPlan,
        switch: SwitchId,
    ) -> SwitchForwarding {
        let fabric = self.fabric();
        let out = fabric.out_range(switch);
        let hops: Vec<NextHop> = out
            .clone()
            .map(|arc| self.hop(topology, ArcId::new(arc)))
            .collect();
        let mut groups = Groups::new(&hops);
        // Whether all members of a group lead up, by group number.
        let mut climbs: Vec<bool> = Vec::new();
        let actions = match self.masks(switch) {
            Some(masks) => {
                let up = self.arcs_that(switch, |arc| fabric.is_up(arc));
                self.by_mask(switch, &masks, |mask| {
                    if mask != 0 {
                        climbs.push(mask & !up == 0);
                    }
                    groups.add_places(mask)
                })
            }
            None => {
                let mut known: IndexMap<Vec<ArcId>, ForwardAction, FixedState> =
                    IndexMap::default();
                let mut actions = Vec::with_capacity(self.classes);
                self.each_class(switch, |arcs| {
                    let action = known.get(arcs).copied().unwrap_or_else(|| {
                        if !arcs.is_empty() {
                            climbs.push(arcs.iter().all(|&arc| fabric.is_up(arc)));
                        }
                        let hops = arcs
                            .iter()
                            .map(|arc| hops[arc.index() - out.start as usize]);
                        let action = groups.add(hops);
                        known.insert(arcs.to_vec(), action);
                        action
                    });
                    actions.push(action);
                });
                actions
            }
        };
        let local = local_hosts(topology, switch, &mut groups);
        let (v4, v6) = plan.tables(topology, &actions, &local, &climbs);
        groups.compact(v4, v6)
    }

    /// By class the arcs by which a switch sends as was planned: bit `n` for the `n`-th that leaves
    /// it. Nothing where arcs are too many, are pinned, or count otherwise from class to class.
    fn masks(&self, switch: SwitchId) -> Option<Vec<u64>> {
        let fabric = self.fabric();
        let ranked = |kind: &Kind| matches!(kind, Kind::Ranks { .. });
        if fabric.out_range(switch).len() > MASK_ARCS
            || !self.pins.is_empty()
            || self.kinds.first().is_none_or(ranked)
        {
            return None;
        }
        let only_hops = matches!(self.kinds.first(), Some(Kind::Hops));
        let own = self.row(switch);
        let mut masks = vec![0; own.len()];
        let arcs: Vec<(ArcId, &Arc)> = fabric.out_arcs(switch).collect();
        // By halves, which are narrow enough that many are marked at once.
        for (number, arcs) in arcs.chunks(MASK_ARCS / 2).enumerate() {
            let mut half = vec![0; own.len()];
            for (number, (id, arc)) in arcs.iter().enumerate() {
                let (onward, bit) = (self.row(arc.to), 1 << number);
                if only_hops {
                    Cost::mark_hops(&mut half, own, onward, bit);
                } else {
                    Cost::mark(&mut half, own, onward, fabric.is_up(*id), bit);
                }
            }
            for (mask, half) in masks.iter_mut().zip(half) {
                *mask |= u64::from(half) << (number * MASK_ARCS / 2);
            }
        }
        for (mask, cost) in masks.iter_mut().zip(own) {
            if *cost == Cost::NEVER || *cost == Cost::ZERO {
                *mask = 0;
            } else if self.single {
                *mask &= mask.wrapping_neg();
            }
        }
        Some(masks)
    }

    /// The arcs that leave a switch and are such: bit `n` for the `n`-th, of [`MASK_ARCS`] at most.
    fn arcs_that(&self, switch: SwitchId, such: impl Fn(ArcId) -> bool) -> u64 {
        let arcs = (0..).zip(self.fabric().out(switch));
        let some = arcs.filter(|(_, arc)| such(*arc));
        some.fold(0, |all, (number, _)| all | 1u64 << number)
    }

    /// What a switch does with each class whose planned arcs are in a mask; `made` is asked once
    /// for the same arcs.
    fn by_mask(
        &self,
        switch: SwitchId,
        masks: &[u64],
        mut made: impl FnMut(u64) -> ForwardAction,
    ) -> Vec<ForwardAction> {
        let out = self.fabric().out_range(switch);
        let up = self.arcs_that(switch, |arc| self.alive[arc.index()]);
        let mut known = HashMap::with_capacity_and_hasher(masks.len(), FixedState::default());
        let mut arcs = Vec::with_capacity(out.len());
        let mut actions = Vec::with_capacity(masks.len());
        for (class, &mask) in masks.iter().enumerate() {
            let mut left = mask & up;
            if left == 0 && mask != 0 {
                arcs.clear();
                arcs.extend(places(mask).map(|place| ArcId::new(out.start + place)));
                self.left(switch, class, &mut arcs);
                let bits = arcs
                    .iter()
                    .map(|arc| 1u64 << (arc.index() - out.start as usize));
                left = bits.fold(0, |all, bit| all | bit);
            }
            let action = known.entry(left).or_insert_with(|| made(left));
            actions.push(*action);
        }
        actions
    }

    /// Calls `visit` with the arcs by which a switch sends to each class now.
    fn each_class(&self, switch: SwitchId, mut visit: impl FnMut(&[ArcId])) {
        let fabric = self.fabric();
        let own = self.row(switch);
        let onward: Vec<Onward<'_>> = fabric
            .out_arcs(switch)
            .map(|(arc, to)| Onward {
                arc,
                costs: self.row(to.to),
            })
            .collect();
        let mut steps: Vec<Step> = Vec::new();
        let mut steps_of = None;
        let mut arcs = Vec::with_capacity(onward.len());
        for (class, &cost) in own.iter().enumerate() {
            arcs.clear();
            if let Some(&Some(pin)) = self.pins.get(switch.index() * self.classes + class) {
                arcs.push(pin);
            } else if cost != Cost::NEVER {
                let kind = self.kinds[class];
                if steps_of != Some(kind) {
                    let metric = self.metric(class);
                    steps = onward.iter().map(|on| metric.step(on.arc)).collect();
                    steps_of = Some(kind);
                }
                let ways = onward.iter().zip(&steps);
                let nearest = ways.filter(|(on, step)| on.costs[class].over(**step) == cost);
                arcs.extend(nearest.map(|(on, _)| on.arc).take(self.most()));
            }
            self.left(switch, class, &mut arcs);
            visit(&arcs);
        }
    }

    fn hop(&self, topology: &Topology, arc: ArcId) -> NextHop {
        let arc = self.fabric().arc(arc);
        NextHop {
            port: arc.out_port,
            mac: topology.port_mac(arc.to, arc.in_port),
        }
    }
}

/// How far all switches are from classes to which only hops count: all together, which is faster
/// than one by one.
fn hops_only(set: &RouteSet, kind: Kind, classes: &[Class]) -> Option<Distances> {
    let one = |class: &Class| match (class.host, &class.targets[..]) {
        (None, &[target]) => Some(target),
        _ => None,
    };
    if kind != Kind::Hops || set.bcube().is_some() {
        return None;
    }
    let targets: Vec<SwitchId> = classes.iter().map(one).collect::<Option<_>>()?;
    Some(Distances::new(set.fabric(), &targets))
}

/// What a switch does with the packets to its own hosts.
fn local_hosts(
    topology: &Topology,
    switch: SwitchId,
    groups: &mut Groups<'_>,
) -> BTreeMap<HostId, ForwardAction> {
    let mut hops: BTreeMap<HostId, Vec<NextHop>> = BTreeMap::new();
    for (port, peer) in topology.peers(switch) {
        if let NodeId::Host(host) = peer.end.node
            && topology.is_live(peer.link)
        {
            let mac = topology.host(host).mac;
            hops.entry(host).or_default().push(NextHop { port, mac });
        }
    }
    let add = |(host, hops)| (host, groups.add(hops));
    hops.into_iter().map(add).collect()
}

/// The arcs that a policy prescribes on the way to a class, by switch; empty if it prescribes none.
fn pins(set: &RouteSet, class: &Class) -> Vec<Option<ArcId>> {
    let fabric = set.fabric();
    if let (Some(bcube), &[target]) = (set.bcube(), &class.targets[..]) {
        let mut pins = vec![None; fabric.switch_count()];
        for switch in fabric.switch_ids() {
            let Some(level) = bcube.highest_difference(switch, target) else {
                continue;
            };
            if let Some([first, second]) = bcube.correct(fabric, switch, target, level) {
                pins[switch.index()] = Some(first);
                pins[fabric.arc(first).to.index()] = Some(second);
            }
        }
        return pins;
    }
    let Some(host) = class.host else {
        return Vec::new();
    };
    // The first listed route through a switch counts. A later route joins it there, and the rest of
    // an earlier route leads to the host, so pins cannot form a loop.
    let mut pins = vec![None; fabric.switch_count()];
    let mut routes: Vec<_> = set.listed().iter().collect();
    routes.retain(|route| route.destination.host == host);
    routes.sort_by_key(|route| route.number);
    for route in routes {
        for &arc in &route.arcs {
            let pin = &mut pins[fabric.arc(arc).from.index()];
            if pin.is_some() {
                break;
            }
            *pin = Some(arc);
        }
    }
    pins
}

#[cfg(test)]
mod tests {
    use super::super::{Reroute, Routing};
    use super::*;
    use crate::generate::{Cables, FatTree, Jellyfish, JellyfishSize};

    /// By class, the arcs of which a switch makes a group.
    fn listed(routing: &Routing<'_>, switch: SwitchId) -> Vec<Vec<ArcId>> {
        let mut all = Vec::new();
        let next = &routing.next;
        next.each_class(switch, |arcs| all.push(arcs.to_vec()));
        all
    }

    /// The same by masks, and how often arcs were asked for.
    fn masked(routing: &Routing<'_>, switch: SwitchId) -> (Vec<Vec<ArcId>>, usize) {
        let next = &routing.next;
        let masks = next.masks(switch).expect("few arcs, no pins, no ranks");
        let mut asked: Vec<Vec<ArcId>> = Vec::new();
        let first = next.fabric().out_range(switch).start;
        let act = |mask: u64| {
            asked.push(
                places(mask)
                    .map(|place| ArcId::new(first + place))
                    .collect(),
            );
            ForwardAction::Group(asked.len() as u32 - 1)
        };
        let actions = next.by_mask(switch, &masks, act);
        let arcs = |action: &ForwardAction| match action {
            ForwardAction::Group(at) => asked[*at as usize].clone(),
            ForwardAction::Discard => Vec::new(),
        };
        (actions.iter().map(arcs).collect(), asked.len())
    }

    #[test]
    fn masks_say_what_the_costs_of_neighbours_say() {
        let cables = Cables::default();
        let mut networks = vec![FatTree { k: 4, cables }.generate().expect("a fat-tree")];
        networks.extend((0..3).map(|seed| {
            let size = JellyfishSize::Switches {
                switches: 30,
                fabric_ports: 5,
            };
            let jellyfish = Jellyfish {
                size,
                ports: 7,
                seed,
                cables,
            };
            jellyfish.generate().expect("a random graph")
        }));
        let policies = [
            RoutePolicy::Shortest,
            RoutePolicy::UpDown { bounces: 0 },
            RoutePolicy::Ksp { k: 2 },
        ];
        for (whole, policy) in networks
            .iter()
            .flat_map(|n| policies.iter().map(move |p| (n, p)))
        {
            for failed in [0, 3, 9] {
                let links = whole.link_ids().filter(|l| l.index() % 10 < failed);
                let topology = whole.with_failed_links(&links.collect::<Vec<_>>());
                for reroute in [Reroute::Converged, Reroute::Local] {
                    let Ok(routing) = Routing::new(&topology, policy, reroute) else {
                        continue; // no layers
                    };
                    for switch in topology.switch_ids() {
                        let (arcs, asked) = masked(&routing, switch);
                        assert_eq!(arcs, listed(&routing, switch), "{policy:?} {reroute:?}");
                        assert!(asked <= arcs.len());
                    }
                }
            }
        }
    }
}
