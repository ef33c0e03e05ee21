//! What commands write, and where: standard output, files, links, devices, folders.

use std::fs;
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, symlink};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

fn switchwright(at: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_switchwright"));
    command.args(arguments).current_dir(at);
    command
}

fn run(at: &Path, arguments: &[&str]) -> Output {
    switchwright(at, arguments).output().unwrap()
}

fn done(at: &Path, arguments: &[&str]) {
    let output = run(at, arguments);
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{arguments:?}: {words}");
}

/// A folder with a ring, its plan and its build.
fn ring() -> TempDir {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    done(at, &["topo", "ring", "4", "-o", "r.json"]);
    done(at, &["plan", "r.json", "-o", "p.json"]);
    done(at, &["build", "p.json", "-o", "b"]);
    fs::write(at.join("x.p4"), "#include <core.p4>\nconst bit<8> x = 1;\n").unwrap();
    folder
}

/// Commands that print on standard output.
const PRINTING: &[&[&str]] = &[
    &["topo", "ring", "4"],
    &["topo", "show", "r.json"],
    &["plan", "r.json"],
    &["plan", "r.json", "-o", "-"],
    &["check", "p.json"],
    &["check", "p.json", "--json"],
    &["build", "p.json", "-o", "again"],
    &["trace", "b", "--from", "h1", "--to", "h2"],
    &["entries", "b"],
    &["entries", "b", "--format", "csv"],
    &["buffers", "b"],
    &["targets"],
    &["simulate", "--list"],
    &["p4", "check", "b/p4/tagger.p4"],
    &["p4", "info", "b/p4/tagger.p4"],
    &["p4", "ir", "b/p4/tagger.p4"],
    &["p4", "explain", "--list", "b/p4/tagger.p4"],
    &["completions", "bash"],
    &["--help"],
    &["--version"],
];

