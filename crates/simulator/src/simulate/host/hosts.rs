//! The hosts: cards that send what flows may send, obey PFC and take in what arrives. Whoever has a
//! calendar or a clock drives them; nothing here knows which.
//!
//! They can be parted: then every shard has some of the cards, and of flows those that begin or end
//! there.

use device::buffer::ETHERNET_OVERHEAD;
use quantities::Priority;
use wire::pfc::is_mac_control;
use wire::pfc::{self, Quanta};

use std::sync::Arc;

use super::flow::{ANSWER_LENGTH, Flow, HEAD, Kind, Note, Role, Sender, checksum};
use super::nic::{Nic, Turn};
use super::workload::{Word, Workloads};
use spec::Scenario;

/// No place.
const NONE: u32 = u32::MAX;

/// See the module documentation.
pub struct Hosts {
    /// By host; those of other shards do nothing.
    pub(crate) cards: Vec<Nic>,
    /// Flows with an end here, by their place.
    pub(crate) flows: Vec<Flow>,
    /// Places by what frames call flows: those that the scenario names, and by host those of jobs.
    named_places: Vec<u32>,
    begun_places: Vec<Vec<u32>>,
    /// By host, the shard that it is in, and which this one is.
    shards: Arc<[u8]>,
    own: u8,
    /// Flows that begin here and end in another shard, which does not know of them yet.
    pub(crate) opened: Vec<(u8, Flow)>,
    /// Acknowledgements and notices that wait to be sent, and places free again.
    answers: Vec<[u8; HEAD]>,
    spare: Vec<u32>,
    overhead: u64,
    pub(crate) measure_from: u64,
    end: u64,
    /// Nanoseconds that acting on a frame takes longer, at most.
    jitter: u64,
    /// Data packets that arrived.
    pub delivered: u64,
    /// Frames that came to the wrong host, or to none of the flows.
    pub strange: u64,
    /// Jobs that begin by chance; their flows follow those that the scenario names.
    pub(crate) workloads: Workloads,
    pub(crate) named: usize,
    /// Hosts that have got something to send while another one was looked at.
    pub(crate) woken: Vec<u32>,
}

/// What a frame that arrived means for the card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrameEffect {
    /// Nothing.
    Nothing,
    /// It may have something to send now.
    Now,
    /// It is to look again at this time.
    At(u64),
}

/// What a card does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NicAction {
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
        /// The place of the flow, if it is data.
        flow: Option<u32>,
    },
}

impl Hosts {
    pub(crate) fn new(
        mut cards: Vec<Nic>,
        flows: Vec<Flow>,
        workloads: Workloads,
        scenario: &Scenario,
    ) -> Self {
        for (host, card) in cards.iter_mut().enumerate() {
            card.seed(scenario.seed, host);
        }
        let mut hosts = Self {
            named_places: (0..flows.len() as u32).collect(),
            begun_places: vec![Vec::new(); cards.len()],
            shards: vec![0; cards.len()].into(),
            own: 0,
            opened: Vec::new(),
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
            jitter: scenario.jitter.map_or(0, |t| t.0.get()),
            delivered: 0,
            strange: 0,
        };
        for (id, flow) in (0..).zip(&hosts.flows) {
            hosts.cards[flow.from.index()].flows.push(id);
        }
        hosts
    }

    /// The hosts of each of `count` shards, before the first event. `shards` gives the shard of
    /// each host.
    pub(crate) fn split(mut self, shards: &Arc<[u8]>, count: u8) -> Vec<Self> {
        if count == 1 {
            return vec![self];
        }
        let cards = std::mem::take(&mut self.cards);
        let flows = std::mem::take(&mut self.flows);
        let due = std::mem::take(&mut self.workloads.due);
        let mut split: Vec<Self> = (0..count).map(|own| self.shard(shards, own)).collect();
        for (host, card) in cards.into_iter().enumerate() {
            for (shard, hosts) in (0..).zip(&mut split) {
                hosts.cards.push(match shards[host] == shard {
                    true => card.clone(),
                    false => Nic::new(card.rate, card.mac.octets(), card.reaction),
                });
            }
        }
        for hosts in &mut split {
            hosts.cards.iter_mut().for_each(|card| card.flows.clear());
        }
        for flow in flows {
            let ends = [flow.from, flow.to].map(|host| shards[host.index()]);
            let place = split[usize::from(ends[0])].keep(flow.clone());
            let card = &mut split[usize::from(ends[0])].cards[flow.from.index()];
            card.flows.push(place);
            if ends[1] != ends[0] {
                split[usize::from(ends[1])].keep(flow);
            }
        }
        for (at, turn) in due {
            let (_, host) = self.workloads.turn(turn);
            split[usize::from(shards[host])]
                .workloads
                .due
                .push((at, turn));
        }
        split
    }

