//! What elaborating an expression gives.

use std::rc::Rc;

use num_bigint::BigInt;
use p4ir::{ExprId, ExternId, Place, TableId, ValueSetId};

use crate::ast::Symbol;
use crate::types::Ty;

use super::ActionInfo;

/// An elaborated expression.
#[derive(Clone, Debug)]
pub(crate) struct Elab<'a> {
    pub(crate) ty: Ty,
    pub(crate) val: Val<'a>,
}

/// An object that is known when the program is compiled.
#[derive(Clone, Debug)]
pub(crate) enum Object {
    /// `packet_in` or `packet_out`.
    Packet,
    Extern(ExternId),
    /// Index into the lowerer's block instances.
    Block(usize),
    Package(Box<p4ir::Package>),
}

/// Its value.
#[derive(Clone, Debug)]
pub(crate) enum Val<'a> {
    /// An error was reported, or the value is unknown while a declaration is only checked.
    Poison,
    Void,
    /// `int`, bit types and what is represented by them: the number, signed.
    Int(BigInt),
    Bool(bool),
    Str(Symbol),
    Error(u32),
    /// A plain enum's member.
    Enum(u32),
    /// Computed at run time; a scalar.
    Expr(ExprId),
    /// Stored at run time.
    Place {
        place: Place,
        writable: bool,
    },
    /// Components of a struct, header (valid), tuple, list or stack.
    Agg(Vec<Elab<'a>>),
    /// An invalid header or union.
    Invalid,
    Object(Object),
    Table(TableId),
    Action(Rc<ActionInfo<'a>>),
    ValueSet(ValueSetId),
}

impl<'a> Elab<'a> {
    pub(crate) fn new(ty: Ty, val: Val<'a>) -> Self {
        Self { ty, val }
    }

    pub(crate) fn poison() -> Self {
        Self {
            ty: Ty::Poison,
            val: Val::Poison,
        }
    }

    pub(crate) fn boolean(b: bool) -> Self {
        Self {
            ty: Ty::Bool,
            val: Val::Bool(b),
        }
    }

    pub(crate) fn int(v: impl Into<BigInt>) -> Self {
        Self {
            ty: Ty::Int,
            val: Val::Int(v.into()),
        }
    }

    pub(crate) fn place(ty: Ty, place: Place, writable: bool) -> Self {
        Self {
            ty,
            val: Val::Place { place, writable },
        }
    }

    pub(crate) fn is_poison(&self) -> bool {
        self.ty.is_poison() || matches!(self.val, Val::Poison)
    }

    /// Whether the value is known at compile time.
    pub(crate) fn is_const(&self) -> bool {
        match &self.val {
            Val::Expr(_) | Val::Place { .. } | Val::Void => false,
            Val::Agg(all) => all.iter().all(Elab::is_const),
            _ => true,
        }
    }

    /// Scalars and aggregates in the value.
    pub(crate) fn components(&self) -> u64 {
        match &self.val {
            Val::Agg(all) => all.iter().map(Elab::components).sum::<u64>() + 1,
            _ => 1,
        }
    }

    pub(crate) fn as_int(&self) -> Option<&BigInt> {
        match &self.val {
            Val::Int(v) => Some(v),
            _ => None,
        }
    }
}
