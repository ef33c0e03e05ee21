//! Files and folders that users name: written whole or not at all, and only where they may be.
//!
//! - A regular file is written beside its place and renamed into it; it keeps its mode and owner. A
//!   symbolic link is followed. A file that has several names, or an owner that this process cannot
//!   give, is written in its place.
//! - Devices, pipes and sockets are written through: they are never replaced.
//! - A file without any right to write is left alone, even where the user (root) could.
//! - Folders above a file or folder are made.
//! - A folder that a command fills with files of fixed names carries a [mark](claim): the same
//!   command may fill it again, nobody else's files are overwritten.
//!
//! - Temporary folders go with their process, also where it is killed ([`Scratch`], [`janitor`]).
//!
//! Every write is checked to its end. Where there are no owners, modes and processes (WebAssembly)
//! there is only what needs none of them.

mod folder;
#[cfg(unix)]
pub mod janitor;
#[cfg(unix)]
mod place;
mod scratch;
#[cfg(unix)]
mod write;

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

pub use folder::{MARK, claim, make_folder};
pub use scratch::Scratch;
#[cfg(unix)]
pub use write::{stream, write, write_durably};

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
