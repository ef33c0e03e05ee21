//! `switchwright completions SHELL`.

use clap::{Args, CommandFactory};
use clap_complete::{Shell, generate};

use super::fault::Fault;
use super::{Cli, terminal};

/// Arguments of `switchwright completions`.
#[derive(Debug, Args)]
pub(super) struct Completions {
    /// The shell.
    shell: Shell,
}

impl Completions {
    pub(super) fn run(self) -> Result<(), Fault> {
        let mut script = Vec::new();
        generate(self.shell, &mut Cli::command(), "switchwright", &mut script);
        terminal::emit(&String::from_utf8_lossy(&script));
        Ok(())
    }
}
