//! Cabling beside FC23's appendix A.4, and what any cabling must keep.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::Link;
use crate::generate::{Cables, Clos, FlattenedClos, Jellyfish, JellyfishSize, OpticalSwitches};

fn flattened(switches: u32, fabric_ports: u16, optical: Option<OpticalSwitches>) -> Topology {
    let made = FlattenedClos {
        switches,
        ports: 32,
        fabric_ports,
        layers: None,
        split: None,
        single_links: false,
        optical,
        seed: 1,
        cables: Cables::default(),
    };
    made.generate().unwrap()
}

fn jellyfish(switches: u32) -> Topology {
    let made = Jellyfish {
        size: JellyfishSize::Switches {
            switches,
            fabric_ports: 8,
        },
        ports: 12,
        seed: 1,
        cables: Cables::default(),
    };
    made.generate().unwrap()
}

fn through(ports: u16) -> CablingOptions {
    CablingOptions {
        ocs_ports: Some(ports),
        ..CablingOptions::default()
    }
}

/// Every port of a switch that has a link has one cable, every port of an OCS one, and circuits
/// join the two halves of links.
fn assert_complete(cabling: &Cabling<'_>) {
    let mut plugs = BTreeMap::new();
    for cable in &cabling.cables {
        for end in cable.ends {
            assert_eq!(plugs.insert(end, cable.link), None, "{end:?} twice");
        }
    }
    for id in cabling.topology.link_ids() {
        let link = cabling.topology.link(id);
        for end in [link.a, link.b] {
            assert_eq!(plugs.remove(&Plug::Port(end)), Some(id));
        }
    }
    for circuit in &cabling.circuits {
        for port in circuit.ports {
            let plug = Plug::Ocs {
                ocs: circuit.ocs,
                port,
            };
            assert_eq!(plugs.remove(&plug), Some(circuit.link));
        }
    }
    assert!(plugs.is_empty(), "{plugs:?}");
}

/// Table 4, Flattened Clos of 32-port switches: OCSs, transceivers, kilometres of copper, and cost
/// without fiber, which the paper's exceeds by that of fibers.
#[test]
fn it_costs_what_the_paper_says() {
    for (switches, fabric_ports, ocs, copper, transceivers, without_fiber, cost) in [
        (300, 24, 24, 4.8, 7200, 27.54, 27.58),
        (200, 20, 20, 4.8, 4000, 17.87, 17.89),
        (150, 16, 16, 4.8, 2400, 12.92, 12.93),
        (400, 20, 40, 9.6, 8000, 35.74, 35.80),
    ] {
        let optical = Some(OpticalSwitches {
            ports: 320,
            eta: None,
        });
        let topology = flattened(switches, fabric_ports, optical);
        let cabling = Cabling::new(&topology, &CablingOptions::default()).unwrap();
        assert_complete(&cabling);
        let found = cabling.summary();
        assert_eq!(
            (found.ocs, found.transceivers),
            (ocs, transceivers),
            "{switches}"
        );
        assert_eq!(found.cables_of_a_switch_to_an_ocs, Some(1));
        let metres = 2.0 * f64::from(u32::try_from(found.copper_cables).unwrap());
        assert!((metres / 1000.0 - copper).abs() < 0.05);
        let found = cabling.cost(&Prices::fc23()).unwrap();
        let millions = found.without_fiber.unwrap() / 1e6;
        assert!((millions - without_fiber).abs() < 0.005, "{millions}");
        assert_eq!((found.fiber, found.total), (None, None));
        // Two metres from place to place, about.
        let options = CablingOptions {
            pitch: Some(2.0),
            ..CablingOptions::default()
        };
        let all = Cabling::new(&topology, &options).unwrap();
        let all = all.cost(&Prices::fc23()).unwrap().total.unwrap() / 1e6;
        assert!((all - cost).abs() < 0.012, "{all} for {cost}");
    }
}

#[test]
fn links_that_have_none_are_spread_over_ocs() {
    for (switches, ports, count) in [(40, 40, 8), (41, 40, 16), (100, 16, 56)] {
        let topology = jellyfish(switches);
        let cabling = Cabling::new(&topology, &through(ports)).unwrap();
        assert_complete(&cabling);
        let found = cabling.summary();
        assert!(found.ocs <= count, "{} OCSs", found.ocs);
        assert!(found.cables_of_a_switch_to_an_ocs <= Some(2), "{found:?}");
        let used: BTreeSet<u32> = cabling
            .circuits
            .iter()
            .flat_map(|circuit| circuit.ports)
            .collect();
        assert!(used.iter().all(|&port| port <= u32::from(ports)));
    }
}

