//! Pure expressions.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder as _, Value, types::I64};
use p4ir::{BinaryOp, Const, ExprId, ExprKind, Projection, Type, TypeId, UnaryOp};

use super::words::{Words, top_mask, words};
use super::{Gen, Helper, Kind, field};
use crate::compile::runtime::WideOp;
use crate::v1model::scalar_width;

/// An operand that loads more words is computed before the other operand.
const MANY_LOADS: usize = 16;

/// What some bits of a word must be.
#[derive(Clone, Copy)]
struct FixedBits {
    word: Value,
    mask: u64,
    bits: u64,
}

impl Gen<'_, '_> {
    /// Bits of a scalar type; a varbit has 0, as it brings its own length.
    pub(super) fn width(&self, ty: TypeId) -> u32 {
        match self.unit.program.types[ty] {
            Type::Varbit { .. } => 0,
            _ => scalar_width(self.unit.program, ty),
        }
    }

    fn is_signed(&self, ty: TypeId) -> bool {
        matches!(self.unit.program.types[ty], Type::Bits { signed: true, .. })
    }

    /// Words of a scalar type's value.
    pub(super) fn type_words(&self, ty: TypeId) -> usize {
        self.unit.layout.words_of(ty) as usize
    }

    fn zeros(&mut self, ty: TypeId) -> Words {
        vec![self.imm(0); self.type_words(ty)]
    }

    /// A constant of some width.
    pub(super) fn constant(&mut self, value: &Const, width: u32) -> Words {
        let bits = crate::state::const_bits(value, width);
        let mut raw = vec![0; words(width)];
        crate::compile::frame::words_of(&bits, &mut raw);
        raw.into_iter().map(|word| self.imm_u(word)).collect()
    }

    /// The value of a scalar expression as one word: all ones if it does not fit.
    pub(super) fn number(&mut self, id: ExprId) -> Value {
        let value = self.eval(id);
        self.saturated(&value)
    }

    /// The lowest word of a scalar expression.
    pub(super) fn eval_low(&mut self, id: ExprId) -> Value {
        let value = self.eval(id);
        value[0]
    }

    /// The value of a scalar expression.
    pub(super) fn eval(&mut self, id: ExprId) -> Words {
        let program = self.unit.program;
        let expr = &program.exprs[id];
        let width = self.width(expr.ty);
        match &expr.kind {
            ExprKind::Const(value) => self.constant(value, width),
            ExprKind::Read(place) => {
                let spot = self.locate(place);
                let value = self.read(&spot, self.type_words(expr.ty));
                if matches!(program.types[expr.ty], Type::Bits { .. }) {
                    self.note_width(&value, width);
                }
                value
            }
            ExprKind::Unary(UnaryOp::Neg, operand) => {
                let value = self.eval(*operand);
                let zero = vec![self.imm(0); value.len()];
                self.sub(&zero, &value, width)
            }
            ExprKind::Unary(UnaryOp::BitNot, operand) => {
                let value = self.eval(*operand);
                let flipped = value.iter().map(|v| self.b.ins().bnot(*v)).collect();
                self.trim(flipped, width)
            }
            ExprKind::Binary(op, left, right) => match op {
                BinaryOp::And
                | BinaryOp::Or
                | BinaryOp::Eq
                | BinaryOp::Ne
                | BinaryOp::Lt
                | BinaryOp::Le
                | BinaryOp::Gt
                | BinaryOp::Ge => self.truth_word(id),
                _ => self.binary(*op, *left, *right),
            },
            ExprKind::Unary(UnaryOp::Not, _) => self.truth_word(id),
            ExprKind::Cast(operand) => {
                let value = self.eval(*operand);
                let from = program.expr_type(*operand);
                let from_width = self.width(from);
                if self.is_signed(from) {
                    self.resized_signed(&value, from_width, width)
                } else {
                    self.resized(&value, from_width, width)
                }
            }
            ExprKind::Slice { value, hi, lo } => {
                let value = self.eval(*value);
                self.bits_from(&value, *lo, hi.saturating_sub(*lo) + 1)
            }
            ExprKind::Mux { cond, then, other } => {
                let cond = self.truth(*cond);
                let (then, other) = (self.eval(*then), self.eval(*other));
                self.choose(cond, &then, &other)
            }
            // The validity of a header is its first word, the next index of a stack likewise.
            ExprKind::IsValid(place) | ExprKind::NextIndex(place) => {
                let spot = self.locate(place);
                self.read(&spot, 1)
            }
            ExprKind::PacketLength => {
                if self.kind != Kind::Parser {
                    return self.zeros(expr.ty);
                }
                let length = self.load_ctx(field::PACKET_LEN);
                self.resized(&[length], 64, width)
            }
        }
    }

