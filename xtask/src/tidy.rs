//! The house's invariants, as checks over the source text (see "Invariants" in `ARCHITECTURE.md`).
//!
//! Every ban carries its reason, and every finding names the file and the line.

use std::fs;
use std::path::{Path, PathBuf};

use crate::{circles, crates, figures, references, shared};

/// The order of the rooms inside a crate. Between crates Cargo keeps it.
struct Street {
    /// The folder of the crate's sources, with its last slash.
    within: &'static str,
    /// Modules, those on the left first: one imports only what stands to its left. What is not
    /// listed stands before all.
    rooms: &'static [&'static [&'static str]],
}

const STREETS: &[Street] = &[
    Street {
        within: "crates/topology/src/",
        rooms: &[&["routes"], &["generate"]],
    },
    Street {
        within: "crates/p4gen/src/",
        rooms: &[
            &["layout"],
            &["entries", "capabilities"],
            &["family"],
            &["program", "hosts"],
            &["targets"],
            &["build"],
        ],
    },
    Street {
        within: "crates/simulator/src/",
        rooms: &[&["embedded"], &["simulate"]],
    },
    Street {
        within: "crates/emulator/src/",
        rooms: &[&["drill"], &["emulate"]],
    },
];

/// The crates that may use tokio, besides the command line (invariant 1).
const ASYNC: &[&str] = &[
    "switchd",
    "p4runtime",
    "controlplane",
    "conformance",
    "emulator",
];

/// Words that a part of the tree must not contain, with the reason.
struct Ban {
    /// Where the ban holds: a path prefix below the workspace root.
    within: &'static [&'static str],
    /// The forbidden words.
    words: &'static [&'static str],
    /// Why.
    reason: &'static str,
    /// Whether it also holds in build scripts, tests of crates and tools of tests, which talk to
    /// cargo and to the tester on standard output.
    scripts: bool,
}

impl Ban {
    fn holds_in(&self, path: &str) -> bool {
        let crate_of_tests = path.starts_with("crates/p4test/");
        let of_crate = path.starts_with("crates/") || path.starts_with("figures/");
        let script = of_crate && (!path.contains("/src/") || crate_of_tests);
        (self.scripts || !script) && self.within.iter().any(|prefix| path.starts_with(prefix))
    }
}

const BANS: &[Ban] = &[
    Ban {
        within: &[
            "crates/device/src",
            "crates/p4exec/src",
            "crates/simulator/src/simulate",
        ],
        words: &[
            "Instant::now",
            "SystemTime",
            "thread::sleep",
            "std::net::Tcp",
            "std::net::Udp",
            "std::fs",
        ],
        reason: "time and packets are arguments here (invariant 1)",
        scripts: true,
    },
    Ban {
        within: &[
            "crates/bmv2json/src",
            "crates/p4front/src/lex",
            "crates/p4front/src/lib.rs",
            "crates/p4front/src/lower",
            "crates/p4front/src/p4info",
            "crates/p4front/src/parse",
            "crates/p4front/src/pp",
            "crates/p4front/src/source.rs",
        ],
        words: &["std::fs", "File::open"],
        reason: "what a client pushes must reach no file: only disk.rs opens any",
        scripts: true,
    },
    Ban {
        within: &[
            "crates/p4gen/src",
            "crates/controlplane/src",
            "crates/conformance/src",
            "crates/simulator/src/embedded",
            "crates/emulator/src/drill",
            "crates/measure/src",
            "figures/src",
            "src/cli",
        ],
        words: &["HashMap", "HashSet"],
        reason: "what is written out must not depend on hash order (invariant 6)",
        scripts: true,
    },
    Ban {
        within: &["crates", "figures"],
        words: &["anyhow", "miette", "println!", "eprintln!"],
        reason: "only cli prints; libraries return errors of their own types",
        scripts: false,
    },
    Ban {
        within: &[
            "crates/controlplane/src",
            "crates/course/src",
            "crates/emulator/src",
            "crates/engine/src",
            "crates/simulator/src",
            "crates/p4gen/src",
            "crates/plan/src",
            "crates/python/src",
            "crates/sonic/src",
            "crates/switchd/src",
            "src",
        ],
        words: &["FailoverScheme::", "SchemeKind::"],
        reason: "only `schemes` and `spec` tell schemes apart",
        scripts: false,
    },
    Ban {
        within: &["src", "crates", "figures", "xtask/src"],
        words: &["todo!(", "unimplemented!(", "FIXME"],
        reason: "no stub is called done",
        scripts: true,
    },
];

/// Lines after which a source file is due for a split.
const LONGEST_FILE: usize = 900;

/// Characters of the longest line of comment.
const LONGEST_COMMENT: usize = 100;

