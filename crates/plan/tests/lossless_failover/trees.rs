//! DF-EDST: packets change from tree to tree along an acyclic graph, and keep one priority.

use plan::failover::{Rule, Write};
use schemes::failover::{FailoverError, TransitionKind, TransitionOptions, TreeOrder, df_edst};

use super::*;

const KINDS: [TransitionKind; 7] = [
    TransitionKind::NoRes,
    TransitionKind::Line,
    TransitionKind::T,
    TransitionKind::ALayer,
    TransitionKind::MLayer,
    TransitionKind::Rand,
    TransitionKind::Max,
];

pub(super) fn random(switches: u32, fabric_ports: u16) -> Topology {
    let size = JellyfishSize::Switches {
        switches,
        fabric_ports,
    };
    let cables = Cables::default();
    let jellyfish = Jellyfish {
        size,
        ports: fabric_ports + 1,
        seed: 1,
        cables,
    };
    jellyfish.generate().unwrap()
}

fn trees(kind: TransitionKind, resilience: u8) -> FailoverOptions {
    FailoverOptions {
        transitions: TransitionOptions::new(kind),
        ..options(FailoverScheme::DfEdst, resilience)
    }
}

fn planned(topology: &Topology, options: &FailoverOptions) -> Tables {
    df_edst(topology, options, &TaggerOptions::default()).unwrap()
}

/// How many failures the plan claims to survive.
fn claimed(tables: &Tables) -> u32 {
    tables.failover.as_ref().unwrap().claim.failures
}

fn rules(tables: &Tables) -> Vec<Rule> {
    let all = tables.failover.as_ref().unwrap().tables.iter();
    all.flat_map(SwitchTable::iter)
        .map(|rule| rule.to_rule())
        .collect()
}

/// Whether rules read or write anything in the header but destination and channel.
fn reads_a_header(tables: &Tables) -> bool {
    rules(tables).iter().any(|rule| {
        let write = match &rule.action {
            Action::Forward { write, .. } => *write,
            Action::Drop => Write::default(),
        };
        let written = write.tag.mask != 0 || write.tree.is_some();
        !rule.tag.is_any() || rule.tree.is_some() || !rule.reverse.is_any() || written
    })
}

/// Proves a plan by the checker and by brute force, up to as many failures as it claims.
fn prove(tables: Tables, channels: u8) {
    let what = tables.provenance.options.clone();
    let claimed = claimed(&tables);
    let found = brute(&tables, claimed as usize);
    assert_eq!((found.lossy, found.has_cycle()), (0, false), "{what:?}");
    let (report, errors) = report(tables, None);
    assert_eq!(errors, vec![], "{what:?}");
    assert!(report.proven && report.resilience.exhaustive, "{what:?}");
    assert_eq!(report.cbd_free, Some(true));
    assert_eq!(report.resilience.lost, 0);
    assert_eq!(report.lossless_priorities, usize::from(channels));
}

#[test]
fn every_acyclic_graph_keeps_its_guarantee_with_a_priority_for_each_channel() {
    let topology = random(8, 6);
    for kind in KINDS {
        let resilience = u8::from(kind != TransitionKind::NoRes);
        for (channels, mark_trees, multipath) in
            [(1, false, None), (2, false, Some(2)), (2, true, Some(3))]
        {
            for (order, connected, subset) in [
                (TreeOrder::Resilience, false, None),
                (TreeOrder::Performance, true, None),
                (TreeOrder::Resilience, false, Some(2)),
            ] {
                let mut options = trees(kind, resilience);
                options.mark_trees = mark_trees;
                options.multipath = multipath;
                options.transitions = TransitionOptions {
                    channels,
                    order,
                    connected,
                    subset,
                    ..options.transitions
                };
                let tables = planned(&topology, &options);
                assert_eq!(reads_a_header(&tables), channels > 1 || mark_trees);
                assert!(claimed(&tables) >= u32::from(resilience));
                prove(tables, channels);
            }
        }
    }
}

