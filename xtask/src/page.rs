//! The page: its engine as WebAssembly, its files by npm, and its tests in Chromium.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::{targets, wasm};

/// What the engine runs through with every packet; the rest of a development build is as it is for
/// tests, which have built most of what builds it; the networks that tests of the page plan and
/// prove are small.
const FAST: [&str; 4] = ["device", "simulator", "p4exec", "wire"];

/// Cargo's profile of the engine that is distributed.
const RELEASE: &str = "page";

/// Builds the page into `page/dist`.
///
/// # Errors
/// What is missing, or what failed.
pub(crate) fn build(root: &Path, release: bool) -> Result<(), String> {
    if let Some(missing) = missing() {
        return Err(missing);
    }
    engine(root, release)?;
    libraries(root)?;
    let page = root.join("page");
    npm(&page, &["run", "--silent", "check"])?;
    npm(
        &page,
        &["run", "--silent", "build", "--", "--logLevel", "warn"],
    )
}

/// What the page is made with, as its lock file has it.
fn libraries(root: &Path) -> Result<(), String> {
    let page = root.join("page");
    if page.join("node_modules/.package-lock.json").exists() {
        return Ok(());
    }
    npm(&page, &["ci", "--no-audit", "--no-fund"])
}

/// The engine of the page.
fn engine(root: &Path, release: bool) -> Result<(), String> {
    targets::install(root, wasm::TARGET)?;
    let mut arguments = vec![
        "rustc",
        "--locked",
        "-p",
        "switchwright-engine",
        "--lib",
        "--crate-type",
        "cdylib",
        "--no-default-features",
        "--target",
        wasm::TARGET,
    ];
    let fast = FAST.map(|name| format!("profile.dev.package.switchwright-{name}.opt-level=2"));
    if release {
        arguments.extend(["--profile", RELEASE]);
    } else {
        for option in &fast {
            arguments.extend(["--config", option]);
        }
    }
    arguments.extend(["--", "-C", "strip=symbols"]);
    crate::cargo(root, &arguments, &[])?;
    let profile = if release { RELEASE } else { "debug" };
    let made = crate::target_folder(root).join(wasm::TARGET).join(profile);
    let made = made.join("engine.wasm");
    let place = root.join("page/src/engine.wasm");
    fs::copy(&made, &place)
        .map(drop)
        .map_err(|e| format!("{} to {}: {e}", made.display(), place.display()))
}

/// Tests the page that was built, with the command of the development build as its other engine.
///
/// # Errors
/// A test failed.
pub(crate) fn test(root: &Path) -> Result<(), String> {
    crate::cargo(root, &["build", "--locked", "--bin", "switchwright"], &[])?;
    test_built(root)
}

/// The same with the command as it was built last: tests have just built theirs.
fn test_built(root: &Path) -> Result<(), String> {
    let command = crate::target_folder(root).join("debug/switchwright");
    println!("xtask: npm test, with {}", command.display());
    // The page itself, then the pages that commands write.
    for script in ["test", "test:reports"] {
        let mut test = Command::new("npm");
        test.args(["run", "--silent", script]);
        test.env("SWITCHWRIGHT", &command);
        let said = format!("npm run {script}");
        finish(test.current_dir(root.join("page")), &said)?;
    }
    Ok(())
}

/// Makes sure that the page can be built here.
///
/// # Errors
/// What it takes and is not to be had.
pub(crate) fn ready(root: &Path) -> Result<(), String> {
    missing().map_or(Ok(()), Err)?;
    targets::install(root, wasm::TARGET)?;
    libraries(root).map_err(|why| format!("its libraries cannot be had: {why}"))
}

/// Tests the page and the command that were built where Chromium is found; says so where it is not.
///
/// # Errors
/// A test failed.
pub(crate) fn test_where_possible(root: &Path) -> Result<(), String> {
    if runs("chromium") || std::env::var_os("CHROMIUM").is_some() {
        test_built(root)
    } else {
        println!("xtask: skipped the tests of the page: `chromium` is not on PATH");
        Ok(())
    }
}

/// The oldest Node.js that the page's tools run on.
const NODE: u32 = 20;

/// What is missing of the tools that build the page.
pub(crate) fn missing() -> Option<String> {
    let takes = format!("the page is built by Node.js {NODE} or newer with its npm");
    if let Some(missing) = ["node", "npm"].into_iter().find(|tool| !runs(tool)) {
        return Some(format!("`{missing}` is not on PATH: {takes}"));
    }
    let said = Command::new("node").arg("--version").output().ok()?;
    let said = String::from_utf8_lossy(&said.stdout).trim().to_owned();
    let major = said.trim_start_matches('v').split('.').next();
    let new = major.and_then(|major| major.parse().ok()) >= Some(NODE);
    (!new).then(|| format!("Node.js here is {said}: {takes}"))
}

fn runs(tool: &str) -> bool {
    let started = Command::new(tool)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    started.is_ok_and(|status| status.success())
}

fn npm(page: &Path, arguments: &[&str]) -> Result<(), String> {
    let said = format!("npm {}", arguments.join(" "));
    println!("xtask: {said}");
    finish(Command::new("npm").args(arguments).current_dir(page), &said)
}

/// Runs what is called `said`.
fn finish(command: &mut Command, said: &str) -> Result<(), String> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err(format!("`{said}` failed")),
        Err(error) => Err(format!("npm did not start: {error}")),
    }
}
