//! Networks parted among machines.
#![allow(clippy::unwrap_used)]

use topology::Topology;
use topology::generate::{Cables, FatTree, Ring};

use super::machines::part;

/// Links whose ends are on different machines.
fn crossing(topology: &Topology, machine_of: &[usize]) -> usize {
    let home = |end: topology::Endpoint| match end.node {
        topology::NodeId::Switch(id) => Some(machine_of[id.index()]),
        topology::NodeId::Host(_) => None,
    };
    let between = |link: &&topology::Link| {
        let (a, b) = (home(link.a), home(link.b));
        a.is_some() && b.is_some() && a != b
    };
    topology.links().iter().filter(between).count()
}

#[test]
fn machines_have_as_many_switches_each_and_neighbours_stay_together() {
    let cables = Cables::default();
    let ring = Ring {
        switches: 12,
        hosts: 1,
        cables,
    };
    let ring = ring.generate().unwrap();
    let parts = part(&ring, 3);
    for machine in 0..3 {
        assert_eq!(parts.iter().filter(|part| **part == machine).count(), 4);
    }
    // A ring in three pieces, or in more only where a piece was what was left.
    assert!(crossing(&ring, &parts) <= 4, "{parts:?}");
    let tree = FatTree { k: 4, cables }.generate().unwrap();
    for machines in [1, 3, 7, 20] {
        let parts = part(&tree, machines);
        let sizes: Vec<usize> = (0..machines)
            .map(|machine| parts.iter().filter(|part| **part == machine).count())
            .collect();
        let (least, most) = (sizes.iter().min().unwrap(), sizes.iter().max().unwrap());
        assert!(most - least <= 1 && *least > 0, "{sizes:?}");
    }
    assert_eq!(crossing(&tree, &part(&tree, 1)), 0);
    assert!(crossing(&tree, &part(&tree, 2)) < 32 / 2);
}
