//! What Flattened Clos and Xpander networks promise.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use crate::routes::{RoutePolicy, RouteSet};
use crate::{Fabric, NodeId, Topology, VirtualLayers};

fn flattened(switches: u32, ports: u16, fabric_ports: u16) -> FlattenedClos {
    FlattenedClos {
        switches,
        ports,
        fabric_ports,
        layers: None,
        split: None,
        single_links: false,
        optical: None,
        seed: 1,
        cables: Cables::default(),
    }
}

/// Links from the lower to the upper layer, as switch numbers, by lower layer.
fn by_layer(topology: &Topology) -> BTreeMap<u8, Vec<(SwitchId, SwitchId)>> {
    let mut layers: BTreeMap<u8, Vec<_>> = BTreeMap::new();
    for link in topology.links() {
        let (NodeId::Switch(a), NodeId::Switch(b)) = (link.a.node, link.b.node) else {
            assert_eq!(link.virtual_layers, None);
            continue;
        };
        let VirtualLayers { a: lower, b: upper } = link.virtual_layers.unwrap();
        assert_eq!(lower + 1, upper);
        layers.entry(lower).or_default().push((a, b));
    }
    layers
}

#[test]
fn as_many_layers_as_the_paper_says() {
    let sizes = [500, 1000, 2000, 3000, 5000];
    let layers = sizes.map(|switches| layers_needed(switches, 40));
    assert_eq!(layers, [3, 3, 4, 4, 4].map(Some));
    assert_eq!(layers_needed(5000, 4), None);
}

#[test]
fn all_pairs_are_joined_by_ways_up_and_down_or_there_are_more_layers() {
    let policy = RoutePolicy::VirtualUpDown { bounces: 0 };
    let mut taken = BTreeMap::new();
    for seed in 1..=5 {
        let made = FlattenedClos {
            seed,
            ..flattened(1000, 64, 40)
        };
        let topology = made.generate().unwrap();
        let set = RouteSet::new(&topology, policy.clone()).unwrap();
        assert_eq!(set.joined_pairs(1).named, [], "seed {seed}");
        *taken.entry(by_layer(&topology).len() + 1).or_insert(0) += 1;
    }
    // FC23 section 3.2.3: the fewest layers do for some networks of this size, and one more does
    // for the others.
    assert_eq!(taken.keys().copied().collect::<Vec<_>>(), [3, 4]);
}

#[test]
fn fabric_ports_are_divided_as_the_paper_does() {
    let split = |switches, ports, fabric_ports, layers| {
        let made = FlattenedClos {
            layers: Some(layers),
            ..flattened(switches, ports, fabric_ports)
        };
        let topology = made.generate().unwrap();
        let links = by_layer(&topology);
        links
            .values()
            .map(|links| links.len() / switches as usize)
            .collect::<Vec<_>>()
    };
    assert_eq!(split(50, 64, 40, 3), [10, 10]);
    assert_eq!(split(50, 64, 40, 4), [7, 6, 7]);
    assert_eq!(split(50, 64, 40, 5), [5, 5, 5, 5]);
    assert_eq!(split(50, 32, 18, 5), [2, 2, 2, 3]);
}

#[test]
fn what_cannot_be_is_refused_with_what_would_do() {
    let refused = |made: FlattenedClos| made.generate().unwrap_err().to_string();
    assert_eq!(
        refused(flattened(50, 32, 17)),
        "flattened-clos: 17 fabric ports are odd, but each link up needs one down; use 16 or 18"
    );
    let dense = FlattenedClos {
        split: Some(vec![9]),
        ..flattened(9, 32, 18)
    };
    assert!(refused(dense).contains("need at least 10 switches, there are 9"));
    let deep = FlattenedClos {
        layers: Some(11),
        ..flattened(50, 32, 18)
    };
    assert!(refused(deep).contains("18 fabric ports make 2 to 10"));
    let wrong = FlattenedClos {
        split: Some(vec![4, 4]),
        ..flattened(50, 32, 18)
    };
    assert!(refused(wrong).contains("numbers of at least 1 that make 9, such as 4-5"));
    let both = FlattenedClos {
        layers: Some(4),
        split: Some(vec![5, 4]),
        ..flattened(50, 32, 18)
    };
    assert!(refused(both).contains("is for 3 layers, not for 4"));
    let small = refused(flattened(5000, 32, 4));
    let enough = (6..).step_by(2).find(|&s| layers_needed(5000, s).is_some());
    assert!(
        small.contains(&format!("at least {} fabric ports", enough.unwrap())),
        "{small}"
    );
    let xpander = Xpander {
        switches: 20,
        ports: 8,
        fabric_ports: 5,
        seed: 1,
        cables: Cables::default(),
    };
    let error = xpander.generate().unwrap_err().to_string();
    assert!(error.contains("use 18 or 24"), "{error}");
}

