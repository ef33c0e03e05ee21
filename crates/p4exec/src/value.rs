//! Bit-precise values: one bit string of any width, and P4_16's arithmetic on it.
//!
//! A [`Bits`] is a width and that many bits. Whether they mean `bit<N>` or two's complement
//! `int<N>` is decided by the operation, as in the language's own rules (P4_16 section 8.6 to
//! 8.10): wrapping addition is the same for both, saturation, comparison, division, right shift
//! and widening are not and come in two flavours.
//!
//! Widths up to 128 live in a `u128`; wider ones in a big integer. Both always hold the
//! canonical value (no bit above the width is ever set), so equality and hashing are plain.

use std::cmp::Ordering;
use std::fmt;

use num_bigint::{BigInt, BigUint, Sign};
use num_traits::{One, ToPrimitive, Zero};

/// The widest value that is kept in a machine integer.
const SMALL: u32 = 128;

/// A string of `width` bits, the most significant first in every textual and packet form.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Bits {
    width: u32,
    repr: Repr,
}

/// `Small` if and only if the width is at most [`SMALL`].
#[derive(Clone, PartialEq, Eq, Hash)]
enum Repr {
    Small(u128),
    Big(Box<BigUint>),
}

/// The bits `width..` cleared from a small value.
const fn mask_small(width: u32, value: u128) -> u128 {
    if width >= 128 {
        value
    } else {
        value & ((1u128 << width) - 1)
    }
}

/// `2^width - 1`.
fn ones_big(width: u32) -> BigUint {
    (BigUint::one() << width) - 1u32
}

impl Bits {
    /// All zeroes.
    #[must_use]
    pub fn zero(width: u32) -> Self {
        Self::from_u128(width, 0)
    }

    /// Bytes of memory that a value of a width takes.
    #[must_use]
    pub(crate) const fn bytes(width: u32) -> u64 {
        let own = size_of::<Self>() as u64;
        if width <= SMALL {
            own
        } else {
            own + size_of::<BigUint>() as u64 + width.div_ceil(64) as u64 * 8
        }
    }

    /// All ones.
    #[must_use]
    pub fn ones(width: u32) -> Self {
        if width <= SMALL {
            Self::from_u128(width, u128::MAX)
        } else {
            Self {
                width,
                repr: Repr::Big(Box::new(ones_big(width))),
            }
        }
    }

    /// The low `width` bits of `value`.
    #[must_use]
    pub fn from_u128(width: u32, value: u128) -> Self {
        let repr = if width <= SMALL {
            Repr::Small(mask_small(width, value))
        } else {
            Repr::Big(Box::new(BigUint::from(value)))
        };
        Self { width, repr }
    }

    /// The low `width` bits of `value`.
    #[must_use]
    pub fn from_u64(width: u32, value: u64) -> Self {
        Self::from_u128(width, u128::from(value))
    }

    /// One bit.
    #[must_use]
    pub fn from_bool(value: bool) -> Self {
        Self::from_u128(1, u128::from(value))
    }

    /// The low `width` bits of an integer, in two's complement where it is negative.
    #[must_use]
    pub fn from_bigint(width: u32, value: &BigInt) -> Self {
        match value.sign() {
            Sign::Minus => {
                let modulus = BigInt::one() << width;
                let wrapped = ((value % &modulus) + &modulus) % &modulus;
                Self::from_biguint(width, wrapped.magnitude())
            }
            _ => Self::from_biguint(width, value.magnitude()),
        }
    }

    /// The low `width` bits of a natural number.
    #[must_use]
    pub fn from_biguint(width: u32, value: &BigUint) -> Self {
        if width <= SMALL {
            let mut digits = value.iter_u64_digits();
            let low = u128::from(digits.next().unwrap_or(0));
            let high = u128::from(digits.next().unwrap_or(0));
            Self::from_u128(width, (high << 64) | low)
        } else if value.bits() <= u64::from(width) {
            Self {
                width,
                repr: Repr::Big(Box::new(value.clone())),
            }
        } else {
            Self {
                width,
                repr: Repr::Big(Box::new(value & ones_big(width))),
            }
        }
    }

    /// The low `width` bits of a big-endian number of any length.
    #[must_use]
    pub fn from_bytes_be(width: u32, bytes: &[u8]) -> Self {
        if width <= SMALL {
            let tail = &bytes[bytes.len().saturating_sub(16)..];
            let value = tail
                .iter()
                .fold(0u128, |acc, b| (acc << 8) | u128::from(*b));
            Self::from_u128(width, value)
        } else {
            Self::from_biguint(width, &BigUint::from_bytes_be(bytes))
        }
    }

