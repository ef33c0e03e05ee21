//! Ports: the wires of the switch. Linux interfaces by raw packet sockets; capture files; datagram
//! sockets for tests without rights; all behind one trait, [`Line`], and gathered in a [`PortSet`]
//! that a data-plane thread drives.
//!
//! The control side ([`Ports`]) adds and removes ports while packets flow and watches the state of
//! links: the thread that hears of a change tells the data plane itself, no controller takes part.

mod capture;
mod claim;
mod datagram;
mod interface;
mod links;
mod open;
mod set;
mod spec;

use std::io;
use std::os::fd::BorrowedFd;
use std::path::PathBuf;

use linuxnet::NetError;
use quantities::PortId;
use thiserror::Error;

use crate::engine::io::lock;

pub use crate::port_names::{NameError, PortNames};
pub use open::PortOptions;
pub use set::{PortInfo, PortSet, Ports};
pub use spec::{PortBinding, PortSpec, SpecError};

/// What passed over a line, in frames, as the line itself counts it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineStats {
    /// Received and handed to the data plane.
    pub received: u64,
    /// Arrived and lost before the data plane could take them: its ring was full.
    pub receive_overrun: u64,
    /// Arrived damaged: cut off, or not to be understood.
    pub receive_damaged: u64,
    /// Sent.
    pub sent: u64,
    /// Not sent: the line refused or was full.
    pub send_refused: u64,
}

impl LineStats {
    /// What passed over this one and another.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self {
            received: self.received + other.received,
            receive_overrun: self.receive_overrun + other.receive_overrun,
            receive_damaged: self.receive_damaged + other.receive_damaged,
            sent: self.sent + other.sent,
            send_refused: self.send_refused + other.send_refused,
        }
    }
}

/// One wire, as a data-plane thread has it: no other calls it, and nothing in it blocks.
pub trait Line: Send {
    /// Hands over at most `limit` frames that have arrived and returns how many it looked at.
    fn receive(&mut self, limit: usize, each: &mut dyn FnMut(&[u8])) -> usize;

    /// Sends frames, in order.
    fn send_all(&mut self, frames: &mut dyn Iterator<Item = &[u8]>);

    /// What becomes readable when a frame arrives; `None` where nothing can be waited for.
    fn descriptor(&self) -> Option<BorrowedFd<'_>>;

    /// The thread has slept: what was found quiet before may not be any more.
    fn woken(&mut self);

    /// What passed so far.
    fn stats(&mut self) -> LineStats;
}

/// Why a port cannot be opened or changed.
#[derive(Debug, Error)]
pub enum PortError {
    /// The interface.
    #[error("port {port}: {source}")]
    Net {
        /// The port.
        port: PortId,
        /// What is wrong.
        source: NetError,
    },
    /// A socket.
    #[error("port {port}: {what}: {source}")]
    Socket {
        /// The port.
        port: PortId,
        /// What was tried.
        what: String,
        /// The system's answer.
        source: io::Error,
    },
    /// A capture file.
    #[error("port {port}: the capture file {}: {detail}", path.display())]
    Capture {
        /// The port.
        port: PortId,
        /// The file.
        path: PathBuf,
        /// What is wrong.
        detail: String,
    },
    /// Another switch serves the interface.
    #[error(
        "port {port}: another switch serves the interface '{interface}', and both would forward its packets; stop that switch, or take another interface"
    )]
    Busy {
        /// The port.
        port: PortId,
        /// The interface.
        interface: String,
    },
    /// Another port has the interface.
    #[error(
        "port {port}: '{interface}' is port {other} already; name it once, or take another interface"
    )]
    Shared {
        /// The port.
        port: PortId,
        /// The interface.
        interface: String,
        /// The port that has it.
        other: PortId,
    },
    /// The number is taken.
    #[error("port {0} is there already; remove it first, or take another number")]
    Taken(PortId),
    /// There is no such port.
    #[error("there is no port {0}")]
    Unknown(PortId),
    /// The number cannot be a port's.
    #[error("port {0} is out of range: 0 to 510 (511 is where packets are dropped)")]
    Range(PortId),
    /// The number leads to the controller.
    #[error("port {0} is the CPU port; give the interface another number")]
    Cpu(PortId),
    /// The set itself could not be made.
    #[error(transparent)]
    Setup(#[from] NetError),
}
