//! Diagnostics: what is wrong, where, and how to mend it; shown with the source line and a caret.
//!
//! Every stage of the front end pushes into one [`Diagnostics`] and goes on, so that a user sees
//! all errors of a program at once. A diagnostic's `code` is stable (`syntax`, `preprocessor`,
//! `type`, ...) and made for filtering; its message is made for people.

use std::fmt::Write as _;

use serde::Serialize;

use crate::source::{SourceMap, Span};

/// How bad it is. Only [`Severity::Error`] stops compilation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Additional information.
    Note,
    /// Suspicious, but has a meaning.
    Warning,
    /// The program has no meaning.
    Error,
}

impl Severity {
    fn word(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// A second place that explains the first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// The place.
    pub span: Span,
    /// What it has to do with the problem.
    pub message: String,
}

/// One finding about a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// Stable class of the finding, e.g. `syntax`.
    pub code: &'static str,
    /// What is wrong, in one sentence.
    pub message: String,
    /// Where; none if the finding is about no place (a missing file named by an option).
    pub span: Option<Span>,
    /// Text beside the caret; may be empty.
    pub label: String,
    /// Related places.
    pub labels: Vec<Label>,
    /// More to know, without a place.
    pub notes: Vec<String>,
    /// How to mend it.
    pub help: Option<String>,
}

impl Diagnostic {
    /// A finding at `span`.
    pub fn new(
        severity: Severity,
        code: &'static str,
        span: impl Into<Option<Span>>,
        message: impl Into<String>,
    ) -> Self {
        Self {
            severity,
            code,
            message: message.into(),
            span: span.into(),
            label: String::new(),
            labels: Vec::new(),
            notes: Vec::new(),
            help: None,
        }
    }

    /// An error at `span`.
    pub fn error(
        code: &'static str,
        span: impl Into<Option<Span>>,
        message: impl Into<String>,
    ) -> Self {
        Self::new(Severity::Error, code, span, message)
    }

    /// A warning at `span`.
    pub fn warning(
        code: &'static str,
        span: impl Into<Option<Span>>,
        message: impl Into<String>,
    ) -> Self {
        Self::new(Severity::Warning, code, span, message)
    }

    /// With `text` beside the caret.
    #[must_use]
    pub fn with_label(mut self, text: impl Into<String>) -> Self {
        self.label = text.into();
        self
    }

    /// With a related place.
    #[must_use]
    pub fn with_related(mut self, span: Span, message: impl Into<String>) -> Self {
        self.labels.push(Label {
            span,
            message: message.into(),
        });
        self
    }

    /// With a note.
    #[must_use]
    pub fn with_note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// With advice.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// True for [`Severity::Error`].
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// The finding as text, in the manner of rustc, ending with a line end. Without colours.
    pub fn render(&self, map: &SourceMap) -> String {
        let mut out = String::new();
        let _ = writeln!(
            out,
            "{}[{}]: {}",
            self.severity.word(),
            self.code,
            self.message
        );
        let gutter = self.gutter_width(map);
        if let Some(span) = self.span {
            frame(&mut out, map, span, &self.label, '^', gutter, "-->");
            if let Some(e) = map.expansion_at(span) {
                let _ = writeln!(
                    out,
                    "{:gutter$} = note: in the expansion of `{}`",
                    "", e.name
                );
                if let Some(def) = e.defined_at {
                    frame(&mut out, map, def, "macro defined here", '-', gutter, ":::");
                }
            }
        }
        for l in &self.labels {
            frame(&mut out, map, l.span, &l.message, '-', gutter, ":::");
        }
        for n in &self.notes {
            let _ = writeln!(out, "{:gutter$} = note: {n}", "");
        }
        if let Some(h) = &self.help {
            let _ = writeln!(out, "{:gutter$} = help: {h}", "");
        }
        out
    }

    /// The finding as data.
    pub fn record(&self, map: &SourceMap) -> Record {
        let place = |span: Span, message: &str| {
            let at = map.location(span);
            Place {
                file: at.file.to_string(),
                line: at.line,
                column: at.column,
                length: span.end.saturating_sub(span.start),
                message: message.to_owned(),
            }
        };
        Record {
            severity: self.severity.word(),
            code: self.code,
            message: self.message.clone(),
            place: self.span.map(|s| place(s, &self.label)),
            related: self
                .labels
                .iter()
                .map(|l| place(l.span, &l.message))
                .collect(),
            notes: self.notes.clone(),
            help: self.help.clone(),
        }
    }

