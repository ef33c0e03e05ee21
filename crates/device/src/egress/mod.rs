//! The egress of a device: what becomes of a packet between the end of the program and the wire.

mod buffered;
mod immediate;
mod queues;

use std::num::NonZeroU8;

use quantities::{Nanos, PortId};

pub use buffered::Buffered;
pub use immediate::Immediate;
pub use queues::{QueueDrops, QueueRange, QueueSetting, Queues};

use crate::Transmit;
use crate::buffer::{Buffer, BufferConfig, BufferError};
use crate::ports::Ports;

/// How packets leave a device. The default is [`Egress::Immediate`].
// One per device: a pointer to the larger ones would be one more access to memory per frame.
#[allow(clippy::large_enum_variant, reason = "there is one per device")]
#[derive(Clone, Debug)]
pub enum Egress {
    /// Packets leave at once, in the order in which the program sends them.
    Immediate(Immediate),
    /// Packets wait in queues with a depth and a rate in packets per second, as those of BMv2's
    /// `simple_switch`.
    Queues(Queues),
    /// Packets wait in a shared buffer until their port is free. Ports hold a rate in bits per
    /// second, and lossless classes send and obey PFC frames (IEEE 802.1Qbb).
    Buffer(Buffered),
}

impl Default for Egress {
    fn default() -> Self {
        Self::Immediate(Immediate::default())
    }
}

impl Egress {
    /// [`Egress::Queues`] with this number of queues per port, without limits: see
    /// [`Queues::new`].
    #[must_use]
    pub fn queues(per_port: Option<NonZeroU8>, unlimited: Option<PortId>) -> Self {
        Self::Queues(Queues::new(per_port, unlimited))
    }

    /// [`Egress::Buffer`] with an empty buffer.
    ///
    /// # Errors
    /// [`BufferError`] when the configuration contradicts itself.
    pub fn buffer(config: BufferConfig) -> Result<Self, BufferError> {
        Buffer::new(config).map(|buffer| Self::Buffer(Buffered::new(buffer)))
    }

    /// The next frame that leaves at `now`.
    #[inline]
    pub(crate) fn poll_transmit(&mut self, now: Nanos, ports: &mut Ports) -> Option<Transmit<'_>> {
        match self {
            Self::Immediate(immediate) => immediate.poll_transmit(now),
            Self::Queues(queues) => queues.poll_transmit(now, ports),
            Self::Buffer(buffered) => buffered.poll_transmit(now, ports),
        }
    }

    /// When a frame may leave or a timer goes off.
    #[inline]
    pub(crate) fn poll_timeout(&self) -> Option<Nanos> {
        match self {
            Self::Immediate(immediate) => immediate.poll_timeout(),
            Self::Queues(queues) => queues.poll_timeout(),
            Self::Buffer(buffered) => buffered.poll_timeout(),
        }
    }
}
