//! What a PFC watchdog does to a queue that PFC has stopped for too long: PFC is not obeyed there
//! any more, and packets go on or are thrown away. Who decides that, and when, is not here.

use quantities::{Nanos, PortId, Priority};

use super::{Buffer, bit};

/// What becomes of a queue while PFC is not obeyed (SonicWatchdog).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StormAction {
    /// Its packets are thrown away, those that come for it too, and those of its class that come in
    /// by its port.
    Drop,
    /// Its packets are sent.
    Forward,
}

impl Buffer {
    /// From now on a queue does not obey PFC. Tells how many packets were thrown away.
    pub fn begin_storm(
        &mut self,
        now: Nanos,
        id: PortId,
        class: Priority,
        action: StormAction,
    ) -> u64 {
        let class = class.get();
        let Some(port) = self.port_mut(id) else {
            return 0;
        };
        port.deaf |= bit(class);
        if action == StormAction::Drop {
            port.dropping |= bit(class);
        }
        self.unpause(now, id, class);
        match action {
            StormAction::Drop => self.flush_class(now, id, class),
            StormAction::Forward => 0,
        }
    }

    /// From now on the queue obeys PFC again, and takes packets.
    pub fn end_storm(&mut self, id: PortId, class: Priority) {
        if let Some(port) = self.port_mut(id) {
            port.deaf &= !bit(class.get());
            port.dropping &= !bit(class.get());
        }
    }
}
