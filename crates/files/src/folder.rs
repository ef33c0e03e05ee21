//! Folders that a command fills: made with those above, and marked.

use std::fs;
use std::path::Path;

use crate::{FileError, at};

/// The file by which a folder is known to be ours. It holds what the folder is, in words.
pub const MARK: &str = ".switchwright";
/// What a build directory is known by.
const MANIFEST: &str = "manifest.json";

/// Makes a folder and those above it; one that is there already is left as it is.
///
/// # Errors
/// What the operating system says.
pub fn make_folder(path: &Path) -> Result<(), FileError> {
    fs::create_dir_all(path).map_err(at(path))
}

/// Makes a folder that files of fixed names will go to, or takes one that is empty or was made for
/// the same `kind` (as in "simulation report") before.
///
/// # Errors
/// A folder that holds anything else, or cannot be made.
pub fn claim(path: &Path, kind: &'static str) -> Result<(), FileError> {
    make_folder(path)?;
    let mark = path.join(MARK);
    let found = match fs::read_to_string(&mark) {
        Ok(text) if text.trim_end() == kind => return Ok(()),
        Ok(text) => format!("a {}", text.trim_end()),
        Err(_) => {
            let mut entries = fs::read_dir(path).map_err(at(path))?;
            if entries.next().is_none() {
                return fs::write(&mark, format!("{kind}\n")).map_err(at(&mark));
            }
            match path.join(MANIFEST).exists() {
                true => "a build".to_owned(),
                false => "other files".to_owned(),
            }
        }
    };
    Err(FileError::Foreign {
        path: path.to_owned(),
        found,
        kind,
    })
}
