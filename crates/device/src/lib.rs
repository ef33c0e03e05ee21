//! The switch without I/O: ports around an executor. Time is an argument, input and output are
//! values, so one state machine serves the process, the emulator and the simulator.
//!
//! A [`Device`] knows its ports and whether they are up. It tells the executor, so that selectors
//! leave out members on dead ports and programs see the port status; it takes nothing in from a
//! port that is down, sends nothing out of one, and counts what that costs.
//!
//! What the program sends leaves at once ([`Device::receive`]; [`EgressQueues`] hold what a port
//! does not send at once, as `simple_switch` does), or, where a switch is to be lossless or to hold
//! its ports' rates, waits in a shared [`buffer`] until its port is free ([`Device::accept`],
//! [`Device::transmit`]). That is a configuration of the one device: [`Device::set_buffer`].
//! [`deadlock`] watches the buffers of a whole network.

pub mod buffer;
pub mod deadlock;
mod queued;
mod queues;

use p4exec::{Batch, DropReason, Executor, Outputs, Tracer};
use quantities::{Bytes, Nanos, PortId, Priority};
pub use queued::Ahead;
pub use queues::{EgressQueues, QueueDrops, QueueRange, QueueSetting};
use thiserror::Error;

/// A packet to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// Where it leaves.
    pub port: PortId,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// The priority of the arriving tag: the class this switch accounts and pauses upstream. Zero,
    /// the lossy class, where the program says nothing.
    pub ing_prio: Priority,
    /// The priority of the new tag: the queue in which the packet waits for the wire.
    pub eg_prio: Priority,
}

/// A packet to be sent, of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransmitRef<'a> {
    /// Where it leaves.
    pub port: PortId,
    /// Its bytes.
    pub bytes: &'a [u8],
    /// `standard_metadata.priority`: the egress queue that the program chose.
    pub queue: u8,
    /// See [`Transmit::ing_prio`].
    pub ing_prio: Priority,
    /// See [`Transmit::eg_prio`].
    pub eg_prio: Priority,
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

/// What a port saw.
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
    /// What this one and another saw together.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        let bytes = |a: Bytes, b: Bytes| Bytes::new(a.get().saturating_add(b.get()));
        Self {
            received: self.received + other.received,
            received_bytes: bytes(self.received_bytes, other.received_bytes),
            sent: self.sent + other.sent,
            sent_bytes: bytes(self.sent_bytes, other.sent_bytes),
            lost_down: self.lost_down + other.lost_down,
            lost_queue: self.lost_queue + other.lost_queue,
        }
    }
}

/// What became of a packet that was handed over to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// It leaves.
    Sent,
    /// It waits; [`Device::depart`] counts it when it leaves.
    Waits,
    /// It found no room.
    Lost,
}

#[derive(Clone, Debug)]
struct Port {
    up: bool,
    counters: PortCounters,
}

/// A switch: ports and an executor.
pub struct Device<E> {
    executor: E,
    /// By number.
    ports: Vec<Option<Port>>,
    buffer: Option<buffer::Buffer>,
    outputs: Outputs,
    bench: Bench,
}

/// Where a switch works on a packet: what comes out of the program, and what was lost. It means
/// nothing between packets.
#[derive(Debug, Default)]
pub struct Bench {
    batch: Batch,
    drops: Vec<DeviceDrop>,
}

impl Bench {
    /// What was lost of the packets received last, in order.
    #[must_use]
    pub fn drops(&self) -> &[DeviceDrop] {
        &self.drops
    }
}

/// A port, without the rest of the switch.
fn place(ports: &mut [Option<Port>], port: PortId) -> Option<&mut Port> {
    ports.get_mut(usize::from(port.get()))?.as_mut()
}

fn add(total: &mut Bytes, length: usize) {
    *total = Bytes::new(total.get().saturating_add(length as u64));
}

impl<E: Executor> Device<E> {
    /// A switch with these ports, all up.
    pub fn new(executor: E, ports: impl IntoIterator<Item = PortId>) -> Self {
        let mut device = Self {
            executor,
            ports: Vec::new(),
            buffer: None,
            outputs: Outputs::default(),
            bench: Bench::default(),
        };
        for port in ports {
            device.plug(port);
        }
        device.tell_ports();
        device
    }

