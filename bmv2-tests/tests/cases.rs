//! Our own case files, on every executor.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use bmv2_tests::{build, compile, many, run, stf};
use p4front::Options;

fn cases() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases");
    let mut cases: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the folder of cases is part of the repository")
        .filter_map(|entry| entry.ok().map(|e| e.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "stf"))
        .collect();
    cases.sort();
    cases
}

/// `matches.p4` for `matches.stf` and for `matches.many.stf`.
fn program_of(case: &Path) -> PathBuf {
    let name = case.file_name().unwrap_or_default().to_string_lossy();
    let stem = name.split('.').next().unwrap_or_default();
    case.with_file_name(format!("{stem}.p4"))
}

/// Plays one case on every executor and returns what went wrong.
fn play(path: &Path) -> String {
    match std::fs::read_to_string(path) {
        Ok(text) => play_text(&text, &program_of(path)),
        Err(error) => error.to_string(),
    }
}

fn play_text(text: &str, program: &Path) -> String {
    let mut report = String::new();
    let case = match stf::parse(text) {
        Ok(case) => case,
        Err(error) => return error.to_string(),
    };
    let program = compile(program, &Options::default());
    let executors = match program.and_then(|program| build(&program)) {
        Ok(executors) => executors,
        Err(error) => return error.to_string(),
    };
    for (name, mut executor) in executors {
        for failure in run(&case, executor.as_mut()).err().unwrap_or_default() {
            let _ = writeln!(report, "[{name}] {failure}");
        }
    }
    report
}

#[test]
fn every_case_holds_on_every_executor() {
    let mut report = String::new();
    let cases = cases();
    assert!(cases.len() >= 8, "the cases are found");
    for path in &cases {
        let failures = play(path);
        if !failures.is_empty() {
            let _ = writeln!(report, "{}:\n{failures}", path.display());
        }
    }
    assert!(report.is_empty(), "{report}");
}

/// Every entry of tables with thousands, on every executor.
#[test]
fn large_tables_hold_on_every_executor() {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases/many.p4");
    for (seed, entries, packets) in [(1, 8_000, 600), (2, 2_000, 600), (3, 300, 600)] {
        let report = play_text(&many::case(seed, entries, packets), &program);
        let first: Vec<&str> = report.lines().take(8).collect();
        assert!(first.is_empty(), "seed {seed}: {}", first.join("\n"));
    }
}
