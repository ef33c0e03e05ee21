//! Another name for what is declared, in all files of the programs it is in.
//!
//! The program is read again with the new name before any edit is given to the editor: if a name
//! then means something else, or something is wrong that was not, the reason is given instead.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

use lsp_types::{Range, RenameParams, TextDocumentPositionParams, TextEdit, WorkspaceEdit};
use p4front::diag::Severity;
use p4front::index::{Index, Meant, Reading, Symbol};
use p4front::lex::Keyword;
use p4front::source::Span;

use super::{View, navigate};
use crate::address::uri_of;
use crate::analysis::{file_of, path_of_file, read};
use crate::position::range;
use crate::session::Session;

pub(super) fn prepare(
    view: &View<'_>,
    asked: &TextDocumentPositionParams,
) -> Result<Range, String> {
    let (span, meant) = view.meant(asked.position).ok_or("there is no name here")?;
    renamed(view, &meant)?;
    Ok(range(&view.reading.map, span))
}

/// What is renamed, or why it cannot be.
fn renamed<'a>(view: &View<'a>, meant: &Meant<'a>) -> Result<&'a Symbol, String> {
    let symbol = match meant {
        Meant::Symbol(symbol) => *symbol,
        Meant::BuiltIn(..) => return Err("the language defines this name".to_owned()),
        Meant::Macro(name, _) => {
            return Err(format!("`{name}` is a macro; macros are not renamed"));
        }
        Meant::File(_) => return Err("this is the name of a file".to_owned()),
    };
    let name = &symbol.name;
    let file = view.reading.map.file(symbol.span.file);
    if let Some(file) = file.filter(|file| file.builtin) {
        return Err(format!(
            "`{name}` is declared in the built-in {}",
            file.name
        ));
    }
    if view.analysis.index.is_used_by_macro(symbol.span) {
        return Err(format!(
            "a macro uses `{name}`: its text would have to change"
        ));
    }
    if symbol.parent.is_none() && &**name == "main" {
        return Err("a program's instance is always called `main`".to_owned());
    }
    Ok(symbol)
}

pub(super) fn rename(
    session: &mut Session,
    view: &View<'_>,
    asked: &RenameParams,
) -> Result<WorkspaceEdit, String> {
    let (_, meant) = view
        .meant(asked.text_document_position.position)
        .ok_or("there is no name here")?;
    let symbol = renamed(view, &meant)?;
    let new = asked.new_name.as_str();
    check_name(new)?;
    let declared_in =
        path_of_file(view.reading, symbol.span.file).ok_or("the declaration is in no file")?;
    let mut edits: BTreeMap<PathBuf, BTreeSet<(u32, u32)>> = BTreeMap::new();
    let mut texts: BTreeMap<PathBuf, Arc<str>> = BTreeMap::new();
    let (first, index) = (view.reading, &view.analysis.index);
    collect(first, index, symbol.span, &mut edits, &mut texts);
    // Other programs that include the same file.
    let this = path_of_file(first, first.main).unwrap_or_default();
    let mains = session
        .workspace
        .including(&declared_in, &session.documents);
    let mut others = Vec::new();
    for main in mains.into_iter().filter(|main| *main != this) {
        let Some(reading) = read(&main, &session.documents.snapshot(), &session.options) else {
            continue;
        };
        let (index, found) = reading.index();
        if let Some(file) = file_of(&reading, &declared_in) {
            let declared = Span::new(file, symbol.span.start, symbol.span.end);
            if index.is_used_by_macro(declared) {
                return Err(format!(
                    "a macro of {} uses `{}`",
                    main.display(),
                    symbol.name
                ));
            }
            collect(&reading, &index, declared, &mut edits, &mut texts);
            others.push((main, errors(&found), index.size()));
        }
    }
    others.push((this, errors(&view.analysis.found), index.size()));
    verify(session, &others, &edits, &texts, new)?;
    let file_edits = |(path, places): (PathBuf, BTreeSet<(u32, u32)>)| {
        let text = texts.get(&path)?;
        let mut map = p4front::source::SourceMap::new();
        let file = map.add("", text).ok()?;
        let edit = |(start, end)| TextEdit {
            range: range(&map, Span::new(file, start, end)),
            new_text: new.to_owned(),
        };
        Some((uri_of(&path)?, places.into_iter().map(edit).collect()))
    };
    #[allow(clippy::mutable_key_type)] // an address does not change
    let changes: HashMap<_, _> = edits.into_iter().filter_map(file_edits).collect();
    Ok(WorkspaceEdit {
        changes: Some(changes),
        ..WorkspaceEdit::default()
    })
}

