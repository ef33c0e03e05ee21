//! Work that is shared out among machines: each does a share of it and writes what it found into a
//! folder; `switchwright merge` puts all of them together. Who starts the shares, and where, is
//! left to what does that already (Slurm, Kubernetes, a shell).

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::str::FromStr;

use clap::Args;
use p4gen::build::Digest;
use plan::check::{Share, WalkedShare};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::fault::{Context, Fault};
use super::terminal::{self, Terminal};
use measure::failover::SetTally;
use simulator::simulate::SeedRun;

const SHARES: &str = "Several machines";

/// The most shares that work is divided into.
pub(super) const MOST_SHARES: u32 = 100_000;

/// Which share to do, and where what it finds goes.
#[derive(Debug, Args)]
pub struct Sharding {
    /// Do only share I of N, and write what it finds into a folder: `merge` prints what one machine
    /// would have.
    #[arg(long, value_name = "I/N", requires = "shards", help_heading = SHARES)]
    shard: Option<Number>,
    /// The folder of all shares. A share that is there already is not done again.
    #[arg(short = 'o', long, value_name = "DIR", requires = "shard", help_heading = SHARES)]
    shards: Option<String>,
}

/// The same for a command whose `-o` is the folder of something else.
#[derive(Clone, Debug, Default, Args)]
pub struct LongSharding {
    /// Do only share I of N, and write what it finds into a folder: `merge` prints what one machine
    /// would have.
    #[arg(long, value_name = "I/N", requires = "shards", help_heading = SHARES)]
    shard: Option<Number>,
    /// The folder of all shares. A share that is there already is not done again.
    #[arg(long, value_name = "DIR", requires = "shard", help_heading = SHARES)]
    shards: Option<String>,
}

impl From<LongSharding> for Sharding {
    fn from(LongSharding { shard, shards }: LongSharding) -> Self {
        Self { shard, shards }
    }
}

/// One of so many shares: `I/N`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Number {
    /// From 1.
    number: u32,
    of: u32,
}

impl FromStr for Number {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let read = |text: &str| text.parse::<u32>().ok();
        let parts = text.split_once('/');
        let parts = parts.and_then(|(number, of)| Some((read(number)?, read(of)?)));
        match parts {
            Some((number, of)) if (1..=of).contains(&number) && of <= MOST_SHARES => {
                Ok(Self { number, of })
            }
            _ => Err(format!(
                "a share is I/N, I from 1 to N, N at most {MOST_SHARES}: `1/4`"
            )),
        }
    }
}

impl Number {
    fn share(self) -> Share {
        Share {
            index: self.number as usize - 1,
            of: self.of as usize,
        }
    }

    fn file(self) -> String {
        format!("shard-{}-of-{}.json", self.number, self.of)
    }

    /// Reads the name of a share's file.
    fn of_file(name: &str) -> Option<Self> {
        let name = name.strip_prefix("shard-")?.strip_suffix(".json")?;
        let (number, of) = name.split_once("-of-")?;
        let read = format!("{number}/{of}").parse::<Self>().ok()?;
        (read.file() == format!("shard-{number}-of-{of}.json")).then_some(read)
    }
}

/// A file that work reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Input {
    pub(super) path: String,
    digest: Digest,
}

impl Input {
    fn of(path: &str) -> Result<Self, Fault> {
        if path == "-" {
            return Err(Fault::input(
                "`--shard` with standard input: the shares and `merge` must read the same file",
            )
            .help("write what is read to a file"));
        }
        Ok(Self {
            path: path.to_owned(),
            digest: Digest::of(terminal::read(path)?.as_bytes()),
        })
    }

    /// That the file still is what the shares read.
    fn hold(&self) -> Result<(), Fault> {
        self.same(Self::of(&self.path)?.digest)
    }

    /// That this is the text that the shares read.
    ///
    /// # Errors
    /// Another text.
    pub(super) fn hold_text(&self, text: &str) -> Result<(), Fault> {
        self.same(Digest::of(text.as_bytes()))
    }

    fn same(&self, digest: Digest) -> Result<(), Fault> {
        if digest == self.digest {
            return Ok(());
        }
        Err(
            Fault::input(format!("{}: not the file that the shares read", self.path))
                .help("give back that file, or do the shares again in another folder"),
        )
    }
}

