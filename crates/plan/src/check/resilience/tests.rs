//! The exploration against brute force: every set of failures, every pair, on tables that are right
//! and on tables that have lost rules.
#![allow(clippy::unwrap_used, clippy::panic)]

use proptest::prelude::*;
use schemes::failover::{FailoverOptions, FailoverScheme, Important};
use topology::{HostId, Topology, UNREACHABLE};

use super::explore::Judge;
use super::walk::DestinationRules;
use super::*;
use crate::Tables;
use crate::failover::SwitchTable;

const RING: &str = include_str!("../../../../../examples/topologies/ring-with-chords.json");

/// All sets of at most `most` elements.
fn subsets(elements: &[u32], most: usize) -> Vec<Vec<u32>> {
    let mut all = vec![vec![]];
    for &element in elements {
        let with = all.iter().filter(|set: &&Vec<u32>| set.len() < most);
        let more: Vec<Vec<u32>> = with
            .map(|set| set.iter().copied().chain([element]).collect())
            .collect();
        all.extend(more);
    }
    all
}

/// A value of a type that schemes know, by its name in plan files.
fn named<T: serde::de::DeserializeOwned>(name: &str) -> T {
    serde_json::from_value(name.into()).unwrap()
}

/// The tables of a scheme. They come through a file: the crate that schemes know is not the one
/// under test.
fn failover(topology: &Topology, options: &FailoverOptions) -> Option<Failover> {
    let tables = schemes::failover::failover(topology, options).ok()?;
    Tables::from_json(&tables.to_json()).ok()?.failover
}

fn brute(topology: &Topology, failover: &Failover, most: usize) -> (u64, u64, u64) {
    let world = World::new(topology, failover);
    let sets = subsets(&world.elements, most);
    let mut all = Findings::default();
    for destination in 0..failover.destinations.len() {
        let mut rules = DestinationRules::new(&world, destination);
        let homes = rules.homes.clone();
        let mut judge = Judge::new(&world, destination, &homes);
        for set in &sets {
            let (_, dead) = world.failed(set);
            for &source in &world.sources {
                if !homes.contains(&source) && !dead.contains(&source) {
                    let mut way = Vec::new();
                    let end = rules.walk_hops(source, set, &mut Vec::new(), &mut way);
                    judge.judge(source, &homes, set, (end, &way));
                }
            }
        }
        all = all.and(judge.findings);
    }
    (sets.len() as u64, all.lost, all.loops)
}

