//! A folder of JSON files that a fabric's switches wrote.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use sonic::ConfigError;
use topology::Topology;
use topology::import::NamedText;

use super::fault::{self, Context, Fault};

/// How deep folders are looked through,
const DEPTH_MAX: usize = 8;
/// and how many files there may be.
const FILES_MAX: usize = 20_000;

/// What `read` makes of the configuration of every switch, in their order. `owners` says which of
/// the files is whose ([`import::configurations`]).
///
/// # Errors
/// A switch without a file, or every fault that was found.
pub(super) fn of_switches<T>(
    folder: &str,
    topology: &Topology,
    files: &[NamedText],
    owners: &BTreeMap<String, usize>,
    read: impl Fn(&NamedText) -> Result<T, ConfigError>,
) -> Result<Vec<T>, Fault> {
    let mut made = Vec::new();
    let mut faults = Vec::new();
    for switch in topology.switches() {
        let Some(file) = owners.get(&switch.name).and_then(|at| files.get(*at)) else {
            let problem = format!("there is no config_db.json of `{}`", switch.name);
            return Err(Fault::input(format!("{folder}: {problem}")));
        };
        match read(file) {
            Ok(config) => made.push(config),
            Err(ConfigError(found)) => faults.extend(found),
        }
    }
    match faults.is_empty() {
        true => Ok(made),
        false => Err(Fault::input(fault::chain(&ConfigError(faults)))),
    }
}

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
