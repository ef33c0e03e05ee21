//! `switchwright p4 fmt`: programs written in one way.

use std::path::{Path, PathBuf};

use clap::Args;
use p4front::format::format;
use serde::Serialize;

use crate::cli::fault::{Fault, Status, chain};
use crate::cli::terminal::{self, Terminal};
use crate::cli::words::counted;

/// Arguments of `switchwright p4 fmt`.
#[derive(Debug, Args)]
pub(super) struct Fmt {
    /// The programs, which are changed in place; `-` is standard input, formatted on standard
    /// output.
    #[arg(required = true)]
    programs: Vec<PathBuf>,
    /// Change nothing; tell which are written otherwise, with status 1.
    #[arg(long)]
    check: bool,
}

/// What `p4 fmt --json` prints.
#[derive(Serialize)]
struct FmtReport {
    files: usize,
    /// Those that were, or with `--check` would be, changed.
    changed: Vec<String>,
}

impl Fmt {
    pub(super) fn run(&self, terminal: &Terminal) -> Result<(), Fault> {
        let piped = self
            .programs
            .iter()
            .any(|program| program.as_os_str() == "-");
        if piped && self.programs.len() > 1 {
            return Err(Fault::input(
                "`-` is formatted by itself: give no other program with it",
            ));
        }
        let mut changed = Vec::new();
        for program in &self.programs {
            let name = program.to_string_lossy();
            let text = terminal::read(&name)?;
            let formatted = format(&name, &text).map_err(|e| Fault::input(chain(&e).trim_end()))?;
            if name == "-" && !self.check {
                return terminal.text("formatted", &formatted);
            }
            if formatted == text {
                continue;
            }
            if !self.check {
                files::write(Path::new(program), formatted.as_bytes())
                    .map_err(terminal::unwritten)?;
            }
            changed.push(name.into_owned());
        }
        let report = FmtReport {
            files: self.programs.len(),
            changed,
        };
        terminal.summary(&report, || {
            let what = if self.check {
                "would be changed"
            } else {
                "changed"
            };
            let lines: String = report
                .changed
                .iter()
                .map(|name| format!("{name}\n"))
                .collect();
            let count = counted(report.files, "file");
            format!("{lines}{} of {count} {what}\n", report.changed.len())
        })?;
        match self.check && !report.changed.is_empty() {
            true => Err(Fault::shown(Status::Failed)),
            false => Ok(()),
        }
    }
}
