//! What goes into a device and what comes out of it: frames, and the reasons why there is none.

use p4exec::DropReason;
use quantities::{Nanos, PortId, Priority};
use thiserror::Error;

use crate::buffer;

/// A frame that has arrived at a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The port.
    pub port: PortId,
    /// Its bytes.
    pub bytes: &'a [u8],
    /// Zero bytes at its end that `bytes` leaves out: a simulation need not carry them. They count,
    /// and the program does not see them.
    pub padding: u32,
    /// The program was run on it by [`Device::look_ahead`](crate::Device::look_ahead).
    pub looked_ahead: bool,
}

impl<'a> Frame<'a> {
    /// A frame whose bytes are all there.
    #[must_use]
    pub const fn new(port: PortId, bytes: &'a [u8]) -> Self {
        Self {
            port,
            bytes,
            padding: 0,
            looked_ahead: false,
        }
    }

    /// Its length with padding.
    #[inline]
    pub(crate) const fn length(&self) -> u64 {
        self.bytes.len() as u64 + self.padding as u64
    }
}

/// A frame that leaves by a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit<'a> {
    /// The port.
    pub port: PortId,
    /// Its bytes.
    pub bytes: &'a [u8],
    /// Zero bytes at its end that `bytes` leaves out.
    pub padding: u32,
    /// The queue that it comes from: the one that `standard_metadata.priority` chose where the
    /// egress is [`Queues`](crate::Egress::Queues), EG_PRIO otherwise. `None` for a PFC frame,
    /// which the device makes itself.
    pub queue: Option<Priority>,
    /// ING_PRIO, the priority of the arriving tag: the class that this switch accounts and pauses
    /// upstream. Zero, the lossy class, where the program sets none.
    pub ing_prio: Priority,
    /// EG_PRIO, the priority of the new tag. Zero where the program sets none.
    pub eg_prio: Priority,
    /// When its last bit leaves and the port is free. Ports without a rate are free at once.
    pub until: Nanos,
}

/// Why a packet that the program wanted sent was not, or a received one was not processed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DeviceDrop {
    /// The program ended it.
    #[error(transparent)]
    Program(#[from] DropReason),
    /// It came from, or was to leave by, a port that is down.
    #[error("port {0} is down")]
    PortDown(PortId),
    /// It came from, or was to leave by, a port the switch does not have.
    #[error("the switch has no port {0}")]
    NoSuchPort(PortId),
    /// It found no room in the buffer.
    #[error(transparent)]
    Buffer(#[from] buffer::Refusal),
}

/// Why a port cannot be named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum DeviceError {
    /// The switch does not have it.
    #[error("the switch has no port {0}")]
    NoSuchPort(PortId),
}
