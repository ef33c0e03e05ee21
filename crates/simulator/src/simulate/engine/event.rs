//! Events of the simulated network, and what shards of it that are simulated beside each other send
//! each other.

use std::cmp::Ordering;

use quantities::PortId;

use super::calendar::Owned;
use crate::simulate::host::chance::Chance;
use crate::simulate::host::flow::Flow;

/// What an event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventKind {
    /// A frame has arrived at a switch's port.
    AtSwitch,
    /// The same, of a frame on which the switch's program has been run.
    Processed,
    /// A switch has something to do.
    Due,
    /// A frame has arrived at a host.
    AtHost,
    /// A frame that has arrived at a host reaches who acts on it.
    InHost,
    /// A host's card looks what it may send.
    Wake,
    /// A workload's turn at a host.
    Job,
    /// A host is told that a job is done.
    Word,
    /// A flow's sender has waited long enough.
    Flow,
    /// A host renews its pause.
    Pause,
}

impl EventKind {
    /// The kind of a number that a kind was made.
    #[inline]
    const fn of(number: u16) -> Self {
        match number {
            0 => Self::AtSwitch,
            1 => Self::Processed,
            2 => Self::Due,
            3 => Self::AtHost,
            4 => Self::InHost,
            5 => Self::Wake,
            6 => Self::Job,
            7 => Self::Word,
            8 => Self::Flow,
            _ => Self::Pause,
        }
    }
}

/// An event: its kind, a port or the like, a switch or host, a frame with the bytes of it that are
/// carried about and the zeros that follow them; the number of a frame, of a workload's turn, or
/// the place of a flow.
///
/// All of that in two words, which functions hand each other in registers: many small fields are
/// written one by one and then read together, for which a processor waits longer than an event
/// takes to be added.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    /// Kind, port, bytes held and zeros, 16 bits each, the kind lowest.
    what: u64,
    /// Switch or host, and above it the number.
    whom: u64,
}

impl Event {
    #[inline]
    pub(crate) const fn new(kind: EventKind, node: u32, port: u16) -> Self {
        Self {
            what: kind as u64 | (port as u64) << 16,
            whom: node as u64,
        }
    }

    /// One about a workload's turn or a flow's place.
    #[inline]
    pub(crate) const fn numbered(kind: EventKind, node: u32, number: u32) -> Self {
        Self::new(kind, node, 0).with_number(number)
    }

    /// The same with a number.
    #[inline]
    pub(crate) const fn with_number(self, number: u32) -> Self {
        Self {
            whom: self.whom as u32 as u64 | (number as u64) << 32,
            ..self
        }
    }

    /// The same of a frame of so many bytes that are carried about and zeros that follow them.
    #[inline]
    const fn with_frame(self, held: u16, padding: u16) -> Self {
        Self {
            what: self.what as u32 as u64 | (held as u64) << 32 | (padding as u64) << 48,
            ..self
        }
    }

    /// The same, but of another kind.
    #[inline]
    pub(crate) const fn with_kind(self, kind: EventKind) -> Self {
        Self {
            what: self.what & !0xffff | kind as u64,
            ..self
        }
    }

    #[inline]
    pub(crate) const fn kind(self) -> EventKind {
        EventKind::of(self.what as u16)
    }

    /// Whether a frame arrives at a switch.
    #[inline]
    pub(crate) const fn is_at_switch(self) -> bool {
        matches!(self.kind(), EventKind::AtSwitch | EventKind::Processed)
    }

    #[inline]
    const fn precedence(self) -> Precedence {
        match self.kind() {
            EventKind::AtSwitch | EventKind::Processed | EventKind::AtHost => Precedence::Arrival,
            EventKind::Word => Precedence::Word,
            _ => Precedence::Own,
        }
    }

    #[inline]
    pub(crate) const fn port(self) -> u16 {
        (self.what >> 16) as u16
    }

    #[inline]
    pub(crate) const fn held(self) -> u16 {
        (self.what >> 32) as u16
    }

    #[inline]
    pub(crate) const fn padding(self) -> u16 {
        (self.what >> 48) as u16
    }

    #[inline]
    pub(crate) const fn node(self) -> u32 {
        self.whom as u32
    }

    #[inline]
    pub(crate) const fn number(self) -> u32 {
        (self.whom >> 32) as u32
    }
}

/// The number of a switch or host among all that own events.
pub(crate) const fn owner(node: u32, switch: bool) -> u32 {
    node << 1 | !switch as u32
}

