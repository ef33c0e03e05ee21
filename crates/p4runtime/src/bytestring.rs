//! Byte strings, the form in which P4 integers travel (P4Runtime 1.5, chapter 8, "Bytestrings").
//!
//! A sender writes the shortest big-endian string that holds the value: no leading zero bytes, and
//! one `00` for zero. A receiver takes any amount of leading zeros, and refuses, with
//! `OUT_OF_RANGE`, the empty string and values wider than the P4Info says.

/// Why a byte string is not a value of the expected width; on the wire, `OUT_OF_RANGE`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BytestringError {
    /// No bytes at all; zero is one `00` byte.
    #[error("the byte string is empty; write zero as one 00 byte")]
    Empty,
    /// The value needs more bits than there are.
    #[error("the value {value} does not fit {width} bits: it needs {needed} bits")]
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
pub fn signed(bytes: &[u8], width: u32) -> Result<&[u8], BytestringError> {
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

/// Checks that a string holds a `bit<width>` value and returns its shortest form.
///
/// # Errors
/// [`BytestringError`] when the string is empty or its value does not fit.
pub fn unsigned(bytes: &[u8], width: u32) -> Result<&[u8], BytestringError> {
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
    Ok(short)
}

fn bits_in(bytes: usize) -> u32 {
    u32::try_from(bytes.saturating_mul(8)).unwrap_or(u32::MAX)
}

/// Bytes of a value that messages show.
const SHOWN: usize = 32;

fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 + 2 * bytes.len().min(SHOWN));
    text.push_str("0x");
    for byte in bytes.iter().take(SHOWN) {
        for digit in [byte >> 4, byte & 0xf] {
            text.push(char::from_digit(u32::from(digit), 16).unwrap_or('?'));
        }
    }
    if bytes.len() > SHOWN {
        text.push_str("...");
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn number(bytes: &[u8]) -> u128 {
        bytes
            .iter()
            .fold(0, |value, &byte| value << 8 | u128::from(byte))
    }

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
            assert_eq!(number(unsigned(bytes, width).unwrap()), value);
        }
        for (width, bytes, short) in [
            (8, &b"\x63"[..], &b"\x63"[..]),
            (8, b"\x9d", b"\x9d"),
            (8, b"\xff\x9d", b"\x9d"),
            (12, b"\xfd\x1d", b"\xfd\x1d"),
            (16, b"\x00\x00", b"\x00"),
            (1, b"\xff", b"\xff"),
        ] {
            assert_eq!(signed(bytes, width).unwrap(), short);
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
            assert!(unsigned(bytes, width).is_err(), "bit<{width}> {bytes:?}");
        }
        for (width, bytes) in [(8, &b"\x00\x9d"[..]), (12, b"\x8d\x1d"), (16, b"")] {
            assert!(signed(bytes, width).is_err(), "int<{width}> {bytes:?}");
        }
    }

    #[test]
    fn zero_is_one_zero_byte() {
        assert_eq!(unsigned(&[0, 0, 0], 0), Ok(&[0][..]));
        assert_eq!(canonical(&[]), [0]);
    }

    #[test]
    fn messages_say_how_to_mend() {
        let wide = unsigned(&[1, 0xff], 8).unwrap_err();
        assert_eq!(
            wide.to_string(),
            "the value 0x01ff does not fit 8 bits: it needs 9 bits"
        );
        assert!(BytestringError::Empty.to_string().contains("one 00 byte"));
    }

    proptest! {
        #[test]
        fn round_trip_with_any_padding(value: u128, extra in 0_u32..40, padding in 0_usize..9) {
            let width = 128 - value.leading_zeros() + extra;
            let mut padded = vec![0; padding];
            padded.extend(value.to_be_bytes());
            let short = unsigned(&padded, width).unwrap();
            prop_assert_eq!(number(short), value);
            prop_assert!(short.len() == 1 || short[0] != 0);
        }

        #[test]
        fn one_bit_too_few_is_refused(value in 1_u128..) {
            let needed = 128 - value.leading_zeros();
            prop_assert!(unsigned(&value.to_be_bytes(), needed).is_ok());
            prop_assert!(unsigned(&value.to_be_bytes(), needed - 1).is_err());
        }

        #[test]
        fn signed_values_keep_their_value(value: i64, width in 1_u32..=64) {
            let fits = width == 64 || (-(1_i64 << (width - 1))..1_i64 << (width - 1)).contains(&value);
            let bytes = value.to_be_bytes();
            let decoded = signed(&bytes, width);
            prop_assert_eq!(decoded.is_ok(), fits);
            if let Ok(short) = decoded {
                let sign = if short[0] & 0x80 == 0 { 0 } else { -1 };
                let back = short.iter().fold(sign, |v: i64, &b| v << 8 | i64::from(b));
                prop_assert_eq!(back, value);
            }
        }
    }
}
