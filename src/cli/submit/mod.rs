//! `switchwright submit`: the shares of a command and their merge, as jobs of an engine that others
//! run: Slurm or Kubernetes. Nothing here schedules: scripts and manifests are written, and given
//! to the engine's own client with `--run`.

mod kubernetes;
mod slurm;

use std::path::Path;
use std::process::Command as Process;

use clap::{ArgMatches, Args, Command, Subcommand};
use serde::Serialize;

use super::fault::{Context, Fault, Status};
use super::shard::MOST_SHARES;
use super::terminal::{self, Terminal};
use super::words::counted;
use super::{figures, own};

/// What `-o` makes.
const FOLDER: &str = "folder of submitted shares";

/// Arguments of `switchwright submit`.
#[derive(Debug, Args)]
pub struct Submit {
    #[command(subcommand)]
    engine: Engine,
}

#[derive(Debug, Subcommand)]
enum Engine {
    /// An array job of Slurm, and a job that depends on it.
    Slurm(slurm::Slurm),
    /// An indexed Job of Kubernetes, and a Job that waits for its shares.
    Kubernetes(kubernetes::Kubernetes),
}

/// What every engine is told.
#[derive(Debug, Args)]
struct Common {
    /// How many shares the work is divided into.
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_SHARES)))]
    shares: u32,
    /// The folder for what is submitted; shares, logs and the outcome come to stand in it too.
    #[arg(short, long, value_name = "DIR")]
    output: String,
    /// Give it to the engine, by its own client.
    #[arg(long)]
    run: bool,
    /// The name of the jobs: small letters, digits and hyphens.
    #[arg(long, default_value = "switchwright", value_parser = job_name)]
    name: String,
    /// The most shares at a time.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    at_once: Option<u32>,
    /// Processors of a share.
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    cpus: u32,
    /// Memory of a share, in MiB.
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u32).range(1..))]
    memory: Option<u32>,
    /// A command that takes `--shard`, with its options but for that one.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// The longest name: Kubernetes adds an index and a suffix, and takes 63 characters.
const NAME_MAX: usize = 40;

/// A name that both engines take: a DNS label.
fn job_name(text: &str) -> Result<String, String> {
    let inside = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let ends = !text.starts_with('-') && !text.ends_with('-');
    if (1..=NAME_MAX).contains(&text.len()) && text.chars().all(inside) && ends {
        return Ok(text.to_owned());
    }
    Err(format!(
        "a name has small letters, digits and hyphens inside, {NAME_MAX} characters at most"
    ))
}

/// What was written, and given to whom.
#[derive(Serialize)]
struct SubmitReport {
    engine: &'static str,
    shares: u32,
    files: Vec<String>,
    /// What the engine calls the jobs, shares first; `null` if nothing was submitted.
    jobs: Option<Vec<String>>,
}

impl Submit {
    /// Writes what is submitted, and submits it if asked to. `root` has the commands that can be
    /// shared out; those of `switchwright-figures` are submitted by that program.
    ///
    /// # Errors
    /// A command that cannot be shared out, a place that cannot be written, an engine that refuses.
    pub fn run(self, root: &Command, terminal: &Terminal) -> Result<(), Fault> {
        let common = match &self.engine {
            Engine::Slurm(slurm) => &slurm.common,
            Engine::Kubernetes(kubernetes) => &kubernetes.common,
        };
        let command = common.command.first();
        let foreign = command.is_some_and(|name| figures::COMMANDS.contains(&name.as_str()));
        if foreign && root.get_name() == "switchwright" {
            return Err(figures::start(&own::arguments()));
        }
        match self.engine {
            Engine::Slurm(slurm) => slurm.run(root, terminal),
            Engine::Kubernetes(kubernetes) => kubernetes.run(root, terminal),
        }
    }
}

/// The lines of a shell that do a share and merge all of them.
struct Lines {
    /// The command, for people.
    command: String,
    /// Does the share whose number the shell computes.
    share: String,
    /// Puts all together.
    merge: String,
}

