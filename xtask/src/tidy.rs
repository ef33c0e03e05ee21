//! The house's invariants, as checks over the source text (see "Invariants" in `ARCHITECTURE.md`).
//!
//! Every ban carries its reason, and every finding names the file and the line.

use std::fs;
use std::path::{Path, PathBuf};

/// The rooms of the root crate in street order: a module imports only what stands to its left.
const STREET: &[&[&str]] = &[
    &["topology"],
    &["routes"],
    &["scheme", "plan"],
    &["program", "entries"],
    &["target"],
    &["simulate"],
    // The emulator plays the simulator's scenarios, with its hosts, on a real clock.
    &["emulate"],
    &["measure"],
    &["cli"],
];

/// What each of our crates may depend on among our crates.
const CRATES: &[(&str, &[&str])] = &[
    ("units", &[]),
    ("packet", &["units"]),
    ("p4ir", &["units"]),
    ("p4runtime", &["units"]),
    ("bfruntime", &["p4runtime"]),
    ("netlab", &["units"]),
    ("p4front", &["p4ir", "units"]),
    ("p4exec", &["p4ir", "packet", "units"]),
    ("device", &["p4exec", "packet", "units"]),
    (
        "switchd",
        &[
            "device",
            "p4front",
            "p4runtime",
            "netlab",
            "p4exec",
            "p4ir",
            "packet",
            "units",
        ],
    ),
];

/// Words that a part of the tree must not contain, with the reason.
struct Ban {
    /// Where the ban holds: a path prefix below the workspace root.
    within: &'static [&'static str],
    /// The forbidden words.
    words: &'static [&'static str],
    /// Why.
    reason: &'static str,
    /// Whether it also holds in build scripts and tests of crates, which talk to cargo and to the
    /// tester on standard output.
    scripts: bool,
}

impl Ban {
    fn holds_in(&self, path: &str) -> bool {
        let script = path.starts_with("crates/") && !path.contains("/src/");
        (self.scripts || !script) && self.within.iter().any(|prefix| path.starts_with(prefix))
    }
}

const BANS: &[Ban] = &[
    Ban {
        within: &["crates/device/src", "crates/p4exec/src", "src/simulate"],
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
            "crates/p4front/src/bmv2json",
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
            "crates/units",
            "crates/packet",
            "crates/p4ir",
            "crates/p4front",
            "crates/p4exec",
            "crates/device",
            "src/topology",
            "src/routes",
            "src/scheme",
            "src/plan",
            "src/program",
            "src/entries",
            "src/measure",
        ],
        words: &["tokio::"],
        reason: "only switchd, target, emulate and cli use tokio (invariant 1)",
        scripts: true,
    },
    Ban {
        within: &[
            "src/program",
            "src/entries",
            "src/target",
            "src/measure",
            "src/cli",
        ],
        words: &["HashMap", "HashSet"],
        reason: "what is written out must not depend on hash order (invariant 6)",
        scripts: true,
    },
    Ban {
        within: &[
            "src/topology",
            "src/routes",
            "src/scheme",
            "src/plan",
            "src/program",
            "src/entries",
            "src/target",
            "src/emulate",
            "src/simulate",
            "src/measure",
            "crates",
        ],
        words: &["anyhow", "miette", "println!", "eprintln!"],
        reason: "only cli prints and uses miette; libraries return errors",
        scripts: false,
    },
    Ban {
        within: &["src/plan/check"],
        words: &["crate::scheme"],
        reason: "the proof reads tables, not the planner's mind (invariant 3)",
        scripts: true,
    },
    Ban {
        within: &["src", "crates", "bmv2-tests/src", "xtask/src"],
        words: &["todo!(", "unimplemented!(", "FIXME"],
        reason: "no stub is called done",
        scripts: true,
    },
];

/// Lines after which a source file is due for a split.
const LONGEST_FILE: usize = 900;

/// Runs every check; the error lists all findings.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    let mut findings = Vec::new();
    for file in rust_files(root) {
        let text =
            fs::read_to_string(root.join(&file)).map_err(|e| format!("{}: {e}", file.display()))?;
        check_file(&file, &text, &mut findings);
    }
    check_crates(root, &mut findings)?;
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
        "bmv2-tests",
        "xtask",
        "benches",
        "fuzz/fuzz_targets",
        "tests",
    ] {
        walk(&root.join(top), &mut found);
    }
    let mut files: Vec<PathBuf> = found
        .into_iter()
        .filter_map(|p| p.strip_prefix(root).ok().map(Path::to_path_buf))
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
        if path.is_dir() && path.file_name().is_none_or(|n| n != "target") {
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
    if path.starts_with("xtask/") {
        return; // this file quotes the very words it bans
    }
    if path.ends_with("/tests.rs") || path.contains("/tests/") {
        return; // tests may look at the whole street
    }
    let room = room_of(&path);
    for (number, line) in text.lines().enumerate() {
        if line == "#[cfg(test)]" && text.lines().nth(number + 1) == Some("mod tests {") {
            break; // likewise tests beside the code, which close their file
        }
        let code = line.split("//").next().unwrap_or_default();
        let at = format!("{path}:{}", number + 1);
        check_unsafe(&path, &at, code, findings);
        for ban in BANS.iter().filter(|ban| ban.holds_in(&path)) {
            for word in ban.words.iter().filter(|w| code.contains(**w)) {
                findings.push(format!("{at}: `{word}`: {}", ban.reason));
            }
        }
        if let Some((rank, name)) = room {
            check_street(&at, rank, name, code, findings);
        }
    }
}

