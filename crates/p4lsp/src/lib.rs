//! A language server for P4_16.
//!
//! ```text
//! editor <-> server -> documents -> analysis (a thread: p4front::index) -> features -> editor
//! ```
//!
//! A file is analysed as a part of the program that includes it ([`workspace`]). What is typed
//! (completion, parameters of a call) is answered at once from a parsed text, of which only what is
//! around the place is checked. Everything else waits for the analysis of the present text, which a
//! thread makes.

#![allow(
    clippy::disallowed_types,
    reason = "hash maps answer look-ups; what goes out is sorted or in the order of the input"
)]

mod address;
mod analysis;
mod built_in;
mod documents;
mod features;
mod position;
mod server;
mod session;
mod workspace;

use std::path::PathBuf;

use lsp_server::Connection;
use p4front::Options;

/// Why a server ended.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The editor broke the protocol.
    #[error("the editor does not follow the Language Server Protocol: {0}")]
    Protocol(#[from] lsp_server::ProtocolError),
    /// The editor went away.
    #[error("the editor is gone")]
    Gone,
    /// The system gives no thread.
    #[error("cannot start a thread: {0}")]
    Thread(#[from] std::io::Error),
    /// Standard input or output failed.
    #[error("standard input or output: {0}")]
    Pipe(std::io::Error),
    /// An answer cannot be written as JSON.
    #[error("an answer is no JSON: {0}")]
    Json(#[from] serde_json::Error),
}

/// Serves the editor at standard input and output, as [`serve`].
///
/// # Errors
/// As [`serve`].
pub fn serve_stdio(include: Vec<PathBuf>) -> Result<(), Error> {
    let (connection, threads) = Connection::stdio();
    let ended = serve(&connection, include);
    drop(connection);
    ended?;
    threads.join().map_err(Error::Pipe)
}

/// Serves one editor until it says `exit`. `include` are the folders searched for included files.
///
/// # Errors
/// [`Error`] if the conversation cannot go on.
pub fn serve(connection: &Connection, include: Vec<PathBuf>) -> Result<(), Error> {
    let absolute = |path: PathBuf| std::path::absolute(&path).unwrap_or(path);
    let options = Options {
        include_paths: include.into_iter().map(absolute).collect(),
        ..Options::on_disk()
    };
    server::run(connection, options)
}