/// Stephens15 theorem 5.2.4: a line of k/2 trees survives k/2 - 1 failures in a k-connected
/// network, by destination, input port and port status alone.
#[test]
fn a_line_of_trees_needs_no_header() {
    let cables = Cables::default();
    let bcube = Bcube { n: 4, k: 1, cables }.generate().unwrap();
    for (topology, connected) in [(ring(), 3), (bcube, 2), (random(20, 8), 8)] {
        let tables = planned(&topology, &trees(TransitionKind::Line, 0));
        assert_eq!(claimed(&tables), connected / 2 - 1, "{}", topology.name());
        assert!(!reads_a_header(&tables));
        let (report, errors) = report(tables, None);
        assert_eq!(errors, vec![]);
        assert!(report.proven && report.resilience.exhaustive);
        assert_eq!(report.resilience.checked_failures, connected / 2 - 1);
        assert_eq!(report.lossless_priorities, 1);
    }
}

/// Stephens15 section 5.5: on a tree of switches packets take shortest ways until a link of theirs
/// has failed.
#[test]
fn minimal_ways_come_before_trees_where_they_close_no_cycle() {
    let cables = Cables::default();
    let fat_tree = FatTree { k: 6, cables }.generate().unwrap();
    let clos = Clos {
        leaves: 6,
        spines: 5,
        hosts: 1,
        parallel: 1,
        cables,
    };
    for (topology, resilience) in [(fat_tree, 1), (clos.generate().unwrap(), 2)] {
        for (kind, multipath, mark_trees) in [
            (TransitionKind::Line, None, false),
            (TransitionKind::T, Some(2), false),
            (TransitionKind::Max, Some(3), true),
        ] {
            let options = FailoverOptions {
                default_tree: true,
                multipath,
                mark_trees,
                ..trees(kind, resilience)
            };
            let tables = planned(&topology, &options);
            assert!(claimed(&tables) >= u32::from(resilience));
            let (report, errors) = report(tables.clone(), Some(0));
            assert_eq!(errors, vec![]);
            let longest = report.resilience.stretch_max;
            assert_eq!(longest, Some(1.0), "no way is longer");
            prove(tables, 2);
        }
    }
}

#[test]
fn minimal_ways_that_close_a_cycle_are_refused() {
    let options = FailoverOptions {
        default_tree: true,
        ..trees(TransitionKind::T, 1)
    };
    let refused = df_edst(&random(20, 6), &options, &TaggerOptions::default()).unwrap_err();
    let reason = "close a cycle of buffers";
    assert!(refused.to_string().contains(reason), "{refused}");
    let channels = FailoverOptions {
        transitions: TransitionOptions {
            channels: 2,
            ..options.transitions
        },
        ..options
    };
    let cables = Cables::default();
    let fat_tree = FatTree { k: 6, cables }.generate().unwrap();
    let refused = df_edst(&fat_tree, &channels, &TaggerOptions::default()).unwrap_err();
    assert!(refused.to_string().contains("--channels"), "{refused}");
}

#[test]
fn one_failure_more_than_is_guaranteed_can_be_too_many() {
    let topology = random(8, 6);
    for kind in KINDS {
        let resilience = u8::from(kind != TransitionKind::NoRes);
        let tables = planned(&topology, &trees(kind, resilience));
        let beyond = claimed(&tables) + 1;
        let (report, errors) = report(tables, Some(beyond));
        assert!(report.resilience.lost > 0, "{kind:?}");
        assert!(
            errors
                .iter()
                .any(|error| matches!(error, PlanError::PacketLost(_)))
        );
        assert_eq!(report.cbd_free, Some(true), "whatever fails");
    }
}

/// Stephens15 equation 5.1: where trees are marked, a rule for each tree and each that can be
/// reached from it.
#[test]
fn as_many_rules_as_equation_5_1_says() {
    let topology = random(20, 8);
    let mut options = trees(TransitionKind::Line, 0);
    options.mark_trees = true;
    options.multipath = Some(1);
    let tables = planned(&topology, &options);
    let mut groups = 0;
    for table in &tables.failover.as_ref().unwrap().tables {
        let mut counts: BTreeMap<_, usize> = BTreeMap::new();
        for rule in table.iter().filter(|rule| rule.origin == Origin::Any) {
            *counts
                .entry((rule.destination, rule.tree.unwrap()))
                .or_default() += 1;
        }
        // Four trees in a line, counted from 1: from each as many as there are from it on.
        assert!(
            counts
                .iter()
                .all(|((_, tree), &count)| count == 5 - usize::from(*tree)),
            "{counts:?}"
        );
        groups += counts.len();
    }
    assert!(groups > 20 * 19, "{groups}");
}

