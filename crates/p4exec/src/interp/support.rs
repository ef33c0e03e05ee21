//! Finds out, before any packet comes, whether the executors know every extern a program calls.

use p4ir::{
    Const, ExprKind, ExternCall, ExternCallee, ExternFunction, ExternId, ExternMethod, Span,
    ValidProgram,
};

use crate::independent::extern_calls;
use crate::state::BuildError;
use crate::v1model::enum_member;

/// A call of an extern that no executor runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnsupportedCall {
    /// What is called, with the algorithm of a hash: ``method `get` of `h` (`Hash`, `CUSTOM`)``.
    pub what: String,
    /// Where it is called.
    pub span: Span,
}

/// Every call of an extern in a program that no executor runs, in the order of the program's
/// blocks.
#[must_use]
pub fn unsupported_calls(program: &ValidProgram) -> Vec<UnsupportedCall> {
    let calls = extern_calls(program).into_iter();
    calls
        .filter(|(call, _)| !is_known(&call.callee))
        .map(|(call, span)| UnsupportedCall {
            what: described(program, call),
            span,
        })
        .collect()
}

/// Refuses a program that calls an extern this executor lacks.
pub(super) fn check(program: &ValidProgram) -> Result<(), BuildError> {
    match unsupported_calls(program).into_iter().next() {
        Some(UnsupportedCall { what, span }) => Err(BuildError::UnsupportedExtern {
            what,
            place: named_place(program, span),
        }),
        None => Ok(()),
    }
}

/// ` at FILE:LINE:COLUMN`, nothing where the place is not known.
fn named_place(program: &ValidProgram, span: Span) -> String {
    match program.files.get(span.file as usize) {
        Some(file) if span.line > 0 => format!(" at {file}:{}:{}", span.line, span.column),
        _ => String::new(),
    }
}

const fn is_known(callee: &ExternCallee) -> bool {
    !matches!(
        callee,
        ExternCallee::Function(ExternFunction::Other(_))
            | ExternCallee::Method(_, ExternMethod::Other(_))
    )
}

fn described(program: &ValidProgram, call: &ExternCall) -> String {
    match &call.callee {
        ExternCallee::Method(id, method) => {
            let object = &program.externs[*id];
            let (ty, name, method) = (object.ty.name(), &object.name, method.name());
            match algorithm(program, *id) {
                Some(algorithm) => format!("method `{method}` of `{name}` (`{ty}`, `{algorithm}`)"),
                None => format!("method `{method}` of `{name}` (`{ty}`)"),
            }
        }
        ExternCallee::Function(function) => format!("extern function `{}`", function.name()),
    }
}

/// The first constructor argument that is a member of an enum.
fn algorithm(program: &ValidProgram, id: ExternId) -> Option<&str> {
    program.externs[id].args.iter().find_map(|(_, expr)| {
        let expr = &program.exprs[*expr];
        match &expr.kind {
            ExprKind::Const(Const::Enum(index)) => enum_member(program, expr.ty, u64::from(*index)),
            _ => None,
        }
    })
}
