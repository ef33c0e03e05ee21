//! `switchwright p4 compile`: JSON for BMv2 and P4Info.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use super::p4c::Format;
use super::subject::Source;
use crate::cli::fault::{Fault, Status};
use crate::cli::terminal::{self, Terminal};

/// Arguments of `switchwright p4 compile`.
#[derive(Debug, Args)]
pub(super) struct Compile {
    #[command(flatten)]
    source: Source,
    /// Where the JSON for BMv2 goes; `-` is standard output.
    #[arg(short, long, value_name = "FILE")]
    output: String,
    /// Where the P4Info goes, by the ending: .bin is protobuf, .json its JSON, anything else its
    /// text format. Several, separated by commas.
    #[arg(long, value_name = "FILE", value_delimiter = ',')]
    p4runtime_files: Vec<PathBuf>,
}

/// What `p4 compile --json` prints.
#[derive(Serialize)]
struct CompileFigures {
    /// Files written.
    files: Vec<String>,
    tables: usize,
    actions: usize,
    warnings: usize,
}

impl Compile {
    pub(super) fn run(&self, terminal: &Terminal) -> Result<(), Fault> {
        if self.source.is_json() {
            let message = format!(
                "{}: JSON for BMv2 is compiled already",
                self.source.program.display()
            );
            return Err(Fault::input(message).help("give the P4 source"));
        }
        if terminal.json && self.output == "-" {
            let message = "`-o -` and `--json` both want standard output";
            return Err(Fault::input(message).help("give `-o` a file"));
        }
        let compiled = self.source.compile(terminal)?;
        let name = self.source.program.display().to_string();
        let written = bmv2json::write_with_notes(&compiled.ir, &name);
        let (text, notes) = written.map_err(|error| {
            Fault::with(Status::Target, error).help("`p4 run` and `switch` run the source itself")
        })?;
        for note in &notes {
            terminal.finding(format!("warning: {note}"));
        }
        let infos = self.p4runtime_files.iter().map(|path| {
            let format = Format::of(path).unwrap_or(Format::Text);
            format.bytes(&compiled.p4info, path)
        });
        let infos = infos.collect::<Result<Vec<_>, _>>()?;
        terminal::write(&self.output, &text)?;
        let mut written = vec![self.output.clone()];
        for (path, bytes) in self.p4runtime_files.iter().zip(infos) {
            files::write(path, &bytes).map_err(terminal::unwritten)?;
            written.push(path.display().to_string());
        }
        if self.output == "-" {
            return Ok(());
        }
        let figures = CompileFigures {
            tables: compiled.ir.tables.len(),
            actions: compiled.ir.actions.len(),
            warnings: compiled.warnings.len() + notes.len(),
            files: written,
        };
        terminal.summary(&figures, || {
            format!("written: {}\n", figures.files.join(", "))
        })
    }
}
