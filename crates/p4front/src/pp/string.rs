//! Directives inside a string that takes several lines.
//!
//! `cpp` reads its input line by line: a line that begins with `#` is a directive, whether a string
//! is open or not, and programs use that to choose parts of a long annotation. So do we. A
//! directive and the lines that it excludes leave empty lines. What is no directive (`# note`, `a #
//! b`) stays, and so does the rest of the string as written: in it there are no macros and no
//! comments. (`cpp` does replace macros in the lines between the first and the last.)

use super::Preprocessor;
use crate::lex::{RawKind, RawToken, StringEnd};

impl Preprocessor<'_> {
    /// The string that `head` begins; the scanner stands in front of a directive.
    pub(super) fn rest_of_string(&mut self, head: RawToken) -> RawToken {
        let depth = self.frames.len();
        let mut text = head.text.to_string();
        loop {
            self.directive_in_string(&mut text);
            match self.string_up_to_directive(depth, &mut text) {
                StringEnd::Directive => {}
                StringEnd::Quote => return self.whole_string(head, &text, depth),
                StringEnd::File => {
                    // Where a bound was exceeded, that has been reported.
                    let kind = match self.frames.len() < depth {
                        true => RawKind::String,
                        false => RawKind::OpenString,
                    };
                    return RawToken { kind, ..head };
                }
            }
        }
    }

    /// Carries out the directive at this place and appends the empty lines that it leaves.
    fn directive_in_string(&mut self, text: &mut String) {
        let Some(frame) = self.frames.last_mut() else {
            return;
        };
        let (from, file) = (frame.scanner.position(), frame.scanner.file());
        let hash = frame.scanner.pass_hash();
        self.directive(hash);
        if let Some(frame) = self.frames.last()
            && frame.scanner.file() == file
        {
            text.extend(std::iter::repeat_n('\n', frame.scanner.lines_since(from)));
        }
    }

    /// Appends the string's text up to the next directive, out of included files too; `depth` is
    /// the number of files that were open where the string begins.
    fn string_up_to_directive(&mut self, depth: usize, text: &mut String) -> StringEnd {
        loop {
            let Some(frame) = self.frames.last_mut() else {
                return StringEnd::File;
            };
            match frame.scanner.string_part(text) {
                StringEnd::File if self.frames.len() > depth => self.leave_file(),
                end => return end,
            }
        }
    }

    fn whole_string(&mut self, head: RawToken, text: &str, depth: usize) -> RawToken {
        let end = self.frames.last().map(|frame| frame.scanner.here());
        // A string that ends in an included file is shown where it begins.
        let span = match end {
            Some(end) if self.frames.len() == depth => head.span.to(end),
            _ => head.span,
        };
        RawToken {
            kind: RawKind::String,
            text: self.names.get(text),
            span,
            ..head
        }
    }
}
