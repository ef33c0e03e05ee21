//! Buffers: headroom of priority groups, profiles of queues, sizes of pools.

use std::collections::{BTreeMap, BTreeSet};

use plan::headroom;
use quantities::{BitRate, PortId};
use topology::{Link, Peer, SwitchId};

use super::{Finding, FindingKind, View};
use crate::interfaces::interface;
use crate::pipeline::DSCPS;
use crate::tables::{ConfigDb, MapKind, PoolSide};

const BITS_PER_MEGABIT: u64 = 1_000_000;

pub(super) fn findings(view: &View<'_>) -> Vec<Finding> {
    let topology = view.fabric.topology;
    let mut findings = Vec::new();
    for switch in topology.switch_ids() {
        let lossy = lossy_profiles(view, switch);
        for (port, peer) in topology.peers(switch) {
            findings.extend(room(view, switch, port, peer));
            findings.extend(queues(view, switch, port, &lossy));
        }
        findings.extend(pools(view, switch));
    }
    findings
}

/// Headroom of every priority with PFC (TaggerDraft section 3.3). What the switch computes itself
/// is taken for granted.
fn room(view: &View<'_>, switch: SwitchId, port: PortId, peer: Peer) -> Vec<Finding> {
    let topology = view.fabric.topology;
    let config = view.config(switch);
    let name = interface(topology, switch, port);
    let link = topology.link(peer.link);
    let need = headroom(link.rate, link.length, view.fabric.mtu).get();
    let mut findings = Vec::new();
    for priority in view.enabled(switch, port) {
        let mapped = config.map_of(MapKind::PfcToPriorityGroup, &name);
        let group = mapped.and_then(|map| map.get(&priority).copied());
        let group = group.unwrap_or(priority);
        let row = config.priority_groups.get(&(name.clone(), group));
        let problem = match row {
            Some(None) => continue,
            // SONiC computes a profile for the group of the priority's own number.
            None if config.computes_headroom(&name) && group == priority => continue,
            None => no_row(config, &name, group),
            Some(Some(profile)) => {
                let problem = too_little(config, profile, need);
                let Some(problem) = problem else { continue };
                format!("priority group {group} {}", problem.said(link, view))
            }
        };
        findings.push(Finding {
            kind: FindingKind::Headroom,
            place: view.name(switch, port),
            problem,
        });
    }
    findings
}

fn no_row(config: &ConfigDb, port: &str, group: u8) -> String {
    let why = match (config.dynamic_buffers, config.cable_length.get(port)) {
        (true, _) => {
            "with `buffer_model` dynamic SONiC computes one for rows with profile NULL alone"
        }
        (false, Some(0)) => "SONiC computes none for a port whose CABLE_LENGTH is 0m",
        (false, _) => "SONiC would compute one, but for want of speed or CABLE_LENGTH",
    };
    format!("priority group {group} has PFC and no row in BUFFER_PG: {why}")
}

/// What is wrong with a profile for a lossless priority group.
enum TooLittle<'a> {
    None {
        profile: &'a str,
    },
    Some {
        profile: &'a str,
        xoff: u64,
        need: u64,
    },
    Pool {
        profile: &'a str,
        xoff: u64,
        pool: &'a str,
        holds: u64,
    },
}

fn too_little<'a>(config: &'a ConfigDb, profile: &'a str, need: u64) -> Option<TooLittle<'a>> {
    let row = config.profiles.get(profile)?;
    let Some(xoff) = row.xoff else {
        return Some(TooLittle::None { profile });
    };
    if xoff < need {
        return Some(TooLittle::Some {
            profile,
            xoff,
            need,
        });
    }
    let holds = config.pools.get(&row.pool)?.xoff;
    // With headroom that is shared, `size` sets less aside than `xoff` may take; the pool has to
    // hold at least one.
    let shared = holds > 0 && row.size < xoff;
    (shared && holds < xoff).then_some(TooLittle::Pool {
        profile,
        xoff,
        pool: &row.pool,
        holds,
    })
}

impl TooLittle<'_> {
    fn said(&self, link: &Link, view: &View<'_>) -> String {
        match self {
            Self::None { profile } => {
                format!("has PFC, and its profile `{profile}` no headroom (`xoff`)")
            }
            Self::Some {
                profile,
                xoff,
                need,
            } => format!(
                "has {xoff} bytes of headroom (profile `{profile}`); {} Mb/s over {} m with frames of {} bytes want {need}",
                megabits(link.rate),
                link.length,
                view.fabric.mtu
            ),
            Self::Pool {
                profile,
                xoff,
                pool,
                holds,
            } => format!(
                "may take {xoff} bytes of headroom (profile `{profile}`); pool `{pool}` has {holds} for all (`xoff`)"
            ),
        }
    }
}

fn megabits(rate: BitRate) -> u64 {
    rate.get() / BITS_PER_MEGABIT
}

/// The queues of a port that a PAUSE stops.
fn stopped(view: &View<'_>, switch: SwitchId, port: PortId) -> BTreeSet<u8> {
    let pipeline = &view.pipelines[switch.index()];
    let index = view.index(switch, port);
    let enabled = view.enabled(switch, port).into_iter();
    enabled
        .filter_map(|priority| Some(pipeline.paused_queue(index?, priority)))
        .collect()
}

