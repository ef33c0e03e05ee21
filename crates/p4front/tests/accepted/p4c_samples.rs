//! The front end against p4c's own test programs, where they are at hand.
//!
//! Set `P4C_TESTDATA` to p4c's `testdata` folder; its `p4include` is looked for beside it. Without
//! it these tests say so and pass. `P4C_VERBOSE=1` shows every finding.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)] // helpers of tests

use std::path::{Path, PathBuf};

use p4front::ast::Program;
use p4front::diag::Diagnostics;
use p4front::source::SourceMap;
use p4front::{Builtins, Options};

fn testdata() -> Option<PathBuf> {
    let dir = std::env::var_os("P4C_TESTDATA").map(PathBuf::from);
    if dir.is_none() {
        println!("skipped: P4C_TESTDATA does not name p4c's testdata folder");
    }
    dir
}

fn options(testdata: &Path) -> Options {
    let include = testdata
        .parent()
        .map(|p| p.join("p4include"))
        .unwrap_or_default();
    let samples = testdata.join("p4_16_samples");
    Options {
        include_paths: vec![include.clone(), include.join("bmv2"), samples],
        builtins: Builtins::BeforePath,
        ..Options::on_disk()
    }
}

fn programs(folder: &Path) -> Vec<PathBuf> {
    let mut out = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(f) = folders.pop() {
        for entry in std::fs::read_dir(&f).unwrap().map(|e| e.unwrap().path()) {
            if entry.is_dir() {
                // Programs of several files keep their parts, which do not stand alone, there.
                if !entry.ends_with("include") {
                    folders.push(entry);
                }
            } else if entry.extension().is_some_and(|e| e == "p4") {
                out.push(entry);
            }
        }
    }
    out.sort();
    out
}

fn parse_file(path: &Path, options: &Options) -> (SourceMap, Program, Diagnostics) {
    let mut map = SourceMap::new();
    let file = map.load(path).unwrap();
    let (program, diags) = p4front::parse(&mut map, file, options);
    (map, program, diags)
}

/// Syntax errors are what p4c's own parser refuses; its reference output says so.
fn refused_by_p4cs_parser(outputs: &Path, program: &Path) -> bool {
    let name = program.file_name().unwrap().to_string_lossy();
    let stderr = outputs.join(format!("{name}-stderr"));
    std::fs::read_to_string(stderr).is_ok_and(|s| s.contains("syntax error"))
}

#[test]
fn every_sample_parses_and_prints_to_itself() {
    let Some(dir) = testdata() else { return };
    let options = options(&dir);
    let outputs = dir.join("p4_16_samples_outputs");
    let all = programs(&dir.join("p4_16_samples"));
    let mut bad = Vec::new();
    for path in &all {
        let (map, program, diags) = parse_file(path, &options);
        if diags.has_errors() {
            if refused_by_p4cs_parser(&outputs, path) {
                continue;
            }
            bad.push(format!("{}\n{}", path.display(), diags.render(&map)));
            continue;
        }
        let text = program.to_string();
        let mut again = SourceMap::new();
        let file = again.add("printed.p4", &text).unwrap();
        let (second, diags) = p4front::parse(&mut again, file, &Options::default());
        if diags.has_errors() {
            bad.push(format!(
                "printed {}\n{}",
                path.display(),
                diags.render(&again)
            ));
        } else if second != program {
            let pairs = program.decls.iter().zip(&second.decls);
            let differs = pairs.into_iter().find(|(a, b)| a != b);
            let shown = differs.map(|(a, b)| format!("{a}\nbecame\n{b}"));
            bad.push(format!(
                "{} changes in print\n{}",
                path.display(),
                shown.unwrap_or_default()
            ));
        }
    }
    println!(
        "{} of {} programs parse and survive printing",
        all.len() - bad.len(),
        all.len()
    );
    assert!(
        bad.is_empty(),
        "{} programs fail:\n{}",
        bad.len(),
        bad.join("\n")
    );
}

#[test]
fn what_p4cs_parser_refuses_is_refused() {
    let Some(dir) = testdata() else { return };
    let options = options(&dir);
    let outputs = dir.join("p4_16_errors_outputs");
    let all = programs(&dir.join("p4_16_errors"));
    let (mut syntactic, mut accepted, mut early) = (0, Vec::new(), Vec::new());
    for path in &all {
        let (map, _, diags) = parse_file(path, &options);
        let refused = refused_by_p4cs_parser(&outputs, path);
        syntactic += usize::from(refused);
        if refused && !diags.has_errors() {
            accepted.push(path.display().to_string());
        }
        if diags.has_errors() {
            let text = diags.render(&map);
            if std::env::var_os("P4C_VERBOSE").is_some() {
                println!("{text}");
            }
            if !refused {
                early.push(format!("{}\n{text}", path.display()));
            }
        }
    }
    println!(
        "{syntactic} of {} programs are refused by p4c's parser",
        all.len()
    );
    println!(
        "{} others are refused by ours:\n{}",
        early.len(),
        early.join("\n")
    );
    assert!(accepted.is_empty(), "accepted: {}", accepted.join("\n"));
}