impl Common {
    /// The command line of a share whose number is `number` to a shell, and of the merge; `program`
    /// is Switchwright where they run.
    ///
    /// # Errors
    /// A command that is none, or cannot be shared out.
    fn lines(&self, root: &Command, program: &str, number: &str) -> Result<Lines, Fault> {
        let figures = shared_out(root, &self.command)?;
        let words: Vec<String> = self.command.iter().map(|word| quoted(word)).collect();
        let command = words.join(" ");
        let program = quoted(program);
        let shares = quoted(&self.place("shares"));
        let outcome = self.place("merged.json");
        let (outcome, unfinished) = (quoted(&outcome), quoted(&format!("{outcome}.part")));
        let out = match figures {
            true => format!(" --out {}", quoted(&self.place("figures"))),
            false => String::new(),
        };
        Ok(Lines {
            share: format!(
                "{program} {command} --shard \"{number}/{}\" --shards {shares}",
                self.shares
            ),
            // Statuses 1 and 4 are outcomes too: refuted, nothing wrong in a sample.
            merge: format!(
                "{program} merge {shares} --json{out} >{unfinished}\n\
                 status=$?\n\
                 case \"$status\" in 0 | 1 | 4) mv {unfinished} {outcome} || status=3 ;; esac\n\
                 exit \"$status\""
            ),
            command: command.replace(['\n', '\r'], " "),
        })
    }

    /// A path below the folder.
    fn place(&self, name: &str) -> String {
        Path::new(&self.output)
            .join(name)
            .to_string_lossy()
            .into_owned()
    }

    /// Writes the files into the folder, which is new, empty or of an earlier call.
    fn write(&self, files: &[(&str, String)]) -> Result<Vec<String>, Fault> {
        terminal::claim(&self.output, FOLDER)?;
        let mut written = Vec::new();
        for (name, text) in files {
            let path = self.place(name);
            terminal::write(&path, text)?;
            written.push(path);
        }
        Ok(written)
    }

    /// Tells what was done.
    fn tell(&self, told: &SubmitReport, by_hand: &str, terminal: &Terminal) -> Result<(), Fault> {
        terminal.result(told, || match &told.jobs {
            Some(jobs) => format!(
                "{} submitted: {}\n",
                counted(told.shares, "share"),
                jobs.join(", ")
            ),
            None => format!("{}: submit with `{by_hand}`\n", told.files.join(", ")),
        })
    }
}

/// Whether the merge of a command writes figures beside its JSON.
///
/// # Errors
/// A command that does not parse, or has no `--shard`; one that says itself which share to do.
fn shared_out(root: &Command, words: &[String]) -> Result<bool, Fault> {
    let said = words.join(" ");
    let line = |more: &[&str]| -> Vec<String> {
        let begin = std::iter::once("switchwright".to_owned()).chain(words.iter().cloned());
        begin.chain(more.iter().map(|&w| w.to_owned())).collect()
    };
    let mut at = root;
    for word in words {
        match at.find_subcommand(word) {
            Some(below) => at = below,
            None => break,
        }
    }
    if !takes_shards(at) {
        return Err(Fault::input(format!(
            "`{said}` cannot be shared out: it takes no `--shard`"
        ))
        .help(format!("these can: {}", all_shareable(root).join(", "))));
    }
    let parsed = |more: &[&str]| root.clone().try_get_matches_from(line(more));
    if let Ok(matches) = parsed(&[])
        && innermost(&matches)
            .try_contains_id("shard")
            .unwrap_or(false)
    {
        return Err(Fault::input(format!(
            "`{said}` says itself which share to do: that is for the engine to say"
        ))
        .help("leave `--shard` and `--shards` out"));
    }
    parsed(&["--shard", "1/1", "--shards", "shares"]).map_err(|error| {
        let words = error.to_string();
        let first = words.lines().next().unwrap_or_default();
        let first = first.strip_prefix("error: ").unwrap_or(first);
        Fault::input(format!("`{said}`: {first}"))
    })?;
    if at.get_name() == "bench" && words.get(1).is_none_or(|area| area != "failover") {
        return Err(Fault::input(format!(
            "`{said}`: of the benchmarks only `bench failover` is shared out"
        ))
        .help("write `bench failover`, its options after that"));
    }
    Ok(["bench", "measure", "reproduce"].contains(&at.get_name()))
}

