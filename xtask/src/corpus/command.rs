//! One run of the command, in bounded time.

use std::ffi::OsStr;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Longest run of one command on one program.
const LIMIT: Duration = Duration::from_secs(120);
/// Most address space of one command, in KiB, where the shell can set it.
const MEMORY: u64 = 8 << 20;

/// A file of this thread for a while.
pub(super) fn scratch_file(name: &str) -> PathBuf {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let process = std::process::id();
    std::env::temp_dir().join(format!("corpus-{process}-{number}-{name}"))
}

/// The command that is judged.
pub(super) struct Switchwright {
    program: PathBuf,
}

/// What a run has said.
pub(super) struct Said {
    /// The exit status; none if a signal or the time limit ended it.
    pub(super) status: Option<i32>,
    pub(super) out: String,
    pub(super) err: String,
}

impl Said {
    /// A panic, a signal or no end: never right, whatever the program is.
    pub(super) fn broken(&self) -> Option<String> {
        match self.status {
            None => Some("no end, or ended by a signal".to_owned()),
            Some(0..=3) => None,
            Some(_) => Some(format!("status {:?}: {}", self.status, self.err.trim())),
        }
    }

    /// The first error.
    pub(super) fn why(&self) -> String {
        let lines = || self.err.lines().filter(|line| !line.trim().is_empty());
        let error = lines().find(|line| line.starts_with("error"));
        let line = error.or_else(|| lines().next()).unwrap_or("no message");
        line.trim().chars().take(200).collect()
    }
}

impl Switchwright {
    pub(super) fn new(program: PathBuf) -> Result<Self, String> {
        match program.is_file() {
            true => Ok(Self { program }),
            false => Err(format!("{} is not there", program.display())),
        }
    }

    /// Runs `switchwright p4 ARGUMENTS`.
    pub(super) fn p4<A: AsRef<OsStr>>(&self, arguments: &[A]) -> Result<Said, String> {
        let limited = format!("ulimit -v {MEMORY} 2>/dev/null; exec \"$0\" \"$@\"");
        let mut child = Command::new("sh")
            .args(["-c", &limited])
            .arg(&self.program)
            .arg("p4")
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|e| format!("{}: {e}", self.program.display()))?;
        let (sender, receiver) = mpsc::channel();
        read(child.stdout.take(), false, &sender);
        read(child.stderr.take(), true, &sender);
        let (mut out, mut err) = (String::new(), String::new());
        for _ in 0..2 {
            match receiver.recv_timeout(LIMIT) {
                Ok((true, text)) => err = text,
                Ok((false, text)) => out = text,
                Err(_) => {
                    return Ok(Said {
                        status: ended(&mut child),
                        out,
                        err,
                    });
                }
            }
        }
        let status = child.wait().map_err(|e| e.to_string())?.code();
        Ok(Said { status, out, err })
    }
}

/// Ends a child that took too long: no status.
fn ended(child: &mut Child) -> Option<i32> {
    // It may have ended by itself meanwhile.
    let _ = child.kill();
    let _ = child.wait();
    None
}

fn read(
    pipe: Option<impl Read + Send + 'static>,
    is_error: bool,
    sender: &mpsc::Sender<(bool, String)>,
) {
    let Some(mut pipe) = pipe else { return };
    let sender = sender.clone();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = pipe.read_to_end(&mut bytes);
        if read.is_ok() {
            // Nobody listens after the limit.
            let _ = sender.send((is_error, String::from_utf8_lossy(&bytes).into_owned()));
        }
    });
}
