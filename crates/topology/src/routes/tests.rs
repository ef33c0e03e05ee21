//! Enumerations against brute force.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::generate::{
    Bcube, Cables, Clos, FatTree, FlattenedClos, Jellyfish, JellyfishSize, Ring, ThreeNode,
};
use crate::{ArcId, Fabric, LinkId, SwitchId, Topology, UNREACHABLE};

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

    #[test]
    fn yen_finds_the_first_k_of_all_simple_paths(topology in small_random(), k in 1u32..12) {
        let set = RouteSet::new(&topology, RoutePolicy::Ksp { k }).unwrap();
        let all = brute(&set, |_, _, _, _| true);
        let fabric = set.fabric();
        for from in fabric.edge_switches() {
            for to in fabric.edge_switches().filter(|&to| to != from) {
                let joins = |p: &&Vec<ArcId>| fabric.arc(p[0]).from == from && fabric.arc(p[p.len() - 1]).to == to;
                let mut expected: Vec<_> = all.iter().filter(joins).cloned().collect();
                expected.sort_by_key(|path| (path.len(), path.clone()));
                expected.truncate(usize::try_from(k).unwrap());
                let mut found = Vec::new();
                let mut paths = set.paths_between(from, to);
                while let Some(path) = paths.advance() {
                    found.push(path.arcs.to_vec());
                }
                prop_assert_eq!(found, expected);
            }
        }
    }

    #[test]
    fn counts_agree_with_enumeration(topology in small_clos(), bounces in 0u8..3) {
        let set = RouteSet::new(&topology, RoutePolicy::Shortest).unwrap();
        let count = set.count();
        prop_assert_eq!((count.routes, count.exact), (set.routes().count() as u128, true));
        let set = RouteSet::new(&topology, RoutePolicy::UpDown { bounces }).unwrap();
        let (count, routes) = (set.count(), set.routes().count() as u128);
        prop_assert!(count.routes == routes || !count.exact && count.routes > routes);
        prop_assert!(count.exact || bounces > 1);
    }

    #[test]
    fn every_up_down_path_is_a_run_of_the_automaton(topology in small_clos(), bounces in 0u8..3) {
        let set = RouteSet::new(&topology, RoutePolicy::UpDown { bounces }).unwrap();
        let automaton = UpDownAutomaton::new(set.fabric(), bounces);
        let states: BTreeSet<_> = automaton.states().collect();
        let mut used = BTreeSet::new();
        for path in enumerated(&set) {
            let mut state = UpDownState { arc: path[0], bounces: 0 };
            assert!(states.contains(&state) && automaton.is_initial(state));
            used.insert(state);
            for &arc in &path[1..] {
                state = automaton.successors(state).find(|s| s.arc == arc).expect("a successor");
                used.insert(state);
            }
            assert!(automaton.is_final(state));
        }
        if bounces == 0 {
            prop_assert_eq!(states, used);
        }
    }

    #[test]
    fn batched_distances_are_those_of_single_searches(topology in small_random()) {
        let fabric = Fabric::new(&topology);
        let all = crate::Distances::new(&fabric, &fabric.switch_ids().collect::<Vec<_>>());
        for switch in fabric.switch_ids() {
            prop_assert_eq!(all.row(switch.index()), fabric.distances(switch));
        }
    }
}

/// Small Flattened Clos networks with some links down.
fn small_flattened() -> impl Strategy<Value = Topology> {
    (4u32..9, 0u64..50, any::<u64>(), any::<u64>()).prop_filter_map(
        "too small for its links",
        |(switches, seed, x, y)| {
            let clos = FlattenedClos {
                switches,
                ports: 5,
                fabric_ports: 4,
                layers: None,
                split: Some(vec![1, 1]),
                single_links: false,
                optical: None,
                seed,
                cables: Cables::default(),
            };
            Some(with_failures(&clos.generate().ok()?, x & y))
        },
    )
}

/// The turns of a path after which it does not go up, then down any more, told from the layers of
/// ports.
fn virtual_bounces(topology: &Topology, fabric: &Fabric, path: &[ArcId]) -> usize {
    let layers = |arc: ArcId| {
        let link = topology.link(fabric.arc(arc).link);
        let layers = link.virtual_layers.unwrap();
        if link.a.node == crate::NodeId::Switch(fabric.arc(arc).from) {
            (layers.a, layers.b)
        } else {
            (layers.b, layers.a)
        }
    };
    let bounces = |pair: &&[ArcId]| {
        let ((near, arrived), (left, far)) = (layers(pair[0]), layers(pair[1]));
        match (near < arrived, left < far) {
            (true, true) => left < arrived,
            (true, false) => false,
            (false, true) => true,
            (false, false) => left > arrived,
        }
    };
    path.windows(2).filter(bounces).count()
}

