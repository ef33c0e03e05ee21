//! Every scheme's claim, proven exhaustively from its tables alone.
#![allow(clippy::unwrap_used)]

use plan::check::{FailureOptions, FailureReport, resilience::resilience};
use topology::generate::{Bcube, Cables, FatTree, Jellyfish, JellyfishSize, ThreeNode};

use super::*;

/// A topology, and how many disjoint trees it has: by edges and by arcs.
struct Case {
    topology: Topology,
    resilience: Vec<u8>,
    edge_trees: u8,
    arc_trees: u8,
}

/// Six switches in a ring, three chords across, a host each.
const RING_WITH_CHORDS: &str =
    include_str!("../../../../examples/topologies/ring-with-chords.json");

fn cases() -> Vec<Case> {
    let cables = Cables::default();
    let size = JellyfishSize::Switches {
        switches: 20,
        fabric_ports: 8,
    };
    let jellyfish = Jellyfish {
        size,
        ports: 9,
        seed: 1,
        cables,
    };
    let case = |topology, resilience: &[u8], edge_trees, arc_trees| Case {
        topology,
        resilience: resilience.to_vec(),
        edge_trees,
        arc_trees,
    };
    vec![
        case(
            ThreeNode { cables }.generate().unwrap(),
            &[0, 1, 2, 3],
            1,
            2,
        ),
        case(
            Topology::from_json(RING_WITH_CHORDS).unwrap(),
            &[1, 2, 3],
            1,
            3,
        ),
        case(
            Bcube { n: 4, k: 1, cables }.generate().unwrap(),
            &[1, 2],
            1,
            2,
        ),
        case(FatTree { k: 4, cables }.generate().unwrap(), &[1, 2], 1, 2),
        case(jellyfish.generate().unwrap(), &[1, 2], 4, 8),
    ]
}

fn prove(tables: &Tables) -> FailureReport {
    let failover = tables.failover.as_ref().unwrap();
    let report = resilience(&tables.topology, failover, &FailureOptions::default());
    let lost = report.first_lost.as_ref().map(ToString::to_string);
    let name = (tables.topology.name(), &tables.provenance);
    assert_eq!(lost, None, "{name:?}");
    assert_eq!((report.lost, report.loops), (0, 0));
    assert!(report.exhaustive);
    report
}

fn identifying() -> impl Iterator<Item = FailoverOptions> {
    let schemes = [
        FailoverScheme::Plinko,
        FailoverScheme::Fcp,
        FailoverScheme::MplsFrr,
    ];
    let outputs = [Output::HopByHop, Output::SourceRoutes];
    schemes.into_iter().flat_map(move |scheme| {
        outputs.into_iter().map(move |output| FailoverOptions {
            output,
            stack: Some(32),
            ..FailoverOptions::new(scheme)
        })
    })
}

#[test]
fn failure_identifying_schemes_survive_what_they_claim() {
    for case in cases() {
        for options in identifying() {
            for &resilience in &case.resilience {
                let options = FailoverOptions {
                    resilience,
                    ..options.clone()
                };
                let tables = failover(&case.topology, &options).unwrap();
                let report = prove(&tables);
                assert_eq!(report.claimed, u32::from(resilience));
            }
        }
    }
}

#[test]
fn compressed_tables_survive_the_same() {
    for case in cases() {
        for options in identifying() {
            for paths in [PathPolicy::RandomShortest, PathPolicy::Common] {
                if paths == PathPolicy::Common && options.scheme == FailoverScheme::Fcp {
                    continue;
                }
                let options = FailoverOptions {
                    resilience: case.resilience[case.resilience.len() - 1],
                    compress: true,
                    paths,
                    ..options.clone()
                };
                prove(&failover(&case.topology, &options).unwrap());
            }
        }
    }
}

#[test]
fn virtual_destinations_and_switch_failures_are_survived() {
    for case in cases() {
        for options in identifying() {
            let paths = FailoverOptions {
                multipath: Some(2),
                ..options.clone()
            };
            prove(&failover(&case.topology, &paths).unwrap());
            let switches = FailoverOptions {
                protect: Element::Switch,
                multipath: Some(1),
                ..options
            };
            prove(&failover(&case.topology, &switches).unwrap());
        }
    }
}

