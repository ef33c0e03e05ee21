//! What a push takes of its own process, as seen from outside: time, memory, open files.

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use linuxnet::Process;
use quantities::Bytes;
use serde::Serialize;

use super::machine::{peak_memory_of, thread_time};

/// How often the process is looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// What a process took.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ProcessFigure {
    /// Seconds on the clock.
    pub seconds: f64,
    /// Processor seconds, where the kernel tells.
    pub processor_seconds: Option<f64>,
    /// The most memory that it held, where the kernel tells.
    pub peak_memory: Option<Bytes>,
    /// The most files and connections that it had open, where the kernel tells.
    pub open_files: Option<usize>,
}

/// Runs a command with its output in a file and looks at it until it ends; nothing if it failed,
/// whose words are in that file then.
///
/// # Errors
/// A program that cannot be started, a file that cannot be made.
pub fn watched(mut command: Command, output: &Path) -> io::Result<Option<ProcessFigure>> {
    let file = fs::File::create(output)?;
    command.stdin(Stdio::null()).stderr(file.try_clone()?);
    command.stdout(file);
    let start = Instant::now();
    let mut process = Process::start(command)?;
    let id = process.id();
    let mut seen = ProcessFigure::default();
    let status = loop {
        if let Some(status) = process.try_wait()? {
            break status;
        }
        // What is asked while it ends is not told.
        if let Some(memory) = peak_memory_of(id) {
            seen.peak_memory = seen.peak_memory.max(Some(memory));
        }
        if let Some(time) = thread_time(id, None) {
            // Threads that have ended are no longer counted: the last sum may be less than one
            // before.
            let before = seen.processor_seconds.unwrap_or(0.0);
            seen.processor_seconds = Some(time.as_secs_f64().max(before));
        }
        if let Ok(open) = fs::read_dir(format!("/proc/{id}/fd")) {
            seen.open_files = seen.open_files.max(Some(open.count()));
        }
        std::thread::sleep(POLL_INTERVAL);
    };
    seen.seconds = start.elapsed().as_secs_f64();
    Ok(status.success().then_some(seen))
}
