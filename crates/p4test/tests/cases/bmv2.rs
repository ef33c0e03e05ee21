//! The judge of our own cases: BMv2's `simple_switch`, where it is installed, on what our compiler
//! makes of a program and, where p4c is installed, on what p4c makes of it. A case that BMv2 can
//! express must pass there too.
//!
//! With `P4C_TESTDATA`, p4c's own cases are played on what our compiler makes of its samples; with
//! `BMV2_ALL=1`, for patience, also on what p4c makes of them: that judges the runner.

#![allow(clippy::print_stdout, reason = "says what was skipped")]

use std::path::{Path, PathBuf};

use p4front::Options;
use p4test::many;
use stf::bmv2::{Compiler, Program, Trouble, is_installed, missing_tool, play};

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

fn judge(
    case: &Path,
    program: &Path,
    compiler: Compiler,
    options: &Options,
) -> Result<(), Trouble> {
    let tool = |e: &dyn std::fmt::Display| Trouble::Tool(e.to_string());
    let text = std::fs::read_to_string(case).map_err(|e| tool(&e))?;
    let parsed = stf::parse(&text).map_err(|e| tool(&e))?;
    let folder = tempfile::tempdir().map_err(|e| tool(&e))?;
    let program = Program::compile(program, compiler, options, folder.path())?;
    play(&program, &parsed)
}

/// What our compiler says of what JSON for BMv2 has no way to say.
const NOT_IN_JSON: [&str; 3] = [
    "applied at two places that go on differently",
    "a variable of type varbit outside of a header",
    "extern function `",
];

/// What playing cases came to.
#[derive(Default)]
struct Report {
    passed: usize,
    /// Names of the cases, and why.
    failed: Vec<(String, Trouble)>,
}

impl Report {
    fn text(&self) -> String {
        let lines = self.failed.iter();
        let lines = lines.map(|(name, trouble)| format!("{name}: {trouble}\n"));
        lines.collect()
    }
}

/// Plays cases, each with its program, on what a compiler makes of that; says what BMv2 cannot do.
fn judge_all(cases: &[(PathBuf, PathBuf)], compiler: Compiler, options: &Options) -> Report {
    let mut report = Report::default();
    for (case, program) in cases {
        let name = case.file_stem().unwrap_or_default().to_string_lossy();
        if let Some(why) = excuse(case) {
            println!("skipped on BMv2: {name}: {why}");
            continue;
        }
        match judge(case, program, compiler, options) {
            Ok(()) => report.passed += 1,
            Err(Trouble::Inexpressible { line, what }) => {
                println!("skipped on BMv2: {name}: line {line}: BMv2 cannot {what}");
            }
            Err(Trouble::Compile(Compiler::P4c, why))
                if why.contains("not supported by this target") =>
            {
                println!("skipped on BMv2: {name}: {why}");
            }
            // What the format cannot say, p4c refuses too.
            Err(Trouble::Compile(_, why)) if NOT_IN_JSON.iter().any(|what| why.contains(what)) => {
                println!("skipped on BMv2: {name}: {why}");
            }
            Err(trouble) => report.failed.push((name.into_owned(), trouble)),
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
    for compiler in Compiler::here() {
        let report = judge_all(&all, compiler, &options);
        println!("{} cases pass on what {compiler} makes", report.passed);
        assert!(report.failed.is_empty(), "{compiler}: {}", report.text());
    }
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
    for compiler in Compiler::here() {
        let all = [(case.clone(), program.clone())];
        let report = judge_all(&all, compiler, &Options::on_disk()).text();
        let first: Vec<&str> = report.lines().take(8).collect();
        assert!(first.is_empty(), "{compiler}: {}", first.join("\n"));
    }
}

/// p4c's cases for v1model, each with its program, and how those are read, if `P4C_TESTDATA` tells
/// where they are.
fn samples() -> Option<(Vec<(PathBuf, PathBuf)>, Options)> {
    let only = std::env::var("CASE").unwrap_or_default();
    let (cases, options) = super::p4c_samples::samples()?;
    let all = cases.into_iter();
    let all = all.filter(|case| case.to_string_lossy().contains(&only));
    let with_program = |case: PathBuf| (case.clone(), case.with_extension("p4"));
    Some((all.map(with_program).collect(), options))
}

#[test]
fn bmv2_runs_p4cs_samples_as_we_compile_them() {
    let Some((all, options)) = samples() else {
        return println!("skipped: P4C_TESTDATA does not name p4c's testdata");
    };
    if let Some(tool) = missing_tool() {
        return println!("skipped: {tool} is not installed");
    }
    let report = judge_all(&all, Compiler::Ours, &options);
    println!("{} of {} pass on simple_switch", report.passed, all.len());
    assert!(report.failed.is_empty(), "{}", report.text());
}

#[test]
fn the_runner_agrees_with_p4cs_runner() {
    let (Some((all, options)), Some(_)) = (samples(), std::env::var_os("BMV2_ALL")) else {
        return println!("skipped: P4C_TESTDATA and BMV2_ALL are not both set");
    };
    let p4c = "p4c-bm2-ss";
    let missing = missing_tool().or((!is_installed(p4c)).then_some(p4c));
    if let Some(tool) = missing {
        return println!("skipped: {tool} is not installed");
    }
    let report = judge_all(&all, Compiler::P4c, &options);
    print!("{}", report.text());
    println!("{} cases, {} with trouble", all.len(), report.failed.len());
}
