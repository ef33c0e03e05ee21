//! Findings as text, in the manner of rustc: the quoted line, marks below it, notes behind.
//!
//! A finding costs what it shows, not what the file or the line is long: hostile text has lines of
//! megabytes, and thousands of findings in them.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use unicode_width::UnicodeWidthChar;

use super::{Diagnostic, Diagnostics, Severity};
use crate::source::{FileId, SourceMap, Span};

/// Characters of a source line shown at most.
const MAX_SHOWN: usize = 160;
/// Characters shown before the mark where a line is longer.
const SHOWN_BEFORE: usize = 60;

impl Diagnostic {
    /// The finding as text, ending with a line end. Without colours.
    pub fn render(&self, map: &SourceMap) -> String {
        self.text(map, Styles::default())
    }

    /// As [`Self::render`], with the terminal's codes for colours.
    pub fn render_coloured(&self, map: &SourceMap) -> String {
        self.text(map, Styles::coloured(self.severity))
    }

    fn text(&self, map: &SourceMap, styles: Styles) -> String {
        let gutter = self.gutter_width(map);
        let mut text = Text::new(map, gutter, styles);
        text.title(self);
        if let Some(span) = self.span {
            text.quote(span, &self.label, Mark::Primary);
            if let Some(e) = map.expansion_at(span) {
                text.note("note", &format!("in the expansion of `{}`", e.name));
                if let Some(def) = e.defined_at {
                    text.quote(def, "macro defined here", Mark::Related);
                }
            }
        }
        for l in &self.labels {
            text.quote(l.span, &l.message, Mark::Related);
        }
        for n in &self.notes {
            text.note("note", n);
        }
        if let Some(h) = &self.help {
            text.note("help", h);
        }
        text.out
    }

    /// Digits of the largest line number shown.
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

impl Diagnostics {
    /// All findings as text, separated by empty lines, with a last line that counts the errors.
    /// Without colours.
    pub fn render(&self, map: &SourceMap) -> String {
        self.joined(|finding| finding.render(map))
    }

    /// As [`Self::render`], with the terminal's codes for colours.
    pub fn render_coloured(&self, map: &SourceMap) -> String {
        self.joined(|finding| finding.render_coloured(map))
    }

    fn joined(&self, render: impl Fn(&Diagnostic) -> String) -> String {
        let mut out: String = self.items.iter().map(|d| render(d) + "\n").collect();
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

/// How the parts of a finding look; by default all of them plain.
#[derive(Clone, Copy, Default)]
struct Styles {
    severity: Style,
    message: Style,
    /// Arrows, line numbers, rules.
    frame: Style,
    /// Marks of related places.
    related: Style,
}

impl Styles {
    fn coloured(severity: Severity) -> Self {
        let colour = match severity {
            Severity::Note => AnsiColor::Cyan,
            Severity::Warning => AnsiColor::Yellow,
            Severity::Error => AnsiColor::Red,
        };
        let blue = AnsiColor::Blue.on_default().bold();
        Self {
            severity: colour.on_default().bold(),
            message: Style::new().bold(),
            frame: blue,
            related: blue,
        }
    }
}

/// What a mark below a line stands for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    /// Where the finding is.
    Primary,
    /// A place that explains it.
    Related,
}

/// The text so far.
struct Text<'m> {
    map: &'m SourceMap,
    /// Digits of the largest line number.
    gutter: usize,
    styles: Styles,
    out: String,
    /// The line quoted last, if further marks can stand below it.
    quoted: Option<(FileId, u32)>,
}

impl<'m> Text<'m> {
    fn new(map: &'m SourceMap, gutter: usize, styles: Styles) -> Self {
        Self {
            map,
            gutter,
            styles,
            out: String::new(),
            quoted: None,
        }
    }

    fn title(&mut self, d: &Diagnostic) {
        let (severity, message) = (self.styles.severity, self.styles.message);
        let _ = writeln!(
            self.out,
            "{severity}{}[{}]{severity:#}{message}: {}{message:#}",
            d.severity.word(),
            d.code,
            d.message
        );
    }

    /// Text without a place, `kind` of it.
    fn note(&mut self, kind: &str, text: &str) {
        let (frame, message, gutter) = (self.styles.frame, self.styles.message, self.gutter);
        let _ = writeln!(
            self.out,
            "{:gutter$} {frame}={frame:#} {message}{kind}{message:#}: {text}",
            ""
        );
        self.quoted = None;
    }

