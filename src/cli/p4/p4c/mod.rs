//! The programs `p4c` and `p4c-bm2-ss`, by links of those names: their whole command line, over our
//! front end.

mod line;
mod options;
mod warnings;
mod write;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use p4front::diag::{Diagnostic, Diagnostics};
use p4front::lex::TokenKind;
use p4front::source::{FileId, SourceMap};
use p4front::{Compiled, pp};

pub(in crate::cli) use self::line::Tool;
use self::line::{Line, Shown, Steps};
pub(super) use self::write::Format;
use super::subject::Source;
use crate::cli::fault::{Fault, Status};
use crate::cli::terminal::{self, Terminal};

/// Stands in for one of p4c's programs. `arguments` begin with the program's name.
///
/// # Errors
/// Arguments, programs and files that are wrong; what the format cannot say.
pub(in crate::cli) fn run(tool: Tool, arguments: Vec<OsString>) -> Result<(), Fault> {
    let words = arguments.into_iter().skip(1).collect();
    let line = Line::read(tool, words, &|name| std::env::var(name).ok())?;
    if let Some(shown) = line.shown {
        terminal::emit(&match shown {
            Shown::Help => options::help(tool.name()),
            Shown::Version => format!(
                "{} {} (switchwright)\n",
                tool.name(),
                env!("CARGO_PKG_VERSION")
            ),
            Shown::Targets => {
                "Supported targets in \"target, arch\" tuple:\nbmv2-v1model\n".to_owned()
            }
            Shown::Pragmas => {
                "bmv2-v1model backend does not provide help message for pragmas/annotations\n"
                    .to_owned()
            }
        });
        return Ok(());
    }
    let run = Run::new(tool, line);
    match run.line.dry_run {
        true => terminal::emit(&run.commands()),
        false => run.run()?,
    }
    Ok(())
}

/// A run with what it reads and writes.
struct Run {
    tool: Tool,
    line: Line,
    /// The file with the program; with `p4c -e` the one that `p4c -E` wrote.
    program: PathBuf,
    /// The preprocessed text, where one is written.
    text: Option<PathBuf>,
    /// The JSON, where one is written: without `-o` p4c-bm2-ss only checks.
    json: Option<PathBuf>,
    terminal: Terminal,
}

impl Run {
    fn new(tool: Tool, line: Line) -> Self {
        let given = line.programs.first().cloned().unwrap_or_default();
        let stem = given.file_stem().unwrap_or_default().to_owned();
        let in_folder = |ending: &str| {
            let mut name = stem.clone();
            name.push(ending);
            line.output.clone().unwrap_or_default().join(name)
        };
        let (program, text, json) = match (tool, line.steps) {
            (Tool::Driver, Steps::Compile) => (in_folder(".p4i"), None, Some(in_folder(".json"))),
            (Tool::Driver, Steps::Preprocess) => (given, Some(in_folder(".p4i")), None),
            (Tool::Driver, _) => (given, Some(in_folder(".p4i")), Some(in_folder(".json"))),
            (Tool::Compiler, _) => (given, None, line.output.clone()),
        };
        Self {
            tool,
            line,
            program,
            text,
            json,
            terminal: Terminal {
                json: false,
                quiet: true,
            },
        }
    }

    /// The steps as command lines of these programs.
    fn commands(&self) -> String {
        let quoted =
            |path: &Path| format!("'{}'", path.display().to_string().replace('\'', "'\\''"));
        let program = quoted(&self.program);
        let output = match &self.line.output {
            Some(path) => format!(" -o {}", quoted(path)),
            None => String::new(),
        };
        let tool = self.tool.name();
        let preprocess = format!("preprocessor:\n{tool} -E{output} {program}\n");
        let compile = match self.tool {
            Tool::Driver => format!("compiler:\n{tool} -e{output} {program}\n"),
            Tool::Compiler => format!("compiler:\n{tool}{output} {program}\n"),
        };
        match self.line.steps {
            Steps::All if self.tool == Tool::Driver => preprocess + &compile,
            Steps::All | Steps::Compile => compile,
            Steps::Preprocess => preprocess,
            Steps::Dependencies => format!("preprocessor:\n{tool} -M {program}\n"),
        }
    }

