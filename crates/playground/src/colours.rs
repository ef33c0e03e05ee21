//! What links are coloured by: the tags that packets may have on them, and their load.

use std::collections::BTreeSet;
use std::net::IpAddr;

use plan::{CheckedPlan, NewTag, Tables, Tag};
use rayon::prelude::*;
use serde_json::{Value, json};
use topology::routes::forwarding::{Forwarding, NextHop};
use topology::{HostId, LinkId, NodeId, SwitchId, Topology};

use crate::network::Networks;
use crate::packets::{failed_links, reacting};
use crate::request::LoadRequest;
use crate::{Refusal, value};

/// By link, the lossless tags with which packets may leave a switch over it, in order: what the rules of its ends put out, and what
/// hosts send.
pub(crate) fn tags(tables: &Tables) -> Vec<Vec<Tag>> {
    let topology = &tables.topology;
    let mut found: Vec<BTreeSet<Tag>> = vec![BTreeSet::new(); topology.links().len()];
    for (switch, rules) in topology.switch_ids().zip(&tables.tagging.rules) {
        for (port, peer) in topology.peers(switch) {
            let here = rules.iter().filter(|rule| rule.out_ports.contains(port));
            found[peer.link.index()].extend(here.filter_map(|rule| match rule.new_tag {
                NewTag::Lossless(tag) => Some(tag),
                NewTag::Lossy => None,
            }));
        }
    }
    let initial: Vec<Tag> = tables.tagging.classes.iter().map(|c| c.initial).collect();
    for host in topology.host_ids() {
        for (_, peer) in topology.uplinks(host) {
            found[peer.link.index()].extend(initial.iter().copied());
        }
    }
    found.into_iter().map(Vec::from_iter).collect()
}

/// What goes to the hosts of one switch at a time: every host sends as much as any other, to every host the same.
struct Toward<'a> {
    topology: &'a Topology,
    forwarding: &'a Forwarding,
    /// Hosts by switch.
    hosts: &'a [Vec<HostId>],
}

impl Toward<'_> {
    /// Adds what goes to the hosts of a switch to the load of the links, by link and direction (from the link's end `a`, from `b`); what
    /// is left at switches without a way on.
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

impl Networks {
    /// Answers `load`: by link, how much of its rate it carries where all hosts send as much to all others as the fullest link lets
    /// them, in its fuller direction; null where packets do not follow routes.
    pub(crate) fn load(&mut self, asked: &LoadRequest) -> Result<Value, Refusal> {
        let plan = self.plan_of(&asked.network)?;
        if plan.tables().failover.is_some() {
            return Ok(json!({ "links": null, "lost": null }));
        }
        let failed = failed_links(plan.topology(), &asked.fail)?;
        let (links, lost) = loads(&plan, &failed, asked)?;
        Ok(json!({ "links": value(links)?, "lost": lost }))
    }
}

fn loads(
    plan: &CheckedPlan,
    failed: &[LinkId],
    asked: &LoadRequest,
) -> Result<(Vec<f64>, f64), Refusal> {
    let topology = plan.topology().with_failed_links(failed);
    let routes = &plan.tables().forwarding;
    let forwarding = Forwarding::new(&topology, routes, reacting(asked.routing));
    let forwarding = forwarding.map_err(Refusal::wrong)?;
    let mut hosts = vec![Vec::new(); topology.switches().len()];
    for host in topology.host_ids() {
        if let Some((_, peer)) = topology.uplinks(host).first()
            && let NodeId::Switch(switch) = peer.end.node
        {
            hosts[switch.index()].push(host);
        }
    }
    let toward = Toward {
        topology: &topology,
        forwarding: &forwarding,
        hosts: &hosts,
    };
    // In the order of the switches, whatever the number of threads: sums of fractions depend on it.
    let switches: Vec<SwitchId> = topology.switch_ids().collect();
    let none = || vec![[0.0; 2]; topology.links().len()];
    let shares: Vec<(Vec<[f64; 2]>, f64)> = switches
        .par_chunks(switches.len().div_ceil(64).max(1))
        .map(|some| {
            let mut load = none();
            let lost = some
                .iter()
                .map(|&switch| toward.add(switch, &mut load))
                .sum();
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
