//! `cargo xtask fuzz`: drives a fuzz target over its kept corpus, and over the inputs in the folder
//! that the environment variable `FUZZ_SEEDS` names, if it is set. See `p4test::fuzz`.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use p4test::fuzz::drive::{FuzzReport, Settings, drive};
use p4test::fuzz::worker::serve;
use p4test::fuzz::{TARGETS, Target, target};

const USAGE: &str = "usage: fuzz TARGET [--seconds N] [--seed N] [--out DIR] [--run FILE]...";

struct Arguments {
    target: &'static Target,
    seconds: u64,
    seed: u64,
    out: PathBuf,
    /// Inputs to run once, instead of fuzzing.
    files: Vec<PathBuf>,
    /// The driver started this process to run inputs, in so much memory.
    worker: Option<u64>,
}

fn arguments() -> Result<Arguments, String> {
    let mut words = std::env::args().skip(1);
    let name = words.next().unwrap_or_default();
    let Some(target) = target(&name) else {
        let list = TARGETS
            .iter()
            .map(|t| format!("  {:10} {}\n", t.name, t.about));
        let list: String = list.collect();
        return Err(format!("{USAGE}\ntargets:\n{list}"));
    };
    let mut arguments = Arguments {
        target,
        seconds: 60,
        seed: 1,
        out: std::env::temp_dir().join(format!("switchwright-fuzz-{name}")),
        files: Vec::new(),
        worker: None,
    };
    while let Some(word) = words.next() {
        let value = words
            .next()
            .ok_or_else(|| format!("{word} needs a value\n{USAGE}"))?;
        let number = || {
            value
                .parse()
                .map_err(|_| format!("`{value}` is not a number"))
        };
        match word.as_str() {
            "--seconds" => arguments.seconds = number()?,
            "--seed" => arguments.seed = number()?,
            "--out" => arguments.out = PathBuf::from(value),
            "--worker" => arguments.worker = Some(number()?),
            "--run" => arguments.files.push(PathBuf::from(value)),
            other => return Err(format!("`{other}` is not an option\n{USAGE}")),
        }
    }
    Ok(arguments)
}

fn run(arguments: &Arguments) -> Result<bool, String> {
    let target = arguments.target;
    if let Some(memory) = arguments.worker {
        return serve(target, memory)
            .map(|()| true)
            .map_err(|e| e.to_string());
    }
    for file in &arguments.files {
        let input = std::fs::read(file).map_err(|e| format!("{}: {e}", file.display()))?;
        println!("{}: {:?}", file.display(), (target.run)(&input));
    }
    if !arguments.files.is_empty() {
        return Ok(true);
    }
    let corpus = p4test::root().join("fuzz/corpus").join(target.name);
    let settings = Settings {
        corpus,
        seeds: std::env::var_os("FUZZ_SEEDS").map(PathBuf::from),
        out: arguments.out.clone(),
        time: Duration::from_secs(arguments.seconds),
        seed: arguments.seed,
        hang: Duration::from_secs(20),
        memory: 2 << 30,
        program: std::env::current_exe().map_err(|e| e.to_string())?,
    };
    let progress = |report: &FuzzReport| {
        eprint!(
            "\r{} runs, {} behaviours, {} findings",
            report.runs,
            report.behaviours,
            report.findings.len()
        );
    };
    let report = drive(target, &settings, progress).map_err(|e| e.to_string())?;
    println!(
        "\n{}: {} runs in {} s from {} inputs, seed {}: {} behaviours, slowest {} ms, {} MiB at the end, {} findings",
        target.name,
        report.runs,
        arguments.seconds,
        report.corpus,
        arguments.seed,
        report.behaviours,
        report.slowest.as_millis(),
        report.memory >> 20,
        report.findings.len()
    );
    for found in &report.findings {
        println!("  {}: {}", found.file.display(), found.why);
    }
    Ok(report.findings.is_empty())
}

fn main() -> ExitCode {
    match arguments().and_then(|a| run(&a)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(why) => {
            eprintln!("{why}");
            ExitCode::from(2)
        }
    }
}
