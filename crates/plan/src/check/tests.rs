//! The list of obligations against the theorem, and against plans that break one of them each.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeSet;

use quantities::{Bytes, PortId};
use schemes::TaggerOptions;
use schemes::failover::{FailoverOptions, FailoverScheme, Method, failover, lossless_failover};
use topology::generate::{Cables, Clos, Ring};
use topology::routes::RoutePolicy;
use topology::{NodeId, SwitchId, Topology};

use super::obligations::Obligation;
use super::*;
use crate::failover::SwitchTable;
use crate::{ClassId, NewTag, PortSet, Promise, Tag};

const THEOREM: &str = include_str!("mod.rs");

/// Tables that a scheme made. They come through a file: the crate that schemes know is not the one
/// under test.
fn read(json: &str) -> Tables {
    Tables::from_json(json).unwrap()
}

/// Two leaves (hosts on ports 1 and 2, spines on 3 and 4), two spines (leaves on 1 and 2), one
/// bounce; `classes` lossless classes.
fn clos(classes: u8) -> Tables {
    let clos = Clos {
        leaves: 2,
        spines: 2,
        hosts: 2,
        parallel: 1,
        cables: Cables::default(),
    };
    let options = TaggerOptions {
        class_bits: classes > 1,
        ..TaggerOptions::default()
    };
    let options = options.with_classes(classes);
    read(
        &schemes::tagger(&clos.generate().unwrap(), &options)
            .unwrap()
            .to_json(),
    )
}

fn ring() -> Topology {
    let ring = Ring {
        switches: 4,
        hosts: 1,
        cables: Cables::default(),
    };
    ring.generate().unwrap()
}

/// Failover tables that survive one failure.
fn backed_up() -> Tables {
    let options = FailoverOptions::new(FailoverScheme::Plinko);
    read(&failover(&ring(), &options).unwrap().to_json())
}

/// The same with lossless tags.
fn risen() -> Tables {
    let options = FailoverOptions::new(FailoverScheme::Plinko);
    let tagger = TaggerOptions::default();
    let tables = lossless_failover(&ring(), &options, Method::Rising, &tagger);
    read(&tables.unwrap().to_json())
}

/// The finding of every obligation.
fn findings(evidence: &Evidence<'_>) -> Vec<(&'static str, Finding)> {
    let finding = |obligation: &Obligation| (obligation.name, (obligation.examine)(evidence));
    OBLIGATIONS.iter().map(finding).collect()
}

/// The obligations that tables break. Nothing is open unless something is refuted.
fn broken(tables: &Tables, options: &Options) -> Vec<&'static str> {
    let evidence = Evidence::gather(tables, options, WalkSource::Here);
    let findings = findings(&evidence);
    let refuted = |found: &&(_, Finding)| matches!(found.1, Finding::Refuted(_));
    let broken: Vec<_> = findings.iter().filter(refuted).map(|f| f.0).collect();
    let open = findings.iter().any(|found| found.1 == Finding::Open);
    assert!(!open || !broken.is_empty(), "{findings:?}");
    let outcome = check(tables.clone(), options);
    let named = outcome.map_or_else(|failure| failure.refuted, |_| Vec::new());
    assert_eq!(named, broken);
    broken
}

#[test]
fn the_theorem_states_the_obligations_of_the_list() {
    let essay: Vec<&str> = THEOREM
        .lines()
        .map_while(|line| line.strip_prefix("//!"))
        .collect();
    let item = |line: &&&str| line.trim_start().starts_with("- **O");
    let stated: Vec<String> = essay
        .iter()
        .filter(item)
        .filter_map(|line| Some(line.split("**").nth(1)?.to_owned()))
        .collect();
    let listed = (1..).zip(&OBLIGATIONS);
    let listed: Vec<String> = listed
        .map(|(number, obligation)| format!("O{number} {}.", obligation.name))
        .collect();
    assert_eq!(stated, listed);
}

#[test]
fn each_function_is_that_of_its_number() {
    let code = include_str!("obligations.rs");
    for (number, obligation) in (1..).zip(&OBLIGATIONS) {
        let function = obligation
            .name
            .replace(['-', ' '], "_")
            .replace("_the_", "_");
        let (_, after) = code.split_once(&format!("\n/// O{number}. ")).unwrap();
        let signature = after.lines().find(|line| line.starts_with("fn ")).unwrap();
        assert!(
            signature.starts_with(&format!("fn {function}(")),
            "{signature}"
        );
    }
}

#[test]
fn sound_plans_meet_every_obligation_that_speaks_of_them() {
    let options = Options::default();
    let vacuous = |tables: &Tables| -> Vec<&str> {
        assert_eq!(broken(tables, &options), Vec::<&str>::new());
        let evidence = Evidence::gather(tables, &options, WalkSource::Here);
        let found = findings(&evidence).into_iter();
        let vacuous = found.filter(|(_, finding)| *finding == Finding::Vacuous);
        vacuous.map(|(name, _)| name).collect()
    };
    assert_eq!(vacuous(&clos(1)), ["resilient"]);
    assert_eq!(vacuous(&clos(2)), ["resilient"]);
    assert_eq!(vacuous(&risen()), ["delivered"]);
    let without_tags = vacuous(&backed_up());
    assert_eq!(without_tags.len(), OBLIGATIONS.len() - 2);
    assert!(!without_tags.contains(&"well-formed") && !without_tags.contains(&"resilient"));
}

