//! What the process of every command does: the options that all commands take, how a command line
//! is read, the log, and the exit status. The command of the laboratory, `switchwright-figures`,
//! does the same.

use std::ffi::OsString;

use clap::{ArgAction, Args, Command, Parser};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::prelude::*;

use super::fault::{Fault, Status};
use super::given::Given;
use super::terminal::{self, Terminal};
use super::{help, own};

const EVERYWHERE: &str = "Options of every command";

/// The options that every command takes.
#[derive(Debug, Args)]
pub struct Global {
    /// Print one JSON object on standard output, and nothing else there.
    #[arg(long, global = true, help_heading = EVERYWHERE)]
    json: bool,
    /// No commentary, no progress.
    #[arg(short, long, global = true, help_heading = EVERYWHERE)]
    quiet: bool,
    /// Say more about what happens inside (-vv: everything).
    #[arg(short, long, global = true, action = ArgAction::Count, help_heading = EVERYWHERE)]
    verbose: u8,
}

impl Global {
    /// Starts the log, and gives the terminal that these options ask for.
    #[must_use]
    pub fn begin(&self) -> Terminal {
        start_log(self.verbose);
        Terminal {
            json: self.json,
            quiet: self.quiet,
        }
    }

    /// Whether a word of a command line is one of these options.
    pub(super) fn has(word: &str) -> bool {
        let short = |rest: &str| !rest.is_empty() && rest.chars().all(|c| matches!(c, 'q' | 'v'));
        ["--json", "--quiet", "--verbose"].contains(&word)
            || word.strip_prefix('-').is_some_and(short)
    }
}

/// Reads a command line, and remembers the options that stood on it. `helped` is the command with
/// all that its help says.
///
/// # Errors
/// A command line that is none, or that asks for help or the version.
pub fn parse<C: Parser>(
    arguments: Vec<OsString>,
    helped: impl FnOnce(Command) -> Command,
) -> Result<(C, Given), clap::Error> {
    // Examples and sources take far longer to make than arguments to read: they are made only where
    // they are shown.
    let matches = C::command()
        .try_get_matches_from(arguments.clone())
        .or_else(|_| helped(help::hint(C::command())).try_get_matches_from(arguments))?;
    let cli = C::from_arg_matches(&matches)?;
    Ok((cli, Given::of(&matches)))
}

/// Prints an error of a command, if there is one or if its output was lost, and gives the exit
/// status.
#[must_use]
pub fn status_of(done: Result<(), Fault>, json: bool) -> u8 {
    match done.and_then(|()| terminal::lost()) {
        Ok(()) => 0,
        Err(fault) => {
            let status = fault.status() as u8;
            if json && !terminal::has_emitted() {
                terminal::emit(&fault.to_json());
            }
            fault.print();
            status
        }
    }
}

/// Prints what the parser of arguments says (an error, help, or the version), and gives the exit
/// status.
#[must_use]
pub fn tell(told: &clap::Error) -> u8 {
    use std::io::{ErrorKind, Write};
    let printed = told.print().and_then(|()| std::io::stdout().flush());
    match printed {
        Err(error) if !told.use_stderr() && error.kind() != ErrorKind::BrokenPipe => {
            let message = format!("standard output: {error}");
            status_of(Err(Fault::with(Status::Target, message)), false)
        }
        _ if told.use_stderr() && own::asks_for_json() => {
            let message = told.to_string();
            terminal::emit(&Fault::input(message.trim_end()).to_json());
            Status::Input as u8
        }
        _ => u8::try_from(told.exit_code()).unwrap_or(Status::Input as u8),
    }
}

/// The log goes to standard error; `RUST_LOG` overrides `-v`.
fn start_log(verbose: u8) {
    let default = ["warn", "info", "debug"][usize::from(verbose.min(2))];
    let told: Option<Targets> = std::env::var("RUST_LOG").ok().and_then(|t| t.parse().ok());
    let filter = told.unwrap_or_else(|| default.parse().unwrap_or_default());
    let output = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    let _ = tracing_subscriber::registry()
        .with(output.with_filter(filter))
        .try_init();
}
