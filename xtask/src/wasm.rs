//! Crates that build for `wasm32-unknown-unknown`: a web page runs them, so they have no threads,
//! clocks, sockets or machine code.

use std::path::Path;

use crate::targets;

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
    targets::install(root, TARGET)?;
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
