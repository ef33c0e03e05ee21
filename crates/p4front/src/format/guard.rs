//! Whether a formatted text means what it meant, found without the formatter: the preprocessor's
//! tokens, and a plain reading of the characters.
//!
//! The preprocessor says what the program is, for the branches that its conditions choose; the
//! plain reading compares comments, directives and the tokens of all branches, and finds the ends
//! of lines and comments independently. Neither follows an `#include` of what is not built in.

use super::FormatError;
use crate::diag::{Diagnostic, Diagnostics};
use crate::lex::{Punct, Token, TokenKind};
use crate::options::Options;
use crate::pp::preprocess;
use crate::source::{SourceMap, Span};

/// Where two texts differ.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Difference {
    /// The line in the text before, from 1.
    pub(super) line: usize,
    /// What differs, as an object of "would change".
    pub(super) what: String,
}

/// The first difference of two texts in what they mean, or in their comments.
///
/// # Errors
/// [`FormatError::Source`].
pub(super) fn difference(
    name: &str,
    before: &str,
    after: &str,
) -> Result<Option<Difference>, FormatError> {
    for view in [View::Program, View::Excluded] {
        let found = first_difference(&read(before, view), &read(after, view));
        if found.is_some() {
            return Ok(found);
        }
    }
    let (before, after) = (Processed::of(name, before)?, Processed::of(name, after)?);
    Ok(before.difference(&after))
}

/// What the preprocessor makes of a text.
struct Processed {
    map: SourceMap,
    tokens: Vec<Token>,
    diags: Diagnostics,
}

impl Processed {
    fn of(name: &str, text: &str) -> Result<Self, FormatError> {
        let (mut map, mut diags) = (SourceMap::new(), Diagnostics::new());
        let main = map.add(name, text)?;
        let tokens = preprocess(&mut map, main, &Options::default(), &mut diags).tokens;
        Ok(Self { map, tokens, diags })
    }

    fn difference(&self, after: &Processed) -> Option<Difference> {
        // Both end with the token of the end.
        let pairs = self.tokens.iter().zip(&after.tokens).enumerate();
        let mut pragma = false;
        for (i, (a, b)) in pairs {
            let line = pragma && a.bol != b.bol;
            if line || !self.same(a, after, b) {
                return Some(self.place(a.span, format!("{a} to {b}")));
            }
            pragma = self.begins_pragma(i) || (pragma && !a.bol);
        }
        self.says_else(after)
    }

    /// The first difference in what the preprocessor reports; blanks in it do not count.
    fn says_else(&self, after: &Processed) -> Option<Difference> {
        let text = |d: &Diagnostic| d.message.split_whitespace().collect::<String>();
        let (mut a, mut b) = (self.diags.iter(), after.diags.iter());
        loop {
            let (before, after) = (a.next(), b.next());
            let said = before.or(after)?;
            if before.map(text) != after.map(text) {
                let span = before.and_then(|d| d.span).unwrap_or_default();
                let what = format!("what the preprocessor says of it (\"{}\")", said.message);
                return Some(self.place(span, what));
            }
        }
    }

    /// Whether the token is the `pragma` of an annotation that ends with its line.
    fn begins_pragma(&self, i: usize) -> bool {
        let at = i.checked_sub(1).and_then(|before| self.tokens.get(before));
        at.is_some_and(|t| t.kind == TokenKind::Punct(Punct::At))
            && self.tokens.get(i).is_some_and(|t| &*t.text == "pragma")
    }

    fn same(&self, a: &Token, after: &Processed, b: &Token) -> bool {
        let close = TokenKind::Punct(Punct::Gt);
        let touches = a.kind != close || a.joint == b.joint;
        // The number of a line, which may change.
        let line = |p: &Processed, t: &Token| p.map.text(t.span) == "__LINE__";
        let text = a.text == b.text || (line(self, a) && line(after, b));
        a.kind == b.kind && text && touches
    }

    fn place(&self, span: Span, what: String) -> Difference {
        let line = self
            .map
            .file(span.file)
            .map_or(0, |f| f.line_index(span.start));
        Difference {
            line: line as usize + 1,
            what,
        }
    }
}

