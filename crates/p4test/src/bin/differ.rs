//! `cargo xtask differ`: random packets and random entries through programs on both executors,
//! which must agree in everything. Without arguments: every generated program and every case of
//! ours.
//!
//! With `--statements N`: N random programs instead, on both executors, against what the language
//! says of them; and, where they are on PATH, on what p4c makes of them and on `simple_switch`, by
//! way of our JSON and of p4c's.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use p4exec::ExecutorKind;
use p4front::Options;
use p4ir::{Architecture, ValidProgram};
use p4test::beside::Beside;
use p4test::compile;
use p4test::differ::{Tally, soak, soak_json};
use p4test::statements::{self, Judged, Judges};
use stf::bmv2::Compiler;

const USAGE: &str =
    "usage: differ [--packets N (in all)] [--seed N] [-I DIR]... [PROGRAM.p4|PROGRAM.json]...
       differ --statements N [--seed N] [--judged N (programs for p4c and simple_switch; all)] [--jobs N (threads; one per processor)]";

/// Random programs from one line of progress to the next.
const PROGRESS: u64 = 500;

/// Packets from one first state.
const PER_SCENARIO: usize = 400;

/// Most packets of one program by way of JSON: both sides are interpreted.
const MOST_BY_JSON: u64 = 20_000;

struct Arguments {
    packets: u64,
    seed: u64,
    include: Vec<PathBuf>,
    programs: Vec<PathBuf>,
    /// Random programs, in place of everything else.
    statements: Option<u64>,
    /// How many of them others are asked about.
    judged: u64,
    /// How many are tried at a time.
    jobs: usize,
}

fn arguments() -> Result<Arguments, String> {
    let root = p4test::root();
    let mut arguments = Arguments {
        packets: 1_000_000,
        seed: 1,
        include: vec![root.join("p4src")],
        programs: Vec::new(),
        statements: None,
        judged: u64::MAX,
        jobs: std::thread::available_parallelism().map_or(1, usize::from),
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || {
            words
                .next()
                .ok_or_else(|| format!("{word} needs a value\n{USAGE}"))
        };
        let number = |text: String| {
            text.parse()
                .map_err(|_| format!("`{text}` is not a number"))
        };
        match word.as_str() {
            "--packets" => arguments.packets = number(value()?)?,
            "--seed" => arguments.seed = number(value()?)?,
            "--statements" => arguments.statements = Some(number(value()?)?),
            "--judged" => arguments.judged = number(value()?)?,
            "--jobs" => arguments.jobs = number(value()?)?.max(1) as usize,
            "-I" => arguments.include.push(PathBuf::from(value()?)),
            option if option.starts_with('-') => return Err(USAGE.to_owned()),
            file => arguments.programs.push(PathBuf::from(file)),
        }
    }
    if arguments.programs.is_empty() {
        for folder in [
            "p4src/generated",
            "bmv2-tests/cases",
            "bmv2-tests/cases/tna",
        ] {
            let entries =
                std::fs::read_dir(root.join(folder)).map_err(|e| format!("{folder}: {e}"))?;
            let paths = entries.filter_map(|entry| entry.ok().map(|e| e.path()));
            arguments.programs.extend(paths.filter(|p| is_program(p)));
        }
        arguments.programs.sort();
    }
    Ok(arguments)
}

fn is_program(path: &Path) -> bool {
    let source = path.extension().is_some_and(|e| e == "p4");
    let known = |text: String| {
        ["V1Switch", "<tna.p4>", "<t2na.p4>"]
            .iter()
            .any(|word| text.contains(word))
    };
    source && std::fs::read_to_string(path).is_ok_and(known)
}

