//! What p4c compiled runs: BMv2 JSON files, read and executed against the cases of their programs.
//!
//! Set `BMV2_JSON` to a folder with JSON files and `P4C_TESTDATA` to p4c's `testdata`; every
//! `NAME.json` is run against `p4_16_samples/NAME.stf`. Without them this says so and passes.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // a test with helpers

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bmv2_tests::{build, run, stf};

/// The programs that cannot run, and why.
const EXCEPTED: [&str; 1] = [
    // Calls an extern function of its own, which simple_switch loads from a shared library.
    "extern-funcs-bmv2",
];

fn play(json: &Path, case: &Path) -> Result<(), String> {
    let text = std::fs::read_to_string(json).unwrap();
    let program = p4front::bmv2json::read(&text).map_err(|e| format!("read: {e}"))?;
    let case = stf::parse(&std::fs::read_to_string(case).unwrap());
    let case = case.map_err(|e| format!("case: {e:?}"))?;
    let program = Arc::new(program);
    for (name, mut executor) in build(&program).map_err(|e| format!("build: {e}"))? {
        run(&case, executor.as_mut()).map_err(|failures| {
            let list: Vec<String> = failures.iter().map(ToString::to_string).collect();
            format!("{name}: {}", list.join("\n    "))
        })?;
    }
    Ok(())
}

#[test]
fn compiled_programs_pass_their_cases() {
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let (Some(json), Some(testdata)) = (folder("BMV2_JSON"), folder("P4C_TESTDATA")) else {
        println!("skipped: BMV2_JSON and P4C_TESTDATA do not name folders");
        return;
    };
    let mut files: Vec<PathBuf> = std::fs::read_dir(json)
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    files.sort();
    let (mut passed, mut failed) = (0, Vec::new());
    for file in files
        .iter()
        .filter(|f| f.extension().is_some_and(|e| e == "json"))
    {
        let name = file.file_stem().unwrap().to_string_lossy();
        let case = testdata.join("p4_16_samples").join(format!("{name}.stf"));
        match play(file, &case) {
            Ok(()) => passed += 1,
            Err(why) => failed.push(format!("{name}: {why}")),
        }
    }
    println!("{passed} of {} pass", passed + failed.len());
    for f in &failed {
        println!("{f}");
    }
    let unexpected: Vec<_> = failed
        .iter()
        .filter(|f| !EXCEPTED.iter().any(|name| f.starts_with(name)))
        .collect();
    assert!(unexpected.is_empty(), "{unexpected:#?}");
}
