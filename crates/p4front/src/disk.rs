//! The disk: the one place where the front end opens files.

#![allow(
    clippy::disallowed_methods,
    reason = "here alone files are opened: what a client pushes reaches none"
)]

use std::io::Read as _;
use std::path::Path;

use crate::source::{FileId, MAX_FILE_BYTES, SourceError, SourceMap};

impl SourceMap {
    /// Reads the file at `path` and adds it. Bytes that are not UTF-8 are replaced (they can only
    /// stand in comments and strings of a valid program).
    ///
    /// # Errors
    /// [`SourceError`] if the file cannot be read, is no text or is too large.
    pub fn load(&mut self, path: &Path) -> Result<FileId, SourceError> {
        let text = read(path)?;
        self.add(&path.to_string_lossy(), &text)
    }
}

/// Whether there is a file to include: devices and pipes, which may never end, are none.
pub(crate) fn is_file(path: &Path) -> bool {
    path.is_file()
}

/// The text of a file.
pub(crate) fn read(path: &Path) -> Result<String, SourceError> {
    let name = path.to_string_lossy();
    let bytes = read_bounded(path).map_err(|source| SourceError::Read {
        path: name.to_string(),
        source,
    })?;
    if let Some(at) = bytes.iter().position(|b| *b == 0) {
        let name = name.to_string();
        return Err(SourceError::NotText { name, at });
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The bytes of a file, but no more than are needed to see that it is too large: some files never
/// end.
fn read_bounded(path: &Path) -> std::io::Result<Vec<u8>> {
    let file = std::fs::File::open(path)?;
    if file.metadata()?.is_dir() {
        return Err(std::io::ErrorKind::IsADirectory.into());
    }
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES as u64 + 1)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}
