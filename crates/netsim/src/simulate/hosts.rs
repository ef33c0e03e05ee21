//! The hosts: cards that send what flows may send, obey PFC and take in what arrives. Whoever has a calendar or a clock
//! drives them; nothing here knows which.

use device::buffer::ETHERNET_OVERHEAD;
use quantities::Priority;
use wire::pfc::{self, Quanta};

use super::chance::Chance;
use super::flow::{ANSWER_LENGTH, Flow, HEAD, Kind, Note, Sender, checksum};
use super::host::{Nic, Turn};
use super::scenario::Scenario;
use super::workload::Workloads;

/// The EtherType of MAC control, PFC among it, and where frames have theirs.
const MAC_CONTROL: [u8; 2] = [0x88, 0x08];
pub(super) const ETHER_TYPE: std::ops::Range<usize> = 12..14;

/// See the module documentation.
pub struct Hosts {
    pub(super) cards: Vec<Nic>,
    pub(super) flows: Vec<Flow>,
    /// Acknowledgements and notices that wait to be sent, and places free again.
    answers: Vec<[u8; HEAD]>,
    spare: Vec<u32>,
    overhead: u64,
    pub(super) measure_from: u64,
    end: u64,
    spray: u64,
    /// Nanoseconds that acting on a frame takes longer, at most, and what draws them.
    jitter: u64,
    chance: Chance,
    /// Data packets that arrived.
    pub delivered: u64,
    /// Frames that came to the wrong host, or to none of the flows.
    pub strange: u64,
    /// Jobs that begin by chance; their flows follow those that the scenario names.
    pub(super) workloads: Workloads,
    pub(super) named: usize,
    /// Hosts that have got something to send while another one was looked at.
    pub(super) woken: Vec<u32>,
}

/// What a frame that arrived means for the card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FrameEffect {
    /// Nothing.
    Nothing,
    /// It may have something to send now.
    Now,
    /// It is to look again at this time.
    At(u64),
}

/// What a card does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NicAction {
    /// Nothing, until something is heard.
    Nothing,
    /// Nothing before this time.
    Waits(u64),
    /// It sends a frame.
    Sends {
        /// When its last bit leaves.
        until: u64,
        /// Its length, of which the first bytes are made; the rest is zeros.
        length: u32,
        /// The flow, if it is data.
        flow: Option<u32>,
    },
}

impl Hosts {
    pub(super) fn new(
        cards: Vec<Nic>,
        flows: Vec<Flow>,
        workloads: Workloads,
        scenario: &Scenario,
    ) -> Self {
        let mut hosts = Self {
            cards,
            named: flows.len(),
            flows,
            workloads,
            woken: Vec::new(),
            answers: Vec::new(),
            spare: Vec::new(),
            overhead: overhead(scenario),
            measure_from: scenario.measure_from.map_or(0, |t| t.0.get()),
            end: scenario.duration.0.get(),
            spray: scenario.seed | 1,
            jitter: scenario.jitter.map_or(0, |t| t.0.get()),
            chance: Chance::of(scenario.seed, u64::MAX),
            delivered: 0,
            strange: 0,
        };
        for (id, flow) in (0..).zip(&hosts.flows) {
            hosts.cards[flow.from.index()].flows.push(id);
        }
        hosts
    }

    /// A frame has arrived at a host whose link works.
    pub(super) fn receive(&mut self, host: usize, now: u64, frame: &[u8]) -> FrameEffect {
        if is_mac_control(frame) {
            return match pfc::Frame::new_checked(frame) {
                Ok(frame) => FrameEffect::At(self.cards[host].hear(now, &pfc::Repr::parse(&frame))),
                Err(_) => FrameEffect::Nothing,
            };
        }
        let Some(note) = Note::read(frame) else {
            return FrameEffect::Nothing;
        };
        let marked = frame.get(15).is_some_and(|ecn| ecn & 3 == 3);
        let Some(flow) = self.flows.get_mut(note.flow as usize) else {
            self.strange += 1;
            return FrameEffect::Nothing;
        };
        match note.kind {
            Kind::Data if flow.to.index() == host => return self.data(host, now, note, marked),
            Kind::Probe if flow.to.index() == host => return self.answer(host, note, false),
            Kind::Ack if flow.from.index() == host => {
                if flow.acknowledged(now, note) {
                    self.workloads.known(&self.flows[note.flow as usize], now);
                }
                return FrameEffect::Now;
            }
            Kind::Notice if flow.from.index() == host => {
                if let Sender::Rate(rate) = &mut flow.sender {
                    rate.notified(now);
                }
            }
            // A routing error brought it to the wrong host.
            _ => self.strange += 1,
        }
        FrameEffect::Nothing
    }

