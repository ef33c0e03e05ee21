//! Whether packets of a program leave anything to those after them.

use p4ir::{
    Block, ExprKind, ExternCall, ExternCallee, ExternFunction, ExternMethod, Pipeline, Place,
    Projection, Span, StmtKind, TypeId, ValidProgram,
};

/// Fields of v1model's `standard_metadata` that tell a time.
const TIMES: [&str; 4] = [
    "enq_timestamp",
    "deq_timedelta",
    "ingress_global_timestamp",
    "egress_global_timestamp",
];

/// Whether what becomes of a packet depends on nothing but its bytes, its port, the tables and the
/// ports' status: not on packets before it, not on the time. Such packets may be run in any order,
/// and at any time until tables or ports change; what they count comes to the same. False wherever
/// that is not known for certain.
#[must_use]
pub fn are_packets_independent(program: &ValidProgram) -> bool {
    !reads_time(program)
        && extern_calls(program)
            .iter()
            .all(|(call, _)| leaves_nothing(&call.callee))
}

/// Whether an extern keeps nothing but what it counts, and draws nothing.
const fn leaves_nothing(callee: &ExternCallee) -> bool {
    matches!(
        callee,
        ExternCallee::Function(
            ExternFunction::Hash
                | ExternFunction::LogMsg
                | ExternFunction::MarkToDrop
                | ExternFunction::UpdateChecksum
                | ExternFunction::UpdateChecksumWithPayload
                | ExternFunction::VerifyChecksum
                | ExternFunction::VerifyChecksumWithPayload
        ) | ExternCallee::Method(
            _,
            ExternMethod::Count | ExternMethod::CountDirect | ExternMethod::GetChecksum16
        )
    )
}

/// Whether any expression of a program reads a time; true for programs of other architectures.
fn reads_time(program: &ValidProgram) -> bool {
    let Some(Pipeline::V1Model(view)) = program.pipeline() else {
        return true;
    };
    let standard = program.vars[view.standard_metadata].ty;
    let times = TIMES.map(|name| program.types.field_index(standard, name));
    program.exprs.values().any(|expr| match &expr.kind {
        ExprKind::Read(place) => {
            field_of(program, place, standard).is_some_and(|field| times.contains(&Some(field)))
        }
        _ => false,
    })
}

/// Which field of a type a place is, wherever a value of that type lies.
fn field_of(program: &ValidProgram, place: &Place, ty: TypeId) -> Option<u32> {
    let (last, before) = place.path.split_last()?;
    let whole = Place {
        var: place.var,
        path: before.to_vec(),
    };
    match last {
        Projection::Field(field) if program.place_type(&whole) == Some(ty) => Some(*field),
        _ => None,
    }
}

/// The calls of externs in a program, and where they stand.
pub(crate) fn extern_calls(program: &ValidProgram) -> Vec<(&ExternCall, Span)> {
    let mut calls = Vec::new();
    program
        .blocks()
        .for_each(|block| add_calls(block, &mut calls));
    calls
}

fn add_calls<'p>(block: &'p Block, calls: &mut Vec<(&'p ExternCall, Span)>) {
    for stmt in block {
        if let StmtKind::Extern(call) = &stmt.kind {
            calls.push((call, stmt.span));
        }
        for block in stmt.kind.blocks() {
            add_calls(block, calls);
        }
    }
}