    /// A shard without cards and flows.
    fn shard(&self, shards: &Arc<[u8]>, own: u8) -> Self {
        Self {
            cards: Vec::new(),
            flows: Vec::new(),
            named_places: vec![NONE; self.named],
            begun_places: vec![Vec::new(); shards.len()],
            shards: Arc::clone(shards),
            own,
            opened: Vec::new(),
            answers: Vec::new(),
            spare: Vec::new(),
            overhead: self.overhead,
            measure_from: self.measure_from,
            end: self.end,
            jitter: self.jitter,
            delivered: 0,
            strange: 0,
            workloads: self.workloads.clone(),
            named: self.named,
            woken: Vec::new(),
        }
    }

    /// Which shard a host is in.
    pub(crate) fn shard_of(&self, host: usize) -> u8 {
        self.shards[host]
    }

    /// Where a flow is, by what frames call it.
    pub(crate) fn place(&self, id: u32) -> Option<usize> {
        let place = match id.checked_sub(self.named_places.len() as u32) {
            None => self.named_places[id as usize],
            Some(begun) => {
                let hosts = self.begun_places.len() as u32;
                let of_host = self.begun_places.get((begun % hosts.max(1)) as usize)?;
                *of_host.get((begun / hosts.max(1)) as usize)?
            }
        };
        (place != NONE).then_some(place as usize)
    }

    /// What frames call the flows that will begin next at a host by jobs.
    fn ids(&self, host: usize) -> impl Iterator<Item = u32> + use<> {
        let (named, hosts) = (
            self.named_places.len() as u32,
            self.begun_places.len() as u32,
        );
        let begun = self.cards[host].begun..;
        begun.map(move |begun| named + begun * hosts + host as u32)
    }

    /// Keeps a flow; its place.
    pub(crate) fn keep(&mut self, flow: Flow) -> u32 {
        let place = self.flows.len() as u32;
        match flow.id.checked_sub(self.named_places.len() as u32) {
            None => self.named_places[flow.id as usize] = place,
            Some(begun) => {
                let hosts = self.begun_places.len().max(1) as u32;
                let of_host = &mut self.begun_places[(begun % hosts) as usize];
                let nth = (begun / hosts) as usize;
                if of_host.len() <= nth {
                    of_host.resize(nth + 1, NONE);
                }
                of_host[nth] = place;
            }
        }
        self.flows.push(flow);
        place
    }

