//! The wheel: built by maturin, installed into a fresh environment of Python, and tried there.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::serve;

/// The crate of the wheel.
pub(crate) const PACKAGE: &str = "switchwright-python";

/// What makes the crate the module.
pub(crate) const FEATURE: &str = "extension";

/// The crate's features for tests: libraries then have the features that they have in tests, which
/// have built them.
pub(crate) const OF_TESTS: [&str; 2] = [FEATURE, "shared"];

/// The option with which the wheel compiles nothing once more.
pub(crate) const SHARED: &str = "--shared";

/// Names the Python that has what makes and tries the wheel.
const TOOLS: &str = "WHEEL_TOOLS";

/// What a first plan takes, from the wheel on.
const FIRST_PLAN: &str = "import switchwright; plan = switchwright.Topology.jellyfish(switches=20, ports=8, fabric_ports=4).plan(); assert plan.proven, plan.check(); print('xtask: the first plan:', plan)";

/// The platform of released wheels: Linux with glibc 2.28 or newer.
const PLATFORM: &str = "manylinux_2_28";

/// Python with the tools.
struct Python {
    program: PathBuf,
    /// The places of its modules, for environments that have none of them.
    modules: String,
    /// The folder of its programs.
    scripts: String,
}

/// What a wheel is for.
#[derive(Clone, Copy)]
enum Purpose<'a> {
    /// Tests, which have built most of it.
    Tests,
    /// Others: it is built with this profile.
    Release(&'a str),
}

/// Builds the wheel as tests have built most of it, and tries it.
///
/// # Errors
/// What is missing, or what failed.
pub(crate) fn build_and_test(root: &Path) -> Result<(), String> {
    let python = python().map_err(|missing| named(&missing, "wheel"))?;
    let made = build(root, &python, Purpose::Tests)?;
    try_out(root, &python, &made.wheel)
}

/// What is missing of the tools that build the wheel of a release.
pub(crate) fn missing() -> Option<String> {
    python()
        .err()
        .map(|missing| named(&missing, "release wheel"))
}

fn named(missing: &str, task: &str) -> String {
    format!("{missing}; name a Python that has maturin: `{TOOLS}=PYTHON cargo xtask {task}`")
}

/// Builds the wheel that others install, and tries it outside the checkout: in the versions of
/// Python that are named, or in the one that has maturin.
///
/// # Errors
/// What is missing, or what failed.
pub(crate) fn release(root: &Path, profile: &str, pythons: &[PathBuf]) -> Result<PathBuf, String> {
    let python = python()?;
    let made = build(root, &python, Purpose::Release(profile))?;
    let own = [python.program];
    let pythons = if pythons.is_empty() { &own } else { pythons };
    for (number, python) in pythons.iter().enumerate() {
        let name = format!("switchwright-wheel-{}-{number}", std::process::id());
        let place = std::env::temp_dir().join(name);
        let tried = try_outside(root, &place, python, &made.wheel);
        let _ = fs::remove_dir_all(&place);
        tried?;
    }
    Ok(made.wheel)
}

/// Installs the wheel into an environment at `place`, runs its tests there and fetches the page
/// from its command.
fn try_outside(root: &Path, place: &Path, python: &Path, wheel: &Path) -> Result<(), String> {
    fs::create_dir_all(place).map_err(|e| format!("{}: {e}", place.display()))?;
    let mut make = Command::new(python);
    run(place, make.args(["-m", "venv", "environment"]))?;
    let inside = place.join("environment/bin");
    let python = || Command::new(inside.join("python"));
    let mut install = python();
    install.args(["-m", "pip", "install", "--quiet", "--no-index", "--no-deps"]);
    run(place, install.arg(wheel))?;
    run(place, python().arg("--version"))?;
    run(place, python().args(["-c", FIRST_PLAN]))?;
    run(place, python().arg(root.join("crates/python/tests/run.py")))?;
    let mut lab = Command::new(inside.join("switchwright"));
    serve::check(lab.args(["lab", "--json"]).current_dir(place))
}

