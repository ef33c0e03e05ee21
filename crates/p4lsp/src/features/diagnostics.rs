//! Findings as the protocol has them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use lsp_types::{
    Diagnostic, DiagnosticRelatedInformation, DiagnosticSeverity, NumberOrString, Position, Range,
};
use p4front::diag::{Diagnostic as Found, Severity};

use super::navigate::location;
use crate::analysis::{Analysis, path_of_file};
use crate::position::range;

/// Findings by the file they are in; the main file is always there. `orphan`: no program includes
/// the file, so what others declare for it is not known.
pub(crate) fn of(
    analysis: &Analysis,
    root: &Path,
    orphan: bool,
) -> BTreeMap<PathBuf, Vec<Diagnostic>> {
    let mut all = BTreeMap::from([(root.to_path_buf(), Vec::new())]);
    let unknown = orphan && analysis.found.iter().any(needs_others);
    if unknown {
        all.entry(root.to_path_buf()).or_default().push(alone());
    }
    for found in &analysis.found {
        if unknown && !stands_alone(found) {
            continue;
        }
        let (path, made) = diagnostic(analysis, root, found);
        all.entry(path).or_default().push(made);
    }
    all
}

/// Whether a finding may come of declarations that stand in the file's program.
fn needs_others(found: &Found) -> bool {
    ["name", "include", "unknown-type"].contains(&found.code)
        || found.message.contains("is not a type")
}

/// Whether a finding holds whatever the file's program is.
fn stands_alone(found: &Found) -> bool {
    matches!(found.code, "lexical" | "preprocessor")
}

fn alone() -> Diagnostic {
    Diagnostic {
        range: Range::new(Position::default(), Position::default()),
        severity: Some(DiagnosticSeverity::INFORMATION),
        source: Some("switchwright".to_owned()),
        message: "No program that was found includes this file. Names that others declare for it are not known, so \
                  its names and types are not checked."
            .to_owned(),
        ..Diagnostic::default()
    }
}

fn diagnostic(analysis: &Analysis, root: &Path, found: &Found) -> (PathBuf, Diagnostic) {
    let map = &analysis.reading.map;
    let severity = match found.severity {
        Severity::Error => DiagnosticSeverity::ERROR,
        Severity::Warning => DiagnosticSeverity::WARNING,
        Severity::Note => DiagnosticSeverity::INFORMATION,
    };
    let mut message = found.message.clone();
    for more in found.notes.iter().chain(&found.help) {
        message += &format!("\n{more}");
    }
    let path = found
        .span
        .filter(|span| map.file(span.file).is_some_and(|f| !f.builtin))
        .and_then(|span| path_of_file(&analysis.reading, span.file));
    if let (None, Some(span)) = (&path, found.span) {
        message = format!("{}: {message}", map.location(span));
    }
    let at = match (&path, found.span) {
        (Some(_), Some(span)) => range(map, span),
        _ => Range::default(),
    };
    let related = found.labels.iter().filter_map(|label| {
        Some(DiagnosticRelatedInformation {
            location: location(&analysis.reading, label.span)?,
            message: label.message.clone(),
        })
    });
    let related: Vec<_> = related.collect();
    let made = Diagnostic {
        range: at,
        severity: Some(severity),
        code: Some(NumberOrString::String(found.code.to_owned())),
        source: Some("switchwright".to_owned()),
        message,
        related_information: (!related.is_empty()).then_some(related),
        ..Diagnostic::default()
    };
    (path.unwrap_or_else(|| root.to_path_buf()), made)
}
