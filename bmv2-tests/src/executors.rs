//! From a program file to the executors that must agree on it.

use std::path::Path;
use std::sync::Arc;

use p4exec::{BuildError, Executor, Interpreter};
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

/// An executor under its name.
pub type Built = (&'static str, Box<dyn Executor>);

/// Compiles a program.
pub fn compile(path: &Path, options: &Options) -> Result<Arc<ValidProgram>, ProgramError> {
    let mut map = SourceMap::new();
    let main = map
        .load(path)
        .map_err(|e| ProgramError::Read(format!("{}: {e}", path.display())))?;
    match p4front::compile(&mut map, main, options) {
        Ok(compiled) => Ok(Arc::new(compiled.ir)),
        Err(diags) => Err(ProgramError::Compile(diags.render(&map))),
    }
}

/// Every executor there is, each with the program's initial state.
pub fn build(program: &Arc<ValidProgram>) -> Result<Vec<Built>, ProgramError> {
    let interp = Interpreter::new(Arc::clone(program))?;
    Ok(vec![("interp", Box::new(interp))])
}
