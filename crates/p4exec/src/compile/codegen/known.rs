//! Numbers that are known while code is written: a branch on one is no branch, an index that is one is no computed index.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstructionData, Opcode, Value, ValueDef};

use super::Gen;

/// Instructions that are looked through for a number, one behind the other.
const STEPS: u32 = 6;

impl Gen<'_, '_> {
    /// The number that a value will be, if a few instructions tell.
    pub(super) fn known(&self, value: Value) -> Option<u64> {
        self.known_within(value, STEPS)
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
                opcode: Opcode::Uextend,
                arg,
            } => of(arg),
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