    fn data(&mut self, host: usize, now: u64, note: Note, marked: bool) -> FrameEffect {
        let flow = &mut self.flows[note.flow as usize];
        let arrivals = &mut flow.arrivals;
        arrivals.marked += u64::from(marked);
        if arrivals.add(note.number) {
            self.delivered += 1;
            arrivals.bytes += u64::from(note.length);
            if now >= self.measure_from {
                arrivals.measured += u64::from(note.length);
                if now <= flow.stop {
                    arrivals.measured_to_stop += u64::from(note.length);
                }
            }
            if now >= self.end - self.end / 10 {
                arrivals.at_end += u64::from(note.length);
            }
            if arrivals.below == flow.packets && arrivals.complete.is_none() {
                arrivals.complete = Some(now);
                self.ended(note.flow, now);
            }
            self.workloads
                .count(&self.flows[note.flow as usize], note.length);
        }
        let flow = &mut self.flows[note.flow as usize];
        match &flow.sender {
            Sender::Window(_) => self.answer(host, note, marked),
            Sender::Rate(_) if marked && flow.arrivals.notify(now) => {
                self.answer(host, note, false)
            }
            Sender::Open | Sender::Rate(_) => FrameEffect::Nothing,
        }
    }

    /// A flow's last byte has arrived.
    fn ended(&mut self, id: u32, now: u64) {
        let next = self.flows.len() as u32;
        if let Some(flow) = self.workloads.arrived(&self.flows[id as usize], now, next) {
            self.add(flow);
        }
    }

    fn add(&mut self, flow: Flow) {
        let from = flow.from.index();
        self.cards[from].flows.push(self.flows.len() as u32);
        self.woken.push(from as u32);
        self.flows.push(flow);
    }

    /// A workload's turn at a host has come.
    pub(super) fn begin_job(&mut self, turn: u32, now: u64) {
        let next = self.flows.len() as u32;
        for flow in self.workloads.job(turn, now, next) {
            self.add(flow);
        }
    }

    /// How long a frame that has arrived at a card waits until its host acts on it.
    pub(super) fn delay(&mut self, now: u64, frame: &[u8]) -> u64 {
        if is_mac_control(frame) {
            return 0;
        }
        let Some(note) = Note::read(frame) else {
            return 0;
        };
        let Some(flow) = self.flows.get_mut(note.flow as usize) else {
            return 0;
        };
        if self.jitter == 0 {
            return flow.host_delay;
        }
        let drawn = self.chance.below(self.jitter.saturating_add(1));
        let acts = now.saturating_add(flow.host_delay).saturating_add(drawn);
        // What arrived before is acted on before.
        let last = &mut flow.acted[usize::from(matches!(note.kind, Kind::Ack | Kind::Notice))];
        *last = acts.max(last.saturating_add(1));
        *last - now
    }

    /// Answers a frame: acknowledges it to a sender with a window, notifies one with a rate.
    fn answer(&mut self, host: usize, note: Note, marked: bool) -> FrameEffect {
        let flow = &self.flows[note.flow as usize];
        let (kind, number) = match flow.sender {
            Sender::Rate(_) => (Kind::Notice, note.number),
            _ => (Kind::Ack, flow.arrivals.below),
        };
        let answer = Note {
            flow: note.flow,
            rank: 0,
            kind,
            number,
            marked,
            length: ANSWER_LENGTH,
        };
        let (class, mut head) = (flow.class, flow.answer);
        answer.write(&mut head);
        let id = self.spare.pop().unwrap_or_else(|| {
            self.answers.push([0; HEAD]);
            self.answers.len() as u32 - 1
        });
        self.answers[id as usize] = head;
        self.cards[host].answer(class, id);
        FrameEffect::Now
    }

    /// What a host's card does now; the first bytes of a frame that it sends replace those of `frame`.
    pub(super) fn turn(&mut self, host: usize, now: u64, frame: &mut Vec<u8>) -> NicAction {
        let turn = self.cards[host].turn(now, &mut self.flows);
        frame.clear();
        let (length, flow) = match turn {
            Turn::Idle => return NicAction::Nothing,
            Turn::Wait(at) => return NicAction::Waits(at),
            Turn::Answer(id) => {
                frame.extend_from_slice(&self.answers[id as usize]);
                self.spare.push(id);
                (ANSWER_LENGTH, None)
            }
            Turn::Pfc(pause) => {
                frame.extend_from_slice(&pause.to_bytes());
                (pfc::FRAME_LEN as u32, None)
            }
            Turn::Data(flow, number) => (self.make(flow, number, now, frame), Some(flow)),
        };
        let wire = u64::from(length) + self.overhead;
        NicAction::Sends {
            until: self.cards[host].occupy(now, wire),
            length,
            flow,
        }
    }

