//! `cargo xtask corpus DIR... [--only NAME]... [--json]`: programs of public repositories, on which
//! every command is held against every other.
//!
//! `xtask/corpus.json` names the repositories, how their programs are read, and what is known of
//! them; the checkouts are not part of this repository and are looked for as `DIR/OWNER+NAME` or
//! `DIR/NAME`. What differs from the list is named, and makes the status 1.

mod command;
mod format;
mod judge;
mod list;
mod p4info;
mod packets;
mod report;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use command::Switchwright;
use judge::{Judge, Outcome};
use list::{Profile, Repository};
use report::{Counts, Report};

/// Judges the checkouts in the folders of the command line.
///
/// # Errors
/// The list is wrong, the command cannot be built, or something deviates from the list.
pub(crate) fn run(root: &Path, arguments: &[String]) -> Result<(), String> {
    let (mut folders, mut only, mut json) = (Vec::new(), Vec::new(), false);
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--json" => json = true,
            "--only" => only.extend(rest.next().cloned()),
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
    let mut found = Vec::new();
    for repository in &list {
        let named = |name: &String| repository.name.contains(name.as_str());
        if !only.is_empty() && !only.iter().any(named) {
            continue;
        }
        match checkout(&folders, &repository.name) {
            Some(folder) => {
                report.moved.extend(moved(&folder, repository));
                found.push((repository, folder));
            }
            None => report.missing.push(repository.name.clone()),
        }
    }
    report.found = judged(&command, &found)?;
    report.print(json);
    match report.deviations() {
        0 => Ok(()),
        n => Err(format!("corpus: {n} deviations from xtask/corpus.json")),
    }
}

/// That a checkout is of another commit than the list, where git knows.
fn moved(folder: &Path, repository: &Repository) -> Option<String> {
    folder.join(".git").exists().then_some(())?;
    let head = Command::new("git")
        .arg("-C")
        .arg(folder)
        .args(["rev-parse", "HEAD"])
        .output()
        .ok()?;
    let head = String::from_utf8_lossy(&head.stdout).trim().to_owned();
    let (name, commit) = (&repository.name, &repository.commit);
    (head != *commit).then(|| format!("{name} is at {head}; the list is of {commit}"))
}

/// The checkout of `OWNER/NAME`, if one is there.
fn checkout(folders: &[PathBuf], name: &str) -> Option<PathBuf> {
    let (_, short) = name.split_once('/')?;
    let names = [name.replace('/', "+"), short.to_owned()];
    let places = folders.iter().flat_map(|f| names.iter().map(|n| f.join(n)));
    places.into_iter().find(|place| place.is_dir())
}

/// What is done by one thread at a time.
enum Job {
    /// Files that are formatted.
    Format(Vec<String>),
    /// A program, read in one way.
    Program(String, Profile),
}

/// What came of a job.
enum Done {
    Formatted(Vec<(String, String)>),
    Judged(Outcome),
}

/// Files that are formatted by one run.
const TOGETHER: usize = 32;

/// Judges all checkouts, on all processors.
fn judged(command: &Switchwright, found: &[(&Repository, PathBuf)]) -> Result<Vec<Counts>, String> {
    let mut jobs = Vec::new();
    let mut all = Vec::new();
    for (i, (repository, folder)) in found.iter().enumerate() {
        let files = programs(folder, repository);
        all.push(Counts::new(
            &repository.name,
            &repository.commit,
            files.len(),
        ));
        jobs.extend(
            jobs_of(repository, folder, files)
                .into_iter()
                .map(|job| (i, job)),
        );
    }
    let done = in_parallel(jobs.len(), |at| {
        let (i, job) = &jobs[at];
        let (repository, folder) = &found[*i];
        let judge = Judge {
            command,
            repository,
            folder,
        };
        let part = (at + 1) * 100 / jobs.len();
        match job {
            Job::Format(files) => format::judge(command, folder, files).map(Done::Formatted),
            Job::Program(file, profile) => {
                let outcome = judge.program(file, profile)?;
                let (name, suffix) = (&repository.name, profile.suffix());
                eprintln!("xtask: {part}% {name} {file}{suffix}: {}", outcome.brief());
                Ok(Done::Judged(outcome))
            }
        }
    })?;
    for ((i, job), done) in jobs.iter().zip(done) {
        match (job, done) {
            (Job::Program(file, profile), Done::Judged(outcome)) => {
                all[*i].add(file, profile, outcome);
            }
            (_, Done::Formatted(wrong)) => all[*i].unformatted(found[*i].0, wrong),
            (Job::Format(_), Done::Judged(_)) => {}
        }
    }
    for (counts, (repository, _)) in all.iter_mut().zip(found) {
        counts.unused(repository);
    }
    Ok(all)
}

/// What is to be done in a checkout. Files of one text are formatted once; programs of one text
/// that are read in one way are judged once.
fn jobs_of(repository: &Repository, folder: &Path, files: Vec<String>) -> Vec<Job> {
    let mut seen: BTreeSet<(Option<Vec<String>>, Vec<u8>)> = BTreeSet::new();
    let (mut different, mut jobs) = (Vec::new(), Vec::new());
    for file in files {
        let Ok(bytes) = fs::read(folder.join(&file)) else {
            continue;
        };
        let text = String::from_utf8_lossy(&bytes);
        let is_program = has_main(&text) || repository.is_main(&file);
        if is_program && !repository.is_text(&file) {
            for profile in repository.profiles(&file) {
                let arguments = profile.arguments(folder, &file);
                if seen.insert((Some(arguments), bytes.clone())) {
                    jobs.push(Job::Program(file.clone(), profile));
                }
            }
        }
        if seen.insert((None, bytes)) {
            different.push(file);
        }
    }
    let together = different.chunks(TOGETHER);
    jobs.extend(together.map(|files| Job::Format(files.to_vec())));
    jobs
}

/// What `one` makes of the numbers below `count`, on all processors, in order.
fn in_parallel<T: Send>(
    count: usize,
    one: impl Fn(usize) -> Result<T, String> + Sync,
) -> Result<Vec<T>, String> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at >= count {
                return Ok(done);
            }
            done.push((at, one(at)?));
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let mut all: Vec<(usize, T)> = thread::scope(|scope| {
        let started: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let ended = started.into_iter().map(|thread| {
            let done = thread.join();
            done.unwrap_or_else(|_| Err("a thread panicked".to_owned()))
        });
        ended.collect::<Result<Vec<_>, String>>()
    })?
    .into_iter()
    .flatten()
    .collect();
    all.sort_by_key(|(at, _)| *at);
    Ok(all.into_iter().map(|(_, done)| done).collect())
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
        let is_commit = |c: &str| c.len() == 40 && c.chars().all(|c| c.is_ascii_hexdigit());
        let without: Vec<&str> = list
            .iter()
            .filter(|r| !is_commit(&r.commit))
            .map(|r| r.name.as_str())
            .collect();
        assert!(without.is_empty(), "no commit: {without:?}");
    }
}