#[test]
fn a_file_with_wrong_virtual_layers_is_refused() {
    let text = flattened(6, 8, 6).generate().unwrap().to_json();
    let wrong = |from: &str, to: &str| {
        assert!(text.contains(from), "{text}");
        let text = text.replacen(from, to, 1);
        Topology::from_json(&text).unwrap_err().to_string()
    };
    let layers = "\"a_layer\":1,\"b_layer\":2";
    let error = wrong(layers, "\"a_layer\":1");
    assert!(error.contains("give both or neither"), "{error}");
    let error = wrong(layers, "\"a_layer\":1,\"b_layer\":3");
    assert!(error.contains("in the virtual layers 1 and 3"), "{error}");
    let error = wrong(layers, "\"a_layer\":0,\"b_layer\":1");
    assert!(error.contains("in the virtual layers 0 and 1"), "{error}");
    let error = wrong(
        "\"length_m\":10",
        "\"length_m\":10,\"a_layer\":1,\"b_layer\":2",
    );
    assert!(error.contains("leads to a host"), "{error}");
}

#[test]
fn no_two_switches_are_linked_twice_where_that_is_asked_for() {
    for (switches, split) in [(50, vec![3, 3, 3]), (24, vec![4, 4]), (20, vec![2, 2, 1])] {
        let made = FlattenedClos {
            fabric_ports: 2 * split.iter().sum::<u16>(),
            split: Some(split.clone()),
            single_links: true,
            optical: None,
            ..flattened(switches, 32, 18)
        };
        let layers = by_layer(&made.generate().unwrap());
        let mut pairs = BTreeSet::new();
        for (degree, links) in split.iter().zip(layers.values()) {
            assert_eq!(links.len(), switches as usize * usize::from(*degree));
            for &(a, b) in links {
                assert!(pairs.insert((a.min(b), a.max(b))), "{a:?} and {b:?}");
            }
        }
    }
    let dense = FlattenedClos {
        single_links: true,
        optical: None,
        split: Some(vec![5, 4]),
        ..flattened(18, 32, 18)
    };
    let error = dense.generate().unwrap_err().to_string();
    assert!(error.contains("need at least 19 switches"), "{error}");
}