/// What is shared out: the command with all that its outcome depends on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum Work {
    /// `check`.
    Check {
        plan: Input,
        against: Option<Input>,
        no_budgets: bool,
        failures: Option<u32>,
        most_walks: u64,
        samples: u32,
        seed: u64,
    },
    /// `measure`.
    Measure {
        plan: Input,
        failures: Vec<u32>,
        sets: u32,
        seed: u64,
    },
    /// `simulate --seeds`.
    Simulate {
        scenario: Input,
        /// The manifest of the build directory, which has the digests of all its files.
        directory: Option<Input>,
        seed: Option<u64>,
        seeds: u32,
        without_tags: bool,
        transport: Option<String>,
        watchdog: Option<String>,
    },
}

impl Work {
    /// Digests an input that work names.
    ///
    /// # Errors
    /// A file that cannot be read, or standard input.
    pub(super) fn input(path: &str) -> Result<Input, Fault> {
        Input::of(path)
    }

    /// Digests what work reads by a name that need not be a file's; whoever merges holds it against
    /// [`Input::hold_text`].
    pub(super) fn text(name: &str, text: &str) -> Input {
        Input {
            path: name.to_owned(),
            digest: Digest::of(text.as_bytes()),
        }
    }

    /// That all files still are what the shares read.
    ///
    /// # Errors
    /// One that is another.
    pub(super) fn hold(&self) -> Result<(), Fault> {
        match self {
            Self::Check { plan, against, .. } => {
                against.iter().try_for_each(Input::hold)?;
                plan.hold()
            }
            Self::Measure { plan, .. } => plan.hold(),
            Self::Simulate { directory, .. } => directory.iter().try_for_each(Input::hold),
        }
    }
}

/// What a share has found.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ShareResult {
    /// `check`.
    Check(WalkedShare),
    /// `measure`.
    Measure(Vec<SetTally>),
    /// `simulate --seeds`.
    Simulate(Vec<SeedRun>),
}

const FORMAT: &str = "switchwright-shard";

/// The file of a share: `W` is what a command shares out, `F` what a share of it finds.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ShareFile<W, F> {
    format: String,
    /// Of Switchwright: another may find something else.
    version: String,
    shard: u32,
    of: u32,
    work: W,
    /// How long it took.
    seconds: f64,
    found: F,
}

/// What a share's run tells.
#[derive(Serialize)]
struct ShareReport {
    shard: u32,
    of: u32,
    file: String,
    /// Whether it was there already.
    done_before: bool,
}

/// Shares that are all there.
pub struct Shares<W, F> {
    /// What they did.
    pub work: W,
    /// The sum of the times that they took.
    pub seconds: f64,
    /// What they found, in order.
    pub found: Vec<F>,
}

impl Sharding {
    /// Whether only a share is asked for.
    #[must_use]
    pub fn wanted(&self) -> bool {
        self.shard.is_some()
    }

    /// Does the share and writes what it found, unless it is there already; `find` gives it with
    /// the seconds that it took.
    ///
    /// # Errors
    /// Another work's share in its place, what `find` fails with, a folder that cannot be written.
    pub fn run<W, F>(
        &self,
        work: W,
        terminal: &Terminal,
        find: impl FnOnce(Share) -> Result<(F, f64), Fault>,
    ) -> Result<(), Fault>
    where
        W: Serialize + DeserializeOwned + PartialEq,
        F: Serialize + DeserializeOwned,
    {
        let (Some(number), Some(folder)) = (self.shard, &self.shards) else {
            return Err(Fault::input("no share is named").help("--shard I/N -o DIR"));
        };
        let path = Path::new(folder).join(number.file());
        let told = |done_before| ShareReport {
            shard: number.number,
            of: number.of,
            file: path.to_string_lossy().into_owned(),
            done_before,
        };
        if let Some(there) = read::<W, F>(&path)? {
            if there.work != work || there.version != env!("CARGO_PKG_VERSION") {
                return Err(Fault::input(format!(
                    "{}: a share of other work: another command, other options or files, or another version",
                    path.display()
                ))
                .help("name another folder, or remove that file"));
            }
            return terminal.result(&told(true), || {
                format!("{}: there already\n", path.display())
            });
        }
        let (found, seconds) = find(number.share())?;
        let file = ShareFile {
            format: FORMAT.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            shard: number.number,
            of: number.of,
            work,
            seconds,
            found,
        };
        let text = serde_json::to_string(&file).input("a share as JSON")? + "\n";
        terminal::write(&path.to_string_lossy(), &text)?;
        terminal.result(&told(false), || {
            format!("{}: done in {seconds:.3} s\n", path.display())
        })
    }
}

