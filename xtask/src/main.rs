//! `cargo xtask`: the chores of the repository.
//!
//! - `cargo xtask test` — all tests, by nextest where it is found.
//! - `cargo xtask ci [--shared]` — what CI runs beside the tests: format, tidy, clippy, the book,
//!   the page and the wheel, counts. With `--shared`, after `cargo xtask test`, it is an error that
//!   the wheel compiles once more what tests have built.
//! - `cargo xtask nightly` — what takes too long for every change: tests of large cases, and every
//!   crate built from its package.
//! - `cargo xtask api [--bless]` — hold the public API of the crates that others may use against
//!   the lists `crates/*/api.txt`; with `--bless` write these.
//! - `cargo xtask package` — package every crate and build it from its package.
//! - `cargo xtask tidy` — only the invariants (see `ARCHITECTURE.md`).
//! - `cargo xtask wasm` — only whether the crates that a web page needs build for WebAssembly.
//! - `cargo xtask page [--release]` — build the page and its engine into `page/dist` (needs npm);
//!   with `--release` for others to visit.
//! - `cargo xtask page-test` — the page in Chromium, on both engines.
//! - `cargo xtask book` — check the links of all documents, and build the book of `docs/` into
//!   `target/book` where mdBook is installed.
//! - `cargo xtask wheel` — build the wheel as tests have built most of it (needs Python with
//!   maturin), install it into a fresh environment and try it there.
//! - `cargo xtask release [STEP...] [--profile NAME] [--python PYTHON]...` — make and try the files
//!   of a release: static binaries (`binary`), a Debian package (`deb`), a wheel (`wheel`), both
//!   first in a bare Debian (`bare`), their sums (`sums`). Without steps, all that this machine has
//!   the tools for.
//! - `cargo xtask bless [--picture]` — rewrite the goldens (snapshots and `p4src/generated/`) and
//!   the picture of the crates; with `--picture` only the picture.
//! - `cargo xtask counts [--bless]` — instructions that kernels take (needs valgrind), beside those
//!   on record in `benches/counts.json`; with `--bless` they are put on record.
//! - `cargo xtask corpus DIR... [--only NAME]... [--json]` — every command held against every other
//!   on programs of public repositories, whose checkouts lie in the folders; `xtask/corpus.json`
//!   lists them and what is known of them.
//! - `cargo xtask figures [FOLDER]` — what documents say of the papers' figures, from what
//!   `switchwright reproduce --out FOLDER` has made. `figures --check FOLDER` holds such a folder
//!   against what is on record.
//! - `cargo xtask fuzz TARGET [--seconds N] [--seed N]` — mutate a fuzz target's corpus, on any
//!   toolchain.
//! - `cargo xtask differ [--packets N] [--seed N] [PROGRAM...]` — random packets and entries on
//!   both executors.
//! - `cargo xtask differ --statements N [--seed N] [--judged N] [--jobs N]` — random programs, on
//!   both executors and other switches.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod api;
mod book;
#[cfg(test)]
mod build_script;
mod circles;
mod corpus;
mod counts;
mod crates;
mod figures;
mod nextest;
mod packages;
mod page;
mod processes;
mod references;
mod release;
mod serve;
mod shared;
mod skipped;
mod steps;
mod syntax;
mod targets;
mod tidy;
mod wasm;
mod wheel;
mod workflows;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use steps::Steps;

/// All tasks.
const TASKS: [&str; 18] = [
    "test",
    "ci",
    "nightly",
    "tidy",
    "api",
    "package",
    "book",
    "wasm",
    "page",
    "page-test",
    "wheel",
    "release",
    "bless",
    "counts",
    "corpus",
    "figures",
    "fuzz",
    "differ",
];

fn main() -> ExitCode {
    if let Some(code) = api::as_rustdoc() {
        return code;
    }
    let task = std::env::args().nth(1).unwrap_or_default();
    let root = workspace_root();
    let done = match task.as_str() {
        "test" => timed(|steps| test(&root, steps)),
        "ci" => timed(|steps| ci(&root, steps, std::env::args().any(|a| a == wheel::SHARED))),
        "tidy" => tidy::run(&root),
        "api" => api::run(&root, std::env::args().any(|a| a == "--bless")),
        "book" => book::run(&root),
        "package" => packages::run(&root, true),
        "nightly" => timed(|steps| nightly(&root, steps)),
        "wasm" => wasm::check(&root),
        "page" => page::build(&root, std::env::args().any(|a| a == "--release")),
        "page-test" => page::build(&root, false).and_then(|()| page::test(&root)),
        "wheel" => wheel::build_and_test(&root),
        "release" => {
            let words: Vec<String> = std::env::args().skip(2).collect();
            release::run(&root, &words)
        }
        "bless" if std::env::args().any(|a| a == "--picture") => crates::bless(&root),
        "bless" => crates::bless(&root).and_then(|()| {
            cargo(
                &root,
                &["test", "--workspace"],
                &[("INSTA_UPDATE", "always"), ("BLESS", "1")],
            )
        }),
        "counts" => counts::run(&root, std::env::args().any(|a| a == "--bless")),
        "corpus" => corpus::run(&root, &std::env::args().skip(2).collect::<Vec<_>>()),
        "figures" => match std::env::args().nth(2).as_deref() {
            Some("--check") => figures::compare(&root, std::env::args().nth(3).as_deref()),
            folder => figures::write(&root, folder),
        },
        "fuzz" | "differ" => tool(&root, &task),
        other => Err(format!(
            "unknown task `{other}`; there are: {}",
            TASKS.join(", ")
        )),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("xtask: {why}");
            ExitCode::FAILURE
        }
    }
}