fn innermost(matches: &ArgMatches) -> &ArgMatches {
    matches
        .subcommand()
        .map_or(matches, |(_, below)| innermost(below))
}

fn takes_shards(command: &Command) -> bool {
    command
        .get_arguments()
        .any(|argument| argument.get_id() == "shard")
}

/// The commands that can be shared out, those of `switchwright-figures` among them.
fn all_shareable(root: &Command) -> Vec<String> {
    let mut all = shareable(root, "");
    let foreign = figures::COMMANDS.map(str::to_owned);
    let missing = foreign.into_iter().filter(|name| !all.contains(name));
    let missing: Vec<String> = missing.collect();
    all.extend(missing);
    all
}

/// The commands that take `--shard`.
fn shareable(command: &Command, path: &str) -> Vec<String> {
    let below = command.get_subcommands().flat_map(|sub| {
        let path = format!("{path} {}", sub.get_name());
        let own = takes_shards(sub).then(|| path.trim_start().to_owned());
        own.into_iter()
            .chain(shareable(sub, &path))
            .collect::<Vec<_>>()
    });
    below.collect()
}

/// A word as a POSIX shell reads it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%^".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Runs an engine's client and gives what it printed.
///
/// # Errors
/// A client that is not there or refuses, with what it said (status 3).
fn client(name: &str, process: &mut Process) -> Result<String, Fault> {
    let output = process.output();
    let output = output.map_err(|error| Fault::with(Status::Target, format!("{name}: {error}")))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(Fault::with(
        Status::Target,
        format!("{name}: {}: {}", output.status, said.trim()),
    ))
}

/// The folder in which the command was given, to which paths in it belong.
fn here() -> Result<String, Fault> {
    let here = std::env::current_dir().input("the folder of this process")?;
    let here = here.into_os_string().into_string();
    here.map_err(|here| Fault::input(format!("{}: no UTF-8", here.to_string_lossy())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn only_commands_with_shards_are_submitted() {
        let root = super::super::help::plain();
        assert!(!shared_out(&root, &words("check plan.json --failures 2")).unwrap());
        assert!(shared_out(&root, &words("measure plan.json")).unwrap());
        for (line, why) in [
            ("plan net.json", "cannot be shared out"),
            ("nonsense", "cannot be shared out"),
            ("check", "required arguments"),
            ("check plan.json --nonsense", "unexpected argument"),
            ("check plan.json --shard 1/2 -o x", "says itself"),
            ("check plan.json -o x", "--shards"),
            ("measure plan.json --out x", "cannot be used with"),
        ] {
            let refused = shared_out(&root, &words(line)).unwrap_err();
            assert!(refused.to_string().contains(why), "{line}: {refused}");
        }
    }

    #[test]
    fn words_reach_the_shell_as_they_are() {
        for word in ["plan.json", "a b", "it's", "$HOME", "", "`x`", "a\nb", "*"] {
            let line = format!("printf %s {}", quoted(word));
            let output = Process::new("sh").args(["-c", &line]).output().unwrap();
            assert_eq!(output.stdout, word.as_bytes(), "{line}");
        }
    }

    #[test]
    fn names_are_labels() {
        assert!(job_name("sweep-2").is_ok());
        for name in ["", "-a", "a-", "A", "a.b", &"a".repeat(41)] {
            assert!(job_name(name).is_err(), "{name}");
        }
    }
}