/// A plan that is sound, and what makes it wrong.
type Spoiled = (fn() -> Tables, fn(&mut Tables));

/// A way to break each obligation, and it alone.
const SPOILED: [(&str, Spoiled); OBLIGATIONS.len()] = [
    (
        "well-formed",
        (
            || clos(1),
            |t| t.tagging.rules[0][0].in_ports = PortSet::single(PortId::new(77)),
        ),
    ),
    (
        "injective",
        (
            || clos(1),
            |t| {
                let taken = t.tagging.priorities[&Tag::new(1)];
                t.tagging.priorities.insert(Tag::new(2), taken);
            },
        ),
    ),
    (
        "within the budget",
        (|| clos(1), |t| t.budget.buffer = Bytes::new(100_000)),
    ),
    (
        "single-valued",
        (
            || clos(1),
            |t| {
                let mut other = t.tagging.rules[1][0].clone();
                other.new_tag = NewTag::Lossless(Tag::new(2));
                t.tagging.rules[1].push(other);
            },
        ),
    ),
    ("rising", (|| clos(1), lower_a_tag_of_hosts)),
    ("resilient", (backed_up, forget_backups)),
    (
        "acyclic",
        (
            || clos(1),
            |t| {
                for rules in &mut t.tagging.rules {
                    rules.retain(|rule| rule.precedence == 0);
                }
            },
        ),
    ),
    (
        "limited",
        (
            || clos(2),
            |t| {
                for rules in &mut t.tagging.rules {
                    rules.retain(|rule| rule.class.is_none());
                }
            },
        ),
    ),
    (
        "promised",
        (
            || clos(1),
            |t| {
                for rule in &mut t.tagging.rules[1] {
                    let others = rule.out_ports.iter().filter(|port| port.get() != 2);
                    rule.out_ports = others.collect();
                }
            },
        ),
    ),
    (
        "delivered",
        (
            || clos(1),
            |t| {
                let routes = vec!["h1 leaf1 leaf2 h3".to_owned()];
                t.forwarding = RoutePolicy::Explicit { routes };
            },
        ),
    ),
];

/// Packets that hosts of the first leaf send with tag 2 get tag 1 on their way up.
fn lower_a_tag_of_hosts(tables: &mut Tables) {
    let rules = &mut tables.tagging.rules[0];
    let kept = rules.iter().find(|rule| rule.tag == Tag::new(2)).unwrap();
    let mut lowered = kept.clone();
    lowered.precedence = 9;
    lowered.in_ports = [1, 2].map(PortId::new).into_iter().collect();
    lowered.out_ports = [3, 4].map(PortId::new).into_iter().collect();
    lowered.new_tag = NewTag::Lossless(Tag::new(1));
    rules.push(lowered);
}

/// Rules that ask for a port that is down are gone.
fn forget_backups(tables: &mut Tables) {
    let failover = tables.failover.as_mut().unwrap();
    for table in &mut failover.tables {
        let mut less = SwitchTable::default();
        for rule in table.iter() {
            if rule.ports.down.iter().next().is_none() {
                less.push(rule.to_rule());
            }
        }
        *table = less;
    }
}

#[test]
fn each_obligation_can_be_broken_by_itself() {
    for (obligation, (name, (sound, spoil))) in OBLIGATIONS.iter().zip(SPOILED) {
        assert_eq!(name, obligation.name);
        let mut tables = sound();
        let options = Options::default();
        assert_eq!(broken(&tables, &options), Vec::<&str>::new(), "{name}");
        spoil(&mut tables);
        assert_eq!(broken(&tables, &options), [name]);
    }
}

#[test]
fn loops_of_the_own_forwarding_are_refuted() {
    let (tables, options) = (clos(1), Options::default());
    let mut evidence = Evidence::gather(&tables, &options, WalkSource::Here);
    let Some(Ok(followed)) = &mut evidence.forwarding else {
        panic!("its forwarding was followed");
    };
    followed.errors.push(PlanError::Loop {
        host: "h1".to_owned(),
        switches: vec!["leaf1".to_owned(), "spine1".to_owned()],
    });
    let failure = conclude(evidence).unwrap_err();
    assert_eq!(failure.refuted, ["delivered"]);
    assert_eq!(failure.report.loop_free, Some(false));
}

#[test]
fn packets_that_turn_lossy_under_failures_break_resilience() {
    let mut tables = risen();
    let lossy = |tables: &Tables| broken(tables, &Options::default()).contains(&"resilient");
    assert!(!lossy(&tables));
    for rules in &mut tables.tagging.rules {
        rules.clear();
    }
    assert!(lossy(&tables));
}

