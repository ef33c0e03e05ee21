//! Two schemes beside each other: each destination's rules are those of its own scheme, and each
//! claim is proven.
#![allow(clippy::unwrap_used)]

use plan::Tables;
use plan::check::resilience::resilience;
use plan::check::{CheckReport, FailureOptions, Options, Share, check, check_shares, walk_share};
use plan::failover::{Element, LabelKind, SwitchTable};
use topology::generate::{Cables, FatTree, Jellyfish, JellyfishSize, ThreeNode};

use super::super::{PathPolicy, TreeGrowth, failover};
use super::*;

const RING_WITH_CHORDS: &str =
    include_str!("../../../../../examples/topologies/ring-with-chords.json");

fn networks() -> Vec<Topology> {
    let cables = Cables::default();
    let jellyfish = Jellyfish {
        size: JellyfishSize::Switches {
            switches: 12,
            fabric_ports: 5,
        },
        ports: 6,
        seed: 1,
        cables,
    };
    vec![
        ThreeNode { cables }.generate().unwrap(),
        Topology::from_json(RING_WITH_CHORDS).unwrap(),
        FatTree { k: 4, cables }.generate().unwrap(),
        jellyfish.generate().unwrap(),
    ]
}

fn scheme(scheme: FailoverScheme) -> FailoverOptions {
    FailoverOptions {
        stack: Some(32),
        ..FailoverOptions::new(scheme)
    }
}

/// Two hosts by another scheme; as many trees as there are unless a resilience is given.
fn mixed(rest: FailoverOptions, other: FailoverOptions, all_trees: bool) -> FailoverOptions {
    FailoverOptions {
        important: Some(Important {
            hosts: [HostId::new(0), HostId::new(2)].into(),
            options: Box::new(other),
            all_trees,
        }),
        ..rest
    }
}

fn prove(tables: &Tables) -> CheckReport {
    let plan = check(tables.clone(), &Options::default());
    plan.unwrap().report()
}

fn rules_to(table: &SwitchTable, code: u32) -> Vec<plan::failover::Rule> {
    let own = table.iter().filter(|rule| rule.destination.matches(code));
    own.map(|rule| rule.to_rule()).collect()
}

/// Pairs of schemes: that of the rest, and that of the important destinations.
fn pairs() -> Vec<(FailoverScheme, FailoverScheme)> {
    use FailoverScheme::{Adst, Edst, Fcp, MplsFrr, Plinko};
    vec![
        (Plinko, Adst),
        (Plinko, Edst),
        (Fcp, Adst),
        (MplsFrr, Edst),
        (Adst, Plinko),
        (Edst, Fcp),
        (Edst, MplsFrr),
        (Plinko, Fcp),
        (Edst, Adst),
    ]
}

#[test]
fn destinations_have_the_rules_of_their_own_scheme_and_both_claims_are_proven() {
    for topology in networks() {
        for (rest, other) in pairs() {
            let what = format!("{}: {rest:?} beside {other:?}", topology.name());
            // One tree fits every network, so that trees of the rest survive nothing.
            let plain = |own: FailoverScheme| FailoverOptions {
                resilience: u8::from(!own.by_trees()),
                ..scheme(own)
            };
            let trees = other.by_trees();
            let options = mixed(plain(rest), plain(other), trees);
            let tables = failover(&topology, &options).unwrap();
            let report = prove(&tables);
            assert!(report.proven && report.resilience.exhaustive, "{what}");
            let parts = &report.resilience.parts;
            assert_eq!(parts.len(), 2, "{what}: {parts:?}");
            assert_eq!(parts[1].destinations, 2, "{what}");
            assert_eq!(parts[0].label, rest.label(), "{what}");
            assert_eq!(parts[1].label, other.label(), "{what}");
            assert_eq!(
                report.resilience.claimed,
                parts[0].claimed.min(parts[1].claimed)
            );
            // The same tables through the file.
            let again = Tables::from_json(&tables.to_json()).unwrap();
            assert_eq!(again.failover, tables.failover, "{what}");
            let failover_of =
                |options: &FailoverOptions| failover(&topology, options).unwrap().failover.unwrap();
            let made = tables.failover.as_ref().unwrap();
            let alone = [
                failover_of(&plain(rest)),
                failover_of(&FailoverOptions {
                    resilience: u8::try_from(parts[1].claimed).unwrap(),
                    ..scheme(other)
                }),
            ];
            for destination in &made.destinations {
                let own = usize::from(destination.own.is_some());
                for (table, alone) in made.tables.iter().zip(&alone[own].tables) {
                    let (ours, theirs) = (
                        rules_to(table, destination.code),
                        rules_to(alone, destination.code),
                    );
                    assert_eq!(ours, theirs, "{what}, to {destination:?}");
                }
            }
        }
    }
}

