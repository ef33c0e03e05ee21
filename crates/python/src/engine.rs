//! The engine as an object of Python. Requests and responses are text; what they say is in
//! `docs/lab.md`.

use std::path::PathBuf;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use engine::Engine as Answering;
use p4gen::build::{BuildError, BuildFault, BuildOptions, build_with};
use p4gen::targets;
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::{PyErr, PyResult, Python};
use quantities::{Cancelled, Progress};

/// The stack on which requests are answered: as the page's engine has it. Threads of Python may
/// have less.
const STACK: usize = 32 << 20;

/// How often a call that waits asks Python whether it was interrupted.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// How long an interrupted call waits for the engine to stop.
const GRACE: Duration = Duration::from_secs(1);

/// What answers, for one request at a time.
type Shared = Arc<Mutex<Answering>>;

/// The engine. It has no limits, and it reads the files that requests name.
pub(crate) struct Engine {
    /// Another one takes its place when an interrupted request does not stop, for that still has
    /// the first.
    current: Mutex<Shared>,
}

/// An engine that remembers nothing.
fn new() -> Shared {
    Arc::new(Mutex::new(Answering::of_owner()))
}

impl Engine {
    /// An engine that remembers nothing.
    pub(crate) fn new() -> Self {
        Self {
            current: Mutex::new(new()),
        }
    }

    /// Answers a request: JSON in, JSON out. Other threads of Python run meanwhile. An interrupted
    /// request stops where it tells of its next step, and nothing else is lost. If that takes
    /// longer than [`GRACE`], nobody waits for it, and the next request finds an engine that
    /// remembers nothing.
    pub(crate) fn call(&self, py: Python<'_>, request: String) -> PyResult<String> {
        self.work(py, move |engine, _| engine.call(&request))
    }

    /// Writes the build directory of a network's plan, and returns the build's report as JSON.
    pub(crate) fn build(
        &self,
        py: Python<'_>,
        network: String,
        target: String,
        directory: PathBuf,
        version: Option<u8>,
    ) -> PyResult<String> {
        self.work(py, move |engine, progress| {
            let plan = engine.proven(&network).map_err(PyValueError::new_err)?;
            let known = targets::named(&target).ok_or_else(|| {
                let names: Vec<&str> = targets::ALL
                    .iter()
                    .map(|t| t.capabilities().target)
                    .collect();
                let names = names.join(", ");
                PyValueError::new_err(format!("there is no target `{target}`; there are {names}"))
            })?;
            let usual = BuildOptions::default();
            let options = BuildOptions {
                version: version.unwrap_or(usual.version),
                ..usual
            };
            // A directory that is half written is dropped.
            let tell = |_| progress.checkpoint();
            let report = build_with(&plan, known, &directory, &options, &tell);
            let report = report.map_err(|error| refuse(&error))?;
            serde_json::to_string(&report).map_err(|e| PyRuntimeError::new_err(e.to_string()))
        })?
    }
}

fn refuse(error: &BuildError) -> PyErr {
    match error.fault() {
        BuildFault::Input | BuildFault::Target => PyValueError::new_err(error.to_string()),
        BuildFault::Bug => PyRuntimeError::new_err(error.to_string()),
    }
}

impl Engine {
    /// Lets the engine work on a thread of its own, and waits for it until Python is interrupted.
    fn work<T: Send + 'static>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Answering, &Progress) -> T + Send + 'static,
    ) -> PyResult<T> {
        let shared = {
            let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(&current)
        };
        let progress = Arc::<Progress>::default();
        let told_of = Arc::clone(&progress);
        let (tell, mut told) = mpsc::channel();
        let answering = thread::Builder::new()
            .name("engine".to_owned())
            .stack_size(STACK);
        answering
            .spawn(move || {
                let mut engine = shared.lock().unwrap_or_else(PoisonError::into_inner);
                engine.tell(&told_of);
                let done = Cancelled::caught(|| {
                    // It may have been interrupted while it waited for another.
                    told_of.checkpoint();
                    work(&mut engine, &told_of)
                });
                // Nobody may wait any more.
                let _ = tell.send(done);
            })
            .map_err(|e| PyOSError::new_err(format!("the engine gets no thread: {e}")))?;
        loop {
            // A receiver is for one thread at a time.
            let waiting = &mut told;
            match py.detach(move || waiting.recv_timeout(POLL_INTERVAL)) {
                Ok(Ok(answer)) => return Ok(answer),
                Err(RecvTimeoutError::Timeout) => {}
                // Nobody has cancelled it yet.
                Ok(Err(Cancelled)) | Err(RecvTimeoutError::Disconnected) => {
                    self.anew();
                    let problem = "the engine ended while it answered; that is an error of Switchwright's, please report it";
                    return Err(PyRuntimeError::new_err(problem));
                }
            }
            if let Err(interrupted) = py.check_signals() {
                progress.cancel();
                let waiting = &mut told;
                if py.detach(move || waiting.recv_timeout(GRACE)).is_err() {
                    self.anew();
                }
                return Err(interrupted);
            }
        }
    }

    /// Leaves the engine to whoever has it.
    fn anew(&self) {
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = new();
    }
}
