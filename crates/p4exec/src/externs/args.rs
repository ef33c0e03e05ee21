//! Arguments of extern calls.

use p4ir::{ExprId, ExternArg, Place};

/// The arguments of a call by position.
pub(crate) struct Args<'c>(pub(crate) &'c [ExternArg]);

impl<'c> Args<'c> {
    /// The expression of a scalar argument.
    pub(crate) fn expr(&self, index: usize) -> Option<ExprId> {
        match self.0.get(index)? {
            ExternArg::In(expr) => Some(*expr),
            _ => None,
        }
    }

    /// The place that the extern writes.
    pub(crate) fn place(&self, index: usize) -> Option<&'c Place> {
        match self.0.get(index)? {
            ExternArg::Out(place) | ExternArg::InOut(place) => Some(place),
            _ => None,
        }
    }

    /// The expressions of a data argument, one per scalar.
    pub(crate) fn data(&self, index: usize) -> &'c [ExprId] {
        match self.0.get(index) {
            Some(ExternArg::In(expr)) => std::slice::from_ref(expr),
            Some(ExternArg::Fields { values, .. }) => values,
            _ => &[],
        }
    }
}