    fn port(&self, port: PortId) -> Option<&Port> {
        self.ports.get(usize::from(port.get()))?.as_ref()
    }

    fn port_mut(&mut self, port: PortId) -> Option<&mut Port> {
        place(&mut self.ports, port)
    }

    fn plug(&mut self, port: PortId) {
        let at = usize::from(port.get());
        if self.ports.len() <= at {
            self.ports.resize(at + 1, None);
        }
        self.ports[at].get_or_insert(Port {
            up: true,
            counters: PortCounters::default(),
        });
    }

    /// The executor, for its state.
    pub const fn executor(&self) -> &E {
        &self.executor
    }

    /// The executor, to change its state.
    pub const fn executor_mut(&mut self) -> &mut E {
        &mut self.executor
    }

    /// The ports in rising order, and whether they are up.
    pub fn ports(&self) -> impl Iterator<Item = (PortId, bool)> {
        let numbered = (0..).map(PortId::new).zip(&self.ports);
        numbered.filter_map(|(id, port)| Some((id, port.as_ref()?.up)))
    }

    /// What a port saw.
    pub fn counters(&self, port: PortId) -> Result<PortCounters, DeviceError> {
        self.port(port)
            .map(|p| p.counters)
            .ok_or(DeviceError::NoSuchPort(port))
    }

    /// Says that a link came up or went down. The very next packet sees it.
    pub fn set_port_up(&mut self, port: PortId, up: bool) -> Result<(), DeviceError> {
        let place = self.port_mut(port).ok_or(DeviceError::NoSuchPort(port))?;
        place.up = up;
        self.executor.state_mut().set_port_up(port, up);
        Ok(())
    }

    /// Gives the switch a port it did not have, up; one it has stays as it is.
    pub fn add_port(&mut self, port: PortId) {
        self.plug(port);
        self.tell_ports();
    }

    /// Takes a port away.
    pub fn remove_port(&mut self, port: PortId) -> Result<(), DeviceError> {
        let place = self.ports.get_mut(usize::from(port.get()));
        place
            .and_then(Option::take)
            .ok_or(DeviceError::NoSuchPort(port))?;
        self.tell_ports();
        Ok(())
    }

    /// Runs another program from now on and returns the executor of the old one. Ports, their
    /// status and their counters stay.
    pub fn replace_executor(&mut self, executor: E) -> E {
        let old = std::mem::replace(&mut self.executor, executor);
        self.tell_ports();
        old
    }

    /// Tells the executor which ports there are; who exchanges its state does it again. Numbers
    /// without a port read as down, so that the port status has no phantom ports.
    pub fn tell_ports(&mut self) {
        let last = self.ports.iter().rposition(Option::is_some);
        let count = last.map_or(0, |last| u16::try_from(last + 1).unwrap_or(u16::MAX));
        let state = self.executor.state_mut();
        state.set_port_count(count);
        for id in (0..count).map(PortId::new) {
            let port = self.ports.get(usize::from(id.get()));
            let up = port.is_some_and(|port| port.as_ref().is_some_and(|port| port.up));
            state.set_port_up(id, up);
        }
    }

    /// Takes a packet in and returns what is to be sent, in order. What was not sent is told by
    /// [`Device::drops`].
    pub fn receive(&mut self, now: Nanos, port: PortId, bytes: &[u8]) -> Vec<Transmit> {
        self.run(now, port, bytes, None)
    }

    /// The same, telling `tracer` what happens on the way.
    pub fn receive_traced(
        &mut self,
        now: Nanos,
        port: PortId,
        bytes: &[u8],
        tracer: &mut dyn Tracer,
    ) -> Vec<Transmit> {
        self.run(now, port, bytes, Some(tracer))
    }

