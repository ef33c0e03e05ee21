//! How full links are where all hosts send to all others: along routes, or as failover tables lead.

use std::net::IpAddr;

use plan::CheckedPlan;
use plan::check::resilience::Survey;
use plan::failover::{Destination, Element, Failover, Target};
use rayon::prelude::*;
use serde_json::{Value, json};
use topology::routes::forwarding::{Forwarding, NextHop};
use topology::{HostId, LinkId, NodeId, SwitchId, Topology};

use crate::network::Networks;
use crate::packets::{failed_links, reacting};
use crate::request::{LoadRequest, Routing};
use crate::{Refusal, value};

/// What links carry, by link and direction (from the link's end `a`, from `b`).
type Loads = Vec<[f64; 2]>;

/// Hosts by the switch that they stand at.
type Hosts = [Vec<HostId>];

/// What goes to the hosts of one switch at a time: every host sends as much as any other, to every
/// host the same.
struct Toward<'a> {
    topology: &'a Topology,
    forwarding: &'a Forwarding,
    hosts: &'a Hosts,
}

impl Toward<'_> {
    /// Adds what goes to the hosts of a switch to the load of the links, by link and direction
    /// (from the link's end `a`, from `b`); what is left at switches without a way on.
    fn add(&self, switch: SwitchId, load: &mut [[f64; 2]]) -> f64 {
        let Some(first) = self.hosts[switch.index()].first() else {
            return 0.0;
        };
        let address = IpAddr::V4(self.topology.host(*first).ipv4);
        let receivers = self.hosts[switch.index()].len() as f64;
        let count = self.topology.switches().len();
        let hops: Vec<&[NextHop]> = self
            .topology
            .switch_ids()
            .map(|at| match at == switch {
                true => &[][..],
                false => self.forwarding.switch(at).lookup(address),
            })
            .collect();
        let mut waits = vec![0_usize; count];
        let next = |at: SwitchId| {
            let hops = hops[at.index()].iter();
            hops.filter_map(move |hop| {
                let peer = self.topology.peer(at, hop.port)?;
                match peer.end.node {
                    NodeId::Switch(to) => Some((to, peer.link)),
                    NodeId::Host(_) => None,
                }
            })
        };
        for at in self.topology.switch_ids() {
            for (to, _) in next(at) {
                waits[to.index()] += 1;
            }
        }
        let mut volume: Vec<f64> = self
            .hosts
            .iter()
            .map(|h| h.len() as f64 * receivers)
            .collect();
        let mut ready: Vec<SwitchId> = self.topology.switch_ids().collect();
        ready.retain(|at| waits[at.index()] == 0);
        let mut lost = 0.0;
        while let Some(at) = ready.pop() {
            let here = std::mem::take(&mut volume[at.index()]);
            let ways = next(at).count();
            if ways == 0 && at != switch {
                lost += here;
            }
            for (to, link) in next(at) {
                let share = here / ways as f64;
                load[link.index()][self.direction(link, at)] += share;
                volume[to.index()] += share;
                waits[to.index()] -= 1;
                if waits[to.index()] == 0 {
                    ready.push(to);
                }
            }
        }
        // What circulates never comes to rest.
        lost + volume.iter().sum::<f64>()
    }

    fn direction(&self, link: LinkId, from: SwitchId) -> usize {
        usize::from(self.topology.link(link).a.node != NodeId::Switch(from))
    }
}

/// What goes to one destination of failover tables at a time; every host sends as much as any
/// other, to every host the same.
struct Led<'a> {
    survey: Survey<'a>,
    /// The numbers of the links between switches that have failed.
    failed: Vec<u32>,
    /// Switches that have hosts, and how many.
    sources: Vec<(SwitchId, usize)>,
    /// How many destinations stand for each host, and for the hosts of each switch: packets are
    /// spread over them.
    ways: [Vec<u32>; 2],
    hosts: &'a Hosts,
}

impl<'a> Led<'a> {
    fn new(
        topology: &'a Topology,
        failover: &'a Failover,
        failed: &[LinkId],
        hosts: &'a Hosts,
    ) -> Self {
        let between_switches = |link: &LinkId| {
            let link = topology.link(*link);
            let ends = [link.a.node, link.b.node];
            ends.iter().all(|end| matches!(end, NodeId::Switch(_)))
        };
        let failed = failed.iter().copied().filter(between_switches);
        let with_hosts = topology.switch_ids().zip(hosts);
        let with_hosts = with_hosts.map(|(switch, hosts)| (switch, hosts.len()));
        let mut ways = [vec![0; topology.hosts().len()], vec![0; hosts.len()]];
        for destination in &failover.destinations {
            match destination.target {
                Target::Host(host) => ways[0][host.index()] += 1,
                Target::Switch { switch, .. } => ways[1][switch.index()] += 1,
            }
        }
        Self {
            survey: Survey::of(topology, failover, Element::Link),
            failed: failed
                .filter_map(|link| u32::try_from(link.index()).ok())
                .collect(),
            sources: with_hosts.filter(|(_, count)| *count > 0).collect(),
            ways,
            hosts,
        }
    }

