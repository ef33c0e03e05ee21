//! The proof against plans that are wrong in one way each.
#![allow(clippy::unwrap_used, clippy::panic)]

mod forwarding;
mod oracle;

use plan::check::*;
use plan::{CarrierKind, ClassId, NewTag, PortSet, Promise, RuleForm, Tables, Tag, TagCode};
use quantities::{Bytes, PortId, Priority};
use schemes::{TaggerOptions, tagger};
use topology::generate::{Cables, Clos};
use topology::routes::RoutePolicy;

/// Two leaves (hosts on ports 1 and 2, spines on 3 and 4), two spines (leaves on 1 and 2), one
/// bounce.
fn small() -> Tables {
    let clos = Clos {
        leaves: 2,
        spines: 2,
        hosts: 2,
        parallel: 1,
        cables: Cables::default(),
    };
    let topology = clos.generate().expect("a valid Clos");
    tagger(&topology, &TaggerOptions::default()).expect("a layered topology")
}

fn errors(tables: Tables) -> Vec<PlanError> {
    match check(tables, &Options::default()) {
        Ok(_) => vec![],
        Err(failure) => failure.errors,
    }
}

/// The only error of a plan, as text, and whose fault it is.
fn only(tables: Tables) -> (Fault, String) {
    let errors = errors(tables);
    assert_eq!(errors.len(), 1, "{errors:?}");
    (errors[0].fault(), errors[0].to_string())
}

#[test]
fn the_sound_plan_is_proven() {
    let plan = check(small(), &Options::default()).expect("a sound plan");
    assert!(plan.report().proven);
}

#[test]
fn a_missing_bounce_rule_closes_a_cycle() {
    let mut tables = small();
    for rules in &mut tables.tagging.rules {
        rules.retain(|rule| rule.precedence == 0);
    }
    let (fault, text) = only(tables);
    assert_eq!(fault, Fault::Proof);
    assert_eq!(
        text,
        "cyclic buffer dependency: leaf1:3 tag 1 prio 3 -> spine1:1 tag 1 prio 3 -> leaf1:3"
    );
}

#[test]
fn unreachable_cycles_do_not_count() {
    let mut tables = small();
    let last = Tag::new(9);
    for rules in &mut tables.tagging.rules {
        let mut loose = rules[0].clone();
        (loose.tag, loose.new_tag) = (last, NewTag::Lossless(last));
        // Only packets from other switches, and hosts' packets never get tag 9 out of a leaf.
        loose.in_ports = loose.in_ports.iter().filter(|p| p.get() > 2).collect();
        rules.push(loose);
    }
    tables.tagging.priorities.insert(last, Priority::new(5));
    tables.carrier.codes.insert(last, TagCode::new(9));
    for rules in &mut tables.tagging.rules[2..] {
        rules.retain(|rule| rule.tag != last);
    }
    assert_eq!(errors(tables.clone()), vec![]);
    // One more rule lets hosts in.
    for rules in &mut tables.tagging.rules {
        let mut open = rules[0].clone();
        (open.tag, open.new_tag) = (last, NewTag::Lossless(last));
        rules.retain(|rule| rule.tag != last);
        rules.push(open);
    }
    let (_, text) = only(tables);
    assert!(text.contains("tag 9 prio 5"), "{text}");
}

#[test]
fn a_falling_tag_is_named() {
    let mut tables = small();
    let rules = &mut tables.tagging.rules[2];
    let rule = rules.iter_mut().find(|rule| rule.tag == Tag::new(2));
    rule.expect("a spine keeps tag 2").new_tag = NewTag::Lossless(Tag::new(1));
    let errors = errors(tables);
    assert!(
        errors
            .iter()
            .any(|e| matches!(e, PlanError::TagFalls { switch, .. } if switch == "spine1")),
        "{errors:?}"
    );
}

#[test]
fn a_tag_may_fall_towards_hosts_for_nothing_depends_on_it() {
    let mut tables = small();
    let mut down = tables.tagging.rules[0]
        .iter()
        .find(|rule| rule.tag == Tag::new(2) && rule.precedence == 0)
        .expect("the rule that keeps tag 2")
        .clone();
    down.precedence = 9;
    down.out_ports = [1, 2].map(PortId::new).into_iter().collect();
    down.new_tag = NewTag::Lossless(Tag::new(1));
    tables.tagging.rules[0].push(down.clone());
    assert_eq!(errors(tables.clone()), vec![]);
    // Towards a spine the same is refused.
    down.out_ports = [3, 4].map(PortId::new).into_iter().collect();
    tables.tagging.rules[0].push(down);
    let found = errors(tables);
    assert!(
        found
            .iter()
            .any(|e| matches!(e, PlanError::TagFalls { .. })),
        "{found:?}"
    );
}

