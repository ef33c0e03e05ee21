//! The switch without I/O: ports around a P4 program, and the egress behind them. Time is an
//! argument, frames are values. One state machine serves the switch process, the emulator and the
//! simulator.
//!
//! # Who uses it
//!
//! Use a [`Device`] to run a P4 switch in your own event loop: in a test, in a simulator, behind
//! another kind of port. It opens no socket, starts no thread and reads no clock, so the same calls
//! give the same frames. For a switch on network interfaces with a P4Runtime server, use the crate
//! `switchd`; for a network of switches in virtual time, the crate `simulator`. Both are shells
//! around this crate.
//!
//! # The three calls
//!
//! 1. [`Device::accept`]`(now, burst)` takes in frames that have arrived.
//! 2. [`Device::poll_transmit`]`(now)` gives the next frame that leaves by `now`, until it gives
//!    none.
//! 3. [`Device::poll_timeout`]`()` tells when to call `poll_transmit` again if nothing arrives.
//!
//! Times of calls do not decrease. A shell may be late: the device acts at the times that were due,
//! up to 20 ms back.
//!
//! The [`Egress`] decides when a frame leaves: at once, from the queues of BMv2's `simple_switch`
//! ([`Egress::Queues`]), or from a shared buffer with port rates and PFC ([`Egress::Buffer`]).
//! The shell calls the same functions in each case.
//!
//! Beside these, the control plane of the shell changes tables ([`Device::executor_mut`]), ports
//! ([`Device::add_port`], [`Device::remove_port`], [`Device::set_link_up`]) and the egress
//! ([`Device::set_egress`]); then it calls `poll_transmit` again. Drivers of many devices may save
//! time with [`Device::accept_with`], [`Device::look_ahead`] and [`Device::prefetch`]; none of them
//! changes what comes out.
//!
//! # Example
//!
//! A program that reflects each frame, behind a port that holds one packet per second:
//!
//! ```
//! use std::sync::Arc;
//!
//! use device::{Device, Egress, Frame, QueueRange, QueueSetting, Queues};
//! use p4exec::Interpreter;
//! use p4front::{Options, source::SourceMap};
//! use quantities::{Nanos, PortId};
//!
//! const REFLECT: &str = r"
//! #include <core.p4>
//! #include <v1model.p4>
//! struct H { }
//! struct M { }
//! parser P(packet_in b, out H h, inout M m, inout standard_metadata_t s) {
//!     state start { transition accept; }
//! }
//! control V(inout H h, inout M m) { apply { } }
//! control I(inout H h, inout M m, inout standard_metadata_t s) {
//!     apply { s.egress_spec = s.ingress_port; }
//! }
//! control E(inout H h, inout M m, inout standard_metadata_t s) { apply { } }
//! control D(packet_out b, in H h) { apply { } }
//! V1Switch(P(), V(), I(), E(), V(), D()) main;
//! ";
//!
//! let mut map = SourceMap::new();
//! let main = map.add("reflect.p4", REFLECT)?;
//! let program = p4front::compile(&mut map, main, &Options::default()).expect("it compiles");
//! let port = PortId::new(1);
//! let mut device = Device::new(Interpreter::new(Arc::new(program.ir))?, [port]);
//!
//! let mut queues = Queues::new(None, None);
//! queues.set(QueueRange::default(), QueueSetting::Rate(1));
//! device.set_egress(Egress::Queues(queues));
//!
//! let (start, second) = (Nanos::new(0), Nanos::new(1_000_000_000));
//! device.accept(start, &[Frame::new(port, b"one"), Frame::new(port, b"two")]);
//! assert_eq!(device.poll_transmit(start).expect("a frame").bytes, b"one");
//! assert_eq!(device.poll_transmit(start), None);
//! assert_eq!(device.poll_timeout(), Some(second));
//! assert_eq!(device.poll_transmit(second).expect("a frame").bytes, b"two");
//! assert_eq!(device.poll_timeout(), None);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The example `reflect` of this crate prints what a lossless switch sends. [`deadlock`] watches
//! the buffers of a whole network.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod accept;
pub mod buffer;
pub mod deadlock;
mod egress;
mod frame;
mod ports;

use p4exec::Executor;
use quantities::{Nanos, PortId};

pub use accept::Scratch;
pub use egress::{Buffered, Egress, Immediate, QueueDrops, QueueRange, QueueSetting, Queues};
pub use frame::{DeviceDrop, DeviceError, Frame, Transmit};
pub use ports::PortCounters;

use buffer::Buffer;
use ports::Ports;

/// A switch: ports, an executor, and the egress. See the [front page](crate).
pub struct Device<E> {
    executor: E,
    ports: Ports,
    egress: Egress,
    scratch: Scratch,
}

impl<E: Executor> Device<E> {
    /// A switch with these ports, all up, whose packets leave at once.
    pub fn new(executor: E, ports: impl IntoIterator<Item = PortId>) -> Self {
        let mut device = Self {
            executor,
            ports: Ports::default(),
            egress: Egress::default(),
            scratch: Scratch::default(),
        };
        for port in ports {
            device.ports.add(port);
        }
        device.tell_ports();
        device
    }

