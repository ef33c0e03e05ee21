//! A push that keeps no session from asking to writing, as one to very many switches does for most
//! of them.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use controlplane::push::{Step, StepObserver, push};
use controlplane::report::Outcome;
use controlplane::{Desired, Devices, PushOptions, PushReport, Stop};

use super::fabric::{Fabric, Kind};

/// Pushes a build without keeping a session; `between` is done when every switch has been asked and
/// none written to.
fn pushed(fabric: &Fabric, build: &str, between: impl Fn() + Send + Sync + 'static) -> PushReport {
    let desired = Desired::open(&fabric.path().join(build)).unwrap();
    let text = std::fs::read_to_string(fabric.path().join("devices.yaml")).unwrap();
    let devices = Devices::parse(&text, fabric.path(), &desired.wanted()).unwrap();
    let options = PushOptions {
        jobs: 2,
        sessions: 0,
        continue_on_unreachable: false,
        take_over: false,
        replace_program: false,
        journal: fabric.path().join("journal"),
        stop: Stop::default(),
    };
    let (asked, switches) = (AtomicUsize::new(0), devices.all().len());
    let told: StepObserver = Arc::new(move |step, _| {
        if step == Step::Surveyed && asked.fetch_add(1, Ordering::SeqCst) + 1 == switches {
            between();
        }
    });
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let done = push(&desired, &devices, &options, &told);
    runtime.block_on(done).unwrap()
}

/// Pushes from another process, as soon as switches take it for their primary.
fn push_by_another(folder: &Path) {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let mut other = Command::new(env!("CARGO_BIN_EXE_switchwright"));
        other.args(["push", "two", "--devices", "devices.yaml"]);
        other.args(["--state", "others-journal"]);
        let output = other.current_dir(folder).output().unwrap();
        if output.status.success() {
            return;
        }
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(Instant::now() < deadline, "{words}");
        println!("{words}");
    }
}

#[test]
fn switches_are_asked_again_before_they_are_written_to() {
    let fabric = Fabric::start(Kind::Ours);
    let first = pushed(&fabric, "one", || ());
    assert_eq!(first.outcome, Outcome::Pushed, "{first:?}");
    fabric.text(0, &["push", "one", "--diff"]);
    assert_eq!(pushed(&fabric, "one", || ()).outcome, Outcome::Unchanged);
    // One refuses: all are brought back, from what the journal has.
    fabric.spoil("two", "leaf2");
    let refused = pushed(&fabric, "two", || ());
    assert_eq!(refused.outcome, Outcome::RolledBack, "{refused:?}");
    fabric.text(0, &["push", "one", "--diff"]);
}

#[test]
fn a_switch_that_somebody_else_changed_meanwhile_ends_the_push() {
    let fabric = Fabric::start(Kind::Ours);
    fabric.json(0, &["push", "one"]);
    let folder = fabric.path().to_owned();
    let report = pushed(&fabric, "two", move || {
        // The connection of the switch that was asked last is closed by another thread.
        tokio::task::block_in_place(|| push_by_another(&folder));
    });
    assert_eq!(report.outcome, Outcome::RolledBack, "{report:?}");
    let errors = report.switches.iter().filter_map(|s| s.error.as_deref());
    let told = errors.filter(|error| error.contains("somebody else changed it"));
    assert!(told.count() > 0, "{report:?}");
    fabric.text(0, &["push", "one", "--diff"]);
}
