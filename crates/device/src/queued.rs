//! The device with a shared buffer: packets wait for their port, and PFC frames end here.

use p4exec::{Batch, Executor, prefetch};
use quantities::{Nanos, PortId};
use wire::ethernet::is_mac_control;
use wire::pfc;

use crate::buffer::{Buffer, BufferConfig, BufferError, Departure, Offer};
use crate::{Bench, Device, DeviceDrop, add};

/// What a program made of frames that have not been taken in yet, and which of them is taken in
/// next.
#[derive(Debug, Default)]
pub struct Ahead {
    batch: Batch,
    /// The frame's number, and how much of the batch is about those before it.
    arrival: u32,
    sent: usize,
    dropped: usize,
}

impl<E: Executor> Device<E> {
    /// From now on packets wait in a buffer like this, an empty one; without a configuration they
    /// leave at once. Ports that are down are down in the buffer as well.
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

    /// Says that a link came up or went down, to the program and to the buffer. An unknown port is
    /// ignored.
    pub fn set_link_up(&mut self, now: Nanos, port: PortId, up: bool) {
        if self.set_port_up(port, up).is_ok()
            && let Some(buffer) = &mut self.buffer
        {
            buffer.set_port_up(now, port, up);
        }
    }

    /// Has what a frame from this port will need fetched to the processor's cache. A hint for
    /// drivers of many switches; it changes nothing.
    pub fn prefetch(&self, port: PortId) {
        if let Some(place) = self.ports.get(usize::from(port.get())) {
            prefetch(place);
        }
        if let Some(buffer) = &self.buffer {
            buffer.prefetch(port);
        }
    }

    /// Takes a frame in: a PFC frame stops or starts queues, everything else goes through the
    /// program and into the buffer. `padding` is how many zero bytes at the frame's end are not in
    /// `bytes`; the program does not see them. What was lost is told by [`Device::drops`].
    ///
    /// Without a buffer the frame is lost to whoever does not take [`Device::receive`] instead.
    pub fn accept(&mut self, now: Nanos, port: PortId, bytes: &[u8], padding: u32) {
        let mut bench = std::mem::take(&mut self.bench);
        self.accept_on(&mut bench, now, port, (bytes, padding));
        self.bench = bench;
    }

    /// The same on a bench that switches may share, so that it stays in the cache; it tells what
    /// was lost.
    pub fn accept_on(
        &mut self,
        bench: &mut Bench,
        now: Nanos,
        port: PortId,
        (bytes, padding): (&[u8], u32),
    ) {
        let Bench { batch, drops } = bench;
        drops.clear();
        if let Err(drop) = self.count_in(port, bytes.len() + padding as usize) {
            drops.push(drop);
            return;
        }
        if is_mac_control(bytes) {
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
        for departure in &batch.sent {
            self.offer(now, (port, padding), batch, departure, drops);
        }
    }

    /// Whether the program is run on a frame from this port: on none of a port that is down or is
    /// not there, nor on PFC frames.
    pub fn is_for_program(&self, port: PortId, bytes: &[u8]) -> bool {
        self.port(port).is_some_and(|place| place.up) && !is_mac_control(bytes)
    }

    /// Runs the program on frames that will be taken in later, each by [`Device::accept_ahead`], in
    /// this order. For drivers that know what comes, of switches whose packets are
    /// [independent](p4exec::are_packets_independent): the program runs faster on many packets at
    /// once. All are [for the program](Device::is_for_program); until they have been taken in,
    /// neither tables nor ports change.
    pub fn run_ahead(&mut self, now: Nanos, packets: &[(PortId, &[u8])], ahead: &mut Ahead) {
        ahead.batch.clear();
        (ahead.arrival, ahead.sent, ahead.dropped) = (0, 0, 0);
        self.executor.process_batch(now, packets, &mut ahead.batch);
    }

    /// [`Device::accept_on`] of the next of the frames that the program has been run on; of its
    /// length with padding, and its padding.
    pub fn accept_ahead(
        &mut self,
        (bench, ahead): (&mut Bench, &mut Ahead),
        now: Nanos,
        port: PortId,
        (length, padding): (usize, u32),
    ) {
        let drops = &mut bench.drops;
        drops.clear();
        let counted = self.count_in(port, length);
        let lost = counted.is_err();
        drops.extend(counted.err());
        while let Some((_, reason)) = ahead
            .batch
            .dropped
            .get(ahead.dropped)
            .filter(|(arrival, _)| *arrival == ahead.arrival)
        {
            if !lost {
                drops.push(DeviceDrop::from(reason.clone()));
            }
            ahead.dropped += 1;
        }
        while let Some(departure) = ahead
            .batch
            .sent
            .get(ahead.sent)
            .filter(|departure| departure.arrival == ahead.arrival)
        {
            if !lost {
                self.offer(now, (port, padding), &ahead.batch, departure, drops);
            }
            ahead.sent += 1;
        }
        ahead.arrival += 1;
    }

    /// Counts a frame of this length that has arrived at a port, or says why it is lost.
    #[inline]
    fn count_in(&mut self, port: PortId, length: usize) -> Result<(), DeviceDrop> {
        let place = self.port_mut(port).ok_or(DeviceDrop::NoSuchPort(port))?;
        if !place.up {
            place.counters.lost_down += 1;
            return Err(DeviceDrop::PortDown(port));
        }
        place.counters.received += 1;
        add(&mut place.counters.received_bytes, length);
        Ok(())
    }

    /// Offers the buffer what the program made of a frame from a port with this padding.
    #[inline]
    fn offer(
        &mut self,
        now: Nanos,
        (in_port, padding): (PortId, u32),
        batch: &Batch,
        departure: &p4exec::Departure,
        drops: &mut Vec<DeviceDrop>,
    ) {
        let Some(buffer) = &mut self.buffer else {
            return;
        };
        let offer = Offer {
            in_port,
            ing_prio: departure.metadata.ing_prio.unwrap_or_default(),
            out_port: departure.port,
            eg_prio: departure.metadata.eg_prio.unwrap_or_default(),
            bytes: batch.packet(departure),
            padding,
        };
        if let Err(refusal) = buffer.offer(now, offer) {
            drops.push(DeviceDrop::Buffer(refusal));
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
