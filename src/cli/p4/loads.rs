//! Findings of `p4 check` about what the executors and the switch refuse to load. The loaders' own
//! code finds them.

use std::sync::Arc;

use p4exec::RuntimeState;
use p4front::P4Info;
use p4front::diag::Diagnostic;
use p4front::source::SourceMap;
use p4ir::{Span, ValidProgram};
use switchd::translate::schema::Schema;

/// What executors or the switch refuse: each call of an extern that they cannot run, else the first
/// thing that loading meets. Nothing for an architecture that no executor runs.
pub(super) fn refusals(program: ValidProgram, info: &P4Info, map: &SourceMap) -> Vec<Diagnostic> {
    if program.pipeline().is_none() {
        return Vec::new();
    }
    let mut found = unsupported_calls(&program, map);
    let refusal = refusal(program, info, map);
    found.extend(refusal.filter(|refusal| found.is_empty() || refusal.is_error()));
    found
}

/// A warning for each call of an extern that the embedded switch cannot run.
fn unsupported_calls(program: &ValidProgram, map: &SourceMap) -> Vec<Diagnostic> {
    let warn = |call: p4exec::UnsupportedCall| {
        let place = place_of(program, call.span, map);
        let text = format!("the embedded switch cannot run {}", call.what);
        Diagnostic::warning("unsupported", place, text)
    };
    let calls = p4exec::unsupported_calls(program).into_iter();
    calls.map(warn).collect()
}

/// A place of the program among the texts that it was compiled from.
fn place_of(program: &ValidProgram, at: Span, map: &SourceMap) -> Option<p4front::source::Span> {
    let file = program.files.get(at.file as usize)?;
    map.place(file, at.line, at.column)
}

/// The first thing that the executors' or the switch's loader refuses.
fn refusal(program: ValidProgram, info: &P4Info, map: &SourceMap) -> Option<Diagnostic> {
    let program = Arc::new(program);
    let place = |at: Option<Span>| place_of(&program, at?, map);
    if let Err(error) = RuntimeState::check(&program) {
        let (span, text) = (place(error.span(&program)), error.to_string());
        return Some(match error.is_of_program() {
            true => Diagnostic::error("table", span, text)
                .with_help("every command that loads the program refuses it: change the entry"),
            false => Diagnostic::warning("unsupported", span, text).with_help(
                "`p4 run` and `switch` refuse the program; `p4 compile` and `p4 info` do not",
            ),
        });
    }
    let refused = Schema::new(Arc::clone(&program), info, &Arc::default()).err()?;
    let span = place(named(&program, &refused.message));
    Some(
        Diagnostic::warning("unsupported", span, refused.message)
            .with_help("`switch` refuses the program; the other commands do not"),
    )
}

/// The place of the first object of the program that a text quotes.
fn named(program: &ValidProgram, text: &str) -> Option<Span> {
    let quoted = text.split('`').skip(1).step_by(2);
    let found = |name: &str| {
        let table = program
            .table_by_name(name)
            .map(|id| program.tables[id].span);
        let action = || {
            program
                .action_by_name(name)
                .map(|id| program.actions[id].span)
        };
        let object = || {
            program
                .extern_by_name(name)
                .map(|id| program.externs[id].span)
        };
        table.or_else(action).or_else(object)
    };
    quoted.into_iter().find_map(found)
}
