//! One way to write P4: indentation and blanks by rule, line breaks and comments as they stand.
//!
//! Works on tokens and not on the syntax tree, so that programs with macros, with errors, or for any architecture are formatted too; what was formatted has
//! the same tokens, which is checked. A line is indented by four blanks for each line on which a bracket was opened that is not closed yet, and once
//! more where it goes on with a statement. Directives stay as they are.

use std::sync::Arc;

use crate::diag::Diagnostics;
use crate::lex::{Interner, Punct, RawKind, RawToken, Scanner};
use crate::source::{FileId, SourceError, SourceMap};

/// A step of indentation.
const INDENT: usize = 4;
/// Most blank lines in a row.
const BLANK_LINES: usize = 1;

/// Why a text was not formatted.
#[derive(Debug, thiserror::Error)]
pub enum FormatError {
    /// It is too large, or no text.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// A string or comment that does not end, or a character that is no P4; rendered.
    #[error("{0}")]
    Tokens(String),
    /// Formatting would have changed what the text means: a bug of the formatter.
    #[error("formatting would change the tokens of `{0}`; this is a bug of Switchwright")]
    Changed(String),
}

/// A piece of text that is written as a whole.
#[derive(Debug)]
struct Piece {
    kind: Kind,
    text: String,
    /// Line ends before it.
    newlines: usize,
    /// Whether anything stood between it and the piece before.
    apart: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Token(RawKind),
    LineComment,
    BlockComment,
    /// A line of the preprocessor, with the lines that `\` joins to it.
    Directive,
}

/// The text, formatted.
///
/// # Errors
/// [`FormatError`].
pub fn format(name: &str, text: &str) -> Result<String, FormatError> {
    let tokens = scan(name, text)?;
    let pieces = pieces(text, &tokens);
    let formatted = write(&pieces);
    let again = scan(name, &formatted)?;
    let same = |(a, b): (&RawToken, &RawToken)| {
        let touch = a.is(Punct::Gt) && b.is(Punct::Gt);
        a.kind == b.kind && spelled(a) == spelled(b) && (!touch || a.joint == b.joint)
    };
    match tokens.len() == again.len() && tokens.iter().zip(&again).all(same) {
        true => Ok(formatted),
        false => Err(FormatError::Changed(name.to_owned())),
    }
}

/// A token's text, without the ends of lines that `\` joins.
fn spelled(token: &RawToken) -> &str {
    &token.text
}

fn scan(name: &str, text: &str) -> Result<Vec<RawToken>, FormatError> {
    let mut map = SourceMap::new();
    let file: FileId = map.add(name, text)?;
    let mut diags = Diagnostics::new();
    let text: Arc<str> = map
        .file(file)
        .map_or_else(|| text.into(), |f| f.text.clone());
    let mut names = Interner::default();
    let mut scanner = Scanner::new(file, text);
    let mut tokens = Vec::new();
    loop {
        let token = scanner.next(&mut names, &mut diags);
        if token.kind == RawKind::End {
            break;
        }
        tokens.push(token);
    }
    match diags.has_errors() {
        true => Err(FormatError::Tokens(diags.render(&map))),
        false => Ok(tokens),
    }
}

/// Tokens, comments and directives in order.
fn pieces(text: &str, tokens: &[RawToken]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut at = 0;
    for token in tokens {
        let (start, end) = (token.span.start as usize, token.span.end as usize);
        if start < at {
            continue; // part of a directive
        }
        let mut gap = Gap::default();
        gap.read(text.get(at..start).unwrap_or_default(), &mut pieces);
        if token.is(Punct::Hash) && token.bol {
            let length = directive(text.get(start..).unwrap_or_default());
            let whole = text.get(start..start + length).unwrap_or_default();
            pieces.push(gap.piece(Kind::Directive, whole.trim_end()));
            at = start + length;
        } else {
            pieces.push(gap.piece(Kind::Token(token.kind), &token.text));
            at = end;
        }
    }
    Gap::default().read(text.get(at..).unwrap_or_default(), &mut pieces);
    pieces
}

