//! Enumerations against brute force.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::topology::generate::{Cables, Clos, FatTree, Jellyfish, JellyfishSize, ThreeNode};
use crate::topology::{ArcId, Fabric, LinkId, SwitchId, Topology};

/// Every simple path from a switch, as its links; the empty path first.
fn simple_paths(fabric: &Fabric, from: SwitchId) -> Vec<Vec<ArcId>> {
    fn extend(
        fabric: &Fabric,
        at: SwitchId,
        seen: &mut Vec<SwitchId>,
        path: &mut Vec<ArcId>,
        all: &mut Vec<Vec<ArcId>>,
    ) {
        all.push(path.clone());
        for (id, arc) in fabric.out_arcs(at) {
            if !seen.contains(&arc.to) {
                seen.push(arc.to);
                path.push(id);
                extend(fabric, arc.to, seen, path, all);
                path.pop();
                seen.pop();
            }
        }
    }
    let mut all = Vec::new();
    extend(fabric, from, &mut vec![from], &mut Vec::new(), &mut all);
    all
}

/// The same set by brute force: all simple host-to-host paths, filtered.
fn brute(
    set: &RouteSet,
    keep: impl Fn(&Fabric, SwitchId, SwitchId, &[ArcId]) -> bool,
) -> BTreeSet<Vec<ArcId>> {
    let fabric = set.fabric();
    let mut found = BTreeSet::new();
    for from in fabric.edge_switches() {
        for path in simple_paths(fabric, from) {
            let to = path.last().map_or(from, |&arc| fabric.arc(arc).to);
            if to != from && !fabric.attachments(to).is_empty() && keep(fabric, from, to, &path) {
                found.insert(path);
            }
        }
    }
    found
}

/// The paths of a set between different switches; none may come twice.
fn enumerated(set: &RouteSet) -> BTreeSet<Vec<ArcId>> {
    let mut found = BTreeSet::new();
    set.for_each_path(|path| {
        if path.from != path.to {
            assert!(found.insert(path.arcs.to_vec()), "a path came twice");
        }
    });
    found
}

/// The same, pair by pair.
fn by_pairs(set: &RouteSet) -> BTreeSet<Vec<ArcId>> {
    let mut found = BTreeSet::new();
    let edges: Vec<_> = set.fabric().edge_switches().collect();
    for &from in &edges {
        for &to in edges.iter().filter(|&&to| to != from) {
            let mut paths = set.paths_between(from, to);
            while let Some(path) = paths.advance() {
                assert_eq!((path.from, path.to), (from, to));
                assert!(found.insert(path.arcs.to_vec()), "a path came twice");
            }
        }
    }
    found
}

fn bounces(fabric: &Fabric, path: &[ArcId]) -> usize {
    let bounce = |pair: &&[ArcId]| !fabric.is_up(pair[0]) && fabric.is_up(pair[1]);
    path.windows(2).filter(bounce).count()
}

/// Fails each link whose bit is set in `mask`.
fn with_failures(topology: &Topology, mask: u64) -> Topology {
    let failed: Vec<LinkId> = topology
        .link_ids()
        .filter(|l| mask >> (l.index() % 64) & 1 == 1)
        .collect();
    topology.with_failed_links(&failed)
}

fn small_random() -> impl Strategy<Value = Topology> {
    (3u32..7, 2u16..4, any::<u64>(), any::<u64>(), any::<u64>()).prop_map(
        |(switches, fabric_ports, seed, x, y)| {
            let size = JellyfishSize::Switches {
                switches,
                fabric_ports,
            };
            let jellyfish = Jellyfish {
                size,
                ports: fabric_ports + 1,
                seed,
                cables: Cables::default(),
            };
            with_failures(&jellyfish.generate().unwrap(), x & y)
        },
    )
}

fn small_clos() -> impl Strategy<Value = Topology> {
    (2u32..5, 1u32..4, 1u16..3, any::<u64>(), any::<u64>()).prop_map(
        |(leaves, spines, parallel, x, y)| {
            let parallel = if leaves * spines > 4 { 1 } else { parallel };
            let clos = Clos {
                leaves,
                spines,
                hosts: 1,
                parallel,
                cables: Cables::default(),
            };
            with_failures(&clos.generate().unwrap(), x & y)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn shortest_paths_are_all_and_only_the_shortest(topology in small_random()) {
        let set = RouteSet::new(&topology, RoutePolicy::Shortest).unwrap();
        let expected = brute(&set, |fabric, from, to, path| {
            path.len() == usize::from(fabric.distances(from)[to.index()])
        });
        prop_assert_eq!(enumerated(&set), expected.clone());
        prop_assert_eq!(by_pairs(&set), expected);
    }

    #[test]
    fn simple_paths_are_those_within_the_limit(topology in small_random(), max_switches in 1u16..6) {
        let set = RouteSet::new(&topology, RoutePolicy::AllSimple { max_switches }).unwrap();
        let expected = brute(&set, |_, _, _, path| path.len() < usize::from(max_switches));
        prop_assert_eq!(enumerated(&set), expected.clone());
        prop_assert_eq!(by_pairs(&set), expected);
    }

    #[test]
    fn up_down_paths_are_those_within_the_bounces(topology in small_clos(), most in 0u8..3) {
        let set = RouteSet::new(&topology, RoutePolicy::UpDown { bounces: most }).unwrap();
        let expected = brute(&set, |fabric, _, _, path| bounces(fabric, path) <= usize::from(most));
        prop_assert_eq!(enumerated(&set), expected.clone());
        prop_assert_eq!(by_pairs(&set), expected);
    }
}

#[test]
fn the_triangle_has_twelve_simple_routes() {
    let topology = ThreeNode::default().generate().unwrap();
    let set = RouteSet::new(&topology, RoutePolicy::AllSimple { max_switches: 3 }).unwrap();
    let routes: Vec<_> = set.routes().collect();
    assert_eq!(routes.len(), 12);
    let long = routes.iter().find(|r| r.hops.len() == 3).unwrap();
    let ports: Vec<_> = long
        .hops
        .iter()
        .map(|h| (h.in_port.get(), h.out_port.get()))
        .collect();
    assert_eq!(ports, [(2, 3), (1, 4), (3, 4)]);
}

#[test]
fn routes_within_a_switch_join_different_hosts() {
    let topology = FatTree {
        k: 4,
        cables: Cables::default(),
    }
    .generate()
    .unwrap();
    let set = RouteSet::new(&topology, RoutePolicy::UpDown { bounces: 0 }).unwrap();
    let routes: Vec<_> = set.routes().collect();
    // 16 hosts: 1 neighbour on the switch, 2 hosts in the pod over 2 paths, 12 beyond over 4.
    assert_eq!(routes.len(), 16 * (1 + 2 * 2 + 12 * 4));
    assert!(routes.iter().all(|r| r.source != r.destination));
}

#[test]
fn up_down_needs_layers() {
    let topology = ThreeNode::default().generate().unwrap();
    let error = RouteSet::new(&topology, RoutePolicy::UpDown { bounces: 0 }).unwrap_err();
    assert!(error.to_string().contains("switch `A` has no layer"));
}
