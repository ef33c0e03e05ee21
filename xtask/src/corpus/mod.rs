//! `cargo xtask corpus DIR... [--only NAME] [--json]`: programs of public repositories, on which
//! every command is held against every other.
//!
//! `xtask/corpus.json` names the repositories, how their programs are read, and what is known of
//! them; the checkouts are not part of this repository and are looked for as `DIR/OWNER+NAME` or
//! `DIR/NAME`. What differs from the list is named, and makes the status 1.

mod command;
mod format;
mod judge;
mod list;
mod packets;
mod report;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use command::Switchwright;
use judge::{Judge, Outcome};
use list::Repository;
use report::{Counts, Report};

/// Judges the checkouts in the folders of the command line.
///
/// # Errors
/// The list is wrong, the command cannot be built, or something deviates from the list.
pub(crate) fn run(root: &Path, arguments: &[String]) -> Result<(), String> {
    let (mut folders, mut only, mut json) = (Vec::new(), None, false);
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--json" => json = true,
            "--only" => only = rest.next().cloned(),
            other if other.starts_with('-') => {
                return Err(format!(
                    "corpus: unknown option `{other}`; there are --only NAME, --json"
                ));
            }
            folder => folders.push(PathBuf::from(folder)),
        }
    }
    if folders.is_empty() {
        return Err("corpus: name the folders that hold the checkouts".to_owned());
    }
    let list = list::read(&root.join("xtask/corpus.json"))?;
    crate::ask_cargo(root, "build", &["--quiet", "--bin", "switchwright"])?;
    let command = Switchwright::new(crate::target_folder(root).join("debug/switchwright"))?;
    let mut report = Report::default();
    for repository in &list {
        if only
            .as_ref()
            .is_some_and(|name| !repository.name.contains(name.as_str()))
        {
            continue;
        }
        match checkout(&folders, &repository.name) {
            Some(folder) => report.found.push(judged(&command, repository, &folder)?),
            None => report.missing.push(repository.name.clone()),
        }
    }
    report.print(json);
    match report.deviations() {
        0 => Ok(()),
        n => Err(format!("corpus: {n} deviations from xtask/corpus.json")),
    }
}

/// The checkout of `OWNER/NAME`, if one is there.
fn checkout(folders: &[PathBuf], name: &str) -> Option<PathBuf> {
    let (_, short) = name.split_once('/')?;
    let names = [name.replace('/', "+"), short.to_owned()];
    let places = folders.iter().flat_map(|f| names.iter().map(|n| f.join(n)));
    places.into_iter().find(|place| place.is_dir())
}

fn judged(
    command: &Switchwright,
    repository: &Repository,
    folder: &Path,
) -> Result<Counts, String> {
    let files = programs(folder, repository);
    let mut counts = Counts::new(&repository.name);
    counts.files = files.len();
    counts.unformatted(format::judge(command, folder, &files)?);
    let judge = Judge {
        command,
        repository,
        folder,
    };
    // Texts that are read in the same way are judged once.
    let mut seen: BTreeMap<(Vec<String>, String), ()> = BTreeMap::new();
    for file in &files {
        let Ok(bytes) = fs::read(folder.join(file)) else {
            continue;
        };
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if !has_main(&text) && !repository.is_main(file) {
            continue;
        }
        for profile in repository.profiles(file) {
            if seen
                .insert((profile.arguments(folder, file), text.clone()), ())
                .is_some()
            {
                continue;
            }
            let outcome = judge.program(file, &profile)?;
            eprintln!(
                "xtask: {} {file}{}: {}",
                repository.name,
                profile.suffix(),
                outcome.brief()
            );
            counts.add(file, &profile, outcome);
        }
    }
    counts.unused(repository);
    Ok(counts)
}

/// All P4 files of a checkout that the list does not leave out, relative to it, in order.
fn programs(folder: &Path, repository: &Repository) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(&next).into_iter().flatten().flatten() {
            // Links are not followed: they could lead out of the checkout, or in a circle.
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && entry.file_name() != ".git" => open.push(entry.path()),
                Ok(kind)
                    if kind.is_file() && entry.path().extension().is_some_and(|e| e == "p4") =>
                {
                    if let Ok(inside) = entry.path().strip_prefix(folder) {
                        found.push(inside.to_string_lossy().into_owned());
                    }
                }
                _ => {}
            }
        }
    }
    found.retain(|file| repository.takes(file));
    found.sort();
    found
}

/// Whether a text makes an object named `main`, as a program does and an included file does not.
fn has_main(text: &str) -> bool {
    let parts = format::parts(text);
    let plain = parts.plain();
    plain
        .windows(3)
        .any(|w| w[0] == ")" && w[1] == "main" && w[2] == ";")
}

impl Outcome {
    fn brief(&self) -> String {
        match (&self.refused, &self.deviations[..]) {
            (_, [first, ..]) => format!("deviates: {first}"),
            (Some(why), _) => format!("refused: {why}"),
            (None, _) if self.ran => "accepted, runs".to_owned(),
            (None, _) => "accepted, does not run".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_told_from_an_included_file() {
        assert!(has_main("V1Switch(P(), C() /* ; */) /* a */ main ;"));
        assert!(!has_main("// V1Switch(P()) main;\ncontrol C() {}"));
        assert!(!has_main("@name(\") main;\") control C() {}"));
    }

    #[test]
    fn the_list_is_in_order() {
        let list = list::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus.json"))
            .expect("the list");
        let names: Vec<&str> = list.iter().map(|r| r.name.as_str()).collect();
        let mut sorted = names.clone();
        sorted.sort_by_key(|name| name.to_lowercase());
        sorted.dedup();
        assert_eq!(names, sorted);
    }
}
