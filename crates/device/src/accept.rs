//! Frames that arrive: the program is run on them, and what it sends goes to the egress.

use p4exec::{Batch, Departure, Executor, Outputs, Tracer};
use quantities::{Nanos, PortId};
use wire::pfc;
use wire::pfc::is_mac_control;

use crate::buffer::Offer;
use crate::egress::Egress;
use crate::ports::Ports;
use crate::{Device, DeviceDrop, Frame};

/// Frames on which the program is run at once.
const CHUNK: usize = 32;

/// Memory in which a device works on a burst: what the program made of frames, and what was lost.
/// It means nothing from one burst to the next, but for frames that the device has
/// [looked ahead](Device::look_ahead) at.
#[derive(Debug, Default)]
pub struct Scratch {
    outcomes: Outcomes,
    ahead: Outcomes,
    drops: Vec<DeviceDrop>,
}

impl Scratch {
    /// What was lost of the burst accepted last, in order.
    #[must_use]
    pub fn drops(&self) -> &[DeviceDrop] {
        &self.drops
    }
}

/// What the program made of frames, and which of them is taken next.
#[derive(Debug, Default)]
struct Outcomes {
    batch: Batch,
    /// The frame's number, and how much of the batch is about those before it.
    arrival: u32,
    sent: usize,
    dropped: usize,
}

impl Outcomes {
    #[inline]
    fn clear(&mut self) -> &mut Batch {
        self.batch.clear();
        (self.arrival, self.sent, self.dropped) = (0, 0, 0);
        &mut self.batch
    }

    /// Passes over the next frame, which was lost when it arrived.
    fn skip(&mut self) {
        self.take(&mut Vec::new(), |_, _| Ok(()));
    }

    /// Takes what the program made of the next frame: packets to `deliver`, reasons to `drops`.
    #[inline]
    fn take(
        &mut self,
        drops: &mut Vec<DeviceDrop>,
        mut deliver: impl FnMut(&Departure, &[u8]) -> Result<(), DeviceDrop>,
    ) {
        while let Some((arrival, reason)) = self.batch.dropped.get(self.dropped)
            && *arrival == self.arrival
        {
            drops.push(DeviceDrop::from(reason.clone()));
            self.dropped += 1;
        }
        while let Some(departure) = self.batch.sent.get(self.sent)
            && departure.arrival == self.arrival
        {
            drops.extend(deliver(departure, self.batch.packet(departure)).err());
            self.sent += 1;
        }
        self.arrival += 1;
    }
}