/// How a text is read plainly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum View {
    /// As a program, all branches of all conditions: a string may take several lines.
    Program,
    /// As text that a condition excludes: strings end with their line, and what is no comment or
    /// directive does not count.
    Excluded,
}

/// A part of a text that formatting keeps.
#[derive(Debug, PartialEq, Eq)]
enum Segment {
    /// Runs of blanks are one blank.
    Comment(String),
    Directive(String),
    Token(String),
}

/// Parts, with their lines.
fn read(text: &str, view: View) -> Vec<(Segment, usize)> {
    let (chars, lines) = joined(text.trim_start_matches('\u{feff}'));
    let mut plain = Plain {
        chars: &chars,
        at: 0,
        view,
        parts: Vec::new(),
    };
    plain.read();
    let line = |at: usize| lines.get(at).copied().unwrap_or(lines.len());
    let parts = plain.parts.into_iter();
    parts.map(|(part, at)| (part, line(at))).collect()
}

fn first_difference(a: &[(Segment, usize)], b: &[(Segment, usize)]) -> Option<Difference> {
    let at = (0..a.len().max(b.len()))
        .find(|&i| a.get(i).map(|(part, _)| part) != b.get(i).map(|(part, _)| part))?;
    let (part, line) = a.get(at).or(a.last()).or(b.first())?;
    let what = match part {
        Segment::Comment(text) => format!("the comment `{text}`"),
        Segment::Directive(text) => format!("the directive `{text}`"),
        Segment::Token(text) => format!("what stands at `{text}`"),
    };
    Some(Difference { line: *line, what })
}

/// The characters of a text with its lines joined, and the line of each, from 1.
fn joined(text: &str) -> (Vec<char>, Vec<usize>) {
    let (mut chars, mut lines) = (Vec::new(), Vec::new());
    let mut rest = text.split('\n').enumerate().peekable();
    while let Some((i, line)) = rest.next() {
        let last = rest.peek().is_none();
        let end = line.trim_end_matches(|c| is_blank(c) && c != '\n');
        let (kept, joins) = match end.strip_suffix('\\') {
            Some(kept) if !last => (kept, true),
            _ => (line, false),
        };
        chars.extend(kept.chars());
        if !joins && !last {
            chars.push('\n');
        }
        lines.resize(chars.len(), i + 1);
    }
    (chars, lines)
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n' | '\x0b' | '\x0c')
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

struct Plain<'a> {
    chars: &'a [char],
    at: usize,
    view: View,
    parts: Vec<(Segment, usize)>,
}

