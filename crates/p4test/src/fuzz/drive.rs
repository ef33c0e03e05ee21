//! Drives a target on a stable toolchain: mutates a corpus, seeded, and keeps what is new.
//!
//! The input that is being run lies in a file, so that it survives whatever the target does. A
//! panic is caught and its input saved; a watcher ends the process when one input takes too long or
//! memory grows too large, and leaves the file behind. A target with limits of its own runs in
//! child processes instead ([`super::worker`]): whatever ends one is a finding, and the run goes
//! on.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use packetgen::Choices;

use super::worker::{Outcome, Worker, worked};
use super::{Behaviour, Splitter, Target};

/// How long, on what, where to.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Folder of kept inputs.
    pub corpus: PathBuf,
    /// Another folder of inputs to begin with, which need not be kept.
    pub seeds: Option<PathBuf>,
    /// Folder for findings and for what was new.
    pub out: PathBuf,
    /// For how long.
    pub time: Duration,
    /// Where the choices begin.
    pub seed: u64,
    /// An input that takes longer, in time that the process works, is a hang.
    pub hang: Duration,
    /// More memory than this is a leak or a bomb.
    pub memory: u64,
    /// The fuzz program, of which children run the targets that have limits.
    pub program: PathBuf,
}

/// An input that a target does not bear.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The input.
    pub file: PathBuf,
    /// What it does.
    pub why: String,
}

/// What a run came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FuzzReport {
    /// Inputs run.
    pub runs: u64,
    /// Inputs of the corpus at the start.
    pub corpus: usize,
    /// Different behaviours seen.
    pub behaviours: usize,
    /// Inputs that the target does not bear.
    pub findings: Vec<Finding>,
    /// The slowest input.
    pub slowest: Duration,
    /// Memory at the end, in bytes.
    pub memory: u64,
}

/// Inputs kept in memory.
const MAX_KEPT: usize = 20_000;
/// Findings after which a run ends.
const MAX_FINDINGS: usize = 20;

/// The corpus files of a folder, by name.
///
/// # Errors
/// A folder or file that cannot be read.
pub fn corpus(folder: &Path) -> io::Result<Vec<(PathBuf, Vec<u8>)>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_file() {
            paths.push(path);
        }
    }
    paths.sort();
    let read = |path: PathBuf| fs::read(&path).map(|bytes| (path, bytes));
    paths.into_iter().map(read).collect()
}

/// Mutates the corpus until the time is over.
///
/// # Errors
/// A folder that cannot be read or written.
pub fn drive(
    target: &Target,
    settings: &Settings,
    mut tell: impl FnMut(&FuzzReport),
) -> io::Result<FuzzReport> {
    fs::create_dir_all(&settings.out)?;
    let current = File::create(settings.out.join("current"))?;
    let mut runner = Runner::of(target, settings);
    let mut inputs: Vec<Vec<u8>> = match corpus(&settings.corpus) {
        Ok(files) => files.into_iter().map(|(_, bytes)| bytes).collect(),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(e) => return Err(e),
    };
    if let Some(folder) = &settings.seeds {
        inputs.extend(corpus(folder)?.into_iter().map(|(_, bytes)| bytes));
    }
    inputs.extend(target.seeds.map(|seeds| seeds()).unwrap_or_default());
    let mut report = FuzzReport {
        corpus: inputs.len(),
        ..FuzzReport::default()
    };
    let mut seen: BTreeSet<Behaviour> = BTreeSet::new();
    let mut choices = Choices::seeded(settings.seed);
    let start = Instant::now();
    let mut told = start;
    let mut next = 0;
    while start.elapsed() < settings.time && report.findings.len() < MAX_FINDINGS {
        // The corpus as it is first, then mutants of it.
        let input = match inputs.get(next).filter(|_| next < report.corpus) {
            Some(input) => input.clone(),
            None => mutant(target, &inputs, &mut choices),
        };
        next += 1;
        current.set_len(input.len() as u64)?;
        current.write_all_at(&input, 0)?;
        let started = Instant::now();
        let found = runner.run(target, &input)?;
        let took = started.elapsed();
        report.runs += 1;
        report.slowest = report.slowest.max(took);
        match found {
            Outcome::Fault(why) => {
                let name = format!("crash-{:016x}", Behaviour::of(&input).0);
                let file = settings.out.join(name);
                fs::write(&file, &input)?;
                report.findings.push(Finding { file, why });
            }
            Outcome::Done(behaviour) => {
                if seen.insert(behaviour) && next > report.corpus && inputs.len() < MAX_KEPT {
                    inputs.push(input);
                }
            }
        }
        report.behaviours = seen.len();
        if told.elapsed() > Duration::from_secs(2) {
            told = Instant::now();
            tell(&report);
        }
    }
    report.memory = resident();
    Ok(report)
}

