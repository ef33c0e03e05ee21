//! Puts the page into the command (docs/adr/0012-page.md). `SWITCHWRIGHT_PAGE` says how:
//!
//! - unset: npm builds the page if npm is found; a build that fails leaves the page out, and a
//!   warning says why;
//! - `required`: the same, but without the page there is no command;
//! - `none`: the page is left out;
//! - anything else: the folder of a page that `cargo xtask page` has built.
//!
//! The page is built in `OUT_DIR` from a copy of its sources: cargo writes nothing into the
//! checkout. The engine of a page on other hosts, WebAssembly, stays out: the command is an engine
//! itself.
//!
//! It also tells the command its commit and profile, for `--version`. The same commit gives the
//! same bytes. A build for tests (profile `dev`) does not name the commit, so that a commit alone
//! compiles nothing again.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;
use std::{env, fs, io, thread};

/// The oldest Node.js that the page's tools run on.
const NODE: u32 = 20;

/// The longest that one step of npm may take: an npm without a network would try for several
/// minutes.
const LONGEST: Duration = Duration::from_secs(180);

/// The engine in WebAssembly, which the sources of the page name.
const ENGINE: &str = "src/engine.wasm";

/// What npm reads, beside `src`.
const SOURCES: [&str; 5] = [
    "index.html",
    "package.json",
    "package-lock.json",
    "tsconfig.json",
    "vite.config.ts",
];

/// A page that could not be built.
enum Missing {
    /// This machine has no npm, or the crate no sources of the page.
    Tools(String),
    /// A step failed.
    Step(String),
}

impl Missing {
    fn why(self) -> String {
        match self {
            Self::Tools(why) | Self::Step(why) => why,
        }
    }
}

impl From<io::Error> for Missing {
    fn from(error: io::Error) -> Self {
        Self::Step(error.to_string())
    }
}

fn main() -> Result<(), String> {
    println!("cargo::rerun-if-env-changed=SWITCHWRIGHT_PAGE");
    println!("cargo::rerun-if-changed=build.rs");
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("cargo sets no OUT_DIR")?);
    println!("cargo::rustc-env=SWITCHWRIGHT_BUILD={}", described(&out));
    let asked = env::var_os("SWITCHWRIGHT_PAGE").unwrap_or_default();
    let (files, absent) = match asked.to_str() {
        Some("none") => (Vec::new(), "SWITCHWRIGHT_PAGE=none".to_owned()),
        Some("required") => {
            let folder = build(&out)
                .map_err(|missing| format!("SWITCHWRIGHT_PAGE=required, but {}", missing.why()))?;
            (list(&folder)?, String::new())
        }
        Some("") => where_possible(&out)?,
        _ => {
            let folder = fs::canonicalize(&asked)
                .map_err(|e| format!("SWITCHWRIGHT_PAGE={}: {e}", asked.display()))?;
            println!("cargo::rerun-if-changed={}", folder.display());
            (list(&folder)?, String::new())
        }
    };
    let text = source(&files, &absent);
    fs::write(out.join("page.rs"), text).map_err(|e| format!("{}: {e}", out.display()))
}

/// The commit, where it is known, and the profile.
fn described(out: &Path) -> String {
    // target/PROFILE/build/PACKAGE-HASH/out
    let profile = out.ancestors().nth(3).and_then(Path::file_name);
    let profile = profile.map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    if profile == "debug" {
        return "profile dev".to_owned();
    }
    let commit = of_checkout().or_else(of_package);
    match commit {
        Some(commit) => format!("commit {commit}, profile {profile}"),
        None => format!("profile {profile}"),
    }
}

/// Digits of a commit that `--version` prints.
const DIGITS: usize = 12;

