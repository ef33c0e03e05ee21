//! Sets of ports, the shape in which tag rules match ports: kept as sorted runs, written `1-16,20`.

use std::fmt;
use std::str::FromStr;

use quantities::PortId;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

/// Number of 64-bit words of a port bitmap: 512 ports, as many as v1model's 9-bit port number
/// names.
pub const BITMAP_WORDS: usize = 8;

/// A one-hot bitmap of ports: bit `p % 64` of word `p / 64` stands for port `p`.
pub type PortBitmap = [u64; BITMAP_WORDS];

/// A set of ports of one switch. One run of neighbouring ports (so also a single port) takes no
/// allocation; equal sets are equal values.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortSet(Runs);

/// Maximal runs of neighbouring ports, both ends included, in rising order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Runs {
    One(u16, u16),
    /// Zero runs or more than one.
    Many(Box<[(u16, u16)]>),
}

/// Why a text is not a set of ports.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "`{text}` is not a set of ports: write single ports and ranges in rising order, such as `1-16,20`"
)]
pub struct PortSetError {
    /// The text.
    text: String,
}

impl PortSet {
    /// The set without ports.
    #[must_use]
    pub fn empty() -> Self {
        Self(Runs::Many(Box::new([])))
    }

    /// The set of one port.
    #[must_use]
    pub const fn single(port: PortId) -> Self {
        Self(Runs::One(port.get(), port.get()))
    }

    fn from_runs(runs: Vec<(u16, u16)>) -> Self {
        match runs[..] {
            [(a, b)] => Self(Runs::One(a, b)),
            _ => Self(Runs::Many(runs.into_boxed_slice())),
        }
    }

    /// The maximal runs of neighbouring ports, both ends included, in rising order.
    pub fn runs(&self) -> impl Iterator<Item = (PortId, PortId)> + '_ {
        let (one, many) = match &self.0 {
            Runs::One(a, b) => (Some((*a, *b)), &[][..]),
            Runs::Many(runs) => (None, &runs[..]),
        };
        one.into_iter()
            .chain(many.iter().copied())
            .map(|(a, b)| (PortId::new(a), PortId::new(b)))
    }

    /// The ports in rising order.
    pub fn iter(&self) -> impl Iterator<Item = PortId> + '_ {
        self.runs()
            .flat_map(|(a, b)| (a.get()..=b.get()).map(PortId::new))
    }

    /// Number of ports.
    #[must_use]
    pub fn len(&self) -> usize {
        self.runs()
            .map(|(a, b)| usize::from(b.get() - a.get()) + 1)
            .sum()
    }

    /// Whether the set has no port.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        matches!(&self.0, Runs::Many(runs) if runs.is_empty())
    }

    /// Whether the set has this port.
    #[must_use]
    pub fn contains(&self, port: PortId) -> bool {
        self.runs().any(|(a, b)| a <= port && port <= b)
    }

    /// The only port, if there is exactly one.
    #[must_use]
    pub fn as_single(&self) -> Option<PortId> {
        match self.0 {
            Runs::One(a, b) if a == b => Some(PortId::new(a)),
            _ => None,
        }
    }

    /// The highest port.
    #[must_use]
    pub fn last(&self) -> Option<PortId> {
        self.runs().last().map(|(_, b)| b)
    }

    /// The lowest port that both sets have.
    #[must_use]
    pub fn common(&self, other: &Self) -> Option<PortId> {
        self.runs().find_map(|(a, b)| {
            other
                .runs()
                .find(|(c, d)| *c <= b && a <= *d)
                .map(|(c, _)| a.max(c))
        })
    }

    /// Ports in either set.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        self.iter().chain(other.iter()).collect()
    }

    /// The one-hot bitmap, or `None` if a port is beyond 511.
    #[must_use]
    pub fn bitmap(&self) -> Option<PortBitmap> {
        let mut words = [0; BITMAP_WORDS];
        for port in self.iter() {
            *words.get_mut(usize::from(port.get()) / 64)? |= 1 << (port.get() % 64);
        }
        Some(words)
    }
}

impl FromIterator<PortId> for PortSet {
    fn from_iter<I: IntoIterator<Item = PortId>>(ports: I) -> Self {
        let mut ports: Vec<u16> = ports.into_iter().map(PortId::get).collect();
        if !ports.is_sorted() {
            ports.sort_unstable();
        }
        let mut runs: Vec<(u16, u16)> = Vec::new();
        for port in ports {
            match runs.last_mut() {
                Some((_, last)) if port - *last <= 1 => *last = port,
                _ => runs.push((port, port)),
            }
        }
        Self::from_runs(runs)
    }
}

