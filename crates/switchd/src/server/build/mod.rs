//! Building programs that clients push apart from the switch: in a child process with limits, one
//! after the other.
//!
//! Whoever pushes a program chooses how much work it is to read, to check and to compile. So a
//! child does all of that ([`child`]), at low priority and within limits of memory, processor time
//! and time; the switch itself takes over what came of it ([`process`]), which takes time by the
//! size of the program alone: it reads the program back, validates it again, links the machine code
//! and makes tables and arrays. Meanwhile everything else goes on. A call that is cancelled, a
//! switch that stops or is killed, and a limit that is reached end the child at once.

pub mod child;
mod process;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use p4exec::Object;
use p4ir::{Program, ValidProgram};
use p4runtime::p4::v1;
use quantities::Bytes;
use serde::{Deserialize, Serialize};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::pipeline::Pipeline;
use crate::engine::{EngineHandle, ExecutorKind, ReadyProgram};
use crate::translate::refusal::Refusal;

/// Builds that wait for their turn; more are refused.
pub const MAX_WAITING: usize = 8;

/// What building one program may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BuildLimits {
    /// Memory of the child process; the switch needs about as much again for what it takes over, at
    /// most.
    pub memory: Bytes,
    /// Processor time, in whole seconds; at least one.
    pub processor: Duration,
    /// Time from the start of the child to its end.
    pub time: Duration,
}

impl Default for BuildLimits {
    fn default() -> Self {
        Self {
            memory: Bytes::new(2 << 30),
            processor: Duration::from_secs(30),
            time: Duration::from_secs(120),
        }
    }
}

/// Where programs are built that clients push.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PipelineBuilder {
    /// In the process itself: for who knows its clients. No limits; a build that has begun goes on
    /// even if its call is cancelled.
    #[default]
    InProcess,
    /// In a child process.
    Child(ChildBuilder),
}

/// How the child process is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChildBuilder {
    /// A program that calls [`child::main`], of the same build as this process.
    pub program: PathBuf,
    /// What makes it do so.
    pub arguments: Vec<OsString>,
    /// What each child may take.
    pub limits: BuildLimits,
}

impl ChildBuilder {
    /// The program of this process, whatever became of its file.
    #[must_use]
    pub fn this_program(argument: &str, limits: BuildLimits) -> Self {
        Self {
            program: "/proc/self/exe".into(),
            arguments: vec![argument.into()],
            limits,
        }
    }
}

/// What the child is told, before it is sent the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Order {
    /// In bytes.
    memory: u64,
    /// In seconds.
    processor: u64,
    executor: ExecutorKind,
    /// Whether it answers with what it made, or only with the verdict.
    keep: bool,
    /// Bytes of the configuration, a `ForwardingPipelineConfig`.
    config: u64,
}

/// What the child answers: a refusal by its code and message, or what it made.
type Answer<T> = Result<Option<T>, (i32, String)>;

/// A [`ReadyProgram`] as it is written down.
#[derive(Serialize)]
struct Written<'a> {
    program: &'a Program,
    object: Option<&'a Object>,
}

/// The same as it is read.
#[derive(Deserialize)]
struct Read {
    program: Program,
    object: Option<Object>,
}

/// What was wrong with an answer, which only an error of ours explains.
fn garbled(error: impl std::fmt::Display) -> Refusal {
    Refusal::internal(format!(
        "what the building process answered cannot be read: {error}"
    ))
}

fn write_answer(built: Result<Option<&ReadyProgram>, &Refusal>) -> postcard::Result<Vec<u8>> {
    let answer: Answer<Written<'_>> = match built {
        Ok(ready) => Ok(ready.map(|ready| Written {
            program: program_of(&ready.program),
            object: ready.object.as_ref(),
        })),
        Err(refusal) => Err((refusal.code as i32, refusal.message.clone())),
    };
    postcard::to_stdvec(&answer)
}

fn program_of(program: &ValidProgram) -> &Program {
    program
}