    /// The next frame that leaves by `now`; `None` if there is none until
    /// [`Device::poll_timeout`]. The frame's bytes are valid until the next call.
    #[inline]
    pub fn poll_transmit(&mut self, now: Nanos) -> Option<Transmit<'_>> {
        self.egress.poll_transmit(now, &mut self.ports)
    }

    /// When [`Device::poll_transmit`] has something to do if nothing arrives: a time that has
    /// passed means at once, `None` never. To be asked again after every other call.
    #[must_use]
    #[inline]
    pub fn poll_timeout(&self) -> Option<Nanos> {
        self.egress.poll_timeout()
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
        self.ports.iter().map(|(id, port)| (id, port.up))
    }

    /// What a port counted.
    ///
    /// # Errors
    /// [`DeviceError::NoSuchPort`].
    pub fn counters(&self, port: PortId) -> Result<PortCounters, DeviceError> {
        let counters = self.ports.get(port).map(|place| place.counters);
        counters.ok_or(DeviceError::NoSuchPort(port))
    }

    /// The link of a port came up or went down. The program and the egress know it from the next
    /// frame on; what waits in a buffer for a link that goes down is lost.
    ///
    /// # Errors
    /// [`DeviceError::NoSuchPort`].
    pub fn set_link_up(&mut self, now: Nanos, port: PortId, up: bool) -> Result<(), DeviceError> {
        self.ports.set_up(port, up)?;
        self.executor.state_mut().set_port_up(port, up);
        self.change_buffer(now, |buffer| buffer.set_port_up(now, port, up));
        Ok(())
    }

    /// Gives the switch a port it did not have, up; one it has stays as it is.
    pub fn add_port(&mut self, now: Nanos, port: PortId) {
        if self.ports.add(port) {
            self.change_buffer(now, |buffer| buffer.set_port_up(now, port, true));
        }
        self.tell_ports();
    }

    /// Takes a port away. What waits for it is lost.
    ///
    /// # Errors
    /// [`DeviceError::NoSuchPort`].
    pub fn remove_port(&mut self, now: Nanos, port: PortId) -> Result<(), DeviceError> {
        self.ports.remove(port)?;
        self.change_buffer(now, |buffer| buffer.set_port_up(now, port, false));
        if let Egress::Queues(queues) = &mut self.egress {
            queues.clear(port);
        }
        self.tell_ports();
        Ok(())
    }

    /// Runs another program from now on and returns the executor of the old one. Ports, their
    /// status and their counters stay, and so does what waits in the egress.
    pub fn replace_executor(&mut self, executor: E) -> E {
        let old = std::mem::replace(&mut self.executor, executor);
        self.tell_ports();
        old
    }

    /// Tells the executor which ports there are; who exchanges its state does it again. Numbers
    /// without a port read as down, so that the port status has no phantom ports.
    pub fn tell_ports(&mut self) {
        let count = self.ports.count();
        let state = self.executor.state_mut();
        state.set_port_count(count);
        for id in (0..count).map(PortId::new) {
            let up = self.ports.get(id).is_some_and(|port| port.up);
            state.set_port_up(id, up);
        }
    }

    /// Packets leave by this egress from now on. What waits in the one before is lost. Ports that
    /// are down are down in a buffer as well.
    pub fn set_egress(&mut self, egress: Egress) {
        self.egress = egress;
        if let Egress::Buffer(buffered) = &mut self.egress {
            for (port, place) in self.ports.iter() {
                buffered
                    .buffer
                    .set_port_up(Nanos::default(), port, place.up);
            }
        }
    }

    /// The egress.
    pub const fn egress(&self) -> &Egress {
        &self.egress
    }

    /// The egress, to change its queues.
    pub const fn egress_mut(&mut self) -> &mut Egress {
        &mut self.egress
    }

    /// The shared buffer, if the egress is one.
    pub const fn buffer(&self) -> Option<&Buffer> {
        match &self.egress {
            Egress::Buffer(buffered) => Some(&buffered.buffer),
            Egress::Immediate(_) | Egress::Queues(_) => None,
        }
    }

    /// Changes the shared buffer, and starts what its ports may send after that. `None` if the
    /// egress is not a buffer.
    pub fn change_buffer<T>(
        &mut self,
        now: Nanos,
        change: impl FnOnce(&mut Buffer) -> T,
    ) -> Option<T> {
        let Egress::Buffer(buffered) = &mut self.egress else {
            return None;
        };
        let changed = change(&mut buffered.buffer);
        buffered.settle(now, &mut self.ports);
        Some(changed)
    }

    /// How many times a port of the buffer has become free after a frame, or timers went off: work
    /// that [`Device::poll_transmit`] has done because its time had come.
    #[must_use]
    pub const fn tasks(&self) -> u64 {
        match &self.egress {
            Egress::Buffer(buffered) => buffered.tasks(),
            Egress::Immediate(_) | Egress::Queues(_) => 0,
        }
    }

    /// Has what a frame from this port will need fetched to the processor's cache. A hint for
    /// drivers of many switches; it changes nothing.
    #[inline]
    pub fn prefetch(&self, port: PortId) {
        accept::prefetch(&self.ports, port);
        if let Some(buffer) = self.buffer() {
            buffer.prefetch(port);
        }
    }

    /// Has what [`Device::poll_transmit`] will need next fetched to the processor's cache: as
    /// [`Device::prefetch`].
    pub fn prefetch_transmit(&self) {
        if let Egress::Buffer(buffered) = &self.egress
            && let Some(port) = buffered.next_port()
        {
            self.prefetch(port);
        }
    }
}