impl Owned for Event {
    #[inline]
    fn owner(&self) -> u32 {
        let switch = matches!(
            self.kind(),
            EventKind::AtSwitch | EventKind::Processed | EventKind::Due
        );
        owner(self.node(), switch)
    }

    /// Frames that arrive come first; then what a node does by itself, in the order in which it
    /// decided so; then word from others, by its workload. Which port's frame is the first of
    /// several is drawn, so that no port is favoured; from the time and the port alone, so that it
    /// is the same whoever asks. Each port and workload has one sender, whose events are in the
    /// order in which they were sent.
    #[inline]
    fn compare_ranks(&self, other: &Self, at: u64) -> Ordering {
        let (port, others) = (self.port(), other.port());
        let drawn = |port: u16| (Chance::new(at ^ u64::from(port) << 48).draw() >> 32, port);
        let order = self.precedence().cmp(&other.precedence());
        order.then_with(|| match self.precedence() {
            Precedence::Arrival if port != others => drawn(port).cmp(&drawn(others)),
            Precedence::Word => port.cmp(&others),
            Precedence::Arrival | Precedence::Own => Ordering::Equal,
        })
    }
}

/// What comes first of what happens to somebody in one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Precedence {
    /// A frame arrives.
    Arrival,
    /// He does something by himself.
    Own,
    /// He hears from others.
    Word,
}

/// The far end of a cable, and how long it takes there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PeerPort {
    pub(crate) host: bool,
    /// The shard of the network that it is in; 0 where there is but one.
    pub(crate) shard: u8,
    pub(crate) port: u16,
    pub(crate) node: u32,
    pub(crate) delay: u64,
}

impl PeerPort {
    /// A frame's arrival there, but for where it is kept. Frames are shorter than 64 KB.
    pub(crate) const fn arrival(&self, bytes: &[u8], padding: u32) -> Event {
        let kind = match self.host {
            true => EventKind::AtHost,
            false => EventKind::AtSwitch,
        };
        Event::new(kind, self.node, self.port).with_frame(bytes.len() as u16, padding as u16)
    }

    /// The switch and port, if it is not a host.
    pub(crate) fn switch(&self) -> Option<(usize, PortId)> {
        (!self.host).then_some((self.node as usize, PortId::new(self.port)))
    }
}

/// What one shard of the network sends another one: events there, and flows that end there.
#[derive(Debug)]
pub(crate) struct Post {
    /// Events with their times; the bytes of their frames follow each other.
    pub(crate) events: Vec<(u64, Event)>,
    pub(crate) bytes: Vec<u8>,
    pub(crate) flows: Vec<Flow>,
    /// The earliest of the events.
    pub(crate) first: u64,
}

impl Default for Post {
    fn default() -> Self {
        Self {
            events: Vec::new(),
            bytes: Vec::new(),
            flows: Vec::new(),
            first: u64::MAX,
        }
    }
}

impl Post {
    /// Adds an event, with the bytes of its frame if it has one.
    pub(crate) fn add(&mut self, at: u64, event: Event, bytes: &[u8]) {
        self.first = self.first.min(at);
        self.events.push((at, event));
        self.bytes.extend_from_slice(bytes);
    }

    /// Whether there is anything in it.
    pub(crate) const fn is_empty(&self) -> bool {
        self.events.is_empty() && self.flows.is_empty()
    }

    /// Empties it, but for its memory.
    pub(crate) fn clear(&mut self) {
        self.events.clear();
        self.bytes.clear();
        self.flows.clear();
        self.first = u64::MAX;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_keeps_what_it_was_made_of() {
        for number in 0..=EventKind::Pause as u16 {
            let kind = EventKind::of(number);
            assert_eq!(kind as u16, number);
            let event = Event::new(kind, u32::MAX - 1, u16::MAX - 2);
            assert_eq!((event.held(), event.padding(), event.number()), (0, 0, 0));
            let event = event
                .with_frame(u16::MAX - 3, u16::MAX - 4)
                .with_number(u32::MAX - 5);
            for event in [event, event.with_kind(EventKind::Word).with_kind(kind)] {
                assert_eq!(event.kind(), kind);
                assert_eq!((event.node(), event.port()), (u32::MAX - 1, u16::MAX - 2));
                assert_eq!(
                    (event.held(), event.padding()),
                    (u16::MAX - 3, u16::MAX - 4)
                );
                assert_eq!(event.number(), u32::MAX - 5);
            }
        }
    }
}
