//! What goes wrong, as a user sees it: an exit status, a message, and how to mend it.

use std::error::Error;
use std::fmt::{self, Display};
use std::io::{self, Write as _};

use anstream::AutoStream;
use anstyle::AnsiColor;

/// The exit statuses of every command (see `docs/commands.md`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// A check failed; a counterexample was printed.
    Failed = 1,
    /// The input or the arguments are wrong.
    Input = 2,
    /// A target refused or cannot.
    Target = 3,
    /// A check found nothing wrong, but tried a sample only.
    Sampled = 4,
}

impl From<plan::Fault> for Status {
    fn from(fault: plan::Fault) -> Self {
        match fault {
            plan::Fault::Input => Self::Input,
            plan::Fault::Proof => Self::Failed,
            plan::Fault::Target => Self::Target,
        }
    }
}

/// An error on its way to the terminal.
#[derive(Debug)]
pub struct Fault {
    status: Status,
    message: String,
    help: Option<String>,
    /// Already shown (diagnostics with source excerpts, a failed proof): only the status is left to
    /// tell.
    shown: bool,
}

impl Fault {
    /// Wrong input: `message` says what and where.
    pub fn input(message: impl fmt::Display) -> Self {
        Self::with(Status::Input, message)
    }

    /// A message with a status that was found out elsewhere.
    pub fn with(status: Status, message: impl fmt::Display) -> Self {
        Self {
            status,
            message: message.to_string(),
            help: None,
            shown: false,
        }
    }

    /// The status alone: what happened is on the terminal already.
    #[must_use]
    pub fn shown(status: Status) -> Self {
        Self {
            status,
            message: String::new(),
            help: None,
            shown: true,
        }
    }

    /// Adds how to mend it.
    #[must_use]
    pub fn help(mut self, help: impl fmt::Display) -> Self {
        self.help = Some(help.to_string());
        self
    }

    /// The exit status.
    #[must_use]
    pub fn status(&self) -> Status {
        self.status
    }

    /// The error as the one JSON object of a command that has printed none.
    pub fn to_json(&self) -> String {
        let error = serde_json::json!({
            "error": { "status": self.status as u8, "message": self.message, "help": self.help }
        });
        format!("{error:#}\n")
    }

    /// Prints the error on standard error, unless it has been shown.
    pub fn print(self) {
        if !self.shown {
            complain(self.coloured());
        }
    }

    /// The message and how to mend it, in the form that the findings of programs have.
    fn coloured(&self) -> String {
        let error = AnsiColor::Red.on_default().bold();
        let help = AnsiColor::Cyan.on_default().bold();
        let mut text = format!("{error}error{error:#}: {}", self.message);
        if let Some(mend) = &self.help {
            text.push_str(&format!("\n  {help}help{help:#}: {mend}"));
        }
        text
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for Fault {}

/// Names the file or argument that an error is about, and its exit status.
pub trait Context<T> {
    /// Wrong input, found in `place`.
    ///
    /// # Errors
    /// The error, as a [`Fault`].
    fn input(self, place: impl fmt::Display) -> Result<T, Fault>;
}

impl<T, E: Error> Context<T> for Result<T, E> {
    fn input(self, place: impl fmt::Display) -> Result<T, Fault> {
        self.map_err(|e| Fault::input(format!("{place}: {}", chain(&e))))
    }
}

/// An error and its causes on one line.
pub fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let inner_text = inner.to_string();
        if !text.contains(&inner_text) {
            text.push_str(": ");
            text.push_str(&inner_text);
        }
        cause = inner.source();
    }
    text
}

/// Writes a line to standard error, its colours only where they are wanted (`NO_COLOR`,
/// `CLICOLOR_FORCE`, `CLICOLOR`, a terminal); who has closed it wants to hear nothing.
pub fn complain(line: impl Display) {
    let _ = writeln!(AutoStream::auto(io::stderr().lock()), "{line}");
}
