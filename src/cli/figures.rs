//! `switchwright bench` and `switchwright reproduce`: commands of another program,
//! `switchwright-figures`, which takes the place of this process, as cargo starts the programs of
//! its subcommands. It is a package of its own, so that a build of `switchwright` does not compile
//! benchmarks and the figures of the papers.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

use clap::Args;

use super::fault::{Fault, Status};
use super::own;
use super::process::Global;

/// The program.
const PROGRAM: &str = "switchwright-figures";

/// Its commands that are commands of `switchwright`.
pub(super) const COMMANDS: [&str; 2] = ["bench", "reproduce"];

/// Its commands that machines share out, by the names that files of shares have for them.
pub(super) const COMMANDS_OF_SHARES: [&str; 2] = ["bench-failover", "reproduce"];

/// Arguments of `switchwright bench` and `switchwright reproduce`, as help and manual show them.
#[derive(Debug, Args)]
pub(super) struct Figures {
    /// What the command of `switchwright-figures` takes; `--help` lists it.
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "ARGUMENTS"
    )]
    _arguments: Vec<OsString>,
}

/// Whether a command line calls one of the program's commands, or asks for its help.
pub(super) fn are_called(arguments: &[OsString]) -> bool {
    let words = arguments.iter().skip(1).map(|word| word.to_str());
    let mut words = words.skip_while(|word| word.is_some_and(Global::has));
    let command = match words.next().flatten() {
        Some("help") => words.next().flatten(),
        command => command,
    };
    command.is_some_and(|command| COMMANDS.contains(&command))
}

/// Gives this process to the program, with its command line, standard streams and signals. It
/// returns only where that is not possible.
pub(super) fn start(arguments: &[OsString]) -> Fault {
    let Some(file) = own::installed(PROGRAM) else {
        return Fault::with(
            Status::Target,
            format!("`{PROGRAM}`, which has the commands `bench` and `reproduce`, is not installed: it is neither beside this program nor on PATH"),
        )
        .help(format!(
            "in a checkout of Switchwright: `cargo build -p {PROGRAM}`, with the `--release` or `--profile` that built `switchwright`; to install it: `cargo install --path figures`"
        ));
    };
    let mut command = Command::new(&file);
    if let Some((name, rest)) = arguments.split_first() {
        command.arg0(name).args(rest);
    }
    let error = command.exec();
    Fault::with(Status::Target, format!("{}: {error}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_of_the_program_are_known_behind_options_of_every_command() {
        let line = |text: &str| -> Vec<OsString> { text.split(' ').map(OsString::from).collect() };
        for text in [
            "switchwright bench",
            "switchwright reproduce --list",
            "switchwright --json -qvv bench plan",
            "switchwright -v help bench",
        ] {
            assert!(are_called(&line(text)), "{text}");
        }
        for text in [
            "switchwright",
            "switchwright help",
            "switchwright plan bench",
            "switchwright p4 bench build",
            "switchwright --nonsense bench",
            "switchwright - bench",
        ] {
            assert!(!are_called(&line(text)), "{text}");
        }
    }
}
