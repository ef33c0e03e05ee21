//! What Tofino computes besides plain arithmetic: the methods that the stateful ALU has inside the
//! `apply` of a `RegisterAction`, and the value that a `ParserCounter` takes from a field. The
//! public sources are the comments of `tofino1_base.p4` and `tofino2_base.p4`, and bf-p4c's
//! `mau/stateful_alu.cpp`.
//!
//! * `predicate` has one bit for each combination of the comparisons: bit *n* is set where the
//!   comparisons, the first lowest, are the binary digits of *n*. A comparison that is left out
//!   counts as false.
//! * `min8` and its kin look at the bytes, or pairs of bytes, of a value, the lowest first, of
//!   which a mask chooses. They compare without sign; of equal ones the lowest is meant. Nothing
//!   chosen gives 0. What the public sources do not say (`postmod`, `address`) is not run.

use p4ir::{BinaryOp, Const, ExprId, ExprKind, ExternArg, Place, StmtKind, Type};

use super::Lowerer;
use crate::source::Span;
use crate::types::Ty;

/// The least or the greatest of some lanes.
struct Extreme {
    /// Bits of a lane.
    width: u32,
    /// How a lane compares with the one found before if it takes its place.
    better: BinaryOp,
}

impl Extreme {
    fn of(method: &str) -> Option<Self> {
        let (width, better) = match method {
            "min8" => (8, BinaryOp::Lt),
            "max8" => (8, BinaryOp::Gt),
            "min16" => (16, BinaryOp::Lt),
            "max16" => (16, BinaryOp::Gt),
            _ => return None,
        };
        Some(Self { width, better })
    }
}