    /// Notes that nothing stands above a value's width.
    fn note_width(&mut self, value: &[Value], width: u32) {
        for (word, low) in value.iter().zip((0..width).step_by(64)) {
            self.note_possible(*word, top_mask((width - low).min(64)));
        }
    }

    fn truth_word(&mut self, id: ExprId) -> Words {
        let truth = self.truth(id);
        vec![self.b.ins().uextend(I64, truth)]
    }

    /// A bool expression as an 8-bit truth value.
    pub(super) fn truth(&mut self, id: ExprId) -> Value {
        let program = self.unit.program;
        match &program.exprs[id].kind {
            ExprKind::Const(Const::Bool(value)) => self.truth_of(*value),
            ExprKind::Unary(UnaryOp::Not, operand) => {
                let value = self.truth(*operand);
                self.b.ins().icmp_imm_s(IntCC::Equal, value, 0)
            }
            ExprKind::Binary(op @ (BinaryOp::And | BinaryOp::Or), left, right) => {
                if let Some(bits) = self.fixed_bits(id) {
                    return self.has_bits(bits);
                }
                let a = self.settled(|g| vec![g.truth(*left)])[0];
                let b = self.truth(*right);
                if *op == BinaryOp::And {
                    self.b.ins().band(a, b)
                } else {
                    self.b.ins().bor(a, b)
                }
            }
            ExprKind::Binary(op, left, right) => self.compare(*op, *left, *right),
            _ => {
                let value = self.eval(id);
                self.b.ins().icmp_imm_s(IntCC::NotEqual, value[0], 0)
            }
        }
    }

    /// The bits that fields cut out of one word must have, if that is all that an expression asks.
    fn fixed_bits(&mut self, id: ExprId) -> Option<FixedBits> {
        let program = self.unit.program;
        match &program.exprs[id].kind {
            ExprKind::Binary(BinaryOp::And, left, right) => {
                let (a, b) = (self.fixed_bits(*left)?, self.fixed_bits(*right)?);
                let both = FixedBits {
                    mask: a.mask | b.mask,
                    bits: a.bits | b.bits,
                    ..a
                };
                (a.word == b.word && a.mask & b.mask == 0).then_some(both)
            }
            ExprKind::Binary(BinaryOp::Eq, left, right) => {
                let (ExprKind::Read(place), ExprKind::Const(number)) =
                    (&program.exprs[*left].kind, &program.exprs[*right].kind)
                else {
                    return None;
                };
                let is_field = |step: &Projection| matches!(step, Projection::Field(_));
                let width = self.width(program.expr_type(*left));
                if !place.path.iter().all(is_field) || !(1..=64).contains(&width) {
                    return None;
                }
                let value = self.eval(*left)[0];
                let origin = *self.origins.get(&value).filter(|o| o.width == width)?;
                let number = self.constant(number, width)[0];
                Some(FixedBits {
                    word: origin.word,
                    mask: top_mask(width) << origin.low,
                    bits: self.known(number)? << origin.low,
                })
            }
            _ => None,
        }
    }

    fn has_bits(&mut self, FixedBits { word, mask, bits }: FixedBits) -> Value {
        let low = mask.trailing_zeros();
        let found = self.moved(word, -(low as i32), mask >> low);
        let wanted = self.imm_u(bits >> low);
        self.b.ins().icmp(IntCC::Equal, found, wanted)
    }

    /// A left operand. Cranelift computes what has no effects only where an effect needs it, so all
    /// that a large expression loads would be kept until its end; a store of the operand is such an
    /// effect.
    fn settled(&mut self, operand: impl FnOnce(&mut Self) -> Words) -> Words {
        let before = self.loads;
        let value = operand(self);
        if self.loads - before > MANY_LOADS.max(2 * value.len()) {
            let slot = self.scratch();
            for word in &value {
                self.b.ins().store(super::FLAGS, *word, slot, 0);
            }
            self.loads = before;
        }
        value
    }

