//! Times, sizes and rates as a scenario writes them: `20ms`, `50KB`, `40Gbps`.

use std::fmt;
use std::str::FromStr;

use quantities::{BitRate, Bytes, Nanos, UnitError};
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
