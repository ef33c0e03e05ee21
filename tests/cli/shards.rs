//! Shares of work, done by processes of their own, are together what one process does.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

fn run(at: &Path, line: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_switchwright"));
    command.args(line.split(' ')).current_dir(at);
    command.stdin(Stdio::null()).output().unwrap()
}

fn done(at: &Path, line: &str) {
    let output = run(at, line);
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{line}: {words}");
}

/// What a command says with `--json`, but for the time that it took, and its status.
fn said(at: &Path, line: &str) -> (Option<i32>, Value) {
    let output = run(at, line);
    let mut value: Value = serde_json::from_slice(&output.stdout).unwrap();
    if let Some(fields) = value.as_object_mut() {
        fields.remove("seconds");
    }
    (output.status.code(), value)
}

fn network(at: &Path) {
    done(
        at,
        "topo jellyfish --switches 10 --ports 6 --fabric-ports 4 -o net.json",
    );
    done(
        at,
        "plan net.json --scheme plinko --resilience 1 --lossless rising -o plan.json",
    );
}

#[test]
fn shares_merge_into_what_one_machine_says() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    network(at);
    // Proven, refuted, sampled; and figures.
    for (number, line) in [
        "check plan.json",
        "check plan.json --failures 3",
        "check plan.json --most-walks 1 --samples 5",
        "measure plan.json --sets 3 --failures 1,4",
    ]
    .into_iter()
    .enumerate()
    {
        let whole = said(at, &format!("{line} --json"));
        for of in [1, 3, 16] {
            let shares = format!("shares-{number}-{of}");
            for share in (1..=of).rev() {
                done(at, &format!("{line} --shard {share}/{of} -o {shares}"));
            }
            assert_eq!(said(at, &format!("merge {shares} --json")), whole, "{line}");
        }
    }
    done(at, "measure plan.json --sets 3 --failures 1,4 --out whole");
    done(at, "merge shares-3-3 --out merged");
    for entry in fs::read_dir(at.join("whole")).unwrap() {
        let name = entry.unwrap().file_name();
        let read = |folder: &str| fs::read(at.join(folder).join(&name)).unwrap();
        assert_eq!(read("whole"), read("merged"), "{name:?}");
    }
}

/// The scenario of the shares: chance decides what its flows send.
const SCENARIO: &str = "
name: chance
duration: 300us
rate: 40Gbps
network: { topology: { clos: { leaves: 2, spines: 2, hosts: 2 } }, plan: { bounces: 1 } }
flows: []
workloads:
  - { name: jobs, arrivals: { poisson: 100000 }, sizes: [2KB, 20KB], transport: tcp }
";

#[test]
fn seeds_in_shares_are_the_seeds_of_one_machine() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    fs::write(at.join("chance.yaml"), SCENARIO).unwrap();
    for (number, line) in [
        "simulate --scenario chance.yaml --seeds 5",
        "simulate --scenario chance.yaml --seeds 3 --seed 9 --without-tags --transport dctcp",
    ]
    .into_iter()
    .enumerate()
    {
        let whole = said(at, &format!("{line} --json"));
        assert_eq!(whole.1["runs"].as_array().unwrap().len(), 5 - 2 * number);
        for of in [1, 2, 7] {
            let shares = format!("seeds-{number}-{of}");
            for share in (1..=of).rev() {
                done(
                    at,
                    &format!("{line} --shard {share}/{of} --shards {shares}"),
                );
            }
            assert_eq!(said(at, &format!("merge {shares} --json")), whole, "{line}");
        }
    }
    // Another scenario by the same name.
    fs::write(at.join("chance.yaml"), SCENARIO.replace("300us", "200us")).unwrap();
    let output = run(at, "merge seeds-0-2");
    assert_eq!(output.status.code(), Some(2));
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(
        words.contains("not the file that the shares read"),
        "{words}"
    );
}

/// Without the times that entries took, and their plots' and pages' words of them.
fn without_seconds(value: &mut Value) {
    if let Some(items) = value["items"].as_array_mut() {
        for item in items {
            item.as_object_mut().unwrap().remove("seconds");
        }
    }
}

#[test]
fn entries_in_shares_are_the_entries_of_one_machine() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    let line = "reproduce Tagger17 table";
    let told = |line: &str| {
        let (status, mut value) = said(at, line);
        without_seconds(&mut value);
        (status, value)
    };
    let whole = told(&format!("{line} --json --out whole"));
    assert!(whole.1["items"].as_array().unwrap().len() > 1);
    for of in [1, 3] {
        let shares = format!("entries-{of}");
        for share in (1..=of).rev() {
            done(
                at,
                &format!("{line} --shard {share}/{of} --shards {shares}"),
            );
        }
        let merged = told(&format!("merge {shares} --json --out merged-{of}"));
        assert_eq!(merged, whole);
    }
    let names = |folder: &str| {
        let entries = fs::read_dir(at.join(folder).join("items")).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name());
        names.collect::<std::collections::BTreeSet<_>>()
    };
    assert_eq!(names("whole"), names("merged-3"));
    for name in names("whole") {
        let read = |folder: &str| {
            let text = fs::read_to_string(at.join(folder).join("items").join(&name)).unwrap();
            let kept = text.lines().filter(|line| !line.contains("\"seconds\""));
            kept.map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(read("whole"), read("merged-3"), "{name:?}");
    }
}