    /// A frame has arrived at a host whose link works.
    pub(crate) fn receive(&mut self, host: usize, now: u64, frame: &[u8]) -> FrameEffect {
        if is_mac_control(frame) {
            return match pfc::Repr::parse(frame) {
                Ok(pause) => FrameEffect::At(self.cards[host].receive_pfc(now, &pause)),
                Err(_) => FrameEffect::Nothing,
            };
        }
        let Some(note) = Note::read(frame) else {
            return FrameEffect::Nothing;
        };
        let marked = frame.get(15).is_some_and(|ecn| ecn & 3 == 3);
        let Some(place) = self.place(note.flow) else {
            self.strange += 1;
            return FrameEffect::Nothing;
        };
        let flow = &mut self.flows[place];
        match note.kind {
            Kind::Data if flow.to.index() == host => {
                return self.data(host, now, (place, note), marked);
            }
            Kind::Probe if flow.to.index() == host => return self.answer(host, place, note, false),
            Kind::Ack if flow.from.index() == host => {
                if flow.acknowledged(now, note) {
                    self.workloads.known(&self.flows[place], now);
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

    fn data(
        &mut self,
        host: usize,
        now: u64,
        (place, note): (usize, Note),
        marked: bool,
    ) -> FrameEffect {
        let flow = &mut self.flows[place];
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
                self.ended(place, now);
            }
            self.workloads.count(&self.flows[place], note.length);
        }
        let flow = &mut self.flows[place];
        match &flow.sender {
            Sender::Window(_) => self.answer(host, place, note, marked),
            Sender::Rate(_) if marked && flow.arrivals.notify(now) => {
                self.answer(host, place, note, false)
            }
            Sender::Open | Sender::Rate(_) => FrameEffect::Nothing,
        }
    }

    /// A flow's last byte has arrived.
    fn ended(&mut self, place: usize, now: u64) {
        let flow = &self.flows[place];
        if flow.role == Role::Own {
            return;
        }
        let id = self.ids(flow.to.index()).next().unwrap_or(NONE);
        if let Some(flow) = self.workloads.arrived(flow, now, id) {
            self.add(flow);
        }
    }

    /// A flow begins by a job at a host of this shard.
    fn add(&mut self, flow: Flow) {
        let (from, to) = (flow.from.index(), flow.to.index());
        if self.shards[to] != self.own {
            self.opened.push((self.shards[to], flow.clone()));
        }
        let place = self.keep(flow);
        self.cards[from].begun += 1;
        self.cards[from].flows.push(place);
        self.woken.push(from as u32);
    }

    /// A workload's turn at a host has come.
    pub(crate) fn begin_job(&mut self, turn: u32, now: u64) {
        let (_, host) = self.workloads.turn(turn);
        let ids = self.ids(host);
        for flow in self.workloads.job(turn, now, ids) {
            self.add(flow);
        }
    }

    /// Word to hosts, of this shard or another one, that is to be sent.
    pub(crate) fn word(&mut self) -> Option<Word> {
        self.workloads.words.pop()
    }

    /// How long a frame that has arrived at a card waits until its host acts on it.
    pub(crate) fn delay(&mut self, host: usize, now: u64, frame: &[u8]) -> u64 {
        if is_mac_control(frame) {
            return 0;
        }
        let Some(note) = Note::read(frame) else {
            return 0;
        };
        let Some(place) = self.place(note.flow) else {
            return 0;
        };
        let flow = &mut self.flows[place];
        let answer = matches!(note.kind, Kind::Ack | Kind::Notice);
        let end = if answer { flow.from } else { flow.to };
        // Brought here by a routing error: nobody acts on it.
        if end.index() != host {
            return 0;
        }
        if self.jitter == 0 {
            return flow.host_delay;
        }
        let drawn = self.cards[host].chance.below(self.jitter.saturating_add(1));
        let acts = now.saturating_add(flow.host_delay).saturating_add(drawn);
        // What arrived before is acted on before.
        let last = &mut flow.acted[usize::from(answer)];
        *last = acts.max(last.saturating_add(1));
        *last - now
    }

    /// Answers a frame: acknowledges it to a sender with a window, notifies one with a rate.
    fn answer(&mut self, host: usize, place: usize, note: Note, marked: bool) -> FrameEffect {
        let flow = &self.flows[place];
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

    /// What a host's card does now; the first bytes of a frame that it sends replace those of
    /// `frame`.
    pub(crate) fn turn(&mut self, host: usize, now: u64, frame: &mut Vec<u8>) -> NicAction {
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
    fn make(&mut self, place: u32, number: u64, now: u64, frame: &mut Vec<u8>) -> u32 {
        let flow = &mut self.flows[place as usize];
        frame.extend_from_slice(&flow.data);
        if flow.spray {
            let port = self.cards[flow.from.index()].port();
            frame[34..36].copy_from_slice(&port.to_be_bytes());
        }
        let probe = matches!(&flow.sender, Sender::Window(window) if window.probes());
        let (kind, length) = match probe {
            true => (Kind::Probe, ANSWER_LENGTH),
            false => (Kind::Data, flow.length(number)),
        };
        let note = Note {
            flow: flow.id,
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

    /// When the sender of a flow that was just sent from is to be asked by [`Hosts::time_out`], if
    /// it is earlier than somebody will anyway.
    pub(crate) fn arm(&mut self, flow: u32) -> Option<u64> {
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

    /// The time that [`Hosts::arm`] gave has come: [`Hosts::expire`], unless an earlier one has
    /// taken its place.
    pub(crate) fn time_out(&mut self, flow: u32, now: u64) -> Option<u64> {
        let armed = &mut self.flows[flow as usize].timer_at;
        if *armed != now {
            return None;
        }
        *armed = u64::MAX;
        let next = self.expire(flow, now)?;
        self.flows[flow as usize].timer_at = next;
        Some(next)
    }

    /// Sends what was not acknowledged in time once more; when to ask again, unless nothing is on
    /// its way.
    pub(crate) fn expire(&mut self, flow: u32, now: u64) -> Option<u64> {
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

    /// Has a host say that its switch must stop a class, or at the end of its pause that it may go
    /// on; when it is to say so again.
    pub(crate) fn send_pause(&mut self, host: usize, class: Priority, now: u64) -> Option<u64> {
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

/// What frames take on the wire beyond their bytes.
pub(crate) fn overhead(scenario: &Scenario) -> u64 {
    let own = scenario.switches.wire_overhead;
    own.map_or(ETHERNET_OVERHEAD, |size| size.0).get()
}
