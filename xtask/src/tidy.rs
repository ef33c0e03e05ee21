//! The invariants of the repository (see "Invariants" in `ARCHITECTURE.md`), as checks over the
//! source text.
//!
//! Every ban carries its reason, and every finding names the file and the line.

use std::fs;
use std::path::{Path, PathBuf};

use crate::{circles, crates, figures, packages, references, shared, syntax, workflows};

/// Types that tell schemes apart, and the crates that may match over them.
const SCHEMES: (&[&str], &[&str]) = (
    &["FailoverScheme", "SchemeKind"],
    &[
        "crates/schemes/",
        "crates/spec/",
        "crates/p4test/",
        "figures/",
    ],
);

/// Where the compiler's lint against `unsafe` may be lifted (invariant 9).
const UNSAFE: &[&str] = &[
    "crates/linuxnet/src/",
    "crates/p4exec/src/compile/jit.rs",
    "crates/engine/src/wasm.rs",
    "crates/python/src/module.rs",
];

/// Lines after which a source file is due for a split.
const LONGEST_FILE: usize = 900;

/// Characters of the longest line of comment.
const LONGEST_COMMENT: usize = 100;

/// Runs every check; the error lists all findings.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    let mut findings = Vec::new();
    let mut files = Vec::new();
    let sources = rust_files(root);
    for file in sources.clone() {
        let text =
            fs::read_to_string(root.join(&file)).map_err(|e| format!("{}: {e}", file.display()))?;
        check_file(&file, &text, &mut findings);
        packages::check(&file, &text, &mut findings);
        let names = syntax::paths(&text).map_err(|e| format!("{}: {e}", file.display()))?;
        check_schemes(&file, &names, &mut findings);
        files.push((file, names));
    }
    circles::check(&files, &mut findings);
    references::check_all(root, &sources, &mut findings)?;
    figures::check(root, &mut findings)?;
    crates::check(root, &mut findings)?;
    shared::check(root, &mut findings)?;
    workflows::check(root, &mut findings)?;
    if findings.is_empty() {
        println!("tidy: no findings");
        return Ok(());
    }
    Err(format!(
        "tidy found {}:\n{}",
        findings.len(),
        findings.join("\n")
    ))
}

/// All Rust files of ours, relative to the root, in path order.
fn rust_files(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for top in [
        "src",
        "crates",
        "figures",
        "xtask",
        "benches",
        "fuzz/fuzz_targets",
        "tests",
    ] {
        walk(&root.join(top), &mut found);
    }
    // Code that is generated from protos (`generated/` of a crate) does not follow the rules.
    let ours = |path: &PathBuf| {
        !path
            .parent()
            .is_some_and(|folder| folder.ends_with("generated"))
    };
    let mut files: Vec<PathBuf> = found
        .into_iter()
        .filter_map(|p| p.strip_prefix(root).ok().map(Path::to_path_buf))
        .filter(ours)
        .collect();
    files.sort();
    files
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            walk(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

fn check_file(file: &Path, text: &str, findings: &mut Vec<String>) {
    let path = file.to_string_lossy().replace('\\', "/");
    if !text.trim_start().starts_with("//!") {
        findings.push(format!(
            "{path}:1: a file says in its first line what it is for (`//! ...`)"
        ));
    }
    let lines = text.lines().count();
    if lines > LONGEST_FILE {
        findings.push(format!(
            "{path}: {lines} lines; split it by construct or by concern"
        ));
    }
    check_comments(&path, text, findings);
    for (number, line) in text.lines().enumerate() {
        let lifted = line.contains("(unsafe_code") && !UNSAFE.iter().any(|at| path.starts_with(at));
        if lifted && !path.starts_with("xtask/") {
            findings.push(format!(
                "{path}:{}: `unsafe` stays in {} (invariant 9)",
                number + 1,
                UNSAFE.join(", ")
            ));
        }
    }
}

/// Finds variants of schemes outside `schemes` and `spec`: only these crates match over schemes.
fn check_schemes(file: &Path, names: &[syntax::NamedPath], findings: &mut Vec<String>) {
    let path = file.to_string_lossy().replace('\\', "/");
    let (types, crates) = SCHEMES;
    let tests = path.contains("/tests") || path.starts_with("tests/");
    if tests || crates.iter().any(|at| path.starts_with(at)) {
        return;
    }
    for name in names {
        let [before @ .., _] = &name.names[..] else {
            continue;
        };
        if let Some(found) = before.iter().find(|n| types.contains(&n.as_str())) {
            findings.push(format!(
                "{path}:{}: `{found}::`: only `schemes` and `spec` tell schemes apart",
                name.line
            ));
        }
    }
}

/// Finds lines of comment that rustfmt would break if it broke comments. Tables, code and words
/// that are longer cannot be broken.
fn check_comments(path: &str, text: &str, findings: &mut Vec<String>) {
    let mut in_code = false;
    for (number, line) in text.lines().enumerate() {
        let comment = line.trim_start();
        let Some(words) = comment.strip_prefix("//") else {
            in_code = false;
            continue;
        };
        let words = words.trim_start_matches(['/', '!']).trim();
        in_code ^= words.starts_with("```");
        let whole = in_code || words.starts_with('|') || !words.contains(' ');
        if !whole && line.chars().count() > LONGEST_COMMENT {
            findings.push(format!(
                "{path}:{}: a line of comment is longer than {LONGEST_COMMENT} characters",
                number + 1
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(path: &str, text: &str) -> Vec<String> {
        let mut found = Vec::new();
        check_file(Path::new(path), text, &mut found);
        found
    }

    #[test]
    fn a_clean_file_passes() {
        let text = "//! Proof.\nuse topology::Topology;\n";
        assert!(findings("crates/plan/src/check/mod.rs", text).is_empty());
    }

    #[test]
    fn every_folder_is_looked_into() {
        let folder = std::env::temp_dir().join(format!("tidy-{}", std::process::id()));
        let inner = folder.join("crates/p4gen/src/target");
        fs::create_dir_all(&inner).expect("a temporary folder");
        fs::write(inner.join("bad.rs"), "use std::fs;\n").expect("room");
        let found = rust_files(&folder);
        fs::remove_dir_all(&folder).expect("it is ours");
        assert_eq!(found, [Path::new("crates/p4gen/src/target/bad.rs")]);
    }

    #[test]
    fn unsafe_code_is_found_where_it_is_not_allowed() {
        let text = "//! P.\n#![allow(unsafe_code)]\n";
        assert!(!findings("crates/wire/src/lib.rs", text).is_empty());
        assert!(findings("crates/linuxnet/src/sys.rs", text).is_empty());
    }

    #[test]
    fn schemes_are_told_apart_in_two_crates() {
        let found = |path: &str, text: &str| {
            let mut findings = Vec::new();
            let names = syntax::paths(text).expect("Rust");
            check_schemes(Path::new(path), &names, &mut findings);
            findings.len()
        };
        let text = "fn f(s: S) -> bool { matches!(s, S::A) || s == schemes::FailoverScheme::Fcp }";
        assert_eq!(found("crates/plan/src/a.rs", text), 1);
        assert_eq!(found("src/cli/a.rs", "use spec::SchemeKind::Tagger;"), 1);
        assert_eq!(found("src/cli/a.rs", "use spec::SchemeKind;"), 0);
        assert_eq!(found("crates/spec/src/a.rs", text), 0);
        assert_eq!(found("crates/plan/src/check/tests.rs", text), 0);
    }

    #[test]
    fn a_file_without_a_purpose_is_found() {
        assert!(!findings("src/cli/mod.rs", "use std::fs;\n").is_empty());
    }
}
