//! Finds out, before any packet comes, whether the interpreter knows every extern a program calls.

use p4ir::{ExternCall, ExternCallee, ExternFunction, ExternMethod, ValidProgram};

use crate::independent::extern_calls;
use crate::state::BuildError;

/// Refuses a program that calls an extern this executor lacks.
pub(super) fn check(program: &ValidProgram) -> Result<(), BuildError> {
    let calls = extern_calls(program);
    match calls.iter().find(|call| !is_known(&call.callee)) {
        Some(call) => Err(BuildError::UnsupportedExtern(called_name(program, call))),
        None => Ok(()),
    }
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
