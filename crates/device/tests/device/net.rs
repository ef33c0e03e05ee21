//! A few buffers joined by wires, in virtual time: enough to see pauses travel.

#![allow(clippy::unwrap_used, reason = "helpers of several tests")]

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use device::buffer::{
    Buffer, BufferConfig, ClassSet, Offer, PortConfig, QueueLimit, Scheduler, Threshold,
};
use quantities::{BitRate, Bytes, Nanos, PortId, Priority};
use wire::MacAddr;
use wire::pfc::{self, Quanta};

pub(crate) const MTU: usize = 1500;
/// TaggerDraft section 3.3: 40 Gb/s, 300 m, MTU 1500, 60 quanta.
pub(crate) const RATE: BitRate = BitRate::gbps(40);
pub(crate) const WIRE: u64 = 1_500;
pub(crate) const REACTION: Nanos = Nanos::new(768);
pub(crate) const HEADROOM: u64 = 21_968;

pub(crate) fn port(id: u16) -> PortId {
    PortId::new(id)
}

pub(crate) fn class(id: u8) -> Priority {
    Priority::new(id)
}

pub(crate) fn config(ports: u16, headroom: u64) -> BufferConfig {
    let port = |id| PortConfig {
        port: port(id),
        rate: RATE,
        headroom: Bytes::new(headroom),
        mac: MacAddr::from([2, 0, 0, 0, 0, id as u8]),
        reaction: REACTION,
    };
    BufferConfig {
        capacity: Bytes::new(12 << 20),
        lossless: (1..=3).map(Priority::new).collect::<ClassSet>(),
        threshold: Threshold::Fixed {
            xoff: Bytes::new(50_000),
            xon: Bytes::new(47_000),
        },
        lossy_limit: QueueLimit::Fixed(Bytes::new(100_000)),
        ranked: None,
        ecn: None,
        scheduler: Scheduler::default(),
        pause: Quanta::MAX,
        wire_overhead: Bytes::new(0),
        tied_priorities: false,
        seed: 1,
        ports: (0..ports).map(port).collect(),
    }
}

/// What a switch does with a packet: by its first byte, the switch and the port, where it leaves
/// and with which priorities.
pub(crate) type Program = fn(switch: usize, bytes: &[u8]) -> Option<(u16, u8, u8)>;

/// When, and what.
pub(crate) type Delivery = (u64, Vec<u8>);

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Arrive(usize, u16, Vec<u8>, u32),
    Free(usize, u16),
    Timer(usize),
    Offer(usize, Vec<u8>),
    Pause(usize, u16, u8, u16),
}

pub(crate) struct Net {
    pub(crate) now: u64,
    pub(crate) buffers: Vec<Buffer>,
    pub(crate) links: BTreeMap<(usize, u16), (usize, u16)>,
    pub(crate) program: Program,
    /// Frames that left the network, by switch and port.
    pub(crate) delivered: BTreeMap<(usize, u16), Vec<Delivery>>,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    order: u64,
}

impl Net {
    pub(crate) fn new(
        configs: Vec<BufferConfig>,
        links: &[(usize, u16, usize, u16)],
        program: Program,
    ) -> Self {
        let both = |&(a, p, b, q): &(usize, u16, usize, u16)| [((a, p), (b, q)), ((b, q), (a, p))];
        Self {
            now: 0,
            buffers: configs
                .into_iter()
                .map(|c| Buffer::new(c).unwrap())
                .collect(),
            links: links.iter().flat_map(both).collect(),
            program,
            delivered: BTreeMap::new(),
            events: BinaryHeap::new(),
            order: 0,
        }
    }

    fn at(&mut self, time: u64, event: Event) {
        self.order += 1;
        self.events.push(Reverse((time, self.order, event)));
    }

    /// A packet that comes in at port 0 of a switch, where no wire is.
    pub(crate) fn inject(&mut self, time: u64, switch: usize, kind: u8, length: usize) {
        let mut bytes = vec![0; length];
        bytes[0] = kind;
        self.at(time, Event::Offer(switch, bytes));
    }

    /// The far end of an unwired port pauses a class for so many quanta.
    pub(crate) fn pause(&mut self, time: u64, switch: usize, port: u16, class: u8, quanta: u16) {
        self.at(time, Event::Pause(switch, port, class, quanta));
    }

    pub(crate) fn run(&mut self, until: u64) {
        while let Some(Reverse((time, _, event))) = self.events.pop() {
            if time > until {
                self.events.push(Reverse((time, 0, event)));
                break;
            }
            self.now = time;
            let now = Nanos::new(time);
            let node = match event {
                Event::Arrive(node, port, bytes, padding) => {
                    self.arrive(node, port, &bytes, padding);
                    node
                }
                Event::Offer(node, bytes) => {
                    self.arrive(node, 0, &bytes, 0);
                    node
                }
                Event::Free(node, port) => {
                    self.transmit(node, port);
                    node
                }
                Event::Timer(node) => {
                    self.buffers[node].run_timers(now);
                    node
                }
                Event::Pause(node, id, c, quanta) => {
                    let frame = pfc::Repr::single(MacAddr::from([9; 6]), class(c), Quanta(quanta));
                    self.buffers[node].receive_pfc(now, port(id), &frame);
                    node
                }
            };
            while let Some(id) = self.buffers[node].next_ready() {
                self.transmit(node, id.get());
            }
            if let Some(timer) = self.buffers[node].next_timer() {
                self.at(timer.get().max(time), Event::Timer(node));
            }
        }
        self.now = until;
    }

    fn arrive(&mut self, node: usize, id: u16, bytes: &[u8], padding: u32) {
        let now = Nanos::new(self.now);
        if let Ok(frame) = pfc::Repr::parse(bytes) {
            self.buffers[node].receive_pfc(now, port(id), &frame);
            return;
        }
        let Some((out, ing, eg)) = (self.program)(node, bytes) else {
            return;
        };
        let offer = Offer {
            in_port: port(id),
            ing_prio: class(ing),
            out_port: port(out),
            eg_prio: class(eg),
            bytes,
            padding,
        };
        let _ = self.buffers[node].offer(now, offer);
    }

    fn transmit(&mut self, node: usize, id: u16) {
        let mut bytes = Vec::new();
        let now = Nanos::new(self.now);
        let Some(departure) = self.buffers[node].transmit(now, port(id), &mut bytes) else {
            return;
        };
        let until = departure.until.get();
        self.at(until, Event::Free(node, id));
        match self.links.get(&(node, id)) {
            Some(&(next, far)) => self.at(until + WIRE, Event::Arrive(next, far, bytes, 0)),
            None => self
                .delivered
                .entry((node, id))
                .or_default()
                .push((until, bytes)),
        }
    }

    /// Violations of losslessness over all switches.
    pub(crate) fn violations(&self) -> u64 {
        self.buffers
            .iter()
            .map(|b| b.counters().refused_lossless)
            .sum()
    }

    /// Data frames that left by an unwired port.
    pub(crate) fn data(&self, node: usize, port: u16) -> usize {
        let frames = self.delivered.get(&(node, port));
        frames.map_or(0, |f| {
            f.iter().filter(|(_, b)| b.len() != pfc::FRAME_LEN).count()
        })
    }

    pub(crate) fn peer(&self) -> impl Fn(usize, PortId) -> Option<(usize, PortId)> + '_ {
        |node, id| {
            let &(next, far) = self.links.get(&(node, id.get()))?;
            Some((next, port(far)))
        }
    }
}
