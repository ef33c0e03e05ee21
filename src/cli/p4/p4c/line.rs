//! A command line of p4c, read.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::options::{self, Act, Choice, Meaning, Value};
use super::warnings::{self, Action, Warnings};
use super::write::{Dependencies, Format};
use crate::cli::fault::Fault;

/// Which of p4c's programs is stood in for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Tool {
    /// `p4c`, whose `-o` names a folder.
    Driver,
    /// `p4c-bm2-ss`, whose `-o` names a file.
    Compiler,
}

impl Tool {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Driver => "p4c",
            Self::Compiler => "p4c-bm2-ss",
        }
    }
}

/// What is printed in place of compiling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    Help,
    Version,
    Targets,
    Pragmas,
}

/// Which of the steps are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Steps {
    #[default]
    All,
    /// `-E`.
    Preprocess,
    /// `-e`.
    Compile,
    /// `-M`.
    Dependencies,
}

/// A command line.
#[derive(Clone, Debug, Default)]
pub(super) struct Line {
    pub(super) programs: Vec<PathBuf>,
    pub(super) include: Vec<PathBuf>,
    pub(super) define: Vec<String>,
    pub(super) output: Option<PathBuf>,
    pub(super) steps: Steps,
    /// P4Info.
    pub(super) infos: Vec<(PathBuf, Format)>,
    /// Entries of the program's text.
    pub(super) entries: Vec<(PathBuf, Format)>,
    pub(super) pretty: Option<PathBuf>,
    pub(super) ir: Option<PathBuf>,
    pub(super) warnings: Warnings,
    pub(super) most_errors: Option<usize>,
    pub(super) dependencies: Dependencies,
    pub(super) verbose: bool,
    pub(super) dry_run: bool,
    pub(super) shown: Option<Shown>,
    /// The files of `--p4runtime-file` and `--p4runtime-entries-file`, whose format is said
    /// elsewhere on the line.
    info: Option<PathBuf>,
    entries_file: Option<PathBuf>,
    format: Option<Format>,
    language: Option<String>,
    target: Option<String>,
    architecture: Option<String>,
}

