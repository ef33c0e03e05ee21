//! P4Info as P4Runtime's message, from what the front end says of a program.

use std::path::PathBuf;

use p4front::source::{SourceError, SourceMap};
use p4runtime::p4::config::v1 as proto;
pub use switchd::p4info::message;

use super::Program;

/// Why a generated program has no P4Info. The program is ours, so this is never the user's fault.
#[derive(Debug, thiserror::Error)]
pub enum P4InfoError {
    /// The front end refuses the program.
    #[error("the generated program does not compile; this is a bug of Switchwright:\n{0}")]
    Refused(String),
    /// The program is too large to be read.
    #[error("the generated program cannot be read: {0}; this is a bug of Switchwright")]
    Source(#[from] SourceError),
}

/// The P4Info of a generated program, from its own text.
///
/// # Errors
/// [`P4InfoError`] if the front end refuses the text (our bug).
pub fn of(program: &Program) -> Result<proto::P4Info, P4InfoError> {
    let file = |file: &super::SourceFile| (PathBuf::from(&file.name), file.text.clone());
    let options = p4front::Options {
        files: program.includes.iter().map(file).collect(),
        ..p4front::Options::default()
    };
    let mut map = SourceMap::new();
    let main = map.add(&program.main.name, &program.main.text)?;
    match p4front::compile(&mut map, main, &options) {
        Ok(compiled) => Ok(message(&compiled.p4info)),
        Err(findings) => Err(P4InfoError::Refused(findings.render(&map))),
    }
}
