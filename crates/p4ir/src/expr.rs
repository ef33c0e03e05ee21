//! Constants, places and pure expressions.

use num_bigint::BigUint;
use serde::{Deserialize, Serialize};

use crate::entity::{ExprId, TypeId, VarId};

/// A constant scalar. Its type stands with the expression or key it belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Const {
    /// `bit<N>` or the two's complement bits of `int<N>`; always below 2^N.
    Bits(BigUint),
    /// `bool`.
    Bool(bool),
    /// Index into [`crate::Program::errors`].
    Error(u32),
    /// Index into the members of the enum.
    Enum(u32),
    /// A string literal.
    Str(String),
}

/// One step into a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Projection {
    /// Field of a record, by position.
    Field(u32),
    /// Element of a header stack; in bounds.
    Index(u32),
    /// Element of a header stack, index an unsigned `bit<N>`; out of bounds reads zero, writes
    /// nothing.
    DynIndex(ExprId),
}

/// A part of a variable: something that can be read, written, set valid.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Place {
    /// The variable.
    pub var: VarId,
    /// Steps from the whole to the part.
    pub path: Vec<Projection>,
}

impl Place {
    /// The whole variable.
    pub fn var(var: VarId) -> Self {
        Self {
            var,
            path: Vec::new(),
        }
    }

    /// Whether two places share storage; an index that is known at run time only may be any.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.var == other.var
            && self.path.iter().zip(&other.path).all(|steps| match steps {
                (Projection::Field(x), Projection::Field(y))
                | (Projection::Index(x), Projection::Index(y)) => x == y,
                _ => true,
            })
    }

    /// One step further in.
    pub fn project(&self, step: Projection) -> Self {
        let mut place = self.clone();
        place.path.push(step);
        place
    }

    /// A field of this place.
    pub fn field(&self, index: u32) -> Self {
        self.project(Projection::Field(index))
    }

    /// Whether no index is computed at run time.
    pub fn is_static(&self) -> bool {
        !self
            .path
            .iter()
            .any(|p| matches!(p, Projection::DynIndex(_)))
    }
}

/// Operators with one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum UnaryOp {
    /// `!` on bool.
    Not,
    /// `~` on bits.
    BitNot,
    /// `-` on bits, wrapping.
    Neg,
}

/// Operators with two operands. Both have the same type, except for `Shl`, `Shr` (right operand any
/// unsigned bits) and `Concat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum BinaryOp {
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `|+|`
    AddSat,
    /// `|-|`
    SubSat,
    /// `*`
    Mul,
    /// `/`, unsigned
    Div,
    /// `%`, unsigned
    Mod,
    /// `&`
    BitAnd,
    /// `|`
    BitOr,
    /// `^`
    BitXor,
    /// `<<`
    Shl,
    /// `>>`: arithmetic if the left operand is signed
    Shr,
    /// `++`: the left operand becomes the upper bits; the result has the left operand's signedness
    Concat,
    /// `==` on scalars of any kind, varbit included
    Eq,
    /// `!=`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
    /// `&&`
    And,
    /// `||`
    Or,
}

/// What an expression computes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ExprKind {
    /// A constant.
    Const(Const),
    /// The value stored in a place.
    Read(Place),
    /// One operand.
    Unary(UnaryOp, ExprId),
    /// Two operands.
    Binary(BinaryOp, ExprId, ExprId),
    /// Conversion to the expression's type: bits to bits, bool to `bit<1>` and back.
    Cast(ExprId),
    /// Bits `hi..=lo` of a value, as `bit<hi - lo + 1>`.
    Slice {
        /// The whole.
        value: ExprId,
        /// Most significant bit taken.
        hi: u32,
        /// Least significant bit taken.
        lo: u32,
    },
    /// `cond ? then : other`.
    Mux {
        /// A bool.
        cond: ExprId,
        /// Value if true.
        then: ExprId,
        /// Value if false.
        other: ExprId,
    },
    /// Validity of a header.
    IsValid(Place),
    /// `nextIndex` of a header stack, a `bit<32>`.
    NextIndex(Place),
    /// `packet_in.length()`: bytes of the whole packet being parsed, a `bit<32>`; 0 outside
    /// parsers.
    PacketLength,
}

impl ExprKind {
    /// The expressions that it computes from, indices of places among them.
    #[must_use]
    pub fn operands(&self) -> Vec<ExprId> {
        match self {
            Self::Const(_) | Self::PacketLength => Vec::new(),
            Self::Unary(_, a) | Self::Cast(a) | Self::Slice { value: a, .. } => vec![*a],
            Self::Binary(_, a, b) => vec![*a, *b],
            Self::Mux { cond, then, other } => vec![*cond, *then, *other],
            Self::Read(place) | Self::IsValid(place) | Self::NextIndex(place) => {
                let indices = place.path.iter().filter_map(|step| match step {
                    Projection::DynIndex(index) => Some(*index),
                    _ => None,
                });
                indices.collect()
            }
        }
    }
}

/// An expression and its type.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Expr {
    /// What it computes.
    pub kind: ExprKind,
    /// Type of the result.
    pub ty: TypeId,
}
