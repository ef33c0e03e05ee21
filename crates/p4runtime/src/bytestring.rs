//! Byte strings, the form in which P4 integers travel (P4Runtime 1.5, chapter 8, "Bytestrings").
//!
//! A sender writes the shortest big-endian string that holds the value: no leading zero bytes, and
//! one `00` for zero. A receiver takes any amount of leading zeros, and refuses, with
//! `OUT_OF_RANGE`, the empty string and values wider than the P4Info says. Between the two, a
//! value with its width is a [`Bits`].

use std::fmt;

use smallvec::SmallVec;

/// Why a byte string is not a value of the expected width; on the wire, `OUT_OF_RANGE`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BytestringError {
    /// No bytes at all; zero is one `00` byte.
    #[error("the byte string is empty; write zero as one 00 byte")]
    Empty,
    /// The value needs more bits than there are.
    #[error("the value {value} needs {needed} bits where {width} are allowed")]
    TooWide {
        /// The value, in hexadecimal.
        value: String,
        /// Bits that it needs.
        needed: u32,
        /// Bits that there are.
        width: u32,
    },
}

/// The shortest string with the same unsigned value: no leading zero bytes, at least one byte.
///
/// The empty string, which stands for no value, gives the string for zero.
#[must_use]
pub fn canonical(bytes: &[u8]) -> &[u8] {
    let zeros = bytes.iter().take_while(|&&byte| byte == 0).count();
    match &bytes[zeros..] {
        [] => &[0],
        rest => rest,
    }
}

/// The shortest string with the same two's complement value (`int<W>` in `P4Data`).
#[must_use]
pub fn canonical_signed(bytes: &[u8]) -> &[u8] {
    let mut rest = bytes;
    while let [first @ (0x00 | 0xff), second, ..] = rest
        && (first ^ second) & 0x80 == 0
    {
        rest = &rest[1..];
    }
    if rest.is_empty() { &[0] } else { rest }
}

/// Checks that a string holds an `int<width>` value and returns its shortest form.
///
/// # Errors
/// [`BytestringError`] when the string is empty or its value does not fit.
pub fn decode_signed(bytes: &[u8], width: u32) -> Result<&[u8], BytestringError> {
    if bytes.is_empty() {
        return Err(BytestringError::Empty);
    }
    let short = canonical_signed(bytes);
    let first = short[0];
    let spare = if first & 0x80 == 0 {
        first.leading_zeros()
    } else {
        first.leading_ones()
    } - 1;
    let needed = bits_in(short.len()) - spare;
    if needed > width {
        return Err(BytestringError::TooWide {
            value: hex(short),
            needed,
            width,
        });
    }
    Ok(short)
}

/// An unsigned P4 value together with its width in bits (`bit<W>`).
///
/// Held at full width, that is ceil(W/8) bytes big-endian, so that equal values are equal byte for
/// byte and order is numeric among values of one width. Zero-width values hold no bytes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bits {
    width: u32,
    bytes: Bytes,
}

/// Addresses, ports and numbers take no memory of their own: tables have millions of them.
type Bytes = SmallVec<[u8; 16]>;

impl Bits {
    /// Reads an unsigned value of at most `width` bits, with any amount of leading zeros.
    ///
    /// # Errors
    /// [`BytestringError`] when the string is empty or its value does not fit.
    pub fn decode(bytes: &[u8], width: u32) -> Result<Self, BytestringError> {
        if bytes.is_empty() {
            return Err(BytestringError::Empty);
        }
        let short = canonical(bytes);
        let needed = bits_in(short.len()) - short[0].leading_zeros();
        if needed > width {
            return Err(BytestringError::TooWide {
                value: hex(short),
                needed,
                width,
            });
        }
        let mut full = Self::zero(width);
        let start = full.bytes.len().saturating_sub(short.len());
        if needed > 0 {
            full.bytes[start..].copy_from_slice(short);
        }
        Ok(full)
    }

    /// A value of at most 128 bits.
    ///
    /// # Errors
    /// [`BytestringError::TooWide`] when it does not fit `width` bits.
    pub fn from_uint(value: impl Into<u128>, width: u32) -> Result<Self, BytestringError> {
        Self::decode(&value.into().to_be_bytes(), width)
    }

    /// Zero.
    #[must_use]
    pub fn zero(width: u32) -> Self {
        Self {
            width,
            bytes: Bytes::from_elem(0, bytes_for(width)),
        }
    }

    /// All bits set.
    #[must_use]
    pub fn ones(width: u32) -> Self {
        Self::prefix_mask(width, width)
    }