#[test]
fn trees_survive_one_failure_less_than_there_are_trees() {
    for case in cases() {
        for (scheme, most) in [
            (FailoverScheme::Edst, case.edge_trees),
            (FailoverScheme::Adst, case.arc_trees),
        ] {
            for trees in 1..=most.min(4) {
                for (default_tree, mark_trees) in [(false, false), (true, false), (false, true)] {
                    let options = FailoverOptions {
                        trees: Some(trees),
                        default_tree,
                        mark_trees,
                        multipath: Some(1),
                        ..FailoverOptions::new(scheme)
                    };
                    let tables = failover(&case.topology, &options).unwrap();
                    assert_eq!(prove(&tables).claimed, u32::from(trees) - 1);
                }
            }
            let more = FailoverOptions {
                trees: Some(most + 1),
                ..FailoverOptions::new(scheme)
            };
            let refused = failover(&case.topology, &more).unwrap_err();
            let found = usize::from(most);
            assert!(
                matches!(&refused, FailoverError::Trees { found: f, .. } if *f == found),
                "{refused} in {}",
                case.topology.name()
            );
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_file_and_the_file_gives_the_same_tables() {
    let case = &cases()[4];
    for options in identifying() {
        let options = FailoverOptions {
            compress: true,
            multipath: Some(1),
            ..options
        };
        let tables = failover(&case.topology, &options).unwrap();
        let text = tables.to_json();
        assert_eq!(text, failover(&case.topology, &options).unwrap().to_json());
        assert_eq!(Tables::from_json(&text).unwrap(), tables);
    }
}

#[test]
fn what_cannot_be_is_refused_with_words() {
    let triangle = &cases()[0].topology;
    let plinko = FailoverOptions::new(FailoverScheme::Plinko);
    let say = |options: FailoverOptions| failover(triangle, &options).unwrap_err().to_string();
    let refusals = [
        say(FailoverOptions {
            resilience: 4,
            ..plinko.clone()
        }),
        say(FailoverOptions {
            resilience: 2,
            stack: Some(1),
            ..plinko.clone()
        }),
        say(FailoverOptions {
            stack: Some(33),
            ..plinko.clone()
        }),
        say(FailoverOptions {
            trees: Some(2),
            ..plinko.clone()
        }),
        say(FailoverOptions {
            compress: true,
            ..FailoverOptions::new(FailoverScheme::Adst)
        }),
        say(FailoverOptions {
            trees: Some(3),
            ..FailoverOptions::new(FailoverScheme::Edst)
        }),
    ];
    insta::assert_snapshot!(refusals.join("\n"));
}

/// Without failures the ways along disjoint trees use all links of a destination, not the first
/// few.
#[test]
fn trees_spread_load_over_links() {
    use plan::check::resilience::fold_ways;
    use topology::generate::{Egft, EgftSize};

    let size = EgftSize::Hosts {
        hosts: 64,
        ports: 16,
        oversubscription: 1.0,
    };
    let cables = Cables::default();
    let topology = Egft { size, cables }.generate().unwrap();
    let fabric = Fabric::new(&topology);
    for scheme in [FailoverScheme::Edst, FailoverScheme::Adst] {
        let options = FailoverOptions {
            trees: Some(2),
            ..FailoverOptions::new(scheme)
        };
        let mut tables = failover(&topology, &options).unwrap().failover.unwrap();
        tables.claim.failures = 0;
        let ways = fold_ways(&topology, &tables, 1_000_000, Vec::new, |all, way| {
            all.extend(way.arcs.iter().copied());
        });
        let mut load = vec![0u32; fabric.arcs().len()];
        for arc in ways.unwrap().into_iter().flatten() {
            load[arc.index()] += 1;
        }
        let most = load.iter().copied().max().unwrap();
        let mean = f64::from(load.iter().sum::<u32>()) / load.len() as f64;
        assert!(
            f64::from(most) < 4.0 * mean,
            "{scheme:?}: {most} over {mean}"
        );
        let idle = load.iter().filter(|&&load| load == 0).count();
        assert!(
            idle * 4 < load.len(),
            "{scheme:?}: {idle} of {} idle",
            load.len()
        );
    }
}