    fn gutter_width(&self, map: &SourceMap) -> usize {
        let own = self.span.into_iter();
        let def = own.clone().filter_map(|s| map.expansion_at(s)?.defined_at);
        let spans = own.chain(def).chain(self.labels.iter().map(|l| l.span));
        spans
            .map(|s| map.location(s).line.to_string().len())
            .max()
            .unwrap_or(1)
    }
}

/// A [`Diagnostic`] as data: `p4 check --json` prints it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Record {
    /// `error`, `warning` or `note`.
    pub severity: &'static str,
    /// The stable class.
    pub code: &'static str,
    /// What is wrong.
    pub message: String,
    /// Where.
    pub place: Option<Place>,
    /// Other places that explain it.
    pub related: Vec<Place>,
    /// More to know.
    pub notes: Vec<String>,
    /// How to mend it.
    pub help: Option<String>,
}

/// A piece of source text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Place {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
    /// Bytes.
    pub length: u32,
    /// What this place has to do with the finding; may be empty.
    pub message: String,
}

/// Bytes of the longest name that is compared with others.
const MAX_SUGGESTED: usize = 64;
/// Candidates looked at.
const MAX_CANDIDATES: usize = 1000;

/// The candidate nearest to a misspelt name, if it is near.
pub(crate) fn closest<'n>(
    name: &str,
    candidates: impl Iterator<Item = &'n str>,
) -> Option<&'n str> {
    if name.len() > MAX_SUGGESTED {
        return None;
    }
    let limit = name.chars().count() / 3;
    candidates
        .filter(|c| c.len().abs_diff(name.len()) <= 4 * limit)
        .take(MAX_CANDIDATES)
        .map(|c| (edit_distance(name, c), c))
        .filter(|(d, _)| *d <= limit)
        .min()
        .map(|(_, c)| c)
}

fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let cost = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = cost.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

/// `1 argument`, `2 arguments`.
pub(crate) fn counted(n: usize, what: &str) -> String {
    let plural = if n == 1 { "" } else { "s" };
    format!("{n} {what}{plural}")
}

/// Characters of a source line shown at most.
const MAX_SHOWN: usize = 160;
/// Characters shown before the mark where a line is longer.
const SHOWN_BEFORE: usize = 60;

/// A source line with a marked part, cut around the mark where it is long: the line, the white space up to the mark,
/// and the mark's length.
fn window(line: &str, from: usize, to: usize) -> (String, String, usize) {
    let before = line.get(..from.min(line.len())).unwrap_or("");
    let marked = line.get(from..to).map_or(1, |s| s.chars().count()).max(1);
    let blank = |text: &str| -> String {
        let space = |c| if c == '\t' { '\t' } else { ' ' };
        text.chars().map(space).collect()
    };
    if line.chars().count() <= MAX_SHOWN {
        return (line.to_owned(), blank(before), marked);
    }
    let skipped = before.chars().count().saturating_sub(SHOWN_BEFORE);
    let head = if skipped > 0 { "..." } else { "" };
    let mut shown = head.to_owned();
    shown.extend(line.chars().skip(skipped).take(MAX_SHOWN));
    if line.chars().count() > skipped + MAX_SHOWN {
        shown.push_str("...");
    }
    let kept: String = before.chars().skip(skipped).collect();
    let left = MAX_SHOWN - kept.chars().count();
    (shown, blank(head) + &blank(&kept), marked.min(left))
}

/// One quoted source line with its place and marks.
fn frame(
    out: &mut String,
    map: &SourceMap,
    span: Span,
    label: &str,
    mark: char,
    gutter: usize,
    arrow: &str,
) {
    let at = map.location(span);
    let _ = writeln!(out, "{:gutter$}{arrow} {at}", "");
    let Some(file) = map.file(span.file) else {
        return;
    };
    let index = file.line_index(span.start);
    let line = file.line_text(index);
    let from = (span.start - file.line_start(index)) as usize;
    let to = (span.end.saturating_sub(file.line_start(index)) as usize).min(line.len());
    let (line, pad, width) = window(line, from, to);
    let marks: String = std::iter::repeat_n(mark, width).collect();
    let space = if label.is_empty() { "" } else { " " };
    let _ = writeln!(out, "{:gutter$} |", "");
    let _ = writeln!(out, "{:>gutter$} | {line}", at.line);
    let _ = writeln!(out, "{:gutter$} | {pad}{marks}{space}{label}", "");
}

