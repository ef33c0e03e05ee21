//! Disjoint paths against a plain min-cost max-flow, and what every path set promises.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::flow::PathCount;
use super::*;
use crate::generate::{Cables, FlattenedClos};

fn made(switches: u32, split: &[u16], seed: u64) -> Option<Topology> {
    let fabric_ports = 2 * split.iter().sum::<u16>();
    let clos = FlattenedClos {
        switches,
        ports: fabric_ports + 1,
        fabric_ports,
        layers: None,
        split: Some(split.to_vec()),
        single_links: false,
        optical: None,
        seed,
        cables: Cables::default(),
    };
    clos.generate().ok()
}

/// An arc of the reference's graph: from, to, capacity, cost. Every other arc is the reverse of the
/// one before.
type Plain = Vec<(usize, usize, u32, i64)>;

/// The virtual graph as FC23 draws it, written down from the topology: nodes u(i, j), d(i, j) and
/// T(i).
fn virtual_graph(topology: &Topology, layers: usize) -> (usize, Plain) {
    let switches = topology.switches().len();
    let up = |switch: usize, layer: usize| switch * (2 * layers + 1) + layer;
    let down = |switch: usize, layer: usize| up(switch, layer) + layers;
    let top = |switch: usize| up(switch, 0);
    let mut arcs = Plain::new();
    let mut add = |from, to, capacity, cost: i64| {
        arcs.extend([(from, to, capacity, cost), (to, from, 0, -cost)])
    };
    for switch in 0..switches {
        for layer in 1..layers {
            add(up(switch, layer), up(switch, layer + 1), u32::MAX / 2, 0);
            add(
                down(switch, layer + 1),
                down(switch, layer),
                u32::MAX / 2,
                0,
            );
        }
        add(up(switch, layers), top(switch), u32::MAX / 2, 0);
        add(top(switch), down(switch, layers), u32::MAX / 2, 0);
    }
    for link in topology.links() {
        let Some(VirtualLayers { a, b }) = link.virtual_layers else {
            continue;
        };
        let index = |node| match node {
            NodeId::Switch(switch) => switch.index(),
            NodeId::Host(_) => panic!("a host in a virtual layer"),
        };
        let ends = (
            index(link.a.node),
            usize::from(a),
            index(link.b.node),
            usize::from(b),
        );
        let (from, low, to, high) = if a < b {
            ends
        } else {
            (ends.2, ends.3, ends.0, ends.1)
        };
        add(up(from, low), up(to, high), 1, 1);
        add(down(to, high), down(from, low), 1, 1);
    }
    (switches * (2 * layers + 1), arcs)
}

/// Paths and links of a min-cost max-flow by Bellman and Ford, one path after the other.
fn reference(nodes: usize, arcs: &Plain, from: usize, to: usize) -> (u32, i64) {
    let mut left: Vec<u32> = arcs.iter().map(|arc| arc.2).collect();
    let (mut paths, mut total) = (0, 0);
    loop {
        let mut distance = vec![i64::MAX; nodes];
        let mut by = vec![usize::MAX; nodes];
        distance[from] = 0;
        let mut moved = true;
        while moved {
            moved = false;
            for (at, &(a, b, _, cost)) in arcs.iter().enumerate() {
                if left[at] > 0 && distance[a] < i64::MAX && distance[a] + cost < distance[b] {
                    (distance[b], by[b], moved) = (distance[a] + cost, at, true);
                }
            }
        }
        if distance[to] == i64::MAX {
            return (paths, total);
        }
        let mut node = to;
        while node != from {
            let arc = by[node];
            left[arc] -= 1;
            left[arc ^ 1] += 1;
            node = arcs[arc].0;
        }
        paths += 1;
        total += distance[to];
    }
}

fn switch(number: usize) -> SwitchId {
    SwitchId::new(u32::try_from(number).unwrap())
}

/// Whether a path leads from one switch to the other over real links, up, then down.
fn assert_up_then_down(topology: &Topology, from: SwitchId, to: SwitchId, path: &VirtualPath) {
    let (mut at, mut layer, mut descending) = (from, 1, false);
    let mut met = BTreeSet::from([from]);
    for crossing in path {
        let link = topology.link(crossing.link);
        let layers = link.virtual_layers.unwrap();
        let ends = [(link.a, layers.a), (link.b, layers.b)];
        let near = ends
            .iter()
            .find(|(end, _)| end.node == NodeId::Switch(at))
            .unwrap();
        let far = ends
            .iter()
            .find(|(end, _)| end.node == NodeId::Switch(crossing.to))
            .unwrap();
        assert_eq!((far.1 > near.1, far.1), (crossing.up, crossing.layer));
        assert!(!(crossing.up && descending), "up again after a descent");
        assert!(if crossing.up {
            near.1 >= layer
        } else {
            near.1 <= layer || !descending
        });
        (at, layer, descending) = (crossing.to, far.1, !crossing.up);
        assert!(met.insert(at), "a switch twice");
    }
    assert_eq!(at, to);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn disjoint_paths_are_those_of_a_plain_flow(
        split in prop::collection::vec(1u16..4, 1..5),
        more in 1u32..14,
        seed in 0u64..1000,
    ) {
        let switches = u32::from(*split.iter().max().unwrap()) + more;
        let Some(topology) = made(switches, &split, seed) else {
            return Ok(());
        };
        let layers = split.len() + 1;
        let graph = FlattenedLinks::new(&topology).unwrap();
        prop_assert_eq!(graph.layer_count(), layers);
        let (nodes, arcs) = virtual_graph(&topology, layers);
        let mut router = Router::new(&graph);
        let mut sum = PathStatistics { fewest: u32::MAX, ..PathStatistics::default() };
        for to in 0..switches as usize {
            for from in 0..switches as usize {
                if from == to {
                    continue;
                }
                let ends = (from * (2 * layers + 1) + 1, to * (2 * layers + 1) + layers + 1);
                let (paths, links) = reference(nodes, &arcs, ends.0, ends.1);
                let count = router.count(switch(from), switch(to));
                prop_assert_eq!((count.paths, i64::from(count.links)), (paths, links), "{} to {}", from, to);
                let found = router.paths(switch(from), switch(to));
                prop_assert_eq!(found.len(), paths as usize);
                let mut crossed = BTreeSet::new();
                for path in &found {
                    assert_up_then_down(&topology, switch(from), switch(to), path);
                    for crossing in path {
                        prop_assert!(crossed.insert((crossing.link, crossing.up)), "a link twice");
                    }
                }
                if from < to {
                    sum.pairs += 1;
                    sum.unconnected += u64::from(paths == 0);
                    sum.paths += u64::from(paths);
                    sum.links += u64::from(count.links);
                    sum.shortest += u64::from(count.shortest);
                    sum.fewest = sum.fewest.min(paths);
                }
            }
        }
        prop_assert_eq!(PathStatistics::new(&graph, &|| ()), sum);
    }
}

