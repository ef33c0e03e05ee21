//! The scanner: characters to [`RawToken`]s, one file at a time, on demand.
//!
//! Lines that end in `\` are joined with the next before anything else (phase 2 of translation, as
//! in C), so that a word, an operator or a comment may be broken anywhere. Spans still point into
//! the text as it was written.

use std::sync::Arc;

use super::{Interner, MAX_PUNCT, Punct, RawKind, RawToken};
use crate::diag::{Diagnostic, Diagnostics};
use crate::source::{FileId, Span};

/// Scans one text. On demand, because a directive changes how the text behind it is read.
#[derive(Debug)]
pub struct Scanner {
    file: FileId,
    /// The text with its lines joined.
    text: Arc<str>,
    /// Where lines were joined.
    joins: Vec<Join>,
    pos: usize,
    /// No token has been seen on this line yet.
    bol: bool,
    /// The comments passed since they were last taken, if anybody wants them.
    comments: Option<Vec<Span>>,
    /// Which words behind a `#` make a line inside a string a directive; none does without it.
    directives: Option<fn(&str) -> bool>,
}

/// What ends a part of a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StringEnd {
    /// The closing quote, which is part of it.
    Quote,
    /// A line that is a directive.
    Directive,
    /// The end of the file.
    File,
}

/// Blanks within a line.
const BLANKS: &[u8] = b" \t\r\x0b\x0c";

/// Whether a line of a string is a directive: `#` and nothing else, a `known` word behind it, or
/// the `# 12 "file"` that a preprocessor leaves.
fn is_directive(line: &[u8], known: fn(&str) -> bool) -> bool {
    let Some(rest) = line.trim_ascii_start().strip_prefix(b"#") else {
        return false;
    };
    let blanks = rest.iter().take_while(|b| BLANKS.contains(b)).count();
    let rest = rest.get(blanks..).unwrap_or_default();
    let length = rest.iter().take_while(|b| is_word(**b)).count();
    let (word, behind) = rest.split_at(length);
    let next = behind.iter().find(|b| !BLANKS.contains(b));
    match word.first() {
        None => matches!(behind.first(), None | Some(b'\n')),
        Some(digit) if digit.is_ascii_digit() => next == Some(&b'"'),
        Some(_) => std::str::from_utf8(word).is_ok_and(known),
    }
}

fn is_word(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_'
}

/// Two lines became one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Join {
    /// The place in the joined text.
    at: usize,
    /// Bytes left out up to here.
    left_out: usize,
}

/// Length of what joins two lines (`\`, optional blanks, line end), if `text` begins with it.
fn splice(text: &[u8]) -> Option<usize> {
    let rest = text.strip_prefix(b"\\")?;
    let blanks = rest
        .iter()
        .take_while(|b| b" \t\r\x0b\x0c".contains(b))
        .count();
    (rest.get(blanks) == Some(&b'\n')).then_some(blanks + 2)
}

/// Joins the lines of a text.
fn join_lines(text: Arc<str>) -> (Arc<str>, Vec<Join>) {
    let mut joined = String::new();
    let mut joins: Vec<Join> = Vec::new();
    let (mut from, mut left_out) = (0, 0);
    for (at, _) in text.match_indices('\\') {
        let Some(length) = text.as_bytes().get(at..).and_then(splice) else {
            continue;
        };
        joined.push_str(text.get(from..at).unwrap_or_default());
        from = at + length;
        left_out += length;
        joins.push(Join {
            at: joined.len(),
            left_out,
        });
    }
    if joins.is_empty() {
        return (text, joins);
    }
    joined.push_str(text.get(from..).unwrap_or_default());
    (joined.into(), joins)
}

impl Scanner {
    /// Starts at the beginning of `text`, the text of `file`.
    pub fn new(file: FileId, text: Arc<str>) -> Self {
        let (text, joins) = join_lines(text);
        Self {
            file,
            text,
            joins,
            pos: 0,
            bol: true,
            directives: None,
            comments: None,
        }
    }

