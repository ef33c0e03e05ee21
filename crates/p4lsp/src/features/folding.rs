//! What can be folded: whatever stands between braces.

use lsp_types::FoldingRange;
use p4front::index::Reading;
use p4front::source::FileId;

pub(super) fn folds(reading: &Reading, file: FileId) -> Vec<FoldingRange> {
    let Some(text) = reading.map.file(file) else {
        return Vec::new();
    };
    let line = |at: u32| text.line_index(at);
    let braces = reading.braces(file).into_iter();
    let long = braces.filter(|span| line(span.start) < line(span.end));
    let fold = long.map(|span| FoldingRange {
        start_line: line(span.start),
        // The line of the closing brace stays.
        end_line: line(span.end).saturating_sub(1),
        ..FoldingRange::default()
    });
    fold.collect()
}
