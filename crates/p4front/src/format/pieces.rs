//! A text as pieces: tokens, comments and directives, and what stands between them.

use std::sync::Arc;

use super::FormatError;
use crate::diag::Diagnostics;
use crate::lex::{Interner, Punct, RawKind, RawToken, Scanner};
use crate::source::{SourceMap, Span};

/// A piece of text that is written as a whole.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) kind: Kind,
    pub(super) text: String,
    /// Line ends before it; 0 if its line is joined with the one before by `\`.
    pub(super) newlines: usize,
    /// Whether anything stood between it and the piece before.
    pub(super) apart: bool,
    /// It begins a line that `\` joins with the one before.
    pub(super) joined: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Token(RawKind),
    LineComment,
    BlockComment,
    /// A line of the preprocessor, with the lines that `\` joins to it and the comments in it.
    Directive,
}

impl Piece {
    pub(super) fn is_comment(&self) -> bool {
        matches!(self.kind, Kind::LineComment | Kind::BlockComment)
    }

    pub(super) fn is_word(&self) -> bool {
        self.kind == Kind::Token(RawKind::Word)
    }
}

/// What the preprocessor takes for blank, but for the end of a line.
const BLANKS: [char; 5] = [' ', '\t', '\r', '\x0b', '\x0c'];

/// A text without blanks at its end. Not Unicode's white space: a `\` in front of that joins no
/// lines.
pub(super) fn trimmed(text: &str) -> &str {
    text.trim_end_matches(BLANKS)
}

/// A text without blanks and joined empty lines at its end: a `\` that is left at the end would
/// join the next line.
fn ended(text: &str) -> &str {
    let mut text = trimmed(text);
    while let Some(before) = text.strip_suffix('\n') {
        text = trimmed(trimmed(before).strip_suffix('\\').unwrap_or(before));
    }
    text
}

/// Tokens, comments and directives in order.
pub(super) fn pieces(name: &str, text: &str) -> Result<Vec<Piece>, FormatError> {
    let mut map = SourceMap::new();
    let file = map.add(name, text)?;
    let read: Arc<str> = map
        .file(file)
        .map_or_else(|| text.into(), |f| f.text.clone());
    let mut reader = Reader {
        text: &read,
        scanner: Scanner::keeping_comments(file, read.clone()),
        names: Interner::default(),
        diags: Diagnostics::new(),
        pieces: Vec::new(),
        at: 0,
    };
    reader.read();
    match reader.diags.has_errors() {
        true => Err(FormatError::Tokens(reader.diags.render(&map))),
        false => Ok(reader.pieces),
    }
}

struct Reader<'a> {
    text: &'a str,
    scanner: Scanner,
    names: Interner,
    diags: Diagnostics,
    pieces: Vec<Piece>,
    /// The end of the last piece.
    at: usize,
}

impl Reader<'_> {
    fn read(&mut self) {
        loop {
            let token = self.scanner.next(&mut self.names, &mut self.diags);
            for comment in self.scanner.take_comments() {
                self.comment(comment);
            }
            if token.kind == RawKind::End {
                return;
            }
            if token.is(Punct::Hash) && token.bol {
                self.directive(token.span);
            } else {
                self.token(&token);
            }
        }
    }

    fn written(&self, span: Span) -> &str {
        let range = span.start as usize..span.end as usize;
        self.text.get(range).unwrap_or_default()
    }

    fn token(&mut self, token: &RawToken) {
        // A long string stays on its lines; other tokens are written in one.
        let text = match token.kind {
            RawKind::String | RawKind::OpenString => self.written(token.span).to_owned(),
            _ => token.text.to_string(),
        };
        self.push(Kind::Token(token.kind), text, token.span);
    }

    fn comment(&mut self, span: Span) {
        let text = ended(self.written(span)).to_owned();
        // The second character may stand on the next line.
        let second = text.get(1..).unwrap_or_default();
        let second = second.trim_start_matches(['\\', '\n'].as_slice());
        let second = second.trim_start_matches(|c| c == '\\' || c == '\n' || BLANKS.contains(&c));
        let kind = match second.starts_with('/') {
            true => Kind::LineComment,
            false => Kind::BlockComment,
        };
        self.push(kind, text, span);
    }

    /// The rest of the line whose `#` is given, up to its last token or comment.
    fn directive(&mut self, hash: Span) {
        let mut whole = hash;
        loop {
            let token = self.scanner.next_in_line(&mut self.names, &mut self.diags);
            for comment in self.scanner.take_comments() {
                whole = whole.to(comment);
            }
            if token.kind == RawKind::End {
                break;
            }
            whole = whole.to(token.span);
        }
        let text = ended(self.written(whole)).to_owned();
        self.push(Kind::Directive, text, whole);
    }

    /// Adds a piece, and what stands before it.
    fn push(&mut self, kind: Kind, text: String, span: Span) {
        let gap = self.text.get(self.at..span.start as usize);
        let (mut lines, mut joins, mut blank) = (0, 0, false);
        for line in gap.unwrap_or_default().split_inclusive('\n') {
            let body = line.strip_suffix('\n');
            let join = body.and_then(|body| trimmed(body).strip_suffix('\\'));
            lines += usize::from(body.is_some());
            joins += usize::from(join.is_some());
            blank |= !join.or(body).unwrap_or(line).is_empty();
        }
        let ends = lines > joins;
        // The writer joins an empty line to a comment that ends with `\`: it is no line of its own
        // when that is read again.
        let before = self.pieces.last();
        let kept = joins > 0 && before.is_some_and(|before| before.text.ends_with('\\'));
        self.pieces.push(Piece {
            kind,
            text,
            newlines: if ends { lines - usize::from(kept) } else { 0 },
            apart: ends || blank,
            joined: !ends && joins > 0 && blank,
        });
        self.at = span.end as usize;
    }
}
