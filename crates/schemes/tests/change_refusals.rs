//! Changes that are refused, and plans that the proof of a change must read whatever their numbers
//! are.

use std::collections::BTreeSet;

use plan::check::Options;
use plan::check::change::{Change, ChangeError, Step, check_steps};
use plan::{Carrier, CarrierKind, Tables, TagCode};
use schemes::failover::{FailoverOptions, FailoverScheme, failover};
use schemes::{ClassSpec, LossyChange, Means, TaggerOptions, find_change, tagger, ttl};
use topology::Topology;
use topology::generate::{Cables, Clos, Ring};

fn ring(switches: u32) -> Topology {
    let ring = Ring {
        switches,
        hosts: 1,
        cables: Cables::default(),
    };
    ring.generate().expect("a ring")
}

fn clos() -> Topology {
    let clos = Clos {
        leaves: 3,
        spines: 2,
        hosts: 2,
        parallel: 1,
        cables: Cables::default(),
    };
    clos.generate().expect("a Clos")
}

/// A step after which all switches have the rules of some plans.
fn hold(network: &Topology, plans: &[usize]) -> Step {
    let held: BTreeSet<usize> = plans.iter().copied().collect();
    let switches = network.switches().iter();
    Step {
        rules: switches.map(|s| (s.name.clone(), held.clone())).collect(),
        ..Step::default()
    }
}

fn hosts_and_forwarding(hosts: Option<usize>, forwarding: Option<usize>, drain: bool) -> Step {
    Step {
        hosts,
        forwarding,
        drain,
        ..Step::default()
    }
}

#[test]
fn packets_of_a_failover_plan_find_its_tables_whichever_plan_forwards() {
    let network = ring(5);
    let plan = |scheme| {
        let options = FailoverOptions::new(scheme);
        failover(&network, &options).expect("a plan")
    };
    let plans = vec![plan(FailoverScheme::Plinko), plan(FailoverScheme::Fcp)];
    let found = find_change(
        &plans[0],
        &plans[1],
        &Options::default(),
        LossyChange::Never,
    );
    assert_eq!(found.map(|found| found.means).ok(), Some(Means::OtherCodes));
    // Hosts send packets of the new version before switches have its tables.
    let steps = vec![
        hosts_and_forwarding(Some(1), None, false),
        hold(&network, &[0, 1]),
        hosts_and_forwarding(None, Some(1), true),
        hold(&network, &[1]),
    ];
    let errors = check_steps(&Change { plans, steps }, &Options::default());
    let errors = errors.expect_err("packets find no tables");
    assert!(
        matches!(
            errors[0],
            ChangeError::Missing {
                step: 1,
                plan: 1,
                ..
            }
        ),
        "{errors:?}"
    );
}

#[test]
fn priorities_beyond_those_of_switches_are_read_where_budgets_are_left_out() {
    let network = ring(24);
    let plan = ttl(&network, None, &TaggerOptions::default()).expect("a plan");
    assert!(plan.tagging.priorities.len() > 8);
    let options = Options {
        budgets: false,
        ..Options::default()
    };
    let same = find_change(&plan, &plan, &options, LossyChange::Never).expect("nothing changes");
    assert_eq!(same.means, Means::OneStep);
}

/// Plans of two classes, with and without class bits, whose codes share bits.
fn with_classes(class_bits: bool, codes: &[u16]) -> Tables {
    let class = |name: &str| ClassSpec {
        name: name.to_owned(),
        bounces: None,
    };
    let options = TaggerOptions {
        carrier: CarrierKind::VlanVid,
        classes: vec![class("gold"), class("silver")],
        class_bits,
        ..TaggerOptions::default()
    };
    let mut tables = tagger(&clos(), &options).expect("a plan");
    let tags = tables.carrier.codes.keys().copied();
    let codes = tags.zip(codes.iter().copied().map(TagCode::new)).collect();
    tables.carrier = Carrier::coded(CarrierKind::VlanVid, codes, class_bits);
    tables
}

#[test]
fn a_code_may_have_a_class_that_no_plan_has() {
    // With class bits above two bits of the tag, 2001 is tag 1 of class 500.
    let (one, other) = (
        with_classes(false, &[2001, 9, 10]),
        with_classes(true, &[1, 2, 3]),
    );
    for plans in [[&one, &other], [&other, &one]] {
        let network = &plans[0].topology;
        let change = Change {
            plans: plans.map(Clone::clone).to_vec(),
            steps: vec![Step {
                hosts: Some(1),
                forwarding: Some(1),
                ..hold(network, &[1])
            }],
        };
        // The classes differ, so it is refused; what matters is that it is read.
        assert!(check_steps(&change, &Options::default()).is_err());
    }
}