/// Reads an answer; the program is validated again, since nothing else here proves that it is one.
fn read_answer(bytes: &[u8]) -> Result<Option<ReadyProgram>, Refusal> {
    let answer: Answer<Read> = postcard::from_bytes(bytes).map_err(garbled)?;
    let read = answer.map_err(|(code, message)| Refusal {
        code: code.into(),
        message,
    })?;
    let Some(read) = read else {
        return Ok(None);
    };
    let program = p4ir::validate(read.program).map_err(|errors| match errors.first() {
        Some(error) => garbled(error),
        None => garbled("the program is not valid"),
    })?;
    Ok(Some(ReadyProgram {
        program: Arc::new(program),
        object: read.object,
    }))
}

/// Builds programs, one after the other.
pub struct Builds {
    builder: PipelineBuilder,
    engine: EngineHandle,
    /// One is built at a time.
    turn: Arc<Semaphore>,
    /// Room for the one that is built and those that wait.
    places: Arc<Semaphore>,
}

/// The turn of one build, which is over when nothing of it goes on.
struct Turn {
    _turn: OwnedSemaphorePermit,
    _place: OwnedSemaphorePermit,
}

impl Builds {
    /// Builds for an engine.
    #[must_use]
    pub fn new(builder: PipelineBuilder, engine: EngineHandle) -> Self {
        Self {
            builder,
            engine,
            turn: Arc::new(Semaphore::new(1)),
            places: Arc::new(Semaphore::new(1 + MAX_WAITING)),
        }
    }

    async fn turn(&self) -> Result<Turn, Refusal> {
        let full = |_| {
            Refusal::exhausted(format!(
                "{MAX_WAITING} programs wait to be built already; try again later"
            ))
        };
        let place = Arc::clone(&self.places).try_acquire_owned().map_err(full)?;
        let turn = Arc::clone(&self.turn).acquire_owned().await;
        Ok(Turn {
            _turn: turn.map_err(|e| Refusal::internal(e.to_string()))?,
            _place: place,
        })
    }

    /// Whether a configuration can be run.
    ///
    /// # Errors
    /// INVALID_ARGUMENT if not; RESOURCE_EXHAUSTED if finding out takes more than is allowed,
    /// naming the limit, or if too many wait.
    pub async fn verify(&self, config: v1::ForwardingPipelineConfig) -> Result<(), Refusal> {
        let turn = self.turn().await?;
        match &self.builder {
            PipelineBuilder::InProcess => self.in_process(turn, config).await.map(drop),
            PipelineBuilder::Child(child) => {
                let answer = process::run(child, self.engine.executor(), &config, false).await?;
                read_answer(&answer).map(drop)
            }
        }
    }

    /// A configuration, ready to be run.
    ///
    /// # Errors
    /// As [`Builds::verify`].
    pub async fn build(&self, config: v1::ForwardingPipelineConfig) -> Result<Pipeline, Refusal> {
        let turn = self.turn().await?;
        match &self.builder {
            PipelineBuilder::InProcess => self.in_process(turn, config).await,
            PipelineBuilder::Child(child) => {
                let executor = self.engine.executor();
                let answer = process::run(child, executor, &config, true).await?;
                let engine = self.engine.clone();
                blocking(turn, move || {
                    let ready = read_answer(&answer)?;
                    drop(answer);
                    let ready = ready.ok_or_else(|| garbled("the program is missing"))?;
                    Pipeline::link(&engine, config, ready)
                })
                .await
            }
        }
    }

    async fn in_process(
        &self,
        turn: Turn,
        config: v1::ForwardingPipelineConfig,
    ) -> Result<Pipeline, Refusal> {
        let engine = self.engine.clone();
        blocking(turn, move || Pipeline::build(&engine, config)).await
    }
}

/// Does what takes a moment on a thread of its own. The turn lasts as long as that does, though the
/// caller may have gone.
async fn blocking(
    turn: Turn,
    work: impl FnOnce() -> Result<Pipeline, Refusal> + Send + 'static,
) -> Result<Pipeline, Refusal> {
    let done = tokio::task::spawn_blocking(move || {
        let built = work();
        drop(turn);
        built
    });
    done.await
        .map_err(|e| Refusal::internal(format!("building the program was cut short: {e}")))?
}