/// Runs every check; the error lists all findings.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    let mut findings = Vec::new();
    let mut files = Vec::new();
    for file in rust_files(root) {
        let text =
            fs::read_to_string(root.join(&file)).map_err(|e| format!("{}: {e}", file.display()))?;
        check_file(&file, &text, &mut findings);
        files.push((file, text));
    }
    circles::check(&files, &mut findings);
    references::check_all(root, &rust_files(root), &mut findings)?;
    figures::check(root, &mut findings)?;
    check_tokio(root, &mut findings)?;
    crates::check(root, &mut findings)?;
    shared::check(root, &mut findings)?;
    if findings.is_empty() {
        println!("tidy: the house is in order");
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
    // What the protos give (`generated/` of a crate) is written by no one who could keep the
    // house's habits.
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
    if path.starts_with("xtask/") {
        return; // this file quotes the very words it bans
    }
    if path.ends_with("/tests.rs") || path.contains("/tests/") {
        return; // tests may look at the whole street
    }
    for (number, line) in text.lines().enumerate() {
        if line == "#[cfg(test)]" && text.lines().nth(number + 1) == Some("mod tests {") {
            break; // likewise tests beside the code, which close their file
        }
        let code = line.split("//").next().unwrap_or_default();
        let at = format!("{path}:{}", number + 1);
        check_unsafe(&path, &at, code, findings);
        check_street(&path, &at, code, findings);
        for ban in BANS.iter().filter(|ban| ban.holds_in(&path)) {
            for word in ban.words.iter().filter(|w| code.contains(**w)) {
                findings.push(format!("{at}: `{word}`: {}", ban.reason));
            }
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

fn check_unsafe(path: &str, at: &str, code: &str, findings: &mut Vec<String>) {
    let opens =
        code.contains("unsafe {") || code.contains("unsafe fn") || code.contains("unsafe impl");
    let allowed = path.starts_with("crates/linuxnet/")
        || path == "crates/p4exec/src/compile/jit.rs"
        || path == "crates/python/src/module.rs";
    if opens && !allowed {
        findings.push(format!(
            "{at}: `unsafe` lives in linuxnet (and the JIT, in one file; the wheel's module, in one; and the names of three functions) only (invariant 9)"
        ));
    }
}

fn check_street(path: &str, at: &str, code: &str, findings: &mut Vec<String>) {
    for street in STREETS {
        let Some(rest) = path.strip_prefix(street.within) else {
            continue;
        };
        let name = rest.split(['/', '.']).next().unwrap_or_default();
        let own = street.rooms.iter().position(|rooms| rooms.contains(&name));
        for (rank, rooms) in street.rooms.iter().enumerate() {
            for room in rooms.iter().filter(|room| **room != name) {
                let to_the_left = own.is_some_and(|own| rank < own);
                if !to_the_left && code.contains(&format!("crate::{room}::")) {
                    findings.push(format!(
                        "{at}: `{name}` imports `{room}`, which does not stand to its left"
                    ));
                }
            }
        }
    }
}

/// Checks that tokio is used only where it may be.
fn check_tokio(root: &Path, findings: &mut Vec<String>) -> Result<(), String> {
    let folders = fs::read_dir(root.join("crates")).map_err(|e| format!("crates/: {e}"))?;
    for folder in folders.flatten().filter(|e| e.path().is_dir()) {
        let name = folder.file_name().to_string_lossy().into_owned();
        let text = fs::read_to_string(folder.path().join("Cargo.toml")).unwrap_or_default();
        if uses_tokio(&text) && !ASYNC.contains(&name.as_str()) {
            findings.push(format!(
                "crates/{name}/Cargo.toml: only {} and the command line use tokio (invariant 1)",
                ASYNC.join(", ")
            ));
        }
    }
    Ok(())
}

/// Whether a manifest has tokio among its dependencies, those of tests left out.
fn uses_tokio(manifest: &str) -> bool {
    let mut section = "";
    manifest.lines().any(|line| {
        if line.starts_with('[') {
            section = line;
        }
        section == "[dependencies]" && line.starts_with("tokio ")
    })
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
    fn an_import_against_the_street_is_found() {
        for (path, import, count) in [
            ("crates/topology/src/model.rs", "crate::routes::Route", 1),
            (
                "crates/topology/src/routes/set.rs",
                "crate::model::Topology",
                0,
            ),
            ("crates/p4gen/src/entries/mod.rs", "crate::family::X", 1),
            ("crates/p4gen/src/family/mod.rs", "crate::entries::X", 0),
            ("crates/p4gen/src/targets/mod.rs", "crate::build::X", 1),
            ("crates/p4gen/src/entries/mod.rs", "crate::layout::X", 0),
            ("crates/p4gen/src/layout/mod.rs", "crate::build::X", 1),
        ] {
            let found = findings(path, &format!("//! A room.\nuse {import};\n"));
            assert_eq!(found.len(), count, "{path} {import}: {found:?}");
        }
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
    fn what_tests_need_does_not_count() {
        assert!(uses_tokio("[dependencies]\ntokio = { workspace = true }\n"));
        assert!(!uses_tokio(
            "[dependencies]\n[dev-dependencies]\ntokio = 1\n"
        ));
    }

    #[test]
    fn tests_may_have_what_is_banned() {
        assert!(
            findings(
                "crates/p4gen/src/tests.rs",
                "//! T.\nuse std::collections::HashMap;\n"
            )
            .is_empty()
        );
        let inline = "//! P.\n#[cfg(test)]\nmod tests {\n    use std::collections::HashMap;\n}\n";
        assert!(findings("crates/p4gen/src/walk.rs", inline).is_empty());
        let outside = "//! P.\nuse std::collections::HashMap;\n";
        assert!(!findings("crates/p4gen/src/walk.rs", outside).is_empty());
    }

    #[test]
    fn clocks_prints_and_unsafe_are_found() {
        assert!(
            !findings(
                "crates/device/src/lib.rs",
                "//! D.\nlet t = Instant::now();\n"
            )
            .is_empty()
        );
        assert!(!findings("crates/plan/src/lib.rs", "//! P.\nprintln!(\"x\");\n").is_empty());
        assert!(findings("crates/p4runtime/build.rs", "//! B.\nprintln!(\"x\");\n").is_empty());
        assert!(!findings("crates/wire/src/lib.rs", "//! P.\nlet x = unsafe { y };\n").is_empty());
    }

    #[test]
    fn a_file_without_a_purpose_is_found() {
        assert!(!findings("src/cli/mod.rs", "use std::fs;\n").is_empty());
    }
}
