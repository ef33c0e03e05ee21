//! Findings in SARIF 2.1.0, as code hosts read them.

use p4front::diag::Record;
use serde_json::{Value, json};

/// Where the format is described.
const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// The log of one run.
pub(super) fn log(findings: &[Record]) -> Value {
    let mut rules: Vec<&str> = findings.iter().map(|f| f.code).collect();
    rules.sort_unstable();
    rules.dedup();
    let rules: Vec<Value> = rules.iter().map(|id| json!({ "id": id })).collect();
    let results: Vec<Value> = findings.iter().map(result).collect();
    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "switchwright", "version": env!("CARGO_PKG_VERSION"), "rules": rules,
            } },
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

fn result(finding: &Record) -> Value {
    let mut text = finding.message.clone();
    for note in finding.notes.iter().chain(&finding.help) {
        text += &format!("\n{note}");
    }
    let locations: Vec<Value> = finding.place.iter().map(location).collect();
    let related: Vec<Value> = finding.related.iter().map(location).collect();
    json!({
        "ruleId": finding.code, "level": finding.severity, "message": { "text": text },
        "locations": locations, "relatedLocations": related,
    })
}

fn location(place: &p4front::diag::Place) -> Value {
    let mut made = json!({
        "physicalLocation": {
            "artifactLocation": { "uri": place.file },
            "region": {
                "startLine": place.line, "startColumn": place.column,
                "endLine": place.line, "endColumn": place.column + place.length.max(1),
            },
        },
    });
    if !place.message.is_empty() {
        made["message"] = json!({ "text": place.message });
    }
    made
}
