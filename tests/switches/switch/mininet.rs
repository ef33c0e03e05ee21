//! Mininet with our switch as its switch class, and the exercises of p4lang/tutorials with our
//! switch in the place of simple_switch_grpc. Everything happens inside a namespace of the test:
//! nothing is left, whatever ends it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use linuxnet::Namespace;

use super::support::{COMMAND, may};
use crate::bounded;

/// Debian's Mininet belongs to Debian's Python.
const PYTHON: &str = "/usr/bin/python3";
const SCRIPT: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/examples/mininet/switchwright.py"
);
/// The longest that a network may take.
const TIMEOUT: Duration = Duration::from_secs(240);

fn imports(python: &str, modules: &str) -> bool {
    let import = format!("import {modules}");
    let status = Command::new(python)
        .args(["-c", &import])
        .stderr(Stdio::null())
        .status();
    status.is_ok_and(|status| status.success())
}

fn has_mininet() -> bool {
    let has = may() && imports(PYTHON, "mininet");
    if !has {
        println!("skipped: Mininet is not installed (Debian: apt-get install mininet)");
    }
    has
}

/// Runs a command in a namespace of its own, in bounded time.
fn in_a_namespace(command: &mut Command, input: &str) -> Output {
    let lab = Namespace::new().unwrap();
    bounded::output(command, input, TIMEOUT, |command| {
        lab.run(|| command.spawn()).unwrap()
    })
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn a_python_without_mininet_is_told_which_has_it() {
    // Without `site` Python knows no packages but its own.
    let output = Command::new(PYTHON)
        .args(["-S", SCRIPT, "--build", "."])
        .output();
    let Ok(output) = output else {
        return println!("skipped: {PYTHON} is not there");
    };
    let text = said(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(!text.contains("Traceback"), "{text}");
    for word in ["no module `mininet`", "sudo /usr/bin/python3", "--build ."] {
        assert!(text.contains(word), "{word}: {text}");
    }
}

#[test]
fn mininet_pings_through_our_switch_class() {
    if !has_mininet() {
        return;
    }
    let mut command = Command::new(PYTHON);
    let output = in_a_namespace(command.arg(SCRIPT).env("SWITCHWRIGHT", COMMAND), "");
    assert!(output.status.success(), "{}", said(&output));
}

/// A build `out` in a folder: four switches.
fn build(folder: &Path) {
    for line in [
        "topo clos --leaves 2 --spines 2 --hosts 1 -o clos.json",
        "plan clos.json --scheme tagger --bounces 1 -o plan.json",
        "build plan.json --target v1model --formats tutorials,p4-utils -o out",
    ] {
        let mut command = Command::new(COMMAND);
        let done = command
            .args(line.split(' '))
            .current_dir(folder)
            .output()
            .unwrap();
        assert!(done.status.success(), "{line}: {}", said(&done));
    }
}

/// Four switches, the generated program, generated entries by `switchwright cli`.
#[test]
fn mininet_runs_a_built_network() {
    if !has_mininet() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    build(folder.path());
    let mut command = Command::new(PYTHON);
    command
        .arg(SCRIPT)
        .arg("--build")
        .arg(folder.path().join("out"));
    let output = in_a_namespace(command.env("SWITCHWRIGHT", COMMAND), "");
    assert!(output.status.success(), "{}", said(&output));
}

/// A checkout of p4lang/tutorials, and a Python that its runner works with.
fn tutorials() -> Option<(PathBuf, String)> {
    let Some(tutorials) = std::env::var_os("TUTORIALS").map(PathBuf::from) else {
        println!("skipped: TUTORIALS does not name a checkout of p4lang/tutorials");
        return None;
    };
    let python = std::env::var("TUTORIALS_PYTHON").unwrap_or_else(|_| PYTHON.to_owned());
    if !may() || !imports(&python, "mininet, p4.tmp.p4config_pb2, grpc, psutil") {
        println!("skipped: {python} lacks Mininet, PI's p4, grpcio or psutil");
        return None;
    }
    Some((tutorials, python))
}

/// Whether BMv2 is here with what it is started with.
fn has_bmv2() -> bool {
    let starts = |tool| Command::new(tool).arg("--version").output().is_ok();
    let has = starts("simple_switch_grpc");
    if !has {
        println!("skipped: simple_switch_grpc is not installed");
    }
    has
}

/// PATH with a folder before it in which our command has other names.
fn called(folder: &Path, names: &[&str]) -> String {
    for name in names {
        std::os::unix::fs::symlink(COMMAND, folder.join(name)).unwrap();
    }
    let search = std::env::var("PATH").unwrap_or_default();
    format!("{}:{search}", folder.display())
}

/// The `basic` exercise by the exercises' own runner and controller; our command has these names.
fn basic_exercise(names: &[&str]) {
    let Some((tutorials, python)) = tutorials() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let exercise = tutorials.join("exercises/basic");
    let path = |name: &str| folder.path().join(name);
    copy(&exercise.join("pod-topo"), &path("pod-topo"));
    std::fs::create_dir(path("build")).unwrap();
    std::fs::create_dir(path("bin")).unwrap();
    let search = called(&path("bin"), names);
    let compiled = Command::new(path("bin/p4c-bm2-ss"))
        .args([
            "--p4v",
            "16",
            "--p4runtime-files",
            "build/basic.p4.p4info.txtpb",
            "-o",
            "build/basic.json",
        ])
        .arg(exercise.join("solution/basic.p4"))
        .current_dir(&folder)
        .output()
        .unwrap();
    assert!(compiled.status.success(), "{}", said(&compiled));
    let mut command = Command::new(&python);
    command
        .arg(tutorials.join("utils/run_exercise.py"))
        .args([
            "-t",
            "pod-topo/topology.json",
            "-j",
            "build/basic.json",
            "-b",
            "simple_switch_grpc",
        ])
        .current_dir(&folder)
        .env("PATH", search);
    pings_through(&mut command);
}

/// Every host reaches every other one.
fn pings_through(command: &mut Command) {
    let output = in_a_namespace(command, "pingall\nexit\n");
    let text = said(&output);
    assert!(
        output.status.success() && text.contains("Results: 0% dropped"),
        "{text}"
    );
}

#[test]
fn the_tutorials_basic_exercise_runs_on_our_switch() {
    basic_exercise(&["p4c-bm2-ss", "simple_switch_grpc"]);
}

#[test]
fn the_tutorials_basic_exercise_runs_on_bmv2_as_we_compile_it() {
    if has_bmv2() {
        basic_exercise(&["p4c-bm2-ss"]);
    }
}

/// `make run` of a build, as docs/on-bmv2.md has it, on BMv2 and without p4c.
#[test]
fn make_run_needs_no_p4c() {
    let Some((tutorials, python)) = tutorials() else {
        return;
    };
    if !has_bmv2() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    build(folder.path());
    let bin = folder.path().join("bin");
    std::fs::create_dir(&bin).unwrap();
    let search = called(&bin, &["p4c-bm2-ss"]);
    // The Makefile asks for rights that we have, and for `python3`.
    for (name, line) in [
        ("sudo", "exec env \"$@\"".to_owned()),
        ("python3", format!("exec {python} \"$@\"")),
    ] {
        let script = bin.join(name);
        std::fs::write(&script, format!("#!/bin/sh\n{line}\n")).unwrap();
        let rights = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&script, rights).unwrap();
    }
    let mut command = Command::new("make");
    command
        .arg("run")
        .arg(format!("TUTORIALS={}", tutorials.display()))
        .current_dir(folder.path().join("out"))
        .env("PATH", search);
    pings_through(&mut command);
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for file in std::fs::read_dir(from).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), to.join(file.file_name())).unwrap();
    }
}