    fn run(&self) -> Result<(), Fault> {
        if self
            .program
            .extension()
            .is_some_and(|ending| ending == "json")
        {
            let message = format!(
                "{}: JSON for BMv2 is compiled already",
                self.program.display()
            );
            return Err(Fault::input(message).help("give the P4 source"));
        }
        let line = &self.line;
        let source = Source::new(
            self.program.clone(),
            line.include.clone(),
            line.define.clone(),
        );
        self.say(format!("reading {}", self.program.display()));
        let folder = line.output.as_deref().filter(|_| self.tool == Tool::Driver);
        if let Some(folder) = folder {
            files::make_folder(folder).map_err(terminal::unwritten)?;
        }
        self.preprocess(&source)?;
        match line.steps {
            Steps::All | Steps::Compile => self.compile(&source),
            Steps::Preprocess | Steps::Dependencies => Ok(()),
        }
    }

    /// Preprocesses as far as the text or the included files are wanted.
    fn preprocess(&self, source: &Source) -> Result<(), Fault> {
        let line = &self.line;
        let only = matches!(line.steps, Steps::Preprocess | Steps::Dependencies);
        let rule = line.dependencies.beside || line.steps == Steps::Dependencies;
        if !only && !rule && self.text.is_none() {
            return Ok(());
        }
        let mut map = SourceMap::new();
        let main = source.load(&mut map)?;
        let mut found = Diagnostics::new();
        let read = pp::preprocess(&mut map, main, &source.options(), &mut found);
        // Compiling finds everything once more: it is said once.
        if only || found.has_errors() {
            self.tell(&map, found.into_vec())?;
        }
        if rule {
            self.write_rule(&map, &read.included())?;
        }
        if line.steps == Steps::Dependencies {
            return Ok(());
        }
        let tokens = read
            .tokens
            .iter()
            .filter(|token| token.kind != TokenKind::End);
        let text = pp::text(&map, tokens, pp::Places::Markers);
        match (&self.text, only) {
            (Some(path), _) => self.write(path, text.as_bytes()),
            (None, true) => {
                terminal::emit(&text);
                Ok(())
            }
            (None, false) => Ok(()),
        }
    }

    fn write_rule(&self, map: &SourceMap, included: &[FileId]) -> Result<(), Fault> {
        let files = included.iter().filter_map(|file| map.file(*file));
        let files: Vec<String> = files.map(|file| file.name.to_string()).collect();
        let stem = self
            .program
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let made = self.json.as_ref().map(|path| path.display().to_string());
        let target = made.clone().unwrap_or_else(|| format!("{stem}.json"));
        let said = &self.line.dependencies;
        let text = write::rule(said, &target, &self.program.display().to_string(), &files);
        let beside = || {
            let path = made.map_or_else(|| PathBuf::from(&stem), PathBuf::from);
            path.with_extension("d")
        };
        match (&said.file, said.beside) {
            (Some(file), _) => self.write(file, text.as_bytes()),
            (None, true) => self.write(&beside(), text.as_bytes()),
            (None, false) => {
                terminal::emit(&text);
                Ok(())
            }
        }
    }

    /// Compiles, and writes all that is asked for: everything, or after an error nothing.
    fn compile(&self, source: &Source) -> Result<(), Fault> {
        let mut map = SourceMap::new();
        let main = source.load(&mut map)?;
        let (compiled, found) = match p4front::compile(&mut map, main, &source.options()) {
            Ok(mut compiled) => {
                let warnings = std::mem::take(&mut compiled.warnings);
                (Some(compiled), warnings)
            }
            Err(found) => (None, found.into_vec()),
        };
        self.tell(&map, found)?;
        let Some(compiled) = compiled else {
            return Err(Fault::shown(Status::Input));
        };
        for (path, bytes) in self.made(source, &compiled)? {
            self.write(&path, &bytes)?;
        }
        Ok(())
    }