#[test]
fn what_rests_on_tables_that_cannot_be_read_is_open() {
    let mut tables = risen();
    tables.tagging.rules[0][0].tag = Tag::new(99);
    let options = Options::default();
    let evidence = Evidence::gather(&tables, &options, WalkSource::Here);
    for (name, finding) in findings(&evidence) {
        match (name, finding) {
            ("well-formed", Finding::Refuted(_)) | ("delivered", Finding::Vacuous) => {}
            (_, Finding::Open) => {}
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn budgets_that_are_left_out_are_vacuous() {
    let mut tables = clos(1);
    tables.budget.buffer = Bytes::new(100_000);
    tables.budget.lossless_priorities = 1;
    let within = Options::default();
    assert_eq!(broken(&tables, &within), ["injective", "within the budget"]);
    let without = Options {
        budgets: false,
        ..Options::default()
    };
    assert_eq!(broken(&tables, &without), Vec::<&str>::new());
}

/// The dependencies of buffers, from the model of a plan alone: every class, tag and port, by
/// [`crate::Tagging::new_tag`].
fn dependencies_of(tables: &Tables) -> BTreeSet<[(SwitchId, PortId, Tag); 2]> {
    let topology = &tables.topology;
    let classes: Vec<ClassId> = (0..tables.tagging.classes.len())
        .map(|class| ClassId::new(u8::try_from(class).unwrap()))
        .collect();
    let mut found = BTreeSet::new();
    let mut known = BTreeSet::new();
    let mut open = Vec::new();
    for switch in topology.switch_ids() {
        for (port, peer) in topology.peers(switch) {
            if matches!(peer.end.node, NodeId::Host(_)) {
                let tags = tables.tagging.priorities.keys();
                let all = tags.flat_map(|tag| classes.iter().map(|class| (*class, *tag)));
                open.extend(all.map(|(class, tag)| (class, switch, port, tag)));
            }
        }
    }
    while let Some(at @ (class, switch, port, tag)) = open.pop() {
        if !known.insert(at) {
            continue;
        }
        for (out, peer) in topology.peers(switch) {
            let NodeId::Switch(next) = peer.end.node else {
                continue;
            };
            if let NewTag::Lossless(new) = tables.tagging.new_tag(switch, class, tag, port, out) {
                let after = (next, peer.end.port, new);
                found.insert([(switch, port, tag), after]);
                open.push((class, next, peer.end.port, new));
            }
        }
    }
    found
}

#[test]
fn a_certificate_orders_all_dependencies_of_the_tables() {
    for classes in [1, 2] {
        let plan = check(clos(classes), &Options::default()).unwrap();
        let certificate = plan.certificate().unwrap();
        assert_eq!(plan.report().graph, Some(certificate.size()));
        let text = certificate.to_json("0");
        let read: serde_json::Value = serde_json::from_str(&text).unwrap();
        let buffers = read["buffers"].as_array().unwrap();
        let topology = plan.topology();
        let number = |value: &serde_json::Value| value.as_u64().unwrap();
        let node = |buffer: &serde_json::Value| {
            (
                topology
                    .switch_named(buffer["switch"].as_str().unwrap())
                    .unwrap(),
                PortId::new(u16::try_from(number(&buffer["port"])).unwrap()),
                Tag::new(u8::try_from(number(&buffer["tag"])).unwrap()),
            )
        };
        let mut edges = BTreeSet::new();
        for (at, buffer) in buffers.iter().enumerate() {
            for later in buffer["waits_for"].as_array().unwrap() {
                let later = usize::try_from(number(later)).unwrap();
                assert!(at < later && later < buffers.len(), "{buffer}");
                edges.insert([node(buffer), node(&buffers[later])]);
            }
        }
        assert_eq!(edges, dependencies_of(plan.tables()));
        let counted = number(&read["graph"]["dependencies"]);
        assert_eq!(counted, edges.len() as u64);
        assert_eq!(number(&read["graph"]["buffers"]), buffers.len() as u64);
    }
}

#[test]
fn a_graph_with_a_cycle_has_no_certificate() {
    let mut tables = clos(1);
    assert!(Certificate::of(&tables).is_some());
    let plain = tables.without_tags().unwrap();
    assert_eq!(Certificate::of(&plain), None);
    let failure = check(plain, &Options::default()).unwrap_err();
    assert!(failure.report.graph.unwrap().dependencies > 0);
    tables.tagging.classes.clear();
    assert!(tables.without_tags().is_none());
}

#[test]
fn promises_are_replayed_in_their_order() {
    let mut tables = clos(1);
    let class = tables.promises[0].class;
    let routes = RoutePolicy::Shortest;
    tables.promises.push(Promise { class, routes });
    for rule in &mut tables.tagging.rules[1] {
        let others = rule.out_ports.iter().filter(|port| port.get() != 2);
        rule.out_ports = others.collect();
    }
    let options = Options::default();
    let evidence = Evidence::gather(&tables, &options, WalkSource::Here);
    assert_eq!(evidence.replays.len(), 2);
    assert!(evidence.replays.iter().all(Result::is_err));
}
