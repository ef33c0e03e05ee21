//! Rates and lengths of links that a file or a generator does not give one by one.

use quantities::{BitRate, Metres};

/// Rates and lengths of links, by their place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cables {
    /// Rate of links between a host and a switch.
    pub host_rate: BitRate,
    /// Rate of links between switches.
    pub fabric_rate: BitRate,
    /// Length of links between a host and a switch.
    pub host_length: Metres,
    /// Length of links between switches.
    pub fabric_length: Metres,
}

impl Default for Cables {
    /// 100 Gb/s everywhere, 10 m within the rack and 100 m between switches.
    fn default() -> Self {
        Self {
            host_rate: BitRate::gbps(100),
            fabric_rate: BitRate::gbps(100),
            host_length: Metres::new(10),
            fabric_length: Metres::new(100),
        }
    }
}
