//! A build that was edited is refused by whatever reads it.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

fn run(at: &Path, line: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_switchwright"))
        .args(line.split(' '))
        .current_dir(at)
        .output()
        .unwrap()
}

/// What reads a build, short of switches that run.
const READERS: [&str; 5] = [
    "trace b --from h1 --to h2",
    "simulate b --scenario flows.yaml",
    "push b --devices devices.json --dry-run",
    "drill b",
    "p4 bench b --packets 1000",
];

#[test]
fn an_edited_plan_or_program_is_refused_everywhere() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    for line in [
        "topo three-node -o t.json",
        "plan t.json -o p.json",
        "build p.json -o b",
    ] {
        assert!(run(at, line).status.success(), "{line}");
    }
    let flows = "name: x\nduration: 1ms\nflows: [{ from: h1, to: h2 }]\n";
    fs::write(at.join("flows.yaml"), flows).unwrap();
    let devices = "{format: switchwright-devices, version: 1, defaults: {address: \"127.0.0.1:1\"}, switches: {}}";
    fs::write(at.join("devices.json"), devices).unwrap();
    assert!(run(at, READERS[0]).status.success());
    assert!(run(at, READERS[1]).status.success());

    for (file, readers) in [
        ("b/p4/tagger.p4", &READERS[..]),
        ("b/plan.json", &[READERS[0], READERS[1], READERS[3]]),
    ] {
        let good = fs::read_to_string(at.join(file)).unwrap();
        fs::write(at.join(file), format!("{good} ")).unwrap();
        for reader in readers {
            // A drill reads the program when its switches run, which takes rights.
            if *reader == "drill b" && file.ends_with(".p4") {
                continue;
            }
            let output = run(at, reader);
            let words = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(2), "{file}: {reader}: {words}");
            assert!(
                words.contains("not what was built"),
                "{file}: {reader}: {words}"
            );
        }
        fs::write(at.join(file), good).unwrap();
    }
}
