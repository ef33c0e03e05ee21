//! `switchwright p4 lsp`: the language server ([`p4lsp`]) over standard input and output.

use std::path::PathBuf;

use clap::Args;

use crate::cli::fault::{Fault, Status};
use crate::cli::terminal::Terminal;

/// Arguments of `switchwright p4 lsp`.
#[derive(Debug, Args)]
pub(super) struct Lsp {
    /// Folders searched for included files.
    #[arg(short = 'I', value_name = "DIR")]
    include: Vec<PathBuf>,
}

impl Lsp {
    pub(super) fn run(self, terminal: &Terminal) -> Result<(), Fault> {
        if terminal.json {
            let message =
                "`--json` means nothing here: what is said follows the Language Server Protocol";
            return Err(Fault::input(message).help("leave `--json` out"));
        }
        p4lsp::serve_stdio(self.include).map_err(|error| Fault::with(Status::Target, error))
    }
}
