//! Processes that end with ours.

use std::io;
use std::ops::{Deref, DerefMut};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command};

use nix::sys::signal::Signal;

use crate::sys;

/// A child process. It is killed when this is dropped, and when the thread that started it ends in
/// any other way.
#[derive(Debug)]
pub struct Process {
    child: Child,
}

impl Process {
    /// Starts a process that is killed with this one. It is not in the foreground of a terminal:
    /// Ctrl-C is for whoever started it.
    ///
    /// # Errors
    /// A program that cannot be started.
    pub fn start(mut command: Command) -> io::Result<Self> {
        command.process_group(0);
        Self::start_with(command, Signal::SIGKILL)
    }

    /// Starts a process that is interrupted (as Ctrl-C does) when the thread that starts it ends:
    /// it has to tidy up itself.
    ///
    /// # Errors
    /// A program that cannot be started.
    pub fn start_to_interrupt(command: Command) -> io::Result<Self> {
        Self::start_with(command, Signal::SIGINT)
    }

    fn start_with(mut command: Command, signal: Signal) -> io::Result<Self> {
        sys::end_with_parent(&mut command, signal);
        let child = command.spawn()?;
        Ok(Self { child })
    }
}

impl Deref for Process {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.child
    }
}

impl DerefMut for Process {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.child
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
