//! What generators promise: counts, degrees, ports, addresses, determinism.

use std::collections::BTreeSet;

use super::*;
use crate::{Fabric, NodeId, Topology};

fn shape(topology: &Topology) -> (usize, usize, usize) {
    (
        topology.switches().len(),
        topology.hosts().len(),
        topology.links().len(),
    )
}

fn fabric_degree(topology: &Topology, switch: SwitchId) -> usize {
    Fabric::new(topology).out(switch).count()
}

#[test]
fn three_node_has_the_ports_of_the_paper() {
    let topology = ThreeNode::default().generate().unwrap();
    let port = |switch: &str, port: u16| {
        let Some(NodeId::Switch(s)) = topology.node(switch) else {
            panic!("no {switch}");
        };
        let peer = topology.peer(s, port.into()).unwrap();
        topology.node_name(peer.end.node).to_owned()
    };
    let expected = [
        ("A", [(2, "h1"), (3, "B"), (4, "C")]),
        ("B", [(1, "A"), (2, "h2"), (4, "C")]),
        ("C", [(1, "A"), (3, "B"), (4, "h3")]),
    ];
    for (switch, ports) in expected {
        for (number, peer) in ports {
            assert_eq!(port(switch, number), peer, "port {number} of {switch}");
        }
    }
}

#[test]
fn fat_tree_counts_follow_k() {
    for k in [2u16, 4, 6, 8] {
        let topology = FatTree {
            k,
            cables: Cables::default(),
        }
        .generate()
        .unwrap();
        let k = usize::from(k);
        assert_eq!(
            shape(&topology),
            (5 * k * k / 4, k * k * k / 4, 3 * k * k * k / 4)
        );
        assert!(topology.is_layered());
        let plugged = |s| topology.peers(s).count();
        assert!(topology.switch_ids().all(|s| plugged(s) == k));
    }
}

#[test]
fn fat_tree_addresses_read_pod_edge_host() {
    let topology = FatTree {
        k: 4,
        cables: Cables::default(),
    }
    .generate()
    .unwrap();
    assert_eq!(topology.host(HostId::new(0)).ipv4.to_string(), "10.0.0.1");
    assert_eq!(topology.host(HostId::new(15)).ipv4.to_string(), "10.3.1.2");
    assert_eq!(
        topology.host(HostId::new(15)).ipv6.to_string(),
        "fd00::a03:102"
    );
}

#[test]
fn odd_k_is_refused_with_the_reason() {
    let error = FatTree {
        k: 5,
        cables: Cables::default(),
    }
    .generate()
    .unwrap_err();
    assert_eq!(
        error.to_string(),
        "fat-tree: k is 5, but must be even (half the ports face up, half down)"
    );
}

#[test]
fn clos_joins_every_leaf_to_every_spine() {
    let clos = Clos {
        leaves: 4,
        spines: 2,
        hosts: 3,
        parallel: 2,
        cables: Cables::default(),
    };
    let topology = clos.generate().unwrap();
    assert_eq!(shape(&topology), (6, 12, 12 + 16));
    assert_eq!(topology.switch(SwitchId::new(0)).ports, 7);
    assert_eq!(topology.switch(SwitchId::new(5)).ports, 8);
}

#[test]
fn three_layer_clos_with_planes_is_a_fabric() {
    let mut clos = ThreeLayerClos {
        pods: 3,
        leaves: 2,
        aggregations: 2,
        spines: 4,
        hosts: 1,
        planes: true,
        parallel: 1,
        cables: Cables::default(),
    };
    let topology = clos.generate().unwrap();
    assert_eq!(shape(&topology), (16, 6, 6 + 12 + 12));
    clos.planes = false;
    assert_eq!(shape(&clos.generate().unwrap()), (16, 6, 6 + 12 + 24));
    (clos.planes, clos.parallel) = (true, 3);
    let wide = clos.generate().unwrap();
    assert_eq!(shape(&wide), (16, 6, 6 + 12 + 36));
    assert!(wide.switches().iter().any(|spine| spine.ports == 9));
    (clos.parallel, clos.spines) = (1, 3);
    assert!(clos.generate().unwrap_err().to_string().contains("evenly"));
}

#[test]
fn lines_and_rings_count_ports_alike() {
    let cables = Cables::default();
    let line = Line {
        switches: 5,
        hosts: 2,
        cables,
    }
    .generate()
    .unwrap();
    assert_eq!(shape(&line), (5, 10, 14));
    let ring = Ring {
        switches: 5,
        hosts: 2,
        cables,
    }
    .generate()
    .unwrap();
    assert_eq!(shape(&ring), (5, 10, 15));
    assert!(
        Ring {
            switches: 2,
            hosts: 1,
            cables
        }
        .generate()
        .is_err()
    );
}

fn jellyfish(switches: u32, ports: u16, fabric_ports: u16, seed: u64) -> Topology {
    let size = JellyfishSize::Switches {
        switches,
        fabric_ports,
    };
    let cables = Cables::default();
    Jellyfish {
        size,
        ports,
        seed,
        cables,
    }
    .generate()
    .unwrap()
}

