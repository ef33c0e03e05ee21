//! The terminal: where figures, tables, JSON and progress go. Nothing else in the project prints.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::fs;
use std::io::{self, IsTerminal, Read, Write};
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use comfy_table::{Cell, CellAlignment, Table};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use tempfile::NamedTempFile;

use super::fault::{Context, Fault};

/// How a command speaks: tables or JSON, how much.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terminal {
    /// One JSON object on standard output, nothing else there.
    pub(super) json: bool,
    /// No commentary and no progress.
    pub(super) quiet: bool,
}

impl Terminal {
    /// A line of commentary for people: standard output, or standard error beside JSON.
    pub(super) fn say(&self, line: impl std::fmt::Display) {
        if self.quiet {
            return;
        }
        if self.json {
            eprintln!("{line}");
        } else {
            emit(&format!("{line}\n"));
        }
    }

    /// What is wrong with the input; said even if quiet.
    #[allow(clippy::print_stderr)]
    pub(super) fn finding(&self, text: impl std::fmt::Display) {
        eprintln!("{text}");
    }

    /// A remark that never mixes with results (standard error).
    pub(super) fn note(&self, line: impl std::fmt::Display) {
        if !self.quiet {
            eprintln!("{line}");
        }
    }

    /// The command's result: the JSON object, or `text` for people.
    ///
    /// # Errors
    /// A value that JSON cannot express.
    pub(super) fn result(
        &self,
        value: &impl Serialize,
        text: impl FnOnce() -> String,
    ) -> Result<(), Fault> {
        if self.json {
            let json = serde_json::to_string_pretty(value).input("result as JSON")?;
            emit(&format!("{json}\n"));
        } else {
            let text = text();
            emit(text.trim_end_matches('\n'));
            if !text.is_empty() {
                emit("\n");
            }
        }
        Ok(())
    }

    /// A spinner for work that may take longer than a second or two; silent where nobody looks.
    #[must_use]
    pub(super) fn progress(&self, what: &str) -> ProgressBar {
        if self.quiet || !io::stderr().is_terminal() {
            return ProgressBar::hidden();
        }
        let bar = ProgressBar::new_spinner().with_message(what.to_owned());
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {elapsed}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(120));
        bar
    }

    /// A bar for work on `total` things; silent where nobody looks.
    #[must_use]
    pub(super) fn counter(&self, what: &str, total: usize) -> ProgressBar {
        if self.quiet || !io::stderr().is_terminal() {
            return ProgressBar::hidden();
        }
        let bar = ProgressBar::new(total as u64).with_message(what.to_owned());
        if let Ok(style) = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len} {eta}") {
            bar.set_style(style);
        }
        bar
    }
}

/// Writes to standard output; a reader that has gone away ends the output, not the program's good manners.
pub(super) fn emit(text: &str) {
    let _ = io::stdout().write_all(text.as_bytes());
}

/// Standard input, which can be read once only.
static STDIN: OnceLock<String> = OnceLock::new();

/// Reads a file, or standard input for `-`, as often as one likes.
///
/// # Errors
/// A file that cannot be read.
pub(super) fn read(path: &str) -> Result<String, Fault> {
    if path == "-" {
        if let Some(text) = STDIN.get() {
            return Ok(text.clone());
        }
        let mut text = String::new();
        io::stdin()
            .read_to_string(&mut text)
            .input("standard input")?;
        return Ok(STDIN.get_or_init(|| text).clone());
    }
    fs::read_to_string(path).input(path)
}

/// Writes a file whole or not at all (beside, then renamed); `-` is standard output.
///
/// # Errors
/// A place that cannot be written.
pub(super) fn write(path: &str, text: &str) -> Result<(), Fault> {
    if path == "-" {
        emit(text);
        return Ok(());
    }
    let folder = match Path::new(path).parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut file = NamedTempFile::new_in(folder).input(path)?;
    file.write_all(text.as_bytes()).input(path)?;
    make_readable(&file).input(path)?;
    file.persist(path).map_err(|e| e.error).input(path)?;
    Ok(())
}

/// Temporary files are private; what we leave behind has an ordinary file's permissions.
#[cfg(unix)]
fn make_readable(file: &NamedTempFile) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.as_file()
        .set_permissions(fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn make_readable(_: &NamedTempFile) -> io::Result<()> {
    Ok(())
}

/// A table for people; columns named in `right` (by index) align right.
#[must_use]
pub(super) fn table(header: &[&str], right: &[usize], rows: &[Vec<String>]) -> String {
    let mut table = Table::new();
    table
        .load_style(UTF8_HORIZONTAL_ONLY)
        .set_header(header.iter().map(|h| Cell::new(*h)));
    for row in rows {
        table.add_row(row.iter().map(Cell::new));
    }
    for index in right {
        if let Some(column) = table.column_mut(*index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    format!("{table}\n")
}

/// Two columns of names and values, without rules.
#[must_use]
pub(super) fn facts(rows: &[(&str, String)]) -> String {
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    rows.iter().fold(String::new(), |text, (name, value)| {
        text + &format!("  {name:width$}  {value}\n")
    })
}
