//! An analysed program, and the thread that analyses.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use p4front::diag::Diagnostic;
use p4front::index::{Index, Reading};
use p4front::source::{FileId, SourceMap};
use p4front::{Files, Options};

use p4front::pp::normal;

/// Stack of the thread: programs nest deeply.
const STACK: usize = 256 << 20;
/// How long the thread waits for the next key before it begins with what nobody asked for.
const PAUSE: Duration = Duration::from_millis(80);

/// A program as it was at some time.
pub(crate) struct Analysis {
    pub(crate) reading: Arc<Reading>,
    pub(crate) index: Index,
    pub(crate) found: Vec<Diagnostic>,
}

/// What is to be analysed.
pub(crate) struct Job {
    /// The main file.
    pub(crate) root: PathBuf,
    /// Texts that are open.
    pub(crate) texts: Arc<BTreeMap<PathBuf, Arc<str>>>,
    /// What the answer is marked with.
    pub(crate) generation: u64,
    /// Somebody waits for it.
    pub(crate) urgent: bool,
    /// The program, if it was parsed already.
    pub(crate) reading: Option<Arc<Reading>>,
}

/// What came of a [`Job`].
pub(crate) struct Done {
    pub(crate) root: PathBuf,
    pub(crate) generation: u64,
    /// None if the main file cannot be read.
    pub(crate) analysis: Option<Arc<Analysis>>,
}

/// Reads a program whose main file is open or on disk.
pub(crate) fn read(
    root: &Path,
    texts: &Arc<BTreeMap<PathBuf, Arc<str>>>,
    options: &Options,
) -> Option<Reading> {
    let mut map = SourceMap::new();
    let main = match texts.get(root) {
        Some(text) => map.add(&root.to_string_lossy(), text).ok()?,
        None => map.load(root).ok()?,
    };
    let options = Options {
        files: Files::Overlay(Arc::clone(texts)),
        ..options.clone()
    };
    Some(Reading::new(map, main, &options))
}

/// Where a file of a program is for an editor; the built-in ones are written to a folder.
pub(crate) fn path_of_file(reading: &Reading, file: FileId) -> Option<PathBuf> {
    let file = reading.map.file(file)?;
    match file.builtin {
        true => crate::built_in::path_of(&file.name, &file.text),
        false => Some(normal(&std::path::absolute(&*file.name).ok()?)),
    }
}

/// The first file of a program that has this path.
pub(crate) fn file_of(reading: &Reading, path: &Path) -> Option<FileId> {
    let mut files = reading.map.files();
    let found = files.find(|(_, f)| !f.builtin && normal(Path::new(&*f.name)) == path);
    found.map(|(id, _)| id)
}

/// Starts the thread; it ends when nobody can send jobs any more.
pub(crate) fn start(
    options: Options,
    jobs: Receiver<Job>,
    done: Sender<Done>,
) -> std::io::Result<std::thread::JoinHandle<()>> {
    let thread = std::thread::Builder::new()
        .stack_size(STACK)
        .name("p4-analysis".to_owned());
    thread.spawn(move || work(&options, &jobs, &done))
}

fn work(options: &Options, jobs: &Receiver<Job>, done: &Sender<Done>) {
    let mut waiting: BTreeMap<PathBuf, Job> = BTreeMap::new();
    loop {
        let urgent = waiting.values().any(|job| job.urgent);
        let next = match (waiting.is_empty(), urgent) {
            (true, _) => jobs.recv().map_err(|_| RecvTimeoutError::Disconnected),
            (false, true) => jobs.try_recv().map_err(|_| RecvTimeoutError::Timeout),
            (false, false) => jobs.recv_timeout(PAUSE),
        };
        match next {
            // The newest text of a program counts.
            Ok(mut job) => {
                if let Some(old) = waiting.get(&job.root) {
                    job.urgent |= old.urgent;
                }
                waiting.insert(job.root.clone(), job);
                continue;
            }
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {}
        }
        let first = waiting.values().find(|job| job.urgent || !urgent);
        let Some(job) = first
            .map(|job| job.root.clone())
            .and_then(|r| waiting.remove(&r))
        else {
            continue;
        };
        let analysis = analyse(options, &job).map(Arc::new);
        let answer = Done {
            root: job.root,
            generation: job.generation,
            analysis,
        };
        if done.send(answer).is_err() {
            return;
        }
    }
}

fn analyse(options: &Options, job: &Job) -> Option<Analysis> {
    let reading = match &job.reading {
        Some(reading) => Arc::clone(reading),
        None => Arc::new(read(&job.root, &job.texts, options)?),
    };
    let (index, found) = reading.index();
    Some(Analysis {
        reading,
        index,
        found,
    })
}