fn check_unsafe(path: &str, at: &str, code: &str, findings: &mut Vec<String>) {
    let opens =
        code.contains("unsafe {") || code.contains("unsafe fn") || code.contains("unsafe impl");
    let allowed = path.starts_with("crates/netlab/") || path == "crates/p4exec/src/compile/jit.rs";
    if opens && !allowed {
        findings.push(format!(
            "{at}: `unsafe` lives in netlab (and the JIT, in one file) only (invariant 9)"
        ));
    }
}

/// The rank and name of the root module that a file belongs to.
fn room_of(path: &str) -> Option<(usize, &'static str)> {
    let rest = path.strip_prefix("src/")?;
    STREET.iter().enumerate().find_map(|(rank, rooms)| {
        rooms
            .iter()
            .find(|room| rest.starts_with(&format!("{room}/")))
            .map(|room| (rank, *room))
    })
}

fn check_street(at: &str, rank: usize, name: &str, code: &str, findings: &mut Vec<String>) {
    for (other, rooms) in STREET.iter().enumerate() {
        for room in rooms.iter().filter(|r| **r != name) {
            // `program` and `entries` do not see each other; `scheme` fills the tables of `plan`.
            let sideways = other == rank && name != "scheme";
            if (other > rank || sideways) && code.contains(&format!("crate::{room}")) {
                findings.push(format!(
                    "{at}: `{name}` imports `{room}`, which does not stand to its left"
                ));
            }
        }
    }
}

/// Checks the crates' dependencies on each other.
fn check_crates(root: &Path, findings: &mut Vec<String>) -> Result<(), String> {
    for (name, allowed) in CRATES {
        let manifest = root.join("crates").join(name).join("Cargo.toml");
        let Ok(text) = fs::read_to_string(&manifest) else {
            continue;
        };
        let dependencies = text.split("[dev-dependencies]").next().unwrap_or_default();
        for (other, _) in CRATES
            .iter()
            .filter(|(other, _)| other != name && !allowed.contains(other))
        {
            if dependencies
                .lines()
                .any(|l| l.starts_with(&format!("{other} ")) || l.starts_with(&format!("{other}.")))
            {
                findings.push(format!(
                    "crates/{name}/Cargo.toml: `{name}` may not depend on `{other}`"
                ));
            }
        }
    }
    let known = fs::read_dir(root.join("crates")).map_err(|e| format!("crates/: {e}"))?;
    for entry in known.flatten().filter(|e| e.path().is_dir()) {
        let name = entry.file_name().to_string_lossy().into_owned();
        if !CRATES.iter().any(|(known, _)| *known == name) {
            findings.push(format!(
                "crates/{name}: not in tidy's list of crates; say what it may depend on"
            ));
        }
    }
    Ok(())
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
        assert!(
            findings(
                "src/plan/check/mod.rs",
                "//! Proof.\nuse crate::topology::Topology;\n"
            )
            .is_empty()
        );
    }

    #[test]
    fn an_import_against_the_street_is_found() {
        let found = findings(
            "src/topology/model.rs",
            "//! Graph.\nuse crate::plan::Tables;\n",
        );
        assert!(found[0].contains("does not stand to its left"), "{found:?}");
    }

    #[test]
    fn program_and_entries_do_not_meet() {
        assert_eq!(
            findings("src/program/mod.rs", "//! P.\nuse crate::entries::X;\n").len(),
            1
        );
        assert_eq!(
            findings("src/entries/mod.rs", "//! E.\nuse crate::program::X;\n").len(),
            1
        );
    }

    #[test]
    fn the_proof_does_not_call_the_scheme() {
        assert!(
            !findings(
                "src/plan/check/graph.rs",
                "//! G.\nuse crate::scheme::clos;\n"
            )
            .is_empty()
        );
    }

    #[test]
    fn tests_may_look_anywhere() {
        assert!(
            findings(
                "src/plan/check/tests.rs",
                "//! T.\nuse crate::scheme::clos;\n"
            )
            .is_empty()
        );
        let inline = "//! P.\n#[cfg(test)]\nmod tests {\n    use crate::scheme::clos;\n}\n";
        assert!(findings("src/plan/check/walk.rs", inline).is_empty());
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
        assert!(!findings("src/plan/mod.rs", "//! P.\nprintln!(\"x\");\n").is_empty());
        assert!(findings("crates/p4runtime/build.rs", "//! B.\nprintln!(\"x\");\n").is_empty());
        assert!(
            !findings(
                "crates/packet/src/lib.rs",
                "//! P.\nlet x = unsafe { y };\n"
            )
            .is_empty()
        );
    }

    #[test]
    fn a_file_without_a_purpose_is_found() {
        assert!(!findings("src/cli/mod.rs", "use std::fs;\n").is_empty());
    }
}
