//! Arithmetic on values of any fixed width: words, the lowest first, with no bit above the width.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    InstBuilder as _, Value,
    types::{I8, I16, I32, I64},
};

use super::Gen;

/// A value. A varbit is its length and then the words of its maximum.
pub(super) type Words = Vec<Value>;

/// Words that a width takes; at least one.
pub(super) fn words(width: u32) -> usize {
    width.div_ceil(64).max(1) as usize
}

/// The bits of the highest word of a width.
pub(super) fn top_mask(width: u32) -> u64 {
    match width {
        0 => 0,
        _ => u64::MAX >> ((64 - width % 64) % 64),
    }
}

impl Gen<'_, '_> {
    pub(super) fn word(&mut self, value: &[Value], index: usize) -> Value {
        match value.get(index) {
            Some(word) => *word,
            None => self.imm(0),
        }
    }

    pub(super) fn and_imm(&mut self, value: Value, mask: u64) -> Value {
        if self.possible(value) & !mask == 0 {
            return value;
        }
        // Cut to a whole number of bytes by one instruction, which copies, too.
        let part = match mask {
            0xff => I8,
            0xffff => I16,
            0xffff_ffff => I32,
            _ => {
                let mask = self.imm_u(mask);
                return self.b.ins().band(value, mask);
            }
        };
        let low = self.b.ins().ireduce(part, value);
        self.b.ins().uextend(I64, low)
    }

    /// A value moved up, or down if `up` is negative, and what a mask leaves of it: only bits of
    /// the value, none that came in.
    pub(super) fn moved(&mut self, value: Value, up: i32, mask: u64) -> Value {
        let possible = self.possible(value);
        let by = up.unsigned_abs();
        let moved = match up {
            0 => value,
            1.. if (possible << by) & !mask == 0 => self.shl_imm(value, by),
            ..0 if (possible >> by) & !mask == 0 => self.shr_imm(value, by),
            _ => self.b.ins().rotl_imm_s(value, i64::from(up.rem_euclid(64))),
        };
        self.and_imm(moved, mask)
    }

    /// The bits that one of two values has set. Where no bit can be set in both, that is their sum,
    /// which x86-64 writes where the values are not, so that none need be copied or stored before.
    pub(super) fn or(&mut self, a: Value, b: Value) -> Value {
        let is_word = self.b.func.dfg.value_type(a) == I64;
        if is_word && self.possible(a) & self.possible(b) == 0 {
            return self.b.ins().iadd(a, b);
        }
        self.b.ins().bor(a, b)
    }

    pub(super) fn shl_imm(&mut self, value: Value, by: u32) -> Value {
        if by == 0 {
            return value;
        }
        // Where nothing goes beyond, a rotation does the same; on x86-64 it leaves the value where
        // it is, and that need not be copied before. Up to three bits are part of an address.
        let is_word = self.b.func.dfg.value_type(value) == I64;
        if is_word && by > 3 && self.possible(value).leading_zeros() >= by {
            return self.b.ins().rotl_imm_s(value, i64::from(by));
        }
        self.b.ins().ishl_imm_s(value, i64::from(by))
    }

    pub(super) fn shr_imm(&mut self, value: Value, by: u32) -> Value {
        if by == 0 {
            return value;
        }
        if let Some(before) = self.shifted_back(value, by) {
            return before;
        }
        self.b.ins().ushr_imm_s(value, i64::from(by))
    }

    /// What was shifted up by so many bits to a value, nothing going beyond.
    fn shifted_back(&self, value: Value, by: u32) -> Option<Value> {
        let (before, far) = self.rotation(value)?;
        (far == u64::from(by) && self.possible(before).leading_zeros() >= by).then_some(before)
    }

    /// Clears what lies above the width.
    pub(super) fn trim(&mut self, mut value: Words, width: u32) -> Words {
        value.truncate(words(width));
        let last = value.len() - 1;
        if words(width) == value.len() {
            value[last] = self.and_imm(value[last], top_mask(width));
        }
        value
    }