/// The commit of the checkout that this is, if it is one.
fn of_checkout() -> Option<String> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR")?);
    let mut git = root.join(".git");
    if git.is_file() {
        // A work tree names its folder: `gitdir: PATH`.
        let text = read(&git)?;
        git = root.join(text.trim().strip_prefix("gitdir: ")?);
    }
    let head = read(&git.join("HEAD"))?;
    let commit = match head.trim().strip_prefix("ref: ") {
        None => head,
        Some(name) => {
            let common = read(&git.join("commondir"));
            let common = common.map_or_else(|| git.clone(), |path| git.join(path.trim()));
            read(&common.join(name)).or_else(|| packed(&common, name))?
        }
    };
    shortened(commit.trim())
}

/// The commit of a branch among packed ones.
fn packed(git: &Path, name: &str) -> Option<String> {
    let text = read(&git.join("packed-refs"))?;
    let found = text.lines().filter_map(|line| line.split_once(' '));
    let mut found = found.filter(|(_, branch)| *branch == name);
    found.next().map(|(commit, _)| commit.to_owned())
}

/// The commit that a package was made of, as cargo writes it.
fn of_package() -> Option<String> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR")?);
    let text = read(&root.join(".cargo_vcs_info.json"))?;
    let (_, rest) = text.split_once("\"sha1\"")?;
    shortened(rest.split('"').nth(1)?)
}

fn shortened(commit: &str) -> Option<String> {
    let hexadecimal = commit.len() >= DIGITS && commit.chars().all(|c| c.is_ascii_hexdigit());
    hexadecimal.then(|| commit.chars().take(DIGITS).collect())
}

/// A file, if it is there; the build is repeated when it changes.
fn read(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    println!("cargo::rerun-if-changed={}", path.display());
    Some(text)
}

/// The files of the page if it can be built; else why it cannot.
fn where_possible(out: &Path) -> Result<(Vec<(String, PathBuf)>, String), String> {
    match build(out) {
        Ok(folder) => Ok((list(&folder)?, String::new())),
        Err(Missing::Tools(why)) => Ok((Vec::new(), why)),
        Err(Missing::Step(why)) => {
            println!("cargo::warning=the command is built without its page: {why}");
            Ok((Vec::new(), why))
        }
    }
}

/// Builds the page in `OUT_DIR` and returns its folder.
fn build(out: &Path) -> Result<PathBuf, Missing> {
    let manifest = env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default();
    let page = Path::new(&manifest).join("page");
    let sources = sources(&page)?;
    find_tools()?;
    let place = out.join("page");
    if place.exists() {
        fs::remove_dir_all(&place)?;
    }
    for source in &sources {
        let copy = place.join(source);
        fs::create_dir_all(copy.parent().unwrap_or(&place))?;
        fs::copy(page.join(source), copy)?;
    }
    fs::write(place.join(ENGINE), "")?;
    libraries(&page, &place)?;
    npm(
        &place,
        &[
            "run",
            "--silent",
            "build",
            "--",
            "--logLevel",
            "warn",
            "--configLoader",
            "runner",
        ],
    )?;
    let libraries = place.join("node_modules");
    if !libraries.is_symlink() {
        // They are large, and nothing else reads them.
        fs::remove_dir_all(libraries)?;
    }
    Ok(place.join("dist"))
}

/// The sources of the page, relative to its folder. Cargo runs this script again when one of them
/// changes.
fn sources(page: &Path) -> Result<Vec<PathBuf>, Missing> {
    if !page.join("package.json").is_file() {
        let why = format!("{} has no sources of the page", page.display());
        return Err(Missing::Tools(why));
    }
    let mut found: Vec<PathBuf> = SOURCES.iter().map(PathBuf::from).collect();
    let mut folders = vec![PathBuf::from("src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(page.join(&folder))? {
            let entry = entry?;
            let path = folder.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                folders.push(path);
            } else if path != Path::new(ENGINE) {
                found.push(path);
            }
        }
    }
    found.sort();
    for path in &found {
        println!("cargo::rerun-if-changed=page/{}", path.display());
    }
    Ok(found)
}