    /// Takes many packets in, in order, and hands what is to be sent to `send`, which says what
    /// became of it: the same as [`Device::receive`] on each, without memory per packet.
    pub fn receive_batch(
        &mut self,
        now: Nanos,
        packets: &[(PortId, &[u8])],
        mut send: impl FnMut(TransmitRef<'_>) -> Taken,
    ) {
        let Bench { batch, drops } = &mut self.bench;
        drops.clear();
        let mut arrivals = Vec::with_capacity(packets.len());
        for &(port, bytes) in packets {
            match place(&mut self.ports, port) {
                None => drops.push(DeviceDrop::NoSuchPort(port)),
                Some(place) if !place.up => {
                    place.counters.lost_down += 1;
                    drops.push(DeviceDrop::PortDown(port));
                }
                Some(place) => {
                    place.counters.received += 1;
                    add(&mut place.counters.received_bytes, bytes.len());
                    arrivals.push((port, bytes));
                }
            }
        }
        batch.clear();
        self.executor.process_batch(now, &arrivals, batch);
        let reasons = batch.dropped.drain(..);
        drops.extend(reasons.map(|(_, reason)| DeviceDrop::from(reason)));
        for departure in &batch.sent {
            let port = departure.port;
            match place(&mut self.ports, port) {
                None => drops.push(DeviceDrop::NoSuchPort(port)),
                Some(place) if !place.up => {
                    place.counters.lost_down += 1;
                    drops.push(DeviceDrop::PortDown(port));
                }
                Some(place) => {
                    let bytes = batch.packet(departure);
                    let taken = send(TransmitRef {
                        port,
                        bytes,
                        queue: departure.metadata.queue,
                        ing_prio: departure.metadata.ing_prio.unwrap_or_default(),
                        eg_prio: departure.metadata.eg_prio.unwrap_or_default(),
                    });
                    match taken {
                        Taken::Sent => {
                            place.counters.sent += 1;
                            add(&mut place.counters.sent_bytes, bytes.len());
                        }
                        Taken::Waits => {}
                        Taken::Lost => place.counters.lost_queue += 1,
                    }
                }
            }
        }
    }

    /// Says that a packet that had to wait leaves now; false if it cannot, for its port is down or
    /// gone.
    pub fn depart(&mut self, port: PortId, length: usize) -> bool {
        let Some(place) = self.port_mut(port) else {
            return false;
        };
        if !place.up {
            place.counters.lost_down += 1;
            return false;
        }
        place.counters.sent += 1;
        add(&mut place.counters.sent_bytes, length);
        true
    }

    /// What was lost of the packets received last, in order.
    pub fn drops(&self) -> &[DeviceDrop] {
        &self.bench.drops
    }

    fn run(
        &mut self,
        now: Nanos,
        port: PortId,
        bytes: &[u8],
        tracer: Option<&mut dyn Tracer>,
    ) -> Vec<Transmit> {
        self.bench.drops.clear();
        let Some(place) = self.port_mut(port) else {
            self.bench.drops.push(DeviceDrop::NoSuchPort(port));
            return Vec::new();
        };
        if !place.up {
            place.counters.lost_down += 1;
            self.bench.drops.push(DeviceDrop::PortDown(port));
            return Vec::new();
        }
        place.counters.received += 1;
        add(&mut place.counters.received_bytes, bytes.len());
        self.outputs.clear();
        match tracer {
            Some(tracer) => {
                self.executor
                    .process_traced(now, bytes, port, &mut self.outputs, tracer);
            }
            None => self.executor.process(now, bytes, port, &mut self.outputs),
        }
        self.bench
            .drops
            .extend(self.outputs.dropped.drain(..).map(DeviceDrop::from));
        let mut transmits = Vec::with_capacity(self.outputs.sent.len());
        for output in self.outputs.sent.drain(..) {
            let place = self.ports.get_mut(usize::from(output.port.get()));
            let Some(place) = place.and_then(Option::as_mut) else {
                self.bench.drops.push(DeviceDrop::NoSuchPort(output.port));
                continue;
            };
            if !place.up {
                place.counters.lost_down += 1;
                self.bench.drops.push(DeviceDrop::PortDown(output.port));
                continue;
            }
            place.counters.sent += 1;
            add(&mut place.counters.sent_bytes, output.bytes.len());
            transmits.push(Transmit {
                port: output.port,
                bytes: output.bytes,
                ing_prio: output.metadata.ing_prio.unwrap_or_default(),
                eg_prio: output.metadata.eg_prio.unwrap_or_default(),
            });
        }
        transmits
    }
}