    /// The number of bits.
    #[must_use]
    pub const fn width(&self) -> u32 {
        self.width
    }

    /// The value as an unsigned number, if it fits 128 bits.
    #[must_use]
    pub fn to_u128(&self) -> Option<u128> {
        match &self.repr {
            Repr::Small(v) => Some(*v),
            Repr::Big(v) => v.to_u128(),
        }
    }

    /// The value as an unsigned number, if it fits 64 bits.
    #[must_use]
    pub fn to_u64(&self) -> Option<u64> {
        self.to_u128().and_then(|v| u64::try_from(v).ok())
    }

    /// The value as an unsigned number, if it fits the machine's index type.
    #[must_use]
    pub fn to_usize(&self) -> Option<usize> {
        self.to_u128().and_then(|v| usize::try_from(v).ok())
    }

    /// The low 64 bits.
    #[must_use]
    pub fn low_u64(&self) -> u64 {
        match &self.repr {
            Repr::Small(v) => *v as u64,
            Repr::Big(v) => v.iter_u64_digits().next().unwrap_or(0),
        }
    }

    /// The value as an unsigned big integer.
    #[must_use]
    pub fn to_biguint(&self) -> BigUint {
        match &self.repr {
            Repr::Small(v) => BigUint::from(*v),
            Repr::Big(v) => (**v).clone(),
        }
    }

    /// The value read in two's complement.
    #[must_use]
    pub fn to_bigint_signed(&self) -> BigInt {
        let magnitude = BigInt::from(self.to_biguint());
        if self.sign_bit() {
            magnitude - (BigInt::one() << self.width)
        } else {
            magnitude
        }
    }

    /// Whether no bit is set (true of the empty string).
    #[must_use]
    pub fn is_zero(&self) -> bool {
        match &self.repr {
            Repr::Small(v) => *v == 0,
            Repr::Big(v) => v.is_zero(),
        }
    }

    /// Whether any bit is set.
    #[must_use]
    pub fn is_true(&self) -> bool {
        !self.is_zero()
    }

    /// Bit `index`, counted from the least significant; false beyond the width.
    #[must_use]
    pub fn bit(&self, index: u32) -> bool {
        index < self.width
            && match &self.repr {
                Repr::Small(v) => (v >> index) & 1 == 1,
                Repr::Big(v) => v.bit(u64::from(index)),
            }
    }

    /// The same bits, and bit `index` set; counted from the least significant, without effect
    /// beyond the width.
    #[must_use]
    pub fn with_bit(&self, index: u32) -> Self {
        self.or(&Self::from_u64(self.width, 1).shl(index))
    }

    /// The most significant bit; false for the empty string.
    #[must_use]
    pub fn sign_bit(&self) -> bool {
        self.width > 0 && self.bit(self.width - 1)
    }

    /// Big-endian bytes, as many as the width needs, padded with zero bits in front.
    #[must_use]
    pub fn to_bytes_be(&self) -> Vec<u8> {
        let len = self.width.div_ceil(8) as usize;
        let bytes = match &self.repr {
            Repr::Small(v) => v.to_be_bytes()[16 - len..].to_vec(),
            Repr::Big(v) => {
                let tight = v.to_bytes_be();
                let mut bytes = vec![0; len.saturating_sub(tight.len())];
                bytes.extend_from_slice(&tight[tight.len().saturating_sub(len)..]);
                bytes
            }
        };
        debug_assert_eq!(bytes.len(), len);
        bytes
    }

    /// Appends the value as `ceil(width / 64)` words, the most significant first.
    pub fn push_words(&self, out: &mut Vec<u64>) {
        match &self.repr {
            Repr::Small(v) if self.width <= 64 => {
                if self.width > 0 {
                    out.push(*v as u64);
                }
            }
            Repr::Small(v) => out.extend([(*v >> 64) as u64, *v as u64]),
            Repr::Big(v) => {
                let digits: Vec<u64> = v.iter_u64_digits().collect();
                let words = self.width.div_ceil(64) as usize;
                out.extend(
                    (0..words)
                        .rev()
                        .map(|i| digits.get(i).copied().unwrap_or(0)),
                );
            }
        }
    }

