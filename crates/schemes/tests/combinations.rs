//! Every failover scheme with every way to protect, put out, compress and label, on small networks:
//! what `plan` makes passes its own proof. Options that a scheme has not are refused, never planned
//! wrong.
#![allow(clippy::unwrap_used, clippy::panic)]

use plan::check::Options;
use plan::failover::{Element, Output};
use schemes::failover::{FailoverError, FailoverOptions, FailoverScheme, PathPolicy, failover};
use topology::Topology;
use topology::generate::{Bcube, Cables, Clos, Jellyfish, JellyfishSize, Ring};

fn networks() -> Vec<Topology> {
    let cables = Cables::default();
    let ring = |switches| Ring {
        switches,
        hosts: 1,
        cables,
    };
    let jellyfish = |seed| Jellyfish {
        size: JellyfishSize::Switches {
            switches: 8,
            fabric_ports: 4,
        },
        ports: 5,
        seed,
        cables,
    };
    let clos = Clos {
        leaves: 3,
        spines: 2,
        hosts: 2,
        parallel: 1,
        cables,
    };
    vec![
        ring(4).generate().unwrap(),
        ring(5).generate().unwrap(),
        clos.generate().unwrap(),
        jellyfish(1).generate().unwrap(),
        jellyfish(2).generate().unwrap(),
        Bcube { n: 2, k: 1, cables }.generate().unwrap(),
    ]
}

/// All that can be asked of a scheme.
fn options(scheme: FailoverScheme) -> Vec<FailoverOptions> {
    let mut all = vec![FailoverOptions {
        stack: Some(32),
        ..FailoverOptions::new(scheme)
    }];
    let vary = |all: &mut Vec<FailoverOptions>, change: &dyn Fn(&mut FailoverOptions)| {
        let mut more = all.clone();
        more.iter_mut().for_each(change);
        all.append(&mut more);
    };
    let two = |all: &mut Vec<FailoverOptions>| vary(all, &|o| o.resilience = 2);
    two(&mut all);
    vary(&mut all, &|o| o.multipath = Some(2));
    vary(&mut all, &|o| o.protect = Element::Switch);
    vary(&mut all, &|o| o.output = Output::SourceRoutes);
    vary(&mut all, &|o| {
        o.compress = true;
        o.paths = PathPolicy::Common;
    });
    if scheme.by_trees() {
        vary(&mut all, &|o| o.mark_trees = true);
        vary(&mut all, &|o| o.default_tree = true);
    }
    all
}

/// Plans and proves every combination; how many were planned.
fn planned(scheme: FailoverScheme) -> usize {
    let mut planned = 0;
    for topology in networks() {
        for options in options(scheme) {
            let what = || format!("{}: {options:?}", topology.name());
            let tables = match failover(&topology, &options) {
                Ok(tables) => tables,
                Err(FailoverError::Option { .. } | FailoverError::Trees { .. }) => continue,
                Err(other) => panic!("{}: {other}", what()),
            };
            let plan = plan::check(tables, &Options::default())
                .unwrap_or_else(|refused| panic!("{}: {refused}", what()));
            assert!(
                plan.report().proven && plan.report().resilience.exhaustive,
                "{}",
                what()
            );
            planned += 1;
        }
    }
    planned
}

#[test]
fn plinko() {
    assert_eq!(planned(FailoverScheme::Plinko), 6 * 32);
}

#[test]
fn fcp() {
    assert_eq!(planned(FailoverScheme::Fcp), 6 * 32);
}

#[test]
fn mpls_frr() {
    assert_eq!(planned(FailoverScheme::MplsFrr), 6 * 32);
}

#[test]
fn edst() {
    assert!(planned(FailoverScheme::Edst) > 0);
}

#[test]
fn adst() {
    assert!(planned(FailoverScheme::Adst) > 0);
}
