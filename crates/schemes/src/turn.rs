//! A rule before tags and classes are spelled out.

use plan::PortSet;

/// A rule that is the same for every tag: packets from `in_ports` to `out_ports` keep their tag or
/// rise by one.
#[derive(Clone, Debug)]
pub(super) struct Turn {
    pub(super) precedence: u8,
    pub(super) in_ports: PortSet,
    pub(super) out_ports: PortSet,
    pub(super) rises: bool,
}