/// Checks that npm and a Node.js that is new enough are on `PATH`.
fn find_tools() -> Result<(), Missing> {
    let said = |tool: &str| {
        let output = Command::new(tool).arg("--version").output().ok()?;
        let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        output.status.success().then_some(said)
    };
    let missing = |tool: &str| Missing::Tools(format!("`{tool}` was not found on PATH"));
    said("npm").ok_or_else(|| missing("npm"))?;
    let node = said("node").ok_or_else(|| missing("node"))?;
    let major = node.trim_start_matches('v').split('.').next();
    match major.and_then(|major| major.parse::<u32>().ok()) {
        Some(major) if major >= NODE => Ok(()),
        _ => Err(Missing::Step(format!(
            "Node.js is {node}; the page needs {NODE} or newer"
        ))),
    }
}

/// Gives the copy the libraries that the lock file lists: those of the checkout if they are
/// complete, else npm fetches them.
fn libraries(page: &Path, place: &Path) -> Result<(), Missing> {
    // npm writes this file last.
    let installed = page.join("node_modules/.package-lock.json");
    let changed = |path: &Path| path.metadata().and_then(|file| file.modified()).ok();
    let locked = changed(&page.join("package-lock.json"));
    if changed(&installed).is_some_and(|time| Some(time) >= locked) {
        return Ok(std::os::unix::fs::symlink(
            page.join("node_modules"),
            place.join("node_modules"),
        )?);
    }
    let mut arguments = vec![
        "ci",
        // Building needs no program of a package.
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--prefer-offline",
        "--fetch-retries=1",
        "--fetch-timeout=30000",
    ];
    if env::var("CARGO_NET_OFFLINE").is_ok_and(|offline| offline == "true") {
        arguments.push("--offline");
    }
    npm(place, &arguments)
}

/// Runs npm. Its last line of output is a part of the error.
fn npm(place: &Path, arguments: &[&str]) -> Result<(), Missing> {
    let failed = |why: &str| Missing::Step(format!("`npm {}` {why}", arguments[..2].join(" ")));
    let mut child = Command::new("npm")
        .args(arguments)
        .current_dir(place)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    let (sender, said) = mpsc::channel();
    if let Some(mut output) = child.stderr.take() {
        thread::spawn(move || {
            let mut text = Vec::new();
            let _ = output.read_to_end(&mut text);
            let _ = sender.send(text);
        });
    }
    let Ok(text) = said.recv_timeout(LONGEST) else {
        let _ = child.kill();
        let _ = child.wait();
        return Err(failed(&format!(
            "was not done after {} s",
            LONGEST.as_secs()
        )));
    };
    if child.wait()?.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&text);
    let mut lines = text.lines().map(str::trim);
    let line = lines.find(|line| line.contains("error") && !line.ends_with("error"));
    let line = line.or_else(|| text.lines().map(str::trim).find(|line| !line.is_empty()));
    Err(failed(&format!(
        "failed: {}",
        line.unwrap_or("it says nothing")
    )))
}

/// The files of a page that was built, by path.
fn list(folder: &Path) -> Result<Vec<(String, PathBuf)>, String> {
    let mut files = Vec::new();
    for below in ["", "assets"] {
        let place = folder.join(below);
        let entries = fs::read_dir(&place).map_err(|e| format!("{}: {e}", place.display()))?;
        for entry in entries {
            let path = entry
                .map_err(|e| format!("{}: {e}", place.display()))?
                .path();
            if !path.is_file() || path.extension() == Some(OsStr::new("wasm")) {
                continue;
            }
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let slash = if below.is_empty() { "" } else { "/" };
            files.push((format!("{below}{slash}{name}"), path));
        }
    }
    files.sort();
    Ok(files)
}

/// The source text with the page's files.
fn source(files: &[(String, PathBuf)], absent: &str) -> String {
    let mut text =
        String::from("/// The page's files, by path.\nconst EMBEDDED: &[(&str, &[u8])] = &[\n");
    for (name, path) in files {
        let path = path.display().to_string();
        let _ = writeln!(text, "    ({name:?}, include_bytes!({path:?})),");
    }
    text.push_str("];\n/// Why there are none.\n");
    let _ = writeln!(text, "const ABSENT: &str = {absent:?};");
    text
}