/// The length of a directive at the start of a text, without the end of its last line and without a line comment behind it.
fn directive(text: &str) -> usize {
    let mut length = 0;
    for line in text.split_inclusive('\n') {
        let body = line.trim_end();
        if !body.ends_with('\\') {
            return length + body.len();
        }
        length += line.len();
    }
    length
}

/// What stands between two pieces.
#[derive(Default)]
struct Gap {
    newlines: usize,
    apart: bool,
}

impl Gap {
    fn piece(&mut self, kind: Kind, text: &str) -> Piece {
        let made = Piece {
            kind,
            text: text.to_owned(),
            newlines: self.newlines,
            apart: self.apart || self.newlines > 0,
        };
        *self = Self::default();
        made
    }

    /// Blanks and comments.
    fn read(&mut self, mut text: &str, pieces: &mut Vec<Piece>) {
        while let Some(first) = text.chars().next() {
            let length = if text.starts_with("//") {
                text.find('\n').unwrap_or(text.len())
            } else if text.starts_with("/*") {
                text.find("*/").map_or(text.len(), |end| end + 2)
            } else {
                self.newlines += usize::from(first == '\n');
                self.apart = true;
                text = &text[first.len_utf8()..];
                continue;
            };
            let (comment, rest) = text.split_at(length);
            let kind = match comment.starts_with("//") {
                true => Kind::LineComment,
                false => Kind::BlockComment,
            };
            pieces.push(self.piece(kind, comment.trim_end()));
            text = rest;
        }
    }
}

/// What is written so far.
#[derive(Default)]
struct Writer {
    out: String,
    line: usize,
    /// The lines of the brackets that are open.
    open: Vec<usize>,
    /// What was open at the start of each `#if`.
    conditions: Vec<Vec<usize>>,
    /// Whether the statement that the last token belongs to goes on.
    goes_on: bool,
    /// The line began with an annotation.
    annotated: bool,
}

fn write(pieces: &[Piece]) -> String {
    let mut w = Writer::default();
    let mut before: Option<&Piece> = None;
    for piece in pieces {
        let fresh = match before {
            None => true,
            // A comment to the end of its line, and a directive, end theirs.
            Some(b) => {
                piece.newlines > 0
                    || matches!(b.kind, Kind::LineComment | Kind::Directive)
                    || piece.kind == Kind::Directive
            }
        };
        if fresh {
            w.new_line(piece, before.is_none());
        } else if let Some(before) = before
            && blank(before, piece)
        {
            w.out.push(' ');
        }
        w.put(piece);
        before = Some(piece);
    }
    if !w.out.is_empty() {
        w.out.push('\n');
    }
    w.out
}

impl Writer {
    fn new_line(&mut self, piece: &Piece, first: bool) {
        if !first {
            let ends = piece.newlines.clamp(1, BLANK_LINES + 1);
            self.out.extend(std::iter::repeat_n('\n', ends));
        }
        self.line += 1;
        if piece.kind == Kind::Directive {
            return;
        }
        let closes = ["}", ")", "]"].contains(&piece.text.as_str());
        let mut open = self.open.clone();
        if closes {
            open.pop();
        }
        open.dedup();
        let brace = ["{", "}"].contains(&piece.text.as_str());
        let more = self.goes_on && !brace && !closes && matches!(piece.kind, Kind::Token(_));
        let steps = open.len() + usize::from(more);
        self.out.extend(std::iter::repeat_n(' ', steps * INDENT));
        self.annotated = piece.text == "@";
    }

    fn put(&mut self, piece: &Piece) {
        match piece.kind {
            Kind::Directive => self.directive(&piece.text),
            Kind::BlockComment => self.block_comment(&piece.text),
            _ => self.out.push_str(&piece.text),
        }
        if !matches!(piece.kind, Kind::Token(_)) {
            return;
        }
        match piece.text.as_str() {
            "{" | "(" | "[" => self.open.push(self.line),
            "}" | ")" | "]" => {
                self.open.pop();
            }
            _ => {}
        }
        let ends = [";", "{", "}", ",", ":", "(", "["].contains(&piece.text.as_str());
        self.goes_on = !ends && !self.annotated && self.in_statement();
    }

    /// Whether the innermost bracket does not indent what stands in it already, as parentheses do.
    fn in_statement(&self) -> bool {
        let innermost = self.open.last();
        innermost.is_none_or(|line| *line != self.line)
    }

