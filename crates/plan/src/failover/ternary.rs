//! Ternary values: a number of which only some bits count.

use std::fmt;
use std::hash::{Hash, Hasher};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

/// A number of which only the bits of a mask count. In files: a number where all bits count, else
/// `"VALUE/MASK"` in hexadecimal, `"*"` where none does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ternary {
    value: u32,
    mask: u32,
}

impl Hash for Ternary {
    /// As one number: tables hold millions of them.
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(u64::from(self.mask) << 32 | u64::from(self.value));
    }
}

impl Ternary {
    /// Any number.
    pub const ANY: Self = Self { value: 0, mask: 0 };

    /// Exactly this number.
    #[must_use]
    pub const fn exact(value: u32) -> Self {
        Self {
            value,
            mask: u32::MAX,
        }
    }

    /// The numbers that equal `value` in the bits of `mask`.
    #[must_use]
    pub const fn new(value: u32, mask: u32) -> Self {
        Self {
            value: value & mask,
            mask,
        }
    }

    /// The value; zero where the mask is.
    #[must_use]
    pub const fn value(self) -> u32 {
        self.value
    }

    /// The bits that count.
    #[must_use]
    pub const fn mask(self) -> u32 {
        self.mask
    }

    /// Whether a number matches.
    #[must_use]
    pub const fn matches(self, number: u32) -> bool {
        number & self.mask == self.value
    }

    /// The number, if only one matches.
    #[must_use]
    pub const fn as_exact(self) -> Option<u32> {
        if self.mask == u32::MAX {
            return Some(self.value);
        }
        None
    }

    /// Whether no bit counts.
    #[must_use]
    pub const fn is_any(self) -> bool {
        self.mask == 0
    }
}

/// Why a text is no ternary value.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "`{0}` is no ternary value: write a number, or `0xVALUE/0xMASK` without value bits outside the mask, or `*`"
)]
pub struct TernaryError(String);

impl std::str::FromStr for Ternary {
    type Err = TernaryError;

    fn from_str(text: &str) -> Result<Self, TernaryError> {
        let wrong = || TernaryError(text.to_owned());
        if text == "*" {
            return Ok(Self::ANY);
        }
        let hex = |part: &str| {
            let digits = part.strip_prefix("0x").ok_or_else(wrong)?;
            if digits.starts_with('+') {
                return Err(wrong());
            }
            u32::from_str_radix(digits, 16).map_err(|_| wrong())
        };
        let Some((value, mask)) = text.split_once('/') else {
            return text.parse().map(Self::exact).map_err(|_| wrong());
        };
        let (value, mask) = (hex(value)?, hex(mask)?);
        if value & !mask != 0 {
            return Err(wrong());
        }
        Ok(Self { value, mask })
    }
}

impl fmt::Display for Ternary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.mask {
            0 => f.write_str("*"),
            u32::MAX => self.value.fmt(f),
            mask => write!(f, "{:#x}/{mask:#x}", self.value),
        }
    }
}

impl Serialize for Ternary {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.as_exact() {
            Some(value) => value.serialize(serializer),
            None => serializer.collect_str(self),
        }
    }
}

impl<'de> Deserialize<'de> for Ternary {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = Ternary;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, \"0xVALUE/0xMASK\" or \"*\"")
            }

            fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Ternary, E> {
                let number = u32::try_from(number).map_err(E::custom)?;
                Ok(Ternary::exact(number))
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Ternary, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer
            .deserialize_any(Visitor)
            .map_err(D::Error::custom)
    }
}

impl JsonSchema for Ternary {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Ternary".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A number, or `0xVALUE/0xMASK` where only the bits of the mask count, or `*` for any.",
            "oneOf": [
                {"type": "integer", "minimum": 0, "maximum": 4_294_967_295_u32},
                {"type": "string", "pattern": "^(\\*|[0-9]+|0x[0-9a-fA-F]+/0x[0-9a-fA-F]+)$"}
            ]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_come_back() {
        for text in ["*", "7", "0x4/0xc"] {
            let ternary: Ternary = text.parse().expect("reads");
            assert_eq!(ternary.to_string(), text);
        }
        for text in ["", "-1", "0x4", "0x4/0x3", "4/12", "0x+4/0x7"] {
            assert!(text.parse::<Ternary>().is_err(), "{text}");
        }
        assert!(Ternary::new(4, 12).matches(5));
        assert!(!Ternary::new(4, 12).matches(9));
    }
}