impl Line {
    /// Reads the words behind the program's name. What is not on the line may be in p4c's
    /// environment variables.
    ///
    /// # Errors
    /// Options that are unknown, lack a value, or are refused.
    pub(super) fn read(
        tool: Tool,
        words: Vec<OsString>,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, Fault> {
        let mut line = Self::default();
        line.take(tool, words)?;
        if line.shown.is_none() {
            line.finish(tool, environment)?;
        }
        Ok(line)
    }

    fn take(&mut self, tool: Tool, words: Vec<OsString>) -> Result<(), Fault> {
        let mut words = words.into_iter().peekable();
        while let Some(word) = words.next() {
            let Some(text) = word
                .to_str()
                .filter(|text| text.starts_with('-') && *text != "-")
            else {
                self.programs.push(word.into());
                continue;
            };
            let mut rest = text.to_owned();
            // Options of one letter without a value may stand together.
            while !rest.is_empty() {
                let (name, choice, attached) = split(tool, &rest)?;
                rest.clear();
                let value = match choice.value {
                    Value::None => {
                        rest = attached.map_or(String::new(), |more| format!("-{more}"));
                        if name.starts_with("--") && !rest.is_empty() {
                            let message = format!("{}: `{name}` takes no value", tool.name());
                            return Err(Fault::input(message));
                        }
                        None
                    }
                    Value::Needed(what) => {
                        let next = attached.map(OsString::from).or_else(|| words.next());
                        let missing = || {
                            let message = format!("{}: `{name}` needs {what}", tool.name());
                            Fault::input(message).help(choice.about)
                        };
                        Some(next.filter(|v| !v.is_empty()).ok_or_else(missing)?)
                    }
                    // argparse, and only that, takes the next word too.
                    Value::Optional(_) => attached.map(OsString::from).or_else(|| {
                        let named = |w: &OsString| w.to_str().is_some_and(warnings::are_names);
                        let takes = tool == Tool::Driver && name.starts_with("--W");
                        words.next_if(|w| takes && named(w))
                    }),
                };
                self.apply(tool, &name, choice, value)?;
            }
        }
        Ok(())
    }

    fn apply(
        &mut self,
        tool: Tool,
        name: &str,
        choice: &Choice,
        value: Option<OsString>,
    ) -> Result<(), Fault> {
        let act = match choice.meaning {
            Meaning::Does(act) => act,
            Meaning::Nothing => return Ok(()),
            Meaning::Refused => {
                let message = format!("{}: `{name}` is refused", tool.name());
                return Err(Fault::input(message).help(choice.about));
            }
        };
        let path = || PathBuf::from(value.clone().unwrap_or_default());
        let text = || value.as_ref().map(|v| v.to_string_lossy().into_owned());
        let word = || text().unwrap_or_default();
        match act {
            Act::Help => self.shown = self.shown.or(Some(Shown::Help)),
            Act::Version => self.shown = self.shown.or(Some(Shown::Version)),
            Act::Targets => self.shown = self.shown.or(Some(Shown::Targets)),
            Act::Pragmas => self.shown = self.shown.or(Some(Shown::Pragmas)),
            Act::Include => self.include.push(path()),
            Act::Define => self.define.push(word()),
            Act::Undefine => {
                let undefined = word();
                self.define
                    .retain(|d| d.split('=').next() != Some(undefined.as_str()));
            }
            Act::PreprocessOnly => self.steps = Steps::Preprocess,
            Act::SkipPreprocessor => self.steps = Steps::Compile,
            Act::Dependencies => self.steps = Steps::Dependencies,
            Act::Language => self.language = text(),
            Act::Target => self.target = text(),
            Act::Architecture => self.architecture = text(),
            Act::Output => self.output = Some(path()),
            Act::Infos => files(&word(), &mut self.infos)?,
            Act::EntriesFiles => files(&word(), &mut self.entries)?,
            Act::Info => self.info = Some(path()),
            Act::EntriesFile => self.entries_file = Some(path()),
            Act::InfoFormat => self.format = Some(Format::named(&word())?),
            Act::Pretty => self.pretty = Some(path()),
            Act::Ir => self.ir = Some(path()),
            Act::Ignore => self.warnings.set(text(), Action::Ignore)?,
            Act::Note => self.warnings.set(text(), Action::Note)?,
            Act::Warn => self.warnings.set(text(), Action::Warn)?,
            Act::Fail => self.warnings.set(text(), Action::Fail)?,
            Act::MostErrors => self.most_errors = Some(number(name, &word())?),
            Act::Verbose => self.verbose = true,
            Act::DryRun => self.dry_run = true,
            Act::DependenciesBeside => self.dependencies.beside = true,
            Act::DependenciesFile => self.dependencies.file = Some(path()),
            Act::DependenciesTarget => self.dependencies.targets.push(word()),
            Act::DependenciesPhony => self.dependencies.phony = true,
            Act::Words => {
                let words = word().split_whitespace().map(OsString::from).collect();
                self.take(tool, words)?;
            }
        }
        Ok(())
    }

    /// Puts together what options say of each other, and refuses what does not go together.
    fn finish(
        &mut self,
        tool: Tool,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Result<(), Fault> {
        if tool == Tool::Driver {
            let default = |name: &str| environment(&format!("P4C_DEFAULT_{name}"));
            self.language = self.language.take().or_else(|| default("LANGUAGE"));
            self.target = self.target.take().or_else(|| default("TARGET"));
            self.architecture = self.architecture.take().or_else(|| default("ARCH"));
        }
        self.include
            .extend(environment("P4C_16_INCLUDE_PATH").map(PathBuf::from));
        self.check_target(tool)?;
        let format = self.format.unwrap_or(Format::Binary);
        self.infos
            .extend(self.info.take().map(|file| (file, format)));
        self.entries
            .extend(self.entries_file.take().map(|file| (file, format)));
        match self.programs.len() {
            1 => Ok(()),
            0 => Err(
                Fault::input(format!("{}: there is no program", tool.name()))
                    .help(format!("`{} --help` lists the options", tool.name())),
            ),
            _ => {
                let names: Vec<_> = self
                    .programs
                    .iter()
                    .map(|p| p.display().to_string())
                    .collect();
                let message = format!(
                    "{}: more than one program: {}",
                    tool.name(),
                    names.join(", ")
                );
                Err(Fault::input(message).help("give one, and include the others from it"))
            }
        }
    }

    fn check_target(&self, tool: Tool) -> Result<(), Fault> {
        let refuse = |what: &str, given: &str, help: &str| {
            let message = format!("{}: {what} `{given}` is not written here", tool.name());
            Err(Fault::input(message).help(help))
        };
        match self.language.as_deref() {
            None | Some("16" | "1.2" | "p4-16" | "p4_16" | "P4₁₆") => {}
            Some(other) => return refuse("language", other, "only P4_16 is read"),
        }
        match self.target.as_deref() {
            None | Some("bmv2" | "bmv2-v1model" | "bmv2-v1model-p4org" | "bmv2-ss-p4org") => {}
            Some(other) => {
                return refuse(
                    "target",
                    other,
                    "bmv2 is; `switchwright build` makes programs for others",
                );
            }
        }
        match self.architecture.as_deref() {
            None | Some("v1model") => Ok(()),
            Some(other) => refuse("architecture", other, "v1model is"),
        }
    }
}

/// An option at the beginning of a word: its name, and what is attached to it.
fn split(tool: Tool, word: &str) -> Result<(String, &'static Choice, Option<String>), Fault> {
    if let Some(choice) = options::by_name(word) {
        return Ok((word.to_owned(), choice, None));
    }
    let unknown = || {
        Fault::input(format!("{}: there is no option `{word}`", tool.name()))
            .help(format!("`{} --help` lists the options", tool.name()))
    };
    if word.starts_with("--") {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (word, None),
        };
        let shortened = || {
            (tool == Tool::Driver)
                .then(|| options::by_beginning(name))
                .flatten()
        };
        let choice = options::by_name(name)
            .or_else(shortened)
            .ok_or_else(unknown)?;
        return Ok((name.to_owned(), choice, value));
    }
    let end = word
        .char_indices()
        .nth(2)
        .map_or(word.len(), |(end, _)| end);
    let (name, value) = word.split_at(end);
    let choice = options::by_name(name).ok_or_else(unknown)?;
    Ok((
        name.to_owned(),
        choice,
        (!value.is_empty()).then(|| value.to_owned()),
    ))
}

/// A list of files, each in the format that its ending asks for.
fn files(list: &str, into: &mut Vec<(PathBuf, Format)>) -> Result<(), Fault> {
    for name in list.split(',').filter(|name| !name.is_empty()) {
        let Some(format) = Format::of(Path::new(name)) else {
            let message = format!("{name}: the ending names no format");
            return Err(Fault::input(message).help("endings are .txtpb, .txt, .json and .bin"));
        };
        into.push((name.into(), format));
    }
    Ok(())
}

fn number(name: &str, text: &str) -> Result<usize, Fault> {
    let number = text.parse();
    number.map_err(|_| Fault::input(format!("`{name}` needs a number: `{text}`")))
}
