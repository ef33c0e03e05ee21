//! Times, sizes and rates as requests write them: `20ms`, `50KB`, `40Gbps`.

use std::fmt;
use std::str::FromStr;

use quantities::{BitRate, Bytes, Metres, Nanos, UnitError};
use serde::de::{Deserialize, Deserializer, Error, Visitor};

macro_rules! quantity {
    ($(#[$doc:meta])* $name:ident($inner:ty), $example:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub struct $name(pub $inner);

        impl FromStr for $name {
            type Err = UnitError;

            fn from_str(text: &str) -> Result<Self, UnitError> {
                text.parse().map(Self)
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
    Time(Nanos), "250us"
}
quantity! {
    /// A size: `50KB`.
    Size(Bytes), "50KB"
}
quantity! {
    /// A rate: `40Gbps`.
    Speed(BitRate), "40Gbps"
}
quantity! {
    /// A length, in metres unless it names a unit: `100`, `3km`.
    Length(Metres), "3km"
}

impl Speed {
    /// Reads a rate above zero, in Gb/s unless it names a unit: `100`, `2.5`, `400Gbps`.
    ///
    /// # Errors
    /// Why the text is no rate of a link.
    pub fn gigabits(text: &str) -> Result<Self, String> {
        let rate: Result<Self, UnitError> =
            match text.trim().ends_with(|c: char| c.is_ascii_digit()) {
                true => format!("{text}Gbps").parse(),
                false => text.parse(),
            };
        match rate.map_err(|error| error.to_string())? {
            Self(BitRate::ZERO) => Err("a link with rate 0 carries nothing".to_owned()),
            rate => Ok(rate),
        }
    }
}

impl Size {
    /// Reads a size in KiB unless it names a unit: `12288`, `12MiB`.
    ///
    /// # Errors
    /// [`UnitError`] for a text that is no size.
    pub fn kibibytes(text: &str) -> Result<Self, UnitError> {
        match text.trim().ends_with(|c: char| c.is_ascii_digit()) {
            true => format!("{text}KiB").parse(),
            false => text.parse(),
        }
    }
}