    fn directive(&mut self, text: &str) {
        let word = text.trim_start_matches('#').trim_start();
        if word.starts_with("if") {
            self.conditions.push(self.open.clone());
        } else if word.starts_with("el") {
            if let Some(open) = self.conditions.last() {
                self.open.clone_from(open);
            }
        } else if word.starts_with("endif") {
            self.conditions.pop();
        }
        self.out.push_str(text);
    }

    /// Lines that begin with `*` stand below the first one's.
    fn block_comment(&mut self, text: &str) {
        let column = self.out.len() - self.out.rfind('\n').map_or(0, |at| at + 1);
        for (i, line) in text.lines().enumerate() {
            if i > 0 {
                self.out.push('\n');
                self.line += 1;
                if line.trim_start().starts_with('*') {
                    self.out.extend(std::iter::repeat_n(' ', column + 1));
                    self.out.push_str(line.trim());
                    continue;
                }
            }
            self.out.push_str(line.trim_end());
        }
    }
}

/// Operators that have a blank on both sides.
const BINARY: [&str; 24] = [
    "=", "==", "!=", "&&", "||", "&&&", "<=", ">=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=",
    "<<=", ">>=", "|+|=", "|-|=", "++", "|+|", "|-|", "<<",
];

/// Words that are followed by a blank and a parenthesis.
const BEFORE_PAREN: [&str; 6] = ["if", "switch", "while", "for", "return", "in"];

/// Whether a blank stands between two pieces of one line.
fn blank(a: &Piece, b: &Piece) -> bool {
    let comment = |p: &Piece| matches!(p.kind, Kind::LineComment | Kind::BlockComment);
    if b.kind == Kind::LineComment {
        return true;
    }
    if comment(a) || comment(b) {
        return b.apart;
    }
    let word = |p: &Piece| p.kind == Kind::Token(RawKind::Word);
    match (a.text.as_str(), b.text.as_str()) {
        ("{", "}") => b.apart,
        ("(" | "[", _) | (_, "," | ";" | ")" | "]") => false,
        ("." | "@", _) | (_, ".") => false,
        (x, y) if BINARY.contains(&x) || BINARY.contains(&y) => true,
        ("{" | "," | ";", _) | (_, "{" | "}") => true,
        ("}", _) if word(b) => true,
        (x, "(") if BEFORE_PAREN.contains(&x) => true,
        (_, "(" | "[") if word(a) => false,
        _ => b.apart,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_and_indentation_by_rule() {
        let text = "control C( inout H h ,in  bit<8> x){\n  // said\naction a( ) {h.x=x ;\n\n\n\n  if(x==1||h.y>3){ y=(bit<8>)x>>2; }}\n@name( \"t\" )\n  table t {key={h.x:exact;}\n}\n  /* two\n     * lines */\napply{ t . apply( );  } }";
        let wanted = "control C(inout H h, in bit<8> x) {\n    // said\n    action a() { h.x = x;\n\n        if (x == 1 || h.y>3) { y = (bit<8>)x>>2; } }\n    @name(\"t\")\n    table t { key = { h.x:exact; }\n    }\n    /* two\n     * lines */\n    apply { t.apply(); } }\n";
        let found = format("x.p4", text).expect("it has tokens");
        assert_eq!(found, wanted);
        assert_eq!(format("x.p4", &found).expect("it has tokens"), found);
    }

    #[test]
    fn directives_and_continued_statements() {
        let text = "#define A(x) \\\n   x\n#if A\ncontrol C() {\n#else\ncontrol D() {\n#endif\n x = a +\n b;\n y = 1;\n}\n";
        let wanted = "#define A(x) \\\n   x\n#if A\ncontrol C() {\n#else\ncontrol D() {\n#endif\n    x = a +\n        b;\n    y = 1;\n}\n";
        assert_eq!(format("x.p4", text).expect("it has tokens"), wanted);
    }

    #[test]
    fn what_has_no_tokens_is_told() {
        assert!(matches!(
            format("x.p4", "/* open"),
            Err(FormatError::Tokens(_))
        ));
        assert_eq!(format("x.p4", "").expect("nothing"), "");
    }
}
