//! What a name is.

use lsp_types::{Hover, HoverContents, HoverParams, MarkupContent, MarkupKind};
use p4front::index::{Kind, Meant, Symbol};
use p4front::source::Span;

use super::View;
use crate::position::range;

/// Lines of the longest declaration that is shown whole.
const MAX_LINES: usize = 40;

pub(super) fn hover(view: &View<'_>, asked: &HoverParams) -> Option<Hover> {
    let (span, meant) = view.meant(asked.text_document_position_params.position)?;
    let value = match meant {
        Meant::Symbol(symbol) => of_symbol(view, symbol),
        Meant::BuiltIn(signature, meaning) => format!("```p4\n{signature}\n```\n{meaning}"),
        Meant::Macro(name, defined) => of_macro(view, &name, defined),
        Meant::File(file) => view.reading.map.file(file)?.name.to_string(),
    };
    let kind = MarkupKind::Markdown;
    let found = span != Span::default();
    Some(Hover {
        contents: HoverContents::Markup(MarkupContent { kind, value }),
        range: found.then(|| range(&view.reading.map, span)),
    })
}

fn of_symbol(view: &View<'_>, symbol: &Symbol) -> String {
    let map = &view.reading.map;
    let whole = map.text(symbol.extent);
    let record = matches!(
        symbol.kind,
        Kind::Header | Kind::HeaderUnion | Kind::Struct | Kind::Enum
    );
    let code = match record && whole.lines().count() <= MAX_LINES {
        true => whole.trim_end_matches(';').to_owned(),
        false => symbol.signature(map),
    };
    let mut text = format!("```p4\n{code}\n```\n{}", symbol.kind.words());
    let parent = symbol.parent.and_then(|i| view.reading.symbols().get(i));
    if let Some(parent) = parent {
        text += &format!(" of {} `{}`", parent.kind.words(), parent.name);
    }
    if let Some(ty) = view.analysis.index.type_of(symbol.span)
        && matches!(
            symbol.kind,
            Kind::Variable | Kind::Param | Kind::Constant | Kind::Instance
        )
    {
        text += &format!(", `{ty}`");
    }
    if let Some(file) = map.file(symbol.span.file) {
        let line = file.line_index(symbol.span.start) + 1;
        text += &format!(", {}:{line}", file.name);
    }
    let documentation = symbol.documentation(map);
    if !documentation.is_empty() {
        text += &format!("\n\n{documentation}");
    }
    text
}

fn of_macro(view: &View<'_>, name: &str, defined: Option<Span>) -> String {
    let map = &view.reading.map;
    let Some((span, file)) = defined.and_then(|span| Some((span, map.file(span.file)?))) else {
        return format!("macro `{name}`, defined by an option");
    };
    let line = file.line_index(span.start);
    let text = file.line_text(line).trim();
    format!("```p4\n{text}\n```\nmacro, {}:{}", file.name, line + 1)
}
