//! A host's network card: it sends what its flows may send, in turn, obeys PFC, and pauses its
//! switch when a scenario says so.

use std::collections::VecDeque;

use device::buffer::CLASSES;
use quantities::{BitRate, Priority};
use wire::MacAddr;
use wire::pfc::{self, Quanta};

use super::chance::Chance;
use super::flow::{Flow, Next};

/// See the module documentation.
#[derive(Clone, Debug)]
pub(crate) struct Nic {
    pub(crate) rate: BitRate,
    pub(crate) mac: MacAddr,
    pub(crate) up: bool,
    /// How long a PFC frame takes to act.
    pub(crate) reaction: u64,
    free_at: u64,
    fraction: u64,
    paused_until: [u64; CLASSES],
    heard: VecDeque<(u64, [Option<Quanta>; CLASSES])>,
    /// Answers that wait, by class: their place in the pool.
    answers: [VecDeque<u32>; CLASSES],
    /// Mask of the classes that have any.
    answering: u8,
    /// PFC frames to be sent.
    says: VecDeque<(Priority, Quanta)>,
    /// The places of flows that still have something to send, and whose turn it is.
    pub(crate) flows: Vec<u32>,
    turn: usize,
    /// Until when it pauses its switch, by class.
    pub(crate) pausing: [u64; CLASSES],
    /// When it says so again, for drivers that have no calendar.
    pub(crate) next_pause: [u64; CLASSES],
    /// What draws source ports of flows that have another one for every packet.
    spray: u64,
    /// What draws how much longer acting on a frame takes.
    pub(crate) chance: Chance,
    /// Flows that began here by jobs.
    pub(crate) begun: u32,
}

/// What a card sends next.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Turn {
    Pfc(pfc::Repr),
    /// An answer, by its place in the pool.
    Answer(u32),
    /// A flow by its place, and the number of its packet.
    Data(u32, u64),
    /// Nothing before this time.
    Wait(u64),
    /// Nothing.
    Idle,
}

impl Nic {
    pub(crate) fn new(rate: BitRate, mac: [u8; 6], reaction: u64) -> Self {
        Self {
            rate,
            mac: MacAddr::from(mac),
            up: true,
            reaction,
            free_at: 0,
            fraction: 0,
            paused_until: [0; CLASSES],
            heard: VecDeque::new(),
            answers: Default::default(),
            answering: 0,
            says: VecDeque::new(),
            flows: Vec::new(),
            turn: 0,
            pausing: [0; CLASSES],
            next_pause: [u64::MAX; CLASSES],
            spray: 1,
            chance: Chance::new(0),
            begun: 0,
        }
    }

    /// Where the numbers that are drawn at this host begin.
    pub(crate) fn seed(&mut self, seed: u64, host: usize) {
        // Workloads have the sequences with small numbers.
        let own = u64::MAX - 2 * host as u64;
        self.chance = Chance::of(seed, own);
        self.spray = Chance::of(seed, own - 1).draw() | 1;
    }

    /// Another source port.
    pub(crate) fn port(&mut self) -> u16 {
        self.spray ^= self.spray << 13;
        self.spray ^= self.spray >> 7;
        self.spray ^= self.spray << 17;
        0xc000 | (self.spray >> 40) as u16
    }

    /// Whether its switch keeps it from sending something.
    pub(crate) fn is_paused(&self, now: u64) -> bool {
        self.paused_until.iter().any(|until| *until > now)
    }

    /// A PFC frame arrived; when it acts.
    pub(crate) fn receive_pfc(&mut self, now: u64, frame: &pfc::Repr) -> u64 {
        let at = now + self.reaction;
        self.heard.push_back((at, frame.times));
        at
    }

    fn apply_pauses(&mut self, now: u64) {
        while let Some((at, times)) = self.heard.front().copied().filter(|(at, _)| *at <= now) {
            self.heard.pop_front();
            for (until, time) in self.paused_until.iter_mut().zip(times) {
                if let Some(time) = time {
                    *until = at + time.duration(self.rate).get();
                }
            }
        }
    }

    pub(crate) fn say(&mut self, class: Priority, time: Quanta) {
        self.says.push_back((class, time));
    }

    pub(crate) fn answer(&mut self, class: u8, packet: u32) {
        self.answers[usize::from(class & 7)].push_back(packet);
        self.answering |= 1 << (class & 7);
    }

    /// What to send now; flows that are done leave the list.
    pub(crate) fn turn(&mut self, now: u64, flows: &mut [Flow]) -> Turn {
        self.apply_pauses(now);
        if !self.up {
            return Turn::Idle;
        }
        if now < self.free_at {
            return Turn::Wait(self.free_at);
        }
        if let Some((class, time)) = self.says.pop_front() {
            return Turn::Pfc(pfc::Repr::single(self.mac, class, time));
        }
        let mut wake = self.heard.front().map_or(u64::MAX, |(at, _)| *at);
        let mut answering = self.answering;
        while answering != 0 {
            let class = answering.ilog2() as usize;
            answering &= !(1 << class);
            if self.paused_until[class] > now {
                wake = wake.min(self.paused_until[class]);
            } else if let Some(packet) = self.answers[class].pop_front() {
                if self.answers[class].is_empty() {
                    self.answering &= !(1 << class);
                }
                return Turn::Answer(packet);
            }
        }
        let mut tried = 0;
        while tried < self.flows.len() {
            if self.turn >= self.flows.len() {
                self.turn = 0;
            }
            let id = self.flows[self.turn];
            let Some(flow) = flows.get_mut(id as usize) else {
                return Turn::Idle;
            };
            let paused = self.paused_until[usize::from(flow.class & 7)];
            if paused > now {
                wake = wake.min(paused);
                self.turn += 1;
                tried += 1;
                continue;
            }
            match flow.ask(now) {
                Next::Packet(number) => {
                    self.turn += 1;
                    return Turn::Data(id, number);
                }
                Next::Wait(at) => wake = wake.min(at),
                Next::Blocked => {}
                Next::Done => {
                    self.flows.remove(self.turn);
                    continue;
                }
            }
            self.turn += 1;
            tried += 1;
        }
        match wake {
            u64::MAX => Turn::Idle,
            at => Turn::Wait(at),
        }
    }

    /// Takes the wire for so many bytes; until when.
    pub(crate) fn occupy(&mut self, now: u64, bytes: u64) -> u64 {
        let rate = self.rate.get().max(1);
        if now > self.free_at {
            self.fraction = 0;
        }
        let scaled = bytes * 8_000_000_000 + self.fraction;
        self.fraction = scaled % rate;
        self.free_at = now + scaled / rate;
        self.free_at
    }
}