    /// A data frame of a flow; its length.
    fn make(&mut self, id: u32, number: u64, now: u64, frame: &mut Vec<u8>) -> u32 {
        let flow = &mut self.flows[id as usize];
        frame.extend_from_slice(&flow.data);
        if flow.spray {
            self.spray ^= self.spray << 13;
            self.spray ^= self.spray >> 7;
            self.spray ^= self.spray << 17;
            let port = 0xc000 | (self.spray >> 40) as u16;
            frame[34..36].copy_from_slice(&port.to_be_bytes());
        }
        let probe = matches!(&flow.sender, Sender::Window(window) if window.probes());
        let (kind, length) = match probe {
            true => (Kind::Probe, ANSWER_LENGTH),
            false => (Kind::Data, flow.length(number)),
        };
        let note = Note {
            flow: id,
            rank: flow.rank(number),
            kind,
            number,
            marked: false,
            length,
        };
        note.write(frame);
        if length != flow.packet {
            shorten(frame, length);
        }
        flow.sent(now, number, u64::from(length) + self.overhead);
        length
    }

    /// When the sender of a flow that was just sent from is to be asked by [`Hosts::time_out`], if it is earlier than somebody will
    /// anyway.
    pub(super) fn arm(&mut self, flow: u32) -> Option<u64> {
        let flow = &mut self.flows[flow as usize];
        let Sender::Window(window) = &flow.sender else {
            return None;
        };
        if window.deadline >= flow.timer_at {
            return None;
        }
        flow.timer_at = window.deadline;
        Some(flow.timer_at)
    }

    /// The time that [`Hosts::arm`] gave has come: [`Hosts::expire`], unless an earlier one has taken its place.
    pub(super) fn time_out(&mut self, flow: u32, now: u64) -> Option<u64> {
        let armed = &mut self.flows[flow as usize].timer_at;
        if *armed != now {
            return None;
        }
        *armed = u64::MAX;
        let next = self.expire(flow, now)?;
        self.flows[flow as usize].timer_at = next;
        Some(next)
    }

    /// Sends what was not acknowledged in time once more; when to ask again, unless nothing is on its way.
    pub(super) fn expire(&mut self, flow: u32, now: u64) -> Option<u64> {
        let flow = &mut self.flows[flow as usize];
        let Sender::Window(window) = &mut flow.sender else {
            return None;
        };
        if window.acked >= flow.packets || now >= flow.stop || window.deadline == u64::MAX {
            return None;
        }
        if window.deadline <= now {
            window.time_out(now, flow.next);
            flow.next = window.acked;
        }
        Some(window.deadline)
    }

    /// Has a host say that its switch must stop a class, or at the end of its pause that it may go on; when it is to say so
    /// again.
    pub(super) fn say_pause(&mut self, host: usize, class: Priority, now: u64) -> Option<u64> {
        let card = &mut self.cards[host];
        let until = card.pausing[usize::from(class.get() & 7)];
        if now >= until {
            card.say(class, Quanta::RESUME);
            return None;
        }
        card.say(class, Quanta::MAX);
        let half = Quanta::MAX.duration(card.rate).get() / 2;
        Some((now + half).min(until))
    }
}

/// Makes the first bytes those of a shorter frame: lengths in the IP and UDP headers.
fn shorten(frame: &mut [u8], length: u32) {
    let length = length as u16;
    frame[16..18].copy_from_slice(&(length - 14).to_be_bytes());
    frame[38..40].copy_from_slice(&(length - 34).to_be_bytes());
    checksum(frame);
}

/// Whether a frame is not for any flow but for the card.
pub(super) fn is_mac_control(frame: &[u8]) -> bool {
    frame.get(ETHER_TYPE) == Some(&MAC_CONTROL)
}

/// What frames take on the wire beyond their bytes.
pub(super) fn overhead(scenario: &Scenario) -> u64 {
    let own = scenario.switches.wire_overhead;
    own.map_or(ETHERNET_OVERHEAD, |size| size.0).get()
}