#[test]
fn cases_in_shares_are_the_cases_of_one_machine() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    let run = |more: &[&str]| {
        let only = [
            "bench",
            "failover",
            "--no-peer",
            "--only",
            "egft-b1 512 t2 edst",
        ];
        let mut command = Command::new(env!("CARGO_BIN_EXE_switchwright"));
        command
            .args(only)
            .args(more)
            .current_dir(at)
            .stdin(Stdio::null());
        let output = command.output().unwrap();
        let words = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{more:?}: {words}");
        output.stdout
    };
    let whole = run(&["--json", "--out", "whole"]);
    let value: Value = serde_json::from_slice(&whole).unwrap();
    let count = |list: &str| value[list].as_array().unwrap().len();
    assert_eq!([count("schemes"), count("custom")], [2, 1]);
    for number in ["2/2", "1/2"] {
        run(&["--shard", number, "--shards", "cases"]);
    }
    let merged = self::run(at, "merge cases --json --out merged");
    assert_eq!(merged.stdout, whole);
    for entry in fs::read_dir(at.join("whole")).unwrap() {
        let name = entry.unwrap().file_name();
        let read = |folder: &str| fs::read(at.join(folder).join(&name)).unwrap();
        assert_eq!(read("whole"), read("merged"), "{name:?}");
    }
}

#[test]
fn a_share_that_was_killed_is_done_again_and_no_other() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    network(at);
    let line = |share: u32| format!("check plan.json --shard {share}/4 -o shares --json");
    for share in [1, 2, 4] {
        done(at, &line(share));
    }
    let mut killed = Command::new(env!("CARGO_BIN_EXE_switchwright"));
    let killed = killed.args(line(3).split(' ')).current_dir(at);
    let mut killed = killed.stdout(Stdio::null()).spawn().unwrap();
    killed.kill().unwrap();
    killed.wait().unwrap();
    // Whether it had ended before or not, nothing half-written is there.
    let missing = !at.join("shares/shard-3-of-4.json").exists();
    if missing {
        let output = run(at, "merge shares");
        assert_eq!(output.status.code(), Some(2));
        let words = String::from_utf8_lossy(&output.stderr);
        assert!(words.contains("1 of 4 shares missing: 3/4"), "{words}");
    }
    for share in 1..=4 {
        let (_, told) = said(at, &line(share));
        assert_eq!(told["done_before"], Value::Bool(share != 3 || !missing));
    }
    let whole = said(at, "check plan.json --json");
    assert_eq!(said(at, "merge shares --json"), whole);
}

#[test]
fn what_does_not_belong_together_is_refused() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    network(at);
    done(at, "check plan.json --shard 1/2 -o shares");
    done(at, "check plan.json --shard 2/2 -o shares");
    let refused = |line: &str, why: &str| {
        let output = run(at, line);
        let words = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{line}: {words}");
        assert!(words.contains(why), "{line}: {words}");
    };
    refused(
        "check plan.json --failures 2 --shard 1/2 -o shares",
        "a share of other work",
    );
    refused("merge nowhere", "nowhere");
    refused("merge shares --out figures", "means nothing here");
    // A share of another number, a foreign one, one that was changed.
    let share = at.join("shares/shard-2-of-2.json");
    let whole = fs::read_to_string(&share).unwrap();
    fs::copy(&share, at.join("shares/shard-3-of-3.json")).unwrap();
    refused("merge shares", "shares of 2 and of 3 are both there");
    fs::remove_file(at.join("shares/shard-3-of-3.json")).unwrap();
    fs::copy(at.join("shares/shard-1-of-2.json"), &share).unwrap();
    refused("merge shares", "not the share that its name says");
    fs::write(&share, whole.replace("\"seed\":1", "\"seed\":2")).unwrap();
    refused("merge shares", "of other work than the first share");
    fs::write(&share, &whole[..whole.len() / 2]).unwrap();
    refused("merge shares", "shard-2-of-2.json");
    fs::write(&share, &whole).unwrap();
    done(at, "merge shares");
    // The plan is another one by now.
    done(at, "plan net.json --scheme fcp --resilience 1 -o plan.json");
    refused("merge shares", "not the file that the shares read");
}
