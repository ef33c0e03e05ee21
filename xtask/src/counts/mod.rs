//! Instructions that kernels take, counted by callgrind and compared with those on record: free of
//! noise where clocks are not.
//!
//! The kernels are the example `counts` of `p4test`, built as tests are, so that CI builds nothing
//! for them that it has not built already. Without incremental compilation, always: it cuts crates
//! up in another way, and what is inlined differs.

mod record;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

use record::{Comparison, Count, Counts, Environment, Records};

/// Where the counts are on record, in the checkout.
const FILE: &str = "benches/counts.json";

/// The function whose instructions count, in `crates/p4test/examples/counts`.
const COUNTED: &str = "--toggle-collect=*switchwright_counted*";

/// Counts and compares; with `bless`, puts on record what was counted.
///
/// # Errors
/// There is no valgrind; a kernel does not build or run; a kernel takes more instructions than on
/// record.
pub(crate) fn run(root: &Path, bless: bool) -> Result<(), String> {
    let valgrind = valgrind().ok_or("valgrind is not on PATH: install it (Debian: `valgrind`)")?;
    println!("xtask: kernels under {valgrind}");
    let program = build(root)?;
    let (environment, counts) = count(&program)?;
    let file = root.join(FILE);
    let mut records = Records::read(&file)?;
    let comparison = records.compare(&environment, &counts);
    print!("{}", comparison.describe());
    if bless {
        records.put(environment, counts);
        return records.write(&file);
    }
    judge(&comparison)
}

/// The same where valgrind is found; says that it left it out, if not.
///
/// # Errors
/// As [`run`].
pub(crate) fn test(root: &Path) -> Result<(), String> {
    if valgrind().is_none() {
        println!("xtask: skipped the counts of instructions: `valgrind` is not on PATH");
        return Ok(());
    }
    run(root, false)
}

fn judge(comparison: &Comparison) -> Result<(), String> {
    let faults = comparison.faults();
    if faults.is_empty() {
        return Ok(());
    }
    Err(format!(
        "{}; if that is meant, `cargo xtask counts --bless` rewrites {FILE}",
        faults.join("; ")
    ))
}

/// What valgrind says that it is; nothing where there is none.
fn valgrind() -> Option<String> {
    said(Command::new("valgrind").arg("--version"))
}

/// What a command prints, if it ends well.
fn said(command: &mut Command) -> Option<String> {
    let output = command.stderr(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    output.status.success().then_some(text)
}

/// Builds the kernels: with the features of the whole workspace, as its tests are built.
fn build(root: &Path) -> Result<PathBuf, String> {
    let arguments = ["build", "--workspace", "--locked", "--example", "counts"];
    super::cargo(root, &arguments, &[("CARGO_INCREMENTAL", "0")])?;
    Ok(super::target_folder(root).join("debug/examples/counts"))
}

/// Counts all kernels, as many at a time as there are cores.
fn count(program: &Path) -> Result<(Environment, Counts), String> {
    let names = said(&mut Command::new(program)).ok_or("the kernels do not run")?;
    let names: Vec<&str> = names.lines().collect();
    let next = AtomicUsize::new(0);
    let counted = Mutex::new(Vec::new());
    let work = || {
        while let Some(name) = names.get(next.fetch_add(1, Ordering::Relaxed)) {
            let outcome = count_one(program, name);
            if let Ok(mut counted) = counted.lock() {
                counted.push(outcome);
            }
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(work);
        }
    });
    let counted = counted
        .into_inner()
        .map_err(|_| "a thread that counts has ended early")?;
    let counted: Vec<(String, String, Count)> = counted.into_iter().collect::<Result<_, _>>()?;
    let processor = counted.first().map(|(_, processor, _)| processor.clone());
    let counts = counted.into_iter().map(|(name, _, count)| (name, count));
    Ok((here(processor.unwrap_or_default())?, counts.collect()))
}

/// Counts one kernel: its name, what the processor can do under valgrind, and its count.
fn count_one(program: &Path, name: &str) -> Result<(String, String, Count), String> {
    let fail = |why: &str| format!("kernel `{name}`: {why}");
    let folder = program.parent().unwrap_or(Path::new("."));
    let out = folder.join(format!("counts.{name}.callgrind"));
    let mut file = std::ffi::OsString::from("--callgrind-out-file=");
    file.push(&out);
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--quiet", "--command-line-only=yes"])
        .args(["--collect-atstart=no", COUNTED])
        .arg(file)
        .arg(program)
        .arg(name)
        // Nothing of the caller's environment has a say in what is counted.
        .env_clear()
        .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
        .output()
        .map_err(|e| fail(&format!("valgrind did not start: {e}")))?;
    if !output.status.success() {
        return Err(fail(&String::from_utf8_lossy(&output.stderr)));
    }
    let totals = std::fs::read_to_string(&out);
    let totals = totals.map_err(|e| fail(&format!("{}: {e}", out.display())))?;
    let instructions = totals
        .lines()
        .find_map(|line| line.strip_prefix("totals:")?.trim().parse().ok())
        .filter(|instructions| *instructions > 0)
        .ok_or_else(|| fail("callgrind counted nothing"))?;
    let said: Value = serde_json::from_slice(&output.stdout)
        .map_err(|e| fail(&format!("what it says is not JSON: {e}")))?;
    let text = |key: &str| said[key].as_str().unwrap_or_default().to_owned();
    let count = Count {
        instructions,
        operations: said["operations"].as_u64().unwrap_or_default().max(1),
        unit: text("unit"),
    };
    Ok((name.to_owned(), text("processor"), count))
}

/// What decides beside our sources which instructions are run.
fn here(processor: String) -> Result<Environment, String> {
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let version = said(Command::new(&rustc).arg("-vV"));
    let version = version.ok_or_else(|| format!("`{rustc} -vV` failed"))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    let flags = ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS"].map(std::env::var);
    let flags: Vec<String> = flags.into_iter().flatten().collect();
    let libc = said(Command::new("getconf").arg("GNU_LIBC_VERSION"));
    Ok(Environment {
        target: host.unwrap_or_default().to_owned(),
        rustc: version.lines().next().unwrap_or_default().to_owned(),
        flags: flags.join(" "),
        libc: libc.unwrap_or_default(),
        processor,
    })
}
