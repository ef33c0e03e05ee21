//! Egress queues as those of BMv2's `simple_switch`: some per port, numbered by
//! `standard_metadata.priority`, the highest first; each with a depth and a rate in packets per
//! second. No clock: time is an argument.
//!
//! A packet of a queue with a rate gets its time of departure when it arrives, one interval after
//! the packet before it, and waits until then; if as many wait as the queue is deep it is lost.
//! Without a rate it leaves at once, and the queues only decide which of the packets that leave
//! together goes first.

use std::collections::{BTreeMap, VecDeque};
use std::num::NonZeroU8;

use p4exec::OutputMetadata;
use quantities::{Nanos, PortId, Priority};

use crate::{Transmit, ports::Ports};

/// Packets that may wait in a queue unless it is set, as in BMv2.
const DEPTH: usize = 64;
/// Buffers that are kept for packets to come.
const SPARE: usize = 256;
const SECOND: u64 = 1_000_000_000;

/// Which queues a setting is for: of one port or of all, one of the port's or all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueRange {
    /// The port; `None` for all, those to come as well.
    pub port: Option<PortId>,
    /// The queue; `None` for all of the port's.
    pub queue: Option<u8>,
}

/// A change of queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueSetting {
    /// So many packets may wait.
    Depth(usize),
    /// So many packets leave per second; 0 for no limit.
    Rate(u64),
}

/// Packets that the queues did not take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueDrops {
    /// Their queue was full.
    pub full: u64,
    /// The program named a queue that the port does not have.
    pub no_such_queue: u64,
}

#[derive(Clone, Copy, Debug)]
struct Shape {
    depth: usize,
    /// Between two packets; 0 for no limit.
    interval: u64,
}

impl Shape {
    const UNLIMITED: Self = Self {
        depth: DEPTH,
        interval: 0,
    };

    fn set(&mut self, setting: QueueSetting) {
        match setting {
            QueueSetting::Depth(depth) => self.depth = depth,
            QueueSetting::Rate(0) => self.interval = 0,
            QueueSetting::Rate(rate) => self.interval = SECOND / rate,
        }
    }
}

/// A packet that waits, and when it may leave.
#[derive(Clone, Debug)]
struct Waiting {
    due: u64,
    bytes: Vec<u8>,
    ing_prio: Priority,
    eg_prio: Priority,
}

#[derive(Clone, Debug)]
struct Queue {
    shape: Shape,
    /// When the last packet that came may leave, or left.
    last: Option<u64>,
    waiting: VecDeque<Waiting>,
}

impl Queue {
    const fn new(shape: Shape) -> Self {
        Self {
            shape,
            last: None,
            waiting: VecDeque::new(),
        }
    }

    fn is_due(&self, now: Nanos) -> bool {
        let first = self.waiting.front();
        first.is_some_and(|packet| packet.due <= now.get())
    }
}

/// The egress queues of all ports.
#[derive(Clone, Debug)]
pub struct Queues {
    /// Queues per port; `None`: one, for packets of any priority.
    count: Option<NonZeroU8>,
    /// The port that has one queue without limits.
    unlimited: Option<PortId>,
    /// For queues that are not there yet.
    defaults: Vec<Shape>,
    ports: BTreeMap<PortId, Vec<Queue>>,
    waiting: usize,
    /// The port whose packets are handed over, of those whose time has come.
    turn: PortId,
    /// The bytes that were handed over last.
    handed: Vec<u8>,
    spare: Vec<Vec<u8>>,
    drops: QueueDrops,
}

impl Queues {
    /// So many queues per port, without limits. `None` is one queue for packets of any priority; of
    /// one that is asked for only packets of priority 0 are taken, as in BMv2. The port `unlimited`
    /// (that of the controller) has one queue that no setting limits, for packets of any priority.
    #[must_use]
    pub fn new(count: Option<NonZeroU8>, unlimited: Option<PortId>) -> Self {
        Self {
            count,
            unlimited,
            defaults: vec![Shape::UNLIMITED; usize::from(count.map_or(1, NonZeroU8::get))],
            ports: BTreeMap::new(),
            waiting: 0,
            turn: PortId::new(0),
            handed: Vec::new(),
            spare: Vec::new(),
            drops: QueueDrops::default(),
        }
    }

    /// Queues per port.
    #[must_use]
    pub fn per_port(&self) -> usize {
        self.defaults.len()
    }

    /// Changes queues; false if there is no such queue.
    pub fn set(&mut self, range: QueueRange, setting: QueueSetting) -> bool {
        if range
            .queue
            .is_some_and(|q| usize::from(q) >= self.per_port())
        {
            return false;
        }
        let concerned = |number: usize| range.queue.is_none_or(|q| usize::from(q) == number);
        if let Some(port) = range.port {
            self.queues(port);
        } else {
            let shapes = self.defaults.iter_mut().enumerate();
            for (_, shape) in shapes.filter(|(number, _)| concerned(*number)) {
                shape.set(setting);
            }
        }
        for (port, queues) in &mut self.ports {
            let other = range.port.is_some_and(|only| only != *port);
            if other || self.unlimited == Some(*port) {
                continue;
            }
            let queues = queues.iter_mut().enumerate();
            for (_, queue) in queues.filter(|(number, _)| concerned(*number)) {
                queue.shape.set(setting);
            }
        }
        true
    }

