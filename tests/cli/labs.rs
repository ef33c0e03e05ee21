//! The course: skeletons fail, solutions pass, and what goes wrong is told packet by packet.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

fn labs() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("labs");
    let entries = std::fs::read_dir(folder).unwrap();
    let mut labs: Vec<PathBuf> = entries.map(|e| e.unwrap().path()).collect();
    labs.retain(|path| path.join("lab.yaml").exists());
    labs.sort();
    labs
}

fn grade(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_switchwright"));
    command.arg("grade").args(arguments).stdin(Stdio::null());
    command.output().unwrap()
}

/// The report of a run, and its exit status.
fn report(arguments: &[&str]) -> (Value, Option<i32>) {
    let output = grade(&[arguments, &["--json"]].concat());
    let report = serde_json::from_slice(&output.stdout);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (report.unwrap_or(Value::String(said)), output.status.code())
}

#[test]
fn skeletons_fail_and_solutions_pass() {
    let labs = labs();
    assert_eq!(labs.len(), 14);
    for lab in labs {
        let name = lab.to_str().unwrap();
        for part in ["README.md", "hints.md"] {
            assert!(lab.join(part).is_file(), "{name}: {part}");
        }
        let (found, status) = report(&[name, "--solutions"]);
        if status == Some(3) {
            println!("skipped: {name}: {found}");
            continue;
        }
        assert_eq!(status, Some(0), "{found:#}");
        assert!(
            found["passed"].as_u64() >= Some(2) && found["failed"] == 0,
            "{found:#}"
        );
        assert_eq!(found["points"], found["of"]);
        let (found, status) = report(&[name]);
        assert_eq!(status, Some(1), "{found:#}");
        assert!(found["failed"].as_u64() > Some(0), "{found:#}");
        assert!(found["points"].as_u64() < found["of"].as_u64());
        // What is handed out is worth nothing.
        assert_eq!(found["points"], 0, "{found:#}");
        // Skeletons compile: what fails are the cases.
        assert!(!found.to_string().contains("does not compile"), "{found:#}");
    }
}

/// Copies a folder with all below it.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        match path.is_dir() {
            true => copy(&path, &target),
            false => drop(std::fs::copy(&path, target).unwrap()),
        }
    }
}

#[test]
fn cases_come_from_the_program_and_not_from_the_students_copy() {
    let labs = Path::new(env!("CARGO_MANIFEST_DIR")).join("labs");
    let folder = tempfile::tempdir().unwrap();
    let whole = report(&[labs.join("01-first-parser").to_str().unwrap()]).0;
    assert_eq!(
        (&whole["of"], &whole["cases_from"]),
        (&2.into(), &"program".into())
    );
    assert_eq!(
        whole["differences"].as_array().map(Vec::len),
        Some(0),
        "{whole:#}"
    );
    assert_eq!(
        whole["lab_sha256"].as_str().map(str::len),
        Some(64),
        "{whole:#}"
    );
    // Cases that fail are deleted, made easy, added; the lab's file says others; the folder is
    // called otherwise.
    copy(&labs.join("common"), &folder.path().join("common"));
    for name in ["01-first-parser", "mine"] {
        let copied = folder.path().join(name);
        copy(&labs.join("01-first-parser"), &copied);
        std::fs::remove_file(copied.join("cases/1-answer.stf")).unwrap();
        std::fs::write(copied.join("cases/2-dropped.stf"), "# Easy.\nno_packet\n").unwrap();
        std::fs::write(copied.join("cases/4-easy.stf"), "# Easy.\nno_packet\n").unwrap();
        let (found, status) = report(&[copied.to_str().unwrap()]);
        assert_eq!(status, Some(1), "{found:#}");
        for same in ["points", "of", "cases", "lab_sha256", "file_sha256"] {
            assert_eq!(found[same], whole[same], "{name}: {same}");
        }
        let told = &found["differences"];
        for (number, file, how) in [
            (0, "cases/1-answer.stf", "missing"),
            (1, "cases/2-dropped.stf", "changed"),
            (2, "cases/4-easy.stf", "added"),
        ] {
            assert_eq!(
                (&told[number]["file"], &told[number]["how"]),
                (&file.into(), &how.into())
            );
        }
        let output = grade(&[copied.to_str().unwrap()]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            said.contains("cases/1-answer.stf is missing in this copy"),
            "{said}"
        );
        // For whoever writes cases.
        let (found, status) = report(&[copied.to_str().unwrap(), "--own-cases"]);
        assert_eq!(
            (status, &found["cases_from"]),
            (Some(0), &"folder".into()),
            "{found:#}"
        );
        assert_ne!(found["lab_sha256"], whole["lab_sha256"]);
    }
    // The name of a lab and the work are enough.
    let work = folder.path().join("work.p4");
    std::fs::copy(labs.join("01-first-parser/solution/parser.p4"), &work).unwrap();
    let (found, status) = report(&["01-first-parser", work.to_str().unwrap()]);
    assert_eq!(
        (status, &found["points"]),
        (Some(0), &2.into()),
        "{found:#}"
    );
    assert_eq!(found["lab_sha256"], whole["lab_sha256"]);
    assert_ne!(found["file_sha256"], whole["file_sha256"]);
}