    /// Lines inside strings are directives, too, where `known` knows the word behind the `#`: a
    /// string is then read in parts, the first of them a [`RawKind::StringHead`], the others by
    /// [`Self::string_part`].
    #[must_use]
    pub fn with_directives_in_strings(mut self, known: fn(&str) -> bool) -> Self {
        self.directives = Some(known);
        self
    }

    /// Starts at the beginning of `text`, and keeps the places of comments for
    /// [`Scanner::take_comments`].
    pub fn keeping_comments(file: FileId, text: Arc<str>) -> Self {
        let mut scanner = Self::new(file, text);
        scanner.comments = Some(Vec::new());
        scanner
    }

    /// The places of the comments passed since the last call, in order; a line comment ends before
    /// the end of its line.
    pub fn take_comments(&mut self) -> Vec<Span> {
        self.comments
            .as_mut()
            .map(std::mem::take)
            .unwrap_or_default()
    }

    /// The file being scanned.
    pub fn file(&self) -> FileId {
        self.file
    }

    fn byte(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.pos + ahead).copied()
    }

    /// The place in the text as written of a place in the joined one: behind what was left out
    /// there, or before it.
    fn written(&self, at: usize, behind: bool) -> u32 {
        let before = |j: &Join| j.at < at || (behind && j.at == at);
        let count = self.joins.partition_point(before);
        let last = count.checked_sub(1).and_then(|i| self.joins.get(i));
        u32::try_from(at + last.map_or(0, |j| j.left_out)).unwrap_or(u32::MAX)
    }

    fn span_from(&self, start: usize) -> Span {
        let from = self.written(start, true);
        Span::new(self.file, from, self.written(self.pos, false).max(from))
    }

    /// An empty span at the current position.
    pub fn here(&self) -> Span {
        self.span_from(self.pos)
    }

    /// Skips blanks and comments. Line ends too unless `stop_at_newline`. Returns true if anything
    /// was skipped.
    fn skip_blank(&mut self, stop_at_newline: bool, diags: &mut Diagnostics) -> bool {
        let start = self.pos;
        loop {
            match (self.byte(0), self.byte(1)) {
                (Some(b' ' | b'\t' | b'\r' | 0x0b | 0x0c), _) => self.pos += 1,
                (Some(b'\n'), _) if !stop_at_newline => {
                    self.pos += 1;
                    self.bol = true;
                }
                (Some(b'/'), Some(b'/')) => self.skip_line_comment(),
                (Some(b'/'), Some(b'*')) => self.skip_block_comment(diags),
                _ => return self.pos > start,
            }
        }
    }

    fn skip_line_comment(&mut self) {
        let start = self.pos;
        while self.byte(0).is_some_and(|b| b != b'\n') {
            self.pos += 1;
        }
        self.keep_comment(start);
    }

    /// Records the comment from `start` to the current position.
    fn keep_comment(&mut self, start: usize) {
        let span = self.span_from(start);
        if let Some(comments) = &mut self.comments {
            comments.push(span);
        }
    }

    fn skip_block_comment(&mut self, diags: &mut Diagnostics) {
        let start = self.pos;
        self.pos += 2;
        let rest = self.text.get(self.pos..).unwrap_or("");
        if let Some(n) = rest.find("*/") {
            self.pos += n + 2;
            return self.keep_comment(start);
        }
        let opening = self.span_from(start);
        diags.push(
            Diagnostic::error("lexical", opening, "this comment is never closed")
                .with_help("write `*/` where it ends"),
        );
        self.pos = self.text.len();
    }

    /// The next token of the file, wherever its line.
    pub fn next(&mut self, names: &mut Interner, diags: &mut Diagnostics) -> RawToken {
        self.token(false, names, diags)
    }

    /// The next token of the current line; [`RawKind::End`] at its end (the line end stays).
    pub fn next_in_line(&mut self, names: &mut Interner, diags: &mut Diagnostics) -> RawToken {
        self.token(true, names, diags)
    }

    fn token(&mut self, in_line: bool, names: &mut Interner, diags: &mut Diagnostics) -> RawToken {
        let space = self.skip_blank(in_line, diags);
        let bol = std::mem::take(&mut self.bol);
        let start = self.pos;
        let kind = match self.byte(0) {
            None => RawKind::End,
            Some(b'\n') => RawKind::End, // only when in_line
            Some(b'"') => self.string(in_line),
            Some(b) if b.is_ascii_digit() => {
                self.skip_word();
                RawKind::Number
            }
            Some(b) if b.is_ascii_alphabetic() || b == b'_' => {
                self.skip_word();
                RawKind::Word
            }
            Some(_) => self.punct(),
        };
        if kind == RawKind::End {
            self.bol = bol;
        }
        RawToken {
            kind,
            text: names.get(self.text.get(start..self.pos).unwrap_or("")),
            span: self.span_from(start),
            bol,
            space,
            joint: self.byte(0) == Some(b'>'),
            painted: false,
        }
    }

    fn skip_word(&mut self) {
        while self.byte(0).is_some_and(is_word) {
            self.pos += 1;
        }
    }

    /// Where the part of a string that goes on at `from` ends, and with what.
    fn string_end(&self, from: usize) -> (usize, StringEnd) {
        let bytes = self.text.as_bytes();
        let mut i = from;
        let mut begins_line = from == 0 || bytes.get(from - 1) == Some(&b'\n');
        while let Some(&b) = bytes.get(i) {
            let line = bytes.get(i..).unwrap_or_default();
            if begins_line
                && self
                    .directives
                    .is_some_and(|known| is_directive(line, known))
            {
                return (i, StringEnd::Directive);
            }
            begins_line = b == b'\n';
            match b {
                b'"' => return (i + 1, StringEnd::Quote),
                b'\\' => i += 2,
                _ => i += 1,
            }
        }
        (bytes.len(), StringEnd::File)
    }

    /// Reads on in a string: appends what stands there up to the closing quote, or up to the next
    /// directive.
    pub fn string_part(&mut self, text: &mut String) -> StringEnd {
        let (at, end) = self.string_end(self.pos);
        text.push_str(self.text.get(self.pos..at).unwrap_or_default());
        self.pos = at;
        self.bol = false;
        end
    }

    /// Passes the `#` of a directive inside a string, and says where it stands.
    pub fn pass_hash(&mut self) -> Span {
        let rest = self.text.get(self.pos..).unwrap_or_default();
        self.pos += rest.find('#').map_or(0, |at| at + 1);
        self.bol = false;
        self.span_from(self.pos.saturating_sub(1))
    }

    /// Where the scanner stands, for [`Self::lines_since`].
    pub fn position(&self) -> usize {
        self.pos
    }

    /// Line ends between a former position and this one.
    pub fn lines_since(&self, position: usize) -> usize {
        let passed = self.text.get(position..self.pos).unwrap_or_default();
        passed.bytes().filter(|b| *b == b'\n').count()
    }

    /// A string. It may span lines, except in a directive; without a closing quote it is an
    /// [`RawKind::OpenString`] up to the end of its line.
    fn string(&mut self, in_line: bool) -> RawKind {
        let bytes = self.text.as_bytes();
        if !in_line && let (at, StringEnd::Directive) = self.string_end(self.pos + 1) {
            let rest = bytes.get(at..).unwrap_or_default();
            if rest.contains(&b'"') {
                self.pos = at;
                return RawKind::StringHead;
            }
        }
        let mut i = self.pos + 1;
        let mut line_end = None;
        while let Some(&b) = bytes.get(i) {
            match b {
                b'"' => {
                    self.pos = i + 1;
                    return RawKind::String;
                }
                b'\\' => i += 1,
                b'\n' => {
                    line_end = line_end.or(Some(i));
                    if in_line {
                        break;
                    }
                }
                _ => {}
            }
            i += 1;
        }
        self.pos = line_end.unwrap_or(bytes.len());
        RawKind::OpenString
    }

    fn punct(&mut self) -> RawKind {
        for n in (1..=MAX_PUNCT).rev() {
            if let Some(p) = self
                .text
                .get(self.pos..self.pos + n)
                .and_then(Punct::from_text)
            {
                self.pos += n;
                return RawKind::Punct(p);
            }
        }
        let width = self
            .text
            .get(self.pos..)
            .and_then(|t| t.chars().next())
            .map_or(1, char::len_utf8);
        self.pos += width;
        RawKind::Other
    }

    /// Goes to the end of the current line, comments included.
    pub fn skip_line(&mut self, names: &mut Interner, diags: &mut Diagnostics) {
        while self.next_in_line(names, diags).kind != RawKind::End {}
    }

    /// In text that conditions exclude: goes to the next `#` that begins a line and passes it.
    /// False at the end of the file. Such text need not consist of tokens.
    pub fn skip_to_directive(&mut self, diags: &mut Diagnostics) -> bool {
        loop {
            self.skip_blank(false, diags);
            match self.byte(0) {
                None => return false,
                Some(b'#') if self.bol => {
                    self.pos += 1;
                    self.bol = false;
                    return true;
                }
                Some(b'"') => {
                    self.string(true);
                }
                Some(_) => self.pos += 1,
            }
            self.bol = false;
            while !self.text.is_char_boundary(self.pos) {
                self.pos += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spell(text: &str) -> Vec<String> {
        let (mut names, mut diags) = (Interner::default(), Diagnostics::new());
        let mut s = Scanner::new(FileId(0), text.into());
        let mut out = Vec::new();
        loop {
            let t = s.next(&mut names, &mut diags);
            if t.kind == RawKind::End {
                return out;
            }
            out.push(t.text.to_string());
        }
    }

    #[test]
    fn takes_the_longest_token() {
        assert_eq!(
            spell("a|+|=b &&& c..d ... 0..7 {#} x[3+:2] y>>=1"),
            [
                "a", "|+|=", "b", "&&&", "c", "..", "d", "...", "0", "..", "7", "{#}", "x", "[",
                "3", "+:", "2", "]", "y", ">>=", "1"
            ]
        );
    }

    #[test]
    fn comments_splices_and_strings() {
        assert_eq!(
            spell("a/*x*/b//c\\\nd\ne \"f\\\"//\" \\\n g é"),
            ["a", "b", "e", "\"f\\\"//\"", "g", "é"]
        );
        assert_eq!(spell("x \"open\ny"), ["x", "\"open", "y"]);
    }

    #[test]
    fn lines_are_joined_before_anything_else() {
        assert_eq!(
            spell(
                "wo\\\nrd 1\\ \t\r\n2 &\\\n&\\\n& \"a\\\nb\" /\\\n* x *\\\n/ y /\\\n/ z \\\nz\n\\\n\\\nend \\x"
            ),
            ["word", "12", "&&&", "\"ab\"", "y", "end", "\\", "x"]
        );
        let (mut names, mut diags) = (Interner::default(), Diagnostics::new());
        let mut s = Scanner::new(FileId(0), "\\\na\\\n\\\nb \\\n c\\\n".into());
        let mut next = || s.next(&mut names, &mut diags).span;
        assert_eq!(
            [next(), next()].map(|s| (s.start, s.end)),
            [(2, 8), (12, 13)]
        );
        let end = next();
        assert_eq!((end.start, end.end), (15, 15));
    }

    #[test]
    fn excluded_text_is_only_searched_for_directives() {
        let mut diags = Diagnostics::new();
        let mut s = Scanner::new(FileId(0), "don't \"\n/*\n#else*/ no\nü # no\n # yes".into());
        assert!(s.skip_to_directive(&mut diags));
        assert_eq!(s.text.get(s.pos..), Some(" yes"));
        assert!(!s.skip_to_directive(&mut diags));
        assert!(!diags.has_errors());
    }
}
