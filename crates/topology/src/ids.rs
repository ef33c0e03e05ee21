//! Typed indices into a [`Topology`](super::Topology).

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Declares an index newtype over `u32`.
macro_rules! index {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[derive(Serialize, Deserialize, JsonSchema)]
        #[serde(transparent)]
        pub struct $name(u32);

        impl $name {
            /// The index of the `raw`-th entity.
            #[must_use]
            pub const fn new(raw: u32) -> Self {
                Self(raw)
            }

            /// The position in the topology's vector.
            #[must_use]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }
    };
}

index! {
    /// A switch of a topology.
    SwitchId, "switch#"
}
index! {
    /// A host of a topology.
    HostId, "host#"
}
index! {
    /// A link of a topology.
    LinkId, "link#"
}
index! {
    /// One direction of a live link between two switches, in a [`Fabric`](super::Fabric).
    ArcId, "arc#"
}

/// A switch or a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NodeId {
    /// A switch.
    Switch(SwitchId),
    /// A host.
    Host(HostId),
}
