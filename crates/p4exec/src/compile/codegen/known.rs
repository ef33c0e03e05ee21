//! Numbers that are known while code is written: a branch on one is no branch, an index that is one
//! is no computed index.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstructionData, Opcode, Value, ValueDef, types::I64};

use super::Gen;

/// Instructions that are looked through for a number, one behind the other.
const STEPS: u32 = 6;

impl Gen<'_, '_> {
    /// The number that a value will be, if a few instructions tell.
    pub(super) fn known(&self, value: Value) -> Option<u64> {
        self.known_within(value, STEPS)
    }

    /// The bits that a value may have set, as far as a few instructions tell; the others are zero.
    pub(super) fn possible(&self, value: Value) -> u64 {
        self.possible_within(value, STEPS)
    }

    /// Notes the bits that a value may have set.
    pub(super) fn note_possible(&mut self, value: Value, possible: u64) {
        *self.narrow.entry(value).or_insert(u64::MAX) &= possible;
    }

    fn possible_within(&self, value: Value, steps: u32) -> u64 {
        let dfg = &self.b.func.dfg;
        let bits = dfg.value_type(value).bits().clamp(1, 64);
        let all = self.narrow.get(&value).copied().unwrap_or(u64::MAX) & (u64::MAX >> (64 - bits));
        let (ValueDef::Result(inst, _), Some(steps_left)) =
            (dfg.value_def(value), steps.checked_sub(1))
        else {
            return all;
        };
        let of = |value| self.possible_within(value, steps_left);
        // How far a shift goes; processors take it modulo the width.
        let far = |value| {
            let number = self.known_within(value, steps_left);
            number.filter(|by| *by < u64::from(bits))
        };
        let possible = match dfg.insts[inst] {
            InstructionData::UnaryImm {
                opcode: Opcode::Iconst,
                imm,
            } => imm.bits() as u64,
            InstructionData::Unary {
                opcode: Opcode::Uextend | Opcode::Ireduce,
                arg,
            } => of(arg),
            InstructionData::IntCompare { .. } => 1,
            InstructionData::Binary {
                opcode,
                args: [a, b],
            } => match opcode {
                Opcode::Band => of(a) & of(b),
                Opcode::Bor | Opcode::Bxor => of(a) | of(b),
                // Without a carry.
                Opcode::Iadd if of(a) & of(b) == 0 => of(a) | of(b),
                Opcode::Ishl => shifted_left(of(a), far(b)),
                Opcode::Ushr => shifted_right(of(a), far(b)),
                Opcode::Rotl if bits == 64 => far(b).map_or(all, |by| of(a).rotate_left(by as u32)),
                _ => all,
            },
            InstructionData::Ternary {
                opcode: Opcode::Select,
                args: [_, then, other],
            } => of(then) | of(other),
            _ => all,
        };
        possible & all
    }

    /// What a word is a rotation of, and how far up.
    pub(super) fn rotation(&self, value: Value) -> Option<(Value, u64)> {
        let dfg = &self.b.func.dfg;
        let ValueDef::Result(inst, _) = dfg.value_def(value) else {
            return None;
        };
        match dfg.insts[inst] {
            InstructionData::Binary {
                opcode: Opcode::Rotl,
                args: [before, far],
            } if dfg.value_type(value) == I64 => Some((before, self.known(far)?)),
            _ => None,
        }
    }

    fn known_within(&self, value: Value, steps: u32) -> Option<u64> {
        let dfg = &self.b.func.dfg;
        let ValueDef::Result(inst, _) = dfg.value_def(value) else {
            return None;
        };
        let bits = dfg.value_type(value).bits().clamp(1, 64);
        let mask = u64::MAX >> (64 - bits);
        let steps_left = steps.checked_sub(1)?;
        let of = |value| self.known_within(value, steps_left);
        match dfg.insts[inst] {
            InstructionData::UnaryImm {
                opcode: Opcode::Iconst,
                imm,
            } => Some(imm.bits() as u64 & mask),
            InstructionData::Unary {
                opcode: Opcode::Uextend | Opcode::Ireduce,
                arg,
            } => Some(of(arg)? & mask),
            InstructionData::IntCompare { args, cond, .. } => {
                compare(cond, of(args[0])?, of(args[1])?).map(u64::from)
            }
            InstructionData::Binary { opcode, args } => {
                let (a, b) = (of(args[0]), of(args[1]));
                binary(opcode, a, b).map(|number| number & mask)
            }
            InstructionData::Ternary {
                opcode: Opcode::Select,
                args: [cond, then, other],
            } => match of(cond)? {
                0 => of(other),
                _ => of(then),
            },
            _ => None,
        }
    }
}

/// What a left shift of some bits can set: everything from the lowest bit up, unless it is known
/// how far it goes.
fn shifted_left(bits: u64, far: Option<u64>) -> u64 {
    match far {
        Some(far) => bits << far,
        None if bits == 0 => 0,
        None => u64::MAX << bits.trailing_zeros(),
    }
}

/// The same for a right shift.
fn shifted_right(bits: u64, far: Option<u64>) -> u64 {
    match far {
        Some(far) => bits >> far,
        None => ones_below(bits),
    }
}

/// All bits up to the highest that is set.
fn ones_below(bits: u64) -> u64 {
    u64::MAX.checked_shr(bits.leading_zeros()).unwrap_or(0)
}

/// A comparison of numbers without sign.
fn compare(cond: IntCC, a: u64, b: u64) -> Option<bool> {
    match cond {
        IntCC::Equal => Some(a == b),
        IntCC::NotEqual => Some(a != b),
        IntCC::UnsignedLessThan => Some(a < b),
        IntCC::UnsignedLessThanOrEqual => Some(a <= b),
        IntCC::UnsignedGreaterThan => Some(a > b),
        IntCC::UnsignedGreaterThanOrEqual => Some(a >= b),
        _ => None,
    }
}

fn binary(opcode: Opcode, a: Option<u64>, b: Option<u64>) -> Option<u64> {
    match (opcode, a, b) {
        (Opcode::Band, Some(0), _) | (Opcode::Band, _, Some(0)) => Some(0),
        (Opcode::Band, Some(a), Some(b)) => Some(a & b),
        (Opcode::Bor, Some(a), Some(b)) => Some(a | b),
        (Opcode::Bxor, Some(a), Some(b)) => Some(a ^ b),
        (Opcode::Iadd, Some(a), Some(b)) => Some(a.wrapping_add(b)),
        (Opcode::Isub, Some(a), Some(b)) => Some(a.wrapping_sub(b)),
        (Opcode::Imul, Some(a), Some(b)) => Some(a.wrapping_mul(b)),
        _ => None,
    }
}