impl Plain<'_> {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    fn text(&self, from: usize) -> String {
        let end = self.at.min(self.chars.len());
        self.chars
            .get(from..end)
            .unwrap_or_default()
            .iter()
            .collect()
    }

    /// A text with its runs of blanks as one blank each, and none at its ends. In excluded text
    /// none count: a part of it may be a token of the program.
    fn squeezed(&self, text: &str) -> String {
        let words: Vec<&str> = text
            .split(is_blank)
            .filter(|word| !word.is_empty())
            .collect();
        match self.view {
            View::Program => words.join(" "),
            View::Excluded => words.concat(),
        }
    }

    fn read(&mut self) {
        let mut fresh = true;
        while let Some(c) = self.peek(0) {
            let from = self.at;
            if self.comment() {
                continue;
            }
            if is_blank(c) {
                fresh |= c == '\n';
                self.at += 1;
            } else if c == '#' && fresh && self.peek(1) != Some('#') {
                self.directive();
            } else {
                fresh = false;
                self.token(c, self.view == View::Excluded);
                if self.view == View::Program {
                    let text = self.text(from);
                    self.parts.push((Segment::Token(text), from));
                }
            }
        }
    }

    /// Passes a comment, if one begins here.
    fn comment(&mut self) -> bool {
        let from = self.at;
        match (self.peek(0), self.peek(1)) {
            (Some('/'), Some('/')) => {
                while self.peek(0).is_some_and(|c| c != '\n') {
                    self.at += 1;
                }
            }
            (Some('/'), Some('*')) => {
                self.at += 2;
                while self.at < self.chars.len()
                    && (self.peek(0), self.peek(1)) != (Some('*'), Some('/'))
                {
                    self.at += 1;
                }
                self.at = (self.at + 2).min(self.chars.len());
            }
            _ => return false,
        }
        let text = self.squeezed(&self.text(from));
        self.parts.push((Segment::Comment(text), from));
        true
    }

    /// Passes the rest of a line; comments in it are blanks of it, and parts for themselves.
    fn directive(&mut self) {
        let from = self.at;
        let mut text = String::new();
        while let Some(c) = self.peek(0).filter(|c| *c != '\n') {
            let start = self.at;
            if self.comment() {
                text.push(' ');
            } else {
                self.token(c, true);
                text += &self.text(start);
            }
        }
        let text = self.squeezed(&text);
        self.parts.push((Segment::Directive(text), from));
    }

    /// Passes a word, a string, an operator, or any other character.
    fn token(&mut self, first: char, one_line: bool) {
        match first {
            '"' => self.string(one_line),
            c if is_word(c) => {
                while self.peek(0).is_some_and(is_word) {
                    self.at += 1;
                }
            }
            _ => {
                let longest = (2..=4).rev().find(|&n| {
                    let text: Option<String> = (0..n).map(|i| self.peek(i)).collect();
                    text.is_some_and(|text| Punct::from_text(&text).is_some())
                });
                self.at += longest.unwrap_or(1);
            }
        }
    }

    /// Passes a string: up to its closing quote, or to the end of its line if it has none.
    fn string(&mut self, one_line: bool) {
        let mut line_end = None;
        self.at += 1;
        while let Some(c) = self.peek(0) {
            match c {
                '"' => {
                    self.at += 1;
                    return;
                }
                '\\' => self.at += 1,
                '\n' => {
                    line_end = line_end.or(Some(self.at));
                    if one_line {
                        break;
                    }
                }
                _ => {}
            }
            self.at += 1;
        }
        self.at = line_end.unwrap_or(self.chars.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(before: &str, after: &str) -> Option<usize> {
        let found = difference("x.p4", before, after).unwrap_or(None);
        found.map(|found| found.line)
    }

    #[test]
    fn blanks_and_lines_may_change() {
        let before =
            "a=b;// c\n#define  X(y)  y /* d */\n\n\n\"s\\\nt\" >> >\n/*/ e\n * f */ z __LINE__";
        let after =
            "a = b; // c\n#define X(y) y /* d */\n\n\"st\" >> >\n/*/ e\n   * f */ z __LINE__\n";
        assert_eq!(found(before, after), None);
    }

    #[test]
    fn what_means_something_else_is_found() {
        let pairs = [
            // The line behind a macro becomes a part of it.
            ("a\n#define T 2 \\\n\nc", "a\n#define T 2 \\\nc\n", 2),
            // A comment is lost, or swallows what stands behind it.
            ("/*// x*/\na", "/*/\na", 1),
            ("/*// x*/ a /**/", "/*/ a /**/", 1),
            ("a // b \\\n c\nd", "a // b\nd", 1),
            ("a // b\nd", "a // b \\\nd", 1),
            // Another directive, in a branch that is not taken too.
            (
                "#if 0\n#define X 1\n#endif",
                "#if 0\n#define X 2\n#endif",
                2,
            ),
            ("#define F (x)", "#define F(x)", 1),
            ("#if 0\na b\n#endif", "#if 0\nab\n#endif", 2),
            // Tokens.
            ("a\nb > > c", "a\nb >> c", 2),
            ("a . . b", "a .. b", 1),
            ("\"a  b\"", "\"a b\"", 1),
            ("@pragma a\nb", "@pragma a b", 2),
            ("@pragma a b", "@pragma a\nb", 1),
            ("a\\b", "a \\\nb", 1),
            // What a macro makes a string of.
            (
                "#define S(x) #x\n\nS(a+b)",
                "#define S(x) #x\n\nS(a + b)",
                3,
            ),
            ("a b", "a b c", 1),
            ("a b c", "a b", 1),
        ];
        for (before, after, line) in pairs {
            assert_eq!(found(before, after), Some(line), "{before:?} {after:?}");
        }
    }
}