/// Collects findings up to a limit.
#[derive(Debug, Clone, Default)]
pub struct Diagnostics {
    items: Vec<Diagnostic>,
    errors: usize,
    dropped: usize,
}

/// Findings kept; further ones are counted only, so that a hopeless input cannot exhaust memory.
pub const MAX_DIAGNOSTICS: usize = 500;

impl Diagnostics {
    /// An empty collection.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a finding. An identical repetition (same place, same message) is kept once.
    pub fn push(&mut self, d: Diagnostic) {
        if self.items.last() == Some(&d) {
            return;
        }
        self.errors += usize::from(d.is_error());
        if self.items.len() < MAX_DIAGNOSTICS {
            self.items.push(d);
        } else {
            self.dropped += 1;
        }
    }

    /// True if an error was found.
    pub fn has_errors(&self) -> bool {
        self.errors > 0
    }

    /// Errors found, including those beyond [`MAX_DIAGNOSTICS`].
    pub fn error_count(&self) -> usize {
        self.errors
    }

    /// True once no further finding is kept; a stage that only looks for more may stop.
    pub fn is_full(&self) -> bool {
        self.items.len() >= MAX_DIAGNOSTICS
    }

    /// The findings, in the order they were made.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.items.iter()
    }

    /// The findings as a vector.
    pub fn into_vec(self) -> Vec<Diagnostic> {
        self.items
    }

    /// Adds all of `other`.
    pub fn extend(&mut self, other: Diagnostics) {
        self.dropped += other.dropped;
        for d in other.items {
            self.push(d);
        }
    }

    /// All findings as text, separated by empty lines, with a last line that counts the errors.
    pub fn render(&self, map: &SourceMap) -> String {
        let mut out: String = self
            .items
            .iter()
            .map(|d| d.render(map) + "\n")
            .collect::<Vec<_>>()
            .concat();
        if self.dropped > 0 {
            let _ = writeln!(out, "... and {} more findings", self.dropped);
        }
        match self.errors {
            0 => {}
            1 => out.push_str("1 error\n"),
            n => {
                let _ = writeln!(out, "{n} errors");
            }
        }
        out
    }
}

impl<'a> IntoIterator for &'a Diagnostics {
    type Item = &'a Diagnostic;
    type IntoIter = std::slice::Iter<'a, Diagnostic>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn renders_line_caret_related_place_and_help() {
        let mut map = SourceMap::new();
        let f = map.add("t.p4", "header h {\n\tbit<8> x\n}\n").unwrap();
        let d = Diagnostic::error("syntax", Span::new(f, 19, 20), "expected `;`")
            .with_label("after this field")
            .with_related(Span::new(f, 0, 6), "in this header")
            .with_help("write `;`");
        let want = "error[syntax]: expected `;`\n --> t.p4:2:9\n  |\n2 | \tbit<8> x\n  | \t       ^ \
                    after this field\n ::: t.p4:1:1\n  |\n1 | header h {\n  | ------ in this header\n  \
                    = help: write `;`\n";
        assert_eq!(d.render(&map), want);
    }

    #[test]
    fn long_lines_are_cut_around_the_mark() {
        let mut map = SourceMap::new();
        let text = format!("{}X{}", "a".repeat(1000), "b".repeat(1000));
        let f = map.add("t.p4", &text).unwrap();
        let shown = Diagnostic::error("name", Span::new(f, 1000, 1001), "here").render(&map);
        let line = shown.lines().nth(3).unwrap();
        let mark = shown.lines().nth(4).unwrap();
        assert!(line.len() < MAX_SHOWN + 20, "{shown}");
        assert_eq!(line.find('X'), mark.find('^'), "{shown}");
        let all = Diagnostic::error("name", Span::new(f, 0, 2001), "here").render(&map);
        assert!(all.lines().all(|l| l.len() < MAX_SHOWN + 20), "{all}");
    }

    #[test]
    fn a_flood_is_counted_and_bounded() {
        let mut all = Diagnostics::new();
        for i in 0..MAX_DIAGNOSTICS + 7 {
            all.push(Diagnostic::error("syntax", None, format!("finding {i}")));
        }
        assert_eq!(all.iter().count(), MAX_DIAGNOSTICS);
        assert_eq!(all.error_count(), MAX_DIAGNOSTICS + 7);
        assert!(
            all.render(&SourceMap::new())
                .contains("... and 7 more findings\n507 errors\n")
        );
    }
}
