//! Arithmetic on compile-time values.

use num_bigint::{BigInt, Sign};
use num_traits::{One, Signed, ToPrimitive, Zero};

use p4ir::limits::MAX_BITS;

use crate::ast::BinaryOp;

/// The value reduced to `width` bits: modulo 2^width, as two's complement if signed.
pub(crate) fn wrap(value: &BigInt, width: u32, signed: bool) -> BigInt {
    let modulus = BigInt::one() << width;
    let mut v = value % &modulus;
    if v.is_negative() {
        v += &modulus;
    }
    if signed && width > 0 && v.bit(u64::from(width - 1)) {
        v -= modulus;
    }
    v
}

/// Whether a value is representable.
pub(crate) fn fits(value: &BigInt, width: u32, signed: bool) -> bool {
    wrap(value, width, signed) == *value
}

/// The value as the bits of a `width`-bit word.
pub(crate) fn to_bits(value: &BigInt, width: u32) -> num_bigint::BigUint {
    wrap(value, width, false).magnitude().clone()
}

/// Why folding failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FoldError {
    DivisionByZero,
    NegativeDivision,
    NegativeShift,
    TooLarge,
}

impl FoldError {
    pub(crate) fn message(self) -> &'static str {
        match self {
            FoldError::DivisionByZero => "division by zero",
            FoldError::NegativeDivision => "division is not defined for negative numbers",
            FoldError::NegativeShift => "shift by a negative distance",
            FoldError::TooLarge => "the result is too large",
        }
    }
}

/// `a op b` on numbers; `bits` is the operands' sized type, `None` for `int`.
pub(crate) fn arithmetic(
    op: BinaryOp,
    a: &BigInt,
    b: &BigInt,
    bits: Option<(u32, bool)>,
) -> Result<BigInt, FoldError> {
    use BinaryOp as B;
    let raw = match op {
        B::Add => a + b,
        B::Sub => a - b,
        B::Mul => a * b,
        B::Div | B::Mod => {
            if b.is_zero() {
                return Err(FoldError::DivisionByZero);
            }
            if a.is_negative() || b.is_negative() {
                return Err(FoldError::NegativeDivision);
            }
            if op == B::Div { a / b } else { a % b }
        }
        B::BitAnd => a & b,
        B::BitOr => a | b,
        B::BitXor => a ^ b,
        B::AddSat | B::SubSat => {
            let exact = if op == B::AddSat { a + b } else { a - b };
            return Ok(bits.map_or(exact.clone(), |(w, s)| saturate(exact, w, s)));
        }
        B::Shl | B::Shr => shift(op, a, b, bits)?,
        _ => a.clone(),
    };
    if raw.bits() > u64::from(MAX_BITS) {
        return Err(FoldError::TooLarge);
    }
    Ok(bits.map_or(raw.clone(), |(w, s)| wrap(&raw, w, s)))
}

fn shift(
    op: BinaryOp,
    a: &BigInt,
    b: &BigInt,
    bits: Option<(u32, bool)>,
) -> Result<BigInt, FoldError> {
    if b.is_negative() {
        return Err(FoldError::NegativeShift);
    }
    let limit = bits.map_or(MAX_BITS, |(w, _)| w);
    let distance = b.to_u32().unwrap_or(u32::MAX);
    if op == BinaryOp::Shl {
        if distance > limit {
            return if bits.is_some() {
                Ok(BigInt::zero())
            } else {
                Err(FoldError::TooLarge)
            };
        }
        return Ok(a << distance);
    }
    Ok(a >> distance.min(MAX_BITS))
}

fn saturate(value: BigInt, width: u32, signed: bool) -> BigInt {
    let (lo, hi) = if signed && width > 0 {
        let half = BigInt::one() << (width - 1);
        (-half.clone(), half - 1)
    } else {
        (BigInt::zero(), (BigInt::one() << width) - 1)
    };
    value.clamp(lo, hi)
}

/// `value[hi:lo]`.
pub(crate) fn slice(value: &BigInt, width: u32, hi: u32, lo: u32) -> BigInt {
    let bits = BigInt::from_biguint(Sign::Plus, to_bits(value, width));
    wrap(&(bits >> lo), hi - lo + 1, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrapping_follows_signedness() {
        assert_eq!(wrap(&BigInt::from(255), 8, true), BigInt::from(-1));
        assert_eq!(wrap(&BigInt::from(-1), 8, false), BigInt::from(255));
        assert!(fits(&BigInt::from(-128), 8, true) && !fits(&BigInt::from(128), 8, true));
    }

    #[test]
    fn saturation_and_shifts() {
        let f = |op, a: i32, b: i32, bits| arithmetic(op, &a.into(), &b.into(), bits);
        assert_eq!(
            f(BinaryOp::AddSat, 250, 10, Some((8, false))),
            Ok(255.into())
        );
        assert_eq!(
            f(BinaryOp::SubSat, -120, 10, Some((8, true))),
            Ok((-128).into())
        );
        assert_eq!(f(BinaryOp::Shl, 1, 9, Some((8, false))), Ok(0.into()));
        assert_eq!(f(BinaryOp::Shr, -4, 1, Some((8, true))), Ok((-2).into()));
        assert_eq!(f(BinaryOp::Div, 1, 0, None), Err(FoldError::DivisionByZero));
        assert_eq!(slice(&BigInt::from(-1), 8, 7, 4), BigInt::from(15));
    }
}
