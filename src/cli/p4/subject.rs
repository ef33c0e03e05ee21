//! What the tools work on: a program, and what the control plane puts into it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, ValueEnum};
use p4exec::{BuildError, Executor, ExecutorKind};
use p4front::source::{FileId, SourceMap};
use p4front::{Compiled, Options};
use p4gen::build::BuildDirectory;
use p4gen::entries::{self, SwitchEntries};
use p4ir::ValidProgram;
use p4runtime::P4InfoIndex;
use simulator::embedded;

use crate::cli::fault::{self, Context, Fault, Status};
use crate::cli::terminal::{self, Terminal};

/// A program and how to read it.
#[derive(Debug, Args)]
pub(super) struct Source {
    /// The program: P4_16 source (`-` for standard input), or p4c's JSON for BMv2.
    pub(super) program: PathBuf,
    /// Folders searched for included files. core.p4 and v1model.p4 are built in.
    #[arg(short = 'I', value_name = "DIR")]
    include: Vec<PathBuf>,
    /// Macros, as NAME or NAME=VALUE.
    #[arg(short = 'D', value_name = "NAME[=VALUE]")]
    define: Vec<String>,
}

/// A program with its P4Info, where it is known.
pub struct Subject {
    /// The program.
    pub program: Arc<ValidProgram>,
    info: Option<P4InfoIndex>,
}

impl Source {
    pub(super) fn new(program: PathBuf, include: Vec<PathBuf>, define: Vec<String>) -> Self {
        Self {
            program,
            include,
            define,
        }
    }

    pub(super) fn options(&self) -> Options {
        let mut options = Options {
            include_paths: self.include.clone(),
            ..Options::on_disk()
        };
        options
            .defines
            .extend(self.define.iter().map(|text| match text.split_once('=') {
                Some((name, value)) => (name.to_owned(), value.to_owned()),
                None => (text.clone(), "1".to_owned()),
            }));
        options
    }

    pub(super) fn is_json(&self) -> bool {
        self.program.extension().is_some_and(|e| e == "json")
    }

    /// Whether the program stands on standard input.
    pub(super) fn is_stdin(&self) -> bool {
        self.program.as_os_str() == "-"
    }

    /// Takes P4 source into a map.
    pub(super) fn load(&self, map: &mut SourceMap) -> Result<FileId, Fault> {
        let file = if self.is_stdin() {
            map.add("<stdin>", &terminal::read("-")?)
        } else {
            map.load(&self.program)
        };
        // The message names the file.
        file.map_err(|e| Fault::input(fault::chain(&e)))
    }

    /// Compiles P4 source; what is wrong is shown.
    pub(super) fn compile(&self, terminal: &Terminal) -> Result<Compiled, Fault> {
        let mut map = SourceMap::new();
        let main = self.load(&mut map)?;
        let compiled = p4front::compile(&mut map, main, &self.options()).map_err(|found| {
            terminal.finding(found.render_coloured(&map).trim_end());
            Fault::shown(Status::Input)
        })?;
        if compiled.ir.main.type_name.is_empty() {
            let text = format!("{}: {}", self.program.display(), BuildError::NoMain);
            return Err(Fault::input(text).help("name the program: the file that has `main`"));
        }
        Ok(compiled)
    }

    /// The program, from whichever form; `p4info` names its P4Info where the program is JSON.
    pub(super) fn subject(
        &self,
        p4info: Option<&Path>,
        terminal: &Terminal,
    ) -> Result<Subject, Fault> {
        let index = |path: &Path| -> Result<P4InfoIndex, Fault> {
            let text = terminal::read(&path.to_string_lossy())?;
            let info = p4runtime::from_text(&text).input(path.display())?;
            P4InfoIndex::new(info).input(path.display())
        };
        if self.is_json() {
            if !(self.include.is_empty() && self.define.is_empty()) {
                return Err(Fault::input(
                    "`-I` and `-D` mean nothing for JSON for BMv2: it is compiled already",
                )
                .help("leave them out, or give the P4 source"));
            }
            let text = terminal::read(&self.program.to_string_lossy())?;
            let program = bmv2json::read(&text).input(self.program.display())?;
            return Ok(Subject {
                program: Arc::new(program),
                info: p4info.map(index).transpose()?,
            });
        }
        let compiled = self.compile(terminal)?;
        let info = match p4info {
            Some(path) => index(path)?,
            None => P4InfoIndex::new(compiled.p4info).input(self.program.display())?,
        };
        Ok(Subject {
            program: Arc::new(compiled.ir),
            info: Some(info),
        })
    }
}

