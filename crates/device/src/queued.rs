//! The device with a shared buffer: packets wait for their port, and PFC frames end here.

use p4exec::Executor;
use p4exec::prefetch;
use quantities::{Nanos, PortId};
use wire::pfc;

use crate::buffer::{Buffer, BufferConfig, BufferError, Departure, Offer};
use crate::{Bench, Device, DeviceDrop, add};

/// Where an Ethernet frame has its EtherType, and that of MAC control.
const ETHER_TYPE: std::ops::Range<usize> = 12..14;
const MAC_CONTROL: [u8; 2] = [0x88, 0x08];

impl<E: Executor> Device<E> {
    /// From now on packets wait in a buffer like this, an empty one; without a configuration they leave at
    /// once. Ports that are down are down in the buffer as well.
    ///
    /// # Errors
    /// [`BufferError`]; then nothing has changed.
    pub fn set_buffer(&mut self, config: Option<BufferConfig>) -> Result<(), BufferError> {
        let mut buffer = config.map(Buffer::new).transpose()?;
        if let Some(buffer) = &mut buffer {
            for (port, up) in self.ports() {
                buffer.set_port_up(Nanos::default(), port, up);
            }
        }
        self.buffer = buffer;
        Ok(())
    }

    /// The buffer, if there is one.
    pub const fn buffer(&self) -> Option<&Buffer> {
        self.buffer.as_ref()
    }

    /// The buffer, to run its ports and timers.
    pub const fn buffer_mut(&mut self) -> Option<&mut Buffer> {
        self.buffer.as_mut()
    }

    /// Says that a link came up or went down, to the program and to the buffer. An unknown port is ignored.
    pub fn set_link_up(&mut self, now: Nanos, port: PortId, up: bool) {
        if self.set_port_up(port, up).is_ok()
            && let Some(buffer) = &mut self.buffer
        {
            buffer.set_port_up(now, port, up);
        }
    }

    /// Has what a frame from this port will need fetched to the processor's cache. A hint for drivers of many
    /// switches; it changes nothing.
    pub fn prefetch(&self, port: PortId) {
        if let Some(place) = self.ports.get(usize::from(port.get())) {
            prefetch(place);
        }
        if let Some(buffer) = &self.buffer {
            buffer.prefetch(port);
        }
    }

    /// Takes a frame in: a PFC frame stops or starts queues, everything else goes through the program and
    /// into the buffer. `padding` is how many zero bytes at the frame's end are not in `bytes`; the program
    /// does not see them. What was lost is told by [`Device::drops`].
    ///
    /// Without a buffer the frame is lost to whoever does not take [`Device::receive`] instead.
    pub fn accept(&mut self, now: Nanos, port: PortId, bytes: &[u8], padding: u32) {
        let mut bench = std::mem::take(&mut self.bench);
        self.accept_on(&mut bench, now, port, (bytes, padding));
        self.bench = bench;
    }

    /// The same on a bench that switches may share, so that it stays in the cache; it tells what was lost.
    pub fn accept_on(
        &mut self,
        bench: &mut Bench,
        now: Nanos,
        port: PortId,
        (bytes, padding): (&[u8], u32),
    ) {
        let Bench { batch, drops } = bench;
        drops.clear();
        let Some(place) = self.port_mut(port) else {
            drops.push(DeviceDrop::NoSuchPort(port));
            return;
        };
        if !place.up {
            place.counters.lost_down += 1;
            drops.push(DeviceDrop::PortDown(port));
            return;
        }
        place.counters.received += 1;
        add(
            &mut place.counters.received_bytes,
            bytes.len() + padding as usize,
        );
        if bytes.get(ETHER_TYPE) == Some(&MAC_CONTROL) {
            if let (Some(buffer), Ok(frame)) = (&mut self.buffer, pfc::Frame::new_checked(bytes)) {
                buffer.hear(now, port, &pfc::Repr::parse(&frame));
            }
            return;
        }
        batch.clear();
        self.executor.process_batch(now, &[(port, bytes)], batch);
        if !batch.dropped.is_empty() {
            let reasons = batch.dropped.drain(..);
            drops.extend(reasons.map(|(_, reason)| DeviceDrop::from(reason)));
        }
        let Some(buffer) = &mut self.buffer else {
            return;
        };
        for departure in &batch.sent {
            let offered = buffer.offer(
                now,
                Offer {
                    in_port: port,
                    ing_prio: departure.metadata.ing_prio.unwrap_or_default(),
                    out_port: departure.port,
                    eg_prio: departure.metadata.eg_prio.unwrap_or_default(),
                    bytes: batch.packet(departure),
                    padding,
                },
            );
            if let Err(refusal) = offered {
                drops.push(DeviceDrop::Buffer(refusal));
            }
        }
    }

    /// The next frame of a port, counted: [`Buffer::start`] and [`Buffer::leaving`].
    pub fn start(&mut self, now: Nanos, port: PortId) -> Option<(Departure, &[u8])> {
        let departure = self.buffer.as_mut()?.start(now, port)?;
        if let Some(place) = self.port_mut(port) {
            place.counters.sent += 1;
            let length = usize::try_from(departure.length.get()).unwrap_or(usize::MAX);
            add(&mut place.counters.sent_bytes, length);
        }
        Some((departure, self.buffer.as_ref()?.leaving(&departure)))
    }

    /// The same, with the frame's bytes in the place of those of `into`.
    pub fn transmit(&mut self, now: Nanos, port: PortId, into: &mut Vec<u8>) -> Option<Departure> {
        let (departure, bytes) = self.start(now, port)?;
        into.clear();
        into.extend_from_slice(bytes);
        Some(departure)
    }
}
