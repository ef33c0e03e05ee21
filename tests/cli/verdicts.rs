//! No verdict is a constant: over good and bad plans, builds and runs, every true-or-false of every
//! JSON report is seen to be both.

use std::collections::{BTreeMap, BTreeSet};
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

/// What a command said, as values by key: those that are true, false or `null`, and the verdict.
#[derive(Default)]
struct Seen(BTreeMap<String, BTreeSet<String>>);

impl Seen {
    fn walk(&mut self, value: &Value, path: &str) {
        match value {
            Value::Object(fields) => fields
                .iter()
                .for_each(|(key, value)| self.walk(value, &format!("{path}.{key}"))),
            Value::Array(items) => items.iter().for_each(|item| self.walk(item, path)),
            Value::Bool(_) | Value::Null => self.saw(path, value),
            Value::String(_) if path.ends_with(".verdict") => self.saw(path, value),
            // A key that has a number or a text where it is not `null` is a figure.
            _ => self.saw(path, &Value::from("a figure")),
        }
    }

    fn saw(&mut self, path: &str, value: &Value) {
        let seen = self.0.entry(path.to_owned()).or_default();
        seen.insert(value.to_string());
    }

    /// The verdicts: keys that are ever true or false, or are called so.
    fn verdicts(&self) -> impl Iterator<Item = (&String, &BTreeSet<String>)> {
        let verdict = |(path, seen): &(&String, &BTreeSet<String>)| {
            seen.contains("true") || seen.contains("false") || path.ends_with(".verdict")
        };
        self.0.iter().filter(verdict)
    }
}

/// Makes every rule keep the tag that it matches, so that rings of buffers close.
fn keep_tags(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            if let (Some(tag), true) = (fields.get("tag").cloned(), fields.contains_key("new")) {
                fields.insert("new".to_owned(), tag);
            }
            fields.values_mut().for_each(keep_tags);
        }
        Value::Array(items) => items.iter_mut().for_each(keep_tags),
        _ => {}
    }
}

fn read(at: &Path, name: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(at.join(name)).unwrap()).unwrap()
}

/// A failover plan in which a packet circulates: one rule after the other is turned round until
/// `check` says so.
fn circulating(at: &Path, plan: &str) -> Option<Value> {
    let good = read(at, plan);
    let rules = good["failover"]["tables"][0]["rules"].as_array()?.len();
    (0..rules).find_map(|rule| {
        let mut bad = good.clone();
        let to = bad.pointer_mut(&format!("/failover/tables/0/rules/{rule}/to/0"))?;
        *to = Value::from(5 - to.as_u64()?);
        fs::write(at.join("turned.json"), bad.to_string()).unwrap();
        let report: Value =
            serde_json::from_slice(&run(at, "check turned.json --json").stdout).ok()?;
        (report["loop_free"] == false).then_some(bad)
    })
}

fn prepare(at: &Path) {
    for line in [
        "topo ring 4 -o ring.json",
        "topo clos --leaves 3 --spines 2 --hosts 1 -o clos.json",
        "topo jellyfish --switches 8 --ports 6 --fabric-ports 4 -o jellyfish.json",
        "plan ring.json --routes shortest --rules exact -o tagger.json",
        "plan clos.json -o clos-plan.json",
        "plan ring.json --scheme plinko -o plinko.json",
        "plan ring.json --scheme fcp -o fcp.json",
        "plan ring.json --scheme edst --trees 1 -o edst.json",
        "plan jellyfish.json --scheme df-fi -o df-fi.json",
        "build tagger.json -o build",
        "build clos-plan.json --target sonic -o sonic",
        "topo ring 4097 -o long.json",
    ] {
        let output = run(at, line);
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{line}: {words}");
    }
    let mut cyclic = read(at, "tagger.json");
    keep_tags(&mut cyclic);
    fs::write(at.join("cyclic.json"), cyclic.to_string()).unwrap();
    let mut lossy = read(at, "tagger.json");
    let rules = lossy["rules"][0]["rules"].as_array_mut();
    rules.unwrap().clear();
    fs::write(at.join("lossy.json"), lossy.to_string()).unwrap();
    let circulating = circulating(at, "fcp.json").expect("a rule that makes packets circulate");
    fs::write(at.join("circulating.json"), circulating.to_string()).unwrap();
    fs::write(at.join("wrong.p4"), "const bit<8> x = y;\n").unwrap();
    fs::create_dir(at.join("bounces")).unwrap();
    for switch in ["leaf1", "leaf2", "leaf3", "spine1", "spine2"] {
        let mut config = read(at, &format!("sonic/switches/{switch}/config_db.json"));
        // At leaves what comes from above is taken for what hosts send: its tag does not rise.
        let rows = config["PORT_QOS_MAP"].as_object_mut().unwrap();
        let first = rows["Ethernet0"]["dscp_to_tc_map"].clone();
        for row in rows.values_mut().filter(|_| switch.starts_with("leaf")) {
            row["dscp_to_tc_map"] = first.clone();
        }
        fs::write(
            at.join(format!("bounces/{switch}.json")),
            config.to_string(),
        )
        .unwrap();
    }
}

/// The reports of a command, from good and bad input: what is true or false in them is seen to be
/// both.
fn both(at: &Path, command: &str, lines: &[&str]) -> Vec<String> {
    let mut seen = Seen::default();
    for line in lines {
        let output = run(at, &format!("{command} {line} --json"));
        let text = String::from_utf8_lossy(&output.stdout);
        let report: Value = serde_json::from_str(&text).unwrap_or_else(|error| {
            panic!("{command} {line}: {error}: {text}");
        });
        assert_eq!(report["error"], Value::Null, "{command} {line}");
        seen.walk(&report, command);
    }
    let constant = |(path, seen): (&String, &BTreeSet<String>)| {
        let enough = if path.ends_with(".verdict") {
            let words: &[&str] = match command {
                "reproduce Tagger17" => &["\"reproduced\"", "\"differs\""],
                _ => &["\"proven\"", "\"refuted\"", "\"sampled\""],
            };
            words.iter().all(|word| seen.contains(*word))
        } else {
            seen.contains("true") && seen.contains("false")
        };
        (!enough).then(|| format!("{path}: only {seen:?}"))
    };
    let found: Vec<String> = seen.verdicts().filter_map(constant).collect();
    assert!(
        seen.verdicts().count() > 0,
        "{command} says neither true nor false"
    );
    found
}

#[test]
fn no_verdict_is_a_constant() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    prepare(at);
    let mut found = Vec::new();
    for (command, lines) in [
        (
            "check",
            &[
                "tagger.json",
                "cyclic.json",
                "lossy.json",
                "clos-plan.json",
                "plinko.json",
                "plinko.json --most-walks 1",
                "plinko.json --failures 3",
                "circulating.json",
                "edst.json",
                "edst.json --failures 1",
                "df-fi.json",
            ][..],
        ),
        (
            "trace build",
            &[
                "--from h1 --to h3",
                "--from h1 --to h3 --fail s1-s2 --fail s1-s4",
            ],
        ),
        (
            "reproduce Tagger17",
            &["table-algorithm-1", "table-algorithm-2"],
        ),
        ("audit", &["sonic", "bounces"]),
        ("topo show", &["ring.json", "long.json"]),
        ("p4 check", &["build/p4/tagger.p4", "wrong.p4"]),
        (
            "simulate --scenario three-flows",
            &["--seed 1", "--without-tags"],
        ),
    ] {
        found.extend(both(at, command, lines));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}