impl fmt::Display for PortSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (a, b)) in self.runs().enumerate() {
            if index > 0 {
                f.write_str(",")?;
            }
            if a == b {
                write!(f, "{a}")?;
            } else {
                write!(f, "{a}-{b}")?;
            }
        }
        Ok(())
    }
}

impl FromStr for PortSet {
    type Err = PortSetError;

    fn from_str(text: &str) -> Result<Self, PortSetError> {
        let bad = || PortSetError {
            text: text.to_owned(),
        };
        if text.is_empty() {
            return Ok(Self::empty());
        }
        let commas = text.bytes().filter(|byte| *byte == b',').count();
        let mut runs: Vec<(u16, u16)> = Vec::with_capacity(commas + 1);
        for part in text.as_bytes().split(|byte| *byte == b',') {
            let mut ends = part.splitn(2, |byte| *byte == b'-');
            let first = ends.next().and_then(number).ok_or_else(bad)?;
            let last = ends.next().map_or(Some(first), number).ok_or_else(bad)?;
            if first > last {
                return Err(bad());
            }
            match runs.last_mut() {
                Some((_, end)) if first <= *end => return Err(bad()),
                Some((_, end)) if first - *end == 1 => *end = last,
                _ => runs.push((first, last)),
            }
        }
        Ok(Self::from_runs(runs))
    }
}

/// A port number in decimal, which spaces may be around.
fn number(text: &[u8]) -> Option<u16> {
    let digits = text.trim_ascii();
    let add = |number: u16, digit: &u8| {
        let digit = digit.checked_sub(b'0').filter(|digit| *digit < 10)?;
        number.checked_mul(10)?.checked_add(digit.into())
    };
    let number = digits.iter().try_fold(0, add);
    number.filter(|_| !digits.is_empty())
}

impl Serialize for PortSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for PortSet {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Text)
    }
}

/// Reads the text where it stands.
struct Text;

impl Visitor<'_> for Text {
    type Value = PortSet;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<PortSet, E> {
        text.parse().map_err(E::custom)
    }
}

impl JsonSchema for PortSet {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "PortSet".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "Ports of one switch: single ports and ranges in rising order, such as `1-16,20`.",
            "pattern": "^([0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*)?$"
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn set(ports: &[u16]) -> PortSet {
        ports.iter().copied().map(PortId::new).collect()
    }

    #[test]
    fn text_form_is_runs() {
        assert_eq!(set(&[1, 2, 3, 5]).to_string(), "1-3,5");
        assert_eq!("1-3,4,7".parse(), Ok(set(&[1, 2, 3, 4, 7])));
        assert_eq!(PortSet::empty().to_string(), "");
        assert_eq!(" 1 - 3 , 5".parse(), Ok(set(&[1, 2, 3, 5])));
        let bad = [
            "3-1", "x", "1,1", "2,1", "1-", ",", "70000", "1-2-3", "-1", "65536", "1 2", "\u{661}",
        ];
        for bad in bad {
            assert!(bad.parse::<PortSet>().is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn behaves_as_a_set(a in proptest::collection::btree_set(0u16..80, 0..30),
                            b in proptest::collection::btree_set(0u16..80, 0..30)) {
            let sa: PortSet = a.iter().copied().map(PortId::new).collect();
            let sb: PortSet = b.iter().copied().map(PortId::new).collect();
            prop_assert_eq!(sa.len(), a.len());
            prop_assert_eq!(sa.is_empty(), a.is_empty());
            prop_assert_eq!(sa.to_string().parse(), Ok(sa.clone()));
            prop_assert_eq!(sa.common(&sb).map(PortId::get), a.intersection(&b).next().copied());
            let union: Vec<u16> = sa.union(&sb).iter().map(PortId::get).collect();
            prop_assert_eq!(union, a.union(&b).copied().collect::<Vec<_>>());
            let bits: u32 = sa.bitmap().map_or(0, |w| w.iter().map(|w| w.count_ones()).sum());
            prop_assert_eq!(bits as usize, a.len());
            for p in 0..80 {
                prop_assert_eq!(sa.contains(PortId::new(p)), a.contains(&p));
            }
        }
    }
}
