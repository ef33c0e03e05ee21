//! From a name to where it is declared and used.

use std::collections::HashSet;
use std::path::PathBuf;

use lsp_types::{
    DocumentHighlight, DocumentHighlightParams, GotoDefinitionParams, Location, Range,
    ReferenceParams,
};
use p4front::index::{Index, Meant, Reading};
use p4front::source::Span;

use super::View;
use crate::address::uri_of;
use crate::analysis::path_of_file;
use crate::position::range;

pub(super) fn definition(view: &View<'_>, asked: &GotoDefinitionParams) -> Option<Location> {
    let (_, meant) = view.meant(asked.text_document_position_params.position)?;
    let span = match meant {
        Meant::Symbol(symbol) => symbol.span,
        Meant::BuiltIn(..) => return None,
        Meant::Macro(_, defined) => defined?,
        Meant::File(file) => Span::new(file, 0, 0),
    };
    location(view.reading, span)
}

/// A place for an editor.
pub(super) fn location(reading: &Reading, span: Span) -> Option<Location> {
    let path = path_of_file(reading, span.file)?;
    Some(Location {
        uri: uri_of(&path)?,
        range: range(&reading.map, span),
    })
}

/// All places of a name, each once: a file that is included twice is two files of a program.
pub(super) fn places(reading: &Reading, index: &Index, declared: Span) -> Vec<(PathBuf, Span)> {
    let mut seen = HashSet::new();
    let mut places = Vec::new();
    let all = same(reading, declared);
    for span in all.into_iter().flat_map(|declared| index.uses_of(declared)) {
        let Some(path) = path_of_file(reading, span.file) else {
            continue;
        };
        if seen.insert((path.clone(), span.start)) {
            places.push((path, span));
        }
    }
    places
}

/// A declaration, in each of the files that are the same file.
fn same(reading: &Reading, declared: Span) -> Vec<Span> {
    let map = &reading.map;
    let Some(name) = map.file(declared.file).map(|f| f.name.clone()) else {
        return vec![declared];
    };
    let files = map.files().filter(|(_, f)| f.name == name);
    files
        .map(|(id, _)| Span::new(id, declared.start, declared.end))
        .collect()
}

pub(super) fn references(view: &View<'_>, asked: &ReferenceParams) -> Option<Vec<Location>> {
    let (_, meant) = view.meant(asked.text_document_position.position)?;
    let Meant::Symbol(symbol) = meant else {
        return None;
    };
    let mut all = places(view.reading, &view.analysis.index, symbol.span);
    if !asked.context.include_declaration {
        all.retain(|(_, span)| *span != symbol.span);
    }
    let location = |(path, span): (PathBuf, Span)| {
        Some(Location {
            uri: uri_of(&path)?,
            range: range(&view.reading.map, span),
        })
    };
    Some(all.into_iter().filter_map(location).collect())
}

pub(super) fn highlight(
    view: &View<'_>,
    asked: &DocumentHighlightParams,
) -> Option<Vec<DocumentHighlight>> {
    let (span, meant) = view.meant(asked.text_document_position_params.position)?;
    let highlight = |range: Range| DocumentHighlight { range, kind: None };
    let map = &view.reading.map;
    let Meant::Symbol(symbol) = meant else {
        return Some(vec![highlight(range(map, span))]);
    };
    let uses = view.analysis.index.uses_of(symbol.span).into_iter();
    let here = uses.filter(|span| span.file == view.file);
    Some(here.map(|span| highlight(range(map, span))).collect())
}
