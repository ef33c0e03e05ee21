//! Which queues wait for which: what a switch tells the deadlock detector.

use quantities::{Bytes, Nanos, PortId, Priority};
use serde::{Deserialize, Serialize};
use wire::pfc::Quanta;

use super::config::Threshold;
use super::{Buffer, CLASSES, bit};

/// Bytes of a queue that are charged to an input port and class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// The input port.
    pub port: PortId,
    /// ING_PRIO.
    pub class: Priority,
    /// How many.
    pub bytes: Bytes,
}

/// A queue that has packets and is paused by the far end of its port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wait {
    /// The output port.
    pub port: PortId,
    /// EG_PRIO.
    pub class: Priority,
    /// Packets that wait.
    pub packets: u32,
    /// Since when nothing left it: the pause's beginning, or the last packet if that came after.
    pub since: Nanos,
    /// The longest that one PFC frame can pause it, whatever time the far end likes to give.
    pub timer: Nanos,
    /// Whose buffer its packets hold, in order of port and class.
    pub held: Vec<Held>,
}

/// An input port and class that is told to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldBack {
    /// The input port.
    pub port: PortId,
    /// The class.
    pub class: Priority,
    /// Since when.
    pub since: Nanos,
    /// Bytes charged to it.
    pub used: Bytes,
}

/// When a stopped input port may go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resume {
    /// The threshold.
    pub threshold: Threshold,
    /// The shared buffer.
    pub shared: Bytes,
}

impl Resume {
    /// The use at or below which a stopped input port may go on, if nothing but `stuck` bytes were
    /// left of the shared buffer's use: the most generous that its threshold can become.
    #[must_use]
    pub const fn limit(self, stuck: Bytes) -> Bytes {
        let free = self.shared.get().saturating_sub(stuck.get());
        Bytes::new(self.threshold.resume_at(free))
    }
}

/// What a switch tells of its pauses at a time: all that the deadlock detector needs to know of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Paused queues, in order of port and class.
    pub waits: Vec<Wait>,
    /// Input ports and classes told to stop, in order.
    pub held_back: Vec<HeldBack>,
    /// When they may go on.
    pub resume: Resume,
}

impl Buffer {
    /// Whether any sender is told to stop: if none is, [`Buffer::snapshot`] has nothing to say.
    #[must_use]
    pub fn holds_back(&self) -> bool {
        !self.stopped.is_empty()
    }

    /// Whether nothing left some paused queue for longer than a PFC frame can pause it.
    #[must_use]
    pub fn stands_still(&self, now: Nanos) -> bool {
        self.ports.iter().flatten().any(|port| {
            let timer = self.config.pause.duration(port.config.rate);
            (0..CLASSES).any(|at| {
                let since = port.classes[at]
                    .paused_since
                    .max(port.classes[at].last_sent);
                port.paused & port.waiting & bit(at as u8) != 0
                    && now.get().saturating_sub(since.get()) > timer.get()
            })
        })
    }

    /// The queues that wait, and those who are held back.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        let mut waits = Vec::new();
        for port in self.ports.iter().flatten() {
            for class in 0..CLASSES as u8 {
                let at = usize::from(class);
                if port.paused & port.waiting & bit(class) == 0 {
                    continue;
                }
                waits.push(Wait {
                    port: port.config.port,
                    class: Priority::new(class),
                    packets: port.classes[at].queue.packets(),
                    since: port.classes[at]
                        .paused_since
                        .max(port.classes[at].last_sent),
                    timer: Quanta::MAX.duration(port.config.rate),
                    held: self.held(port, at),
                });
            }
        }
        let mut held_back: Vec<HeldBack> = self
            .stopped
            .iter()
            .filter_map(|&(id, class)| {
                let place = &self.port(PortId::new(id))?.classes[usize::from(class & 7)];
                Some(HeldBack {
                    port: PortId::new(id),
                    class: Priority::new(class),
                    since: place.told_since,
                    used: Bytes::new(place.ingress.used()),
                })
            })
            .collect();
        held_back.sort_unstable_by_key(|h| (h.port, h.class));
        Snapshot {
            waits,
            held_back,
            resume: Resume {
                threshold: self.config.threshold,
                shared: Bytes::new(self.shared),
            },
        }
    }

    fn held(&self, port: &super::Port, class: usize) -> Vec<Held> {
        let mut bytes = vec![[0u64; CLASSES]; self.ports.len()];
        for packet in port.classes[class].queue.iter() {
            bytes[usize::from(packet.in_port)][usize::from(packet.in_class & 7)] +=
                u64::from(packet.length);
        }
        let mut held = Vec::new();
        for (id, classes) in (0..).zip(bytes) {
            for (class, bytes) in (0..).zip(classes).filter(|(_, bytes)| *bytes > 0) {
                held.push(Held {
                    port: PortId::new(id),
                    class: Priority::new(class),
                    bytes: Bytes::new(bytes),
                });
            }
        }
        held
    }
}
