//! What the data plane tells the control plane unasked.

use p4exec::externs::digest::Digest;
use quantities::{Nanos, PortId};
use tokio::sync::mpsc;

/// Something the control plane should hear of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notification {
    /// A packet left by the CPU port.
    PacketIn(Vec<u8>),
    /// A program sent a digest message, at this time of the engine's clock.
    Digest(Digest, Nanos),
    /// A port went up or down.
    Port(PortChange),
}

/// A change of a port's status, and when; times are of the engine's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortChange {
    /// The port.
    pub port: PortId,
    /// Whether it is up now.
    pub up: bool,
    /// When the data plane was told: no packet that it takes up later is forwarded as if nothing
    /// had changed.
    pub told: Nanos,
    /// When the data plane's thread had noted it. It may have slept meanwhile.
    pub noted: Nanos,
}

/// The most notifications that wait; what comes beyond is lost and counted.
pub(crate) const CAPACITY: usize = 8192;

/// The data plane's end: never blocks.
pub(crate) struct Notifier {
    sender: mpsc::Sender<Notification>,
    lost: u64,
}

impl Notifier {
    /// The end of another thread, which counts what it loses itself.
    pub(crate) fn another(&self) -> Self {
        Self {
            sender: self.sender.clone(),
            lost: 0,
        }
    }

    /// Both ends.
    pub(crate) fn new() -> (Self, mpsc::Receiver<Notification>) {
        let (sender, receiver) = mpsc::channel(CAPACITY);
        (Self { sender, lost: 0 }, receiver)
    }

    /// Tells it, or counts it as lost where nobody listens fast enough.
    pub(crate) fn tell(&mut self, notification: Notification) {
        if self.sender.try_send(notification).is_err() {
            self.lost += 1;
        }
    }

    /// Notifications lost so far.
    pub(crate) const fn lost(&self) -> u64 {
        self.lost
    }
}