#[test]
fn output_that_is_lost_is_an_error() {
    let folder = ring();
    for arguments in PRINTING {
        let full = fs::OpenOptions::new()
            .write(true)
            .open("/dev/full")
            .unwrap();
        let output = switchwright(folder.path(), arguments)
            .stdout(full)
            .output()
            .unwrap();
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(3), "{arguments:?}: {words}");
        assert!(words.contains("standard output"), "{arguments:?}: {words}");
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let folder = ring();
    for arguments in PRINTING {
        let mut child = switchwright(folder.path(), arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let mut words = String::new();
        let mut errors = child.stderr.take().unwrap();
        errors.read_to_string(&mut words).unwrap();
        assert_eq!(
            child.wait().unwrap().code(),
            Some(0),
            "{arguments:?}: {words}"
        );
        assert!(!words.contains("panicked"), "{arguments:?}: {words}");
    }
}

#[test]
fn standard_error_that_is_full_changes_no_status() {
    let folder = ring();
    let status = |arguments: &[&str]| {
        let full = fs::OpenOptions::new()
            .write(true)
            .open("/dev/full")
            .unwrap();
        let mut command = switchwright(folder.path(), arguments);
        command.stderr(full).status().unwrap().code()
    };
    assert_eq!(status(&["plan", "r.json"]), Some(0));
    assert_eq!(status(&["plan", "nowhere.json"]), Some(2));
}

#[test]
fn devices_and_links_stay_what_they_are() {
    let folder = ring();
    let at = folder.path();
    for (device, status) in [("/dev/full", 3), ("/dev/null", 0), ("/dev/stdout", 0)] {
        let output = run(at, &["topo", "ring", "4", "-o", device]);
        assert_eq!(output.status.code(), Some(status), "{device}");
        if device == "/dev/stdout" {
            assert!(output.stdout.starts_with(b"{"), "{device}");
        } else {
            let kind = fs::metadata(device).unwrap().file_type();
            assert!(kind.is_char_device(), "{device}");
        }
    }
    symlink("p.json", at.join("link.json")).unwrap();
    done(at, &["plan", "r.json", "--seed", "7", "-o", "link.json"]);
    let link = fs::symlink_metadata(at.join("link.json")).unwrap();
    assert!(link.is_symlink());
    assert!(fs::read_to_string(at.join("p.json")).unwrap().contains("7"));

    symlink("b", at.join("current")).unwrap();
    done(at, &["build", "p.json", "-o", "current"]);
    let link = fs::symlink_metadata(at.join("current")).unwrap();
    assert!(link.is_symlink(), "the link to a build stays");
    assert!(at.join("b/manifest.json").exists());
}

#[test]
fn a_folder_of_something_else_is_not_written_to() {
    let folder = ring();
    let at = folder.path();
    let proof = fs::read(at.join("b/report.html")).unwrap();
    let play = ["simulate", "--scenario", "bounce", "-o"];
    let simulate = |place: &str| run(at, &[&play[..], &[place]].concat());
    let output = simulate("b");
    assert_eq!(output.status.code(), Some(2));
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(words.contains("holds a build"), "{words}");
    assert_eq!(fs::read(at.join("b/report.html")).unwrap(), proof);
    assert_eq!(run(at, &["demo", "-o", "b"]).status.code(), Some(2));
    let measured = run(at, &["measure", "p.json", "--out", "b"]);
    assert_eq!(measured.status.code(), Some(2));

    for _ in 0..2 {
        assert!(simulate("deep/report").status.success());
    }
    assert!(at.join("deep/report/report.html").exists());
    let build = run(at, &["build", "p.json", "-o", "deep/report"]);
    assert_eq!(build.status.code(), Some(2), "a report is no build");
}

#[test]
fn parents_are_made_and_errors_name_the_users_path() {
    let folder = ring();
    let at = folder.path();
    done(at, &["topo", "ring", "4", "-o", "new/deep/t.json"]);
    done(at, &["topo", "show", "r.json", "--svg", "drawn/deep/t.svg"]);
    done(at, &["plan", "r.json", "-o", "planned/deep/p.json"]);
    done(at, &["build", "p.json", "-o", "built/deep/b"]);
    let output = run(at, &["topo", "ring", "4", "-o", "r.json/x.json"]);
    assert_eq!(output.status.code(), Some(2));
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(words.contains("r.json"), "{words}");
    assert!(!words.contains(".tmp"), "{words}");
}

#[test]
fn what_a_push_would_write_to_switches_that_nobody_reaches_is_unknown() {
    let folder = ring();
    let at = folder.path();
    let switches = (1..5).map(|n| format!("  s{n}: {{address: \"127.0.0.1:{n}\"}}\n"));
    let head = "format: switchwright-devices\nversion: 1\nswitches:\n".to_owned();
    let devices = switches.fold(head, |text, line| text + &line);
    fs::write(at.join("d.yaml"), devices).unwrap();
    let push = ["push", "b", "--devices", "d.yaml", "--dry-run"];
    let output = run(at, &push);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(3));
    assert!(
        text.contains("unknown") && !text.contains("0 updates"),
        "{text}"
    );
    let output = run(at, &[&push[..], &["--json"]].concat());
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let unknown = serde_json::Value::Null;
    assert_eq!(report["would_write"], unknown);
    assert_eq!(report["programs"], unknown);
    for switch in report["switches"].as_array().unwrap() {
        assert_eq!(
            (&switch["outcome"], &switch["pipeline"]),
            (&"unreachable".into(), &unknown)
        );
    }
}

#[test]
fn one_of_a_thing_is_told_in_the_singular() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    for (line, words) in [
        ("topo line 1 -o l.json", &[][..]),
        ("plan l.json -o l-plan.json", &["1 switch, 1 host"]),
        ("build l-plan.json -o l-build", &["on 1 switch,"]),
        ("trace l-build --from h1 --to h1", &["after 1 switch"]),
        ("topo ring 4 -o r.json", &[]),
        (
            "plan r.json --scheme plinko -o f.json",
            &["at most 1 failure,"],
        ),
        ("check f.json --failures 0", &["the one set of no failures"]),
    ] {
        let output = run(at, &line.split(' ').collect::<Vec<_>>());
        assert!(output.status.success(), "{line}");
        let text = String::from_utf8(output.stdout).unwrap();
        for word in words {
            assert!(text.contains(word), "{line}: {word}: {text}");
        }
    }
}

#[test]
fn a_refused_plan_is_written_if_that_is_asked_for_and_refused_again() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    let size = ["--switches", "20", "--ports", "6", "--fabric-ports", "5"];
    let topo = ["topo", "jellyfish"];
    done(at, &[&topo[..], &size, &["-o", "j.json"]].concat());
    let plan = ["plan", "j.json", "--scheme", "ecmp", "-o", "p.json"];
    let refused = |arguments: &[&str]| {
        let output = run(at, arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        let words = String::from_utf8(output.stderr).unwrap();
        assert!(words.contains("cyclic buffer dependency"), "{words}");
    };
    refused(&plan);
    assert!(!at.join("p.json").exists());
    refused(&[&plan[..], &["--unproven"]].concat());
    refused(&["check", "p.json"]);
    refused(&["build", "p.json", "-o", "b"]);
}
