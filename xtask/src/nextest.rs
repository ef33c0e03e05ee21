//! All tests by `cargo nextest`, which runs each test as a process and keeps all processors busy
//! until the last test; then documentation tests, which it does not run.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use roxmltree::{Document, Node, ParsingOptions};

use super::skipped::Skipped;

/// Where nextest writes what tests printed (`.config/nextest.toml`): below the checkout, wherever
/// cargo's target folder is.
const REPORT: &str = "target/nextest/default/junit.xml";
/// XML nodes of a report that are read.
const MOST_NODES: u32 = 1_000_000;

/// Whether nextest is installed.
pub(crate) fn is_found() -> bool {
    let version = Command::new(super::cargo_program())
        .args(["nextest", "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    version.is_ok_and(|status| status.success())
}

/// Runs all tests.
///
/// # Errors
/// One failed, or cargo did not start.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    let arguments = [
        "nextest",
        "run",
        "--workspace",
        "--locked",
        "--status-level",
        "slow",
    ];
    let tests = super::cargo(root, &arguments, &[]);
    let documents = super::cargo(
        root,
        &["test", "--workspace", "--locked", "--doc", "--quiet"],
        &[],
    );
    let path = root.join(REPORT);
    let report = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let skipped = skipped(&report).map_err(|e| format!("{}: {e}", path.display()))?;
    print!("{}", skipped.summary());
    tests.and(documents)
}

/// What tests skipped, from nextest's report.
fn skipped(report: &str) -> Result<Skipped, String> {
    let options = ParsingOptions {
        nodes_limit: MOST_NODES,
        ..ParsingOptions::default()
    };
    let document = Document::parse_with_options(report, options).map_err(|e| e.to_string())?;
    let mut skipped = Skipped::default();
    let cases = document
        .descendants()
        .filter(|node| node.has_tag_name("testcase"));
    for case in cases {
        let name = case.attribute("name").unwrap_or_default();
        let printed = case
            .children()
            .filter(|node| node.has_tag_name("system-out"));
        for line in printed
            .filter_map(|node: Node<'_, '_>| node.text())
            .flat_map(str::lines)
        {
            skipped.read(name, line);
        }
    }
    Ok(skipped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_names_skipped_tests_by_reason() {
        let report = r#"<testsuites><testsuite name="a">
            <testcase name="b::c" classname="a"><system-out>
running 1 test
skipped: no `mn`
</system-out></testcase>
            <testcase name="d" classname="a"><system-out>fine</system-out></testcase>
        </testsuite></testsuites>"#;
        assert_eq!(
            skipped(report).unwrap().summary(),
            "xtask: skipped in whole or in part, 1 tests:\n  no `mn`: b::c\n"
        );
        assert!(skipped("no XML").is_err());
    }
}