    fn compare(&mut self, op: BinaryOp, left: ExprId, right: ExprId) -> Value {
        let ty = self.unit.program.expr_type(left);
        let kind = (self.width(ty), self.is_signed(ty));
        let a = self.settled(|g| g.eval(left));
        let b = self.eval(right);
        match op {
            BinaryOp::Eq => self.equal(&a, &b),
            BinaryOp::Ne => {
                if let ([a], [b]) = (&a[..], &b[..]) {
                    return self.b.ins().icmp(IntCC::NotEqual, *a, *b);
                }
                let equal = self.equal(&a, &b);
                self.b.ins().icmp_imm_s(IntCC::Equal, equal, 0)
            }
            BinaryOp::Lt => self.ordered(&a, &b, kind, false),
            BinaryOp::Le => self.ordered(&a, &b, kind, true),
            BinaryOp::Gt => self.ordered(&b, &a, kind, false),
            _ => self.ordered(&b, &a, kind, true),
        }
    }

    fn binary(&mut self, op: BinaryOp, left: ExprId, right: ExprId) -> Words {
        let program = self.unit.program;
        let (ty, right_ty) = (program.expr_type(left), program.expr_type(right));
        let (width, signed) = (self.width(ty), self.is_signed(ty));
        let right_width = self.width(right_ty);
        let a = self.settled(|g| g.eval(left));
        if let (BinaryOp::Shl | BinaryOp::Shr, ExprKind::Const(by)) =
            (op, &program.exprs[right].kind)
        {
            let by = crate::state::const_bits(by, right_width).as_shift_amount();
            return self.shift_const(op, &a, (width, signed), by);
        }
        let b = self.eval(right);
        match op {
            BinaryOp::Add => self.add(&a, &b, width),
            BinaryOp::Sub => self.sub(&a, &b, width),
            BinaryOp::BitAnd => self.each(&a, &b, |g, a, b| g.b.ins().band(a, b)),
            BinaryOp::BitOr => self.each(&a, &b, |g, a, b| g.or(a, b)),
            BinaryOp::BitXor => self.each(&a, &b, |g, a, b| g.b.ins().bxor(a, b)),
            BinaryOp::Concat => {
                let both = width + right_width;
                let high = self.shifted_up(&a, right_width, both);
                let low = self.resized(&b, right_width, both);
                self.each(&high, &low, |g, a, b| g.or(a, b))
            }
            _ if width == 0 => a,
            _ if width <= 64 => {
                let result = self.small(op, a[0], &b, width, signed);
                self.trim(vec![result], width)
            }
            _ => self.wide(op, &a, &b, (width, right_width), signed),
        }
    }

    fn shift_const(
        &mut self,
        op: BinaryOp,
        a: &[Value],
        (width, signed): (u32, bool),
        by: u32,
    ) -> Words {
        if signed && op == BinaryOp::Shr && width > 0 {
            let by = by.min(width - 1);
            let longer = self.resized_signed(a, width, width + by);
            return self.bits_from(&longer, by, width);
        }
        if by >= width {
            return vec![self.imm(0); a.len()];
        }
        if op == BinaryOp::Shl {
            self.shifted_up(a, by, width)
        } else {
            let kept = self.bits_from(a, by, width - by);
            self.resized(&kept, width - by, width)
        }
    }

    /// Operations on up to 64 bits, to be trimmed.
    fn small(&mut self, op: BinaryOp, a: Value, b: &[Value], width: u32, signed: bool) -> Value {
        let low = b[0];
        match op {
            BinaryOp::Mul => self.b.ins().imul(a, low),
            BinaryOp::Div | BinaryOp::Mod => {
                let none = self.b.ins().icmp_imm_s(IntCC::Equal, low, 0);
                let one = self.imm(1);
                let divisor = self.b.ins().select(none, one, low);
                let result = if op == BinaryOp::Div {
                    self.b.ins().udiv(a, divisor)
                } else {
                    self.b.ins().urem(a, divisor)
                };
                let zero = self.imm(0);
                self.b.ins().select(none, zero, result)
            }
            BinaryOp::AddSat | BinaryOp::SubSat if signed => {
                self.saturate_signed(op == BinaryOp::AddSat, a, low, width)
            }
            BinaryOp::AddSat => {
                let sum = self.b.ins().iadd(a, low);
                let most = self.imm_u(top_mask(width));
                let over = if width == 64 {
                    self.b.ins().icmp(IntCC::UnsignedLessThan, sum, a)
                } else {
                    self.b.ins().icmp(IntCC::UnsignedGreaterThan, sum, most)
                };
                self.b.ins().select(over, most, sum)
            }
            BinaryOp::SubSat => {
                let difference = self.b.ins().isub(a, low);
                let under = self.b.ins().icmp(IntCC::UnsignedLessThan, a, low);
                let zero = self.imm(0);
                self.b.ins().select(under, zero, difference)
            }
            BinaryOp::Shl => {
                let far = self.shifts_out(b, width);
                let shifted = self.b.ins().ishl(a, low);
                let zero = self.imm(0);
                self.b.ins().select(far, zero, shifted)
            }
            BinaryOp::Shr if signed => {
                let far = self.shifts_out(b, width);
                let most = self.imm(63);
                let by = self.b.ins().select(far, most, low);
                let free = i64::from(64 - width);
                let up = self.b.ins().ishl_imm_s(a, free);
                let value = self.b.ins().sshr_imm_s(up, free);
                self.b.ins().sshr(value, by)
            }
            _ => {
                let far = self.shifts_out(b, width);
                let shifted = self.b.ins().ushr(a, low);
                let zero = self.imm(0);
                self.b.ins().select(far, zero, shifted)
            }
        }
    }

