//! Pieces written by rule: where lines begin, how far they are indented, where blanks stand.

use super::pieces::{Kind, Piece, trimmed};
use crate::lex::Punct;

/// A step of indentation.
const INDENT: usize = 4;
/// Most blank lines in a row.
const BLANK_LINES: usize = 1;

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

/// The pieces as text.
pub(super) fn write(pieces: &[Piece]) -> String {
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
        } else if piece.joined {
            w.joined_line(piece);
        } else if let Some(before) = before
            && blank(before, piece)
        {
            w.out.push(' ');
        }
        w.put(piece);
        before = Some(piece);
    }
    // A line end behind a `\` at the end of the text would join two lines.
    if !w.out.is_empty() && !w.out.ends_with('\\') {
        w.out.push('\n');
    }
    w.out
}

impl Writer {
    fn new_line(&mut self, piece: &Piece, first: bool) {
        if !first {
            if self.out.ends_with('\\') {
                // It would join the next line: this joins an empty one.
                self.out.push_str("\\\n");
            }
            let ends = piece.newlines.clamp(1, BLANK_LINES + 1);
            self.out.extend(std::iter::repeat_n('\n', ends));
        }
        self.line += 1;
        if piece.kind == Kind::Directive {
            return;
        }
        let goes_on = self.goes_on && matches!(piece.kind, Kind::Token(_));
        self.indent(piece, goes_on);
        self.annotated = piece.text == "@";
    }

    /// A line that stays joined with the one before: what ends with its line (`@pragma`) goes on.
    fn joined_line(&mut self, piece: &Piece) {
        self.out.push_str(" \\\n");
        self.line += 1;
        self.indent(piece, true);
    }

    fn indent(&mut self, piece: &Piece, goes_on: bool) {
        let closes = ["}", ")", "]"].contains(&piece.text.as_str());
        let mut open = self.open.clone();
        if closes {
            open.pop();
        }
        open.dedup();
        let brace = ["{", "}"].contains(&piece.text.as_str());
        let more = goes_on && !brace && !closes;
        let steps = open.len() + usize::from(more);
        self.out.extend(std::iter::repeat_n(' ', steps * INDENT));
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

    /// Lines that begin with `*` stand below the first one's, unless some are joined: blanks could
    /// split what they join.
    fn block_comment(&mut self, text: &str) {
        let mut lines = text.lines();
        if lines.any(|line| trimmed(line).ends_with('\\')) {
            self.out.push_str(text);
            return;
        }
        let column = self.out.len() - self.out.rfind('\n').map_or(0, |at| at + 1);
        for (i, line) in text.lines().enumerate() {
            if i > 0 {
                self.out.push('\n');
                self.line += 1;
                let text = line.trim_start_matches([' ', '\t']);
                if text.starts_with('*') {
                    self.out.extend(std::iter::repeat_n(' ', column + 1));
                    self.out.push_str(trimmed(text));
                    continue;
                }
            }
            self.out.push_str(trimmed(line));
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
    if b.kind == Kind::LineComment {
        return true;
    }
    if a.is_comment() || b.is_comment() {
        return b.apart;
    }
    match (a.text.as_str(), b.text.as_str()) {
        _ if b.apart && merge(a, b) => true,
        ("{", "}") => b.apart,
        ("(" | "[", _) | (_, "," | ";" | ")" | "]") => false,
        ("." | "@", _) | (_, ".") => false,
        // Two closing brackets of types, or a shift.
        (">", y) if y.starts_with('>') => b.apart,
        (x, y) if BINARY.contains(&x) || BINARY.contains(&y) => true,
        ("{" | "," | ";", _) | (_, "{" | "}") => true,
        ("}", _) if b.is_word() => true,
        (x, "(") if BEFORE_PAREN.contains(&x) => true,
        (_, "(" | "[") if a.is_word() => false,
        _ => b.apart,
    }
}

/// Whether two tokens would be others if they touched.
fn merge(a: &Piece, b: &Piece) -> bool {
    let word = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_');
    let (last, first) = (a.text.chars().next_back(), b.text.chars().next());
    if word(last) || word(first) {
        return word(last) && word(first);
    }
    let comment = last == Some('/') && matches!(first, Some('/' | '*'));
    // Operators are recognized by their beginnings: the longest one is taken.
    let mut both = a.text.clone();
    let longer = b.text.chars().any(|c| {
        both.push(c);
        Punct::from_text(&both).is_some()
    });
    comment || longer
}
