//! `switchwright p4 stf`: case files on every executor, BMv2 among them where it is installed.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, ValueEnum};
use files::Scratch;
use p4exec::ExecutorKind;
use p4ir::ValidProgram;
use serde::Serialize;
use stf::bmv2::{self, Compiler, Trouble};

use super::subject::Source;
use crate::cli::fault::{Context, Fault, Status};
use crate::cli::terminal::{self, Terminal};

/// Arguments of `switchwright p4 stf`.
#[derive(Debug, Args)]
pub(super) struct Stf {
    #[command(flatten)]
    source: Source,
    /// The case files.
    #[arg(required = true)]
    cases: Vec<PathBuf>,
    /// The executors; `all` is every one there is here.
    #[arg(long, value_enum, value_delimiter = ',', default_values = ["interp", "compile"])]
    executor: Vec<Judge>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Judge {
    /// The reference interpreter.
    Interp,
    /// Compiled to machine code.
    Compile,
    /// simple_switch, on what p4c-bm2-ss compiles, or our compiler where p4c is not installed.
    Bmv2,
    /// All of them.
    All,
}

/// What `p4 stf --json` prints.
#[derive(Serialize)]
struct StfReport {
    passed: usize,
    failed: usize,
    skipped: usize,
    /// Every failure as a line.
    failures: Vec<String>,
    results: Vec<Outcome>,
}

/// One case on one executor.
#[derive(Serialize)]
struct Outcome {
    case: String,
    executor: String,
    /// `passed`, `failed` or `skipped`.
    result: &'static str,
    /// What went wrong, or why it was skipped.
    why: Vec<String>,
}

/// An executor ready for cases.
enum Ready {
    Ours(ExecutorKind, Arc<ValidProgram>),
    Bmv2(bmv2::Program),
    /// Not here, and why.
    Absent(String, String),
}

impl Stf {
    /// Every case on a switch of its own, per executor.
    pub(super) fn run(&self, terminal: &Terminal) -> Result<(), Fault> {
        if self.source.is_stdin() && self.cases.iter().any(|path| path.as_os_str() == "-") {
            let message = "the program and a case cannot both be on standard input";
            return Err(Fault::input(message));
        }
        let mut cases = Vec::new();
        for path in &self.cases {
            let text = terminal::read(&path.to_string_lossy())?;
            cases.push((path, stf::parse(&text).input(path.display())?));
        }
        let scratch = Scratch::new().input("temporary directory")?;
        let ready = self.ready(scratch.path(), terminal)?;
        let bar = terminal.progress("cases");
        let mut results = Vec::new();
        for (path, case) in &cases {
            for judge in &ready {
                let case_name = path.display().to_string();
                bar.set_message(case_name.clone());
                let (executor, result, why) = judge.play(case);
                results.push(Outcome {
                    case: case_name,
                    executor,
                    result,
                    why,
                });
            }
        }
        bar.finish_and_clear();
        let count = |wanted: &str| results.iter().filter(|r| r.result == wanted).count();
        let (passed, failed, skipped) = (count("passed"), count("failed"), count("skipped"));
        let failures = results.iter().filter(|r| r.result == "failed");
        let line = |r: &Outcome| {
            let start = format!("{}: {}: ", r.case, r.executor);
            let lines = r.why.iter().map(move |why| format!("{start}{why}"));
            lines.collect::<Vec<_>>()
        };
        let report = StfReport {
            failures: failures.flat_map(line).collect(),
            passed,
            failed,
            skipped,
            results,
        };
        terminal.result(&report, || describe(&report))?;
        if failed == 0 {
            Ok(())
        } else {
            Err(Fault::shown(Status::Failed))
        }
    }

    fn ready(&self, scratch: &Path, terminal: &Terminal) -> Result<Vec<Ready>, Fault> {
        let all = self.executor.contains(&Judge::All);
        let wants = |judge: Judge| all || self.executor.contains(&judge);
        let mut ready = Vec::new();
        let mut kinds = Vec::new();
        kinds.extend(wants(Judge::Interp).then_some(ExecutorKind::Interp));
        kinds.extend(wants(Judge::Compile).then_some(ExecutorKind::Compile));
        if !kinds.is_empty() {
            let program = self.source.subject(None, terminal)?.program;
            ready.extend(
                kinds
                    .into_iter()
                    .map(|kind| Ready::Ours(kind, Arc::clone(&program))),
            );
        }
        if wants(Judge::Bmv2) {
            ready.push(self.bmv2(all, scratch)?);
        }
        Ok(ready)
    }

    fn bmv2(&self, optional: bool, scratch: &Path) -> Result<Ready, Fault> {
        if let Some(tool) = bmv2::missing_tool() {
            let why = format!("{tool} is not on PATH");
            if optional {
                return Ok(Ready::Absent("bmv2".into(), why));
            }
            return Err(Fault::with(Status::Target, why).help("install BMv2"));
        }
        let options = self.source.options();
        let program = if self.source.is_stdin() {
            let copy = scratch.join("stdin.p4");
            std::fs::write(&copy, terminal::read("-")?).input("temporary directory")?;
            copy
        } else {
            self.source.program.clone()
        };
        match bmv2::Program::compile(&program, Compiler::preferred(), &options, scratch) {
            Ok(program) => Ok(Ready::Bmv2(program)),
            Err(trouble) if optional => Ok(Ready::Absent("bmv2".into(), trouble.to_string())),
            Err(trouble) => Err(Fault::with(Status::Target, trouble)),
        }
    }
}

impl Ready {
    fn play(&self, case: &stf::Case) -> (String, &'static str, Vec<String>) {
        match self {
            Self::Ours(kind, program) => {
                let name = kind.to_string();
                let mut executor = match p4exec::executor(*kind, Arc::clone(program)) {
                    Ok(executor) => executor,
                    Err(error) => return (name, "failed", vec![error.to_string()]),
                };
                match stf::run(case, executor.as_mut()) {
                    Ok(()) => (name, "passed", Vec::new()),
                    Err(found) => {
                        let why = found.iter().map(ToString::to_string);
                        (name, "failed", why.collect())
                    }
                }
            }
            Self::Bmv2(program) => {
                let name = "bmv2".to_owned();
                match bmv2::play(program, case) {
                    Ok(()) => (name, "passed", Vec::new()),
                    Err(Trouble::Failures(found)) => {
                        let why = found.iter().map(ToString::to_string);
                        (name, "failed", why.collect())
                    }
                    Err(trouble @ Trouble::Inexpressible { .. }) => {
                        (name, "skipped", vec![trouble.to_string()])
                    }
                    Err(trouble) => (name, "failed", vec![trouble.to_string()]),
                }
            }
            Self::Absent(name, why) => (name.clone(), "skipped", vec![why.clone()]),
        }
    }
}

fn describe(report: &StfReport) -> String {
    let mut text: String = report
        .failures
        .iter()
        .map(|line| format!("{line}\n"))
        .collect();
    if report.results.len() > 1 {
        let row = |r: &Outcome| {
            let why = if r.result == "skipped" {
                r.why.join("; ")
            } else {
                String::new()
            };
            vec![r.case.clone(), r.executor.clone(), r.result.to_owned(), why]
        };
        let rows: Vec<Vec<String>> = report.results.iter().map(row).collect();
        text += &terminal::table(&["case", "executor", "result", ""], &[], &rows);
    }
    let skipped = match report.skipped {
        0 => String::new(),
        n => format!(", {n} skipped"),
    };
    text + &format!(
        "{} passed, {} failed{skipped}\n",
        report.passed, report.failed
    )
}