    /// Whether shifting by a value leaves nothing of `width` bits, as a truth value.
    fn shifts_out(&mut self, by: &[Value], width: u32) -> Value {
        let by = self.saturated(by);
        let width = self.imm(i64::from(width));
        self.b
            .ins()
            .icmp(IntCC::UnsignedGreaterThanOrEqual, by, width)
    }

    /// `|+|` and `|-|` on `int<width>`, at the top of a word, where overflow of the word is
    /// overflow.
    fn saturate_signed(&mut self, add: bool, a: Value, b: Value, width: u32) -> Value {
        let free = i64::from(64 - width);
        let (a, b) = (
            self.b.ins().ishl_imm_s(a, free),
            self.b.ins().ishl_imm_s(b, free),
        );
        let (result, overflow) = if add {
            let sum = self.b.ins().iadd(a, b);
            let (x, y) = (self.b.ins().bxor(a, sum), self.b.ins().bxor(b, sum));
            (sum, self.b.ins().band(x, y))
        } else {
            let difference = self.b.ins().isub(a, b);
            let (x, y) = (self.b.ins().bxor(a, b), self.b.ins().bxor(a, difference));
            (difference, self.b.ins().band(x, y))
        };
        let over = self.b.ins().icmp_imm_s(IntCC::SignedLessThan, overflow, 0);
        // The extreme on the side of `a`: 0111... if it is positive, 1000... if not.
        let sign = self.b.ins().sshr_imm_s(a, 63);
        let most = self.imm(i64::MAX);
        let limit = self.b.ins().bxor(sign, most);
        let chosen = self.b.ins().select(over, limit, result);
        self.b.ins().ushr_imm_s(chosen, free)
    }

    fn wide(
        &mut self,
        op: BinaryOp,
        a: &[Value],
        b: &[Value],
        (width, right_width): (u32, u32),
        signed: bool,
    ) -> Words {
        let op = match (op, signed) {
            (BinaryOp::Mul, _) => WideOp::Mul,
            (BinaryOp::Div, _) => WideOp::Div,
            (BinaryOp::Mod, _) => WideOp::Mod,
            (BinaryOp::AddSat, false) => WideOp::AddSat,
            (BinaryOp::AddSat, true) => WideOp::AddSatSigned,
            (BinaryOp::SubSat, false) => WideOp::SubSat,
            (BinaryOp::SubSat, true) => WideOp::SubSatSigned,
            (BinaryOp::Shl, _) => WideOp::Shl,
            (_, true) => WideOp::ShrSigned,
            (_, false) => WideOp::Shr,
        };
        let (a, b, out) = (self.spill(a), self.spill(b), self.slot(words(width)));
        let op = self.imm(op as i64);
        let (width_a, width_b) = (self.imm(i64::from(width)), self.imm(i64::from(right_width)));
        self.call_helper(Helper::Wide, &[op, width_a, width_b, a, b, out]);
        self.load_words(out, words(width))
    }

    /// Some words from an address.
    pub(super) fn load_words(&mut self, from: Value, count: usize) -> Words {
        self.loads += count;
        (0..count)
            .map(|i| self.b.ins().load(I64, super::FLAGS, from, (i * 8) as i32))
            .collect()
    }
}