/// The same where the tools are found; says what it left out, and why.
///
/// # Errors
/// What is there failed, or, if it is `shared`, crates were compiled that tests had built.
pub(crate) fn test(root: &Path, shared: bool) -> Result<(), String> {
    let python = match python() {
        Ok(python) => python,
        Err(missing) => {
            println!("xtask: skipped the wheel and its tests: {missing}");
            return Ok(());
        }
    };
    let made = build(root, &python, Purpose::Tests)?;
    try_out(root, &python, &made.wheel)?;
    if shared && !made.compiled.is_empty() {
        return Err(format!(
            "the wheel compiled what tests had built: {}; features that differ `cargo xtask tidy` names, and what else does \
             `CARGO_LOG=cargo::core::compiler::fingerprint=info cargo xtask wheel` after `cargo test --workspace --no-run`",
            made.compiled.join(", ")
        ));
    }
    Ok(())
}

/// What maturin has made.
struct BuiltWheel {
    wheel: PathBuf,
    /// Crates of ours that it compiled, the wheel's aside.
    compiled: Vec<String>,
}

/// The Python that was named, or `python3`, if it has maturin.
fn python() -> Result<Python, String> {
    let program = std::env::var_os(TOOLS).unwrap_or_else(|| "python3".into());
    let program = PathBuf::from(program);
    let shown = program.display();
    let mut asked = Command::new(&program);
    asked.args([
        "-c",
        "import sysconfig, maturin, venv, ensurepip; print(sysconfig.get_path('purelib')); print(sysconfig.get_path('scripts'))",
    ]);
    let said = asked.stderr(Stdio::null()).output();
    let said = said.map_err(|e| format!("`{shown}` did not start: {e}"))?;
    if !said.status.success() {
        return Err(format!(
            "`{shown}` has no maturin, or makes no environments"
        ));
    }
    let said = String::from_utf8_lossy(&said.stdout);
    let mut folders = said.lines().map(str::to_owned);
    Ok(Python {
        program,
        modules: folders.next().unwrap_or_default(),
        scripts: folders.next().unwrap_or_default(),
    })
}

impl Python {
    /// Whether it has a module.
    fn has(&self, module: &str) -> bool {
        let mut asked = Command::new(&self.program);
        asked.args(["-c", &format!("import {module}")]);
        let done = asked.stderr(Stdio::null()).status();
        done.is_ok_and(|status| status.success())
    }
}

/// The folder of what is made here.
fn folder(root: &Path) -> PathBuf {
    crate::target_folder(root).join("wheel")
}

/// Builds the wheel.
fn build(root: &Path, python: &Python, purpose: Purpose<'_>) -> Result<BuiltWheel, String> {
    let place = folder(root);
    let _ = fs::remove_dir_all(&place);
    fs::create_dir_all(&place).map_err(|e| format!("{}: {e}", place.display()))?;
    let mut command = Command::new(&python.program);
    let manifest = root.join("crates/python/Cargo.toml");
    command.args(["-m", "maturin", "build", "--locked"]);
    match purpose {
        // For this machine alone.
        Purpose::Tests => {
            command.args(["--compatibility", "linux"]);
            command.args(["--profile", "dev", "--features", &OF_TESTS.join(",")]);
        }
        Purpose::Release(profile) => for_others(python, profile, &mut command)?,
    }
    command.arg("--manifest-path").arg(manifest);
    command.arg("--out").arg(&place);
    let log = place.join("maturin.log");
    let said = File::create(&log).map_err(|e| format!("{}: {e}", log.display()))?;
    command.env("CARGO_TERM_COLOR", "never").stderr(said);
    let done = run(root, &mut command);
    let said = fs::read_to_string(&log).unwrap_or_default();
    done.map_err(|why| format!("{why}:\n{said}"))?;
    let made = fs::read_dir(&place).map_err(|e| format!("{}: {e}", place.display()))?;
    let mut made = made.flatten().map(|entry| entry.path());
    let wheel = made
        .find(|path| path.extension().is_some_and(|e| e == "whl"))
        .ok_or_else(|| format!("maturin left no wheel in {}", place.display()))?;
    let compiled = compiled(&said);
    Ok(BuiltWheel { wheel, compiled })
}

/// The options of a wheel that others install. Zig links it with the symbols of an old glibc;
/// without it, maturin names the oldest platform that has the symbols of this machine's.
fn for_others(python: &Python, profile: &str, command: &mut Command) -> Result<(), String> {
    command.args(["--profile", profile]);
    command.env("SWITCHWRIGHT_PAGE", "required");
    if python.has("ziglang") {
        command.args(["--zig", "--compatibility", PLATFORM]);
        // maturin looks for Zig in the `python3` of `PATH`.
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = [PathBuf::from(&python.scripts)].into_iter();
        let path = std::env::join_paths(folders.chain(std::env::split_paths(&path)));
        command.env("PATH", path.map_err(|e| e.to_string())?);
    } else {
        let shown = python.program.display();
        println!(
            "xtask: skipped {PLATFORM}: `{shown}` has no ziglang; the wheel is for the glibc of this machine"
        );
    }
    Ok(())
}

