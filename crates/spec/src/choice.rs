//! Options that are one of a list of names: schemes, algorithms, carriers.

use std::fmt;
use std::str::FromStr;

use serde::de::{Deserialize, Deserializer, Error, Visitor};

/// A list of names, of which an option takes one.
pub trait Choice: Copy + Send + Sync + 'static {
    /// All values, in the order in which they are listed.
    const ALL: &'static [Self];

    /// The name that users write.
    fn name(self) -> &'static str;

    /// What it means, as one line of help.
    fn about(self) -> &'static str;

    /// The names of all values, in their order.
    #[must_use]
    fn names() -> Vec<&'static str> {
        Self::ALL.iter().map(|choice| choice.name()).collect()
    }
}

/// Implements [`Choice`] for enums that derive their names and lines of help by `strum`.
macro_rules! listed {
    ($($list:ty),+) => {$(
        impl $crate::choice::Choice for $list {
            const ALL: &'static [Self] = <Self as strum::VariantArray>::VARIANTS;

            fn name(self) -> &'static str {
                self.into()
            }

            fn about(self) -> &'static str {
                strum::EnumMessage::get_message(&self).unwrap_or_default()
            }
        }
    )+};
}
pub(crate) use listed;

/// A choice by its name: what users write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Named<T>(pub T);

impl<T: Choice> fmt::Display for Named<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name())
    }
}

impl<T: Choice> FromStr for Named<T> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut all = T::ALL.iter();
        let found = all.find(|choice| choice.name() == text);
        let found = found.ok_or_else(|| format!("`{text}` is none of {}", T::names().join(", ")));
        found.map(|choice| Self(*choice))
    }
}

impl<'de, T: Choice> Deserialize<'de> for Named<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Name<T>(std::marker::PhantomData<T>);
        impl<T: Choice> Visitor<'_> for Name<T> {
            type Value = Named<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "one of {}", T::names().join(", "))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Named<T>, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Name(std::marker::PhantomData))
    }
}

#[cfg(feature = "clap")]
impl<T: Choice> clap::builder::ValueParserFactory for Named<T> {
    type Parser = clap::builder::ValueParser;

    fn value_parser() -> Self::Parser {
        use clap::builder::TypedValueParser as _;
        possible_values::<T>()
            .try_map(|name| name.parse::<Self>())
            .into()
    }
}

/// The parser of a choice's names, each with its help.
#[cfg(feature = "clap")]
pub(crate) fn possible_values<T: Choice>() -> clap::builder::PossibleValuesParser {
    use clap::builder::PossibleValue;
    let values = T::ALL
        .iter()
        .map(|choice| PossibleValue::new(choice.name()).help(choice.about()));
    clap::builder::PossibleValuesParser::new(values)
}
