//! Checks of expressions, constants and places.

use num_bigint::BigUint;

use super::Checker;
use crate::Span;
use crate::entity::{Entity, ExprId, TypeId};
use crate::expr::{BinaryOp, Const, Expr, ExprKind, Place, Projection, UnaryOp};
use crate::limits::Limit;
use crate::types::Type;

impl Checker<'_> {
    pub(super) fn exprs(&mut self) {
        let mut heights: Vec<u64> = Vec::with_capacity(self.program.exprs.len());
        for (id, expr) in self.program.exprs.iter() {
            if let Err(message) = self.expr(id, expr) {
                self.fail(id, Span::default(), message);
            }
            let below = expr.kind.operands().into_iter();
            let below = below.filter_map(|e| heights.get(e.index()).copied()).max();
            let height = below.unwrap_or(0) + 1;
            heights.push(height);
            if height == Limit::Height.most() + 1 {
                // What is higher still is not told as well.
                if let Err(exceeded) = Limit::Height.check(height) {
                    self.exceed(id, Span::default(), exceeded);
                }
            }
        }
    }

    fn ty(&self, id: TypeId) -> Result<&Type, String> {
        self.program
            .types
            .get(id)
            .ok_or_else(|| format!("unknown type {id}"))
    }

    /// The type of an operand that must have been created before `user`.
    fn operand(&self, user: ExprId, id: ExprId) -> Result<TypeId, String> {
        if id.index() >= user.index() {
            return Err(format!("uses {id}, which does not come before it"));
        }
        Ok(self.program.exprs[id].ty)
    }

    fn bits_of(&self, ty: TypeId, what: &str) -> Result<(u32, bool), String> {
        self.ty(ty)?
            .bits()
            .ok_or_else(|| format!("{what} must be bits"))
    }

    fn bool_of(&self, ty: TypeId, what: &str) -> Result<(), String> {
        match self.ty(ty)? {
            Type::Bool => Ok(()),
            _ => Err(format!("{what} must be a bool")),
        }
    }

    /// The type of a place used by the expression `user`, or (`None`) by a statement.
    pub(super) fn place(&self, user: Option<ExprId>, place: &Place) -> Result<TypeId, String> {
        for step in &place.path {
            if let Projection::DynIndex(index) = step {
                let ty = match user {
                    Some(user) => self.operand(user, *index)?,
                    None => self.program.exprs.get(*index).ok_or("unknown index")?.ty,
                };
                if self.bits_of(ty, "a stack index")?.1 {
                    return Err("a stack index must be unsigned".into());
                }
            }
        }
        self.program
            .place_type(place)
            .ok_or_else(|| format!("place {} has a step that does not fit its type", place.var))
    }

    pub(super) fn constant(&self, value: &Const, ty: TypeId) -> Result<(), String> {
        let limit = |n: u32, len: usize| {
            if (n as usize) < len {
                Ok(())
            } else {
                Err("constant out of range".into())
            }
        };
        match (value, self.ty(ty)?) {
            (Const::Bits(v), Type::Bits { width, .. }) => self.fits(v, *width),
            (Const::Bool(_), Type::Bool) | (Const::Str(_), Type::String) => Ok(()),
            (Const::Error(i), Type::Error) => limit(*i, self.program.errors.len()),
            (Const::Enum(i), Type::Enum { members, .. }) => limit(*i, members.len()),
            _ => Err(format!("constant {value:?} is not of type {ty}")),
        }
    }

    pub(super) fn fits(&self, value: &BigUint, width: u32) -> Result<(), String> {
        if value.bits() <= u64::from(width) {
            Ok(())
        } else {
            Err(format!("constant {value} does not fit {width} bits"))
        }
    }

    fn expr(&self, id: ExprId, expr: &Expr) -> Result<(), String> {
        let result = self.ty(expr.ty)?;
        match &expr.kind {
            ExprKind::Const(value) => self.constant(value, expr.ty),
            ExprKind::Read(place) => same(self.place(Some(id), place)?, expr.ty),
            ExprKind::Unary(op, a) => {
                let a = self.operand(id, *a)?;
                same(a, expr.ty)?;
                match op {
                    UnaryOp::Not => self.bool_of(a, "the operand of !"),
                    UnaryOp::BitNot | UnaryOp::Neg => self.bits_of(a, "the operand").map(drop),
                }
            }
            ExprKind::Binary(op, a, b) => {
                self.binary(*op, self.operand(id, *a)?, self.operand(id, *b)?, expr.ty)
            }
            ExprKind::Cast(a) => {
                let a = self.operand(id, *a)?;
                match (self.ty(a)?, result) {
                    (Type::Bits { .. }, Type::Bits { .. }) => Ok(()),
                    (Type::Bool, Type::Bits { width: 1, .. })
                    | (Type::Bits { width: 1, .. }, Type::Bool) => Ok(()),
                    _ => Err(format!("no cast from {a} to {}", expr.ty)),
                }
            }
            ExprKind::Slice { value, hi, lo } => {
                let (width, _) = self.bits_of(self.operand(id, *value)?, "a sliced value")?;
                if hi < lo || *hi >= width {
                    return Err(format!("slice [{hi}:{lo}] of {width} bits"));
                }
                match result {
                    Type::Bits {
                        width,
                        signed: false,
                    } if *width == hi - lo + 1 => Ok(()),
                    _ => Err("slice has the wrong type".into()),
                }
            }
            ExprKind::Mux { cond, then, other } => {
                self.bool_of(self.operand(id, *cond)?, "the condition of ?:")?;
                same(self.operand(id, *then)?, expr.ty)?;
                same(self.operand(id, *other)?, expr.ty)?;
                if result.is_scalar() {
                    Ok(())
                } else {
                    Err("?: on an aggregate".into())
                }
            }
            ExprKind::IsValid(place) => {
                self.bool_of(expr.ty, "isValid")?;
                if self.ty(self.place(Some(id), place)?)?.is_header() {
                    Ok(())
                } else {
                    Err("isValid of something that is no header".into())
                }
            }
            ExprKind::NextIndex(place) => match (self.ty(self.place(Some(id), place)?)?, result) {
                (
                    Type::Stack { .. },
                    Type::Bits {
                        width: 32,
                        signed: false,
                    },
                ) => Ok(()),
                _ => Err("nextIndex is a bit<32> of a stack".into()),
            },
            ExprKind::PacketLength => match result {
                Type::Bits {
                    width: 32,
                    signed: false,
                } => Ok(()),
                _ => Err("the packet length is a bit<32>".into()),
            },
        }
    }

    fn binary(&self, op: BinaryOp, a: TypeId, b: TypeId, result: TypeId) -> Result<(), String> {
        use BinaryOp as B;
        match op {
            B::Add
            | B::Sub
            | B::AddSat
            | B::SubSat
            | B::Mul
            | B::Div
            | B::Mod
            | B::BitAnd
            | B::BitOr
            | B::BitXor => {
                self.bits_of(a, "an operand")?;
                same(a, b)?;
                same(a, result)
            }
            B::Shl | B::Shr => {
                self.bits_of(a, "the shifted value")?;
                if self.bits_of(b, "the shift distance")?.1 {
                    return Err("the shift distance must be unsigned".into());
                }
                same(a, result)
            }
            B::Concat => {
                let (wa, signed) = self.bits_of(a, "an operand")?;
                let (wb, _) = self.bits_of(b, "an operand")?;
                if self.bits_of(result, "the result")? == (wa + wb, signed) {
                    Ok(())
                } else {
                    Err("concatenation has the wrong type".into())
                }
            }
            B::Lt | B::Le | B::Gt | B::Ge => {
                self.bits_of(a, "an operand")?;
                same(a, b)?;
                self.bool_of(result, "a comparison")
            }
            B::Eq | B::Ne => {
                same(a, b)?;
                if !self.ty(a)?.is_scalar() {
                    return Err("comparison of aggregates".into());
                }
                self.bool_of(result, "a comparison")
            }
            B::And | B::Or => {
                self.bool_of(a, "an operand")?;
                self.bool_of(b, "an operand")?;
                self.bool_of(result, "the result")
            }
        }
    }
}

fn same(a: TypeId, b: TypeId) -> Result<(), String> {
    if a == b {
        Ok(())
    } else {
        Err(format!("types {a} and {b} differ"))
    }
}
