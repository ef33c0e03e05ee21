//! `switchwright p4`: the P4 front end and the executors as tools, for any `.p4` file.

mod bench;
mod capture;
mod explain;
mod run;
mod stf;
mod subject;

pub(super) use self::subject::of_build;

use clap::{Args, Subcommand};
use p4front::diag::Severity;
use p4front::source::SourceMap;
use serde::Serialize;

use self::subject::Source;
use super::fault::{Context, Fault, Status};
use super::terminal::Terminal;
use super::words::counted;

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
    /// Show the program after each pass.
    Explain(explain::Explain),
    /// Send packets through a program and see what becomes of them.
    Run(run::Run),
    /// Play STF cases on the executors, and on BMv2 where it is installed.
    Stf(stf::Stf),
    /// Measure how many packets a second a program forwards.
    Bench(bench::Bench),
}

/// What `p4 check --json` prints.
#[derive(Serialize)]
struct CheckFigures {
    accepted: bool,
    errors: usize,
    warnings: usize,
    /// Everything found, in the order it was found.
    diagnostics: Vec<p4front::diag::Record>,
}

impl P4 {
    pub(super) fn run(self, terminal: &Terminal) -> Result<(), Fault> {
        match self.tool {
            Tool::Check(source) => source.check(terminal),
            Tool::Info(source) => {
                if source.is_json() {
                    let message = "JSON for BMv2 does not say what P4Info needs";
                    return Err(Fault::input(message).help("give the P4 source"));
                }
                let info = source.compile(terminal)?.p4info;
                let text = p4runtime::to_text(&info).input(source.program.display())?;
                terminal.text("p4info", &text)
            }
            Tool::Ir(source) => {
                let subject = source.subject(None, terminal)?;
                terminal.text("ir", &subject.program.to_string())
            }
            Tool::Explain(explain) => explain.run(terminal),
            Tool::Run(run) => run.run(terminal),
            Tool::Stf(stf) => stf.run(terminal),
            Tool::Bench(bench) => bench.run(terminal),
        }
    }
}

impl Source {
    fn check(&self, terminal: &Terminal) -> Result<(), Fault> {
        if self.is_json() {
            self.subject(None, terminal)?;
            let figures = CheckFigures {
                accepted: true,
                errors: 0,
                warnings: 0,
                diagnostics: Vec::new(),
            };
            return terminal.result(&figures, || "accepted\n".to_owned());
        }
        let mut map = SourceMap::new();
        let main = self.load(&mut map)?;
        let (accepted, found) = match p4front::compile(&mut map, main, &self.options()) {
            Ok(compiled) => (true, compiled.warnings),
            Err(found) => (false, found.into_vec()),
        };
        for diagnostic in &found {
            terminal.finding(diagnostic.render_coloured(&map));
        }
        let errors = found.iter().filter(|d| d.is_error()).count();
        let of = |severity| found.iter().filter(|d| d.severity == severity).count();
        let figures = CheckFigures {
            accepted,
            errors,
            warnings: of(Severity::Warning),
            diagnostics: found.iter().map(|d| d.record(&map)).collect(),
        };
        let summary = match (figures.errors, figures.warnings) {
            (0, 0) => String::new(),
            (0, n) => counted(n, "warning"),
            (n, 0) => counted(n, "error"),
            (n, m) => format!("{}, {}", counted(n, "error"), counted(m, "warning")),
        };
        terminal.summary(&figures, || match (accepted, summary.is_empty()) {
            (true, true) => "accepted\n".to_owned(),
            (true, false) => format!("accepted, {summary}\n"),
            (false, _) => String::new(),
        })?;
        if accepted {
            return Ok(());
        }
        terminal.finding(summary);
        Err(Fault::shown(Status::Input))
    }
}
