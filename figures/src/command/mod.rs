//! The command line of the laboratory: `switchwright bench` and `switchwright reproduce`, which
//! start it, and what `switchwright merge` and `submit` do with their shares.

mod bench;
mod merge;
mod reproduce;
mod shares;

use std::ffi::OsString;

use clap::{CommandFactory, Parser, Subcommand};
use switchwright::cli::fault::Fault;
use switchwright::cli::given::Given;
use switchwright::cli::process::{Global, parse, status_of, tell};
use switchwright::cli::terminal::Terminal;
use switchwright::cli::{Completions, Manual, Merge, Program, Submit, help, own};

/// Benchmarks and the figures of the papers: what `switchwright bench` and `switchwright reproduce`
/// start.
#[derive(Debug, Parser)]
#[command(
    name = "switchwright-figures",
    version,
    propagate_version = true,
    max_term_width = 110
)]
struct Figures {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Measure speed and memory, beside other tools where they are found.
    Bench(bench::Bench),
    /// Compute the tables and figures of the papers, ours beside theirs.
    ///
    /// The papers are Tagger17, TaggerDraft, Stephens15 and FC23.
    Reproduce(reproduce::Reproduce),
    /// Merge the shares of `bench failover` or `reproduce` (`--shard I/N`).
    Merge(Merge),
    /// Submit the shares of `bench failover` or `reproduce`, and their merge, to Slurm or
    /// Kubernetes.
    Submit(Submit),
    /// Print a completion script for your shell.
    Completions(Completions),
    /// Write the manual, a page for each command.
    Man(Manual),
}

/// Runs a command line, the program's name first, and gives the exit status.
#[must_use]
pub fn run(arguments: Vec<OsString>) -> u8 {
    own::remember(&arguments, None);
    own::remember(&arguments, Some(switchwright()));
    let (cli, given): (Figures, Given) = match parse(arguments, |root| help::helped(root, "")) {
        Ok(parsed) => parsed,
        Err(told) => return tell(&told),
    };
    let terminal = cli.global.begin();
    status_of(cli.command.run(&given, &terminal), terminal.json)
}

/// The command whose figures are taken: benchmarks start it.
fn switchwright() -> Program {
    let missing = "`switchwright`, which this starts, is neither beside this program nor on PATH";
    match own::installed("switchwright") {
        Some(file) => Program::File(file),
        None => Program::Missing(missing.to_owned()),
    }
}

impl Command {
    fn run(self, given: &Given, terminal: &Terminal) -> Result<(), Fault> {
        let root = || help::hint(Figures::command());
        match self {
            Self::Bench(bench) => bench.run(given, terminal),
            Self::Reproduce(reproduce) => reproduce.run(given, terminal),
            Self::Merge(merge) => merge::run(&merge, terminal),
            Self::Submit(submit) => submit.run(&root(), terminal),
            Self::Completions(completions) => completions.run(root()),
            Self::Man(manual) => manual.run(root(), terminal),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_of_the_help_parse() {
        for name in ["bench", "reproduce"] {
            let mut root = help::helped(Figures::command(), "");
            root.build();
            let command = root.find_subcommand(name).unwrap();
            let sections = help::sections(command, name);
            let examples = sections.iter().find(|section| section.name == "Examples");
            let lines = &examples.unwrap().lines;
            assert!(lines.len() > 2, "{name}");
            for line in lines {
                let parsed = Figures::command().try_get_matches_from(line.split(' '));
                assert!(parsed.is_ok(), "{line}: {:?}", parsed.err());
            }
        }
    }
}