/// Crates of ours that cargo says it compiled, the wheel's aside.
fn compiled(said: &str) -> Vec<String> {
    let lines = said.lines().map(str::split_whitespace);
    let names =
        lines.filter_map(|mut words| (words.next()? == "Compiling").then(|| words.next())?);
    names
        .filter(|name| name.starts_with("switchwright") && *name != PACKAGE)
        .map(str::to_owned)
        .collect()
}

/// Installs the wheel into a fresh environment and tries it there: a first plan, the tests with the
/// doctests, the notebooks.
fn try_out(root: &Path, python: &Python, wheel: &Path) -> Result<(), String> {
    let place = folder(root).join("venv");
    run(
        root,
        Command::new(&python.program)
            .args(["-m", "venv", "--clear"])
            .arg(&place),
    )?;
    let inside = place.join("bin/python");
    let began = Instant::now();
    let mut install = Command::new(&inside);
    install.args(["-m", "pip", "install", "--quiet", "--no-index", "--no-deps"]);
    run(root, install.arg(wheel))?;
    run(root, Command::new(&inside).args(["-c", FIRST_PLAN]))?;
    let seconds = began.elapsed().as_secs_f64();
    let size = fs::metadata(wheel).map_or(0, |file| file.len() >> 20);
    println!("xtask: from a wheel of {size} MiB to a proven plan: {seconds:.1} s");
    let tests = root.join("crates/python/tests/run.py");
    run(root, Command::new(&inside).arg(&tests))?;
    if !python.has("pandas") {
        println!("xtask: skipped the wheel's tests with pandas: it is not installed");
    } else {
        let mut with_pandas = Command::new(&inside);
        with_pandas.arg(&tests).arg("WithPandas");
        run(root, with_pandas.env("PYTHONPATH", &python.modules))?;
    }
    if python.has("mypy") {
        let mut types = Command::new(&inside);
        types.args(["-m", "mypy", "--strict", "--package", "switchwright"]);
        types.arg("--cache-dir").arg(folder(root).join("mypy"));
        run(root, types.env("PYTHONPATH", &python.modules))?;
    }
    if python.has("nbclient, ipykernel, pandas") {
        notebooks(root, python, &inside)
    } else {
        println!("xtask: skipped the notebooks: nbclient, ipykernel and pandas are not installed");
        Ok(())
    }
}

/// Runs the notebooks, which keep no output.
fn notebooks(root: &Path, python: &Python, inside: &Path) -> Result<(), String> {
    let notebooks = root.join("examples/notebooks");
    let found = fs::read_dir(&notebooks).map_err(|e| format!("{}: {e}", notebooks.display()))?;
    let mut found: Vec<PathBuf> = found.flatten().map(|entry| entry.path()).collect();
    found.retain(|path| path.extension().is_some_and(|e| e == "ipynb"));
    found.sort();
    for notebook in found {
        let mut command = Command::new(inside);
        command.arg(root.join("crates/python/tests/notebook.py"));
        command.arg(&notebook).env("PYTHONPATH", &python.modules);
        run(root, &mut command)?;
    }
    Ok(())
}

fn run(root: &Path, command: &mut Command) -> Result<(), String> {
    let words = command.get_args().map(|word| word.to_string_lossy());
    let line = words.collect::<Vec<_>>().join(" ");
    let line: String = line.chars().take(120).collect();
    println!("xtask: python {line}");
    match command.current_dir(root).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err(format!("`python {line}` failed")),
        Err(error) => Err(format!("python did not start: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_that_are_compiled_once_more_are_told_from_the_wheels() {
        let said = "   Compiling pyo3 v0.30.1\n   Compiling switchwright-plan v0.1.0 (/here)\n   Compiling switchwright v0.1.0 (/here)\n   \
                    Compiling switchwright-python v0.1.0 (/here)\n    Finished `dev` profile\n";
        assert_eq!(compiled(said), ["switchwright-plan", "switchwright"]);
    }
}
