//! The judge of our own cases: p4c and BMv2's `simple_switch`, where they are installed. A case that
//! BMv2 can express must pass there too.
//!
//! With `P4C_TESTDATA`, and `BMV2_ALL=1` for patience, p4c's own cases are played as well: that
//! judges the runner.

#![allow(clippy::print_stdout, reason = "says what was skipped")]

use std::path::{Path, PathBuf};

use p4front::Options;
use p4test::many;
use stf::bmv2::{Program, Trouble, missing_tool, play};

fn cases(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the folder is there");
    let mut cases: Vec<PathBuf> = entries
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

/// Why a case is not for BMv2: its first line says so.
fn excuse(case: &Path) -> Option<String> {
    let text = std::fs::read_to_string(case).ok()?;
    let first = text.lines().next()?;
    first.strip_prefix("# not bmv2: ").map(str::to_owned)
}

fn judge(case: &Path, program: &Path, options: &Options) -> Result<(), Trouble> {
    let tool = |e: &dyn std::fmt::Display| Trouble::Tool(e.to_string());
    let text = std::fs::read_to_string(case).map_err(|e| tool(&e))?;
    let parsed = stf::parse(&text).map_err(|e| tool(&e))?;
    let folder = tempfile::tempdir().map_err(|e| tool(&e))?;
    let program = Program::compile(program, options, folder.path())?;
    play(&program, &parsed)
}

/// Plays cases, each with its program; says what BMv2 cannot do, and returns what fails.
fn judge_all(cases: &[(PathBuf, PathBuf)], options: &Options) -> String {
    let mut report = String::new();
    for (case, program) in cases {
        let name = case.file_stem().unwrap_or_default().to_string_lossy();
        if let Some(why) = excuse(case) {
            println!("skipped on BMv2: {name}: {why}");
            continue;
        }
        match judge(case, program, options) {
            Ok(()) => {}
            Err(Trouble::Inexpressible { line, what }) => {
                println!("skipped on BMv2: {name}: line {line}: BMv2 cannot {what}");
            }
            Err(Trouble::Compile(why)) if why.contains("not supported by this target") => {
                println!("skipped on BMv2: {name}: {why}");
            }
            Err(trouble) => report.push_str(&format!("{name}: {trouble}\n")),
        }
    }
    report
}

#[test]
fn bmv2_agrees_with_our_cases() {
    if let Some(tool) = missing_tool() {
        return println!("skipped: {tool} is not installed");
    }
    let root = p4test::root();
    let only = std::env::var("CASE").unwrap_or_default();
    let mut all: Vec<(PathBuf, PathBuf)> = cases(&root.join("bmv2-tests/cases"))
        .into_iter()
        .map(|case| (case.clone(), program_of(&case)))
        .collect();
    let generated = root.join("p4src/generated");
    all.extend(
        cases(&root.join("bmv2-tests/cases/generated"))
            .into_iter()
            .map(|case| {
                let name = case.file_stem().unwrap_or_default().to_owned();
                (case, generated.join(name).with_extension("p4"))
            }),
    );
    all.retain(|(case, _)| case.to_string_lossy().contains(&only));
    let options = Options {
        include_paths: vec![root.join("p4src")],
        ..Options::on_disk()
    };
    let report = judge_all(&all, &options);
    assert!(report.is_empty(), "{report}");
}

#[test]
fn bmv2_agrees_with_large_tables() {
    if let Some(tool) = missing_tool() {
        return println!("skipped: {tool} is not installed");
    }
    let program = p4test::root().join("bmv2-tests/cases/many.p4");
    let folder = tempfile::tempdir().expect("a folder");
    let case = folder.path().join("many.stf");
    std::fs::write(&case, many::case(4, 1_000, 25)).expect("a writable folder");
    let report = judge_all(&[(case, program)], &Options::on_disk());
    let first: Vec<&str> = report.lines().take(8).collect();
    assert!(first.is_empty(), "{}", first.join("\n"));
}

#[test]
fn the_runner_agrees_with_p4cs_runner() {
    let testdata = std::env::var_os("P4C_TESTDATA").map(PathBuf::from);
    let (Some(testdata), Some(_)) = (testdata, std::env::var_os("BMV2_ALL")) else {
        return println!("skipped: P4C_TESTDATA and BMV2_ALL are not both set");
    };
    if let Some(tool) = missing_tool() {
        return println!("skipped: {tool} is not installed");
    }
    let samples = testdata.join("p4_16_samples");
    let v1model = |case: &Path| {
        let program = std::fs::read_to_string(case.with_extension("p4"));
        program.is_ok_and(|text| text.contains("v1model.p4"))
    };
    let all: Vec<(PathBuf, PathBuf)> = cases(&samples)
        .into_iter()
        .filter(|case| v1model(case))
        .map(|case| (case.clone(), case.with_extension("p4")))
        .collect();
    let report = judge_all(&all, &Options::on_disk());
    print!("{report}");
    let failed = report.lines().filter(|l| !l.starts_with(' ')).count();
    println!("{} cases, {failed} lines of trouble", all.len());
}