    /// The value whose words (most significant first) are given; the inverse of
    /// [`Bits::push_words`].
    #[must_use]
    pub fn from_words(width: u32, words: &[u64]) -> Self {
        match words {
            [] => Self::zero(width),
            [low] => Self::from_u64(width, *low),
            [high, low] => Self::from_u128(width, (u128::from(*high) << 64) | u128::from(*low)),
            _ => {
                let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_be_bytes()).collect();
                Self::from_bytes_be(width, &bytes)
            }
        }
    }

    /// Applies `small` or `big` to two operands of this value's width; the result is cut to it.
    fn zip(
        &self,
        other: &Self,
        small: impl FnOnce(u128, u128) -> u128,
        big: impl FnOnce(&BigUint, &BigUint) -> BigUint,
    ) -> Self {
        debug_assert_eq!(self.width, other.width, "operands of one width");
        match (&self.repr, &other.repr) {
            (Repr::Small(a), Repr::Small(b)) => Self::from_u128(self.width, small(*a, *b)),
            _ => Self::from_biguint(self.width, &big(&self.to_biguint(), &other.to_biguint())),
        }
    }

    /// `self + other`, wrapping.
    #[must_use]
    pub fn wrapping_add(&self, other: &Self) -> Self {
        self.zip(other, u128::wrapping_add, |a, b| a + b)
    }

    /// `self - other`, wrapping.
    #[must_use]
    pub fn wrapping_sub(&self, other: &Self) -> Self {
        let width = self.width;
        self.zip(other, u128::wrapping_sub, |a, b| {
            (BigUint::one() << width) + a - b
        })
    }

    /// `self * other`, wrapping.
    #[must_use]
    pub fn wrapping_mul(&self, other: &Self) -> Self {
        self.zip(other, u128::wrapping_mul, |a, b| a * b)
    }

    /// `-self`, wrapping.
    #[must_use]
    pub fn wrapping_neg(&self) -> Self {
        Self::zero(self.width).wrapping_sub(self)
    }

    /// `self |+| other` on `bit<N>`.
    #[must_use]
    pub fn saturating_add_unsigned(&self, other: &Self) -> Self {
        let sum = self.wrapping_add(other);
        if sum.cmp_unsigned(self) == Ordering::Less {
            Self::ones(self.width)
        } else {
            sum
        }
    }

    /// `self |-| other` on `bit<N>`.
    #[must_use]
    pub fn saturating_sub_unsigned(&self, other: &Self) -> Self {
        if self.cmp_unsigned(other) == Ordering::Less {
            Self::zero(self.width)
        } else {
            self.wrapping_sub(other)
        }
    }

    /// `self |+| other` on `int<N>`.
    #[must_use]
    pub fn saturating_add_signed(&self, other: &Self) -> Self {
        let sum = self.wrapping_add(other);
        let overflow = self.sign_bit() == other.sign_bit() && sum.sign_bit() != self.sign_bit();
        if overflow { self.signed_limit() } else { sum }
    }

    /// `self |-| other` on `int<N>`.
    #[must_use]
    pub fn saturating_sub_signed(&self, other: &Self) -> Self {
        let difference = self.wrapping_sub(other);
        let overflow =
            self.sign_bit() != other.sign_bit() && difference.sign_bit() != self.sign_bit();
        if overflow {
            self.signed_limit()
        } else {
            difference
        }
    }

    /// The extreme `int<N>` on this value's side of zero.
    fn signed_limit(&self) -> Self {
        if self.width == 0 {
            return self.clone();
        }
        let lowest = Self::from_u64(self.width, 1).shl(self.width - 1);
        if self.sign_bit() {
            lowest
        } else {
            lowest.not()
        }
    }

    /// `self / other` on `bit<N>`; `None` if `other` is zero.
    #[must_use]
    pub fn checked_div_unsigned(&self, other: &Self) -> Option<Self> {
        other
            .is_true()
            .then(|| self.zip(other, |a, b| a / b, |a, b| a / b))
    }

    /// `self % other` on `bit<N>`; `None` if `other` is zero.
    #[must_use]
    pub fn checked_rem_unsigned(&self, other: &Self) -> Option<Self> {
        other
            .is_true()
            .then(|| self.zip(other, |a, b| a % b, |a, b| a % b))
    }

    /// Bitwise complement.
    #[must_use]
    #[allow(clippy::should_implement_trait)]
    pub fn not(&self) -> Self {
        self.xor(&Self::ones(self.width))
    }

    /// Bitwise and.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        self.zip(other, |a, b| a & b, |a, b| a & b)
    }

    /// Bitwise or.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        self.zip(other, |a, b| a | b, |a, b| a | b)
    }

    /// Bitwise exclusive or.
    #[must_use]
    pub fn xor(&self, other: &Self) -> Self {
        self.zip(other, |a, b| a ^ b, |a, b| a ^ b)
    }

    /// `self << amount`; zero once everything is shifted out.
    #[must_use]
    #[allow(clippy::should_implement_trait)]
    pub fn shl(&self, amount: u32) -> Self {
        if amount >= self.width {
            return Self::zero(self.width);
        }
        match &self.repr {
            Repr::Small(v) => Self::from_u128(self.width, v << amount),
            Repr::Big(v) => Self::from_biguint(self.width, &(&**v << amount)),
        }
    }

    /// `self >> amount` on `bit<N>`: zeroes come in.
    #[must_use]
    pub fn shr_unsigned(&self, amount: u32) -> Self {
        if amount >= self.width {
            return Self::zero(self.width);
        }
        match &self.repr {
            Repr::Small(v) => Self::from_u128(self.width, v >> amount),
            Repr::Big(v) => Self::from_biguint(self.width, &(&**v >> amount)),
        }
    }

    /// `self >> amount` on `int<N>`: copies of the sign come in.
    #[must_use]
    pub fn shr_signed(&self, amount: u32) -> Self {
        let shifted = self.shr_unsigned(amount);
        if !self.sign_bit() {
            return shifted;
        }
        let kept = self.width - amount.min(self.width);
        shifted.or(&Self::ones(self.width).shl(kept))
    }

    /// This value as a shift amount: values beyond `u32` count as `u32::MAX`.
    #[must_use]
    pub fn as_shift_amount(&self) -> u32 {
        self.to_u128()
            .and_then(|v| u32::try_from(v).ok())
            .unwrap_or(u32::MAX)
    }

    /// Order as `bit<N>`.
    #[must_use]
    pub fn cmp_unsigned(&self, other: &Self) -> Ordering {
        match (&self.repr, &other.repr) {
            (Repr::Small(a), Repr::Small(b)) => a.cmp(b),
            _ => self.to_biguint().cmp(&other.to_biguint()),
        }
    }

    /// Order as `int<N>`.
    #[must_use]
    pub fn cmp_signed(&self, other: &Self) -> Ordering {
        match (self.sign_bit(), other.sign_bit()) {
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            // Same sign and width: two's complement keeps the unsigned order.
            _ => self.cmp_unsigned(other),
        }
    }

    /// `self[high:low]`. Bits beyond the width read as zero.
    #[must_use]
    pub fn slice(&self, high: u32, low: u32) -> Self {
        let width = high.saturating_sub(low) + 1;
        match &self.repr {
            Repr::Small(v) if width <= SMALL => {
                Self::from_u128(width, if low >= 128 { 0 } else { v >> low })
            }
            _ => Self::from_biguint(width, &(self.to_biguint() >> low)),
        }
    }

    /// This value with the bits `[high:low]` replaced by `part`.
    #[must_use]
    pub fn with_slice(&self, high: u32, low: u32, part: &Self) -> Self {
        let width = high.saturating_sub(low) + 1;
        let hole = Self::ones(width).resize_unsigned(self.width).shl(low);
        let filling = part
            .resize_unsigned(width)
            .resize_unsigned(self.width)
            .shl(low);
        self.and(&hole.not()).or(&filling)
    }

    /// `self ++ other`.
    #[must_use]
    pub fn concat(&self, other: &Self) -> Self {
        let width = self.width + other.width;
        self.resize_unsigned(width)
            .shl(other.width)
            .or(&other.resize_unsigned(width))
    }

    /// Cast from `bit<N>`: cut at the top, or filled with zeroes.
    #[must_use]
    pub fn resize_unsigned(&self, width: u32) -> Self {
        match &self.repr {
            Repr::Small(v) => Self::from_u128(width, *v),
            Repr::Big(v) => Self::from_biguint(width, v),
        }
    }

    /// Cast from `int<N>`: cut at the top, or filled with the sign.
    #[must_use]
    pub fn resize_signed(&self, width: u32) -> Self {
        let resized = self.resize_unsigned(width);
        if width > self.width && self.sign_bit() {
            resized.or(&Self::ones(width).shl(self.width))
        } else {
            resized
        }
    }

    /// The value whose top `len` bits are ones: an LPM mask.
    #[must_use]
    pub fn prefix_mask(width: u32, len: u32) -> Self {
        Self::ones(width).shl(width - len.min(width))
    }
}

/// By width, then as `bit<N>`.
impl Ord for Bits {
    fn cmp(&self, other: &Self) -> Ordering {
        let widths = self.width.cmp(&other.width);
        widths.then_with(|| self.cmp_unsigned(other))
    }
}

impl PartialOrd for Bits {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Bits {
    /// Hexadecimal, with as many digits as the width needs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.width.div_ceil(4).max(1) as usize;
        match &self.repr {
            Repr::Small(v) => write!(f, "0x{v:0digits$x}"),
            Repr::Big(v) => write!(f, "0x{:0digits$x}", **v),
        }
    }
}

impl fmt::Debug for Bits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}w{self}", self.width)
    }
}
