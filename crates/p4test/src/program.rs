//! From a program file to the executors that must agree on it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use p4exec::{BuildError, Executor, ExecutorKind};
use p4front::Options;
use p4front::source::{FileId, SourceMap};
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

/// The repository that this crate was built from: cases, programs and inputs lie in it.
#[must_use]
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// An executor under its name.
pub type Built = (&'static str, Box<dyn Executor + Send>);

/// Reads a program: P4 source, or, by the ending `.json`, what p4c made of it for BMv2.
///
/// # Errors
/// The file cannot be read, or the front end refuses it.
pub fn compile(path: &Path, options: &Options) -> Result<Arc<ValidProgram>, ProgramError> {
    let read = |e: &dyn fmt::Display| ProgramError::Read(format!("{}: {e}", path.display()));
    if path.extension().is_some_and(|e| e == "json") {
        let text = std::fs::read_to_string(path).map_err(|e| read(&e))?;
        let program = bmv2json::read(&text);
        return program
            .map(Arc::new)
            .map_err(|e| ProgramError::Compile(format!("{}: {e}", path.display())));
    }
    let mut map = SourceMap::new();
    let main = map.load(path).map_err(|e| read(&e))?;
    compiled(&mut map, main, options)
}

/// Compiles P4 source.
///
/// # Errors
/// The front end refuses it.
pub fn compile_text(
    name: &str,
    text: &str,
    options: &Options,
) -> Result<Arc<ValidProgram>, ProgramError> {
    let mut map = SourceMap::new();
    let main = map.add(name, text);
    let main = main.map_err(|e| ProgramError::Read(e.to_string()))?;
    compiled(&mut map, main, options)
}

fn compiled(
    map: &mut SourceMap,
    main: FileId,
    options: &Options,
) -> Result<Arc<ValidProgram>, ProgramError> {
    match p4front::compile(map, main, options) {
        Ok(compiled) => Ok(Arc::new(compiled.ir)),
        Err(diags) => Err(ProgramError::Compile(diags.render(map))),
    }
}

/// Every executor there is, each with the program's initial state.
///
/// # Errors
/// What an executor lacks.
pub fn build(program: &Arc<ValidProgram>) -> Result<Vec<Built>, ProgramError> {
    let start =
        |kind: ExecutorKind| Ok((kind.name(), p4exec::executor(kind, Arc::clone(program))?));
    ExecutorKind::ALL.into_iter().map(start).collect()
}
