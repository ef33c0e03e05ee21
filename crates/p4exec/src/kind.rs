//! The executors there are, by name.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use p4ir::ValidProgram;
use thiserror::Error;

#[cfg(feature = "jit")]
use crate::compile::Compiled;
use crate::exec::Executor;
use crate::interp::Interpreter;
use crate::state::BuildError;

/// The fastest executor of this build.
#[cfg(feature = "jit")]
pub type FastestExecutor = Compiled;

/// The fastest executor of this build.
#[cfg(not(feature = "jit"))]
pub type FastestExecutor = Interpreter;

/// Storage of one packet in a [`FastestExecutor`].
#[cfg(feature = "jit")]
pub type FastestFrame = Vec<u64>;

/// Storage of one packet in a [`FastestExecutor`].
#[cfg(not(feature = "jit"))]
pub type FastestFrame = Vec<crate::value::Bits>;

/// Which executor runs a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ExecutorKind {
    /// The reference interpreter, [`Interpreter`].
    #[cfg_attr(not(feature = "jit"), default)]
    Interp,
    /// Machine code.
    #[cfg(feature = "jit")]
    #[default]
    Compile,
}

impl ExecutorKind {
    /// All that this build has.
    pub const ALL: [Self; if cfg!(feature = "jit") { 2 } else { 1 }] = [
        Self::Interp,
        #[cfg(feature = "jit")]
        Self::Compile,
    ];

    /// The name by which a command line calls it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Interp => "interp",
            #[cfg(feature = "jit")]
            Self::Compile => "compile",
        }
    }
}

impl fmt::Display for ExecutorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// This build has no executor of this name.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("there is no executor `{}`; use {}", .0, names())]
pub struct UnknownExecutor(String);

fn names() -> String {
    let names = ExecutorKind::ALL.iter().map(|kind| format!("`{kind}`"));
    names.collect::<Vec<_>>().join(" or ")
}

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
        #[cfg(feature = "jit")]
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
