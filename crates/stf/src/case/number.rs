//! Numbers of case files: decimal, `0x`, `0b`, `0o`, with `*` for digits that do not matter.

use num_bigint::BigUint;
use num_traits::{One as _, Zero as _};

/// A number, and which of its bits were written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Number {
    /// The value; bits under a `*` are zero.
    pub value: BigUint,
    /// Ones for the bits of written digits; `None` for decimal numbers, which have no digits of
    /// bits.
    pub mask: Option<BigUint>,
    /// Bits of the digits before the first `*`; `None` for decimal numbers.
    pub prefix_bits: Option<u32>,
    /// Whether a `*` occurs.
    pub has_stars: bool,
}

impl Number {
    /// A number of no particular digits.
    #[must_use]
    pub fn plain(value: u64) -> Self {
        Self {
            value: value.into(),
            mask: None,
            prefix_bits: None,
            has_stars: false,
        }
    }

    /// The number a word spells, if it is one.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        let lower = word.to_ascii_lowercase();
        let (digits, bits) = match lower.get(..2) {
            Some("0x") => (&lower[2..], 4),
            Some("0b") => (&lower[2..], 1),
            Some("0o") => (&lower[2..], 3),
            _ => {
                let value = lower
                    .parse()
                    .ok()
                    .filter(|_| lower.chars().all(|c| c.is_ascii_digit()));
                return value.map(|value| Self {
                    value,
                    mask: None,
                    prefix_bits: None,
                    has_stars: false,
                });
            }
        };
        if digits.is_empty() {
            return None;
        }
        let digit_mask = (BigUint::one() << bits) - 1u32;
        let (mut value, mut mask) = (BigUint::zero(), BigUint::zero());
        let mut written = 0;
        for c in digits.chars() {
            value <<= bits;
            mask <<= bits;
            if c != '*' {
                value |= BigUint::from(c.to_digit(1 << bits)?);
                mask |= &digit_mask;
                written += bits as u32;
            }
        }
        let has_stars = digits.contains('*');
        Some(Self {
            value,
            mask: Some(mask),
            prefix_bits: Some(written),
            has_stars,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_that_do_not_matter_are_masked() {
        let n = Number::parse("0x0202****").unwrap();
        assert_eq!(n.value, BigUint::from(0x0202_0000u32));
        assert_eq!(n.mask, Some(BigUint::from(0xffff_0000u32)));
        assert_eq!(n.prefix_bits, Some(16));
        let n = Number::parse("0b1*0").unwrap();
        assert_eq!(
            (n.value, n.mask),
            (BigUint::from(4u32), Some(BigUint::from(5u32)))
        );
        assert_eq!(Number::parse("17").unwrap(), Number::plain(17));
        assert_eq!(Number::parse("0x"), None);
        assert_eq!(Number::parse("1*"), None);
        assert_eq!(Number::parse("0b2"), None);
    }
}
