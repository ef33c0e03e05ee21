//! Drills on running switches: a link goes down under a stream of packets, and a plan changes
//! version. Run where network namespaces may be made; BMv2's where it is installed.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

use std::path::Path;
use std::process::Command;

use emulator::drill::{SwitchKind, possible};
use serde_json::Value;
use tempfile::TempDir;

fn run(at: &Path, arguments: &[&str]) -> (i32, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_switchwright"))
        .args(arguments)
        .current_dir(at)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let words = String::from_utf8_lossy(&output.stderr);
    println!("{arguments:?}: {text}{words}");
    (output.status.code().unwrap(), text)
}

/// A triangle with builds `one` (version 1) and `two` (version 2, other routes) by a scheme.
fn triangle(scheme: &[&str]) -> TempDir {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    let done = |arguments: &[&str]| assert_eq!(run(at, arguments).0, 0);
    done(&["topo", "three-node", "-o", "t.json"]);
    for (build, seed, version) in [("one", "1", "1"), ("two", "5", "2")] {
        let plan = format!("{build}.json");
        let mut arguments = vec!["plan", "t.json", "--seed", seed, "-o", &plan];
        arguments.extend(scheme);
        done(&arguments);
        done(&["build", &plan, "--plan-version", version, "-o", build]);
    }
    folder
}

fn drill(at: &Path, kind: SwitchKind, more: &[&str]) -> Value {
    let mut arguments = vec!["drill", "one", "--switches", kind.name(), "--json", "-q"];
    arguments.extend(more);
    let (status, text) = run(at, &arguments);
    assert_eq!(status, 0);
    serde_json::from_str(&text).unwrap()
}

fn here(kind: SwitchKind) -> bool {
    match possible(kind) {
        Ok(()) => true,
        Err(missing) => {
            println!("skipped: {missing}");
            false
        }
    }
}

/// Milliseconds without packets that a test forgives: the machine may be busy, and no figure is
/// judged here.
const FORGIVEN_MS: f64 = 2_000.0;

/// A link fails under a stream of packets and returns.
fn a_moment(scheme: &[&str]) {
    if !here(SwitchKind::Ours) {
        return;
    }
    let folder = triangle(scheme);
    let found = drill(
        folder.path(),
        SwitchKind::Ours,
        &["--rate", "500", "--seconds", "3"],
    );
    assert!(found["sent"].as_u64().unwrap() > 100, "{found}");
    assert!(
        found["longest_gap_ms"].as_f64().unwrap() < FORGIVEN_MS,
        "{found}"
    );
    assert_eq!(found["duplicated"], 0, "{found}");
    assert!(found["control_ms"].is_null(), "{found}");
}

#[test]
fn a_failing_link_costs_our_switches_a_moment() {
    a_moment(&["--scheme", "plinko", "--resilience", "1", "--source-routes"]);
}

#[test]
fn a_failing_link_costs_lossless_packets_a_moment() {
    a_moment(&["--scheme", "df-fi", "--resilience", "1"]);
}

#[test]
fn a_new_version_takes_over_without_a_packet_lost() {
    if !here(SwitchKind::Ours) {
        return;
    }
    let folder = triangle(&["--scheme", "mpls-frr", "--resilience", "1"]);
    let more = ["--update", "two", "--rate", "500", "--seconds", "3"];
    let found = drill(folder.path(), SwitchKind::Ours, &more);
    assert_eq!(found["lost"], 0, "{found}");
    assert_eq!(found["duplicated"], 0, "{found}");
    // The same version cannot stand beside itself.
    let other = [
        "plan",
        "t.json",
        "--scheme",
        "mpls-frr",
        "--resilience",
        "0",
        "-o",
        "o.json",
    ];
    assert_eq!(run(folder.path(), &other).0, 0);
    assert_eq!(run(folder.path(), &["build", "o.json", "-o", "same"]).0, 0);
    let refused = ["drill", "one", "--update", "same", "--seconds", "0.3", "-q"];
    assert_eq!(run(folder.path(), &refused).0, 2);
}

fn the_agent_turns_around(scheme: &[&str]) {
    if !here(SwitchKind::Bmv2) {
        return;
    }
    let folder = triangle(scheme);
    let found = drill(
        folder.path(),
        SwitchKind::Bmv2,
        &["--rate", "200", "--seconds", "6"],
    );
    assert!(found["sent"].as_u64().unwrap() > 100, "{found}");
    assert!(
        found["longest_gap_ms"].as_f64().unwrap() < FORGIVEN_MS,
        "{found}"
    );
    assert!(
        found["received"].as_u64() > found["lost"].as_u64(),
        "{found}"
    );
}

#[test]
fn the_agent_turns_bmv2_around() {
    the_agent_turns_around(&["--scheme", "fcp", "--resilience", "1"]);
}

#[test]
fn the_agent_turns_bmv2_around_with_channels() {
    the_agent_turns_around(&["--scheme", "df-fi", "--resilience", "1"]);
}

#[test]
fn the_agent_turns_bmv2_around_with_rising_tags() {
    the_agent_turns_around(&[
        "--scheme",
        "plinko",
        "--resilience",
        "1",
        "--lossless",
        "rising",
    ]);
}
