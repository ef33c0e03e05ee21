//! One version of a failover plan in place of another, on running switches.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use controlplane::push::{Step, StepObserver};
use controlplane::report::Outcome;
use controlplane::{Desired, Devices, PushOptions, Stop, versioned};

use super::fabric::{Fabric, Kind};

/// Switches that hold version 1 (`old`) of a plan; `new` is version 2 of another.
fn fabric(scheme: &[&str]) -> Fabric {
    let fabric = Fabric::start(Kind::Ours);
    for (build, seed, version) in [("old", "1", "1"), ("new", "5", "2")] {
        let plan = format!("{build}.plan.json");
        let files = ["plan", "clos.json", "--seed", seed, "-o", &plan];
        fabric.make(&[&files, scheme].concat());
        fabric.make(&["build", &plan, "--plan-version", version, "-o", build]);
    }
    fabric.json(0, &["push", "old"]);
    fabric
}

fn takes_the_place_and_goes_again(scheme: &[&str]) {
    let fabric = fabric(scheme);
    assert_eq!(
        fabric.json(0, &["push", "new", "--versioned"])["outcome"],
        "pushed"
    );
    fabric.text(0, &["push", "new", "--diff"]);
    fabric.json(0, &["push", "new", "--rollback"]);
    fabric.text(0, &["push", "old", "--diff"]);
    assert_eq!(fabric.json(0, &["drift", "old"])["drifted"], false);
    assert_eq!(fabric.json(1, &["drift", "new"])["drifted"], true);
}

#[test]
fn a_new_version_takes_the_place_of_the_old_and_goes_again() {
    takes_the_place_and_goes_again(&["--scheme", "plinko"]);
}

#[test]
fn so_does_a_version_with_lossless_tags() {
    takes_the_place_and_goes_again(&["--scheme", "plinko", "--lossless", "rising"]);
}

#[test]
fn so_does_a_version_with_channels() {
    takes_the_place_and_goes_again(&["--scheme", "df-fi"]);
}

#[test]
fn so_does_a_version_with_trees_after_shortest_ways() {
    let none = ["--resilience", "0", "--default-tree"];
    takes_the_place_and_goes_again(&[&["--scheme", "df-edst"][..], &none].concat());
}

/// Asked to end when the new version stands beside the old one and packets are stamped anew.
#[test]
fn a_versioned_push_that_is_stopped_between_its_steps_leaves_nothing() {
    let fabric = fabric(&["--scheme", "plinko"]);
    let desired = Desired::open(&fabric.path().join("new")).unwrap();
    let text = std::fs::read_to_string(fabric.path().join("devices.yaml")).unwrap();
    let devices = Devices::parse(&text, fabric.path(), &desired.wanted()).unwrap();
    let options = PushOptions {
        jobs: 4,
        sessions: PushOptions::SESSIONS,
        continue_on_unreachable: false,
        take_over: false,
        journal: fabric.path().join("journal"),
        replace_program: false,
        stop: Stop::default(),
    };
    // Every switch is asked before the first step; what is asked later belongs to the last one.
    let (stop, asked) = (options.stop.clone(), AtomicUsize::new(0));
    let switches = devices.all().len();
    let told: StepObserver = Arc::new(move |step, _| {
        if step == Step::Surveyed && asked.fetch_add(1, Ordering::SeqCst) >= switches {
            stop.ask();
        }
    });
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let report = runtime
        .block_on(versioned::push(&desired, &devices, &options, &told))
        .unwrap();
    assert!(options.stop.asked());
    assert_eq!(report.outcome, Outcome::RolledBack, "{report:?}");
    fabric.text(0, &["push", "old", "--diff"]);
    let back = ["push", "new", "--rollback", "--state", "journal"];
    assert_eq!(fabric.json(0, &back)["outcome"], "unchanged");
}
