//! Temporary folders that go with their process.

use std::io;
use std::path::Path;

use tempfile::{Builder, TempDir};

#[cfg(unix)]
use crate::janitor::{self, Leftover};

/// A temporary folder. It goes when this is dropped, and when the process ends in any other way.
#[derive(Debug)]
pub struct Scratch {
    folder: TempDir,
}

impl Scratch {
    /// A folder where the system keeps such.
    ///
    /// # Errors
    /// No room, or no helper to remove it.
    pub fn new() -> io::Result<Self> {
        Self::of(Builder::new().prefix("switchwright-").tempdir()?)
    }

    /// A folder inside another one, with a name that begins like this.
    ///
    /// # Errors
    /// No room, or no helper to remove it.
    pub fn within(folder: &Path, prefix: &str) -> io::Result<Self> {
        Self::of(Builder::new().prefix(prefix).tempdir_in(folder)?)
    }

    #[cfg(unix)]
    fn of(folder: TempDir) -> io::Result<Self> {
        // The helper stands in another folder.
        let absolute = folder.path().canonicalize()?;
        janitor::remember(Leftover::Folder, &absolute)?;
        Ok(Self { folder })
    }

    #[cfg(not(unix))]
    fn of(folder: TempDir) -> io::Result<Self> {
        Ok(Self { folder })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

#[cfg(unix)]
impl Drop for Scratch {
    fn drop(&mut self) {
        if let Ok(absolute) = self.folder.path().canonicalize()
            && std::fs::remove_dir_all(&absolute).is_ok()
        {
            janitor::forget(&absolute);
        }
    }
}