#[test]
fn a_wrong_solution_names_the_packet_and_shows_where_it_went() {
    let labs = Path::new(env!("CARGO_MANIFEST_DIR")).join("labs");
    let lab = labs.join("02-longest-prefix");
    let wrong = labs.join("14-find-the-bug/programs/wrong-1.p4");
    let output = grade(&[lab.to_str().unwrap(), wrong.to_str().unwrap()]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}");
    for words in [
        "FAILED  1-longest: The longest prefix wins",
        "expected 0200000000080200000000AA0800",
        "got      0200000000080200000000AA0800",
        "packet 1: in at port 0: 0200000000AA0200000000BB0800",
        "TheIngress.routes [hdr.ipv4.dst=",
        "-> TheIngress.forward(",
        "out      port 1:",
    ] {
        assert!(said.contains(words), "`{words}` is not in {said}");
    }
    let folder = tempfile::tempdir().unwrap();
    let broken = folder.path().join("broken.p4");
    std::fs::write(&broken, "parser {").unwrap();
    let (found, status) = report(&[lab.to_str().unwrap(), broken.to_str().unwrap()]);
    assert_eq!(status, Some(1), "{found}");
    assert_eq!(found["points"], 0);
    assert!(
        found["cases"][0]["why"][0]
            .as_str()
            .unwrap()
            .contains("does not compile")
    );
}

/// The report on the exercises of a checkout, and the exit status, with another Python if one is
/// named.
fn tutorials(checkout: &str, more: &[&str], python: Option<&str>) -> (Value, Option<i32>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_switchwright"));
    command.args(["grade", "--suite", "tutorials", checkout, "--json"]);
    command.args(more).stdin(Stdio::null());
    if let Some(python) = python {
        command.env("P4RUNTIME_CLIENTS", python);
    }
    let output = command.output().unwrap();
    let found = serde_json::from_slice(&output.stdout);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (found.unwrap_or(Value::String(said)), output.status.code())
}

#[test]
fn the_exercises_of_tutorials_are_judged() {
    let Some(checkout) = std::env::var_os("TUTORIALS") else {
        return println!("skipped: TUTORIALS does not name a checkout of p4lang/tutorials");
    };
    let checkout = checkout.to_str().unwrap();
    // Without what the controller takes, the others are judged.
    let (found, status) = tutorials(checkout, &["--solutions"], Some("no-such-python"));
    assert_eq!(status, Some(3), "{found:#}");
    assert_eq!(found["passed"], 12, "{found:#}");
    assert_eq!(found["not_judged"][0]["name"], "p4runtime", "{found:#}");
    let (found, status) = tutorials(checkout, &["--solutions"], None);
    if status == Some(3) {
        println!("skipped: p4runtime: {}", found["not_judged"]);
    } else {
        assert_eq!(status, Some(0), "{found:#}");
        assert_eq!(found["passed"], 13, "{found:#}");
    }
    let (found, status) = tutorials(checkout, &[], None);
    assert_eq!(status, Some(1), "{found:#}");
    assert_eq!(found["passed"], 0, "{found:#}");
    let cases = found["cases"].as_array().unwrap();
    if let Some(case) = cases.iter().find(|case| case["name"] == "p4runtime") {
        // The ingress rules are there, so the packet is in the tunnel, and nothing leads on.
        let why = case["why"][0].as_str().unwrap();
        let packet = "packet in at s1 port 1: 080000000100080000000111";
        assert!(
            why.contains("no packet came out of s2 port 1") && why.contains(packet),
            "{why}"
        );
    }
}

#[test]
fn controllers_of_the_examples_fill_a_switch() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let lab = root.join("labs/05-controller");
    for name in ["plain_grpc.py", "with_shell.py"] {
        let controller = root.join("examples/controllers").join(name);
        let (found, status) = report(&[lab.to_str().unwrap(), controller.to_str().unwrap()]);
        if status == Some(3) || found.to_string().contains("No module named") {
            println!("skipped: {name}: {found}");
            continue;
        }
        assert_eq!(status, Some(0), "{found:#}");
    }
}
