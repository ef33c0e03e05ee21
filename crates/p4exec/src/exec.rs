//! What every executor is: packets in, packets and reasons out, over one shared kind of state.

use std::ops::Range;

use quantities::{Nanos, PortId, Priority};

pub use crate::drop_reason::DropReason;
use crate::state::RuntimeState;
use crate::trace::Tracer;

/// A packet that leaves the switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Where it leaves.
    pub port: PortId,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// What the program says about it besides its bytes.
    pub metadata: OutputMetadata,
}

/// What a program says about a packet it sends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutputMetadata {
    /// `standard_metadata.priority`, BMv2's egress queue; Tofino's `qid`.
    pub queue: u8,
    /// The field annotated `@switchwright("ing_prio")`, if the program has one; Tofino's
    /// `ingress_cos`.
    pub ing_prio: Option<Priority>,
    /// The field annotated `@switchwright("eg_prio")`, if the program has one; Tofino's `qid`.
    pub eg_prio: Option<Priority>,
    /// `standard_metadata.instance_type`: see [`crate::v1model::instance_type`].
    pub instance_type: u32,
    /// `standard_metadata.egress_rid`: which multicast or clone copy it is.
    pub rid: u16,
}

/// What became of one packet given to [`Executor::process`].
#[derive(Clone, Debug, Default)]
pub struct Outputs {
    /// Packets sent, in order.
    pub sent: Vec<Output>,
    /// Packets and copies not sent.
    pub dropped: Vec<DropReason>,
}

impl Outputs {
    /// Empties both lists and keeps their memory.
    pub fn clear(&mut self) {
        self.sent.clear();
        self.dropped.clear();
    }
}

/// Where an executor puts what becomes of a packet.
pub(crate) trait Sink {
    fn sent(&mut self, port: PortId, bytes: Vec<u8>, metadata: OutputMetadata);
    fn dropped(&mut self, reason: DropReason);
}

impl Sink for Outputs {
    fn sent(&mut self, port: PortId, bytes: Vec<u8>, metadata: OutputMetadata) {
        self.sent.push(Output {
            port,
            bytes,
            metadata,
        });
    }

    fn dropped(&mut self, reason: DropReason) {
        self.dropped.push(reason);
    }
}

/// A packet of a [`Batch`] that leaves the switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Departure {
    /// Which packet given to [`Executor::process_batch`] it comes of.
    pub arrival: u32,
    /// Where it leaves.
    pub port: PortId,
    /// Where its bytes lie in [`Batch::bytes`].
    pub range: Range<usize>,
    /// What the program says about it besides its bytes.
    pub metadata: OutputMetadata,
}

/// What became of many packets: one buffer for all their bytes, so that a warm batch allocates
/// nothing.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// The bytes of all packets sent.
    pub bytes: Vec<u8>,
    /// Packets sent, in order.
    pub sent: Vec<Departure>,
    /// Packets and copies not sent, each with the number of the arrival it comes of.
    pub dropped: Vec<(u32, DropReason)>,
    /// The arrival that [`Sink`] adds to.
    pub(crate) arrival: u32,
}

impl Batch {
    /// Empties the batch and keeps its memory.
    #[inline]
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.sent.clear();
        self.dropped.clear();
    }

    /// The bytes of a packet sent.
    #[must_use]
    #[inline]
    pub fn packet(&self, departure: &Departure) -> &[u8] {
        self.bytes.get(departure.range.clone()).unwrap_or_default()
    }

    /// Adds what one arrival came to.
    fn append(&mut self, arrival: u32, outputs: &mut Outputs) {
        self.arrival = arrival;
        for output in outputs.sent.drain(..) {
            Sink::sent(self, output.port, output.bytes, output.metadata);
        }
        for reason in outputs.dropped.drain(..) {
            Sink::dropped(self, reason);
        }
    }
}

impl Sink for Batch {
    fn sent(&mut self, port: PortId, bytes: Vec<u8>, metadata: OutputMetadata) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&bytes);
        self.sent.push(Departure {
            arrival: self.arrival,
            port,
            range: start..self.bytes.len(),
            metadata,
        });
    }

    fn dropped(&mut self, reason: DropReason) {
        self.dropped.push((self.arrival, reason));
    }
}

/// Runs a program on packets. Time is an argument; nothing is read from outside.
pub trait Executor {
    /// Takes a packet in at `now` and adds what comes of it, recirculations and all, to `out`.
    fn process(&mut self, now: Nanos, packet: &[u8], ingress_port: PortId, out: &mut Outputs);

    /// The same, telling `tracer` what happens on the way.
    fn process_traced(
        &mut self,
        now: Nanos,
        packet: &[u8],
        ingress_port: PortId,
        out: &mut Outputs,
        tracer: &mut dyn Tracer,
    );

    /// Takes many packets in at `now`, in order, each with its ingress port, and adds what comes of
    /// them to `out`. The same as [`Executor::process`] on each.
    fn process_batch(&mut self, now: Nanos, packets: &[(PortId, &[u8])], out: &mut Batch) {
        let mut outputs = Outputs::default();
        for (arrival, (port, packet)) in packets.iter().enumerate() {
            self.process(now, packet, *port, &mut outputs);
            out.append(arrival as u32, &mut outputs);
        }
    }

    /// Tables, externs, ports.
    fn state(&self) -> &RuntimeState;

    /// Tables, externs, ports.
    fn state_mut(&mut self) -> &mut RuntimeState;
}

impl<E: Executor + ?Sized> Executor for Box<E> {
    fn process(&mut self, now: Nanos, packet: &[u8], ingress_port: PortId, out: &mut Outputs) {
        (**self).process(now, packet, ingress_port, out);
    }

    fn process_traced(
        &mut self,
        now: Nanos,
        packet: &[u8],
        ingress_port: PortId,
        out: &mut Outputs,
        tracer: &mut dyn Tracer,
    ) {
        (**self).process_traced(now, packet, ingress_port, out, tracer);
    }

    // Not the default: it would take the packets one by one.
    fn process_batch(&mut self, now: Nanos, packets: &[(PortId, &[u8])], out: &mut Batch) {
        (**self).process_batch(now, packets, out);
    }

    fn state(&self) -> &RuntimeState {
        (**self).state()
    }

    fn state_mut(&mut self) -> &mut RuntimeState {
        (**self).state_mut()
    }
}
