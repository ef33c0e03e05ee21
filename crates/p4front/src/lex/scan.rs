//! The scanner: characters to [`RawToken`]s, one file at a time, on demand.

use std::sync::Arc;

use super::{Interner, MAX_PUNCT, Punct, RawKind, RawToken};
use crate::diag::{Diagnostic, Diagnostics};
use crate::source::{FileId, Span};

/// Scans one text. On demand, because a directive changes how the text behind it is read.
#[derive(Debug)]
pub struct Scanner {
    file: FileId,
    text: Arc<str>,
    pos: usize,
    /// No token has been seen on this line yet.
    bol: bool,
}

impl Scanner {
    /// Starts at the beginning of `text`, the text of `file`.
    pub fn new(file: FileId, text: Arc<str>) -> Self {
        Self {
            file,
            text,
            pos: 0,
            bol: true,
        }
    }

    /// The file being scanned.
    pub fn file(&self) -> FileId {
        self.file
    }

    fn byte(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.pos + ahead).copied()
    }

    fn span_from(&self, start: usize) -> Span {
        let clip = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Span::new(self.file, clip(start), clip(self.pos))
    }

    /// An empty span at the current position.
    pub fn here(&self) -> Span {
        self.span_from(self.pos)
    }

    /// Length of a line splice (`\`, optional blanks, line end) at `pos + ahead`; 0 if none.
    fn splice(&self, ahead: usize) -> usize {
        if self.byte(ahead) != Some(b'\\') {
            return 0;
        }
        let mut n = 1;
        while matches!(self.byte(ahead + n), Some(b' ' | b'\t' | b'\r')) {
            n += 1;
        }
        if self.byte(ahead + n) == Some(b'\n') {
            n + 1
        } else {
            0
        }
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
                (Some(b'\\'), _) if self.splice(0) > 0 => self.pos += self.splice(0),
                _ => return self.pos > start,
            }
        }
    }

    fn skip_line_comment(&mut self) {
        while let Some(b) = self.byte(0) {
            match b {
                b'\n' => return,
                b'\\' if self.splice(0) > 0 => self.pos += self.splice(0),
                _ => self.pos += 1,
            }
        }
    }

    fn skip_block_comment(&mut self, diags: &mut Diagnostics) {
        let start = self.pos;
        self.pos += 2;
        let rest = self.text.get(self.pos..).unwrap_or("");
        if let Some(n) = rest.find("*/") {
            self.pos += n + 2;
            return;
        }
        let opening = Span::new(self.file, self.span_from(start).start, self.here().start);
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
        while self
            .byte(0)
            .is_some_and(|b| b.is_ascii_alphanumeric() || b == b'_')
        {
            self.pos += 1;
        }
    }

    /// A string. It may span lines, except in a directive; without a closing quote it is an
    /// [`RawKind::OpenString`] up to the end of its line.
    fn string(&mut self, in_line: bool) -> RawKind {
        let bytes = self.text.as_bytes();
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
    fn excluded_text_is_only_searched_for_directives() {
        let mut diags = Diagnostics::new();
        let mut s = Scanner::new(FileId(0), "don't \"\n/*\n#else*/ no\nü # no\n # yes".into());
        assert!(s.skip_to_directive(&mut diags));
        assert_eq!(s.text.get(s.pos..), Some(" yes"));
        assert!(!s.skip_to_directive(&mut diags));
        assert!(!diags.has_errors());
    }
}
