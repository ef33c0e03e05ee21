//! Diagnostics: what is wrong, where, and how to mend it; shown with the source line and a caret.
//!
//! Every stage of the front end pushes into one [`Diagnostics`] and goes on, so that a user sees
//! all errors of a program at once. A diagnostic's `code` is stable (`syntax`, `preprocessor`,
//! `type`, ...) and made for filtering; its message is made for people.

mod render;

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

/// `1 argument`, `2 arguments`.
pub(crate) fn counted(n: usize, what: &str) -> String {
    let plural = if n == 1 { "" } else { "s" };
    format!("{n} {what}{plural}")
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