/// The profiles that are those of lossy queues: more queues have them in which packets wait and
/// that no PAUSE stops than queues that one does. Each with the name of such a queue.
fn lossy_profiles(view: &View<'_>, switch: SwitchId) -> BTreeMap<String, String> {
    let topology = view.fabric.topology;
    let (config, pipeline) = (view.config(switch), &view.pipelines[switch.index()]);
    // By profile: queues that are stopped, queues that are not, and the first of these.
    let mut counts: BTreeMap<&str, (usize, usize, String)> = BTreeMap::new();
    for (port, _) in topology.peers(switch) {
        let (lossless, Some(index)) = (stopped(view, switch, port), view.index(switch, port))
        else {
            continue;
        };
        let name = interface(topology, switch, port);
        let used = (0..DSCPS).map(|dscp| pipeline.queue_of(index, pipeline.class_of(index, dscp)));
        let used: BTreeSet<u8> = used.chain(lossless.iter().copied()).collect();
        for queue in used {
            let Some(profile) = config.queues.get(&(name.clone(), queue)) else {
                continue;
            };
            let count = counts.entry(profile).or_default();
            match lossless.contains(&queue) {
                true => count.0 += 1,
                false => {
                    count.1 += 1;
                    if count.2.is_empty() {
                        count.2 = format!("queue {queue} of {name}");
                    }
                }
            }
        }
    }
    let lossy = counts
        .into_iter()
        .filter(|(_, (stopped, free, _))| free > stopped);
    lossy
        .map(|(profile, (_, _, queue))| (profile.to_owned(), queue))
        .collect()
}

/// Lossless queues without a buffer, or with that of lossy ones. A configuration without
/// `BUFFER_QUEUE` says nothing.
fn queues(
    view: &View<'_>,
    switch: SwitchId,
    port: PortId,
    lossy: &BTreeMap<String, String>,
) -> Vec<Finding> {
    let config = view.config(switch);
    if config.queues.is_empty() {
        return Vec::new();
    }
    let name = interface(view.fabric.topology, switch, port);
    let problem = |queue: u8| match config.queues.get(&(name.clone(), queue)) {
        None => Some(format!(
            "PFC stops queue {queue}, which has no row in BUFFER_QUEUE"
        )),
        Some(profile) => lossy.get(profile).map(|other| {
            let whose = format!("whose profile `{profile}` is that of a lossy one ({other})");
            format!("PFC stops queue {queue}, {whose}")
        }),
    };
    let found = stopped(view, switch, port).into_iter().filter_map(problem);
    found
        .map(|problem| Finding {
            kind: FindingKind::QueueBuffer,
            place: view.name(switch, port),
            problem,
        })
        .collect()
}

/// Pools of the wrong side, and headroom that no pool can hold.
fn pools(view: &View<'_>, switch: SwitchId) -> Vec<Finding> {
    let config = view.config(switch);
    let mut problems: Vec<String> = wrong_sides(config).into_iter().collect();
    problems.extend(overbooked(config));
    let place = view.fabric.topology.switch(switch).name.clone();
    problems
        .into_iter()
        .map(|problem| Finding {
            kind: FindingKind::BufferPool,
            place: place.clone(),
            problem,
        })
        .collect()
}

fn wrong_sides(config: &ConfigDb) -> BTreeSet<String> {
    let groups = config.priority_groups.values().flatten();
    let groups = groups.map(|profile| ("BUFFER_PG", PoolSide::Egress, profile));
    let queues = config.queues.values();
    let queues = queues.map(|profile| ("BUFFER_QUEUE", PoolSide::Ingress, profile));
    let wrong = groups.chain(queues).filter_map(|(table, wrong, profile)| {
        let pool = &config.profiles.get(profile)?.pool;
        let side = config.pools.get(pool)?.side;
        (side == wrong).then(|| {
            format!(
                "profile `{profile}` of {table} is in pool `{pool}`, whose type is {}",
                side.name()
            )
        })
    });
    wrong.collect()
}

/// Whether lossless priority groups set more aside than the largest pool holds, which is no larger
/// than the switch's buffer. Where a pool has shared headroom, or its size is computed, the
/// configuration does not say.
fn overbooked(config: &ConfigDb) -> Option<String> {
    let sizes = config.pools.values().map(|pool| pool.size);
    let sizes: Option<Vec<u64>> = sizes.collect();
    let largest = sizes?.into_iter().max()?;
    let mut aside = 0u64;
    for (port, group) in config.priority_groups.keys() {
        let Some(profile) = config.lossless_profile(port, *group) else {
            continue;
        };
        if config.pools.get(&profile.pool)?.xoff > 0 {
            return None;
        }
        aside = aside.saturating_add(profile.size);
    }
    (aside > largest).then(|| {
        format!(
            "priority groups set {aside} bytes aside (`size`), and the largest pool has {largest}"
        )
    })
}
