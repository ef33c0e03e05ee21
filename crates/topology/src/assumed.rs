//! Which facts of a link and of a network are assumed.

/// Facts of a link for which defaults stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AssumedOfLink {
    /// The rate.
    pub rate: bool,
    /// The length.
    pub length: bool,
}

/// Facts of a network that whoever plans for it has to assume.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AssumedOfNetwork {
    /// The packet buffers of switches that have none in the topology.
    pub buffer: bool,
    /// The largest frame.
    pub mtu: bool,
}
