//! Where program text lives: files, byte spans, line and column, macro expansions.
//!
//! A [`SourceMap`] owns every file read while one program is compiled. All positions are [`Span`]s:
//! half-open byte ranges of one file. A token that comes out of a macro carries the span of the
//! *outermost use* of that macro, so that spans always point into text that its author wrote at
//! that place; the map remembers which span is an expansion of what
//! ([`SourceMap::expansion_at`]), and diagnostics add it as a note.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Index of a file in a [`SourceMap`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct FileId(pub u32);

/// A half-open byte range `start..end` of one file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span {
    /// The file.
    pub file: FileId,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The range `start..end` of `file`.
    pub fn new(file: FileId, start: u32, end: u32) -> Self {
        Self { file, start, end }
    }

    /// The smallest span that covers both; `self` when they are in different files (a construct
    /// that straddles an `#include` is shown where it begins).
    #[must_use]
    pub fn to(self, end: Span) -> Span {
        if self.file != end.file {
            return self;
        }
        Span::new(self.file, self.start.min(end.start), self.end.max(end.end))
    }

    /// The empty span just behind this one.
    #[must_use]
    pub fn after(self) -> Span {
        Span::new(self.file, self.end, self.end)
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}..{}", self.file.0, self.start, self.end)
    }
}

/// A place as people name it. Lines and columns count from 1; columns count characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// File name, as given or as said by a `#line` directive.
    pub file: Arc<str>,
    /// Line, from 1; follows `#line`.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// One file of a program.
#[derive(Debug, Clone)]
pub struct SourceFile {
    /// Name shown to people, and the base of relative includes.
    pub name: Arc<str>,
    /// Its text.
    pub text: Arc<str>,
    /// True for the declarations of the language and the architecture that are built in.
    pub builtin: bool,
    line_starts: Vec<u32>,
    line_marks: Vec<LineMark>,
    /// Characters in front of each block of [`COLUMN_BLOCK`] bytes: columns are found in time that
    /// does not depend on the length of the line.
    characters: Vec<u32>,
}

const COLUMN_BLOCK: usize = 256;

/// Characters in front of each block of a text.
fn count_characters(text: &str) -> Vec<u32> {
    let mut before = 0;
    let blocks = text.as_bytes().chunks(COLUMN_BLOCK).map(|block| {
        let here = before;
        before += starts(block);
        here
    });
    blocks.collect()
}

/// Characters that begin in some bytes of a text.
fn starts(bytes: &[u8]) -> u32 {
    let starts = bytes.iter().filter(|b| **b & 0xc0 != 0x80).count();
    u32::try_from(starts).unwrap_or(u32::MAX)
}

/// From `at` on, lines are named as a `#line` directive says.
#[derive(Debug, Clone)]
struct LineMark {
    physical_line: u32,
    presumed_line: u32,
    file: Option<Arc<str>>,
}

impl SourceFile {
    /// Index (from 0) of the physical line that holds byte `offset`.
    pub fn line_index(&self, offset: u32) -> u32 {
        let after = self.line_starts.partition_point(|&s| s <= offset);
        u32::try_from(after.saturating_sub(1)).unwrap_or(u32::MAX)
    }

    /// Text of physical line `index` (from 0) without its line end; empty if there is none.
    pub fn line_text(&self, index: u32) -> &str {
        let i = index as usize;
        let Some(&start) = self.line_starts.get(i) else {
            return "";
        };
        let end = self
            .line_starts
            .get(i + 1)
            .map_or(self.text.len(), |&e| e as usize);
        self.text
            .get(start as usize..end)
            .unwrap_or("")
            .trim_end_matches(['\n', '\r'])
    }

    /// First byte of physical line `index` (from 0).
    pub fn line_start(&self, index: u32) -> u32 {
        self.line_starts
            .get(index as usize)
            .copied()
            .unwrap_or(self.len())
    }

    /// Characters in front of byte `offset`.
    fn characters_before(&self, offset: u32) -> u32 {
        let offset = (offset as usize).min(self.text.len());
        let block = offset / COLUMN_BLOCK;
        let rest = &self.text.as_bytes()[block * COLUMN_BLOCK..offset];
        match self.characters.get(block) {
            Some(before) => before + starts(rest),
            // Just behind a whole number of blocks.
            None => starts(self.text.as_bytes()),
        }
    }

