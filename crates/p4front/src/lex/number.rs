//! Integer literals: `[width w|s] [0x|0d|0o|0b] digits`, underscores between digits
//! (P4_16 1.2.5, section 6.4.3.2).

use num_bigint::BigInt;

use crate::ast::{IntLiteral, LiteralWidth};

/// Widest `bit<W>`, `int<W>` or literal accepted, in bits; p4c's limit.
pub const MAX_WIDTH: u32 = 2048;

/// Longest literal accepted, in characters.
const MAX_DIGITS: usize = 4096;

/// Why a number is no integer literal.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NumberError {
    /// No digit behind the prefix.
    #[error("integer literal `{0}` has no digits")]
    NoDigits(String),
    /// A letter or digit that does not belong to the base.
    #[error("`{found}` is no digit of the base {base} literal `{literal}`")]
    BadDigit {
        /// The literal.
        literal: String,
        /// The character.
        found: char,
        /// The base.
        base: u32,
    },
    /// The width is above [`MAX_WIDTH`].
    #[error("width {0} is too large; at most {MAX_WIDTH} bits are supported")]
    TooWide(String),
    /// More than [`MAX_DIGITS`] characters.
    #[error("integer literal of {0} characters is too long")]
    TooLong(usize),
}

/// Reads an integer literal.
///
/// # Errors
/// [`NumberError`] says what is wrong with it.
pub fn parse(text: &str) -> Result<IntLiteral, NumberError> {
    if text.len() > MAX_DIGITS {
        return Err(NumberError::TooLong(text.len()));
    }
    let (width, rest) = split_width(text)?;
    let (base, digits) = split_base(rest);
    let clean: String = digits.chars().filter(|c| *c != '_').collect();
    if let Some(found) = clean.chars().find(|c| !c.is_digit(base)) {
        return Err(NumberError::BadDigit {
            literal: text.into(),
            found,
            base,
        });
    }
    let value = BigInt::parse_bytes(clean.as_bytes(), base)
        .ok_or_else(|| NumberError::NoDigits(text.into()))?;
    Ok(IntLiteral { value, width, base })
}

fn split_width(text: &str) -> Result<(Option<LiteralWidth>, &str), NumberError> {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (head, tail) = text.split_at(end);
    let signed = match tail.chars().next() {
        Some('w') => false,
        Some('s') => true,
        _ => return Ok((None, text)),
    };
    let bits = head.parse().ok().filter(|b| *b <= MAX_WIDTH);
    let bits = bits.ok_or_else(|| NumberError::TooWide(head.into()))?;
    Ok((
        Some(LiteralWidth { bits, signed }),
        tail.get(1..).unwrap_or(""),
    ))
}

fn split_base(text: &str) -> (u32, &str) {
    let base = match text.get(..2) {
        Some("0x" | "0X") => 16,
        Some("0d" | "0D") => 10,
        Some("0o" | "0O") => 8,
        Some("0b" | "0B") => 2,
        _ => return (10, text),
    };
    (base, text.get(2..).unwrap_or(""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        match parse(text) {
            Err(e) => e.to_string(),
            Ok(l) => {
                let w = l.width.map_or("int".into(), |w| {
                    format!("{}<{}>", if w.signed { "int" } else { "bit" }, w.bits)
                });
                format!("{w} {}", l.value)
            }
        }
    }

    #[test]
    fn all_forms() {
        assert_eq!(shown("42"), "int 42");
        assert_eq!(shown("007"), "int 7");
        assert_eq!(shown("0x_1F"), "int 31");
        assert_eq!(shown("8w0xF_F"), "bit<8> 255");
        assert_eq!(shown("4s7"), "int<4> 7");
        assert_eq!(shown("16w0b1111_0000"), "bit<16> 240");
        assert_eq!(shown("8w0o17"), "bit<8> 15");
        assert_eq!(shown("3w0d5"), "bit<3> 5");
        assert_eq!(shown("0w0"), "bit<0> 0");
    }

    #[test]
    fn wrong_forms() {
        assert_eq!(shown("8w"), "integer literal `8w` has no digits");
        assert_eq!(shown("0x"), "integer literal `0x` has no digits");
        assert_eq!(
            shown("0b12"),
            "`2` is no digit of the base 2 literal `0b12`"
        );
        assert_eq!(
            shown("12ab"),
            "`a` is no digit of the base 10 literal `12ab`"
        );
        assert_eq!(
            shown("9999w1"),
            "width 9999 is too large; at most 2048 bits are supported"
        );
        assert!(shown(&"1".repeat(5000)).contains("too long"));
    }
}