/// The checkout that this binary was built from.
fn workspace_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .map(Path::to_path_buf)
        .unwrap_or_default()
}

/// Where cargo puts what it builds.
fn target_folder(root: &Path) -> PathBuf {
    root.join(std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
}

/// Runs steps and says how long each took.
fn timed(work: impl FnOnce(&mut Steps) -> Result<(), String>) -> Result<(), String> {
    let mut steps = Steps::default();
    let done = work(&mut steps);
    println!("xtask: {}", steps.describe());
    done
}

/// All tests: by nextest where it is found, else by cargo.
fn test(root: &Path, steps: &mut Steps) -> Result<(), String> {
    let build = ["test", "--workspace", "--locked", "--no-run", "--quiet"];
    steps.take("building tests", || cargo(root, &build, &[]))?;
    steps.take("tests", || match nextest::is_found() {
        true => nextest::run(root),
        false => skipped::run(root),
    })
}

/// What takes too long for every change: tests of large cases, and every crate built from its
/// package.
fn nightly(root: &Path, steps: &mut Steps) -> Result<(), String> {
    let large = ["test", "--workspace", "--locked", "--no-fail-fast"];
    let all = [
        steps.take("large tests", || {
            cargo(root, &large, &[("LARGE_TESTS", "1")])
        }),
        steps.take("packages", || packages::run(root, true)),
    ];
    let failed: Vec<String> = all.into_iter().filter_map(Result::err).collect();
    match failed.is_empty() {
        true => Ok(()),
        false => Err(failed.join("; ")),
    }
}

/// Every other check that a change has to pass. One that fails hides nothing of the others.
fn ci(root: &Path, steps: &mut Steps, shared: bool) -> Result<(), String> {
    let all = [
        steps.take("format", || cargo(root, &["fmt", "--all", "--check"], &[])),
        steps.take("tidy", || tidy::run(root)),
        steps.take("clippy", || clippy(root)),
        steps.take("book", || book::run(root)),
        steps.take("package", || packages::run(root, false)),
        steps.take("public API", || api::run(root, false)),
        page_or_engine(root, steps),
        steps.take("wheel", || wheel::test(root, shared)),
        steps.take("counts", || counts::test(root)),
    ];
    let failed: Vec<String> = all.into_iter().filter_map(Result::err).collect();
    match failed.is_empty() {
        true => Ok(()),
        false => Err(failed.join("; ")),
    }
}

/// The page, built and tried, where its tools are found; else whether its engine builds, which is a
/// part of that.
fn page_or_engine(root: &Path, steps: &mut Steps) -> Result<(), String> {
    match page::ready(root) {
        Ok(()) => steps.take("page", || {
            page::build(root, false)?;
            page::test_where_possible(root)
        }),
        Err(why) => steps.take("WebAssembly", || {
            println!("xtask: skipped the page and its tests: {why}");
            match targets::install(root, wasm::TARGET) {
                Ok(()) => wasm::check(root),
                Err(why) => {
                    println!("xtask: skipped the check for WebAssembly: {why}");
                    Ok(())
                }
            }
        }),
    }
}

/// Clippy over everything, with what is empty without its feature: the wheel's module. It is for
/// any Python, so none is asked.
fn clippy(root: &Path) -> Result<(), String> {
    let feature = format!("{}/{}", wheel::PACKAGE, wheel::FEATURE);
    let arguments = [
        "clippy",
        "--workspace",
        "--all-targets",
        "--locked",
        "--features",
        &feature,
        "--",
        "-D",
        "warnings",
    ];
    cargo(root, &arguments, &[("PYO3_NO_PYTHON", "1")])
}

/// Runs a tool of `p4test`, optimised, with the rest of the command line.
fn tool(root: &Path, name: &str) -> Result<(), String> {
    let rest: Vec<String> = std::env::args().skip(2).collect();
    let mut arguments = vec![
        "run",
        "--release",
        "-q",
        "-p",
        "switchwright-p4test",
        "--bin",
        name,
        "--",
    ];
    arguments.extend(rest.iter().map(String::as_str));
    cargo(root, &arguments, &[])
}

/// The cargo that runs this.
fn cargo_program() -> String {
    std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned())
}

/// What a cargo command says of the checkout.
fn ask_cargo(root: &Path, command: &str, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(cargo_program())
        .arg(command)
        .args(arguments)
        .current_dir(root)
        .output()
        .map_err(|e| format!("cargo did not start: {e}"))?;
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() {
        Ok(said(&output.stdout))
    } else {
        Err(format!(
            "`cargo {command}` failed: {}",
            said(&output.stderr)
        ))
    }
}

/// Runs one cargo command in the checkout, inheriting the terminal.
fn cargo(root: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Result<(), String> {
    println!("xtask: cargo {}", arguments.join(" "));
    let status = Command::new(cargo_program())
        .args(arguments)
        .envs(environment.iter().copied())
        .current_dir(root)
        .status()
        .map_err(|e| format!("cargo did not start: {e}"))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("`cargo {}` failed", arguments.join(" ")))
    }
}
