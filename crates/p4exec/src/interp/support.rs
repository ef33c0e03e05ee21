//! Finds out, before any packet comes, whether the interpreter knows every extern a program calls.

use p4ir::{Block, ExternCall, ExternCallee, ExternFunction, ExternMethod, StmtKind, ValidProgram};

use crate::state::BuildError;

/// Refuses a program that calls an extern this executor lacks.
pub(super) fn check(program: &ValidProgram) -> Result<(), BuildError> {
    let blocks = program
        .actions
        .values()
        .map(|a| &a.body)
        .chain(program.functions.values().map(|f| &f.body))
        .chain(program.tables.values().map(|t| &t.prologue))
        .chain(program.controls.values().flat_map(|c| [&c.init, &c.body]))
        .chain(program.parsers.values().map(|p| &p.init))
        .chain(program.states.values().map(|s| &s.body));
    for block in blocks {
        check_block(program, block)?;
    }
    Ok(())
}

fn check_block(program: &ValidProgram, block: &Block) -> Result<(), BuildError> {
    for stmt in block {
        match &stmt.kind {
            StmtKind::Extern(call) if !is_known(&call.callee) => {
                return Err(BuildError::UnsupportedExtern(called_name(program, call)));
            }
            StmtKind::If { then, other, .. } => {
                check_block(program, then)?;
                check_block(program, other)?;
            }
            StmtKind::Switch { cases, default, .. } => {
                for case in cases {
                    check_block(program, &case.body)?;
                }
                check_block(program, default)?;
            }
            StmtKind::Loop {
                head, body, step, ..
            } => {
                for block in [head, body, step] {
                    check_block(program, block)?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

const fn is_known(callee: &ExternCallee) -> bool {
    !matches!(
        callee,
        ExternCallee::Function(ExternFunction::Other(_))
            | ExternCallee::Method(_, ExternMethod::Other(_))
    )
}

fn called_name(program: &ValidProgram, call: &ExternCall) -> String {
    match &call.callee {
        ExternCallee::Method(id, method) => {
            format!("{}.{}", program.externs[*id].ty.name(), method.name())
        }
        ExternCallee::Function(function) => function.name().to_owned(),
    }
}