    fn made(&self, source: &Source, compiled: &Compiled) -> Result<Vec<(PathBuf, Vec<u8>)>, Fault> {
        let line = &self.line;
        let mut made = Vec::new();
        let name = line.programs.first().unwrap_or(&self.program);
        let written = bmv2json::write_with_notes(&compiled.ir, &name.display().to_string());
        let (json, notes) = written.map_err(|error| {
            Fault::with(Status::Target, error).help("`p4 run` and `switch` run the source itself")
        })?;
        if self.json.is_some() {
            for note in notes {
                self.terminal.finding(format!("warning: {note}"));
            }
        }
        made.extend(self.json.clone().map(|path| (path, json.into_bytes())));
        for (path, format) in &line.infos {
            made.push((path.clone(), format.bytes(&compiled.p4info, path)?));
        }
        if !line.entries.is_empty() {
            let entries = p4front::initial_entries(&compiled.ir, &compiled.p4info);
            for (path, format) in &line.entries {
                made.push((path.clone(), format.bytes(&entries, path)?));
            }
        }
        if let Some(path) = &line.pretty {
            made.push((path.clone(), pretty(source)?.into_bytes()));
        }
        if let Some(path) = &line.ir {
            let program = serde_json::to_value(&*compiled.ir);
            let program = program.map_err(|error| Fault::with(Status::Target, error))?;
            let ir = serde_json::json!({ "format": "switchwright-ir", "program": program });
            made.push((path.clone(), format!("{ir:#}\n").into_bytes()));
        }
        Ok(made)
    }

    /// Shows what was found, as far as it is wanted.
    ///
    /// # Errors
    /// The status, if there is an error among it.
    fn tell(&self, map: &SourceMap, found: Vec<Diagnostic>) -> Result<(), Fault> {
        let mut kept = Diagnostics::new();
        let judged = found
            .into_iter()
            .filter_map(|d| self.line.warnings.judge(d));
        judged.for_each(|found| kept.push(found));
        let most = self.line.most_errors.unwrap_or(usize::MAX);
        for diagnostic in kept.iter().take(most) {
            self.terminal.finding(diagnostic.render_coloured(map));
        }
        match kept.error_count() {
            0 => Ok(()),
            1 => self.failed("1 error".to_owned()),
            n => self.failed(format!("{n} errors")),
        }
    }

    fn failed(&self, count: String) -> Result<(), Fault> {
        self.terminal.finding(count);
        Err(Fault::shown(Status::Input))
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), Fault> {
        self.say(format!("writing {}", path.display()));
        files::write(path, bytes).map_err(terminal::unwritten)
    }

    /// What `-v` shows.
    fn say(&self, line: String) {
        if self.line.verbose {
            self.terminal.finding(line);
        }
    }
}

/// The program as text: the architecture as `#include`, everything else as it was read.
fn pretty(source: &Source) -> Result<String, Fault> {
    let mut map = SourceMap::new();
    let main = source.load(&mut map)?;
    let (mut program, found) = p4front::parse(&mut map, main, &source.options());
    if found.has_errors() {
        return Err(Fault::input(found.render(&map).trim_end()));
    }
    let builtin = |file: FileId| map.file(file).filter(|file| file.builtin);
    let mut headers: Vec<String> = Vec::new();
    for file in program
        .decls
        .iter()
        .filter_map(|decl| builtin(decl.at.span.file))
    {
        let header = format!("#include {}\n", file.name);
        if !headers.contains(&header) {
            headers.push(header);
        }
    }
    program
        .decls
        .retain(|decl| builtin(decl.at.span.file).is_none());
    Ok(headers.concat() + "\n" + &program.to_string())
}
