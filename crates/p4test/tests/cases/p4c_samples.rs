//! p4c's own STF cases for v1model, where they are at hand: set `P4C_TESTDATA` to p4c's `testdata`
//! folder. Prints how many pass, and with `P4C_VERBOSE=1` why the others do not.

#![allow(clippy::print_stdout, reason = "the count is what this test is for")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use p4front::{Builtins, Options};
use p4test::{build, compile};

/// Cases that must pass; raised as the front end and the executors grow.
const GOAL: usize = 190;

/// Those that must pass when the program is written as JSON for BMv2 and read back.
const JSON_GOAL: usize = 189;

fn cases(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut cases: Vec<PathBuf> = entries
        .filter_map(|entry| entry.ok().map(|e| e.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "stf"))
        .filter(|path| {
            let program = std::fs::read_to_string(path.with_extension("p4"));
            program.is_ok_and(|text| text.contains("v1model.p4"))
        })
        .collect();
    cases.sort();
    cases
}

/// The cases of p4c's samples, and how their programs are read, if `P4C_TESTDATA` tells where they
/// are.
pub(super) fn samples() -> Option<(Vec<PathBuf>, Options)> {
    let testdata = std::env::var_os("P4C_TESTDATA").map(PathBuf::from)?;
    let include = testdata
        .parent()
        .map(|p| p.join("p4include"))
        .unwrap_or_default();
    let samples = testdata.join("p4_16_samples");
    let options = Options {
        include_paths: vec![include.clone(), include.join("bmv2"), samples.clone()],
        builtins: Builtins::BeforePath,
        ..Options::on_disk()
    };
    Some((cases(&samples), options))
}

/// Whether a program uses what core.p4 has and nothing of the architecture but its blocks: no
/// extern object, no extern function. Its text form says so.
fn is_core_only(path: &Path, options: &Options) -> bool {
    let program = compile(&path.with_extension("p4"), options);
    program.is_ok_and(|p| !p.to_string().contains("extern "))
}

fn play(path: &Path, options: &Options) -> Result<(), String> {
    let text = std::fs::read_to_string(path).map_err(|e| e.to_string())?;
    let case = stf::parse(&text).map_err(|e| format!("case: {e}"))?;
    let program =
        compile(&path.with_extension("p4"), options).map_err(|e| format!("front end: {e}"))?;
    for (name, mut executor) in build(&program).map_err(|e| format!("build: {e}"))? {
        if let Err(failures) = stf::run(&case, executor.as_mut()) {
            let lines: Vec<String> = failures.iter().map(ToString::to_string).collect();
            return Err(format!("{name}: {}", lines.join("\n    ")));
        }
    }
    Ok(())
}

/// What playing a case on a program that went through BMv2's JSON comes to; none where the front
/// end or the case fails.
fn play_through_json(path: &Path, options: &Options) -> Option<Result<(), String>> {
    let case = stf::parse(&std::fs::read_to_string(path).ok()?).ok()?;
    let program = compile(&path.with_extension("p4"), options).ok()?;
    let text = match bmv2json::write(&program, "sample") {
        Ok(text) => text,
        Err(error) => return Some(Err(format!("write: {error}"))),
    };
    let read = match bmv2json::read(&text) {
        Ok(read) => Arc::new(read),
        Err(error) => return Some(Err(format!("read: {error}"))),
    };
    let built = match build(&read) {
        Ok(built) => built,
        Err(error) => return Some(Err(format!("build: {error}"))),
    };
    for (name, mut executor) in built {
        if let Err(failures) = stf::run(&case, executor.as_mut()) {
            let lines: Vec<String> = failures.iter().map(ToString::to_string).collect();
            return Some(Err(format!("{name}: {}", lines.join("\n    "))));
        }
    }
    Some(Ok(()))
}

#[test]
fn p4c_cases_pass_by_way_of_json() {
    let Some((cases, options)) = samples() else {
        println!("skipped: P4C_TESTDATA does not name p4c's testdata");
        return;
    };
    let (mut passed, mut failed) = (0, Vec::new());
    for path in &cases {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let outcome = catch_unwind(AssertUnwindSafe(|| play_through_json(path, &options)));
        match outcome.unwrap_or_else(|_| Some(Err("PANIC".into()))) {
            Some(Ok(())) => passed += 1,
            Some(Err(why)) => failed.push(format!("{name}: {why}")),
            None => {}
        }
    }
    println!("{passed} of {} pass by way of JSON", passed + failed.len());
    for why in &failed {
        println!("FAIL {why}");
    }
    assert!(
        passed >= JSON_GOAL,
        "{passed} pass where {JSON_GOAL} should"
    );
}

#[test]
fn p4c_cases_pass() {
    let Some((cases, options)) = samples() else {
        println!("skipped: P4C_TESTDATA does not name p4c's testdata");
        return;
    };
    let verbose = std::env::var_os("P4C_VERBOSE").is_some();
    let (mut passed, mut core, mut core_passed) = (0, 0, 0);
    for path in &cases {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let outcome = catch_unwind(AssertUnwindSafe(|| play(path, &options)))
            .unwrap_or_else(|_| Err("PANIC".into()));
        let is_core = is_core_only(path, &options);
        core += usize::from(is_core);
        core_passed += usize::from(is_core && outcome.is_ok());
        match outcome {
            Ok(()) => passed += 1,
            Err(why) if verbose => println!("FAIL {name}\n    {why}"),
            Err(_) => println!("FAIL {name}"),
        }
    }
    println!("{passed} of {} v1model cases of p4c pass", cases.len());
    println!("{core_passed} of {core} that use core features only pass");
    assert_eq!(core_passed, core, "all that use core features only pass");
    assert!(passed >= GOAL, "{passed} pass where {GOAL} should");
}
