//! `switchwright p4 compile`: JSON for BMv2 and P4Info; and the same under the names and arguments of p4c.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{Args, Parser};
use prost::Message as _;
use serde::Serialize;

use super::subject::Source;
use crate::cli::fault::{Context, Fault, Status};
use crate::cli::terminal::{self, Terminal};

/// Arguments of `switchwright p4 compile`.
#[derive(Debug, Args)]
pub(super) struct Compile {
    #[command(flatten)]
    source: Source,
    /// Where the JSON for BMv2 goes; `-` is standard output.
    #[arg(short, long, value_name = "FILE")]
    output: String,
    /// Where the P4Info goes, by the ending: .bin is protobuf, anything else its text format. Several, separated by commas.
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
        let text = bmv2json::write(&compiled.ir, &name).map_err(|error| {
            Fault::with(Status::Target, error).help("`p4 run` and `switch` run the source itself")
        })?;
        let infos = self
            .p4runtime_files
            .iter()
            .map(|path| info(&compiled.p4info, path));
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
            warnings: compiled.warnings.len(),
            files: written,
        };
        terminal.summary(&figures, || {
            format!("written: {}\n", figures.files.join(", "))
        })
    }
}

/// P4Info in the format that a file's name asks for.
fn info(info: &p4front::P4Info, path: &Path) -> Result<Vec<u8>, Fault> {
    match path.extension().and_then(|e| e.to_str()) {
        Some("bin") => Ok(info.encode_to_vec()),
        Some("json") => {
            let message = format!("{}: P4Info as JSON is not written", path.display());
            Err(Fault::input(message).help("name a file that ends in .txtpb or .bin"))
        }
        _ => {
            let text = p4runtime::to_text(info).input(path.display())?;
            Ok(text.into_bytes())
        }
    }
}

/// The arguments of p4c-bm2-ss and p4c, as far as they mean something for BMv2's simple_switch.
#[derive(Debug, Parser)]
#[command(
    about = "P4_16 to JSON for BMv2 and P4Info, with the arguments of p4c",
    version
)]
struct AsP4c {
    /// The program.
    program: PathBuf,
    /// Folders searched for included files.
    #[arg(short = 'I', value_name = "DIR")]
    include: Vec<PathBuf>,
    /// Macros, as NAME or NAME=VALUE.
    #[arg(short = 'D', value_name = "NAME[=VALUE]")]
    define: Vec<String>,
    /// p4c-bm2-ss: the file to write. p4c: the folder.
    #[arg(short, value_name = "FILE|DIR")]
    output: Option<PathBuf>,
    /// Where the P4Info goes.
    #[arg(long, value_name = "FILE", value_delimiter = ',')]
    p4runtime_files: Vec<PathBuf>,
    /// The version of the language: only 16 is known.
    #[arg(long, alias = "std", value_name = "VERSION", value_parser = ["16", "p4_16", "p4-16"])]
    p4v: Option<String>,
    /// Only bmv2 is known.
    #[arg(short = 'b', long, value_parser = ["bmv2", "bmv2-v1model-p4org", "bmv2-ss-p4org"])]
    target: Option<String>,
    /// Only v1model is known.
    #[arg(short, long, value_parser = ["v1model"])]
    arch: Option<String>,
    /// Externs of a program's own are in no simple_switch that one can count on: accepted, and told where one is met.
    #[arg(long)]
    emit_externs: bool,
    /// Warnings that are not wanted; all are left out.
    #[arg(long = "Wdisable", value_name = "NAME", num_args = 0..=1, require_equals = true)]
    wdisable: Vec<Option<String>>,
}

/// Runs as p4c-bm2-ss, or as p4c, whose `-o` names a folder.
pub(in crate::cli) fn as_p4c(
    driver: bool,
    arguments: Vec<OsString>,
) -> Result<Result<(), Fault>, clap::Error> {
    let given = AsP4c::try_parse_from(arguments)?;
    let stem = given.program.file_stem().unwrap_or_default().to_owned();
    let file = PathBuf::from(stem).with_extension("json");
    let output = match given.output {
        Some(folder) if driver => folder.join(file),
        Some(file) => file,
        None if driver => file,
        // Like p4c-bm2-ss, which then only checks.
        None => PathBuf::from("/dev/null"),
    };
    let compile = Compile {
        source: Source::new(given.program, given.include, given.define),
        output: output.display().to_string(),
        p4runtime_files: given.p4runtime_files,
    };
    let terminal = Terminal {
        json: false,
        quiet: true,
    };
    let made = match (driver, output.parent()) {
        (true, Some(folder)) if !folder.as_os_str().is_empty() => {
            files::make_folder(folder).map_err(terminal::unwritten)
        }
        _ => Ok(()),
    };
    Ok(made.and_then(|()| compile.run(&terminal)))
}
