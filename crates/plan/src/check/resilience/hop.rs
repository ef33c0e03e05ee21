//! One step of a packet's walk.

use quantities::PortId;
use topology::SwitchId;

use crate::failover::Origin;
use crate::tag::Tag;

/// A packet's passage through a switch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hop {
    pub(super) switch: SwitchId,
    pub(super) origin: Origin,
    /// The port by which it leaves; `None` at the destination, or where it is lost.
    pub(super) out: Option<PortId>,
    /// The lossless channel that a rule gave it.
    pub(super) channel: Option<Tag>,
}