#[test]
fn port_0_of_a_tag_rule_does_not_exist() {
    let mut tables = small();
    tables.tagging.rules[0][0].in_ports = [0, 1].map(PortId::new).into_iter().collect();
    let (fault, text) = only(tables);
    assert_eq!(fault, Fault::Input);
    assert!(text.contains("names port 0"), "{text}");
}

#[test]
fn pairs_that_are_promised_nothing_are_counted_and_named() {
    let whole = check(small(), &Options::default()).expect("a sound plan");
    let found = whole.report().promised.expect("promises");
    assert_eq!(
        (found.pairs, found.with_route, found.without_route),
        (2, 2, 0)
    );
    // A promise of one route from leaf1 to leaf2 says nothing of the way back.
    let mut tables = small();
    let route = "h1 leaf1 spine1 leaf2 h3".to_owned();
    for promise in &mut tables.promises {
        promise.routes = RoutePolicy::Explicit {
            routes: vec![route.clone()],
        };
    }
    let plan = check(tables, &Options::default()).expect("it promises less");
    let found = plan.report().promised.expect("promises");
    assert_eq!(
        (found.pairs, found.with_route, found.without_route),
        (2, 1, 1)
    );
    let pair = &found.first_without[0];
    assert_eq!((pair.from.as_str(), pair.to.as_str()), ("leaf2", "leaf1"));
    assert_eq!(plan.summary(0.0).promised, Some(found));
    // No promise at all.
    let mut tables = small();
    tables.promises.clear();
    let plan = check(tables, &Options::default()).expect("it promises nothing");
    let found = plan.report().promised.expect("promises");
    assert_eq!((found.with_route, found.without_route), (0, 2));
}

#[test]
fn rules_that_disagree_are_named_by_their_key() {
    let mut tables = small();
    let mut other = tables.tagging.rules[1][0].clone();
    other.in_ports = PortSet::single(PortId::new(2));
    other.out_ports = PortSet::single(PortId::new(4));
    tables.tagging.rules[1].push(other.clone());
    assert_eq!(errors(tables.clone()), vec![], "agreeing rules may overlap");
    other.new_tag = NewTag::Lossless(Tag::new(2));
    tables.tagging.rules[1].push(other);
    let (fault, text) = only(tables);
    assert_eq!(fault, Fault::Proof);
    assert!(
        text.starts_with("switch `leaf2`: tag 1 from port 2 to port 4 becomes 1"),
        "{text}"
    );
}

#[test]
fn a_promise_that_is_not_kept_names_the_route() {
    let mut tables = small();
    tables.promises = vec![Promise {
        class: ClassId::new(0),
        routes: RoutePolicy::UpDown { bounces: 2 },
    }];
    // Routes visit no switch twice, so with two leaves there is no route of two bounces at all.
    assert_eq!(errors(tables.clone()), vec![]);
    for rules in &mut tables.tagging.rules {
        for rule in rules.iter_mut() {
            rule.out_ports = rule.out_ports.iter().filter(|p| p.get() != 4).collect();
        }
    }
    let (fault, text) = only(tables);
    assert_eq!(fault, Fault::Proof);
    assert_eq!(
        text,
        "route h1 > leaf1 > spine2 of class `lossless` turns lossy at `leaf1`: no rule keeps tag 1 from port 1 to \
         port 4 (tags on the way: 1)"
    );
}

#[test]
fn every_policy_finds_the_same_gap() {
    for policy in [
        RoutePolicy::UpDown { bounces: 0 },
        RoutePolicy::Shortest,
        RoutePolicy::AllSimple { max_switches: 3 },
    ] {
        let mut tables = small();
        tables.promises[0].routes = policy;
        assert_eq!(errors(tables.clone()), vec![]);
        for rule in &mut tables.tagging.rules[1] {
            rule.out_ports = rule.out_ports.iter().filter(|p| p.get() != 2).collect();
        }
        let text = only(tables).1;
        assert!(text.contains("turns lossy at `leaf2`"), "{text}");
        assert!(text.contains("to port 2"), "{text}");
    }
}

#[test]
fn priorities_are_distinct_lossless_and_enough() {
    let mut tables = small();
    tables
        .tagging
        .priorities
        .insert(Tag::new(2), Priority::new(3));
    assert!(only(tables).1.contains("tags 1 and 2 share priority 3"));
    let mut tables = small();
    tables
        .tagging
        .priorities
        .insert(Tag::new(2), Priority::new(0));
    assert!(only(tables).1.contains("priority 0"));
    let mut tables = small();
    tables.budget.lossless_priorities = 1;
    let (fault, text) = only(tables);
    assert_eq!(fault, Fault::Target);
    assert!(text.contains("needs 2 lossless priorities, but the switches have 1"));
}

