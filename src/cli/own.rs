//! What this program was started as, and how it starts itself again.
//!
//! The command may be a program of its own, or run inside another (the wheel's, which is Python):
//! then the process's arguments and file are not the command's, and whoever runs it says what they
//! are.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{OnceLock, PoisonError, RwLock};

use super::fault::{Context, Fault, Status};

/// How the command was started.
#[derive(Debug, Default)]
struct Started {
    /// The command line, the program's name first.
    arguments: Vec<OsString>,
    /// What is started to run the command again, where it is not the file of this process.
    program: Option<Program>,
}

/// What runs this command, if the file of this process does not.
#[derive(Clone, Debug)]
pub enum Program {
    /// This file, which can be executed.
    File(PathBuf),
    /// Nothing does; why.
    Missing(String),
}

fn started() -> &'static RwLock<Started> {
    static STARTED: OnceLock<RwLock<Started>> = OnceLock::new();
    STARTED.get_or_init(RwLock::default)
}

/// Remembers how the command was started.
pub(super) fn remember(arguments: &[OsString], program: Option<Program>) {
    let mut started = started().write().unwrap_or_else(PoisonError::into_inner);
    *started = Started {
        arguments: arguments.to_vec(),
        program,
    };
}

/// The command line, the program's name first.
pub(super) fn arguments() -> Vec<OsString> {
    let started = started().read().unwrap_or_else(PoisonError::into_inner);
    started.arguments.clone()
}

fn told() -> Result<Option<PathBuf>, Fault> {
    let started = started().read().unwrap_or_else(PoisonError::into_inner);
    match &started.program {
        None => Ok(None),
        Some(Program::File(path)) => Ok(Some(path.clone())),
        Some(Program::Missing(why)) => Err(Fault::with(Status::Target, why)),
    }
}

/// The file that is this command, for others to start.
///
/// # Errors
/// It is not known.
pub(super) fn file() -> Result<PathBuf, Fault> {
    match told()? {
        Some(path) => Ok(path),
        None => std::env::current_exe().input("this program's own path"),
    }
}

/// What starts just what runs here, even if another was installed in its place since.
///
/// # Errors
/// It is not known.
pub(super) fn running() -> Result<PathBuf, Fault> {
    Ok(told()?.unwrap_or_else(|| "/proc/self/exe".into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_what_its_host_says_or_the_file_of_the_process() {
        let line: Vec<OsString> = vec!["switchwright".into(), "lab".into()];
        remember(&line, Some(Program::File("/venv/bin/switchwright".into())));
        assert_eq!(arguments(), line);
        assert_eq!(file().unwrap(), PathBuf::from("/venv/bin/switchwright"));
        assert_eq!(running().unwrap(), PathBuf::from("/venv/bin/switchwright"));
        remember(&line, Some(Program::Missing("there is no script".into())));
        assert!(file().unwrap_err().to_string().contains("no script"));
        remember(&[], None);
        assert_eq!(file().unwrap(), std::env::current_exe().unwrap());
        assert_eq!(running().unwrap(), PathBuf::from("/proc/self/exe"));
    }
}
