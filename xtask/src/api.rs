//! The public API of the crates that others may use, held against a list of it: a change of the
//! API is seen in the change that makes it.
//!
//! `rustdoc` writes an API as JSON only where unstable options are allowed. So cargo runs this
//! program in rustdoc's place, which allows them for rustdoc alone: what it builds for that is what
//! other commands build.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use public_api::Builder;

/// The crates, by folder.
const CRATES: [&str; 7] = [
    "topology", "plan", "p4front", "p4ir", "p4exec", "device", "spec",
];
/// A crate's list, in its folder.
const LIST: &str = "api.txt";
/// Set for this program where it takes the place of rustdoc: the path of the real one.
const RUSTDOC: &str = "SWITCHWRIGHT_XTASK_RUSTDOC";

/// What rustdoc is to do, if cargo runs this program in its place.
pub(crate) fn as_rustdoc() -> Option<ExitCode> {
    let rustdoc = std::env::var_os(RUSTDOC)?;
    let status = Command::new(rustdoc)
        .args(std::env::args_os().skip(1))
        .env("RUSTC_BOOTSTRAP", "1")
        .status();
    let code = status.ok().and_then(|status| status.code());
    Some(code.map_or(ExitCode::FAILURE, |code| ExitCode::from(code as u8)))
}

/// Compares the API of each crate with its list, or writes the lists.
///
/// # Errors
/// An API is not the one on record, or rustdoc failed.
pub(crate) fn run(root: &Path, bless: bool) -> Result<(), String> {
    let mut changed = Vec::new();
    for folder in CRATES {
        let Some(api) = api(root, folder)? else {
            return Ok(());
        };
        let list = root.join("crates").join(folder).join(LIST);
        if bless {
            fs::write(&list, api).map_err(|e| format!("{}: {e}", list.display()))?;
        } else if let Some(line) = difference(&fs::read_to_string(&list).unwrap_or_default(), &api)
        {
            changed.push(format!("crates/{folder}/{LIST}: {line}"));
        }
    }
    match changed.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "public APIs are not those on record; run `cargo xtask api --bless` if that is meant:\n{}",
            changed.join("\n")
        )),
    }
}

/// The first line that only one of two lists has.
fn difference(recorded: &str, api: &str) -> Option<String> {
    let only = |one: &str, other: &str| {
        let other: Vec<&str> = other.lines().collect();
        let mut lines = one.lines();
        lines.find(|line| !other.contains(line)).map(str::to_owned)
    };
    let gone = only(recorded, api).map(|line| format!("gone: {line}"));
    let new = || only(api, recorded).map(|line| format!("new: {line}"));
    let order = || (recorded != api).then(|| "another order".to_owned());
    gone.or_else(new).or_else(order)
}

/// A crate's API, a line per item; what follows from derives and from the standard library is left
/// out. `None`, with a message, where this toolchain's rustdoc writes a format that is not read.
fn api(root: &Path, folder: &str) -> Result<Option<String>, String> {
    let json = document(root, folder)?;
    let built = Builder::from_rustdoc_json(&json)
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .omit_auto_derived_impls(true)
        .build();
    match built {
        Ok(api) => Ok(Some(api.items().map(|item| format!("{item}\n")).collect())),
        Err(error) => {
            println!(
                "xtask: skipped the public APIs: the crate `public-api` does not read what this toolchain's rustdoc writes: {error}"
            );
            Ok(None)
        }
    }
}

/// Has rustdoc describe a crate; the file that it writes.
fn document(root: &Path, folder: &str) -> Result<PathBuf, String> {
    let this = std::env::current_exe().map_err(|e| format!("this program's path: {e}"))?;
    let rustdoc = std::env::var_os("RUSTDOC").unwrap_or_else(|| "rustdoc".into());
    let package = format!("switchwright-{folder}");
    let arguments = [
        "rustdoc",
        "--quiet",
        "--locked",
        "--package",
        &package,
        "--lib",
        "--",
        "-Zunstable-options",
        "--output-format=json",
        "--cap-lints=allow",
    ];
    let status = Command::new(super::cargo_program())
        .args(arguments)
        .env("RUSTDOC", this)
        .env(RUSTDOC, rustdoc)
        .current_dir(root)
        .status()
        .map_err(|e| format!("cargo did not start: {e}"))?;
    match status.success() {
        true => Ok(super::target_folder(root).join(format!("doc/{folder}.json"))),
        false => Err(format!("`cargo rustdoc --package {package}` failed")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_differs_is_named() {
        assert_eq!(difference("a\nb\n", "a\nb\n"), None);
        assert_eq!(difference("a\nb\n", "a\nc\n").unwrap(), "gone: b");
        assert_eq!(difference("a\n", "a\nc\n").unwrap(), "new: c");
        assert_eq!(difference("a\nb\n", "b\na\n").unwrap(), "another order");
    }
}
