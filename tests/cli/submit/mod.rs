//! Shares as jobs: Slurm runs them for real where Debian's packages are, and what a manifest for
//! Kubernetes says is done here container by container, and held against the schema that Kubernetes
//! publishes.

mod cluster;
mod kubernetes;
mod slurm;

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

const COMMAND: &str = env!("CARGO_BIN_EXE_switchwright");

fn switchwright(at: &Path, line: &str) -> Command {
    let mut command = Command::new(COMMAND);
    command.args(line.split(' ')).current_dir(at);
    command.stdin(Stdio::null());
    command
}

fn done(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {words}");
    String::from_utf8(output.stdout).unwrap()
}

/// A small network's failover plan.
fn plan(at: &Path) {
    for line in [
        "topo jellyfish --switches 10 --ports 6 --fabric-ports 4 -o net.json",
        "plan net.json --scheme plinko --resilience 1 --lossless rising -o plan.json",
    ] {
        done(&mut switchwright(at, line));
    }
}

/// A JSON object without the time that it took; the text, to the last byte.
fn timeless(json: &str) -> String {
    let timed = |line: &&str| !line.trim_start().starts_with("\"seconds\":");
    let kept: Vec<&str> = json.lines().filter(timed).collect();
    assert_eq!(kept.len() + 1, json.lines().count(), "{json}");
    kept.join("\n")
}

fn failed(output: &Output, status: i32, words: &str) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{said}");
    assert!(said.contains(words), "{said}");
}

/// A script in a folder of its own, which comes first where programs are looked for.
fn stand_in(at: &Path, name: &str, text: &str) -> String {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = at.join("programs");
    fs::create_dir_all(&folder).unwrap();
    let script = folder.join(name);
    fs::write(&script, format!("#!/bin/sh\n{text}")).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    format!("{}:{path}", folder.display())
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}