#[test]
fn without_ocs_cables_run_from_rack_to_rack() {
    let clos = Clos {
        leaves: 4,
        spines: 2,
        hosts: 3,
        parallel: 1,
        cables: Cables::default(),
    };
    let topology = clos.generate().unwrap();
    let cabling = Cabling::new(&topology, &CablingOptions::default()).unwrap();
    assert_complete(&cabling);
    let found = cabling.summary();
    assert_eq!(
        (found.ocs, found.copper_cables, found.fiber_cables),
        (0, 12, 8)
    );
    assert_eq!(found.transceivers, 16);
    // How strong transceivers must be depends on lengths.
    let cost = cabling.cost(&Prices::fc23()).unwrap();
    assert_eq!((cost.transceivers, cost.total), (None, None));
    let floor = "node,x,y\nleaf1,0,0\nleaf2,0,1\nleaf3,0,2\nleaf4,0,3\nspine1,1,0\nspine2,1,0\n";
    let options = CablingOptions {
        floor: Some(Floor::from_csv(floor).unwrap()),
        pitch: Some(60.0),
        ..CablingOptions::default()
    };
    let cabling = Cabling::new(&topology, &options).unwrap();
    assert_eq!(cabling.summary().fiber_distance, 2 * (1 + 2 + 3 + 4));
    let cost = cabling.cost(&Prices::fc23()).unwrap();
    // Only the first leaf's two links are within 100 m.
    assert_eq!(cost.transceivers, Some(4.0 * 499.0 + 12.0 * 799.0));
    assert_eq!(cost.copper, 12.0 * 189.0);
    // 60, 120, 180, 240 m, two of each: 100 m, 150 m, 200 m, 250 m.
    let fiber = 2.0 * (4.0 * 16.54 + (1.0 + 2.0 + 3.0) * 6.3);
    assert!((cost.fiber.unwrap() - fiber).abs() < 1e-9);
    assert!(cabling.cables_csv().lines().count() == 21);
    assert!(
        cabling
            .cables_csv()
            .contains("13,fiber,leaf1,4,0,0,spine1,1,1,0,1,60.0,2,")
    );
}

#[test]
fn what_cannot_be_cabled_is_refused() {
    let topology = jellyfish(20);
    let refused = |topology: &Topology, options: &CablingOptions| {
        let error = Cabling::new(topology, options).err();
        error.map_or_else(String::new, |error| error.to_string())
    };
    let refuse = |options: &CablingOptions| refused(&topology, options);
    assert!(refuse(&through(1)).contains("at least 2"));
    let floor = |text: &str| CablingOptions {
        floor: Some(Floor::from_csv(text).unwrap()),
        ..CablingOptions::default()
    };
    assert!(refuse(&floor("node,x,y\ns1,0,0\n")).contains("has no place"));
    assert!(refuse(&floor("node,x,y\nsx,0,0\n")).contains("neither a switch"));
    let twice = Floor::from_csv("node,x,y\ns1,0,0\ns1,1,0\n").unwrap_err();
    assert!(twice.to_string().starts_with("line 3: `s1` already"));
    let text = Floor::from_csv("node,x,y\ns1,a,0\n").unwrap_err();
    assert!(text.to_string().starts_with("line 2: "), "{text}");

    let mut links = topology.links().to_vec();
    let fabric = |link: &Link| matches!(link.b.node, NodeId::Switch(_));
    let with = |links: &[Link]| {
        let (switches, hosts) = (topology.switches().to_vec(), topology.hosts().to_vec());
        Topology::new("changed".to_owned(), switches, hosts, links.to_vec()).unwrap()
    };
    if let Some(link) = links.iter_mut().find(|link| fabric(link)) {
        link.ocs = Some(3);
    }
    let error = refused(&with(&links), &CablingOptions::default());
    assert!(error.contains("has no `ocs`"), "{error}");
    for link in links.iter_mut().filter(|link| fabric(link)) {
        link.ocs = Some(1);
    }
    let error = refused(&with(&links), &through(100));
    assert!(error.contains("needs 160 ports"), "{error}");

    let prices = Prices {
        fiber: Vec::new(),
        ..Prices::fc23()
    };
    assert!(
        prices
            .check()
            .unwrap_err()
            .to_string()
            .contains("`fiber` is empty")
    );
}
