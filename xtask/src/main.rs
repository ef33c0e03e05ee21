//! `cargo xtask`: the chores of the repository.
//!
//! - `cargo xtask test` — everything CI runs: format, tidy, clippy, all tests.
//! - `cargo xtask tidy` — only the house's invariants (see `ARCHITECTURE.md`).
//! - `cargo xtask bless` — rewrite the goldens (snapshots and `p4src/generated/`).
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod tidy;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let task = std::env::args().nth(1).unwrap_or_default();
    let root = workspace_root();
    let done = match task.as_str() {
        "test" => test(&root),
        "tidy" => tidy::run(&root),
        "bless" => cargo(
            &root,
            &["test", "--workspace"],
            &[("INSTA_UPDATE", "always"), ("BLESS", "1")],
        ),
        other => Err(format!(
            "unknown task `{other}`; there are: test, tidy, bless"
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

/// Every check that a change has to pass, cheapest first.
fn test(root: &Path) -> Result<(), String> {
    cargo(root, &["fmt", "--all", "--check"], &[])?;
    tidy::run(root)?;
    cargo(
        root,
        &[
            "clippy",
            "--workspace",
            "--all-targets",
            "--locked",
            "--",
            "-D",
            "warnings",
        ],
        &[],
    )?;
    cargo(root, &["test", "--workspace", "--locked"], &[])
}

/// Runs one cargo command in the checkout, inheriting the terminal.
fn cargo(root: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Result<(), String> {
    println!("xtask: cargo {}", arguments.join(" "));
    let program = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let status = Command::new(program)
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
