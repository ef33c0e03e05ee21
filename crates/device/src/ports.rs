//! The ports of a device: which there are, whether they are up, and what they count.

use quantities::{Bytes, PortId};

use crate::{DeviceDrop, DeviceError};

/// What a port counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortCounters {
    /// Packets received and processed.
    pub received: u64,
    /// Their bytes.
    pub received_bytes: Bytes,
    /// Packets sent.
    pub sent: u64,
    /// Their bytes.
    pub sent_bytes: Bytes,
    /// Packets lost in either direction because the port was down.
    pub lost_down: u64,
    /// Packets to be sent that found no room in an egress queue.
    pub lost_queue: u64,
}

impl PortCounters {
    /// The sum of two sets of counters.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self {
            received: self.received + other.received,
            received_bytes: self.received_bytes + other.received_bytes,
            sent: self.sent + other.sent,
            sent_bytes: self.sent_bytes + other.sent_bytes,
            lost_down: self.lost_down + other.lost_down,
            lost_queue: self.lost_queue + other.lost_queue,
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Port {
    pub(crate) up: bool,
    pub(crate) counters: PortCounters,
}

/// Ports by number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ports(Vec<Option<Port>>);

impl Ports {
    #[inline]
    pub(crate) fn get(&self, port: PortId) -> Option<&Port> {
        self.0.get(usize::from(port.get()))?.as_ref()
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, port: PortId) -> Option<&mut Port> {
        self.0.get_mut(usize::from(port.get()))?.as_mut()
    }

    /// The memory of a port, whether there is such a port or not.
    #[inline]
    pub(crate) fn memory(&self, port: PortId) -> Option<&Option<Port>> {
        self.0.get(usize::from(port.get()))
    }

    /// The ports in rising order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (PortId, &Port)> {
        let numbered = (0..).map(PortId::new).zip(&self.0);
        numbered.filter_map(|(id, port)| Some((id, port.as_ref()?)))
    }

    /// Adds a port that is up; whether it is new.
    pub(crate) fn add(&mut self, port: PortId) -> bool {
        let at = usize::from(port.get());
        if self.0.len() <= at {
            self.0.resize(at + 1, None);
        }
        let is_new = self.0[at].is_none();
        self.0[at].get_or_insert(Port {
            up: true,
            counters: PortCounters::default(),
        });
        is_new
    }

    pub(crate) fn remove(&mut self, port: PortId) -> Result<(), DeviceError> {
        let place = self.0.get_mut(usize::from(port.get()));
        let removed = place.and_then(Option::take);
        removed.map(drop).ok_or(DeviceError::NoSuchPort(port))
    }

    pub(crate) fn set_up(&mut self, port: PortId, up: bool) -> Result<(), DeviceError> {
        let place = self.get_mut(port).ok_or(DeviceError::NoSuchPort(port))?;
        place.up = up;
        Ok(())
    }

    /// One more than the highest port number.
    pub(crate) fn count(&self) -> u16 {
        let last = self.0.iter().rposition(Option::is_some);
        last.map_or(0, |last| u16::try_from(last + 1).unwrap_or(u16::MAX))
    }

    /// A port that is up; a port that is down counts the packet as lost.
    #[inline]
    fn open(&mut self, port: PortId) -> Result<&mut PortCounters, DeviceDrop> {
        let place = self.get_mut(port).ok_or(DeviceDrop::NoSuchPort(port))?;
        if !place.up {
            place.counters.lost_down += 1;
            return Err(DeviceDrop::PortDown(port));
        }
        Ok(&mut place.counters)
    }

    /// Counts a frame of this length that has arrived at a port, or tells why it is lost.
    #[inline]
    pub(crate) fn count_received(&mut self, port: PortId, length: u64) -> Result<(), DeviceDrop> {
        let counters = self.open(port)?;
        counters.received += 1;
        counters.received_bytes += Bytes::new(length);
        Ok(())
    }

    /// Whether a packet may leave by a port; otherwise it is counted, and lost.
    #[inline]
    pub(crate) fn may_send(&mut self, port: PortId) -> Result<(), DeviceDrop> {
        self.open(port).map(|_| ())
    }

    /// Counts a packet of this length that leaves by a port. A port that does not exist counts
    /// nothing.
    #[inline]
    pub(crate) fn count_sent(&mut self, port: PortId, length: u64) {
        if let Some(place) = self.get_mut(port) {
            place.counters.sent += 1;
            place.counters.sent_bytes += Bytes::new(length);
        }
    }

    /// Counts a packet that found no room in an egress queue.
    pub(crate) fn count_lost_queue(&mut self, port: PortId) {
        if let Some(place) = self.get_mut(port) {
            place.counters.lost_queue += 1;
        }
    }
}
