//! What runs programs: the executors, and how a program is made ready for them.

use std::sync::Arc;

use p4exec::{BuildError, Compiled, Executor, Interpreter, Object, RuntimeState};
use p4ir::ValidProgram;
use serde::{Deserialize, Serialize};

/// An executor for a data-plane thread.
pub trait ThreadExecutor: Executor + Send {
    /// Another one of the same program, on a state of it: what was made of the program is shared.
    fn with_state(&self, state: RuntimeState) -> BoxedExecutor;
}

impl ThreadExecutor for Interpreter {
    fn with_state(&self, state: RuntimeState) -> BoxedExecutor {
        Box::new(Self::with_state(self, state))
    }
}

impl ThreadExecutor for Compiled {
    fn with_state(&self, state: RuntimeState) -> BoxedExecutor {
        Box::new(Self::with_state(self, state))
    }
}

/// An executor that can move to a data-plane thread.
pub type BoxedExecutor = Box<dyn ThreadExecutor>;

/// Which executor runs programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ExecutorKind {
    /// The reference interpreter.
    #[default]
    Interp,
    /// Machine code, made when a program is loaded.
    Compile,
}

impl ExecutorKind {
    /// An executor of this kind with the program's first state.
    ///
    /// # Errors
    /// [`BuildError`] if the program is not for v1model, or uses what the executor lacks.
    pub fn build(self, program: Arc<ValidProgram>) -> Result<BoxedExecutor, BuildError> {
        match self {
            Self::Interp => Ok(Box::new(Interpreter::new(program)?)),
            Self::Compile => Ok(Box::new(Compiled::new(program)?)),
        }
    }

    /// Does what takes long, and proves that the program's first state can be made: the rest,
    /// [`ExecutorKind::link`], takes time by the size of the program, and may be done in another
    /// process.
    ///
    /// # Errors
    /// As [`ExecutorKind::build`].
    pub fn prepare(self, program: Arc<ValidProgram>) -> Result<ReadyProgram, BuildError> {
        let object = match self {
            Self::Interp => {
                Interpreter::new(Arc::clone(&program))?;
                None
            }
            Self::Compile => Some(Compiled::generate(&program)?),
        };
        Ok(ReadyProgram { program, object })
    }

    /// An executor of this kind, with the program's first state, of what [`ExecutorKind::prepare`]
    /// made.
    ///
    /// # Errors
    /// As [`ExecutorKind::build`].
    pub fn link(self, ready: ReadyProgram) -> Result<BoxedExecutor, BuildError> {
        match (self, ready.object) {
            (Self::Compile, Some(object)) => Ok(Box::new(Compiled::link(ready.program, object)?)),
            _ => self.build(ready.program),
        }
    }
}

/// A program that is ready to be run, in this process or another of the same build.
#[derive(Debug)]
pub struct ReadyProgram {
    /// The program.
    pub program: Arc<ValidProgram>,
    /// Its machine code, for an executor that runs such.
    pub object: Option<Object>,
}