proptest! {
    #[test]
    fn flattened_clos_is_regular_in_every_layer(
        split in prop::collection::vec(1u16..6, 1..5),
        more in 1u32..40,
        seed in 0u64..1000,
    ) {
        let half: u16 = split.iter().sum();
        let switches = u32::from(*split.iter().max().unwrap()) + more;
        let made = FlattenedClos {
            split: Some(split.clone()),
            seed,
            ..flattened(switches, 2 * half + 1, 2 * half)
        };
        // A ring of layers of one link each may never be drawn connected.
        let Ok(topology) = made.generate() else {
            prop_assert!(half <= 2 || switches <= 3, "{made:?}");
            return Ok(());
        };
        prop_assert_eq!(topology.hosts().len(), switches as usize);
        let layers = by_layer(&topology);
        prop_assert_eq!(layers.len(), split.len());
        for (links, &degree) in layers.values().zip(&split) {
            let distinct: BTreeSet<_> = links.iter().collect();
            prop_assert_eq!(distinct.len(), links.len(), "a link twice in one pair of layers");
            let mut up = vec![0; switches as usize];
            let mut down = vec![0; switches as usize];
            for (a, b) in links {
                prop_assert_ne!(a, b);
                up[a.index()] += 1;
                down[b.index()] += 1;
            }
            prop_assert!(up.iter().chain(&down).all(|&count| count == degree));
        }
        let text = topology.to_json();
        prop_assert_eq!(&Topology::from_json(&text).unwrap(), &topology);
        prop_assert_eq!(made.generate().unwrap().to_json(), text);
    }

    #[test]
    fn optical_switches_have_the_ports_for_a_flattened_clos(
        split in prop::collection::vec(1u16..5, 1..4),
        switches in 10u32..40,
        half_ports in 4u16..20,
        spare in 0u32..3,
        single_links: bool,
        seed in 0u64..1000,
    ) {
        let half: u16 = split.iter().sum();
        let ports = 2 * half_ports;
        let eta = switches.div_ceil(u32::from(ports)) + spare;
        let optical = OpticalSwitches { ports, eta: Some(eta) };
        let made = FlattenedClos {
            split: Some(split.clone()),
            optical: Some(optical),
            // Draws of denser ones fail, which takes long to tell.
            single_links: single_links && u32::from(6 * half) <= switches,
            seed,
            ..flattened(switches, 2 * half + 1, 2 * half)
        };
        let made = match made.generate() {
            Ok(topology) => topology,
            Err(error) => {
                let error = error.to_string();
                let odd = eta == 1 && switches % 2 == 1 && error.contains("two by two");
                let many = 2 * eta > switches && error.contains("fewer than two");
                let few = (half <= 2 || single_links) && error.contains("was connected");
                prop_assert!(odd || many || few, "{error}");
                return Ok(());
            }
        };
        prop_assert_eq!(&Topology::from_json(&made.to_json()).unwrap(), &made);
        let mut layers: BTreeMap<u32, BTreeSet<u8>> = BTreeMap::new();
        let mut ends: BTreeMap<u32, BTreeSet<SwitchId>> = BTreeMap::new();
        for link in made.links() {
            let (NodeId::Switch(a), NodeId::Switch(b), Some(at)) = (link.a.node, link.b.node, link.virtual_layers) else {
                prop_assert_eq!(link.ocs, None);
                continue;
            };
            let ocs = link.ocs.unwrap();
            layers.entry(ocs).or_default().insert(at.a);
            let ends = ends.entry(ocs).or_default();
            prop_assert!(ends.insert(a) && ends.insert(b), "two cables of a switch to {ocs}");
        }
        prop_assert!(layers.values().all(|layers| layers.len() == 1), "two pairs of layers");
        prop_assert!(ends.values().all(|ends| ends.len() <= usize::from(ports)));
        let most = u32::from(2 * half) * eta;
        prop_assert!(ends.keys().all(|&ocs| ocs <= most));
        for links in by_layer(&made).values() {
            let mut up = vec![0; switches as usize];
            let mut down = vec![0; switches as usize];
            for (a, b) in links {
                up[a.index()] += 1;
                down[b.index()] += 1;
            }
            prop_assert!(up.iter().all(|count| *count == up[0]) && up == down);
        }
    }

    #[test]
    fn xpander_is_a_lift_of_the_complete_graph(
        fabric_ports in 3u16..8,
        copies in 1u32..12,
        seed in 0u64..1000,
    ) {
        let groups = u32::from(fabric_ports) + 1;
        let made = Xpander {
            switches: copies * groups,
            ports: fabric_ports + 2,
            fabric_ports,
            seed,
            cables: Cables::default(),
        };
        let topology = made.generate().unwrap();
        prop_assert_eq!(topology.to_json(), made.generate().unwrap().to_json());
        let fabric = Fabric::new(&topology);
        for switch in topology.switch_ids() {
            let group = |s: SwitchId| s.index() / copies as usize;
            let met: BTreeSet<_> = fabric.out_arcs(switch).map(|(_, arc)| group(arc.to)).collect();
            prop_assert_eq!(fabric.out(switch).count(), usize::from(fabric_ports));
            prop_assert_eq!(met.len(), usize::from(fabric_ports));
            prop_assert!(!met.contains(&group(switch)));
        }
    }
}
