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
use comfy_table::presets::NOTHING;
use comfy_table::{Cell, CellAlignment, ColumnConstraint, ContentArrangement, Table, Width};
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

/// Columns of the terminal that standard output is: `COLUMNS` where it is set, as shells let it
/// say. Nothing where standard output is a file or a pipe: lines are never broken there.
#[must_use]
pub fn width() -> Option<usize> {
    let output = io::stdout();
    if !output.is_terminal() {
        return None;
    }
    let told = std::env::var("COLUMNS").ok();
    let told = told.and_then(|columns| columns.parse().ok());
    let size = || rustix::termios::tcgetwinsize(&output).ok();
    let columns = told.or_else(|| size().map(|size| usize::from(size.ws_col)));
    columns.filter(|columns| *columns > 0)
}

/// The width of what a command writes to `path`, where `-` is standard output.
#[must_use]
pub fn width_at(path: &str) -> Option<usize> {
    (path == "-").then(width).flatten()
}

/// A table on standard output; columns named in `right` (by index) align right.
#[must_use]
pub fn table(header: &[&str], right: &[usize], rows: &[Vec<String>]) -> String {
    table_within(width(), header, right, rows)
}

/// A table for people and for `grep`: a header in capitals, then one row a line, without rules.
/// Only where `width` says how many columns there are, cells that do not fit are broken into lines.
#[must_use]
pub fn table_within(
    width: Option<usize>,
    header: &[&str],
    right: &[usize],
    rows: &[Vec<String>],
) -> String {
    let mut table = Table::new();
    table
        .load_style(NOTHING)
        .set_header(header.iter().map(|title| Cell::new(capitals(title))));
    for row in rows {
        table.add_row(row.iter().map(Cell::new));
    }
    let last = header.len().saturating_sub(1);
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, if index == last { 0 } else { GAP }));
        if right.contains(&index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    if let Some(width) = width {
        table
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_width(u16::try_from(width).unwrap_or(u16::MAX));
        for (index, least) in whole_words(width, header, rows) {
            if let Some(column) = table.column_mut(index) {
                let least = u16::try_from(least).unwrap_or(u16::MAX);
                column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(least)));
            }
        }
    }
    format!("{}\n", table.trim_fmt())
}

/// Columns in which no word need be broken, with the width that their longest word takes: those of
/// the shortest words first, while the others keep some room.
fn whole_words(width: usize, header: &[&str], rows: &[Vec<String>]) -> Vec<(usize, usize)> {
    let longest = |text: &str| {
        let words = text.split_whitespace().map(|word| word.chars().count());
        words.max().unwrap_or(0)
    };
    let of = |(index, title): (usize, &&str)| {
        let cells = rows.iter().filter_map(|row| row.get(index));
        let words = cells.map(|cell| longest(cell)).max().unwrap_or(0);
        (index, words.max(longest(title)) + usize::from(GAP))
    };
    let mut columns: Vec<(usize, usize)> = header.iter().enumerate().map(of).collect();
    columns.sort_by_key(|&(index, width)| (width, index));
    let mut left = width;
    let mut kept = Vec::new();
    for (at, &(index, needed)) in columns.iter().enumerate() {
        let others = columns.len() - at - 1;
        if needed + others * NARROW_COLUMN > left {
            break;
        }
        left -= needed;
        kept.push((index, needed));
    }
    kept
}

/// The room that a column has whose words are broken.
const NARROW_COLUMN: usize = 14;

/// Blanks between the columns of a table.
const GAP: u16 = 2;

/// Words of headers that are units, whose letters have a meaning.
const UNITS: [&str; 6] = ["b", "kpps", "ms", "ns", "s", "us"];

/// The title of a column in capitals, apart from units and words that have capitals themselves.
fn capitals(title: &str) -> String {
    let kept = |word: &str| word.chars().any(char::is_uppercase) || UNITS.contains(&word);
    let words = title.split(' ').map(|word| match kept(word) {
        true => word.to_owned(),
        false => word.to_uppercase(),
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Two columns of names and values, without rules.
#[must_use]
pub fn facts(rows: &[(&str, String)]) -> String {
    let longest = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let room = width().map(|width| width.saturating_sub(longest + 4));
    rows.iter().fold(String::new(), |text, (name, value)| {
        let lines = match room {
            Some(room) => broken(value, room),
            None => value.lines().map(str::to_owned).collect(),
        };
        let first = lines.first().map_or("", String::as_str);
        let text = text + &format!("  {name:longest$}  {first}\n");
        let rest = lines.iter().skip(1);
        rest.fold(text, |text, line| {
            text + &format!("  {:longest$}  {line}\n", "")
        })
    })
}

/// A sentence as lines that fit the terminal, each after so many blanks.
#[must_use]
pub fn paragraph(text: &str, indent: usize) -> String {
    let lines = match width() {
        Some(width) => broken(text, width.saturating_sub(indent)),
        None => vec![text.to_owned()],
    };
    let lines = lines.iter();
    lines.fold(String::new(), |text, line| {
        text + &format!("{:indent$}{line}\n", "")
    })
}

/// The fewest columns into which text is broken.
const NARROW: usize = 20;

/// Lines of words, each of at most `room` columns unless a word is longer.
fn broken(text: &str, room: usize) -> Vec<String> {
    let room = room.max(NARROW);
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        let mut begun = String::new();
        for word in line.split(' ') {
            let length = begun.chars().count() + 1 + word.chars().count();
            if !begun.is_empty() && length > room {
                lines.push(std::mem::take(&mut begun));
            } else if !begun.is_empty() {
                begun.push(' ');
            }
            begun.push_str(word);
        }
        lines.push(begun);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Vec<Vec<String>> {
        let row =
            |name: &str, count: &str, what: &str| [name, count, what].map(str::to_owned).to_vec();
        vec![
            row("leaf1", "12", "a row of several words that is long"),
            row("spine10", "7", "short"),
        ]
    }

    #[test]
    fn a_table_in_a_pipe_has_one_line_for_each_row() {
        let text = table_within(None, &["switch", "peak MiB", "what"], &[1], &rows());
        let expected = "SWITCH   PEAK MiB  WHAT\n\
                        leaf1          12  a row of several words that is long\n\
                        spine10         7  short\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn a_table_on_a_terminal_fits_it() {
        let text = table_within(Some(30), &["switch", "count", "what"], &[1], &rows());
        assert!(
            text.lines().all(|line| line.chars().count() <= 30),
            "{text}"
        );
        let words: Vec<&str> = text.split_whitespace().collect();
        for word in ["leaf1", "several", "spine10", "short"] {
            assert!(words.contains(&word), "{text}");
        }
    }

    #[test]
    fn long_text_is_broken_between_words() {
        let lines = broken("one two three four five six seven", 20);
        assert_eq!(lines, ["one two three four", "five six seven"]);
        assert_eq!(broken("", 20), Vec::<String>::new());
    }
}