fn options() -> impl Strategy<Value = FailoverOptions> {
    let schemes = prop_oneof![
        Just(FailoverScheme::Plinko),
        Just(FailoverScheme::Fcp),
        Just(FailoverScheme::MplsFrr),
        Just(FailoverScheme::Adst)
    ];
    (
        schemes,
        any::<bool>(),
        any::<bool>(),
        any::<u64>(),
        any::<bool>(),
        prop::option::of(0u32..6),
    )
        .prop_map(|(scheme, routes, compress, seed, switches, important)| {
            let trees = scheme == FailoverScheme::Adst;
            let switches = switches && important.is_none();
            let other = if trees {
                FailoverScheme::Plinko
            } else {
                FailoverScheme::Adst
            };
            let important = important.map(|host| Important {
                hosts: [HostId::new(host)].into(),
                options: Box::new(FailoverOptions::new(other)),
                all_trees: !trees,
            });
            FailoverOptions {
                important,
                output: if routes && !trees {
                    named("source-routes")
                } else {
                    named("hop-by-hop")
                },
                compress: compress && !trees,
                protect: if switches && !trees {
                    named("switch")
                } else {
                    named("link")
                },
                multipath: Some(1),
                resilience: 1,
                seed,
                ..FailoverOptions::new(scheme)
            }
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn exploring_finds_what_brute_force_finds(
        options in options(),
        lose in prop::collection::vec((0usize..6, 0usize..60), 0..4),
    ) {
        let topology = Topology::from_json(RING).unwrap();
        let mut failover = failover(&topology, &options).unwrap();
        for (switch, rule) in lose {
            let table = &failover.tables[switch];
            let kept = table.iter().enumerate().filter(|(at, _)| *at != rule);
            let mut less = SwitchTable::default();
            kept.for_each(|(_, rule)| less.push(rule.to_rule()));
            failover.tables[switch] = less;
        }
        let asked = FailureOptions { failures: Some(2), ..FailureOptions::default() };
        let found = resilience(&topology, &failover, &asked);
        let (sets, lost, loops) = brute(&topology, &failover, 2);
        prop_assert!(found.exhaustive);
        prop_assert_eq!(found.sets_checked, sets);
        prop_assert!(found.lost <= lost && found.loops <= loops);
        prop_assert_eq!(found.lost > 0, lost > 0);
        prop_assert_eq!(found.loops > 0, loops > 0);
        prop_assert_eq!(found.first_lost.is_some(), lost + loops > 0);
    }
}

#[test]
fn a_lost_packet_is_told_hop_by_hop() {
    let topology = Topology::from_json(RING).unwrap();
    let options = FailoverOptions {
        multipath: Some(1),
        ..FailoverOptions::new(FailoverScheme::Plinko)
    };
    let failover = failover(&topology, &options).unwrap();
    let asked = FailureOptions {
        failures: Some(2),
        ..FailureOptions::default()
    };
    let found = resilience(&topology, &failover, &asked);
    assert!(found.lost > 0);
    insta::assert_snapshot!(found.first_lost.unwrap().to_string());
}

#[test]
fn where_exploring_is_too_much_sets_are_drawn() {
    let topology = Topology::from_json(RING).unwrap();
    let options = FailoverOptions {
        resilience: 2,
        ..FailoverOptions::new(FailoverScheme::Fcp)
    };
    let failover = failover(&topology, &options).unwrap();
    let asked = FailureOptions {
        most_walks: 40,
        ..FailureOptions::default()
    };
    let found = resilience(&topology, &failover, &asked);
    assert!(!found.exhaustive);
    assert!(found.exhaustive_failures < 2);
    assert_eq!(found.lost, 0);
    assert!(found.sets_checked >= 200);
}

/// Drawn sets are judged as brute force judges them, though most are not walked.
#[test]
fn drawn_sets_that_touch_nothing_are_not_walked() {
    let topology = Topology::from_json(RING).unwrap();
    for element in ["link", "switch"] {
        let options = FailoverOptions {
            protect: named(element),
            ..FailoverOptions::new(FailoverScheme::Plinko)
        };
        let mut failover = failover(&topology, &options).unwrap();
        let world = World::new(&topology, &failover);
        let sets = subsets(&world.elements, 2);
        let asked = FailureOptions {
            failures: Some(2),
            ..FailureOptions::default()
        };
        let drawn = Drawn::given(2, sets.clone());
        let found = sample::walk_all(&world, &asked, &drawn, &Progress::default());
        let (_, lost, _) = brute(&topology, &failover, 2);
        assert_eq!((found.lost, found.loops), (lost, 0));
        assert!(lost > 0 && found.walks < sets.len() as u64 * 30 / 2);
        // Without any rule, every pair is lost under every set, and no link is asked about.
        failover
            .tables
            .iter_mut()
            .for_each(|table| *table = SwitchTable::default());
        let world = World::new(&topology, &failover);
        assert_eq!(
            sample::walk_all(&world, &asked, &drawn, &Progress::default()).walks,
            30
        );
    }
}

#[test]
fn losses_of_all_flows_are_those_of_each() {
    let topology = Topology::from_json(RING).unwrap();
    for (element, t) in [("link", 0), ("link", 1), ("switch", 1)] {
        let options = FailoverOptions {
            resilience: t,
            protect: named(element),
            ..FailoverOptions::new(FailoverScheme::Plinko)
        };
        let failover = failover(&topology, &options).unwrap();
        let survey = Survey::new(&topology, &failover);
        let world = &survey.world;
        let sets = subsets(&world.elements, 3);
        let mut flows = Vec::new();
        for destination in 0..survey.destinations() {
            let homes = world.destination(destination).homes(&topology);
            for &source in world.sources.iter().filter(|at| !homes.contains(at)) {
                let flow = Flow {
                    source,
                    destination,
                };
                let hosts = world.fabric.attachments(source).len();
                flows.extend(std::iter::repeat_n(flow, hosts));
            }
        }
        assert_eq!(survey.flows(), flows.len() as u64);
        for (set, found) in sets.iter().zip(survey.losses(&sets)) {
            let outcomes = survey.outcomes(set, &flows);
            for (flow, outcome) in flows.iter().zip(&outcomes) {
                let homes = world.destination(flow.destination).homes(&topology);
                let mut judge = Judge::new(world, flow.destination, &homes);
                let alone = judge.fewest(flow.source, &homes, set);
                let dead = world.failed(set).1.contains(&flow.source);
                let expected = (!dead && alone != UNREACHABLE).then_some(alone);
                assert_eq!(outcome.fewest, expected, "{element} t = {t}: {set:?}");
            }
            let lost = |way: bool| {
                let lost = outcomes.iter().filter(|flow| flow.way.is_none());
                lost.filter(|flow| flow.fewest.is_some() == way).count() as u64
            };
            let expected = Losses {
                avoidable: lost(true),
                cut_off: lost(false),
            };
            assert_eq!(found, expected, "{element} t = {t}: {set:?}");
        }
        let outcomes = survey.outcomes(&[], &flows);
        let hops: usize = outcomes
            .iter()
            .flat_map(|flow| &flow.way)
            .map(Vec::len)
            .sum();
        let mean = hops as f64 / flows.len() as f64;
        assert!((survey.mean_hops() - mean).abs() < 1e-9);
    }
}

/// What shares found is what one machine finds, whether all sets are explored or some are drawn,
/// tables right or wrong.
#[test]
fn shares_together_find_what_one_machine_finds() {
    let topology = Topology::from_json(RING).unwrap();
    let options = FailoverOptions {
        multipath: Some(1),
        ..FailoverOptions::new(FailoverScheme::Plinko)
    };
    let tagger = schemes::TaggerOptions::default();
    let method = schemes::failover::Method::Rising;
    let tables =
        schemes::failover::lossless_failover(&topology, &options, method, &tagger).unwrap();
    let tables = Tables::from_json(&tables.to_json()).unwrap();
    for (failures, most_walks) in [(1, 1_000_000), (2, 1_000_000), (2, 40), (2, 900)] {
        let options = crate::check::Options {
            failures: FailureOptions {
                failures: Some(failures),
                most_walks,
                ..FailureOptions::default()
            },
            ..crate::check::Options::default()
        };
        let whole = crate::check::check(tables.clone(), &options);
        let whole = whole.map(|plan| plan.report().clone());
        for of in [1, 2, 3, 7] {
            let share = |index| {
                let share = Share { index, of };
                let walked = crate::check::walk_share(&tables, &options, share).unwrap();
                // They go through a file.
                let text = serde_json::to_string(&walked).unwrap();
                serde_json::from_str::<WalkedShare>(&text).unwrap()
            };
            let shares: Vec<WalkedShare> = (0..of).map(share).collect();
            let merged = crate::check::check_shares(&tables, &options, &shares).unwrap();
            match (&whole, merged) {
                (Ok(whole), Ok(merged)) => assert_eq!(*whole, merged),
                (Err(whole), Err(merged)) => {
                    assert_eq!(whole.report, merged.report);
                    assert_eq!(whole.to_string(), merged.to_string());
                }
                (whole, merged) => panic!("{whole:?} {merged:?}"),
            }
        }
    }
}
