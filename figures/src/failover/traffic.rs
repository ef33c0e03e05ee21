//! How routing that knows of every failure at once would carry flows.

use plan::check::resilience::{Flow, FlowOutcome};
use plan::failover::Failover;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use topology::{ArcId, Fabric, HopSearch, LinkId, NodeId, SwitchId, Topology, UNREACHABLE};

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