impl<E: Executor> Device<E> {
    /// Takes in the frames of a burst, in order: counts them, runs the program on them, and gives
    /// what it sends to the egress. Where the egress is a [buffer](Egress::Buffer), a PFC frame
    /// stops or starts queues and ends here. [`Device::drops`] tells what was lost.
    ///
    /// Then ask [`Device::poll_transmit`]. Several bursts of one time may be accepted before that.
    pub fn accept(&mut self, now: Nanos, burst: &[Frame<'_>]) {
        let mut scratch = std::mem::take(&mut self.scratch);
        self.accept_with(&mut scratch, now, burst);
        self.scratch = scratch;
    }

    /// [`Device::accept`] in memory that several devices may share, so that it stays in the
    /// processor's cache. It tells what was lost.
    #[inline]
    pub fn accept_with(&mut self, scratch: &mut Scratch, now: Nanos, burst: &[Frame<'_>]) {
        scratch.drops.clear();
        match burst {
            [frame] if frame.looked_ahead => self.accept_ahead(scratch, now, frame),
            [_] => self.accept_chunk::<1>(scratch, now, burst),
            _ if burst.iter().any(|frame| frame.looked_ahead) => {
                for frame in burst {
                    match frame.looked_ahead {
                        true => self.accept_ahead(scratch, now, frame),
                        false => {
                            self.accept_chunk::<1>(scratch, now, std::slice::from_ref(frame));
                        }
                    }
                }
            }
            _ => {
                for chunk in burst.chunks(CHUNK) {
                    self.accept_chunk::<CHUNK>(scratch, now, chunk);
                }
            }
        }
    }

    /// [`Device::accept`] of one frame, all of whose bytes are there. `tracer` gets to know what
    /// happens in the program.
    pub fn accept_traced(
        &mut self,
        now: Nanos,
        port: PortId,
        bytes: &[u8],
        tracer: &mut dyn Tracer,
    ) {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.drops.clear();
        let frame = Frame::new(port, bytes);
        if self.runs_program(&frame) {
            let mut outputs = Outputs::default();
            self.executor
                .process_traced(now, bytes, port, &mut outputs, tracer);
            put(outputs, scratch.ahead.clear());
            self.accept_ahead(&mut scratch, now, &frame);
        } else {
            self.accept_chunk::<1>(&mut scratch, now, &[frame]);
        }
        self.scratch = scratch;
    }

    /// Whether the program is run on a frame: not if its port is down or does not exist, nor if it
    /// is a PFC frame and the egress obeys them.
    #[inline]
    pub fn runs_program(&self, frame: &Frame<'_>) -> bool {
        self.ports.get(frame.port).is_some_and(|port| port.up)
            && !(matches!(self.egress, Egress::Buffer(_)) && is_mac_control(frame.bytes))
    }

    /// Runs the program now on frames that will be accepted later, in this order, with
    /// [`Frame::looked_ahead`] set and with the same scratch memory. The program runs faster on
    /// many packets at once; this is for drivers that know which frames come, of devices whose
    /// packets are [independent](p4exec::are_packets_independent): then the result is that of
    /// accepting each in its time. On all of the frames the [program is
    /// run](Device::runs_program); until the last one is accepted, tables do not change, and no
    /// other device looks ahead with this memory.
    pub fn look_ahead(&mut self, scratch: &mut Scratch, now: Nanos, frames: &[(PortId, &[u8])]) {
        self.executor
            .process_batch(now, frames, scratch.ahead.clear());
    }

    /// What was lost of the burst accepted last, in order.
    pub fn drops(&self) -> &[DeviceDrop] {
        &self.scratch.drops
    }

    /// Accepts a frame on which the program has run already.
    #[inline]
    fn accept_ahead(&mut self, scratch: &mut Scratch, now: Nanos, frame: &Frame<'_>) {
        match self.ports.count_received(frame.port, frame.length()) {
            Ok(()) => self.deliver(&mut scratch.ahead, &mut scratch.drops, now, frame),
            Err(drop) => {
                scratch.drops.push(drop);
                scratch.ahead.skip();
            }
        }
    }

    /// Accepts at most `N` frames.
    #[inline]
    fn accept_chunk<const N: usize>(
        &mut self,
        scratch: &mut Scratch,
        now: Nanos,
        chunk: &[Frame<'_>],
    ) {
        if matches!(self.egress, Egress::Immediate(_)) {
            return self.send_at_once::<N>(&mut scratch.drops, now, chunk);
        }
        let mut arrivals: [(PortId, &[u8]); N] = [(PortId::new(0), &[]); N];
        let mut runs = [false; N];
        let mut count = 0;
        for (frame, runs) in chunk.iter().zip(&mut runs) {
            *runs = self.runs_program(frame);
            if let Some(place) = arrivals.get_mut(count).filter(|_| *runs) {
                *place = (frame.port, frame.bytes);
                count += 1;
            }
        }
        let batch = scratch.outcomes.clear();
        if count > 0 {
            let arrivals = arrivals.get(..count).unwrap_or_default();
            self.executor.process_batch(now, arrivals, batch);
        }
        for (frame, runs) in chunk.iter().zip(runs) {
            match self.ports.count_received(frame.port, frame.length()) {
                Err(drop) => scratch.drops.push(drop),
                Ok(()) if runs => {
                    self.deliver(&mut scratch.outcomes, &mut scratch.drops, now, frame);
                }
                Ok(()) => self.receive_pfc(now, frame),
            }
        }
    }

    /// Acts on a PFC frame.
    fn receive_pfc(&mut self, now: Nanos, frame: &Frame<'_>) {
        if let (Egress::Buffer(buffered), Ok(pause)) =
            (&mut self.egress, pfc::Repr::parse(frame.bytes))
        {
            buffered.buffer.receive_pfc(now, frame.port, &pause);
            buffered.settle(now, &mut self.ports);
        }
    }

    /// Accepts frames whose packets leave at once: the program puts them where they are handed over
    /// from.
    fn send_at_once<const N: usize>(
        &mut self,
        drops: &mut Vec<DeviceDrop>,
        now: Nanos,
        chunk: &[Frame<'_>],
    ) {
        let Egress::Immediate(immediate) = &mut self.egress else {
            return;
        };
        let mut arrivals: [(PortId, &[u8]); N] = [(PortId::new(0), &[]); N];
        let mut count = 0;
        for frame in chunk {
            match self.ports.count_received(frame.port, frame.length()) {
                Ok(()) => {
                    if let Some(place) = arrivals.get_mut(count) {
                        *place = (frame.port, frame.bytes);
                        count += 1;
                    }
                }
                Err(drop) => drops.push(drop),
            }
        }
        let batch = immediate.batch();
        let first = batch.sent.len();
        let arrivals = arrivals.get(..count).unwrap_or_default();
        self.executor.process_batch(now, arrivals, batch);
        immediate.check(first, &mut self.ports, drops);
    }

    /// Gives the egress what the program made of the next frame.
    #[inline]
    fn deliver(
        &mut self,
        outcomes: &mut Outcomes,
        drops: &mut Vec<DeviceDrop>,
        now: Nanos,
        frame: &Frame<'_>,
    ) {
        let Self { ports, egress, .. } = self;
        match egress {
            Egress::Buffer(buffered) => {
                outcomes.take(drops, |departure, bytes| {
                    let offer = offer(frame, departure, bytes);
                    Ok(buffered.buffer.offer(now, offer)?)
                });
                buffered.settle(now, ports);
            }
            Egress::Queues(queues) => outcomes.take(drops, |departure, bytes| {
                ports.may_send(departure.port)?;
                if !queues.push(now, departure.port, &departure.metadata, bytes) {
                    ports.count_lost_queue(departure.port);
                }
                Ok(())
            }),
            Egress::Immediate(immediate) => outcomes.take(drops, |departure, bytes| {
                ports.may_send(departure.port)?;
                ports.count_sent(departure.port, bytes.len() as u64);
                immediate.push(departure, bytes);
                Ok(())
            }),
        }
    }
}

/// A packet that the program made of a frame, as the buffer is offered it.
#[inline]
fn offer<'a>(frame: &Frame<'_>, departure: &Departure, bytes: &'a [u8]) -> Offer<'a> {
    Offer {
        in_port: frame.port,
        ing_prio: departure.metadata.ing_prio.unwrap_or_default(),
        out_port: departure.port,
        eg_prio: departure.metadata.eg_prio.unwrap_or_default(),
        bytes,
        padding: frame.padding,
    }
}

/// Puts what became of one packet into an empty batch.
fn put(outputs: Outputs, batch: &mut Batch) {
    for output in outputs.sent {
        let start = batch.bytes.len();
        batch.bytes.extend_from_slice(&output.bytes);
        batch.sent.push(Departure {
            arrival: 0,
            port: output.port,
            range: start..batch.bytes.len(),
            metadata: output.metadata,
        });
    }
    let reasons = outputs.dropped.into_iter().map(|reason| (0, reason));
    batch.dropped.extend(reasons);
}

/// The memory that a frame of a port touches first.
#[inline]
pub(crate) fn prefetch(ports: &Ports, port: PortId) {
    if let Some(place) = ports.memory(port) {
        p4exec::prefetch(place);
    }
}