/// A new input made from the corpus.
fn mutant(target: &Target, inputs: &[Vec<u8>], choices: &mut Choices<'_>) -> Vec<u8> {
    let mut input = choices.pick(inputs).cloned().unwrap_or_default();
    for _ in 0..=choices.below(4) {
        if let Some(parts) = target.parts
            && !choices.one_in(4)
        {
            exchange(parts, &mut input, inputs, choices);
            continue;
        }
        let at = choices.below(input.len() + 1);
        match choices.below(9) {
            0 if at < input.len() => input[at] ^= 1 << choices.below(8),
            1 if at < input.len() => input[at] = choices.below(256) as u8,
            2 if at < input.len() => {
                let interesting = [0, 1, 0x7f, 0x80, 0xff];
                input[at] = choices.pick(&interesting).copied().unwrap_or(0);
            }
            3 => {
                let count = 1 + choices.below(16);
                let piece = choices.bytes(count);
                input.splice(at..at, piece);
            }
            4 => {
                let end = (at + 1 + choices.below(16)).min(input.len());
                input.drain(at.min(end)..end);
            }
            5 => {
                if let Some(word) = choices.pick(target.words) {
                    let end = (at + word.len()).min(input.len());
                    let over = if choices.one_in(2) { at..end } else { at..at };
                    input.splice(over, word.iter().copied());
                }
            }
            6 => {
                // The start of one and the end of another.
                if let Some(other) = choices.pick(inputs) {
                    let from = choices.below(other.len() + 1);
                    input.truncate(at);
                    input.extend_from_slice(&other[from..]);
                }
            }
            7 => {
                // A piece again, somewhere else.
                let end = (at + 1 + choices.below(32)).min(input.len());
                let piece = input[at.min(end)..end].to_vec();
                let to = choices.below(input.len() + 1);
                input.splice(to..to, piece);
            }
            _ => {
                let count = 1 + choices.below(64);
                let piece = choices.bytes(count);
                input.truncate(at);
                input.extend(piece);
            }
        }
    }
    input.truncate(target.max_len);
    input
}

/// Exchanges a word or subtree for another, drops it, or repeats it.
fn exchange(parts: Splitter, input: &mut Vec<u8>, inputs: &[Vec<u8>], choices: &mut Choices<'_>) {
    let own = parts(input);
    let Some(place) = choices.pick(&own).cloned() else {
        return;
    };
    let first = input.get(place.start).copied();
    let other = match choices.pick(inputs) {
        Some(other) if !choices.one_in(3) => other.clone(),
        _ => input.clone(),
    };
    // Mostly what begins alike: a block for a block, a word for a word.
    let all = parts(&other);
    let sort = |b: Option<u8>| b.map(|b| (b.is_ascii_alphanumeric(), b.is_ascii_punctuation()));
    let alike: Vec<Range<usize>> = all
        .iter()
        .filter(|p| sort(other.get(p.start).copied()) == sort(first))
        .cloned()
        .collect();
    let from = if choices.one_in(4) { &all } else { &alike };
    let piece = choices.pick(from).map(|p| other[p.clone()].to_vec());
    match (choices.below(6), piece) {
        (0, _) => drop(input.drain(place)),
        (1, Some(piece)) => drop(input.splice(place.end..place.end, piece)),
        (2, _) => {
            let own = input[place.clone()].to_vec();
            drop(input.splice(place.end..place.end, own));
        }
        (_, Some(piece)) => drop(input.splice(place, piece)),
        _ => {}
    }
}

