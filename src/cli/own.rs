//! What this program was started as, how it starts itself again, and the programs beside it.
//!
//! The command may be a program of its own, or run inside another (the wheel's, which is Python):
//! then the process's arguments and file are not the command's, and whoever runs it says what they
//! are.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
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
pub fn remember(arguments: &[OsString], program: Option<Program>) {
    let mut started = started().write().unwrap_or_else(PoisonError::into_inner);
    *started = Started {
        arguments: arguments.to_vec(),
        program,
    };
}

/// The command line, the program's name first.
#[must_use]
pub fn arguments() -> Vec<OsString> {
    let started = started().read().unwrap_or_else(PoisonError::into_inner);
    started.arguments.clone()
}

/// Whether the command line asks for JSON; for errors that are found before it is read.
#[must_use]
pub fn asks_for_json() -> bool {
    arguments().iter().any(|argument| argument == "--json")
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
pub fn file() -> Result<PathBuf, Fault> {
    match told()? {
        Some(path) => Ok(path),
        None => std::env::current_exe().input("this program's own path"),
    }
}

/// What starts just what runs here, even if another was installed in its place since.
///
/// # Errors
/// It is not known.
pub fn running() -> Result<PathBuf, Fault> {
    Ok(told()?.unwrap_or_else(|| "/proc/self/exe".into()))
}

/// The file of a program that is installed with this one: beside it, else on PATH.
#[must_use]
pub fn installed(name: &str) -> Option<PathBuf> {
    let beside = file().ok().and_then(|own| Some(own.parent()?.join(name)));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).map(|folder| folder.join(name));
    let mut places = beside.into_iter().chain(on_path);
    places.find(|place| is_program(place))
}

/// Whether a file is there that somebody may execute.
fn is_program(file: &Path) -> bool {
    file.metadata()
        .is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
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