impl Lowerer<'_> {
    /// A call of a method of the stateful ALU; false if it is not one of those above.
    pub(super) fn stateful_alu(
        &mut self,
        method: &str,
        args: &[ExternArg],
        place: Option<&Place>,
        span: Span,
    ) -> bool {
        if method == "predicate" {
            return self.predicate(args, place, span);
        }
        match Extreme::of(method) {
            Some(extreme) => self.extreme(&extreme, args, place, span),
            None => false,
        }
    }

    fn predicate(&mut self, args: &[ExternArg], place: Option<&Place>, span: Span) -> bool {
        let Some(place) = place else { return true };
        let Ok(count) = u32::try_from(args.len()) else {
            return false;
        };
        let mut number = self.number(0, count.max(1));
        for (digit, arg) in (0..).zip(args) {
            let ExternArg::In(holds) = arg else { continue };
            let then = self.number(1 << digit, count);
            let other = self.number(0, count);
            let cond = *holds;
            let digit = self.bits(ExprKind::Mux { cond, then, other }, count);
            number = self.bits(ExprKind::Binary(BinaryOp::BitOr, number, digit), count);
        }
        let width = 1 << count;
        let one = self.number(1, width);
        let value = self.bits(ExprKind::Binary(BinaryOp::Shl, one, number), width);
        self.store_resized(place, value, span)
    }

    fn extreme(
        &mut self,
        extreme: &Extreme,
        args: &[ExternArg],
        place: Option<&Place>,
        span: Span,
    ) -> bool {
        let [value, ExternArg::In(mask), rest @ ..] = args else {
            return false;
        };
        let index = match rest {
            [ExternArg::Out(index), ExternArg::Omitted] | [ExternArg::Out(index)] => Some(index),
            [ExternArg::Omitted, ExternArg::Omitted] | [ExternArg::Omitted] => None,
            _ => return false,
        };
        let value = match value {
            ExternArg::In(value) => self.joined(&[*value]),
            // The first field of a cell lies lowest.
            ExternArg::Fields { values, .. } => {
                let values: Vec<ExprId> = values.iter().rev().copied().collect();
                self.joined(&values)
            }
            _ => None,
        };
        let Some(value) = value else { return false };
        let (value, mask) = (self.keep(value, span), self.keep(*mask, span));
        let lanes = (self.expr_width(value) / extreme.width).min(self.expr_width(mask));
        let best = self.cleared(extreme.width, span);
        let at = self.cleared(8, span);
        let found = self.cleared(1, span);
        for lane in 0..lanes {
            self.compare_lane(extreme, (value, mask), lane, [&best, &at, &found], span);
        }
        let at = self.load_bits(&at, 8);
        let best = self.load_bits(&best, extreme.width);
        index.is_none_or(|index| self.store_resized(index, at, span))
            && place.is_none_or(|place| self.store_resized(place, best, span))
    }

    /// Takes a lane if the mask has it and it is better than what was found before.
    fn compare_lane(
        &mut self,
        extreme: &Extreme,
        (value, mask): (ExprId, ExprId),
        lane: u32,
        [best, at, found]: [&Place; 3],
        span: Span,
    ) {
        let low = lane * extreme.width;
        let (hi, lo) = (low + extreme.width - 1, low);
        let part = self.bits(ExprKind::Slice { value, hi, lo }, extreme.width);
        let (hi, lo) = (lane, lane);
        let chosen = self.bits(
            ExprKind::Slice {
                value: mask,
                hi,
                lo,
            },
            1,
        );
        let (one, zero) = (self.number(1, 1), self.number(0, 1));
        let chosen = self.boolean(ExprKind::Binary(BinaryOp::Eq, chosen, one));
        let before = self.load_bits(found, 1);
        let first = self.boolean(ExprKind::Binary(BinaryOp::Eq, before, zero));
        let before = self.load_bits(best, extreme.width);
        let better = self.boolean(ExprKind::Binary(extreme.better, part, before));
        let better = self.boolean(ExprKind::Binary(BinaryOp::Or, first, better));
        let cond = self.boolean(ExprKind::Binary(BinaryOp::And, chosen, better));
        let (then, ()) = self.nested(|s| {
            s.assign_expr(best, part, span);
            let number = s.number(lane.into(), 8);
            s.assign_expr(at, number, span);
            s.assign_expr(found, one, span);
        });
        let other = Vec::new();
        self.emit(StmtKind::If { cond, then, other }, span);
    }

    /// A new variable that holds 0.
    fn cleared(&mut self, width: u32, span: Span) -> Place {
        let place = self.temp(&Ty::bit(width), span);
        self.emit(StmtKind::Reset(place.clone()), span);
        place
    }

    /// Stores bits in a place of any width; false if it holds something else.
    fn store_resized(&mut self, place: &Place, value: ExprId, span: Span) -> bool {
        let Some(ty) = self.emitter.ir.place_type(place) else {
            return false;
        };
        let value = match self.emitter.ir.types[ty] {
            Type::Bits {
                width,
                signed: false,
            } => self.resize(value, width),
            Type::Bits { signed: true, .. } => self.emitter.ir.add_expr(ExprKind::Cast(value), ty),
            _ => return false,
        };
        self.assign_expr(place, value, span);
        true
    }

    /// What a `ParserCounter` is set to from a field, which may be `max` at most: its 8 low bits
    /// rotated to the right, those of the mask, and a number added. On Tofino 1 the mask is given
    /// by the number of its ones less one.
    pub(super) fn counter_value(&mut self, args: [ExprId; 5], span: Span) -> ExprId {
        let [field, max, rotate, mask, add] = args;
        let wide = self.expr_width(field).max(8);
        let (whole, most) = (self.resize(field, wide), self.resize(max, wide));
        let cond = self.boolean(ExprKind::Binary(BinaryOp::Le, whole, most));
        let range = self.emitter.ir.error_index("CounterRange").unwrap_or(0);
        let kind = ExprKind::Const(Const::Error(range));
        let error = self.emitter.ir.add_expr(kind, self.emitter.common.error);
        self.emit(StmtKind::Verify { cond, error }, span);
        let byte = self.resize(field, 8);
        let seven = self.number(7, 8);
        let rotate = self.resize(rotate, 8);
        let down = self.bits(ExprKind::Binary(BinaryOp::BitAnd, rotate, seven), 8);
        let eight = self.number(8, 8);
        let up = self.bits(ExprKind::Binary(BinaryOp::Sub, eight, down), 8);
        let low = self.bits(ExprKind::Binary(BinaryOp::Shr, byte, down), 8);
        let high = self.bits(ExprKind::Binary(BinaryOp::Shl, byte, up), 8);
        let rotated = self.bits(ExprKind::Binary(BinaryOp::BitOr, low, high), 8);
        let mask = match self.expr_width(mask) {
            8 => mask,
            _ => {
                let mask = self.resize(mask, 8);
                let (ones, top) = (self.number(0xff, 8), self.number(7, 8));
                let unused = self.bits(ExprKind::Binary(BinaryOp::Sub, top, mask), 8);
                self.bits(ExprKind::Binary(BinaryOp::Shr, ones, unused), 8)
            }
        };
        let masked = self.bits(ExprKind::Binary(BinaryOp::BitAnd, rotated, mask), 8);
        let add = self.resize(add, 8);
        self.bits(ExprKind::Binary(BinaryOp::Add, masked, add), 8)
    }
}
