//! Expressions: pure, so all they need is storage.

use std::cmp::Ordering;

use p4ir::{BinaryOp, ExprId, ExprKind, Type, TypeId, UnaryOp};

use super::machine::Machine;
use crate::state::const_bits;
use crate::v1model::scalar_width;
use crate::value::Bits;

impl Machine<'_> {
    /// Whether a type is `int<N>`.
    pub(super) fn is_signed(&self, ty: TypeId) -> bool {
        matches!(self.program.types[ty], Type::Bits { signed: true, .. })
    }

    /// The value of a scalar expression.
    pub(super) fn eval(&self, id: ExprId) -> Bits {
        let expr = &self.program.exprs[id];
        let width = || scalar_width(self.program, expr.ty);
        match &expr.kind {
            ExprKind::Const(value) => const_bits(value, width()),
            ExprKind::Read(place) => match self.locate(place) {
                Some(at) => self.storage[at.leaf].clone(),
                None if matches!(self.program.types[expr.ty], Type::Varbit { .. }) => Bits::zero(0),
                None => Bits::zero(width()),
            },
            ExprKind::Unary(op, operand) => {
                let value = self.eval(*operand);
                match op {
                    UnaryOp::Not | UnaryOp::BitNot => value.not(),
                    UnaryOp::Neg => value.wrapping_neg(),
                }
            }
            ExprKind::Binary(op, left, right) => self.binary(*op, *left, *right),
            ExprKind::Cast(operand) => {
                let value = self.eval(*operand);
                let from = self.program.expr_type(*operand);
                if self.is_signed(from) {
                    value.resize_signed(width())
                } else {
                    value.resize_unsigned(width())
                }
            }
            ExprKind::Slice { value, hi, lo } => self.eval(*value).slice(*hi, *lo),
            ExprKind::Mux { cond, then, other } => self.eval(if self.eval(*cond).is_true() {
                *then
            } else {
                *other
            }),
            // The validity of a header is its first leaf, the next index of a stack likewise.
            ExprKind::IsValid(place) => self
                .locate(place)
                .map_or_else(|| Bits::zero(1), |at| self.storage[at.leaf].clone()),
            ExprKind::NextIndex(place) => {
                let next = self.locate(place).map(|at| self.storage[at.leaf].clone());
                next.unwrap_or_else(|| Bits::zero(width()))
            }
            ExprKind::PacketLength => {
                let length = if self.in_parser {
                    self.bytes.len() as u64
                } else {
                    0
                };
                Bits::from_u64(width(), length)
            }
        }
    }

    fn binary(&self, op: BinaryOp, left: ExprId, right: ExprId) -> Bits {
        let signed = self.is_signed(self.program.expr_type(left));
        let a = self.eval(left);
        // `&&` and `||` are pure too; stopping early only saves time.
        match op {
            BinaryOp::And if !a.is_true() => return a,
            BinaryOp::Or if a.is_true() => return a,
            _ => {}
        }
        let b = self.eval(right);
        let zero = Bits::zero(a.width());
        let compare = || {
            if signed {
                a.cmp_signed(&b)
            } else {
                a.cmp_unsigned(&b)
            }
        };
        let truth = Bits::from_bool;
        match op {
            BinaryOp::Add => a.wrapping_add(&b),
            BinaryOp::Sub => a.wrapping_sub(&b),
            BinaryOp::AddSat if signed => a.saturating_add_signed(&b),
            BinaryOp::AddSat => a.saturating_add_unsigned(&b),
            BinaryOp::SubSat if signed => a.saturating_sub_signed(&b),
            BinaryOp::SubSat => a.saturating_sub_unsigned(&b),
            BinaryOp::Mul => a.wrapping_mul(&b),
            BinaryOp::Div => a.checked_div_unsigned(&b).unwrap_or(zero),
            BinaryOp::Mod => a.checked_rem_unsigned(&b).unwrap_or(zero),
            BinaryOp::BitAnd | BinaryOp::And => a.and(&b),
            BinaryOp::BitOr | BinaryOp::Or => a.or(&b),
            BinaryOp::BitXor => a.xor(&b),
            BinaryOp::Shl => a.shl(b.as_shift_amount()),
            BinaryOp::Shr if signed => a.shr_signed(b.as_shift_amount()),
            BinaryOp::Shr => a.shr_unsigned(b.as_shift_amount()),
            BinaryOp::Concat => a.concat(&b),
            // Varbits are equal if their lengths are too, which comparing the strings does.
            BinaryOp::Eq => truth(a == b),
            BinaryOp::Ne => truth(a != b),
            BinaryOp::Lt => truth(compare() == Ordering::Less),
            BinaryOp::Le => truth(compare() != Ordering::Greater),
            BinaryOp::Gt => truth(compare() == Ordering::Greater),
            BinaryOp::Ge => truth(compare() != Ordering::Less),
        }
    }
}
