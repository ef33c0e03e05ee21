//! Writing files: whole or not at all.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use crate::place::Place;
use crate::{FileError, at};

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

/// Like [`write`](fn@write), and the file is on the disk when this returns, also after a power
/// failure.
///
/// # Errors
/// A place that cannot or must not be written.
pub fn write_durably(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    match Place::of(path)? {
        Place::Beside(beside) => beside.replace(bytes, true).map_err(at(path)),
        Place::Through(file) => put(file, bytes).map_err(at(path)),
    }
}

/// Opens a file that grows while a command runs (a capture): a regular one is emptied, in its
/// place.
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
