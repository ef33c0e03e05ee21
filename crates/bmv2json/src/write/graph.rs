//! What steps hold: which have to be nodes of their own in a pipeline's graph.

use super::steps::Step;

/// Whether a table is applied in these steps.
pub(super) fn applies(steps: &[Step]) -> bool {
    steps.iter().any(|step| match step {
        Step::Apply(..) => true,
        Step::If(_, then, other, _) => applies(then) || applies(other),
        Step::Loop {
            head, body, step, ..
        } => applies(head) || applies(body) || applies(step),
        Step::Scope(inner) => applies(inner),
        _ => false,
    })
}

/// Whether a step of a control is nodes of the graph, rather than part of an action.
pub(super) fn conditional(step: &Step) -> bool {
    match step {
        Step::If(..) | Step::Return | Step::Break | Step::Continue | Step::Apply(..) => true,
        Step::Scope(inner) => applies(inner),
        Step::Loop {
            head, body, step, ..
        } => applies(head) || applies(body) || applies(step) || returns(body),
        _ => false,
    }
}

/// Whether a return leaves these steps.
fn returns(steps: &[Step]) -> bool {
    steps.iter().any(|step| match step {
        Step::Return => true,
        Step::If(_, then, other, _) => returns(then) || returns(other),
        Step::Loop { body, .. } => returns(body),
        _ => false,
    })
}

/// The steps up to the first that nothing follows.
pub(super) fn without_unreachable(steps: &[Step]) -> &[Step] {
    let ends = |step: &Step| {
        matches!(
            step,
            Step::Return | Step::Break | Step::Continue | Step::Exit
        )
    };
    match steps.iter().position(ends) {
        Some(last) => &steps[..=last],
        None => steps,
    }
}