    fn queues(&mut self, port: PortId) -> &mut Vec<Queue> {
        let shapes = match self.unlimited == Some(port) {
            true => &[Shape::UNLIMITED][..],
            false => &self.defaults,
        };
        let make = || shapes.iter().copied().map(Queue::new).collect();
        self.ports.entry(port).or_insert_with(make)
    }

    /// Takes a packet for a port; false if it is lost ([`Queues::drops`]).
    pub(crate) fn push(
        &mut self,
        now: Nanos,
        port: PortId,
        metadata: &OutputMetadata,
        packet: &[u8],
    ) -> bool {
        let number = match self.count {
            Some(_) if self.unlimited != Some(port) => metadata.queue,
            _ => 0,
        };
        let mut bytes = self.spare.pop().unwrap_or_default();
        let Some(queue) = self.queues(port).get_mut(usize::from(number)) else {
            self.drops.no_such_queue += 1;
            return false;
        };
        let due = match queue.shape.interval {
            0 => now.get(),
            interval => {
                let spaced = queue.last.map_or(0, |last| last.saturating_add(interval));
                now.get().max(spaced)
            }
        };
        // Packets that leave at once do not wait, however many there are.
        if due > now.get() {
            let later = queue.waiting.iter().rev();
            let waiting = later.take_while(|packet| packet.due > now.get()).count();
            if waiting >= queue.shape.depth {
                self.drops.full += 1;
                return false;
            }
        }
        queue.last = Some(due);
        bytes.extend_from_slice(packet);
        queue.waiting.push_back(Waiting {
            due,
            bytes,
            ing_prio: metadata.ing_prio.unwrap_or_default(),
            eg_prio: metadata.eg_prio.unwrap_or_default(),
        });
        self.waiting += 1;
        true
    }

    /// Takes a packet whose time has come: by port, of each the highest queue first.
    fn pop(&mut self, now: Nanos) -> Option<(PortId, usize, Waiting)> {
        loop {
            let first = std::mem::take(&mut self.turn);
            for (&port, queues) in self.ports.range_mut(first..) {
                let due = queues.iter().rposition(|queue| queue.is_due(now));
                if let Some(number) = due
                    && let Some(packet) = queues[number].waiting.pop_front()
                {
                    self.turn = port;
                    self.waiting -= 1;
                    return Some((port, number, packet));
                }
            }
            // Ports before the one whose turn it was may have got packets since.
            if first == PortId::new(0) {
                return None;
            }
        }
    }

