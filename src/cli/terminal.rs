//! The terminal: where figures, tables, JSON and progress go. Nothing else in the project prints.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs;
use std::io::{self, ErrorKind, IsTerminal, Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

use anstream::{AutoStream, ColorChoice};
use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use comfy_table::{Cell, CellAlignment, Table};
use files::FileError;
use indicatif::{ProgressBar, ProgressStyle};
use quantities::Progress;
use serde::Serialize;

use super::fault::{Context, Fault, Status, complain};

/// How a command speaks: tables or JSON, how much.
#[derive(Clone, Copy, Debug)]
pub struct Terminal {
    /// One JSON object on standard output, nothing else there.
    pub json: bool,
    /// No commentary and no progress.
    pub quiet: bool,
}

impl Terminal {
    /// A line of commentary for people: standard output, or standard error beside JSON.
    pub fn say(&self, line: impl Display) {
        if self.quiet {
            return;
        }
        if self.json {
            complain(line);
        } else {
            emit(&format!("{line}\n"));
        }
    }

    /// What is wrong with the input; said even if quiet.
    pub fn finding(&self, text: impl Display) {
        complain(text);
    }

    /// A remark that never mixes with results (standard error).
    pub fn note(&self, line: impl Display) {
        if !self.quiet {
            complain(line);
        }
    }

    /// The command's result: the JSON object, or `text` for people.
    ///
    /// # Errors
    /// A value that JSON cannot express.
    pub fn result(
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

    /// What a command says about a thing that it has made or proven: the JSON object, or `text`
    /// unless quiet.
    ///
    /// # Errors
    /// A value that JSON cannot express.
    pub fn summary(
        &self,
        value: &impl Serialize,
        text: impl FnOnce() -> String,
    ) -> Result<(), Fault> {
        if self.quiet && !self.json {
            return Ok(());
        }
        self.result(value, text)
    }

    /// Text that is a command's whole result: as it is, or as the one field of a JSON object.
    ///
    /// # Errors
    /// None today; as [`Terminal::result`].
    pub fn text(&self, name: &str, text: &str) -> Result<(), Fault> {
        if self.json {
            return self.result(&BTreeMap::from([(name, text)]), String::new);
        }
        emit(text);
        Ok(())
    }

    /// A spinner for work that may take longer than a second or two; silent where nobody looks.
    #[must_use]
    pub fn progress(&self, what: &str) -> ProgressBar {
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

    /// A bar for work that tells how much of it is done, while the returned value lives; silent
    /// where nobody looks.
    #[must_use]
    pub fn watch(&self, what: &str) -> Watch {
        let progress = Arc::<Progress>::default();
        if self.quiet {
            return Watch {
                bar: ProgressBar::hidden(),
                progress,
                ticker: None,
            };
        }
        if !io::stderr().is_terminal() {
            return Watch::of_lines(what, progress);
        }
        let bar = ProgressBar::new(PERMILLE).with_message(what.to_owned());
        let style = "{msg}{prefix} {wide_bar} {percent} % {elapsed}";
        if let Ok(style) = ProgressStyle::with_template(style) {
            bar.set_style(style);
        }
        let (stop, stopped) = mpsc::channel();
        let (shown, told) = (bar.clone(), Arc::clone(&progress));
        let ticker = std::thread::spawn(move || {
            while stopped.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                let done = told.fraction().unwrap_or(0.0);
                shown.set_prefix(pass(&told));
                shown.set_position((done * PERMILLE as f64) as u64);
            }
        });
        Watch {
            bar,
            progress,
            ticker: Some((stop, ticker)),
        }
    }

    /// A bar for work on `total` things; silent where nobody looks.
    #[must_use]
    pub fn counter(&self, what: &str, total: usize) -> ProgressBar {
        if self.quiet || !io::stderr().is_terminal() {
            return ProgressBar::hidden();
        }
        let bar = ProgressBar::new(total as u64).with_message(what.to_owned());
        if let Ok(style) =
            ProgressStyle::with_template("{msg} {wide_bar} {percent}% {pos}/{len} {eta}")
        {
            bar.set_style(style);
        }
        bar
    }
}

/// Steps of a bar that shows a part of the whole.
const PERMILLE: u64 = 1000;

/// How often a bar is looked after.
const TICK: Duration = Duration::from_millis(120);

/// How often a line tells of progress where there is no terminal.
const LINE: Duration = Duration::from_secs(30);

/// A bar on the terminal that follows a computation's [`Progress`], until this is dropped.
pub struct Watch {
    bar: ProgressBar,
    progress: Arc<Progress>,
    ticker: Option<(mpsc::Sender<()>, JoinHandle<()>)>,
}

/// Which pass of the present work runs, from its second: without it the percentage seems to go
/// back.
fn pass(progress: &Progress) -> String {
    match progress.passes() {
        0 | 1 => String::new(),
        number => format!(", pass {number}"),
    }
}

impl Watch {
    /// A line now and then, for a log: work that is over soon says nothing.
    fn of_lines(what: &str, progress: Arc<Progress>) -> Self {
        let bar = ProgressBar::hidden().with_message(what.to_owned());
        let (stop, stopped) = mpsc::channel();
        let (shown, told) = (bar.clone(), Arc::clone(&progress));
        let ticker = std::thread::spawn(move || {
            let mut seconds = 0;
            while stopped.recv_timeout(LINE) == Err(RecvTimeoutError::Timeout) {
                seconds += LINE.as_secs();
                let done = match told.fraction() {
                    Some(done) => format!("{:.0} %", done * 100.0),
                    None => "under way".to_owned(),
                };
                complain(format_args!(
                    "{}{}: {done} after {seconds} s",
                    shown.message(),
                    pass(&told)
                ));
            }
        });
        Self {
            bar,
            progress,
            ticker: Some((stop, ticker)),
        }
    }

    /// Where the computation tells how much is done.
    pub fn progress(&self) -> &Arc<Progress> {
        &self.progress
    }

    /// Says what is done now.
    pub fn say(&self, what: &'static str) {
        self.progress.begin_work();
        self.bar.set_message(what);
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some((stop, ticker)) = self.ticker.take() {
            drop(stop);
            // It only draws: how it ended changes nothing.
            let _ = ticker.join();
        }
        self.bar.finish_and_clear();
    }
}

/// The first error of standard output: everything after it may be lost too.
static LOST: OnceLock<io::Error> = OnceLock::new();

/// Whether anything was printed on standard output.
static EMITTED: AtomicBool = AtomicBool::new(false);

/// Whether this command has printed anything on standard output.
pub fn has_emitted() -> bool {
    EMITTED.load(Ordering::Relaxed)
}

/// Writes to standard output, to the end. What could not be written is told by [`lost`] when the
/// command ends.
pub fn emit(text: &str) {
    EMITTED.store(true, Ordering::Relaxed);
    let mut output = io::stdout().lock();
    let written = output.write_all(text.as_bytes());
    if let Err(error) = written.and_then(|()| output.flush()) {
        // The first error is the one to tell.
        let _ = LOST.set(error);
    }
}

/// Whether colours are wanted on standard output.
pub fn colours() -> bool {
    AutoStream::choice(&io::stdout()) != ColorChoice::Never
}

/// Whether what was to stand on standard output does.
///
/// # Errors
/// Output that was lost, with status 3. A reader who has gone away has lost nothing: that is no
/// error.
pub fn lost() -> Result<(), Fault> {
    match LOST.get() {
        Some(error) if error.kind() != ErrorKind::BrokenPipe => Err(Fault::with(
            Status::Target,
            format!("standard output: {error}: what this command printed is incomplete"),
        )),
        _ => Ok(()),
    }
}

/// Standard input, which can be read once only.
static STDIN: OnceLock<String> = OnceLock::new();

/// Reads a file, or standard input for `-`, as often as one likes.
///
/// # Errors
/// A file that cannot be read.
pub fn read(path: &str) -> Result<String, Fault> {
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

/// Writes a file as [`files`] does; `-` is standard output.
///
/// # Errors
/// A place that cannot be written.
pub fn write(path: &str, text: &str) -> Result<(), Fault> {
    if path == "-" {
        emit(text);
        return Ok(());
    }
    files::write(Path::new(path), text.as_bytes()).map_err(unwritten)
}

/// A folder for files of fixed names: new, empty, or made by the same command before.
///
/// # Errors
/// A folder that holds anything else.
pub fn claim(folder: &str, kind: &'static str) -> Result<(), Fault> {
    files::claim(Path::new(folder), kind).map_err(unwritten)
}

/// A place that was named wrong is wrong input (2); a disk that is full cannot (3).
pub fn unwritten(error: FileError) -> Fault {
    let full = |source: &io::Error| {
        matches!(
            source.kind(),
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge
        )
    };
    match &error {
        FileError::Io { source, .. } if full(source) => Fault::with(Status::Target, error),
        _ => Fault::input(error),
    }
}

/// A table for people; columns named in `right` (by index) align right.
#[must_use]
pub fn table(header: &[&str], right: &[usize], rows: &[Vec<String>]) -> String {
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
pub fn facts(rows: &[(&str, String)]) -> String {
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    rows.iter().fold(String::new(), |text, (name, value)| {
        text + &format!("  {name:width$}  {value}\n")
    })
}