#[test]
fn budgets_are_kept() {
    let mut tables = small();
    tables.budget.tcam_bits = Some(40);
    assert!(matches!(errors(tables)[0], PlanError::TcamFull { .. }));
    let mut tables = small();
    tables.budget.buffer = Bytes::new(100_000);
    assert!(matches!(errors(tables)[0], PlanError::BufferFull { .. }));
    let mut tables = small();
    tables.budget.ports = 3;
    assert!(matches!(
        errors(tables.clone())[0],
        PlanError::TooManyPorts { .. }
    ));
    assert!(
        check(
            tables,
            &Options {
                budgets: false,
                ..Options::default()
            }
        )
        .is_ok()
    );
}

/// More tags than the proof can tell apart count as a matter of budgets; where those are left out,
/// such a plan is still not proven, for nothing of it can be looked at.
#[test]
fn too_many_tags_to_read_are_refused_without_budgets_too() {
    let mut tables = small();
    for tag in 3..100 {
        let priorities = &mut tables.tagging.priorities;
        priorities.insert(Tag::new(tag), Priority::new(1 + tag % 7));
        let codes = &mut tables.carrier.codes;
        codes.insert(Tag::new(tag), TagCode::new(u16::from(tag)));
    }
    let options = Options {
        budgets: false,
        ..Options::default()
    };
    let failure = check(tables, &options).expect_err("nothing was looked at");
    assert_eq!(failure.fault(), Fault::Target);
    assert!(failure.to_string().contains("needs 99 lossless priorities"));
    assert_eq!(failure.report.cbd_free, None);
}

#[test]
fn malformed_plans_are_the_inputs_fault() {
    type Spoil = fn(&mut Tables);
    let spoil: [(&str, Spoil); 9] = [
        ("one list per switch", |t| {
            t.tagging.rules.pop();
        }),
        ("names port 77", |t| {
            t.tagging.rules[0][0].in_ports = PortSet::single(PortId::new(77));
        }),
        ("empty set of ports", |t| {
            t.tagging.rules[0][0].in_ports = PortSet::empty()
        }),
        ("uses tag 7, which has no priority", |t| {
            t.tagging.rules[0][0].tag = Tag::new(7)
        }),
        ("carry no class bits", |t| {
            t.tagging.rules[0][0].class = Some(ClassId::new(0))
        }),
        ("its rules are exact", |t| t.tagging.form = RuleForm::Exact),
        ("no lossless class", |t| {
            t.tagging.classes.clear();
            t.promises.clear();
        }),
        ("names class 3", |t| t.promises[0].class = ClassId::new(3)),
        ("no code in the carrier", |t| {
            t.carrier.codes.remove(&Tag::new(2));
        }),
    ];
    for (expected, spoil) in spoil {
        let mut tables = small();
        spoil(&mut tables);
        let failure = check(tables, &Options::default()).expect_err(expected);
        assert_eq!(failure.fault(), Fault::Input, "{failure}");
        assert!(failure.to_string().contains(expected), "{failure}");
    }
}

#[test]
fn codes_fit_and_differ() {
    let mut tables = small();
    tables.carrier.codes.insert(Tag::new(2), TagCode::new(26));
    assert!(only(tables).1.contains("tag 1 and tag 2 share code 26"));
    let mut tables = small();
    tables.carrier.kind = CarrierKind::VlanPcp;
    tables.carrier.codes.insert(Tag::new(1), TagCode::new(3));
    tables.carrier.codes.insert(Tag::new(2), TagCode::new(8));
    assert!(only(tables).1.contains("vlan-pcp carries at most 7"));
}

#[test]
fn limits_of_classes_hold() {
    let clos = Clos {
        leaves: 2,
        spines: 2,
        hosts: 2,
        parallel: 1,
        cables: Cables::default(),
    };
    let topology = clos.generate().expect("a valid Clos");
    let mut options = TaggerOptions {
        class_bits: true,
        ..TaggerOptions::default()
    };
    options = options.with_classes(2);
    let mut tables = tagger(&topology, &options).expect("a layered topology");
    assert_eq!(errors(tables.clone()), vec![]);
    for rules in &mut tables.tagging.rules {
        rules.retain(|rule| rule.class.is_none());
    }
    let (fault, text) = only(tables);
    assert_eq!(fault, Fault::Proof);
    assert!(
        text.starts_with("class `class0` is limited to tag 2, but `leaf"),
        "{text}"
    );
}