proptest! {
    #[test]
    fn virtual_up_down_paths_are_those_within_the_bounces(topology in small_flattened(), most in 0u8..3) {
        let set = RouteSet::new(&topology, RoutePolicy::VirtualUpDown { bounces: most });
        prop_assume!(set.is_ok());
        let set = set.unwrap();
        let expected = brute(&set, |fabric, _, _, path| {
            virtual_bounces(&topology, fabric, path) <= usize::from(most)
        });
        prop_assert_eq!(&enumerated(&set), &expected);
        prop_assert_eq!(&by_pairs(&set), &expected);
        let counted = set.count();
        prop_assert!(!counted.exact && counted.routes >= set.routes().count() as u128);
    }

    /// Tables never bounce where a way up and down is left, and need no more hops than it where no
    /// other switch would have to bounce for that.
    #[test]
    fn packets_go_up_then_down_wherever_they_can(topology in small_flattened()) {
        let policy = RoutePolicy::VirtualUpDown { bounces: 0 };
        let set = RouteSet::new(&topology, policy.clone());
        prop_assume!(set.is_ok());
        let set = set.unwrap();
        let tables = forwarding::Forwarding::new(&topology, &policy, forwarding::Reroute::Converged).unwrap();
        let fabric = set.fabric();
        for from in fabric.edge_switches() {
            let distances = fabric.distances(from);
            for to in fabric.edge_switches().filter(|&to| to != from && distances[to.index()] != UNREACHABLE) {
                let address = topology.host(fabric.attachments(to)[0].host).ipv4.into();
                let has_way = set.paths_between(from, to).advance().is_some();
                let mut ahead = vec![(from, Vec::new())];
                while let Some((at, path)) = ahead.pop() {
                    if at == to {
                        let bounced = virtual_bounces(&topology, fabric, &path);
                        prop_assert_eq!(bounced == 0, has_way, "{:?}", path);
                        continue;
                    }
                    let hops = tables.switch(at).lookup(address);
                    prop_assert!(!hops.is_empty() && path.len() < 32);
                    for hop in hops {
                        let arc = fabric.arc_at(at, hop.port).unwrap();
                        ahead.push((fabric.arc(arc).to, [&path[..], &[arc]].concat()));
                    }
                }
            }
        }
    }
}

#[test]
fn virtual_layers_are_needed_and_bounded() {
    let refused = |topology: &Topology| {
        let policy = RoutePolicy::VirtualUpDown { bounces: 0 };
        RouteSet::new(topology, policy).unwrap_err().to_string()
    };
    let ring = Ring {
        switches: 4,
        hosts: 1,
        cables: Cables::default(),
    }
    .generate()
    .unwrap();
    assert!(refused(&ring).contains("has no virtual layers"));
    let high = r#"{"format": "switchwright-topology", "version": 1,
      "switches": [{"name": "s1", "ports": 2}, {"name": "s2", "ports": 2}],
      "hosts": [{"name": "h1"}, {"name": "h2"}],
      "links": [{"a": "s1:1", "b": "h1:0"}, {"a": "s2:1", "b": "h2:0"},
                {"a": "s1:2", "b": "s2:2", "a_layer": 64, "b_layer": 65}]}"#;
    let high = Topology::from_json(high).unwrap();
    assert!(refused(&high).contains("65 virtual layers, but forwarding counts to 64"));
}

#[test]
fn a_three_layer_fat_tree_is_counted_exactly() {
    let topology = FatTree {
        k: 4,
        cables: Cables::default(),
    }
    .generate()
    .unwrap();
    let set = RouteSet::new(&topology, RoutePolicy::UpDown { bounces: 0 }).unwrap();
    let expected = RouteCount {
        routes: 16 * (1 + 2 * 2 + 12 * 4),
        exact: true,
    };
    assert_eq!(set.count(), expected);
}

#[test]
fn bcube_has_one_path_per_order_of_digits() {
    let topology = Bcube {
        n: 3,
        k: 1,
        cables: Cables::default(),
    }
    .generate()
    .unwrap();
    assert_eq!(
        (topology.switches().len(), topology.hosts().len()),
        (9 + 6, 9)
    );
    let single = RouteSet::new(&topology, RoutePolicy::BcubeDigit).unwrap();
    assert_eq!(single.count().routes, 9 * 8);
    let rotated = RouteSet::new(&topology, RoutePolicy::BcubeRotations).unwrap();
    // 4 servers differ in one digit, 4 in two.
    assert_eq!(rotated.count().routes, 9 * (4 + 4 * 2));
    let mut lengths: Vec<_> = rotated.routes().map(|r| r.hops.len()).collect();
    lengths.sort_unstable();
    lengths.dedup();
    assert_eq!(lengths, [3, 5]);
    assert_eq!(enumerated(&rotated), by_pairs(&rotated));
}

