//! Places of a text: bytes here, lines and UTF-16 units in the protocol.

use lsp_types::{Position, Range};
use p4front::source::{FileId, SourceMap, Span};

/// The byte of a position; of one behind the end of a line, the end of the line; behind the text,
/// its end.
pub(crate) fn offset(text: &str, at: Position) -> usize {
    let mut start = 0;
    for _ in 0..at.line {
        match text.get(start..).and_then(|rest| rest.find('\n')) {
            Some(end) => start += end + 1,
            None => return text.len(),
        }
    }
    let rest = text.get(start..).unwrap_or_default();
    let line = rest.split('\n').next().unwrap_or_default();
    start + in_line(line.trim_end_matches('\r'), at.character)
}

/// The byte of a column of a line.
fn in_line(line: &str, column: u32) -> usize {
    let mut units = 0;
    for (at, c) in line.char_indices() {
        if units >= column {
            return at;
        }
        units += u32::try_from(c.len_utf16()).unwrap_or(1);
    }
    line.len()
}

/// The byte of a position in a file of a program.
pub(crate) fn offset_in(map: &SourceMap, file: FileId, at: Position) -> u32 {
    let Some(file) = map.file(file) else {
        return 0;
    };
    let line = u32::try_from(in_line(file.line_text(at.line), at.character)).unwrap_or(0);
    file.line_start(at.line)
        .saturating_add(line)
        .min(file.len())
}

/// A span in lines and UTF-16 units.
pub(crate) fn range(map: &SourceMap, span: Span) -> Range {
    let position = |offset: u32| {
        let Some(file) = map.file(span.file) else {
            return Position::default();
        };
        let line = file.line_index(offset);
        let start = file.line_start(line);
        let before = file.text.get(start as usize..offset as usize);
        let units = before.unwrap_or_default().encode_utf16().count();
        Position::new(line, u32::try_from(units).unwrap_or(u32::MAX))
    };
    Range::new(position(span.start), position(span.end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_utf16_and_bounded() {
        let text = "a\u{1F600}b\r\ncd";
        assert_eq!(offset(text, Position::new(0, 3)), 5);
        assert_eq!(offset(text, Position::new(0, 99)), 6);
        assert_eq!(offset(text, Position::new(1, 1)), 9);
        assert_eq!(offset(text, Position::new(9, 9)), text.len());
    }
}
