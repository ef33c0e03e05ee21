//! Crates that build for `wasm32-unknown-unknown`: a web page runs them, so they have no threads,
//! clocks, sockets or machine code.

use std::path::Path;
use std::process::{Command, Stdio};

pub(crate) const TARGET: &str = "wasm32-unknown-unknown";

/// The crates that a web page needs; what they depend on is checked with them.
const PACKAGES: [&str; 12] = [
    "switchwright-p4ir",
    "switchwright-p4front",
    "switchwright-bmv2json",
    "switchwright-entries",
    "switchwright-p4exec",
    "switchwright-device",
    "switchwright-plan",
    "switchwright-schemes",
    "switchwright-topology",
    "switchwright-simulator",
    "switchwright-stf",
    "switchwright-engine",
];

/// Checks the crates, without what their default features add.
pub(crate) fn check(root: &Path) -> Result<(), String> {
    install(root)?;
    let mut arguments = vec![
        "check",
        "--locked",
        "--target",
        TARGET,
        "--no-default-features",
    ];
    for package in PACKAGES {
        arguments.extend(["-p", package]);
    }
    crate::cargo(root, &arguments, &[])
}

/// Makes sure that the toolchain has the target's standard library; rustup fetches it if it does
/// not.
///
/// # Errors
/// Why it cannot be had: there is no rustup, or no network.
pub(crate) fn install(root: &Path) -> Result<(), String> {
    if has_target(root)? {
        return Ok(());
    }
    let rustup = Command::new("rustup")
        .args(["target", "add", TARGET])
        .current_dir(root)
        .status();
    match rustup {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err(format!("`rustup target add {TARGET}` failed")),
        Err(error) => Err(format!(
            "the toolchain has no target {TARGET}, and rustup did not start: {error}"
        )),
    }
}

fn has_target(root: &Path) -> Result<bool, String> {
    let output = Command::new(std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned()))
        .args(["--print", "target-libdir", "--target", TARGET])
        .current_dir(root)
        .stderr(Stdio::inherit())
        .output()
        .map_err(|e| format!("rustc did not start: {e}"))?;
    let place = String::from_utf8_lossy(&output.stdout);
    Ok(output.status.success() && Path::new(place.trim()).is_dir())
}
