//! The picture of the crates in `ARCHITECTURE.md`, drawn from what cargo says.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::Value;

/// Where the picture stands.
const DOCUMENT: &str = "ARCHITECTURE.md";
/// What stands around it.
const MARKS: [&str; 2] = [
    "<!-- crates: drawn by `cargo xtask bless` -->",
    "<!-- crates end -->",
];

/// Crates of others that few of ours may depend on, with those that may and the reason.
const KEPT_OUT: &[(&str, &[&str], &str)] = &[
    (
        "tokio",
        &[
            "switchwright",
            "switchwright-conformance",
            "switchwright-controlplane",
            "switchwright-emulator",
            "switchwright-figures",
            "switchwright-p4runtime",
            "switchwright-switchd",
        ],
        "only servers and clients wait (invariant 1)",
    ),
    ("anyhow", &[], "errors have types of their own"),
    ("miette", &[], "errors have types of their own"),
];

/// What each crate of ours depends on among ours, by package name.
type Graph = BTreeMap<String, BTreeSet<String>>;

/// Finds a picture that is out of date, and dependencies that are kept out.
pub(crate) fn check(root: &Path, findings: &mut Vec<String>) -> Result<(), String> {
    let metadata = metadata(root)?;
    findings.extend(kept_out(&metadata));
    let text = read(root)?;
    if replaced(&text, &picture(&of(&metadata)))? != text {
        findings.push(format!(
            "{DOCUMENT}: the picture of the crates is out of date; run `cargo xtask bless --picture`"
        ));
    }
    Ok(())
}

/// Draws the picture anew.
pub(crate) fn bless(root: &Path) -> Result<(), String> {
    let text = replaced(&read(root)?, &picture(&of(&metadata(root)?)))?;
    fs::write(root.join(DOCUMENT), text).map_err(|e| format!("{DOCUMENT}: {e}"))
}

fn read(root: &Path) -> Result<String, String> {
    fs::read_to_string(root.join(DOCUMENT)).map_err(|e| format!("{DOCUMENT}: {e}"))
}

/// The document with another picture.
fn replaced(text: &str, picture: &str) -> Result<String, String> {
    let [open, close] = MARKS;
    let missing = || format!("{DOCUMENT}: the lines `{open}` and `{close}` are missing");
    let (before, rest) = text.split_once(open).ok_or_else(missing)?;
    let (_, after) = rest.split_once(close).ok_or_else(missing)?;
    Ok(format!("{before}{open}\n\n{picture}\n{close}{after}"))
}

fn metadata(root: &Path) -> Result<Value, String> {
    let arguments = ["--no-deps", "--offline", "--format-version", "1"];
    let said = super::ask_cargo(root, "metadata", &arguments)?;
    serde_json::from_str(&said).map_err(|e| format!("`cargo metadata`: {e}"))
}

/// Finds dependencies of libraries and programs, not of tests, on crates that are kept out.
fn kept_out(metadata: &Value) -> Vec<String> {
    let mut findings = Vec::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let name = package["name"].as_str().unwrap_or_default();
        let needs = package["dependencies"].as_array().into_iter().flatten();
        for other in needs.filter(|d| d["kind"].is_null()) {
            for (kept, allowed, why) in KEPT_OUT {
                if other["name"] == *kept && !allowed.contains(&name) {
                    findings.push(format!("{name}: depends on `{kept}`, but {why}"));
                }
            }
        }
    }
    findings
}

/// The graph that cargo's metadata describes; what only tests need is left out.
fn of(metadata: &Value) -> Graph {
    let list = |value: &Value, key: &str| value[key].as_array().cloned().unwrap_or_default();
    let name = |value: &Value| value["name"].as_str().unwrap_or_default().to_owned();
    let packages = list(metadata, "packages");
    let ours: BTreeSet<String> = packages.iter().map(name).collect();
    let needs = |package: &Value| {
        let all = list(package, "dependencies");
        let kept = all.iter().filter(|d| d["kind"].is_null());
        kept.map(name).filter(|n| ours.contains(n)).collect()
    };
    packages.iter().map(|p| (name(p), needs(p))).collect()
}

/// A Mermaid graph: an arrow to each dependency that no other dependency brings along.
fn picture(graph: &Graph) -> String {
    let mut text = "```mermaid\ngraph RL\n".to_owned();
    for (name, needs) in graph {
        for other in needs {
            let brought = needs
                .iter()
                .any(|via| via != other && reaches(graph, via, other));
            if !brought {
                let _ = writeln!(text, "    {} --> {}", short(name), short(other));
            }
        }
    }
    text.push_str("```\n");
    text
}

fn reaches(graph: &Graph, from: &str, to: &str) -> bool {
    let Some(needs) = graph.get(from) else {
        return false;
    };
    needs.contains(to) || needs.iter().any(|next| reaches(graph, next, to))
}

/// The name without the project's.
fn short(name: &str) -> &str {
    name.strip_prefix("switchwright-").unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrows_that_others_imply_are_left_out() {
        let package = |name: &str, needs: &[&str]| {
            let needs: Vec<Value> = needs
                .iter()
                .map(|n| serde_json::json!({ "name": n, "kind": null }))
                .chain([serde_json::json!({ "name": "switchwright-a", "kind": "dev" })])
                .collect();
            serde_json::json!({ "name": name, "dependencies": needs })
        };
        let metadata = serde_json::json!({ "packages": [
            package("switchwright-a", &["serde"]),
            package("b", &["switchwright-a"]),
            package("c", &["b", "switchwright-a"]),
        ]});
        let drawn = picture(&of(&metadata));
        assert_eq!(
            drawn,
            "```mermaid\ngraph RL\n    b --> a\n    c --> b\n```\n"
        );
    }

    #[test]
    fn crates_that_are_kept_out_are_found() {
        let found = |name: &str, other: &str, kind: Value| {
            let needs = serde_json::json!([{ "name": other, "kind": kind }]);
            let package = serde_json::json!({ "name": name, "dependencies": needs });
            kept_out(&serde_json::json!({ "packages": [package] })).len()
        };
        assert_eq!(found("switchwright-plan", "tokio", Value::Null), 1);
        assert_eq!(found("switchwright-plan", "tokio", "dev".into()), 0);
        assert_eq!(found("switchwright-switchd", "tokio", Value::Null), 0);
        assert_eq!(found("switchwright-switchd", "anyhow", Value::Null), 1);
    }

    #[test]
    fn only_the_picture_is_replaced() {
        let [open, close] = MARKS;
        let text = format!("before\n{open}\nold\n{close}\nafter\n");
        let new = replaced(&text, "new\n").expect("both marks");
        assert_eq!(new, format!("before\n{open}\n\nnew\n\n{close}\nafter\n"));
        assert!(replaced("no marks", "new").is_err());
    }
}