    /// The `width` bits from bit `low` up; what lies beyond the value is zero.
    pub(super) fn bits_from(&mut self, value: &[Value], low: u32, width: u32) -> Words {
        let (skip, shift) = ((low / 64) as usize, low % 64);
        let mut result = Vec::with_capacity(words(width));
        for i in 0..words(width) {
            let from = self.word(value, skip + i);
            let mut word = self.shr_imm(from, shift);
            let wanted = (width - 64 * i as u32).min(64);
            if shift > 0 && shift + wanted > 64 && value.len() > skip + i + 1 {
                let above = self.shl_imm(value[skip + i + 1], 64 - shift);
                word = self.or(word, above);
            }
            result.push(word);
        }
        self.trim(result, width)
    }

    /// The value moved up by `by` bits, cut to `width`.
    pub(super) fn shifted_up(&mut self, value: &[Value], by: u32, width: u32) -> Words {
        let (skip, shift) = ((by / 64) as usize, by % 64);
        let mut result = Vec::with_capacity(words(width));
        for i in 0..words(width) {
            let mut word = self.imm(0);
            if let Some(from) = i.checked_sub(skip).and_then(|i| value.get(i)) {
                word = self.shl_imm(*from, shift);
            }
            let below = i.checked_sub(skip + 1).and_then(|i| value.get(i));
            if let (Some(from), true) = (below, shift > 0) {
                let low = self.shr_imm(*from, 64 - shift);
                word = self.or(word, low);
            }
            result.push(word);
        }
        self.trim(result, width)
    }

    /// Cast from `bit<from>`.
    pub(super) fn resized(&mut self, value: &[Value], from: u32, width: u32) -> Words {
        let mut result: Words = (0..words(width)).map(|i| self.word(value, i)).collect();
        if width < from {
            result = self.trim(result, width);
        }
        result
    }

    /// Cast from `int<from>`.
    pub(super) fn resized_signed(&mut self, value: &[Value], from: u32, width: u32) -> Words {
        if width <= from || from == 0 {
            return self.resized(value, from, width);
        }
        let extended = self.sign_extended(value, from, words(width));
        self.trim(extended, width)
    }

    /// A value of `int<width>` with its sign in all bits of `count` words.
    fn sign_extended(&mut self, value: &[Value], width: u32, count: usize) -> Words {
        let top = words(width) - 1;
        let mut result = value[..=top].to_vec();
        let free = (64 - width % 64) % 64;
        if free > 0 {
            let up = self.shl_imm(result[top], free);
            result[top] = self.b.ins().sshr_imm_s(up, i64::from(free));
        }
        let sign = self.b.ins().sshr_imm_s(result[top], 63);
        result.resize(count.max(top + 1), sign);
        result
    }

    pub(super) fn each(
        &mut self,
        a: &[Value],
        b: &[Value],
        mut f: impl FnMut(&mut Self, Value, Value) -> Value,
    ) -> Words {
        a.iter().zip(b).map(|(a, b)| f(self, *a, *b)).collect()
    }

    pub(super) fn add(&mut self, a: &[Value], b: &[Value], width: u32) -> Words {
        let mut result = Vec::with_capacity(a.len());
        let mut carry: Option<Value> = None;
        for (i, (x, y)) in a.iter().zip(b).enumerate() {
            let mut sum = self.b.ins().iadd(*x, *y);
            let more = i + 1 < a.len();
            let mut next = more.then(|| self.less(sum, *x));
            if let Some(carry) = carry {
                let first = sum;
                sum = self.b.ins().iadd(sum, carry);
                if let Some(over) = next {
                    let again = self.less(sum, first);
                    next = Some(self.b.ins().bor(over, again));
                }
            }
            carry = next;
            result.push(sum);
        }
        self.trim(result, width)
    }

    pub(super) fn sub(&mut self, a: &[Value], b: &[Value], width: u32) -> Words {
        let mut result = Vec::with_capacity(a.len());
        let mut borrow: Option<Value> = None;
        for (i, (x, y)) in a.iter().zip(b).enumerate() {
            let mut difference = self.b.ins().isub(*x, *y);
            let more = i + 1 < a.len();
            let mut next = more.then(|| self.less(*x, *y));
            if let Some(borrow) = borrow {
                if let Some(under) = next {
                    let again = self.less(difference, borrow);
                    next = Some(self.b.ins().bor(under, again));
                }
                difference = self.b.ins().isub(difference, borrow);
            }
            borrow = next;
            result.push(difference);
        }
        self.trim(result, width)
    }

