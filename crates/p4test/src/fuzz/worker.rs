//! Runs a target in child processes, under limits: whatever ends a child is a finding, and its
//! input is known.
//!
//! A child is this same program (`fuzz TARGET --worker BYTES`). It reads inputs from its standard
//! input and answers each; both are framed by lengths. An allocation beyond the limit, a stack that
//! is too deep and an abort end the child; a child that works too long is killed.

use std::fs;
use std::io::{self, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::{Behaviour, Target};

/// What one input may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Address space of the child, in bytes.
    pub memory: u64,
    /// Processor time.
    pub work: Duration,
}

/// How much longer than it works a child may take by the clock, on a machine that does other things
/// too.
const TIMEOUT_FACTOR: u32 = 10;
/// Inputs after which a child is replaced, so that what it leaves behind is not taken for the next
/// input's.
const INPUTS_PER_CHILD: u32 = 500;
/// Bytes kept of what a child says last.
const LOG_TAIL_BYTES: u64 = 4096;
/// Length of an answer: whether the target panicked, and its behaviour.
const ANSWER: usize = 9;

/// What became of an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The target ran to its end.
    Done(Behaviour),
    /// It did not, and why.
    Fault(String),
}

/// A target in a child process.
pub struct Worker {
    program: PathBuf,
    target: &'static str,
    limits: Limits,
    running: Option<Running>,
}

struct Running {
    child: Child,
    inputs: u32,
    answers: Receiver<[u8; ANSWER]>,
    last_words: Option<JoinHandle<String>>,
}

impl Worker {
    /// Runs `target` by `program`, the fuzz program; no child is started yet.
    #[must_use]
    pub fn new(program: &Path, target: &'static str, limits: Limits) -> Self {
        Self {
            program: program.to_path_buf(),
            target,
            limits,
            running: None,
        }
    }

    /// Runs one input.
    ///
    /// # Errors
    /// A child that cannot be started.
    pub fn run(&mut self, input: &[u8]) -> io::Result<Outcome> {
        let mut running = match self.running.take() {
            Some(running) if running.inputs < INPUTS_PER_CHILD => running,
            // Dropping the old one ends it.
            _ => Running::start(&self.program, self.target, self.limits.memory)?,
        };
        running.inputs += 1;
        if running.ask(input).is_err() {
            return Ok(running.ended());
        }
        let (before, asked) = (running.worked(), Instant::now());
        loop {
            match running.answers.recv_timeout(Duration::from_millis(100)) {
                Ok([1, ..]) => return Ok(running.panicked()),
                Ok([_, behaviour @ ..]) => {
                    self.running = Some(running);
                    return Ok(Outcome::Done(Behaviour(u64::from_le_bytes(behaviour))));
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(running.ended()),
                Err(RecvTimeoutError::Timeout) => {}
            }
            let worked = running.worked().saturating_sub(before);
            if worked > self.limits.work || asked.elapsed() > self.limits.work * TIMEOUT_FACTOR {
                let limit = self.limits.work.as_secs();
                return Ok(Outcome::Fault(format!(
                    "it takes more than {limit} s of work"
                )));
            }
        }
    }
}

impl Running {
    fn start(program: &Path, target: &str, memory: u64) -> io::Result<Self> {
        let mut child = Command::new(program)
            .args([target, "--worker", &memory.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let missing = || io::Error::other("a child without its pipes");
        let mut answers = child.stdout.take().ok_or_else(missing)?;
        let mut words = child.stderr.take().ok_or_else(missing)?;
        let (sender, receiver) = channel();
        std::thread::spawn(move || {
            let mut answer = [0; ANSWER];
            while answers.read_exact(&mut answer).is_ok() && sender.send(answer).is_ok() {}
        });
        let last_words = std::thread::spawn(move || {
            let mut kept = Vec::new();
            // What comes after is read too, or the child would wait.
            let _ = words.by_ref().take(LOG_TAIL_BYTES).read_to_end(&mut kept);
            let _ = io::copy(&mut words, &mut io::sink());
            String::from_utf8_lossy(&kept).into_owned()
        });
        Ok(Self {
            child,
            inputs: 0,
            answers: receiver,
            last_words: Some(last_words),
        })
    }

    fn ask(&mut self, input: &[u8]) -> io::Result<()> {
        let Some(pipe) = &mut self.child.stdin else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        pipe.write_all(&(input.len() as u64).to_le_bytes())?;
        pipe.write_all(input)?;
        pipe.flush()
    }

    /// Processor time of the child so far.
    fn worked(&self) -> Duration {
        worked(&self.child.id().to_string()).unwrap_or_default()
    }

    /// Why it is gone.
    fn ended(mut self) -> Outcome {
        let status = self.child.wait();
        let status = status.map_or_else(|e| e.to_string(), |s| s.to_string());
        let before = self.inputs - 1;
        let words = self.words();
        Outcome::Fault(format!(
            "the process ended, {status}, after {before} others: {words}"
        ))
    }

    fn panicked(mut self) -> Outcome {
        self.end();
        Outcome::Fault(format!("the target panicked: {}", self.words()))
    }

    /// The first lines of what it said; it must have ended.
    fn words(&mut self) -> String {
        let words = self.last_words.take().and_then(|w| w.join().ok());
        let words = words.unwrap_or_default();
        let lines: Vec<&str> = words.lines().filter(|l| !l.trim().is_empty()).collect();
        match lines.as_slice() {
            [] => "it said nothing".to_owned(),
            lines => lines[..lines.len().min(2)].join(" "),
        }
    }

    fn end(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}

/// The child's side: bounds this process, then runs inputs until there are no more.
///
/// # Errors
/// A limit that cannot be set, or a pipe that breaks.
pub fn serve(target: &Target, memory: u64) -> io::Result<()> {
    use rustix::process::{Resource, Rlimit, setrlimit};
    let limit = |bytes| Rlimit {
        current: Some(bytes),
        maximum: Some(bytes),
    };
    setrlimit(Resource::As, limit(memory))?;
    setrlimit(Resource::Core, limit(0))?;
    let (mut inputs, mut answers) = (io::stdin().lock(), io::stdout().lock());
    let mut length = [0; 8];
    let mut input = Vec::new();
    while inputs.read_exact(&mut length).is_ok() {
        input.resize(usize::try_from(u64::from_le_bytes(length)).unwrap_or(0), 0);
        inputs.read_exact(&mut input)?;
        let found = catch_unwind(AssertUnwindSafe(|| (target.run)(&input)));
        let mut answer = [0; ANSWER];
        answer[0] = u8::from(found.is_err());
        answer[1..].copy_from_slice(&found.unwrap_or_default().0.to_le_bytes());
        answers.write_all(&answer)?;
        answers.flush()?;
    }
    Ok(())
}

/// How long a process (a number, or `self`) has worked, where the kernel tells (in hundredths of a
/// second).
pub(super) fn worked(process: &str) -> Option<Duration> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name, in parentheses, may hold anything.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |index: usize| fields.get(index)?.parse::<u64>().ok();
    Some(Duration::from_millis((ticks(11)? + ticks(12)?) * 10))
}
