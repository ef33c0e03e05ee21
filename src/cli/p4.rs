//! `switchwright p4`: the P4 front end and the executor as tools, for any `.p4` file.

use std::path::PathBuf;
use std::sync::Arc;

use bmv2_tests::stf;
use clap::{Args, Subcommand};
use p4exec::Interpreter;
use p4front::source::SourceMap;
use p4front::{Compiled, Options};
use serde::Serialize;

use super::fault::{Context, Fault, Status};
use super::terminal::{self, Terminal};

/// Arguments of `switchwright p4`.
#[derive(Debug, Args)]
pub(super) struct P4 {
    #[command(subcommand)]
    tool: Tool,
}

#[derive(Debug, Subcommand)]
enum Tool {
    /// Report every error of a program.
    Check(Source),
    /// Print the program's P4Info.
    Info(Source),
    /// Print the program as executors see it.
    Ir(Source),
    /// Play STF cases on the interpreter.
    Stf(StfArgs),
}

/// A program and how to read it.
#[derive(Debug, Args)]
struct Source {
    /// The program.
    program: PathBuf,
    /// Folders searched for included files. core.p4 and v1model.p4 are built in.
    #[arg(short = 'I', value_name = "DIR")]
    include: Vec<PathBuf>,
    /// Macros, as NAME or NAME=VALUE.
    #[arg(short = 'D', value_name = "NAME[=VALUE]")]
    define: Vec<String>,
}

#[derive(Debug, Args)]
struct StfArgs {
    #[command(flatten)]
    source: Source,
    /// The case files.
    #[arg(required = true)]
    cases: Vec<PathBuf>,
}

/// What `p4 check --json` prints.
#[derive(Serialize)]
struct CheckFigures {
    accepted: bool,
    errors: usize,
    warnings: usize,
}

impl P4 {
    pub(super) fn run(self, terminal: &Terminal) -> Result<(), Fault> {
        match self.tool {
            Tool::Check(source) => source.check(terminal),
            Tool::Info(source) => {
                let info = crate::program::p4info::message(&source.compile(terminal)?.p4info);
                terminal::emit(&p4runtime::to_text(&info).input(source.program.display())?);
                Ok(())
            }
            Tool::Ir(source) => {
                terminal::emit(&source.compile(terminal)?.ir.to_string());
                Ok(())
            }
            Tool::Stf(stf) => stf.run(terminal),
        }
    }
}

impl Source {
    fn options(&self) -> Options {
        let mut options = Options {
            include_paths: self.include.clone(),
            ..Options::default()
        };
        options
            .defines
            .extend(self.define.iter().map(|text| match text.split_once('=') {
                Some((name, value)) => (name.to_owned(), value.to_owned()),
                None => (text.clone(), "1".to_owned()),
            }));
        options
    }

    fn check(&self, terminal: &Terminal) -> Result<(), Fault> {
        let mut map = SourceMap::new();
        let main = map.load(&self.program).input(self.program.display())?;
        let (accepted, found) = match p4front::compile(&mut map, main, &self.options()) {
            Ok(compiled) => (true, compiled.warnings),
            Err(found) => (false, found.into_vec()),
        };
        for diagnostic in &found {
            terminal.note(diagnostic.render(&map).trim_end());
        }
        let errors = found.iter().filter(|d| d.is_error()).count();
        let figures = CheckFigures {
            accepted,
            errors,
            warnings: found.len() - errors,
        };
        terminal.result(&figures, || {
            let warnings = figures.warnings;
            if accepted {
                format!("accepted, {warnings} warnings\n")
            } else {
                String::new()
            }
        })?;
        if accepted {
            Ok(())
        } else {
            Err(Fault::shown(Status::Input))
        }
    }

    fn compile(&self, terminal: &Terminal) -> Result<Compiled, Fault> {
        let mut map = SourceMap::new();
        let main = map.load(&self.program).input(self.program.display())?;
        p4front::compile(&mut map, main, &self.options()).map_err(|found| {
            terminal.note(found.render(&map).trim_end());
            Fault::shown(Status::Input)
        })
    }
}

/// What `p4 stf --json` prints.
#[derive(Serialize)]
struct StfFigures {
    passed: usize,
    failed: usize,
    failures: Vec<String>,
}

impl StfArgs {
    /// Every case on a switch of its own.
    fn run(&self, terminal: &Terminal) -> Result<(), Fault> {
        let program = Arc::new(self.source.compile(terminal)?.ir);
        let mut failures = Vec::new();
        for path in &self.cases {
            let text = terminal::read(&path.to_string_lossy())?;
            let case = stf::parse(&text).input(path.display())?;
            let mut executor =
                Interpreter::new(Arc::clone(&program)).input(self.source.program.display())?;
            if let Err(found) = bmv2_tests::run(&case, &mut executor) {
                failures.extend(
                    found
                        .iter()
                        .map(|failure| format!("{}: {failure}", path.display())),
                );
            }
        }
        let failed_cases = |path: &&PathBuf| {
            failures
                .iter()
                .any(|f| f.starts_with(&format!("{}: ", path.display())))
        };
        let failed = self.cases.iter().filter(failed_cases).count();
        let figures = StfFigures {
            passed: self.cases.len() - failed,
            failed,
            failures,
        };
        terminal.result(&figures, || {
            let lines: String = figures
                .failures
                .iter()
                .map(|line| format!("{line}\n"))
                .collect();
            format!(
                "{lines}{} passed, {} failed\n",
                figures.passed, figures.failed
            )
        })?;
        if figures.failed == 0 {
            Ok(())
        } else {
            Err(Fault::shown(Status::Failed))
        }
    }
}
