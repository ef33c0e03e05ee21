//! How the front end agrees with p4c about p4c's own programs: what both accept, what both refuse.
//!
//! `P4C_TESTDATA=/path/to/p4c/testdata cargo test -p switchwright-p4front --test accepted
//! p4c_shares -- --nocapture` prints the shares that `docs/language.md` reports. Without
//! `P4C_TESTDATA` these tests say that they were skipped.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // helpers of tests

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use p4front::source::SourceMap;
use p4front::{Options, compile};

/// Programs of `p4_16_errors` that are accepted here: p4c's own limits, not rules of the language.
const ACCEPTED_ERRORS: [(&str, &str); 11] = [
    (
        "array4",
        "p4c's passes take no index known at run time into arrays inside arrays",
    ),
    (
        "issue-2123_e",
        "p4c's passes take no bounds known at run time in a `select`",
    ),
    (
        "issue2545",
        "p4c's passes cannot copy a nested struct out of an extern function",
    ),
    (
        "issue3299",
        "p4c's BMv2 back end has no `switch` in actions",
    ),
    (
        "issue3430",
        "p4c's passes take no masks known at run time in a `select`",
    ),
    ("issue3613", "p4c needs core.p4 to implement `switch`"),
    (
        "issue5296_invalid_version",
        "p4c accepts it too, as it is installed",
    ),
    (
        "issue5296_unknown_version",
        "p4c accepts it too, as it is installed",
    ),
    (
        "issue5703_header_union_stack",
        "p4c cannot unroll this parser",
    ),
    (
        "methodArgDontcare",
        "a number of no width where `_` left the type open: programs for Tofino have it",
    ),
    (
        "multicast-bmv2",
        "two equal actions of one name: programs translated from P4_14 have them",
    ),
];

/// Programs of `p4_16_samples` that are refused here.
const REFUSED_SAMPLES: [(&str, &str); 12] = [
    ("externArray1", "arrays of extern objects"),
    ("generic-extern-inference", "arrays of extern objects"),
    (
        "factory1",
        "extern functions called while the program is made",
    ),
    (
        "factory2",
        "extern functions called while the program is made",
    ),
    (
        "hashext3",
        "extern functions called while the program is made",
    ),
    (
        "issue1334",
        "controls and packages overloaded by parameters",
    ),
    (
        "issue3379",
        "controls and packages overloaded by parameters",
    ),
    (
        "issue3379-1",
        "controls and packages overloaded by parameters",
    ),
    ("issue3091", "lists of match kinds as arguments"),
    ("issue3238", "run-time values of type int"),
    ("parser-unroll-test1", "run-time values of type int"),
    (
        "opassign1",
        "division at run time, which p4c-bm2-ss refuses too",
    ),
];

fn testdata() -> Option<PathBuf> {
    let dir = std::env::var_os("P4C_TESTDATA").map(PathBuf::from);
    if dir.is_none() {
        println!("skipped: P4C_TESTDATA does not name p4c's testdata folder");
    }
    dir
}

/// Names of the programs in a folder, and of those that are accepted.
fn compile_all(testdata: &Path, folder: &str) -> (Vec<String>, BTreeSet<String>) {
    let include = testdata.parent().map(|p| p.join("p4include"));
    let options = Options {
        include_paths: include.into_iter().collect(),
        ..Options::on_disk()
    };
    let entries = std::fs::read_dir(testdata.join(folder)).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|e| e.unwrap().path()).collect();
    paths.retain(|p| p.extension().is_some_and(|e| e == "p4"));
    paths.sort();
    let (mut names, mut accepted) = (Vec::new(), BTreeSet::new());
    for path in paths {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let mut map = SourceMap::new();
        let main = map.load(&path).unwrap();
        if compile(&mut map, main, &options).is_ok() {
            accepted.insert(name.clone());
        }
        names.push(name);
    }
    (names, accepted)
}

/// Files of the sub-folders of a folder, at any depth.
fn below(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            below(&path, out);
        } else if path.extension().is_some_and(|e| e == "p4") {
            out.push(path);
        }
    }
}

/// Programs of the industry: fabric, DASH, PINS, up4 and others.
#[test]
fn whole_programs_in_folders_are_accepted() {
    let Some(dir) = testdata() else { return };
    let samples = dir.join("p4_16_samples");
    let mut paths = Vec::new();
    below(&samples, &mut paths);
    paths.retain(|p| p.parent() != Some(&samples));
    paths.sort();
    let include = dir.parent().map(|p| p.join("p4include"));
    let options = Options {
        include_paths: include.into_iter().collect(),
        ..Options::on_disk()
    };
    let (mut accepted, mut refused) = (0, Vec::new());
    for path in paths {
        // The others are parts that a program includes.
        let text = std::fs::read_to_string(&path).unwrap();
        if !text.contains("main;") {
            continue;
        }
        let mut map = SourceMap::new();
        let main = map.load(&path).unwrap();
        match compile(&mut map, main, &options) {
            Ok(_) => accepted += 1,
            Err(_) => refused.push(path),
        }
    }
    println!(
        "folders of p4_16_samples: {accepted} of {} accepted",
        accepted + refused.len()
    );
    assert!(refused.is_empty(), "refused: {refused:?}");
}

fn listed(list: &[(&str, &str)]) -> BTreeSet<String> {
    list.iter().map(|(name, _)| (*name).to_owned()).collect()
}

#[test]
fn what_p4c_refuses_is_refused() {
    let Some(dir) = testdata() else { return };
    let (names, accepted) = compile_all(&dir, "p4_16_errors");
    println!(
        "p4_16_errors: {} of {} refused",
        names.len() - accepted.len(),
        names.len()
    );
    let excepted = listed(&ACCEPTED_ERRORS);
    let wrong: Vec<_> = accepted.difference(&excepted).collect();
    assert!(wrong.is_empty(), "accepted: {wrong:?}");
}

#[test]
fn what_p4c_accepts_is_accepted() {
    let Some(dir) = testdata() else { return };
    let (names, accepted) = compile_all(&dir, "p4_16_samples");
    let refused: BTreeSet<String> = names
        .iter()
        .filter(|n| !accepted.contains(*n))
        .cloned()
        .collect();
    println!(
        "p4_16_samples: {} of {} accepted",
        accepted.len(),
        names.len()
    );
    let bmv2: Vec<_> = names.iter().filter(|n| n.ends_with("-bmv2")).collect();
    println!("*-bmv2: {} programs", bmv2.len());
    let excepted = listed(&REFUSED_SAMPLES);
    let wrong: Vec<_> = refused.difference(&excepted).collect();
    assert!(wrong.is_empty(), "refused: {wrong:?}");
    assert!(
        bmv2.iter().all(|n| accepted.contains(*n)),
        "all *-bmv2 are accepted"
    );
}