    /// Length of the text in bytes.
    pub fn len(&self) -> u32 {
        u32::try_from(self.text.len()).unwrap_or(u32::MAX)
    }

    /// True if there is no text.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }
}

/// What a span that came out of a macro is the expansion of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expansion {
    /// Name of the macro.
    pub name: Arc<str>,
    /// Where the macro is defined; none for macros defined by options.
    pub defined_at: Option<Span>,
}

/// Why a file could not be taken into the map.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// Reading failed.
    #[error("cannot read {path}: {source}")]
    Read {
        /// The path.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// There are bytes in it that no text has.
    #[error("{name} is not a text file: byte {at} is zero")]
    NotText {
        /// The file's name.
        name: String,
        /// Where the first zero is.
        at: usize,
    },
    /// Spans are 32 bits wide.
    #[error("{name} has {bytes} bytes; a source file may have at most {max}", max = MAX_FILE_BYTES)]
    TooLarge {
        /// The file's name.
        name: String,
        /// Its size.
        bytes: usize,
    },
}

/// Largest source file accepted, in bytes. Far above any program, and low enough that no position
/// overflows 32 bits.
pub const MAX_FILE_BYTES: usize = 64 << 20;

/// All files of one program, and where macros were expanded in them.
#[derive(Debug, Clone, Default)]
pub struct SourceMap {
    files: Vec<SourceFile>,
    expansions: BTreeMap<Span, Expansion>,
}

impl SourceMap {
    /// An empty map.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds `text` under `name`. A byte order mark at its start is left out.
    ///
    /// # Errors
    /// [`SourceError::TooLarge`] above [`MAX_FILE_BYTES`].
    pub fn add(&mut self, name: &str, text: &str) -> Result<FileId, SourceError> {
        self.insert(name, text, false)
    }

    /// As [`SourceMap::add`], for text that is part of the compiler.
    pub(crate) fn insert(
        &mut self,
        name: &str,
        text: &str,
        builtin: bool,
    ) -> Result<FileId, SourceError> {
        let text = without_mark(text);
        if text.len() > MAX_FILE_BYTES {
            return Err(SourceError::TooLarge {
                name: name.into(),
                bytes: text.len(),
            });
        }
        let id = FileId(u32::try_from(self.files.len()).unwrap_or(u32::MAX));
        let newlines = text.bytes().enumerate().filter(|(_, b)| *b == b'\n');
        let starts = newlines.map(|(i, _)| u32::try_from(i + 1).unwrap_or(u32::MAX));
        self.files.push(SourceFile {
            name: name.into(),
            text: text.into(),
            builtin,
            line_starts: std::iter::once(0).chain(starts).collect(),
            line_marks: Vec::new(),
            characters: count_characters(text),
        });
        Ok(id)
    }

    /// The file `id`, if this map has it.
    pub fn file(&self, id: FileId) -> Option<&SourceFile> {
        self.files.get(id.0 as usize)
    }

    /// All files with their ids, in the order they were read.
    pub fn files(&self) -> impl Iterator<Item = (FileId, &SourceFile)> {
        self.files
            .iter()
            .enumerate()
            .map(|(i, f)| (FileId(u32::try_from(i).unwrap_or(0)), f))
    }

    /// The text under `span`; empty if the span is not of this map.
    pub fn text(&self, span: Span) -> &str {
        self.file(span.file)
            .and_then(|f| f.text.get(span.start as usize..span.end as usize))
            .unwrap_or("")
    }

    /// The empty span at a line and column, both from 1, of the file called `name`. `#line` is not
    /// looked at.
    #[must_use]
    pub fn place(&self, name: &str, line: u32, column: u32) -> Option<Span> {
        let (id, file) = self.files().find(|(_, f)| &*f.name == name)?;
        let index = line.checked_sub(1)?;
        let before = column.saturating_sub(1) as usize;
        let text = file.line_text(index);
        let bytes = text.char_indices().nth(before).map_or(text.len(), |c| c.0);
        let start = file.line_start(index) + u32::try_from(bytes).ok()?;
        Some(Span::new(id, start, start))
    }