/// Where the target runs.
enum Runner {
    Here(Watch),
    Child(Worker),
}

impl Runner {
    fn of(target: &Target, settings: &Settings) -> Self {
        match target.limits {
            None => Self::Here(Watch::start(settings)),
            Some(limits) => Self::Child(Worker::new(&settings.program, target.name, limits)),
        }
    }

    fn run(&mut self, target: &Target, input: &[u8]) -> io::Result<Outcome> {
        match self {
            Self::Here(watch) => Ok(match watch.run(target, input) {
                Some(behaviour) => Outcome::Done(behaviour),
                None => Outcome::Fault("the target panicked".into()),
            }),
            Self::Child(worker) => worker.run(input),
        }
    }
}

/// Ends the process when an input hangs or memory grows without end.
struct Watch {
    began: Instant,
    /// When the running input began, in milliseconds after `began`, plus 1; 0 between inputs.
    since: Arc<AtomicU64>,
}

impl Watch {
    fn start(settings: &Settings) -> Self {
        let began = Instant::now();
        let since = Arc::new(AtomicU64::new(0));
        let (hang, memory) = (settings.hang.as_millis() as u64, settings.memory);
        let watched = Arc::clone(&since);
        std::thread::spawn(move || {
            // The input seen last, and the time the process had worked by then: on a busy machine
            // an input may take long without any work being done.
            let mut last = (0, 0);
            loop {
                std::thread::sleep(Duration::from_millis(200));
                let started = watched.load(Ordering::Relaxed);
                let worked = worked("self").unwrap_or(began.elapsed()).as_millis() as u64;
                if started == 0 || started != last.0 {
                    last = (started, worked);
                } else if worked.saturating_sub(last.1) > hang {
                    give_up("an input takes too long");
                }
                if resident() > memory {
                    give_up("memory grows too large");
                }
            }
        });
        Self { began, since }
    }

    /// What the target did, or `None` if it panicked.
    fn run(&self, target: &Target, input: &[u8]) -> Option<Behaviour> {
        let millis = self.began.elapsed().as_millis() as u64;
        self.since.store(millis + 1, Ordering::Relaxed);
        let found = catch_unwind(AssertUnwindSafe(|| (target.run)(input))).ok();
        self.since.store(0, Ordering::Relaxed);
        found
    }
}

#[allow(clippy::print_stderr, reason = "the last words of the process")]
fn give_up(why: &str) -> ! {
    eprintln!("fuzz: {why}; the input is in the file `current`");
    std::process::abort()
}

/// Memory of this process, where the kernel tells.
fn resident() -> u64 {
    let text = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: u64 = text
        .split_whitespace()
        .nth(1)
        .and_then(|n| n.parse().ok())
        .unwrap_or(0);
    pages * 4096
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touchy(input: &[u8]) -> Behaviour {
        assert!(!input.windows(2).any(|w| w == b"no"), "found");
        Behaviour::of(input.len() / 4)
    }

    #[test]
    fn a_panic_is_found_and_its_input_kept() {
        let folder = tempfile::tempdir().unwrap();
        let corpus = folder.path().join("corpus");
        fs::create_dir(&corpus).unwrap();
        fs::write(corpus.join("a"), b"nobody").unwrap();
        let target = Target {
            name: "touchy",
            about: "",
            run: touchy,
            words: &[b"no"],
            parts: None,
            max_len: 64,
            limits: None,
            seeds: None,
        };
        let settings = Settings {
            corpus,
            seeds: None,
            out: folder.path().join("out"),
            time: Duration::from_secs(30),
            seed: 1,
            hang: Duration::from_secs(10),
            memory: u64::MAX,
            program: PathBuf::new(),
        };
        std::panic::set_hook(Box::new(|_| {}));
        let report = drive(&target, &settings, |_| ()).unwrap();
        let _ = std::panic::take_hook();
        assert_eq!(report.findings.len(), MAX_FINDINGS, "{report:?}");
        let kept = fs::read(&report.findings[0].file).unwrap();
        assert_eq!(kept, b"nobody");
    }
}