    /// The mask whose first `prefix` bits are set (all of them if `prefix` exceeds the width).
    #[must_use]
    pub fn prefix_mask(width: u32, prefix: u32) -> Self {
        let mut mask = Self::zero(width);
        let mut from_top = 0;
        while from_top < prefix.min(width) {
            let index = width - 1 - from_top;
            let whole = index % 8 == 7 && from_top + 8 <= prefix;
            if whole {
                let byte = mask.byte_of(index);
                mask.bytes[byte] = u8::MAX;
            } else {
                mask.set_bit(index);
            }
            from_top += if whole { 8 } else { 1 };
        }
        mask
    }

    /// Width in bits.
    #[must_use]
    pub fn width(&self) -> u32 {
        self.width
    }

    /// The value at full width, big-endian.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The value as P4Runtime sends it: the shortest string.
    #[must_use]
    pub fn canonical(&self) -> Vec<u8> {
        canonical(&self.bytes).to_vec()
    }

    /// The value as a number, if it fits.
    #[must_use]
    pub fn to_u128(&self) -> Option<u128> {
        let short = canonical(&self.bytes);
        (short.len() <= 16).then(|| {
            short
                .iter()
                .fold(0, |value, &byte| value << 8 | u128::from(byte))
        })
    }

    /// Whether no bit is set.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.bytes.iter().all(|&byte| byte == 0)
    }

    /// Sets bit `index`; bit 0 is the least significant. Bits beyond the width are left alone.
    pub fn set_bit(&mut self, index: u32) {
        if index < self.width {
            let byte = self.byte_of(index);
            self.bytes[byte] |= 1 << (index % 8);
        }
    }

    /// The same value with every bit after the first `prefix` cleared.
    #[must_use]
    pub fn truncated(mut self, prefix: u32) -> Self {
        let cleared = self.width.saturating_sub(prefix);
        let (whole, part) = ((cleared / 8) as usize, cleared % 8);
        let mut from_the_end = self.bytes.iter_mut().rev();
        from_the_end.by_ref().take(whole).for_each(|byte| *byte = 0);
        if let Some(byte) = from_the_end.next() {
            *byte &= u8::MAX << part;
        }
        self
    }

    /// Whether no bit after the first `prefix` is set.
    #[must_use]
    pub fn ends_after(&self, prefix: u32) -> bool {
        let cleared = self.width.saturating_sub(prefix);
        let (whole, part) = ((cleared / 8) as usize, cleared % 8);
        let mut from_the_end = self.bytes.iter().rev();
        from_the_end.by_ref().take(whole).all(|byte| *byte == 0)
            && from_the_end
                .next()
                .is_none_or(|byte| byte.trailing_zeros() >= part)
    }

    /// The bits that are set in both. The result has the width of `self`; bits that `mask` lacks
    /// count as zero.
    #[must_use]
    pub fn masked(&self, mask: &Self) -> Self {
        let mut result = self.clone();
        for (byte, keep) in result
            .bytes
            .iter_mut()
            .rev()
            .zip(mask.bytes.iter().rev().copied().chain(std::iter::repeat(0)))
        {
            *byte &= keep;
        }
        result
    }

    fn byte_of(&self, index: u32) -> usize {
        self.bytes.len() - 1 - (index / 8) as usize
    }
}

impl fmt::Display for Bits {
    /// Hexadecimal at full width, `0x000a`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(if self.bytes.is_empty() {
            &[0]
        } else {
            &self.bytes
        }))
    }
}

impl fmt::Debug for Bits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}w{self}", self.width)
    }
}

fn bytes_for(width: u32) -> usize {
    width.div_ceil(8) as usize
}

