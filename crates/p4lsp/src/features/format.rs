//! A text, formatted.

use lsp_types::{DocumentFormattingParams, Position, Range, TextEdit};

use crate::address::path_of;
use crate::session::Session;

pub(super) fn format(session: &Session, asked: &DocumentFormattingParams) -> Option<Vec<TextEdit>> {
    let path = path_of(&asked.text_document.uri);
    let text = session.documents.text(&path)?;
    let formatted = p4front::format::format(&path.to_string_lossy(), text).ok()?;
    if *formatted == **text {
        return Some(Vec::new());
    }
    let lines = u32::try_from(text.lines().count()).unwrap_or(u32::MAX);
    let whole = Range::new(
        Position::default(),
        Position::new(lines.saturating_add(1), 0),
    );
    Some(vec![TextEdit::new(whole, formatted)])
}