/// Reads the file of a share, if it is there. One that was not written by a share is wrong input,
/// not a missing one.
fn read<W, F>(path: &Path) -> Result<Option<ShareFile<W, F>>, Fault>
where
    W: DeserializeOwned,
    F: DeserializeOwned,
{
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).input(path.display()),
    };
    let file: ShareFile<W, F> = serde_json::from_str(&text).input(path.display())?;
    let named = path.file_name().map(|name| name.to_string_lossy());
    let number = named.and_then(|name| Number::of_file(&name));
    let own = Number {
        number: file.shard,
        of: file.of,
    };
    if file.format != FORMAT || number != Some(own) {
        return Err(Fault::input(format!(
            "{}: not the share that its name says",
            path.display()
        ))
        .help("remove it and do that share again"));
    }
    Ok(Some(file))
}

/// Reads all shares of a folder.
///
/// # Errors
/// One that is missing, there twice (by two divisions) or of other work.
pub fn gather<W, F>(folder: &str) -> Result<Shares<W, F>, Fault>
where
    W: DeserializeOwned + PartialEq,
    F: DeserializeOwned,
{
    let numbers = numbers(folder)?;
    let Some(&Number { of, .. }) = numbers.first() else {
        return Err(Fault::input(format!("{folder}: no shares are there"))
            .help("shares come from `switchwright check`, `measure`, `simulate --seeds`, `reproduce` or `bench failover` with `--shard I/N`"));
    };
    if let Some(other) = numbers.iter().find(|number| number.of != of) {
        return Err(Fault::input(format!(
            "{folder}: shares of {of} and of {} are both there",
            other.of
        ))
        .help("leave those of one division, or use a folder for each"));
    }
    let there: Vec<u32> = numbers.iter().map(|number| number.number).collect();
    let missing: Vec<String> = (1..=of)
        .filter(|number| there.binary_search(number).is_err())
        .map(|number| format!("{number}/{of}"))
        .collect();
    if !missing.is_empty() {
        let named: Vec<String> = missing.iter().take(10).cloned().collect();
        let more = if missing.len() > named.len() {
            ", ..."
        } else {
            ""
        };
        return Err(Fault::input(format!(
            "{folder}: {} of {of} shares missing: {}{more}",
            missing.len(),
            named.join(", ")
        ))
        .help("do them with `--shard` and the options of the others"));
    }
    let mut shares: Option<Shares<W, F>> = None;
    for number in numbers {
        let path = Path::new(folder).join(number.file());
        let file = read(&path)?.ok_or_else(|| Fault::input(format!("{}: gone", path.display())))?;
        take(&mut shares, file, &path)?;
    }
    shares.ok_or_else(|| Fault::input(format!("{folder}: no shares are there")))
}

/// The command whose shares a folder holds, as the first of them says (`bench-failover`); nothing
/// if there is none or it cannot be read.
pub(super) fn command(folder: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Head {
        work: Named,
    }
    #[derive(Deserialize)]
    struct Named {
        command: String,
    }
    let first = numbers(folder).ok()?.first()?.file();
    let text = fs::read_to_string(Path::new(folder).join(first)).ok()?;
    let head: Head = serde_json::from_str(&text).ok()?;
    Some(head.work.command)
}

/// The shares that a folder has, in order.
fn numbers(folder: &str) -> Result<Vec<Number>, Fault> {
    let mut numbers = Vec::new();
    for entry in fs::read_dir(folder).input(folder)? {
        let name = entry.input(folder)?.file_name();
        numbers.extend(Number::of_file(&name.to_string_lossy()));
    }
    numbers.sort_unstable_by_key(|number| (number.of, number.number));
    Ok(numbers)
}

/// Adds a share to those before it.
fn take<W, F>(
    shares: &mut Option<Shares<W, F>>,
    file: ShareFile<W, F>,
    path: &Path,
) -> Result<(), Fault>
where
    W: PartialEq,
{
    if file.version != env!("CARGO_PKG_VERSION") {
        return Err(Fault::input(format!(
            "{}: made by version {}, this is {}",
            path.display(),
            file.version,
            env!("CARGO_PKG_VERSION")
        ))
        .help("merge with that version, or do the shares again"));
    }
    let Some(shares) = shares else {
        *shares = Some(Shares {
            work: file.work,
            seconds: file.seconds,
            found: vec![file.found],
        });
        return Ok(());
    };
    if shares.work != file.work {
        return Err(Fault::input(format!(
            "{}: of other work than the first share: another command, other options or files",
            path.display()
        ))
        .help("remove it and do that share with the options of the others"));
    }
    shares.seconds += file.seconds;
    shares.found.push(file.found);
    Ok(())
}
