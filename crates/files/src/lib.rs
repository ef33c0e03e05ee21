//! Files and folders that users name: written whole or not at all, and only where they may be.
//!
//! - A regular file is written beside its place and renamed into it; it keeps its mode and owner. A symbolic link is
//!   followed. A file that has several names, or an owner that this process cannot give, is written in its place.
//! - Devices, pipes and sockets are written through: they are never replaced.
//! - A file without any right to write is left alone, even where the user (root) could.
//! - Folders above a file or folder are made.
//! - A folder that a command fills with files of fixed names carries a [mark](claim): the same command may fill it again,
//!   nobody else's files are overwritten.
//!
//! - Temporary folders go with their process, also where it is killed ([`Scratch`], [`janitor`]).
//!
//! Every write is checked to its end.

mod folder;
pub mod janitor;
mod place;
mod scratch;

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use thiserror::Error;

pub use folder::{MARK, claim, make_folder};
use place::Place;
pub use scratch::Scratch;

/// Why a file or folder was not written. It names the path as the user gave it.
#[derive(Debug, Error)]
pub enum FileError {
    /// A folder stands where a file is to be.
    #[error("`{0}` is a folder: name a file")]
    IsFolder(PathBuf),
    /// The file's mode gives nobody the right to write.
    #[error("`{0}` is read-only: name another file, or allow writing with `chmod u+w`")]
    ReadOnly(PathBuf),
    /// The folder holds what this command did not make.
    #[error("`{path}` holds {found}, not a {kind}: name a folder that is new or empty")]
    Foreign {
        /// The folder.
        path: PathBuf,
        /// What stands there.
        found: String,
        /// What the command makes.
        kind: &'static str,
    },
    /// The operating system refused.
    #[error("cannot write `{path}`: {source}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Names the path that an operation failed at.
pub(crate) fn at(path: &Path) -> impl Fn(io::Error) -> FileError + use<> {
    let path = path.to_owned();
    move |source| FileError::Io {
        path: path.clone(),
        source,
    }
}

/// Writes a file whole or not at all; devices and pipes are written through.
///
/// # Errors
/// A place that cannot or must not be written.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    match Place::of(path)? {
        Place::Beside(beside) => beside.replace(bytes, false).map_err(at(path)),
        Place::Through(file) => put(file, bytes).map_err(at(path)),
    }
}

/// Like [`write`](fn@write), and the file is on the disk when this returns, also after a power failure.
///
/// # Errors
/// A place that cannot or must not be written.
pub fn write_durably(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    match Place::of(path)? {
        Place::Beside(beside) => beside.replace(bytes, true).map_err(at(path)),
        Place::Through(file) => put(file, bytes).map_err(at(path)),
    }
}

/// Opens a file that grows while a command runs (a capture): a regular one is emptied, in its place.
///
/// # Errors
/// A place that cannot or must not be written.
pub fn stream(path: &Path) -> Result<File, FileError> {
    match Place::of(path)? {
        Place::Beside(beside) => File::create(beside.target()).map_err(at(path)),
        Place::Through(file) => Ok(file),
    }
}

fn put(mut file: File, bytes: &[u8]) -> io::Result<()> {
    file.write_all(bytes)?;
    file.flush()
}
