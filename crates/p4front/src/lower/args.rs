//! What is known of a call's arguments: their parameters, their order, how they are passed.

use p4ir::Place;

use super::assign::LValue;
use super::value::Elab;
use crate::ast::{self, Direction};
use crate::types::Ty;

/// An argument bound to a parameter.
pub(super) enum ArgVal<'a> {
    /// By value.
    Value(Elab<'a>),
    /// `out` or `inout`: where it is, saved; and the value of an `inout` argument, where a later
    /// argument has effects.
    Ref(LValue<'a>, Option<Elab<'a>>),
    /// `_` for an `out` parameter.
    Ignored,
    /// An optional parameter without argument.
    Omitted,
}

/// The arguments of a call matched to the parameters.
pub(super) struct Matched<'a> {
    /// The argument of each parameter, `None` where the call has none.
    pub(super) slots: Vec<Option<&'a ast::Arg>>,
    /// Positions of the parameters in the order of evaluation: as the call writes the arguments,
    /// then those without argument.
    pub(super) order: Vec<usize>,
}

/// The elaborated arguments of a call.
pub(super) struct Args<'a> {
    /// One per parameter, in the order of the parameters.
    pub(super) values: Vec<ArgVal<'a>>,
    /// As in [`Matched`].
    pub(super) order: Vec<usize>,
}

impl<'a> Args<'a> {
    /// The arguments with something of their parameters, in the order of evaluation. Results are
    /// copied out in this order too (P4_16, section 6.8, step 6).
    pub(super) fn into_written<T>(self, params: Vec<T>) -> Vec<(T, ArgVal<'a>)> {
        let pairs = params.into_iter().zip(self.values);
        let mut pairs: Vec<Option<_>> = pairs.map(Some).collect();
        let slots = self.order.into_iter();
        slots
            .filter_map(|slot| pairs.get_mut(slot)?.take())
            .collect()
    }
}

/// How a parameter is passed.
#[derive(Clone, Debug)]
pub(super) struct Passing {
    pub(super) place: Place,
    pub(super) ty: Ty,
    pub(super) direction: Direction,
}

/// Extern objects among the arguments of a function, and the others in the order in which they are
/// written.
pub(super) fn objects_apart<'a>(args: Args<'a>) -> (Vec<Elab<'a>>, Args<'a>) {
    let (mut objects, mut values) = (Vec::new(), Vec::new());
    let mut places = vec![None; args.values.len()];
    for (slot, value) in args.values.into_iter().enumerate() {
        match value {
            ArgVal::Value(v) if matches!(v.ty, Ty::Extern(..)) => objects.push(v),
            other => {
                places[slot] = Some(values.len());
                values.push(other);
            }
        }
    }
    let order = args.order.iter();
    let order = order.filter_map(|slot| places.get(*slot).copied().flatten());
    let order = order.collect();
    (objects, Args { values, order })
}