#[test]
fn bcube_routes_need_a_bcube() {
    let topology = ThreeNode::default().generate().unwrap();
    assert!(matches!(
        RouteSet::new(&topology, RoutePolicy::BcubeDigit),
        Err(RouteError::NotBcube { .. })
    ));
}

#[test]
fn bcube_digits_are_read_off_at_every_level() {
    for (n, k) in [(2, 0), (2, 3), (4, 2), (12, 1)] {
        let topology = Bcube {
            n,
            k,
            cables: Cables::default(),
        }
        .generate()
        .unwrap();
        let set = RouteSet::new(&topology, RoutePolicy::BcubeDigit).unwrap();
        let servers = u128::from(n).pow(u32::from(k) + 1);
        assert_eq!(set.count().routes, servers * (servers - 1));
    }
}

fn explicit(topology: &Topology, routes: &[&str]) -> Result<Vec<Route>, RouteError> {
    let routes = routes.iter().map(|&r| r.to_owned()).collect();
    let set = RouteSet::new(topology, RoutePolicy::Explicit { routes })?;
    Ok(set.routes().collect())
}

#[test]
fn listed_routes_are_found_and_failed_ones_left_out() {
    let topology = ThreeNode::default().generate().unwrap();
    let routes = ["h2 B C h3", "h1 A B C h3", "h1 A:3 B h2"];
    assert_eq!(explicit(&topology, &routes).unwrap().len(), 3);
    let failed = with_failures(&topology, 1 << 3);
    assert_eq!(failed.describe_link(LinkId::new(3)), "links[3] (A:3 - B:1)");
    let left = explicit(&failed, &routes).unwrap();
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].hops.len(), 2);
}

#[test]
fn bad_routes_say_where_and_why() {
    let topology = ThreeNode::default().generate().unwrap();
    let cases = [
        ("h1 A h9", "the topology has no node `h9`"),
        ("h1 A B A C h3", "it visits `A` twice; cut the loop out"),
        ("h1 B h2", "host `h1` is not linked to `B`"),
        ("h1 A:4 B h2", "port 4 of `A` does not lead to `B`"),
        (
            "h1 A:x B h2",
            "`x` in `A:x` is no port of `A`; write `NODE` or `NODE:PORT`",
        ),
        ("A B h2", "a route starts and ends at a host"),
        (
            "h1",
            "write at least a host, a switch and a host; the last takes no port",
        ),
        ("h1 h2", "write at least one switch between the hosts"),
        ("h1 A h3 C h3", "`h3` is a host, which does not forward"),
    ];
    for (route, reason) in cases {
        let error = explicit(&topology, &["h1 A B h2", route]).unwrap_err();
        assert_eq!(error.to_string(), format!("route 2 (`{route}`): {reason}"));
    }
}

#[test]
fn route_files_are_text_or_json() {
    let text = "# two routes\nh1 A B h2\n\n  h2 B A h1 # back\n";
    assert_eq!(parse_routes(text).unwrap(), ["h1 A B h2", "h2 B A h1"]);
    let json = r#"{"format": "switchwright-routes", "version": 1, "routes": ["h1 A B h2"]}"#;
    assert_eq!(parse_routes(json).unwrap(), ["h1 A B h2"]);
    let future = json.replace(": 1", ": 2");
    assert_eq!(parse_routes(&future), Err(RouteFileError::Version(2)));
}

#[test]
fn a_long_detour_is_found_where_the_direct_way_is_taken() {
    // A ring: the second shortest path is all the way round, far beyond the quick tries.
    let topology = Ring {
        switches: 40,
        hosts: 1,
        cables: Cables::default(),
    }
    .generate()
    .unwrap();
    let set = RouteSet::new(&topology, RoutePolicy::Ksp { k: 5 }).unwrap();
    let mut paths = set.paths_between(SwitchId::new(0), SwitchId::new(3));
    let mut lengths = Vec::new();
    while let Some(path) = paths.advance() {
        lengths.push(path.arcs.len());
    }
    assert_eq!(lengths, [3, 37]);
}

#[test]
fn policies_are_written_by_name() {
    let policy = RoutePolicy::UpDown { bounces: 1 };
    let json = serde_json::to_string(&policy).unwrap();
    assert_eq!(json, r#"{"policy":"up-down","bounces":1}"#);
    assert_eq!(serde_json::from_str::<RoutePolicy>(&json).unwrap(), policy);
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