    /// File, line and column of the first byte of `span`, as `#line` directives present them.
    pub fn location(&self, span: Span) -> Location {
        let Some(file) = self.file(span.file) else {
            return Location {
                file: "<unknown>".into(),
                line: 0,
                column: 0,
            };
        };
        let index = file.line_index(span.start);
        let line_start = file.line_start(index);
        let before = file.characters_before(span.start);
        let column = before.saturating_sub(file.characters_before(line_start)) + 1;
        let physical = index + 1;
        let behind = file
            .line_marks
            .partition_point(|m| m.physical_line <= physical);
        let mark = behind.checked_sub(1).map(|i| &file.line_marks[i]);
        match mark {
            None => Location {
                file: file.name.clone(),
                line: physical,
                column,
            },
            Some(m) => Location {
                file: m.file.clone().unwrap_or_else(|| file.name.clone()),
                line: m.presumed_line.saturating_add(physical - m.physical_line),
                column,
            },
        }
    }

    /// Records `#line presumed_line "file"`, effective from the line after the one at `span`.
    pub(crate) fn mark_line(&mut self, span: Span, presumed_line: u32, name: Option<Arc<str>>) {
        if let Some(f) = self.files.get_mut(span.file.0 as usize) {
            let physical_line = f.line_index(span.start) + 2;
            let file = name.or_else(|| f.line_marks.last().and_then(|m| m.file.clone()));
            f.line_marks.push(LineMark {
                physical_line,
                presumed_line,
                file,
            });
        }
    }

    /// Records that the text at `span` was replaced by the expansion of a macro.
    pub(crate) fn mark_expansion(&mut self, span: Span, expansion: Expansion) {
        self.expansions.entry(span).or_insert(expansion);
    }

    /// All uses of macros with what they are expansions of, in order.
    pub fn expansions(&self) -> impl Iterator<Item = (Span, &Expansion)> {
        self.expansions
            .iter()
            .map(|(span, expansion)| (*span, expansion))
    }

    /// The macro whose use stands exactly at `span`, if it is one.
    pub fn expansion_at(&self, span: Span) -> Option<&Expansion> {
        self.expansions.get(&span)
    }
}

/// The text without the byte order mark that some editors put before it.
pub(crate) fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations_count_from_one_and_in_characters() {
        let mut map = SourceMap::new();
        let f = map.add("a.p4", "x\nüy z\n").unwrap();
        let at = |s, e| map.location(Span::new(f, s, e)).to_string();
        assert_eq!(at(0, 1), "a.p4:1:1");
        assert_eq!(at(4, 5), "a.p4:2:2");
        assert_eq!(at(6, 7), "a.p4:2:4");
        assert_eq!(map.text(Span::new(f, 2, 5)), "üy");
        assert_eq!(
            map.text(Span::new(f, 3, 5)),
            "",
            "not on a character boundary"
        );
    }

    #[test]
    fn a_byte_order_mark_is_no_column() {
        let mut map = SourceMap::new();
        let f = map.add("a.p4", "\u{feff}x \u{feff}y").unwrap();
        assert_eq!(map.text(Span::new(f, 0, 1)), "x");
        assert_eq!(map.location(Span::new(f, 0, 1)).to_string(), "a.p4:1:1");
        assert_eq!(
            map.text(Span::new(f, 1, 6)),
            " \u{feff}y",
            "no mark elsewhere"
        );
    }

    #[test]
    fn line_directive_renames_what_follows() {
        let mut map = SourceMap::new();
        let f = map
            .add("a.p4", "one\n#line 100 \"b.p4\"\ntwo\nthree\n")
            .unwrap();
        map.mark_line(Span::new(f, 4, 5), 100, Some("b.p4".into()));
        assert_eq!(map.location(Span::new(f, 0, 1)).to_string(), "a.p4:1:1");
        assert_eq!(map.location(Span::new(f, 22, 23)).to_string(), "b.p4:100:2");
        assert_eq!(map.location(Span::new(f, 25, 26)).to_string(), "b.p4:101:1");
    }

    #[test]
    fn spans_join_within_a_file_only() {
        let a = Span::new(FileId(0), 4, 6);
        assert_eq!(
            a.to(Span::new(FileId(0), 9, 12)),
            Span::new(FileId(0), 4, 12)
        );
        assert_eq!(a.to(Span::new(FileId(1), 9, 12)), a);
    }
}