    /// 1 if `a < b`, as words without sign.
    fn less(&mut self, a: Value, b: Value) -> Value {
        let less = self.b.ins().icmp(IntCC::UnsignedLessThan, a, b);
        self.b.ins().uextend(I64, less)
    }

    /// Whether two values are equal, as an 8-bit truth value.
    pub(super) fn equal(&mut self, a: &[Value], b: &[Value]) -> Value {
        if let ([a], [b]) = (a, b) {
            if self.possible(*a) <= 1 && self.known(*b) == Some(1) {
                // What is a truth value already is not compared.
                return self.b.ins().icmp_imm_s(IntCC::NotEqual, *a, 0);
            }
            return self.b.ins().icmp(IntCC::Equal, *a, *b);
        }
        let mut differing: Option<Value> = None;
        for (x, y) in a.iter().zip(b) {
            let bits = self.b.ins().bxor(*x, *y);
            differing = Some(match differing {
                Some(others) => self.b.ins().bor(others, bits),
                None => bits,
            });
        }
        let differing = differing.unwrap_or_else(|| self.imm(0));
        self.b.ins().icmp_imm_s(IntCC::Equal, differing, 0)
    }

    /// Whether `a < b` (or `a <= b` if `or_equal`), as an 8-bit truth value.
    pub(super) fn ordered(
        &mut self,
        a: &[Value],
        b: &[Value],
        (width, signed): (u32, bool),
        or_equal: bool,
    ) -> Value {
        let (a, b) = if signed && width > 0 {
            // Moving the sign to the top of the word keeps the order.
            let count = words(width);
            (
                self.sign_extended(a, width, count),
                self.sign_extended(b, width, count),
            )
        } else {
            (a.to_vec(), b.to_vec())
        };
        let mut result: Option<Value> = None;
        for (i, (x, y)) in a.iter().zip(&b).enumerate() {
            let top = signed && i + 1 == a.len();
            let cc = match (top, or_equal && i == 0) {
                (true, true) => IntCC::SignedLessThanOrEqual,
                (true, false) => IntCC::SignedLessThan,
                (false, true) => IntCC::UnsignedLessThanOrEqual,
                (false, false) => IntCC::UnsignedLessThan,
            };
            let here = self.b.ins().icmp(cc, *x, *y);
            result = Some(match result {
                None => here,
                Some(below) => {
                    let same = self.b.ins().icmp(IntCC::Equal, *x, *y);
                    let below = self.b.ins().band(same, below);
                    self.b.ins().bor(here, below)
                }
            });
        }
        result.unwrap_or_else(|| self.truth_of(false))
    }

    /// A truth value.
    pub(super) fn truth_of(&mut self, value: bool) -> Value {
        let zero = self.imm(0);
        let cc = if value { IntCC::Equal } else { IntCC::NotEqual };
        self.b.ins().icmp(cc, zero, zero)
    }

    /// A number of any width as one word: all ones if it does not fit.
    pub(super) fn saturated(&mut self, value: &[Value]) -> Value {
        let Some((low, high)) = value.split_first() else {
            return self.imm(0);
        };
        if high.is_empty() {
            return *low;
        }
        let fits = self.is_zero(high);
        let ones = self.imm(-1);
        self.b.ins().select(fits, *low, ones)
    }

    /// Whether all words are zero, as a truth value.
    pub(super) fn is_zero(&mut self, value: &[Value]) -> Value {
        let zeros = vec![self.imm(0); value.len()];
        self.equal(value, &zeros)
    }

    pub(super) fn choose(&mut self, cond: Value, then: &[Value], other: &[Value]) -> Words {
        self.each(then, other, |g, a, b| g.b.ins().select(cond, a, b))
    }
}
