//! Max-min fair shares, computed from topologies and paths alone: what the simulator's figures are
//! held against.

use std::collections::{BTreeMap, BTreeSet};

use topology::{NodeId, SwitchId, Topology};

/// What a flow sends over a link, for one unit of the flow.
pub(crate) type Use = BTreeMap<(String, String), f64>;

/// The links of a flow with one path.
pub(crate) fn whole(links: Vec<(String, String)>) -> Use {
    links.into_iter().map(|link| (link, 1.0)).collect()
}

/// How a flow spreads over all shortest paths of a topology, evenly at every switch.
pub(crate) fn spread(topology: &Topology, from: &str, to: &str) -> Use {
    let name = |node| topology.node_name(node).to_owned();
    let ahead = |switch: SwitchId| {
        let peers = topology.peers(switch);
        let live = peers.filter(|(_, peer)| topology.is_live(peer.link));
        live.map(|(_, peer)| peer.end.node).collect::<Vec<_>>()
    };
    let uplink = |host: &str| {
        topology.uplinks(topology.host_named(host).unwrap())[0]
            .1
            .end
            .node
    };
    let edge = |node| match node {
        NodeId::Switch(switch) => switch,
        NodeId::Host(_) => panic!("a host on a host"),
    };
    let (first, last) = (edge(uplink(from)), edge(uplink(to)));
    let mut distance = BTreeMap::from([(last, 0)]);
    let mut frontier = vec![last];
    while let Some(at) = frontier.first().copied() {
        frontier.remove(0);
        for next in ahead(at) {
            if let NodeId::Switch(next) = next
                && !distance.contains_key(&next)
            {
                distance.insert(next, distance[&at] + 1);
                frontier.push(next);
            }
        }
    }
    let mut uses = Use::from([
        ((from.to_owned(), name(NodeId::Switch(first))), 1.0),
        ((name(NodeId::Switch(last)), to.to_owned()), 1.0),
    ]);
    let mut here = BTreeMap::from([(first, 1.0)]);
    while let Some((at, part)) = here.pop_first() {
        let nearer: Vec<SwitchId> = ahead(at)
            .into_iter()
            .filter_map(|node| match node {
                NodeId::Switch(next) if distance[&next] < distance[&at] => Some(next),
                _ => None,
            })
            .collect();
        for &next in &nearer {
            let part = part / nearer.len() as f64;
            let link = (name(NodeId::Switch(at)), name(NodeId::Switch(next)));
            *uses.entry(link).or_default() += part;
            *here.entry(next).or_default() += part;
        }
    }
    uses
}

/// Max-min fair shares, by filling all flows alike until a link is full; each link carries
/// `capacity`.
pub(crate) fn max_min(flows: &[Use], capacity: f64) -> Vec<f64> {
    let mut share = vec![None; flows.len()];
    let links: BTreeSet<_> = flows.iter().flat_map(Use::keys).collect();
    while share.iter().any(Option::is_none) {
        let fill = |link: &(String, String)| {
            let (mut room, mut open) = (capacity, 0.0);
            for (uses, share) in flows.iter().zip(&share) {
                let part = uses.get(link).copied().unwrap_or(0.0);
                match share {
                    Some(share) => room -= part * share,
                    None => open += part,
                }
            }
            if open > 0.0 {
                room / open
            } else {
                f64::INFINITY
            }
        };
        let (full, level) = links
            .iter()
            .map(|&link| (link, fill(link)))
            .min_by(|a, b| a.1.total_cmp(&b.1))
            .unwrap();
        for (uses, share) in flows.iter().zip(&mut share) {
            if share.is_none() && uses.contains_key(full) {
                *share = Some(level);
            }
        }
    }
    share.into_iter().map(Option::unwrap).collect()
}

#[test]
fn max_min_shares_are_known_in_small_cases() {
    let link = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    // One long flow over two links, one short flow on the first, two on the second.
    let (one, two) = (link("a", "b"), link("b", "c"));
    let flows = [
        whole(vec![one.clone(), two.clone()]),
        whole(vec![one]),
        whole(vec![two.clone()]),
        whole(vec![two]),
    ];
    let shares = max_min(&flows, 12.0);
    for (share, expected) in shares.iter().zip([4.0, 8.0, 4.0, 4.0]) {
        assert!((share - expected).abs() < 1e-9, "{shares:?}");
    }
}
