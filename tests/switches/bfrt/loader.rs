//! The loader script of a build, run by Python: against a tree of tables that takes what
//! bfrt_python takes, by the names of the schema.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::network::{builds, schema};

/// `bfrt`, as the script finds it: nodes by name, every argument of a call held against the schema.
/// What was done is printed as JSON at the end.
const TREE: &str = r#"
import json, keyword, sys

schema = json.load(open(sys.argv[1]))
log = {"tables": {}, "cleared": [], "batches": []}


def plain(names, prefix):
    stripped = {name: name.replace("$", "") for name in names}
    return {name: prefix + s if keyword.iskeyword(s) else s for name, s in stripped.items()}


class Table:
    def __init__(self, table):
        self.table = table
        self.name = table["name"]

    def clear(self):
        log["cleared"].append(self.name)
        log["tables"][self.name] = []

    def install(self, data, given):
        """An argument for every field, by bfrt_python's rules: words of Python's get a prefix, and if a key has the name
        of some data, all names get an ending. Numbers have up to 128 bits, so they are told as text."""
        keys = plain([key["name"] for key in self.table["key"]], "key_")
        fields = plain([field["name"] for field in data], "data_")
        if set(keys.values()) & set(fields.values()):
            keys = {name: found + "_key" for name, found in keys.items()}
            fields = {name: found + "_data" for name, found in fields.items()}
        given = dict(given)
        told = {"key": {}, "data": {}}
        for key in self.table["key"]:
            name = keys[key["name"]]
            parts = [str(given.pop(name))]
            if key["match_type"] in ("Ternary", "LPM"):
                parts.append(str(given.pop(name + {"Ternary": "_mask", "LPM": "_p_length"}[key["match_type"]])))
            told["key"][key["name"]] = parts
        for field in data:
            value = given.pop(fields[field["name"]], None)
            assert value is not None or self.table["data"], (self.name, field)
            if value is not None:
                told["data"][field["name"]] = value if isinstance(value, list) else str(value)
        assert not given, (self.name, given)
        log["tables"].setdefault(self.name, []).append(told)

    def add(self, **given):
        data = []
        for part in self.table["data"]:
            data += part["oneof"] if "oneof" in part else [part["singleton"]]
        self.install(data, given)

    def __getattr__(self, name):
        assert name.startswith("add_with_"), name
        for action in self.table["action_specs"]:
            if action["name"].split(".")[-1] == name[len("add_with_"):]:
                return lambda **given: self.install(action["data"], given)
        raise AttributeError(name)


class Node:
    pass


class Runtime(Node):
    def batch_begin(self):
        log["batches"].append("begin")

    def batch_end(self):
        log["batches"].append("end")

    def complete_operations(self):
        log["batches"].append("complete")


bfrt = Runtime()
bfrt.tagger = Node()
for table in schema["tables"]:
    at = bfrt.tagger
    *path, last = table["name"].split(".")
    for name in path:
        if not hasattr(at, name):
            setattr(at, name, Node())
        at = getattr(at, name)
    setattr(at, last, Table(table))

exec(compile(open(sys.argv[2]).read(), sys.argv[2], "exec"), {"bfrt": bfrt})
print(json.dumps(log))
"#;

fn number(value: &Value) -> u128 {
    match value {
        Value::String(text) => u128::from_str_radix(text.trim_start_matches("0x"), 16).unwrap(),
        value => value.as_u64().unwrap().into(),
    }
}

/// A number of any length, as text.
fn said(value: &Value) -> u128 {
    value.as_str().unwrap().parse().unwrap()
}

#[test]
fn the_loader_script_clears_every_table_and_adds_every_entry() {
    if Command::new("python3").arg("--version").output().is_err() {
        return println!("skipped: python3 is not installed");
    }
    let folder = tempfile::tempdir().unwrap();
    builds(folder.path());
    for build in ["one", "classes"] {
        load(folder.path(), build);
    }
}

fn load(folder: &Path, name: &str) {
    let build = folder.join(name);
    fs::write(folder.join("schema.json"), schema(&build)).unwrap();
    fs::write(folder.join("tree.py"), TREE).unwrap();
    let path = build.join("switches/leaf1/bfrt.json");
    let output = Command::new("python3")
        .args(["tree.py", "schema.json"])
        .arg(build.join("bfrt_load.py"))
        .current_dir(folder)
        .env("SWITCHWRIGHT_BFRT", &path)
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    let text = String::from_utf8(output.stdout).unwrap();
    let (told, log) = text.trim().rsplit_once('\n').unwrap();
    let log: Value = serde_json::from_str(log).unwrap();
    let file: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let tables = file["tables"].as_array().unwrap();

    let total: usize = tables
        .iter()
        .map(|t| t["entries"].as_array().unwrap().len())
        .sum();
    assert_eq!(told, format!("leaf1: {total} entries"));
    assert_eq!(
        log["batches"],
        serde_json::json!(["begin", "end", "complete"])
    );
    let mut cleared: Vec<&Value> = log["cleared"].as_array().unwrap().iter().collect();
    cleared.reverse();
    let named: Vec<&Value> = tables.iter().map(|t| &t["table"]).collect();
    assert_eq!(cleared, named, "every table, users before what they use");

    for table in tables {
        let name = table["table"].as_str().unwrap();
        let wanted = table["entries"].as_array().unwrap();
        let added = log["tables"][name].as_array().unwrap();
        assert_eq!(added.len(), wanted.len(), "{name}");
        for (added, wanted) in added.iter().zip(wanted) {
            for (field, value) in wanted["key"].as_object().unwrap() {
                let parts = match value {
                    Value::Object(parts) => {
                        let mask = parts.get("mask").or(parts.get("prefix_len"));
                        vec![number(&parts["value"]), number(mask.unwrap())]
                    }
                    value => vec![number(value)],
                };
                let found = added["key"][field].as_array().unwrap();
                let found: Vec<u128> = found.iter().map(said).collect();
                assert_eq!(found, parts, "{name}, {field}");
            }
            for (field, value) in wanted["data"].as_object().unwrap() {
                let found = &added["data"][field];
                match value {
                    Value::Array(_) => assert_eq!(found, value, "{name}"),
                    value => assert_eq!(said(found), number(value), "{name}, {field}"),
                }
            }
        }
    }
}

#[test]
fn the_loader_script_refuses_what_is_not_its_file() {
    if Command::new("python3").arg("--version").output().is_err() {
        return println!("skipped: python3 is not installed");
    }
    let folder = tempfile::tempdir().unwrap();
    builds(folder.path());
    fs::write(
        folder.path().join("other.json"),
        r#"{"format": "other", "version": 1}"#,
    )
    .unwrap();
    let output = Command::new("python3")
        .arg("one/bfrt_load.py")
        .current_dir(folder.path())
        .env("SWITCHWRIGHT_BFRT", "other.json")
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(
        error.contains("other.json is not a switchwright-bfrt file"),
        "{error}"
    );
}