fn bits_in(bytes: usize) -> u32 {
    u32::try_from(bytes.saturating_mul(8)).unwrap_or(u32::MAX)
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 + 2 * bytes.len());
    text.push_str("0x");
    for byte in bytes {
        for digit in [byte >> 4, byte & 0xf] {
            text.push(char::from_digit(u32::from(digit), 16).unwrap_or('?'));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The specification's table of valid encodings of unsigned values.
    #[test]
    fn accepts_what_the_specification_lists() {
        let cases: [(u32, &[u8], u128); 7] = [
            (8, b"\x63", 0x63),
            (16, b"\x00\x63", 0x63),
            (16, b"\x63", 0x63),
            (16, b"\x00\x30\x64", 0x3064),
            (12, b"\x00\x63", 0x63),
            (12, b"\x00\x00\x63", 0x63),
            (1, b"\x00\x00\x01", 1),
        ];
        for (width, bytes, value) in cases {
            assert_eq!(Bits::decode(bytes, width).unwrap().to_u128(), Some(value));
        }
        for (width, bytes, short) in [
            (8, &b"\x63"[..], &b"\x63"[..]),
            (8, b"\x9d", b"\x9d"),
            (8, b"\xff\x9d", b"\x9d"),
            (12, b"\xfd\x1d", b"\xfd\x1d"),
            (16, b"\x00\x00", b"\x00"),
            (1, b"\xff", b"\xff"),
        ] {
            assert_eq!(decode_signed(bytes, width).unwrap(), short);
        }
    }

    /// The specification's table of invalid encodings.
    #[test]
    fn refuses_what_the_specification_lists() {
        for (width, bytes) in [
            (8, &b"\x01\x63"[..]),
            (8, b""),
            (16, b"\x01\x00\x63"),
            (12, b"\x10\x63"),
            (12, b"\x01\x00\x63"),
            (12, b"\x00\x40\x63"),
        ] {
            assert!(
                Bits::decode(bytes, width).is_err(),
                "bit<{width}> {bytes:?}"
            );
        }
        for (width, bytes) in [(8, &b"\x00\x9d"[..]), (12, b"\x8d\x1d"), (16, b"")] {
            assert!(
                decode_signed(bytes, width).is_err(),
                "int<{width}> {bytes:?}"
            );
        }
    }

    #[test]
    fn zero_is_one_zero_byte() {
        assert_eq!(Bits::zero(32).canonical(), [0]);
        assert_eq!(Bits::decode(&[0, 0, 0], 0).unwrap(), Bits::zero(0));
        assert_eq!(canonical(&[]), [0]);
    }

    #[test]
    fn messages_say_how_to_mend() {
        let wide = Bits::from_uint(0x1ff_u32, 8).unwrap_err();
        assert_eq!(
            wide.to_string(),
            "the value 0x01ff needs 9 bits where 8 are allowed"
        );
        assert!(BytestringError::Empty.to_string().contains("one 00 byte"));
    }

    #[test]
    fn masks() {
        assert_eq!(Bits::prefix_mask(32, 24).as_bytes(), [255, 255, 255, 0]);
        assert_eq!(Bits::prefix_mask(9, 3).as_bytes(), [1, 0b1100_0000]);
        assert_eq!(Bits::ones(9).as_bytes(), [1, 255]);
        let value = Bits::from_uint(0xabcd_u32, 16).unwrap();
        assert_eq!(
            value.masked(&Bits::prefix_mask(16, 4)).to_u128(),
            Some(0xa000)
        );
        assert_eq!(value.masked(&Bits::ones(8)).to_u128(), Some(0xcd));
    }

    proptest! {
        #[test]
        fn what_follows_a_prefix_is_cleared(bytes in prop::collection::vec(any::<u8>(), 1..20), spare in 0_u32..8, prefix in 0_u32..200) {
            let width = bytes.len() as u32 * 8 - spare;
            let bits = Bits::zero(width);
            let bits = bytes.iter().enumerate().fold(bits, |mut bits, (at, byte)| {
                (0..8).filter(|bit| byte >> bit & 1 == 1).for_each(|bit| bits.set_bit(at as u32 * 8 + bit));
                bits
            });
            let masked = bits.masked(&Bits::prefix_mask(width, prefix));
            prop_assert_eq!(bits.ends_after(prefix), masked == bits);
            prop_assert!(masked.ends_after(prefix));
            prop_assert_eq!(bits.truncated(prefix), masked);
        }

        #[test]
        fn round_trip_with_any_padding(value: u128, extra in 0_u32..40, padding in 0_usize..9) {
            let width = 128 - value.leading_zeros() + extra;
            let bits = Bits::from_uint(value, width).unwrap();
            let mut padded = vec![0; padding];
            padded.extend(bits.canonical());
            prop_assert_eq!(Bits::decode(&padded, width).unwrap(), bits.clone());
            prop_assert_eq!(bits.to_u128(), Some(value));
            prop_assert!(bits.canonical().len() == 1 || bits.canonical()[0] != 0);
        }

        #[test]
        fn one_bit_too_few_is_refused(value in 1_u128..) {
            let needed = 128 - value.leading_zeros();
            prop_assert!(Bits::from_uint(value, needed).is_ok());
            prop_assert!(Bits::from_uint(value, needed - 1).is_err());
        }

        #[test]
        fn signed_values_keep_their_value(value: i64, width in 1_u32..=64) {
            let fits = width == 64 || (-(1_i64 << (width - 1))..1_i64 << (width - 1)).contains(&value);
            let bytes = value.to_be_bytes();
            let decoded = decode_signed(&bytes, width);
            prop_assert_eq!(decoded.is_ok(), fits);
            if let Ok(short) = decoded {
                let sign = if short[0] & 0x80 == 0 { 0 } else { -1 };
                let back = short.iter().fold(sign, |v: i64, &b| v << 8 | i64::from(b));
                prop_assert_eq!(back, value);
            }
        }
    }
}
