//! The schemes against the figures of the papers; every table goes through the proof.

use super::*;
use crate::plan::check::{Options, check};
use crate::topology::generate::{Cables, Clos, FatTree, ThreeNode};

fn clos(leaves: u32, hosts: u16) -> Topology {
    let clos = Clos {
        leaves,
        spines: 4,
        hosts,
        parallel: 1,
        cables: Cables::default(),
    };
    clos.generate().expect("a valid Clos")
}

#[test]
fn two_rules_per_tag_whatever_the_radix() {
    for (leaves, hosts) in [(4, 2), (40, 30)] {
        let topology = clos(leaves, hosts);
        for bounces in 0..4 {
            let options = TaggerOptions {
                bounces,
                ..TaggerOptions::default()
            };
            let tables = tagger(&topology, &options).expect("a layered topology");
            assert_eq!(tables.tagging.priorities.len(), usize::from(bounces) + 1);
            let plan = check(tables, &Options::default()).expect("a sound plan");
            for switch in plan.topology().switch_ids() {
                assert!(plan.counts(switch).rules <= 2 * (u64::from(bounces) + 1));
            }
        }
    }
}

#[test]
fn fat_tree_is_proven() {
    let fat_tree = FatTree {
        k: 8,
        cables: Cables::default(),
    };
    let topology = fat_tree.generate().expect("a valid fat-tree");
    let tables = tagger(&topology, &TaggerOptions::default()).expect("a layered topology");
    check(tables, &Options::default()).expect("a sound plan");
}

#[test]
fn classes_share_all_but_one_tag_each() {
    let topology = clos(4, 2);
    for class_bits in [false, true] {
        let mut options = TaggerOptions {
            bounces: 1,
            class_bits,
            ..TaggerOptions::default()
        }
        .with_classes(3);
        let tables = tagger(&topology, &options).expect("a layered topology");
        assert_eq!(tables.tagging.priorities.len(), 1 + 3);
        check(tables, &Options::default()).expect("a sound plan");
        options.classes[2].bounces = Some(0);
        let tables = tagger(&topology, &options).expect("a layered topology");
        assert_eq!(tables.tagging.priorities.len(), 3);
        check(tables, &Options::default()).expect("a sound plan");
    }
}

#[test]
fn ttl_counts_switches() {
    let three = ThreeNode {
        cables: Cables::default(),
    };
    let topology = three.generate().expect("the triangle");
    let tables = ttl(&topology, None, &TaggerOptions::default()).expect("few hops");
    assert_eq!(tables.tagging.priorities.len(), 2);
    check(tables, &Options::default()).expect("a sound plan");
    let tables = ttl(&topology, Some(9), &TaggerOptions::default()).expect("few hops");
    let failure = check(tables, &Options::default()).expect_err("nine tags, seven priorities");
    assert_eq!(failure.fault(), crate::plan::Fault::Target);
}