#[test]
fn as_many_trees_as_there_are() {
    let networks = networks();
    let trees = |topology: &Topology, scheme_of_trees| {
        let options = mixed(
            scheme(FailoverScheme::Plinko),
            scheme(scheme_of_trees),
            true,
        );
        let report = prove(&failover(topology, &options).unwrap());
        report.resilience.parts[1].claimed + 1
    };
    let found = networks.iter().map(|topology| {
        (
            trees(topology, FailoverScheme::Edst),
            trees(topology, FailoverScheme::Adst),
        )
    });
    // As the tests of the trees themselves have them, and half the degree of the random graph, or
    // all of it.
    assert_eq!(found.collect::<Vec<_>>(), [(1, 2), (1, 3), (1, 2), (2, 5)]);
}

#[test]
fn a_claim_that_is_too_high_is_refuted_for_the_destinations_that_it_is_of() {
    let topology = &networks()[3];
    let other = FailoverOptions {
        resilience: 2,
        ..scheme(FailoverScheme::Plinko)
    };
    let options = mixed(scheme(FailoverScheme::Plinko), other, false);
    let tables = failover(topology, &options).unwrap();
    assert!(prove(&tables).proven);
    let lost = |change: &dyn Fn(&mut Failover)| {
        let mut changed = tables.failover.clone().unwrap();
        change(&mut changed);
        let found = resilience(topology, &changed, &FailureOptions::default());
        (found.lost, found.checked_failures)
    };
    assert_eq!(lost(&|_| {}), (0, 2));
    let (of_important, tried) = lost(&|failover| {
        for own in failover
            .destinations
            .iter_mut()
            .filter_map(|to| to.own.as_mut())
        {
            own.failures = 3;
        }
    });
    assert!(of_important > 0 && tried == 3);
    let (of_rest, tried) = lost(&|failover| failover.claim.failures = 2);
    assert!(of_rest > 0 && tried == 2);
}

#[test]
fn compressed_rules_keep_clear_of_the_other_scheme() {
    for topology in networks() {
        for (rest, other) in [
            (FailoverScheme::Plinko, FailoverScheme::Adst),
            (FailoverScheme::Edst, FailoverScheme::Plinko),
            (FailoverScheme::Fcp, FailoverScheme::Plinko),
        ] {
            let of = |own: FailoverScheme| FailoverOptions {
                compress: !own.by_trees(),
                paths: if own.by_trees() {
                    PathPolicy::RandomShortest
                } else {
                    PathPolicy::Common
                },
                resilience: u8::from(!own.by_trees()),
                ..scheme(own)
            };
            let options = mixed(of(rest), of(other), other.by_trees());
            let tables = failover(&topology, &options).unwrap();
            assert!(prove(&tables).proven);
            let failover = tables.failover.unwrap();
            for rule in failover.tables.iter().flat_map(SwitchTable::iter) {
                let matched = failover.destinations.iter();
                let matched = matched.filter(|to| rule.destination.matches(to.code));
                let mut kinds: Vec<bool> = matched.map(|to| to.own.is_some()).collect();
                kinds.dedup();
                assert_eq!(kinds.len(), 1, "{}: {rule:?}", topology.name());
            }
        }
    }
}

#[test]
fn important_hosts_stand_beside_routings_to_switches() {
    let topology = &networks()[2];
    let rest = FailoverOptions {
        multipath: Some(2),
        ..scheme(FailoverScheme::Plinko)
    };
    let tables = failover(topology, &mixed(rest, scheme(FailoverScheme::Adst), true)).unwrap();
    let report = prove(&tables);
    assert!(report.proven);
    let counts: Vec<usize> = report
        .resilience
        .parts
        .iter()
        .map(|p| p.destinations)
        .collect();
    assert_eq!(counts, [16, 2], "two routings to each of eight switches");
}

