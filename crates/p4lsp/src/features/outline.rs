//! What a file declares, and what the programs of the workspace do.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use lsp_types::WorkspaceSymbolParams;
use p4front::index::{Kind, Reading, Symbol};
use p4front::source::FileId;
use serde_json::{Value, json};

use super::{kinds, navigate};
use crate::analysis::{path_of_file, read};
use crate::position::range;
use crate::session::Session;

/// Programs that are parsed for one search, at most.
const MAX_PROGRAMS: usize = 40;
/// Symbols in one answer, at most.
const MAX_FOUND: usize = 500;

/// What a file declares, as a tree.
pub(super) fn outline(reading: &Reading, file: FileId) -> Vec<Value> {
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); reading.symbols().len()];
    let mut top = Vec::new();
    for (i, symbol) in reading.symbols().iter().enumerate() {
        let shown = symbol.span.file == file && is_shown(symbol.kind);
        match symbol.parent {
            _ if !shown => {}
            None => top.push(i),
            Some(parent) => {
                if let Some(siblings) = children.get_mut(parent) {
                    siblings.push(i);
                }
            }
        }
    }
    let tree = top.iter().map(|i| entry(reading, *i, &children));
    tree.collect()
}

fn is_shown(kind: Kind) -> bool {
    !matches!(kind, Kind::Param | Kind::TypeParam)
}

fn entry(reading: &Reading, at: usize, children: &[Vec<usize>]) -> Value {
    let Some(symbol) = reading.symbols().get(at) else {
        return Value::Null;
    };
    let map = &reading.map;
    let mut whole = symbol.extent;
    // A construct that is spread over files is shown where its name is.
    if whole.file != symbol.span.file
        || !(whole.start <= symbol.span.start && symbol.span.end <= whole.end)
    {
        whole = symbol.span;
    }
    let below: &[usize] = children.get(at).map_or(&[], Vec::as_slice);
    let below: Vec<Value> = below.iter().map(|i| entry(reading, *i, children)).collect();
    json!({
        "name": &*symbol.name,
        "detail": symbol.signature(map),
        "kind": kinds::symbol(symbol.kind),
        "range": range(map, whole),
        "selectionRange": range(map, symbol.span),
        "children": below,
    })
}

/// Declarations of the workspace whose names hold the letters that are asked for, in their order.
pub(super) fn search(session: &mut Session, asked: &WorkspaceSymbolParams) -> Vec<Value> {
    let mut programs = session.readings();
    for main in session.workspace.mains().into_iter().take(MAX_PROGRAMS) {
        if !programs.contains_key(&main)
            && let Some(reading) = read(&main, &session.documents.snapshot(), &session.options)
        {
            programs.insert(main, Arc::new(reading));
        }
    }
    let mut seen: BTreeSet<(PathBuf, u32)> = BTreeSet::new();
    let mut found = Vec::new();
    for reading in programs.values() {
        let symbols = reading.symbols().iter();
        let wanted = symbols.filter(|s| is_shown(s.kind) && holds(&s.name, &asked.query));
        for symbol in wanted {
            let builtin = reading.map.file(symbol.span.file).is_none_or(|f| f.builtin);
            let path = match builtin {
                true => None,
                false => path_of_file(reading, symbol.span.file),
            };
            if found.len() == MAX_FOUND {
                return found;
            }
            if path.is_some_and(|path| seen.insert((path, symbol.span.start))) {
                found.extend(information(reading, symbol));
            }
        }
    }
    found
}

fn information(reading: &Reading, symbol: &Symbol) -> Option<Value> {
    let parent = symbol.parent.and_then(|i| reading.symbols().get(i));
    Some(json!({
        "name": &*symbol.name,
        "kind": kinds::symbol(symbol.kind),
        "location": navigate::location(reading, symbol.span)?,
        "containerName": parent.map(|p| p.name.to_string()),
    }))
}

/// Whether the letters of a query are in a name, in their order; case does not count.
fn holds(name: &str, query: &str) -> bool {
    let mut letters = name.chars().map(|c| c.to_ascii_lowercase());
    let mut query = query.chars().map(|c| c.to_ascii_lowercase());
    query.all(|wanted| letters.any(|letter| letter == wanted))
}