/// What the control plane puts into a program.
#[derive(Debug, Args)]
pub(super) struct Control {
    /// Entries: runtime.json, entries.txtpb, commands.txt (simple_switch_CLI) or an STF file.
    #[arg(long, value_name = "FILE")]
    entries: Vec<PathBuf>,
    /// The program's P4Info, where the program is BMv2's JSON and entries are not STF.
    #[arg(long, value_name = "FILE")]
    pub(super) p4info: Option<PathBuf>,
}

impl Control {
    /// The first of its options that is given.
    pub(super) fn given(&self) -> Option<&'static str> {
        match (self.entries.is_empty(), &self.p4info) {
            (false, _) => Some("entries"),
            (true, Some(_)) => Some("p4info"),
            (true, None) => None,
        }
    }
}

/// The executors of the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Which {
    /// The reference interpreter.
    Interp,
    /// Compiled to machine code.
    Compile,
}

impl Which {
    pub(super) const fn kind(self) -> ExecutorKind {
        match self {
            Self::Interp => ExecutorKind::Interp,
            Self::Compile => ExecutorKind::Compile,
        }
    }
}

impl Subject {
    /// An executor with the program's first state.
    ///
    /// # Errors
    /// A program that the executor does not run.
    pub fn start(&self, kind: ExecutorKind) -> Result<Box<dyn Executor + Send>, Fault> {
        let started = p4exec::executor(kind, Arc::clone(&self.program));
        started.map_err(|e| Fault::with(Status::Target, format!("{kind}: {e}")))
    }

    /// Installs all files of entries in order.
    pub(super) fn install(
        &self,
        control: &Control,
        executor: &mut dyn Executor,
    ) -> Result<(), Fault> {
        for path in &control.entries {
            self.install_file(path, executor)?;
        }
        Ok(())
    }

    fn install_file(&self, path: &Path, executor: &mut dyn Executor) -> Result<(), Fault> {
        let text = terminal::read(&path.to_string_lossy())?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.extension().is_some_and(|extension| extension == "stf") {
            let case = stf::parse(&text).input(path.display())?;
            return stf::run(&case, executor).map_err(|found| {
                let lines: Vec<String> = found.iter().map(ToString::to_string).collect();
                Fault::input(format!("{}: {}", path.display(), lines.join("; ")))
            });
        }
        let Some(info) = &self.info else {
            let message = format!(
                "{}: these entries need the program's P4Info",
                path.display()
            );
            return Err(Fault::input(message).help("give it with --p4info, or give an STF file"));
        };
        let entries = entries::read_named(&name, &text, info).input(path.display())?;
        embedded::install(executor.state_mut(), &entries).input(path.display())
    }
}

/// The program of a build directory and the entries of one of its switches.
///
/// # Errors
/// A folder that is no build directory, or that has no such switch.
pub fn of_build(
    directory: &Path,
    switch: Option<&str>,
    terminal: &Terminal,
) -> Result<(Subject, SwitchEntries), Fault> {
    let directory = BuildDirectory::open(directory)
        .and_then(BuildDirectory::over_p4runtime)
        .input("build directory")?;
    directory.program_unchanged().map_err(Fault::input)?;
    let first = || {
        directory
            .manifest()
            .switches
            .first()
            .map(|s| s.name.as_str())
    };
    let name = switch.or_else(first).unwrap_or_default();
    let files = directory.switch(name).input("--switch")?;
    let source = Source {
        program: directory.path(&directory.manifest().program.main),
        include: Vec::new(),
        define: Vec::new(),
    };
    let p4info = directory.path(&directory.manifest().program.p4info);
    let subject = source.subject(Some(&p4info), terminal)?;
    let info = subject.info.as_ref();
    let info = info.ok_or_else(|| Fault::input("the build directory has no P4Info"))?;
    let entries = directory.switch_entries(files, info).input(name)?;
    Ok((subject, entries))
}
