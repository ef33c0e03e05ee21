//! Who sends to whom (Stephens15 section 4.7), and how reactive shortest-path routing would carry
//! it.

use plan::check::resilience::{Flow, FlowOutcome};
use plan::failover::{Failover, Target};
use rand::seq::IteratorRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use topology::{ArcId, Fabric, HopSearch, HostId, LinkId, NodeId, SwitchId, Topology, UNREACHABLE};

/// Flows with the hosts at their ends.
pub(super) struct Bundle {
    /// Hosts of the network.
    pub(super) hosts: usize,
    /// The flows, as the tables see them.
    pub(super) flows: Vec<Flow>,
    /// The sending and the receiving host of each, by index.
    pub(super) ends: Vec<(usize, usize)>,
}

impl Bundle {
    /// Every host to so many other hosts, drawn at random; with several routings to a switch, by
    /// one at random.
    pub(super) fn uniform(
        topology: &Topology,
        fabric: &Fabric,
        failover: &Failover,
        degree: usize,
        seed: u64,
    ) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let places = Places::new(topology, failover);
        let hosts: Vec<HostId> = topology.host_ids().collect();
        let mut bundle = Self {
            hosts: hosts.len(),
            flows: Vec::new(),
            ends: Vec::new(),
        };
        for source in fabric.edge_switches() {
            for attachment in fabric.attachments(source) {
                let others = hosts.iter().filter(|&&host| host != attachment.host);
                for &to in others.sample(&mut rng, degree) {
                    let Some(&destination) = places.of(to).iter().choose(&mut rng) else {
                        continue;
                    };
                    bundle.flows.push(Flow {
                        source,
                        destination,
                    });
                    bundle.ends.push((attachment.host.index(), to.index()));
                }
            }
        }
        bundle
    }
}

/// The destinations that stand for each host.
struct Places(Vec<Vec<usize>>);

impl Places {
    fn new(topology: &Topology, failover: &Failover) -> Self {
        let mut places = vec![Vec::new(); topology.hosts().len()];
        let fabric = Fabric::new(topology);
        for (at, destination) in failover.destinations.iter().enumerate() {
            match destination.target {
                Target::Host(host) => places[host.index()].push(at),
                Target::Switch { switch, .. } => {
                    for attachment in fabric.attachments(switch) {
                        places[attachment.host.index()].push(at);
                    }
                }
            }
        }
        // A host that is a destination of its own is sent nothing by way of its switch's.
        for own in &mut places {
            let is_host = |at: &usize| matches!(failover.destinations[*at].target, Target::Host(_));
            if own.iter().any(is_host) {
                own.retain(is_host);
            }
        }
        Self(places)
    }

    fn of(&self, host: HostId) -> &[usize] {
        &self.0[host.index()]
    }
}

/// What becomes of flows if every switch knew of all failures at once and took a random shortest
/// path.
pub(super) fn reactive(
    topology: &Topology,
    fabric: &Fabric,
    failover: &Failover,
    flows: &[Flow],
    links: &[LinkId],
    switches: &[SwitchId],
) -> Vec<FlowOutcome> {
    let mut order: Vec<usize> = (0..flows.len()).collect();
    order.sort_by_key(|&at| flows[at].destination);
    let groups: Vec<&[usize]> = order
        .chunk_by(|&a, &b| flows[a].destination == flows[b].destination)
        .collect();
    let outcomes: Vec<(usize, FlowOutcome)> = groups
        .par_iter()
        .flat_map_iter(|group| {
            let destination = flows[group[0]].destination;
            let mut homes = failover.destinations[destination].homes(topology);
            homes.retain(|home| !switches.contains(home));
            let mut rng = ChaCha8Rng::seed_from_u64(destination as u64);
            let mut search = HopSearch::new(fabric);
            let hops = search.search(fabric, &homes, links, switches, None);
            let outcome = |&at: &usize| {
                (
                    at,
                    walk(topology, fabric, hops, links, flows[at].source, &mut rng),
                )
            };
            group.iter().map(outcome).collect::<Vec<_>>()
        })
        .collect();
    let mut sorted: Vec<Option<FlowOutcome>> = vec![None; flows.len()];
    for (at, outcome) in outcomes {
        sorted[at] = Some(outcome);
    }
    sorted.into_iter().flatten().collect()
}

/// A random shortest path.
fn walk(
    topology: &Topology,
    fabric: &Fabric,
    hops: &[u16],
    failed: &[LinkId],
    source: SwitchId,
    rng: &mut ChaCha8Rng,
) -> FlowOutcome {
    let fewest = hops[source.index()];
    if fewest == UNREACHABLE {
        return FlowOutcome {
            met_failure: true,
            way: None,
            fewest: None,
        };
    }
    let mut way = Vec::with_capacity(usize::from(fewest));
    let mut at = source;
    while hops[at.index()] > 0 {
        let here = hops[at.index()];
        let mut chosen: Option<ArcId> = None;
        for (count, (id, _)) in (1u32..).zip(fabric.out_arcs(at).filter(|(_, arc)| {
            // An unreachable neighbour is farther, and no failed link leads one hop nearer.
            hops[arc.to.index()].checked_add(1) == Some(here) && !failed.contains(&arc.link)
        })) {
            if rng.random_range(0..count) == 0 {
                chosen = Some(id);
            }
        }
        let Some(arc) = chosen else { break };
        let arc = fabric.arc(arc);
        let first = topology.link(arc.link).a.node == NodeId::Switch(arc.from);
        way.push((arc.link, first));
        at = arc.to;
    }
    FlowOutcome {
        met_failure: false,
        way: Some(way),
        fewest: Some(fewest),
    }
}
