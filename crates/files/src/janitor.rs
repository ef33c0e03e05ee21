//! What is to go when this process ends, however it ends.
//!
//! A process that is killed removes nothing. So the first thing that must not stay starts a helper,
//! a shell that reads orders from a pipe: when this process is gone the pipe ends, and the helper
//! removes what is left. It stands in a process group of its own and ignores signals, so that what
//! ends a whole group spares it.

use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Mutex, PoisonError};

/// Removes what was named and not taken back.
const SCRIPT: &str = include_str!("janitor.sh");

/// What is to be removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leftover {
    /// A folder with all that it holds.
    Folder,
    /// A file.
    File,
    /// A file that something is mounted on.
    Mount,
    /// A network interface, by its name.
    Link,
}

impl Leftover {
    const fn word(self) -> &'static str {
        match self {
            Self::Folder => "folder",
            Self::File => "file",
            Self::Mount => "mount",
            Self::Link => "link",
        }
    }
}

struct Janitor {
    orders: ChildStdin,
    /// Never waited for: it outlives this process.
    _helper: Child,
}

static JANITOR: Mutex<Option<Janitor>> = Mutex::new(None);

/// Has something removed when this process ends.
///
/// # Errors
/// A helper that cannot be started, or a name that is no line.
pub fn remember(what: Leftover, name: &Path) -> io::Result<()> {
    tell(what.word(), name)
}

/// Takes that back: the thing is gone already.
pub fn forget(name: &Path) {
    // A helper that has ended removes nothing.
    let _ = tell("gone", name);
}

fn tell(word: &str, name: &Path) -> io::Result<()> {
    let name = name.to_str().filter(|name| !name.contains('\n'));
    let name = name.ok_or(io::ErrorKind::InvalidFilename)?;
    let mut janitor = JANITOR.lock().unwrap_or_else(PoisonError::into_inner);
    if janitor.is_none() {
        *janitor = Some(start()?);
    }
    match janitor.as_mut() {
        Some(janitor) => janitor
            .orders
            .write_all(format!("{word} {name}\n").as_bytes()),
        None => Ok(()),
    }
}

fn start() -> io::Result<Janitor> {
    let mut helper = Command::new("/bin/sh")
        .args(["-c", SCRIPT])
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()?;
    let orders = helper.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
    Ok(Janitor {
        orders,
        _helper: helper,
    })
}