    /// The first line of `span` with its place and a mark, or a further mark below that line.
    fn quote(&mut self, span: Span, label: &str, mark: Mark) {
        let (map, frame, gutter) = (self.map, self.styles.frame, self.gutter);
        let Some(file) = map.file(span.file) else {
            return;
        };
        let index = file.line_index(span.start);
        let line = file.line_text(index);
        let start = file.line_start(index);
        let to = (span.end.saturating_sub(start) as usize).min(line.len());
        let shown = window(line, (span.start - start) as usize, to);
        if self.quoted != Some((span.file, index)) {
            let at = map.location(span);
            let arrow = match mark {
                Mark::Primary => "-->",
                Mark::Related => ":::",
            };
            let _ = writeln!(self.out, "{:gutter$}{frame}{arrow}{frame:#} {at}", "");
            let _ = writeln!(self.out, "{:gutter$} {frame}|{frame:#}", "");
            let number = at.line;
            let _ = writeln!(
                self.out,
                "{frame}{number:>gutter$} |{frame:#} {}",
                shown.line
            );
        }
        let (sign, style) = match mark {
            Mark::Primary => ("^", self.styles.severity),
            Mark::Related => ("-", self.styles.related),
        };
        let marks = sign.repeat(shown.marked);
        let space = if label.is_empty() { "" } else { " " };
        let _ = writeln!(
            self.out,
            "{:gutter$} {frame}|{frame:#} {}{style}{marks}{space}{label}{style:#}",
            "", shown.before
        );
        self.quoted = shown.whole.then_some((span.file, index));
    }
}

/// A source line as it is shown.
struct Window {
    line: String,
    /// White space up to the mark.
    before: String,
    /// Columns of the mark.
    marked: usize,
    /// All of the line is shown.
    whole: bool,
}

/// A source line whose bytes `from..to` are marked, cut around the mark where it is long.
fn window(line: &str, from: usize, to: usize) -> Window {
    let (before, rest) = line.split_at_checked(from).unwrap_or((line, ""));
    let whole = line.chars().nth(MAX_SHOWN).is_none();
    let first = match before.char_indices().nth_back(SHOWN_BEFORE - 1) {
        Some((first, _)) if !whole => first,
        _ => 0,
    };
    let head = if first > 0 { "..." } else { "" };
    let left = MAX_SHOWN - before[first..].chars().count().min(MAX_SHOWN);
    let end = rest.char_indices().nth(left).map_or(rest.len(), |c| c.0);
    let tail = if whole || end == rest.len() {
        ""
    } else {
        "..."
    };
    let marked = rest.get(..to.saturating_sub(from).min(end)).unwrap_or("");
    let shown = |text: &str| -> String { text.chars().map(visible).collect() };
    let blank = |c: char| match c {
        '\t' => "\t".to_owned(),
        _ => " ".repeat(columns(c)),
    };
    Window {
        line: [head, &shown(&before[first..]), &shown(&rest[..end]), tail].concat(),
        before: " ".repeat(head.len()) + &before[first..].chars().map(blank).collect::<String>(),
        marked: marked.chars().map(columns).sum::<usize>().max(1),
        whole,
    }
}

/// A character of a program as a terminal may be given it: none that moves the cursor or turns text
/// around.
fn visible(c: char) -> char {
    let turns =
        matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if turns || (c.is_control() && c != '\t') {
        return char::REPLACEMENT_CHARACTER;
    }
    c
}

/// Columns of a terminal that a character takes.
fn columns(c: char) -> usize {
    visible(c).width().unwrap_or(1)
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
        let coloured = d.render_coloured(&map);
        assert!(
            coloured.starts_with("\u{1b}[1m\u{1b}[31merror[syntax]\u{1b}[0m"),
            "{coloured}"
        );
        let plain = anstream::adapter::strip_str(&coloured).to_string();
        assert_eq!(plain, want);
    }

    #[test]
    fn marks_of_one_line_stand_below_it() {
        let mut map = SourceMap::new();
        let f = map.add("t.p4", "bit<8> a; bit<16> a;\n").unwrap();
        let d = Diagnostic::error("name", Span::new(f, 18, 19), "`a` is declared twice")
            .with_related(Span::new(f, 7, 8), "first declared here");
        let want = "error[name]: `a` is declared twice\n --> t.p4:1:19\n  |\n1 | bit<8> a; bit<16> a;\n  \
                    |                   ^\n  |        - first declared here\n";
        assert_eq!(d.render(&map), want);
    }

    #[test]
    fn wide_and_hidden_characters_keep_marks_in_place() {
        let mut map = SourceMap::new();
        let text = "\"\u{4e2d}\u{6587}\" \u{1b}[31m\u{202e}x";
        let f = map.add("t.p4", text).unwrap();
        let (x, end) = (text.len() as u32 - 1, text.len() as u32);
        let shown = Diagnostic::error("name", Span::new(f, x, end), "x").render(&map);
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines[3], "1 | \"\u{4e2d}\u{6587}\" \u{fffd}[31m\u{fffd}x");
        // Two columns for each of the two wide characters.
        assert_eq!(lines[4], "  |              ^");
        let wide = Diagnostic::error("name", Span::new(f, 1, 7), "wide").render(&map);
        assert_eq!(wide.lines().nth(4), Some("  |  ^^^^"));
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
}