#[test]
fn going_back_to_an_earlier_tree_is_refused() {
    let topology = random(8, 6);
    let whole = planned(&topology, &trees(TransitionKind::Line, 0));
    let mut tables = whole.clone();
    let failover = tables.failover.as_mut().unwrap();
    for table in &mut failover.tables {
        let mut careless = SwitchTable::default();
        let all: Vec<Rule> = table.iter().map(|rule| rule.to_rule()).collect();
        // What is sent out by hosts may be sent out by everyone.
        let spare = all
            .iter()
            .filter(|rule| rule.origin == Origin::Host)
            .map(|rule| {
                let mut rule = rule.clone();
                rule.origin = Origin::Any;
                if let Action::Forward { write, .. } = &mut rule.action {
                    write.channel = None;
                }
                rule
            });
        all.iter()
            .cloned()
            .chain(spare)
            .for_each(|rule| careless.push(rule));
        *table = careless;
    }
    let (found, errors) = report(tables, Some(claimed(&whole) + 1));
    assert!(!found.proven, "{errors:?}");
    assert!(
        found.resilience.loops > 0 || found.resilience.lossy > Some(0),
        "{found:?}"
    );
}

#[test]
fn tags_that_follow_no_graph_close_a_cycle() {
    let topology = random(8, 6);
    let mut tables = planned(&topology, &trees(TransitionKind::Max, 1));
    for (rules, switch) in tables.tagging.rules.iter_mut().zip(topology.switches()) {
        for rule in rules {
            rule.in_ports = (1..=switch.ports).map(PortId::new).collect();
            rule.out_ports = rule.in_ports.clone();
        }
    }
    let (found, errors) = report(tables, None);
    assert_eq!((found.proven, found.cbd_free), (false, Some(false)));
    assert!(
        errors
            .iter()
            .any(|error| matches!(error, PlanError::Cycle(_)))
    );
}

#[test]
fn a_missing_tag_rule_is_found() {
    let topology = random(8, 6);
    let whole = planned(&topology, &trees(TransitionKind::T, 1));
    let mut refused = 0;
    for switch in 0..whole.tagging.rules.len() {
        for rule in 0..whole.tagging.rules[switch].len() {
            let mut tables = whole.clone();
            tables.tagging.rules[switch].remove(rule);
            let lossy = brute(&tables, 1).lossy;
            let (found, _) = report(tables, None);
            assert_eq!(found.resilience.lossy.unwrap() > 0, lossy > 0);
            refused += usize::from(!found.proven);
        }
    }
    assert!(refused > 10, "{refused}");
}

#[test]
fn what_cannot_be_is_refused_with_the_reason() {
    let topology = random(8, 6);
    let refusal = |options: &FailoverOptions| {
        let refused = df_edst(&topology, options, &TaggerOptions::default());
        refused.unwrap_err()
    };
    let cyclic = refusal(&trees(TransitionKind::NoDfr, 1));
    assert!(cyclic.to_string().contains("cycle of buffers"), "{cyclic}");
    let none = refusal(&trees(TransitionKind::NoRes, 1));
    assert!(
        matches!(
            none,
            FailoverError::Guarantee {
                asked: 1,
                guaranteed: 0,
                ..
            }
        ),
        "{none}"
    );
    let many = refusal(&trees(TransitionKind::T, 3));
    assert!(
        matches!(
            many,
            FailoverError::Trees {
                asked: 4,
                found: 3,
                ..
            }
        ),
        "{many}"
    );
    let mut few = trees(TransitionKind::T, 2);
    few.transitions.initial = Some(2);
    assert!(matches!(
        refusal(&few),
        FailoverError::Guarantee { guaranteed: 1, .. }
    ));
    // A channel is a priority: what is more than a switch has is the proof's to refuse.
    let mut channels = trees(TransitionKind::T, 1);
    channels.transitions.channels = 8;
    let (_, errors) = report(planned(&topology, &channels), None);
    assert!(
        errors.iter().any(|error| matches!(
            error,
            PlanError::TooManyPriorities {
                needed: 8,
                available: 7
            }
        )),
        "{errors:?}"
    );
}
