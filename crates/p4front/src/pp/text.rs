//! Tokens as text again, in the manner of `cpp`.

use std::fmt::Write as _;

use crate::lex::{Token, TokenKind};
use crate::source::{FileId, SourceMap};

/// Most empty lines that stand for lines without tokens; a line marker stands for more.
const MAX_EMPTY_LINES: u32 = 8;

/// How the text says where its lines come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Places {
    /// A comment where another file begins: for people.
    Comments,
    /// Line markers (`# 12 "file.p4"`), as `cpp` writes them: the text is a program, and what is
    /// said about it names the lines of the files that it was made from.
    Markers,
}

/// Preprocessed tokens as text: line by line as they stood, without comments. Line ends stay where
/// `@pragma` needs them, and two tokens never become one.
#[must_use]
pub fn text<'a>(
    map: &SourceMap,
    tokens: impl IntoIterator<Item = &'a Token>,
    places: Places,
) -> String {
    let mut writer = Writer {
        map,
        places,
        out: String::new(),
        file: None,
        line: 0,
        end: 0,
        expanded: false,
    };
    for token in tokens {
        if token.kind != TokenKind::End {
            writer.put(token);
        }
    }
    let lines = writer.out.lines().map(str::trim_end);
    lines.fold(String::new(), |all, line| all + line + "\n")
}

struct Writer<'a> {
    map: &'a SourceMap,
    places: Places,
    out: String,
    /// The file of the last token.
    file: Option<FileId>,
    /// The line that is being written, as line markers count.
    line: u32,
    /// Where the last token ended.
    end: u32,
    /// Whether the last token came out of a macro.
    expanded: bool,
}

impl Writer<'_> {
    fn put(&mut self, token: &Token) {
        let expanded = self.map.expansion_at(token.span).is_some();
        let elsewhere = self.file != Some(token.span.file);
        if token.bol || elsewhere {
            self.begin_line(token, elsewhere);
        } else if token.span.start != self.end || expanded || self.expanded {
            self.out.push(' ');
        }
        self.file = Some(token.span.file);
        self.end = token.span.end;
        self.expanded = expanded;
        match token.kind {
            TokenKind::String => {
                let _ = write!(self.out, "\"{}\"", token.text);
            }
            _ => self.out.push_str(&token.text),
        }
        let lines = token.text.matches('\n').count();
        self.line += u32::try_from(lines).unwrap_or(u32::MAX);
    }

    fn begin_line(&mut self, token: &Token, elsewhere: bool) {
        let at = self.map.location(token.span);
        if !self.out.is_empty() {
            self.out.push('\n');
            self.line += 1;
        }
        match self.places {
            Places::Comments if elsewhere => {
                let name = self.map.file(token.span.file).map_or("", |f| &*f.name);
                let _ = writeln!(self.out, "// {name}");
            }
            Places::Comments => {}
            Places::Markers => {
                let skipped = at.line.checked_sub(self.line);
                match skipped {
                    Some(lines @ ..=MAX_EMPTY_LINES) if !elsewhere => {
                        (0..lines).for_each(|_| self.out.push('\n'));
                    }
                    _ => {
                        let _ = write!(self.out, "# {}", at.line);
                        // A marker has no way to quote these.
                        if !at.file.contains(['"', '\\', '\n']) {
                            let _ = write!(self.out, " \"{}\"", at.file);
                        }
                        self.out.push('\n');
                    }
                }
                self.line = at.line;
            }
        }
        let column = at.column.saturating_sub(1);
        let _ = write!(self.out, "{:1$}", "", column as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::Diagnostics;
    use crate::options::{Files, Options};
    use crate::pp::preprocess;

    fn read(files: &[(&str, &str)]) -> (SourceMap, Vec<Token>) {
        let options = Options {
            files: Files::Memory(files.iter().map(|(n, t)| (n.into(), (*t).into())).collect()),
            ..Options::default()
        };
        let mut map = SourceMap::new();
        let main = map.add(files[0].0, files[0].1).expect("it is short");
        let read = preprocess(&mut map, main, &options, &mut Diagnostics::new());
        (map, read.tokens)
    }

    #[test]
    fn text_with_markers_is_the_same_tokens_at_the_same_places() {
        let (map, before) = read(&[
            (
                "main.p4",
                "#define MINUS -1\n#define PAIR(a, b) a b\n#include \"b.p4\"\nx = 4-MINUS >> 1;\n@pragma some thing\n\n\n\n\n\n\n\n\n\n\n\n\nPAIR(p,\n  q) \"a \\\"string\\\"\" z\n",
            ),
            ("b.p4", "in_b >> c // gone\n"),
        ]);
        let written = text(&map, &before, Places::Markers);
        assert!(
            written.starts_with("# 1 \"b.p4\"\nin_b >> c\n# 4 \"main.p4\"\n"),
            "{written}"
        );
        let (again, after) = read(&[("main.p4i", &written)]);
        let words = |tokens: &[Token]| -> Vec<String> {
            tokens.iter().map(|t| t.text.to_string()).collect()
        };
        assert_eq!(words(&before), words(&after), "{written}");
        let lines = |map: &SourceMap, tokens: &[Token]| -> Vec<(String, u32)> {
            let ends = tokens.iter().filter(|t| t.kind != TokenKind::End);
            let places = ends.filter(|t| t.bol).map(|t| map.location(t.span));
            places.map(|at| (at.file.to_string(), at.line)).collect()
        };
        assert_eq!(lines(&map, &before), lines(&again, &after), "{written}");
    }
}