fn check_name(name: &str) -> Result<(), String> {
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if !begins || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Err(format!("`{name}` is no name"));
    }
    match Keyword::from_text(name) {
        Some(_) => Err(format!("`{name}` is a reserved word")),
        None => Ok(()),
    }
}

/// Adds the places of a name to the edits, with the texts they are in.
fn collect(
    reading: &Reading,
    index: &Index,
    declared: Span,
    edits: &mut BTreeMap<PathBuf, BTreeSet<(u32, u32)>>,
    texts: &mut BTreeMap<PathBuf, Arc<str>>,
) {
    for (path, span) in navigate::places(reading, index, declared) {
        if let Some(file) = reading.map.file(span.file) {
            texts
                .entry(path.clone())
                .or_insert_with(|| Arc::clone(&file.text));
        }
        edits
            .entry(path)
            .or_default()
            .insert((span.start, span.end));
    }
}

fn errors(found: &[p4front::diag::Diagnostic]) -> usize {
    let errors = found.iter().filter(|d| d.severity == Severity::Error);
    errors.count()
}

/// Reads the programs with the new name: nothing else may change.
fn verify(
    session: &Session,
    programs: &[(PathBuf, usize, usize)],
    edits: &BTreeMap<PathBuf, BTreeSet<(u32, u32)>>,
    texts: &BTreeMap<PathBuf, Arc<str>>,
    new: &str,
) -> Result<(), String> {
    let mut overlay = (*session.documents.snapshot()).clone();
    for (path, places) in edits {
        let Some(text) = texts.get(path) else {
            continue;
        };
        let mut changed = text.to_string();
        for (start, end) in places.iter().rev() {
            changed.replace_range(*start as usize..*end as usize, new);
        }
        overlay.insert(path.clone(), changed.into());
    }
    let overlay = Arc::new(overlay);
    for (main, errors_before, names_before) in programs {
        let Some(reading) = read(main, &overlay, &session.options) else {
            continue;
        };
        let (index, found) = reading.index();
        if errors(&found) > *errors_before {
            let first = found.iter().find(|d| d.severity == Severity::Error);
            let why = first.map_or(String::new(), |d| format!(": {}", d.message));
            return Err(format!("`{new}` cannot be used here{why}"));
        }
        let moved = edits.iter().any(|(path, places)| {
            file_of(&reading, path).is_some_and(|file| {
                let expected = shifted(places, new);
                let meanings = expected.iter().map(|at| index.declared_at(file, *at));
                let found: BTreeSet<_> = meanings.flatten().collect();
                found.len() > 1
            })
        });
        if moved || index.size() != *names_before {
            return Err(format!(
                "`{new}` means something else in a part of the program"
            ));
        }
    }
    Ok(())
}

/// Where places of a text are once the names at them are replaced.
fn shifted(places: &BTreeSet<(u32, u32)>, new: &str) -> Vec<u32> {
    let length = i64::try_from(new.len()).unwrap_or(0);
    let mut moved = 0;
    let mut out = Vec::new();
    for (start, end) in places {
        out.push(u32::try_from(i64::from(*start) + moved).unwrap_or(0));
        moved += length - i64::from(end - start);
    }
    out
}
