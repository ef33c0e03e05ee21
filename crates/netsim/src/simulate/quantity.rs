//! Times, sizes and rates as a scenario writes them: `20ms`, `50KB`, `40Gbps`.

use std::fmt;

use quantities::{BitRate, Bytes, Nanos};
use serde::de::{Deserialize, Deserializer, Error, Visitor};

/// A number with one of these units, each worth so much. Zero needs none.
fn parse(text: &str, units: &[(&str, f64)]) -> Option<u64> {
    let text = text.trim();
    let split = text
        .find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_'))
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let number: f64 = number.replace('_', "").parse().ok()?;
    let unit = unit.trim();
    let found = units
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(unit));
    let value = match found {
        Some((_, worth)) => number * worth,
        None if unit.is_empty() && number == 0.0 => 0.0,
        None => return None,
    };
    // Beyond 2^53 a float no longer counts in ones.
    (value.is_finite() && (0.0..9.0e15).contains(&value)).then(|| value.round() as u64)
}

const TIMES: &[(&str, f64)] = &[("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];
const SIZES: &[(&str, f64)] = &[
    ("B", 1.0),
    ("KB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
    // Bytes go without saying.
    ("", 1.0),
];
const RATES: &[(&str, f64)] = &[("bps", 1.0), ("Kbps", 1e3), ("Mbps", 1e6), ("Gbps", 1e9)];

macro_rules! quantity {
    ($(#[$doc:meta])* $name:ident($inner:ty), $units:expr, $example:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub struct $name(pub $inner);

        impl std::str::FromStr for $name {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                let value = parse(text, $units).ok_or_else(|| {
                    let units = $units.iter().map(|(name, _)| *name);
                    let units: Vec<_> = units.filter(|name| !name.is_empty()).collect();
                    format!(
                        concat!("`{}` is no such quantity: write it as in `", $example, "`, with one of {}"),
                        text,
                        units.join(", ")
                    )
                })?;
                Ok(Self(<$inner>::new(value)))
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Text;
                impl Visitor<'_> for Text {
                    type Value = $name;

                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str(concat!("a number with a unit, as in `", $example, "`"))
                    }

                    fn visit_str<E: Error>(self, text: &str) -> Result<$name, E> {
                        text.parse().map_err(E::custom)
                    }

                    fn visit_u64<E: Error>(self, value: u64) -> Result<$name, E> {
                        self.visit_str(&value.to_string())
                    }

                    fn visit_i64<E: Error>(self, value: i64) -> Result<$name, E> {
                        self.visit_str(&value.to_string())
                    }

                    fn visit_f64<E: Error>(self, value: f64) -> Result<$name, E> {
                        self.visit_str(&value.to_string())
                    }
                }
                deserializer.deserialize_any(Text)
            }
        }
    };
}

quantity! {
    /// A time: `250us`.
    Time(Nanos), TIMES, "250us"
}
quantity! {
    /// A size: `50KB`.
    Size(Bytes), SIZES, "50KB"
}
quantity! {
    /// A rate: `40Gbps`.
    Speed(BitRate), RATES, "40Gbps"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_read() {
        assert_eq!(parse("1.5ms", TIMES), Some(1_500_000));
        assert_eq!(parse("12 MiB", SIZES), Some(12 << 20));
        assert_eq!(parse("40Gbps", RATES), Some(40_000_000_000));
        assert_eq!(parse("1_500", SIZES), Some(1_500));
        assert_eq!(parse("0", TIMES), Some(0));
        for wrong in ["12", "1.5", "", "ms", "5 parsecs", "-1ms", "1e99s"] {
            assert_eq!(parse(wrong, TIMES), None, "{wrong}");
        }
    }
}