fn run(arguments: &Arguments) -> Result<bool, String> {
    let options = Options {
        include_paths: arguments.include.clone(),
        ..Options::on_disk()
    };
    let second = ExecutorKind::ALL[ExecutorKind::ALL.len() - 1];
    let executors = (ExecutorKind::Interp, second);
    let share = arguments
        .packets
        .div_ceil(arguments.programs.len().max(1) as u64);
    let start = Instant::now();
    let (mut all, mut differ, mut refused) = (Tally::default(), 0, 0);
    let (mut by_json, mut refusals) = (0_u64, BTreeMap::new());
    for path in &arguments.programs {
        let name = path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let outcome = compile(path, &options)
            .map_err(|e| e.to_string())
            .and_then(|p| {
                let done = soak(&p, executors, share, PER_SCENARIO, arguments.seed);
                match done.map_err(|e| e.to_string())? {
                    Err(found) => Ok(Err(found)),
                    Ok(tally) if !is_for_bmv2(&p) => Ok(Ok(tally)),
                    Ok(tally) => match Beside::for_any_packets(&p) {
                        Ok(json) => {
                            by_json += 1;
                            let share = share.min(MOST_BY_JSON);
                            let done = soak_json(&p, json, share, PER_SCENARIO, arguments.seed);
                            let done = done.map_err(|e| e.to_string())?;
                            Ok(done.map(|_| tally))
                        }
                        Err(refused) => {
                            let kind = refused.kind().ok_or_else(|| refused.to_string())?;
                            *refusals.entry(kind).or_default() += 1;
                            Ok(Ok(tally))
                        }
                    },
                }
            });
        match outcome {
            Ok(Ok(tally)) => {
                all += tally;
                println!(
                    "{name}: {} packets, {} sent, {} dropped; {} updates taken, {} refused",
                    tally.packets, tally.sent, tally.dropped, tally.updates, tally.refused
                );
            }
            Ok(Err(found)) => {
                differ += 1;
                println!("{name}: DIFFER\n{found}");
            }
            Err(why) => {
                refused += 1;
                println!(
                    "{name}: does not run: {}",
                    why.lines().next().unwrap_or_default()
                );
            }
        }
    }
    println!(
        "{} against {}: {} packets through {} programs in {:.1} s (seed {}): {} sent, {} dropped, {} updates \
         taken, {} refused; {differ} programs differ, {refused} do not run",
        executors.0,
        executors.1,
        all.packets,
        arguments.programs.len(),
        start.elapsed().as_secs_f64(),
        arguments.seed,
        all.sent,
        all.dropped,
        all.updates,
        all.refused
    );
    println!("{by_json} programs also by way of JSON");
    print_refusals(&refusals);
    Ok(differ == 0)
}

fn is_for_bmv2(program: &ValidProgram) -> bool {
    program.architecture == Some(Architecture::V1Model)
}

/// What JSON does not say, by kind.
fn print_refusals(refusals: &BTreeMap<String, u64>) {
    for (kind, count) in refusals {
        println!("  not in JSON: {count} x {kind}");
    }
}

/// Random programs, each from a seed of its own that a report names. Reports are in the order of
/// the seeds.
fn run_statements(count: u64, arguments: &Arguments) -> bool {
    let start = Instant::now();
    let installed = Judges::installed();
    let next = AtomicU64::new(0);
    let results = Mutex::new((statements::Tally::default(), BTreeMap::new()));
    let work = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= count {
                return;
            }
            let seed = arguments.seed.wrapping_add(index);
            let judges = match index < arguments.judged {
                true => installed,
                false => Judges::default(),
            };
            let result = statements::one(seed, judges);
            let mut results = results.lock().unwrap_or_else(PoisonError::into_inner);
            match result {
                Ok(tally) => results.0 += tally,
                Err(found) => {
                    eprintln!("seed {seed}: differs");
                    results.1.insert(seed, found);
                }
            }
            if index % PROGRESS == PROGRESS - 1 {
                eprintln!("{} % ({} programs)", (index + 1) * 100 / count, index + 1);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..arguments.jobs {
            scope.spawn(work);
        }
    });
    let (all, found) = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    for (seed, found) in &found {
        println!("seed {seed}: DIFFER\n{found}\n");
    }
    let differ = found.len();
    println!(
        "{} programs that agree, {} packets ({} of them undefined) in {:.1} s (seeds from {}); {differ} differ",
        all.programs,
        all.packets,
        all.undefined,
        start.elapsed().as_secs_f64(),
        arguments.seed,
    );
    let asked = [(Compiler::Ours, all.ours), (Compiler::P4c, all.p4c)];
    let asked = asked
        .iter()
        .filter(|(_, judged)| *judged != Judged::default());
    for (compiler, judged) in asked {
        println!(
            "{} also from the JSON of {compiler} ({} packets differ by p4c's known faults), which does not take {}; {} of \
             these also on simple_switch, which does not take {}",
            judged.compiled,
            judged.explained,
            judged.not_taken.values().sum::<u64>(),
            judged.simple_switch,
            judged.not_started,
        );
        print_refusals(&judged.not_taken);
    }
    found.is_empty()
}

fn main() -> ExitCode {
    let run = |a: Arguments| match a.statements {
        Some(count) => Ok(run_statements(count, &a)),
        None => run(&a),
    };
    match arguments().and_then(run) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(why) => {
            eprintln!("{why}");
            ExitCode::from(2)
        }
    }
}
