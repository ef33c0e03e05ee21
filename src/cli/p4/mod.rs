//! `switchwright p4`: the P4 front end and the executors as tools, for any `.p4` file.

mod bench;
mod capture;
mod compile;
mod explain;
mod fmt;
mod loads;
mod lsp;
pub(super) mod p4c;
mod run;
mod sarif;
mod stf;
mod subject;
mod workload;

pub use self::subject::{Subject, of_build};

use clap::{Args, Subcommand, ValueEnum};
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
    Check(Check),
    /// Write the program as JSON for BMv2, and its P4Info. A link named p4c-bm2-ss or p4c takes
    /// their arguments.
    Compile(compile::Compile),
    /// Format programs: indentation and blanks by rule, comments and line breaks as they stand.
    Fmt(fmt::Fmt),
    /// A language server over standard input and output: findings as one types, hover, definitions,
    /// completion, formatting.
    Lsp(lsp::Lsp),
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

/// Arguments of `switchwright p4 check`.
#[derive(Debug, Args)]
struct Check {
    #[command(flatten)]
    source: Source,
    /// How findings are printed.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// How findings are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// With the lines that they are about, on standard error.
    Text,
    /// SARIF 2.1.0 on standard output, for code hosts.
    Sarif,
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
            Tool::Check(check) => check.run(terminal),
            Tool::Compile(compile) => compile.run(terminal),
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
            Tool::Fmt(fmt) => fmt.run(terminal),
            Tool::Lsp(lsp) => lsp.run(terminal),
            Tool::Explain(explain) => explain.run(terminal),
            Tool::Run(run) => run.run(terminal),
            Tool::Stf(stf) => stf.run(terminal),
            Tool::Bench(bench) => bench.run(terminal),
        }
    }
}

impl Check {
    fn run(&self, terminal: &Terminal) -> Result<(), Fault> {
        let source = &self.source;
        let sarif = self.format == Format::Sarif;
        if sarif && terminal.json {
            let message = "`--json` and `--format sarif` both want standard output";
            return Err(Fault::input(message).help("give one of them"));
        }
        if source.is_json() {
            source.subject(None, terminal)?;
            if sarif {
                return terminal.text("sarif", &format!("{:#}\n", sarif::log(&[])));
            }
            let figures = CheckFigures {
                accepted: true,
                errors: 0,
                warnings: 0,
                diagnostics: Vec::new(),
            };
            return terminal.result(&figures, || "accepted\n".to_owned());
        }
        let mut map = SourceMap::new();
        let main = source.load(&mut map)?;
        let (accepted, found) = match p4front::compile(&mut map, main, &source.options()) {
            Ok(compiled) => {
                let mut found = compiled.warnings;
                found.extend(loads::refusals(compiled.ir, &compiled.p4info, &map));
                (
                    !found.iter().any(p4front::diag::Diagnostic::is_error),
                    found,
                )
            }
            Err(found) => (false, found.into_vec()),
        };
        if sarif {
            let records: Vec<_> = found.iter().map(|d| d.record(&map)).collect();
            terminal.text("sarif", &format!("{:#}\n", sarif::log(&records)))?;
            return match accepted {
                true => Ok(()),
                false => Err(Fault::shown(Status::Input)),
            };
        }
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
