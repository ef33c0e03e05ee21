//! Tags and the classes of packets that start with them.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A lossless tag: a small number whose meaning is its place in the order (a packet's tag never
/// falls). Tags are the scheme's own: the paper's greedy counts from 0, its Clos from 1. What
/// stands in the packet is the tag's code in the carrier of the plan.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Tag(u8);

impl Tag {
    /// The tag with this number.
    #[must_use]
    pub const fn new(raw: u8) -> Self {
        Self(raw)
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u8 {
        self.0
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A lossless class: a position in the `classes` of the plan.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct ClassId(u8);

impl ClassId {
    /// The class at this position.
    #[must_use]
    pub const fn new(raw: u8) -> Self {
        Self(raw)
    }

    /// The position.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The position as the number that class bits carry.
    #[must_use]
    pub const fn get(self) -> u8 {
        self.0
    }
}

impl fmt::Display for ClassId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "class {}", self.0)
    }
}

/// What becomes of a packet at a switch: the tag with which it leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NewTag {
    /// It leaves lossless, with this tag.
    Lossless(Tag),
    /// It is lossy from here on.
    Lossy,
}

impl NewTag {
    /// The tag, if lossless.
    #[must_use]
    pub const fn tag(self) -> Option<Tag> {
        match self {
            Self::Lossless(tag) => Some(tag),
            Self::Lossy => None,
        }
    }
}

impl fmt::Display for NewTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lossless(tag) => tag.fmt(f),
            Self::Lossy => f.write_str("lossy"),
        }
    }
}