    /// What a host sends to those that a destination stands for.
    fn volume(&self, destination: &Destination) -> f64 {
        let (receivers, ways) = match destination.target {
            Target::Host(host) => (1, self.ways[0][host.index()]),
            Target::Switch { switch, .. } => {
                let hosts = self.hosts[switch.index()].len();
                (hosts, self.ways[1][switch.index()])
            }
        };
        receivers as f64 / f64::from(ways.max(1))
    }

    /// Adds what goes to a destination, by number, to the load of the links; what does not arrive.
    /// Packets that are lost load the links up to there, and those of a circle once.
    fn add(&self, (number, destination): (usize, &Destination), load: &mut Loads) -> f64 {
        let volume = self.volume(destination);
        let switches: Vec<SwitchId> = self.sources.iter().map(|&(switch, _)| switch).collect();
        let walks = self.survey.walks(&self.failed, number, &switches);
        let mut lost = 0.0;
        for (walk, (_, senders)) in walks.iter().zip(&self.sources) {
            let sent = volume * *senders as f64;
            for &(link, from_a) in &walk.links {
                load[link.index()][usize::from(!from_a)] += sent;
            }
            if !walk.arrived {
                lost += sent;
            }
        }
        lost
    }
}

impl Networks {
    /// Answers `load`: by link, how much of its rate it carries where all hosts send as much to all
    /// others as the fullest link lets them, in its fuller direction.
    pub(crate) fn load(&mut self, asked: &LoadRequest) -> Result<Value, Refusal> {
        let plan = self.plan_of(&asked.network)?;
        let failed = failed_links(plan.topology(), &asked.fail)?;
        let (links, lost) = shares(&plan, &failed, asked.routing)?;
        Ok(json!({ "links": value(links)?, "lost": lost }))
    }
}

/// Sums what parts add to the load of so many links, and what of them is lost: in the order of the
/// parts, whatever the number of threads, for sums of fractions depend on it.
fn sum<T: Copy + Sync>(
    parts: &[T],
    links: usize,
    add: impl Fn(T, &mut Loads) -> f64 + Sync,
) -> (Loads, f64) {
    let none = || vec![[0.0; 2]; links];
    let shares: Vec<(Loads, f64)> = parts
        .par_chunks(parts.len().div_ceil(64).max(1))
        .map(|some| {
            let mut load = none();
            let lost = some.iter().map(|&part| add(part, &mut load)).sum();
            (load, lost)
        })
        .collect();
    let mut load = none();
    let mut lost = 0.0;
    for (share, left) in shares {
        lost += left;
        for (sum, more) in load.iter_mut().zip(share) {
            *sum = [sum[0] + more[0], sum[1] + more[1]];
        }
    }
    (load, lost)
}

/// What links between switches carry, and what is lost, in the volume of one host to another.
fn carried(
    plan: &CheckedPlan,
    (topology, failed): (&Topology, &[LinkId]),
    hosts: &Hosts,
    routing: Routing,
) -> Result<(Loads, f64), Refusal> {
    let links = topology.links().len();
    if let Some(failover) = &plan.tables().failover {
        let led = Led::new(plan.topology(), failover, failed, hosts);
        let destinations = failover.destinations.iter().enumerate();
        let destinations: Vec<_> = destinations.collect();
        return Ok(sum(&destinations, links, |one, load| led.add(one, load)));
    }
    let routes = &plan.tables().forwarding;
    let forwarding = Forwarding::new(topology, routes, reacting(routing));
    let forwarding = forwarding.map_err(Refusal::wrong)?;
    let toward = Toward {
        topology,
        forwarding: &forwarding,
        hosts,
    };
    let switches: Vec<SwitchId> = topology.switch_ids().collect();
    Ok(sum(&switches, links, |one, load| toward.add(one, load)))
}

/// By link its share of the load of the fullest, and the share of what is sent that is lost.
fn shares(
    plan: &CheckedPlan,
    failed: &[LinkId],
    routing: Routing,
) -> Result<(Vec<f64>, f64), Refusal> {
    let topology = plan.topology().with_failed_links(failed);
    let mut hosts = vec![Vec::new(); topology.switches().len()];
    for host in topology.host_ids() {
        if let Some((_, peer)) = topology.uplinks(host).first()
            && let NodeId::Switch(switch) = peer.end.node
        {
            hosts[switch.index()].push(host);
        }
    }
    let (mut load, lost) = carried(plan, (&topology, failed), &hosts, routing)?;
    // A host sends to all others and hears of all others.
    let all = hosts.iter().map(Vec::len).sum::<usize>() as f64;
    let others = (all - 1.0).max(0.0);
    for host in topology.host_ids() {
        if let Some((_, peer)) = topology.uplinks(host).first()
            && topology.is_live(peer.link)
        {
            load[peer.link.index()] = [others; 2];
        }
    }
    let ids = topology.link_ids();
    let carried = ids.zip(&load).map(|(id, [out, back])| {
        let gbps = topology.link(id).rate.get() as f64 / 1e9;
        out.max(*back) / gbps
    });
    let carried: Vec<f64> = carried.collect();
    let fullest = carried.iter().copied().fold(0.0, f64::max);
    let share = |carried: f64| match fullest > 0.0 {
        true => (carried / fullest * 1e4).round() / 1e4,
        false => 0.0,
    };
    let sent = (all * others).max(1.0);
    let links = carried.into_iter().map(share).collect();
    Ok((links, (lost / sent * 1e4).round() / 1e4))
}