#[test]
fn jellyfish_is_regular_simple_and_connected() {
    for (switches, ports, fabric) in [
        (20, 6, 3),
        (20, 4, 2),
        (7, 8, 6),
        (7, 6, 4),
        (50, 40, 39),
        (2, 3, 1),
    ] {
        for seed in 0..20 {
            let topology = jellyfish(switches, ports, fabric, seed);
            let mut pairs = BTreeSet::new();
            let fabric_links = Fabric::new(&topology);
            for arc in fabric_links.arcs() {
                assert!(
                    pairs.insert((arc.from, arc.to)),
                    "a parallel link with seed {seed}"
                );
            }
            for switch in topology.switch_ids() {
                assert_eq!(fabric_degree(&topology, switch), usize::from(fabric));
            }
        }
    }
}

#[test]
fn jellyfish_leaves_one_port_free_where_the_sum_is_odd() {
    let topology = jellyfish(7, 5, 3, 1);
    let degrees: Vec<_> = topology
        .switch_ids()
        .map(|s| fabric_degree(&topology, s))
        .collect();
    assert_eq!(degrees, [3, 3, 3, 3, 3, 3, 2]);
}

#[test]
fn jellyfish_uses_parallel_links_only_where_it_must() {
    let topology = jellyfish(4, 9, 7, 3);
    for switch in topology.switch_ids() {
        assert_eq!(fabric_degree(&topology, switch), 7);
    }
}

#[test]
fn jellyfish_is_reproducible_and_seeds_differ() {
    assert_eq!(jellyfish(30, 8, 4, 1), jellyfish(30, 8, 4, 1));
    assert_ne!(jellyfish(30, 8, 4, 1), jellyfish(30, 8, 4, 2));
}

#[test]
fn jellyfish_sizing_matches_the_thesis() {
    let check = Check("jellyfish");
    let size = JellyfishSize::Hosts {
        hosts: 1024,
        oversubscription: 1.0,
    };
    let jellyfish = Jellyfish {
        size,
        ports: 64,
        seed: 1,
        cables: Cables::default(),
    };
    assert_eq!(jellyfish.fabric_ports(&check, 1.0).unwrap(), 47);
    assert_eq!(jellyfish.fabric_ports(&check, 6.0).unwrap(), 22);
    let topology = jellyfish.generate().unwrap();
    assert_eq!(
        (topology.switches().len(), topology.hosts().len()),
        (61, 1024)
    );
}

fn egft(hosts: u32, ports: u16, oversubscription: f64) -> Topology {
    let size = EgftSize::Hosts {
        hosts,
        ports,
        oversubscription,
    };
    Egft {
        size,
        cables: Cables::default(),
    }
    .generate()
    .unwrap()
}

#[test]
fn egft_of_1024_hosts_needs_48_switches_of_64_ports() {
    let topology = egft(1024, 64, 1.0);
    // 32 top-of-rack switches of 32 hosts, 16 above them with 2 links to each.
    assert_eq!(shape(&topology), (48, 1024, 1024 + 1024));
    assert!(topology.is_layered());
}

#[test]
fn egft_keeps_the_port_and_oversubscription_limits() {
    for (hosts, ports, ratio) in [
        (100, 8, 1.0),
        (64, 8, 3.0),
        (2048, 64, 1.0),
        (4096, 64, 6.0),
        (5, 8, 1.0),
        (9000, 64, 1.0),
    ] {
        let topology = egft(hosts, ports, ratio);
        assert_eq!(topology.hosts().len(), usize::try_from(hosts).unwrap());
        let fabric = Fabric::new(&topology);
        for switch in topology.switch_ids() {
            assert!(topology.switch(switch).ports <= ports);
            let up = fabric.out(switch).filter(|&arc| fabric.is_up(arc)).count();
            let below = topology.switch(switch).layer == Some(0);
            if below && up > 0 {
                let hosts = fabric.attachments(switch).len();
                assert!(
                    hosts as f64 <= ratio * up as f64,
                    "{hosts} hosts over {up} links"
                );
            }
        }
    }
}

#[test]
fn egft_shapes_follow_the_labels() {
    let size = EgftSize::Shape(EgftShape {
        down: vec![2, 2, 3],
        up: vec![1, 2, 2],
        parallel: vec![1, 1, 2],
    });
    let topology = Egft {
        size,
        cables: Cables::default(),
    }
    .generate()
    .unwrap();
    // 6 + 6 + 4 switches, 12 hosts; 12 links to hosts, 6 * 2 above, 6 * 2 * 2 above that.
    assert_eq!(shape(&topology), (16, 12, 12 + 12 + 24));
    let fabric = Fabric::new(&topology);
    let distances = fabric.distances(SwitchId::new(0));
    assert_eq!(distances[..6], [0, 2, 4, 4, 4, 4]);
}

#[test]
fn an_egft_that_cannot_be_is_refused() {
    let size = EgftSize::Hosts {
        hosts: 100_000,
        ports: 8,
        oversubscription: 1.0,
    };
    let error = Egft {
        size,
        cables: Cables::default(),
    }
    .generate()
    .unwrap_err();
    assert!(
        error.to_string().contains("use more ports or fewer hosts"),
        "{error}"
    );
}

#[test]
fn bcube_is_named_by_digits() {
    let topology = Bcube {
        n: 4,
        k: 1,
        cables: Cables::default(),
    }
    .generate()
    .unwrap();
    let name = |link: u32| topology.describe_link(crate::LinkId::new(link));
    assert_eq!(name(16), "links[16] (v00:2 - w0.0:1)");
    assert_eq!(name(32), "links[32] (v00:3 - w1.0:1)");
    assert_eq!(name(33), "links[33] (v10:3 - w1.0:2)");
    assert_eq!(topology.switch(SwitchId::new(5)).role, crate::Role::Server);
}
