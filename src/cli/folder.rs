//! A folder of JSON files that a fabric's switches wrote.

use std::fs;
use std::path::Path;

use topology::import::NamedText;

use super::fault::{Context, Fault};

/// How deep folders are looked through,
const DEPTH_MAX: usize = 8;
/// and how many files there may be.
const FILES_MAX: usize = 20_000;

/// All JSON files below a folder, by path.
///
/// # Errors
/// A folder or a file that cannot be read, or too many of them.
pub(super) fn json_files(folder: &str) -> Result<Vec<NamedText>, Fault> {
    let mut files = Vec::new();
    walk(Path::new(folder), "", 0, &mut files)
        .map_err(|fault| fault.help("name a folder with a `config_db.json` of every switch"))?;
    files.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(files)
}

fn walk(at: &Path, below: &str, depth: usize, files: &mut Vec<NamedText>) -> Result<(), Fault> {
    let place = at.display();
    if depth > DEPTH_MAX {
        return Err(Fault::input(format!(
            "{place}: folders are looked through to a depth of {DEPTH_MAX}"
        )));
    }
    for entry in fs::read_dir(at).input(place)? {
        let entry = entry.input(at.display())?;
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        let name = match below {
            "" => name,
            below => format!("{below}/{name}"),
        };
        let kind = entry.file_type().input(path.display())?;
        if kind.is_dir() {
            walk(&path, &name, depth + 1, files)?;
        } else if path.extension().is_some_and(|end| end == "json") {
            if files.len() == FILES_MAX {
                return Err(Fault::input(format!(
                    "{}: more than {FILES_MAX} JSON files",
                    at.display()
                )));
            }
            let size = entry.metadata().input(path.display())?.len();
            if size > sonic::read::FILE_BYTES_MAX as u64 {
                return Err(Fault::input(format!(
                    "{}: has {size} bytes; at most {} are read",
                    path.display(),
                    sonic::read::FILE_BYTES_MAX
                )));
            }
            let text = fs::read_to_string(&path).input(path.display())?;
            files.push(NamedText { name, text });
        }
    }
    Ok(())
}