/// Distances from a node by repeated relaxation.
fn distances(nodes: usize, arcs: &[(usize, usize, f64)], from: usize) -> Vec<f64> {
    let mut distances = vec![f64::INFINITY; nodes];
    distances[from] = 0.0;
    let mut moved = true;
    while moved {
        moved = false;
        for &(a, b, length) in arcs {
            if distances[a] + length < distances[b] {
                (distances[b], moved) = (distances[a] + length, true);
            }
        }
    }
    distances
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn ways_are_the_shortest_by_lengths_of_arcs(
        split in prop::collection::vec(1u16..4, 1..4),
        more in 1u32..8,
        seed in 0u64..1000,
        lengths in prop::collection::vec(0u16..9, 400),
    ) {
        let switches = u32::from(*split.iter().max().unwrap()) + more;
        let Some(topology) = made(switches, &split, seed) else {
            return Ok(());
        };
        let layers = split.len() + 1;
        let graph = FlattenedLinks::new(&topology).unwrap();
        let lengths: Vec<f64> = (0..graph.arc_count()).map(|arc| f64::from(lengths[arc % 400])).collect();
        let (nodes, plain) = virtual_graph(&topology, layers);
        let (within, over) = plain.split_at(switches as usize * 4 * layers);
        let forth = |arc: &(usize, usize, u32, i64), length| (arc.0, arc.1, length);
        let mut arcs: Vec<_> = within.iter().step_by(2).map(|arc| forth(arc, 0.0)).collect();
        let carried = topology.link_ids().filter(|&id| topology.link(id).virtual_layers.is_some());
        for (id, four) in carried.zip(over.chunks(4)) {
            let position = graph.links.iter().position(|&link| link == id).unwrap();
            arcs.push(forth(&four[0], lengths[position]));
            arcs.push(forth(&four[2], lengths[position + graph.links.len()]));
        }
        // Lengths are whole numbers.
        let same = |a: f64, b: f64| a.is_infinite() && b.is_infinite() || (a - b).abs() < 0.5;
        let mut ways = ShortestWays::new(&graph);
        for to in 0..switches as usize {
            ways.aim(switch(to), &lengths);
            for from in 0..switches as usize {
                let found = distances(nodes, &arcs, from * (2 * layers + 1) + 1);
                let wanted = found[to * (2 * layers + 1) + layers + 1];
                prop_assert!(same(ways.distance(switch(from)), wanted), "{} to {}", from, to);
                let crossed: f64 = ways.arcs(switch(from)).map(|arc| lengths[arc]).sum();
                prop_assert!(wanted.is_infinite() || same(crossed, wanted), "{} to {}", from, to);
            }
        }
    }
}

#[test]
fn two_hundred_switches_are_as_in_table_2() {
    let topology = made(200, &[3, 3, 3], 1).unwrap();
    let graph = FlattenedLinks::new(&topology).unwrap();
    let found = PathStatistics::new(&graph, &|| ());
    let near = |ours: Option<f64>, paper: f64| {
        let ours = ours.unwrap();
        assert!(
            (ours / paper - 1.0).abs() < 0.02,
            "{ours} for the paper's {paper}"
        );
    };
    near(found.mean_paths(), 4.99);
    near(found.mean_links().map(|links| links + 1.0), 4.56);
    near(found.mean_shortest().map(|links| links + 1.0), 3.44);
}

#[test]
fn a_pair_has_no_paths_to_itself() {
    let topology = made(6, &[2, 1], 1).unwrap();
    let graph = FlattenedLinks::new(&topology).unwrap();
    let mut router = Router::new(&graph);
    assert_eq!(router.count(switch(2), switch(2)), PathCount::default());
    assert!(router.paths(switch(2), switch(2)).is_empty());
}

#[test]
fn other_networks_are_refused() {
    let ring = crate::generate::Ring {
        switches: 4,
        hosts: 1,
        cables: Cables::default(),
    };
    let error = FlattenedLinks::new(&ring.generate().unwrap()).unwrap_err();
    assert!(
        error.to_string().contains("has no virtual layers"),
        "{error}"
    );
}
