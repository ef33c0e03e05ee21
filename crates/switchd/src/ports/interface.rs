//! A Linux interface as a line.

use std::os::fd::{AsFd, BorrowedFd};

use linuxnet::PacketSocket;

use super::{Line, LineStats};

/// An interface, opened for raw frames.
pub(super) struct Interface {
    socket: PacketSocket,
    woken: bool,
}

impl Interface {
    pub(super) fn new(socket: PacketSocket) -> Self {
        Self {
            socket,
            woken: false,
        }
    }
}

impl Line for Interface {
    fn receive(&mut self, limit: usize, each: &mut dyn FnMut(&[u8])) -> usize {
        let taken = self.socket.receive(limit, |frame| each(frame));
        // Woken for no frame: it may have been an error, which must be taken or wakes us for ever.
        if std::mem::take(&mut self.woken) && taken == 0 {
            self.socket.settle();
        }
        taken
    }

    fn send_all(&mut self, frames: &mut dyn Iterator<Item = &[u8]>) {
        self.socket.send_all(frames);
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.socket.as_fd())
    }

    fn woken(&mut self) {
        self.woken = true;
    }

    fn stats(&mut self) -> LineStats {
        let stats = self.socket.stats();
        LineStats {
            received: stats.received,
            receive_overrun: stats.receive_overrun,
            receive_damaged: stats.receive_damaged,
            sent: stats.sent,
            send_refused: stats.send_refused,
        }
    }
}