    pub(super) fn poll_transmit(&mut self, now: Nanos, ports: &mut Ports) -> Option<Transmit<'_>> {
        if self.handed.capacity() > 0 && self.spare.len() < SPARE {
            self.handed.clear();
            self.spare.push(std::mem::take(&mut self.handed));
        }
        while self.waiting > 0 {
            let (port, number, packet) = self.pop(now)?;
            // A packet that is lost here is counted, and nobody waits for the reason.
            if ports.may_send(port).is_err() {
                continue;
            }
            ports.count_sent(port, packet.bytes.len() as u64);
            self.handed = packet.bytes;
            return Some(Transmit {
                port,
                bytes: &self.handed,
                padding: 0,
                queue: Some(Priority::new(number as u8)),
                ing_prio: packet.ing_prio,
                eg_prio: packet.eg_prio,
                until: now,
            });
        }
        None
    }

    pub(super) fn poll_timeout(&self) -> Option<Nanos> {
        if self.waiting == 0 {
            return None;
        }
        let queues = self.ports.values().flatten();
        let heads = queues.filter_map(|queue| queue.waiting.front());
        heads.map(|packet| Nanos::new(packet.due)).min()
    }

    /// Throws away the packets that wait for a port, and keeps its settings: the next port of this
    /// number does not send them.
    pub(crate) fn clear(&mut self, port: PortId) {
        for queue in self.ports.get_mut(&port).into_iter().flatten() {
            self.waiting -= queue.waiting.len();
            queue.waiting.clear();
            queue.last = None;
        }
    }

    /// What was lost.
    #[must_use]
    pub const fn drops(&self) -> QueueDrops {
        self.drops
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PORT: PortId = PortId::new(1);
    const OTHER: PortId = PortId::new(2);
    const CONTROLLER: PortId = PortId::new(255);

    fn due(queues: &mut Queues, now: u64) -> Vec<(u16, u8, u8)> {
        let mut ports = Ports::default();
        for port in [PORT, OTHER, CONTROLLER] {
            ports.add(port);
        }
        let mut sent = Vec::new();
        while let Some(packet) = queues.poll_transmit(Nanos::new(now), &mut ports) {
            let queue = packet.queue.expect("a queue").get();
            sent.push((packet.port.get(), queue, packet.bytes[0]));
        }
        sent
    }

    fn push(queues: &mut Queues, now: u64, port: PortId, priority: u8, mark: u8) -> bool {
        let metadata = OutputMetadata {
            queue: priority,
            ..OutputMetadata::default()
        };
        queues.push(Nanos::new(now), port, &metadata, &[mark])
    }

    #[test]
    fn of_packets_that_leave_together_the_highest_queue_goes_first() {
        let mut queues = Queues::new(NonZeroU8::new(8), None);
        for (mark, priority) in [0, 7, 3, 7, 0].into_iter().enumerate() {
            assert!(push(&mut queues, 5, PORT, priority, mark as u8));
        }
        assert!(push(&mut queues, 5, OTHER, 1, 9));
        let order = [
            (1, 7, 1),
            (1, 7, 3),
            (1, 3, 2),
            (1, 0, 0),
            (1, 0, 4),
            (2, 1, 9),
        ];
        assert_eq!(due(&mut queues, 5), order);
        assert_eq!(queues.poll_timeout(), None);
    }

    #[test]
    fn a_queue_with_a_rate_spaces_packets_and_overflows() {
        let mut queues = Queues::new(NonZeroU8::new(2), None);
        let low = QueueRange {
            port: Some(PORT),
            queue: Some(0),
        };
        assert!(queues.set(low, QueueSetting::Rate(1000)));
        assert!(queues.set(low, QueueSetting::Depth(2)));
        let start = 10 * SECOND;
        // One leaves at once, two wait, one is lost; the other queue and the other port have no
        // limit.
        let taken: Vec<bool> = (0..4)
            .map(|m| push(&mut queues, start, PORT, 0, m))
            .collect();
        assert_eq!(taken, [true, true, true, false]);
        assert!(push(&mut queues, start, PORT, 1, 8) && push(&mut queues, start, OTHER, 0, 9));
        assert_eq!(due(&mut queues, start), [(1, 1, 8), (1, 0, 0), (2, 0, 9)]);
        assert_eq!(queues.poll_timeout(), Some(Nanos::new(start + 1_000_000)));
        assert_eq!(due(&mut queues, start + 999_999), []);
        assert_eq!(due(&mut queues, start + 2_000_000), [(1, 0, 1), (1, 0, 2)]);
        assert_eq!(queues.drops().full, 1);
    }

    #[test]
    fn the_long_run_rate_is_the_one_that_was_set() {
        let mut queues = Queues::new(None, None);
        assert!(queues.set(QueueRange::default(), QueueSetting::Rate(500)));
        let (step, mut sent) = (250_000, 0);
        for now in (SECOND..3 * SECOND).step_by(step) {
            // Four times the rate is offered, at any priority: there is one queue for all.
            push(&mut queues, now, PORT, 5, 0);
            sent += due(&mut queues, now).len();
        }
        assert_eq!(sent, 1000);
    }

    #[test]
    fn what_waits_for_a_port_goes_with_it_and_the_settings_stay() {
        let mut queues = Queues::new(None, None);
        assert!(queues.set(QueueRange::default(), QueueSetting::Rate(1)));
        for mark in 0..3 {
            assert!(push(&mut queues, 0, PORT, 0, mark) && push(&mut queues, 0, OTHER, 0, mark));
        }
        queues.clear(PORT);
        assert_eq!(due(&mut queues, SECOND), [(2, 0, 0), (2, 0, 1)]);
        assert!(push(&mut queues, SECOND, PORT, 0, 8) && push(&mut queues, SECOND, PORT, 0, 9));
        assert_eq!(due(&mut queues, SECOND), [(1, 0, 8)]);
        assert_eq!(due(&mut queues, 2 * SECOND), [(1, 0, 9), (2, 0, 2)]);
        assert_eq!(queues.poll_timeout(), None);
    }

    #[test]
    fn a_queue_that_is_not_there_takes_nothing() {
        let mut queues = Queues::new(NonZeroU8::new(4), None);
        assert!(!push(&mut queues, 0, PORT, 4, 0));
        assert_eq!(queues.drops().no_such_queue, 1);
        let fifth = QueueRange {
            port: None,
            queue: Some(4),
        };
        assert!(!queues.set(fifth, QueueSetting::Rate(1)));
    }

    #[test]
    fn no_setting_limits_the_port_of_the_controller() {
        let mut queues = Queues::new(NonZeroU8::new(2), Some(CONTROLLER));
        assert!(queues.set(QueueRange::default(), QueueSetting::Rate(1)));
        let only = QueueRange {
            port: Some(CONTROLLER),
            queue: None,
        };
        assert!(queues.set(only, QueueSetting::Depth(0)));
        for mark in 0..3 {
            assert!(push(&mut queues, SECOND, CONTROLLER, 7, mark));
            push(&mut queues, SECOND, PORT, 0, mark);
        }
        let sent = [(1, 0, 0), (255, 0, 0), (255, 0, 1), (255, 0, 2)];
        assert_eq!(due(&mut queues, SECOND), sent);
    }
}
