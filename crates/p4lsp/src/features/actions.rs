//! The help of findings as edits.

use std::collections::HashMap;

use lsp_types::{
    CodeAction, CodeActionKind, CodeActionParams, Position, Range, TextEdit, WorkspaceEdit,
};
use p4front::diag::Diagnostic;
use p4front::source::Span;

use super::View;
use crate::position::range;

pub(super) fn actions(view: &View<'_>, asked: &CodeActionParams) -> Vec<CodeAction> {
    let map = &view.reading.map;
    let mut actions = Vec::new();
    for found in &view.analysis.found {
        let Some(span) = found.span.filter(|span| span.file == view.file) else {
            continue;
        };
        let at = range(map, span);
        let touches = at.start <= asked.range.end && asked.range.start <= at.end;
        if !touches || map.expansion_at(span).is_some() {
            continue;
        }
        let Some((title, edit)) = fix(view, found, span, at) else {
            continue;
        };
        let said = asked.context.diagnostics.iter();
        let same = said.filter(|d| d.range == at).cloned().collect();
        #[allow(clippy::mutable_key_type)] // an address does not change
        let changes = HashMap::from([(asked.text_document.uri.clone(), edit)]);
        actions.push(CodeAction {
            title,
            kind: Some(CodeActionKind::QUICKFIX),
            diagnostics: Some(same),
            is_preferred: Some(true),
            edit: Some(WorkspaceEdit {
                changes: Some(changes),
                ..WorkspaceEdit::default()
            }),
            ..CodeAction::default()
        });
    }
    actions
}

/// The text between the first two backquotes behind `before`.
fn quoted<'h>(help: &'h str, before: &str) -> Option<&'h str> {
    let rest = help.strip_prefix(before)?;
    rest.split('`').next()
}

/// The edit that a help describes.
fn fix(
    view: &View<'_>,
    found: &Diagnostic,
    span: Span,
    at: Range,
) -> Option<(String, Vec<TextEdit>)> {
    let help = found.help.as_deref()?;
    let text = view.reading.map.text(span);
    let replace = |new: String| Some((format!("write `{new}`"), vec![TextEdit::new(at, new)]));
    let before = |new: String| {
        let place = Range::new(at.start, at.start);
        Some((
            format!("write `{}`", new.trim_end()),
            vec![TextEdit::new(place, new)],
        ))
    };
    for asks in [
        "did you mean `@",
        "did you mean `",
        "did you mean the method `",
    ] {
        if let Some(name) = quoted(help, asks) {
            return replace(name.to_owned());
        }
    }
    if help == "write `;` at the end of this line" {
        return before(";".to_owned());
    }
    if let Some(file) = quoted(help, "`#include <").filter(|_| help.ends_with("` declares it")) {
        let top = Range::new(Position::default(), Position::default());
        let line = format!("#include <{file}");
        let edit = TextEdit::new(top, format!("{line}\n"));
        return Some((format!("write `{line}`"), vec![edit]));
    }
    if let Some(cast) =
        quoted(help, "convert explicitly: `").or_else(|| quoted(help, "convert in two steps: `"))
    {
        let cast = cast.strip_suffix(" ...")?;
        let simple = text
            .chars()
            .all(|c| c.is_alphanumeric() || "_.[]".contains(c));
        return match simple {
            true => before(format!("{cast} ")),
            false => replace(format!("{cast} ({text})")),
        };
    }
    if help == "compare with 1: `... == 1`" {
        let simple = text
            .chars()
            .all(|c| c.is_alphanumeric() || "_.[]():".contains(c));
        return match simple {
            true => replace(format!("{text} == 1")),
            false => replace(format!("({text}) == 1")),
        };
    }
    if help.contains("` is a method: write `") {
        return replace(format!("{text}()"));
    }
    None
}