#[test]
fn shares_of_the_proof_are_the_proof() {
    let topology = &networks()[3];
    let options = mixed(
        scheme(FailoverScheme::Plinko),
        scheme(FailoverScheme::Adst),
        true,
    );
    let tables = failover(topology, &options).unwrap();
    // Few walks: sets are drawn.
    for most_walks in [60_000_000, 600, 300] {
        let options = Options {
            failures: FailureOptions {
                most_walks,
                samples: 20,
                ..FailureOptions::default()
            },
            ..Options::default()
        };
        let whole = check(tables.clone(), &options).unwrap().report();
        if most_walks != 600 {
            assert_eq!(whole.resilience.exhaustive, most_walks > 600);
        }
        let shares = (0..3).map(|index| walk_share(&tables, &options, Share { index, of: 3 }));
        let shares: Vec<_> = shares.map(Result::unwrap).collect();
        let together = check_shares(&tables, &options, &shares).unwrap().unwrap();
        assert_eq!(together, whole);
    }
}

#[test]
fn what_cannot_stand_beside_others_is_refused_with_words() {
    let topology = &networks()[1];
    let refused = |rest, other, all_trees| {
        let refused = failover(topology, &mixed(rest, other, all_trees));
        refused.unwrap_err().to_string()
    };
    let plinko = scheme(FailoverScheme::Plinko);
    let adst = scheme(FailoverScheme::Adst);
    let says = |text: String, part: &str| assert!(text.contains(part), "{text}");
    let df_fi = scheme(FailoverScheme::DfFi);
    says(
        refused(df_fi.clone(), adst.clone(), true),
        "lossless channels",
    );
    says(refused(plinko.clone(), df_fi, false), "lossless channels");
    let switches = |own: &FailoverOptions| FailoverOptions {
        protect: Element::Switch,
        ..own.clone()
    };
    says(
        refused(switches(&plinko), switches(&adst), true),
        "disjoint in links only",
    );
    says(
        refused(switches(&plinko), adst.clone(), true),
        "have those of the rest",
    );
    says(
        refused(plinko.clone(), plinko.clone(), false),
        "survive what all others do",
    );
    says(
        refused(adst.clone(), plinko.clone(), true),
        "it has no trees",
    );
    let grown = FailoverOptions {
        growth: TreeGrowth::Random,
        ..plinko.clone()
    };
    says(refused(adst, grown, false), "it has no trees");
    let mut all = mixed(plinko, scheme(FailoverScheme::Edst), true);
    if let Some(important) = &mut all.important {
        important.hosts = topology.host_ids().collect();
    }
    let error = failover(topology, &all).unwrap_err().to_string();
    says(error, "every host is named");
}

/// Each rule is as wide as its own label, and the key of a table holds both.
#[test]
fn state_is_counted_by_destination() {
    let topology = &networks()[1];
    let plinko = scheme(FailoverScheme::Plinko);
    let options = mixed(plinko.clone(), scheme(FailoverScheme::Adst), true);
    let made = failover(topology, &options).unwrap().failover.unwrap();
    assert_eq!(
        made.labels(),
        [LabelKind::ReverseRoute, LabelKind::FailedTrees]
    );
    for (table, counts) in made.tables.iter().zip(made.counts()) {
        let of_trees = |to: &&Destination| to.own.is_some();
        let trees: Vec<u32> = made
            .destinations
            .iter()
            .filter(of_trees)
            .map(|to| to.code)
            .collect();
        let (mut bits, mut longest) = (0, 0);
        for rule in table.iter() {
            let hops = rule.reverse.hops.len() as u64;
            longest = longest.max(hops);
            let tree = trees.iter().any(|&code| rule.destination.matches(code));
            bits += 64 + if tree { 3 } else { 8 * hops };
        }
        assert_eq!(counts.tcam_bits, bits);
        assert_eq!(counts.tofino.key_bits, 64 + 72 + 8 * longest + 3 + 8);
    }
}
