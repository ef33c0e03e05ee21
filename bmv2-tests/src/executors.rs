//! From a program file to the executors that must agree on it.

use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use p4exec::{BuildError, Compiled, Executor, Interpreter};
use p4front::Options;
use p4front::source::SourceMap;
use p4ir::ValidProgram;
use thiserror::Error;

/// Why a program does not run.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ProgramError {
    /// The file cannot be read.
    #[error("{0}")]
    Read(String),
    /// The front end refuses it; its findings as text.
    #[error("{0}")]
    Compile(String),
    /// An executor refuses it.
    #[error(transparent)]
    Build(#[from] BuildError),
}

/// An executor of this project.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Engine {
    /// The reference interpreter.
    Interp,
    /// Machine code.
    Compile,
}

impl Engine {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Interp, Self::Compile];

    /// The name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Interp => "interp",
            Self::Compile => "compile",
        }
    }

    /// An executor with the program's initial state.
    ///
    /// # Errors
    /// What the executor lacks.
    pub fn start(self, program: &Arc<ValidProgram>) -> Result<Box<dyn Executor>, BuildError> {
        Ok(match self {
            Self::Interp => Box::new(Interpreter::new(Arc::clone(program))?),
            Self::Compile => Box::new(Compiled::new(Arc::clone(program))?),
        })
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Engine {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names = || Self::ALL.map(Self::name).join(", ");
        let found = Self::ALL.into_iter().find(|e| e.name() == text);
        found.ok_or_else(|| format!("`{text}` is not an executor; there are: {}", names()))
    }
}

/// An executor under its name.
pub type Built = (&'static str, Box<dyn Executor>);

/// Reads a program: P4 source, or, by the ending `.json`, what p4c made of it for BMv2.
///
/// # Errors
/// The file cannot be read, or the front end refuses it.
pub fn compile(path: &Path, options: &Options) -> Result<Arc<ValidProgram>, ProgramError> {
    let read = |e: &dyn fmt::Display| ProgramError::Read(format!("{}: {e}", path.display()));
    if path.extension().is_some_and(|e| e == "json") {
        let text = std::fs::read_to_string(path).map_err(|e| read(&e))?;
        let program = p4front::bmv2json::read(&text);
        return program
            .map(Arc::new)
            .map_err(|e| ProgramError::Compile(format!("{}: {e}", path.display())));
    }
    let mut map = SourceMap::new();
    let main = map.load(path).map_err(|e| read(&e))?;
    match p4front::compile(&mut map, main, options) {
        Ok(compiled) => Ok(Arc::new(compiled.ir)),
        Err(diags) => Err(ProgramError::Compile(diags.render(&map))),
    }
}

/// Every executor there is, each with the program's initial state.
///
/// # Errors
/// What an executor lacks.
pub fn build(program: &Arc<ValidProgram>) -> Result<Vec<Built>, ProgramError> {
    let start = |engine: Engine| Ok((engine.name(), engine.start(program)?));
    Engine::ALL.into_iter().map(start).collect()
}
