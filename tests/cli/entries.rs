//! Entries and buffers of a build as files (U15).

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

fn run(at: &Path, line: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_switchwright"));
    command.args(line.split(' ')).current_dir(at);
    command.output().unwrap()
}

fn said(at: &Path, line: &str) -> String {
    let output = run(at, line);
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{line}: {words}");
    String::from_utf8(output.stdout).unwrap()
}

/// What is refused as wrong input, in these words, wherever the message breaks its lines.
fn refused(at: &Path, line: &str, words: &str) {
    let output = run(at, line);
    assert_eq!(output.status.code(), Some(2), "{line}");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let bare = |text: &str| text.replace(['│', '\n', ' '], "");
    assert!(bare(&said).contains(&bare(words)), "{line}: {said}");
}

/// Builds for BMv2 and for Tofino, and one of failover tables.
fn builds() -> TempDir {
    let folder = TempDir::new().unwrap();
    for line in [
        "topo clos --leaves 2 --spines 2 --hosts 2 -o clos.json",
        "plan clos.json -o plan.json",
        "build plan.json -o build",
        "build plan.json --target tna -o tofino",
        "topo ring 4 -o ring.json",
        "plan ring.json --scheme plinko -o failover.json",
        "build failover.json -o failover",
    ] {
        said(folder.path(), line);
    }
    folder
}

/// The lines of a CSV file below its header; no cell here holds a comma.
fn lines(csv: &str) -> Vec<Vec<&str>> {
    let lines = csv.lines().skip(1);
    lines.map(|line| line.split(',').collect()).collect()
}

#[test]
fn csv_has_every_entry_of_every_switch() {
    let folder = builds();
    let at = folder.path();
    for build in ["build", "tofino", "failover"] {
        let csv = said(at, &format!("entries {build} --format csv"));
        assert!(csv.starts_with("switch,kind,table,match,priority,action,parameters\n"));
        let lines = lines(&csv);
        assert!(lines.iter().all(|line| line.len() == 7), "{csv}");
        let manifest = fs::read_to_string(at.join(build).join("manifest.json")).unwrap();
        let manifest: Value = serde_json::from_str(&manifest).unwrap();
        for switch in manifest["switches"].as_array().unwrap() {
            let counted = ["entry", "default", "member", "group"];
            let own = lines.iter().filter(|line| line[0] == switch["name"]);
            let own = own.filter(|line| counted.contains(&line[1])).count() as u64;
            assert_eq!(Value::from(own), switch["entries"], "{build}: {switch}");
        }
    }
}

#[test]
fn entries_are_chosen_by_switch_and_table() {
    let folder = builds();
    let at = folder.path();
    let all = said(at, "entries build --format csv");
    let tables: BTreeSet<&str> = lines(&all).iter().map(|line| line[2]).collect();
    let table = tables.iter().find(|table| !table.is_empty()).unwrap();
    let some = said(
        at,
        &format!("entries build --switch leaf2 --table {table} --format csv"),
    );
    let wanted: Vec<_> = lines(&all)
        .into_iter()
        .filter(|line| line[0] == "leaf2" && line[2] == *table)
        .collect();
    assert!(!wanted.is_empty());
    assert_eq!(lines(&some), wanted);
    said(at, "entries build --format csv -o e.csv");
    assert_eq!(fs::read_to_string(at.join("e.csv")).unwrap(), all);
    let json: Value = serde_json::from_str(&said(at, "entries build --json")).unwrap();
    assert_eq!(json["entries"].as_array().unwrap().len(), lines(&all).len());
    for (line, words) in [
        ("entries build --switch leaf9", "leaf9"),
        ("entries build --table nothing", "there are entries of"),
        ("entries build --format csv --json", "means nothing"),
        ("entries plan.json", "cannot be read"),
    ] {
        refused(at, line, words);
    }
}

#[test]
fn buffers_are_told_port_by_port() {
    let folder = builds();
    let at = folder.path();
    let csv = said(at, "buffers build --format csv");
    assert!(csv.starts_with(
        "switch,buffer_bytes,shared_bytes,lossless_priorities,alpha,xon_below_xoff_bytes,port,\
             interface,to,rate_bps,headroom_bytes\n"
    ));
    let json: Value = serde_json::from_str(&said(at, "buffers build --json")).unwrap();
    let switches = json["switches"].as_array().unwrap();
    let ports = switches
        .iter()
        .map(|s| s["ports"].as_array().unwrap().len());
    assert_eq!(lines(&csv).len(), ports.sum::<usize>());
    assert_eq!(switches.len(), 4);
    let file = said(at, "buffers build --switch leaf1 --format lossless");
    assert!(file.starts_with("lossless: [3, 4]\n"), "{file}");
    for (line, words) in [
        ("buffers build --format lossless", "--switch"),
        ("buffers build --switch leaf9", "leaf9"),
        ("buffers failover", "no priority of this plan is lossless"),
        ("buffers build --format csv --json", "means nothing"),
    ] {
        refused(at, line, words);
    }
}
