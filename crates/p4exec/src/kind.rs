//! The executors there are, by name.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use p4ir::ValidProgram;
use thiserror::Error;

use crate::compile::Compiled;
use crate::exec::Executor;
use crate::interp::Interpreter;
use crate::state::BuildError;

/// Which executor runs a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ExecutorKind {
    /// The reference interpreter, [`Interpreter`].
    Interp,
    /// Machine code, [`Compiled`].
    #[default]
    Compile,
}

impl ExecutorKind {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Interp, Self::Compile];

    /// The name by which a command line calls it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Interp => "interp",
            Self::Compile => "compile",
        }
    }
}

impl fmt::Display for ExecutorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// There is no executor of this name.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("there is no executor `{0}`; use `interp` or `compile`")]
pub struct UnknownExecutor(String);

impl FromStr for ExecutorKind {
    type Err = UnknownExecutor;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let known = Self::ALL.into_iter().find(|kind| kind.name() == name);
        known.ok_or_else(|| UnknownExecutor(name.to_owned()))
    }
}

/// An executor of a program, with the program's initial state.
pub fn executor(
    kind: ExecutorKind,
    program: Arc<ValidProgram>,
) -> Result<Box<dyn Executor + Send>, BuildError> {
    Ok(match kind {
        ExecutorKind::Interp => Box::new(Interpreter::new(program)?),
        ExecutorKind::Compile => Box::new(Compiled::new(program)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for kind in ExecutorKind::ALL {
            assert_eq!(kind.to_string().parse(), Ok(kind));
        }
        assert!("fast".parse::<ExecutorKind>().is_err());
    }
}
