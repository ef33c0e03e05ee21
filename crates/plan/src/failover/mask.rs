//! Sets of ports as the port-status key sees them: one bit per port.

use std::fmt;

use quantities::PortId;

use crate::PortSet;

/// The highest port that a port mask can name.
pub const WIDEST: PortId = PortId::new(127);

/// A set of ports from 0 to [`WIDEST`]: bit `p` stands for port `p`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortMask(u128);

impl PortMask {
    /// The set without ports.
    pub const EMPTY: Self = Self(0);

    /// The set of one port; empty if the port is beyond [`WIDEST`].
    #[must_use]
    pub const fn single(port: PortId) -> Self {
        if port.get() > WIDEST.get() {
            return Self(0);
        }
        Self(1 << port.get())
    }

    /// The bits.
    #[must_use]
    pub const fn bits(self) -> u128 {
        self.0
    }

    /// The set of these bits.
    #[must_use]
    pub const fn from_bits(bits: u128) -> Self {
        Self(bits)
    }

    /// This set and a port.
    #[must_use]
    pub const fn with(self, port: PortId) -> Self {
        Self(self.0 | Self::single(port).0)
    }

    /// Whether a port is in the set.
    #[must_use]
    pub const fn contains(self, port: PortId) -> bool {
        self.0 & Self::single(port).0 != 0
    }

    /// Whether the set has no port.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether all ports of `other` are in the set.
    #[must_use]
    pub const fn contains_all(self, other: Self) -> bool {
        other.0 & !self.0 == 0
    }

    /// The ports that are in both sets.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// The ports that are in this set and not in the other.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// The ports in rising order.
    pub fn iter(self) -> impl Iterator<Item = PortId> {
        let mut bits = self.0;
        std::iter::from_fn(move || {
            let port = (bits != 0).then(|| PortId::new(bits.trailing_zeros() as u16))?;
            bits &= bits - 1;
            Some(port)
        })
    }

    /// The same as a set of ports; `None` if a port is beyond [`WIDEST`].
    #[must_use]
    pub fn of_set(set: &PortSet) -> Option<Self> {
        if set.last().is_some_and(|last| last > WIDEST) {
            return None;
        }
        Some(set.iter().fold(Self::EMPTY, Self::with))
    }

    /// The same as the set of ports that plan files write.
    #[must_use]
    pub fn to_set(self) -> PortSet {
        self.iter().collect()
    }
}

impl fmt::Display for PortMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_set().fmt(f)
    }
}
