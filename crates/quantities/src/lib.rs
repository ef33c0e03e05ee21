//! Quantities as types, for every API: ports, priorities, bytes, time, rates.
//!
//! A bare integer in an API says neither what it counts nor in which unit; these newtypes do. They
//! are plain data (`Copy`, ordered, hashable, serialised as the number inside) and carry only the
//! arithmetic that makes sense for them. All of it saturates: it neither panics nor wraps.
//!
//! ```
//! use quantities::{BitRate, Bytes, Nanos};
//!
//! let rate: BitRate = "100 Gb/s".parse()?;
//! let frame = Bytes::new(1_250);
//! assert_eq!(rate.time_of(frame), Nanos::new(100));
//! assert_eq!(rate.bytes_in("10us".parse::<Nanos>()?), Bytes::new(125_000));
//! assert_eq!((Nanos::new(1_000) + Nanos::new(500)).with_unit().to_string(), "1500ns");
//! # Ok::<(), quantities::UnitError>(())
//! ```

mod arithmetic;
mod progress;
mod units;

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use progress::{Cancelled, Progress};
pub use units::{UnitError, WithUnit};

/// Declares a transparent integer newtype with `new`, `get`, `Display` and conversions.
macro_rules! quantity {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[derive(Serialize, Deserialize, JsonSchema)]
        #[serde(transparent)]
        pub struct $name($inner);

        impl $name {
            /// Wraps a raw number.
            #[must_use]
            pub const fn new(raw: $inner) -> Self {
                Self(raw)
            }

            /// The raw number.
            #[must_use]
            pub const fn get(self) -> $inner {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }

        impl From<$inner> for $name {
            fn from(raw: $inner) -> Self {
                Self(raw)
            }
        }
    };
}

quantity! {
    /// A port number as the switch itself counts it (v1model: 9 bits, so 0 to 511; front-panel
    /// ports start at 1 by convention).
    PortId(u16)
}
quantity! {
    /// An IEEE 802.1Q priority / PFC class, 0 to 7. Zero is the lossy class throughout this
    /// project.
    Priority(u8)
}
quantity! {
    /// A number of bytes.
    Bytes(u64)
}
quantity! {
    /// A point in time or a duration, in nanoseconds. Points count from an origin the caller chose.
    Nanos(u64)
}
quantity! {
    /// A link or port rate, in bits per second.
    BitRate(u64)
}
quantity! {
    /// A cable length, in metres.
    Metres(u32)
}

impl BitRate {
    /// A rate given in gigabits per second.
    #[must_use]
    pub const fn gbps(gigabits: u64) -> Self {
        Self(gigabits * 1_000_000_000)
    }
}
