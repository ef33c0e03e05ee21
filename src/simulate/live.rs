//! A scenario for whoever plays it on a clock and cables of his own: the switches' buffers and entries, the
//! hosts' cards and flows, and what happens when. Times are the scenario's; nothing here reads a clock.

use std::collections::BTreeSet;

use device::buffer::{Buffer, BufferConfig};
use device::deadlock::Deadlock;
use p4exec::Compiled;
use packet::pfc::{self, Quanta};
use units::{Nanos, PortId, Priority};

use super::flow::{Flow, HEAD, Kind, Note, Sender};
use super::host::{Nic, Turn};
use super::report::{DeadlockReport, FlowReport, SwitchReport};
use super::routing::Routing;
use super::scenario::Scenario;
use super::setup::{self, Act, Cast};
use super::{SimulateError, report};
use crate::target::embedded::Network;
use crate::topology::{HostId, LinkId, SwitchId, Topology};

/// Something that happens in the network itself; what happens to tables is done by [`Live::act`].
#[derive(Clone, Copy, Debug)]
pub(crate) enum Happening {
    /// A link fails.
    Fail(LinkId),
    /// A link works again.
    Restore(LinkId),
    /// A host pauses its switch until a time.
    Pause {
        /// The host's number.
        host: usize,
        /// The priority.
        class: Priority,
        /// Until when.
        until: u64,
    },
    /// Only tables change.
    Tables,
}

/// See the module documentation.
pub(crate) struct Live<'a> {
    network: &'a Network,
    scenario: &'a Scenario,
    routing: Routing<'a>,
    first: Compiled,
    acts: Vec<Act>,
    failed: BTreeSet<LinkId>,
    /// Events in the order in which they happen: time and number.
    pub(crate) order: Vec<(u64, usize)>,
    /// How each switch is configured.
    pub(crate) buffers: Vec<BufferConfig>,
}

impl<'a> Live<'a> {
    /// Looks everything up.
    ///
    /// # Errors
    /// As [`super::simulate`].
    pub(crate) fn new(
        network: &'a Network,
        scenario: &'a Scenario,
    ) -> Result<(Self, Hosts), SimulateError> {
        let cast = setup::cast(network, scenario)?;
        let events = scenario.events.iter().enumerate();
        let mut order: Vec<(u64, usize)> = events
            .map(|(number, event)| (event.at.0.get(), number))
            .collect();
        order.sort_unstable();
        let hosts = Hosts::new(cast.hosts, cast.flows, scenario);
        let Cast {
            routing,
            first,
            acts,
            buffers,
            ..
        } = Cast {
            hosts: Vec::new(),
            flows: Vec::new(),
            ..cast
        };
        let live = Self {
            network,
            scenario,
            routing,
            first,
            acts,
            failed: BTreeSet::new(),
            order,
            buffers,
        };
        Ok((live, hosts))
    }

    /// A switch's executor with the entries that it is to have now.
    pub(crate) fn executor(&self, switch: SwitchId) -> Result<Compiled, SimulateError> {
        setup::executor(&self.first, &self.routing, switch)
    }

    /// An event happens at a time: what the network does, and which switches get other tables.
    pub(crate) fn act(
        &mut self,
        now: u64,
        number: usize,
    ) -> Result<(Happening, Vec<(SwitchId, Compiled)>), SimulateError> {
        let topology = self.network.plan().topology();
        let (scenario, failed) = (self.scenario, &mut self.failed);
        let mut before = Vec::new();
        let happening = match self.acts.get(number) {
            Some(&Act::Fail(link)) => {
                failed.insert(link);
                Happening::Fail(link)
            }
            Some(&Act::Restore(link)) => {
                failed.remove(&link);
                Happening::Restore(link)
            }
            Some(&Act::Pause(host, class, lasts)) => Happening::Pause {
                host: host.index(),
                class,
                until: now.saturating_add(lasts),
            },
            Some(change) => {
                for id in topology.switch_ids() {
                    before.push(self.routing.entries(id)?);
                }
                match change {
                    &Act::Reroute(reroute) => self.routing.reroute(failed, reroute)?,
                    Act::Mend => self.routing.mend(),
                    &Act::Route(event) => {
                        if let Some(route) = &scenario.events[event].route {
                            self.routing.route(&format!("events[{event}]"), route)?;
                        }
                    }
                    Act::Fail(_) | Act::Restore(_) | Act::Pause(..) => {}
                }
                Happening::Tables
            }
            None => Happening::Tables,
        };
        let mut changed = Vec::new();
        for (id, before) in topology.switch_ids().zip(before) {
            if self.routing.entries(id)? != before {
                changed.push((id, self.executor(id)?));
            }
        }
        Ok((happening, changed))
    }
}

/// What a card does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// It sends the frame that was made, until this time.
    Sends(u64),
    /// Nothing before this time, unless something is heard.
    Waits(u64),
}

/// What a flow got so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Got {
    /// Bytes of frames that arrived, each once.
    pub(crate) bytes: u64,
    /// Whether it has begun and not ended.
    pub(crate) runs: bool,
}

/// A flow as others may send it.
#[derive(Clone, Debug)]
pub(crate) struct Leg {
    pub(crate) name: String,
    pub(crate) from: HostId,
    pub(crate) to: HostId,
    /// Bits per second, at most.
    pub(crate) rate: f64,
    /// Length of its frames.
    pub(crate) packet: u32,
    pub(crate) start: u64,
    pub(crate) stop: u64,
}

/// The hosts: cards that send what flows may send, obey PFC, and take in what arrives. The same as in the
/// simulator, driven from outside.
pub(crate) struct Hosts {
    cards: Vec<Nic>,
    flows: Vec<Flow>,
    /// Acknowledgements and notices that wait to be sent, and places free again.
    answers: Vec<[u8; HEAD]>,
    spare: Vec<u32>,
    overhead: u64,
    measure_from: u64,
    end: u64,
    spray: u64,
    /// Data packets that arrived.
    pub(crate) delivered: u64,
    /// Frames that came to the wrong host, or to none of the flows.
    pub(crate) strange: u64,
    /// Priorities that a host pauses, and when it says so again.
    pausing: Vec<(usize, Priority, u64)>,
}

impl Hosts {
    fn new(cards: Vec<Nic>, flows: Vec<Flow>, scenario: &Scenario) -> Self {
        let mut hosts = Self {
            cards,
            flows,
            answers: Vec::new(),
            spare: Vec::new(),
            overhead: setup::overhead(scenario),
            measure_from: scenario.measure_from.map_or(0, |t| t.0.get()),
            end: scenario.duration.0.get(),
            spray: scenario.seed | 1,
            delivered: 0,
            strange: 0,
            pausing: Vec::new(),
        };
        for (id, flow) in (0..).zip(&hosts.flows) {
            hosts.cards[flow.from.index()].flows.push(id);
        }
        hosts
    }

    /// The host's link came up or went down.
    pub(crate) fn set_up(&mut self, host: usize, up: bool) {
        self.cards[host].up = up;
    }

    /// The host pauses its switch for a class until some time.
    pub(crate) fn pause(&mut self, host: usize, class: Priority, now: u64, until: u64) {
        self.cards[host].pausing[usize::from(class.get() & 7)] = until;
        self.pausing.push((host, class, now));
    }

    /// A frame has arrived at a host.
    pub(crate) fn receive(&mut self, host: usize, now: u64, frame: &[u8]) {
        if !self.cards[host].up {
            return;
        }
        if frame.get(12..14) == Some(&[0x88, 0x08]) {
            if let Ok(frame) = pfc::Frame::new_checked(frame) {
                self.cards[host].hear(now, &pfc::Repr::parse(&frame));
            }
            return;
        }
        let Some(note) = frame
            .get(..HEAD)
            .filter(|head| is_ours(head))
            .and_then(Note::read)
        else {
            return; // the system's own
        };
        let marked = frame.get(15).is_some_and(|ecn| ecn & 3 == 3);
        let Some(flow) = self.flows.get_mut(note.flow as usize) else {
            self.strange += 1;
            return;
        };
        match note.kind {
            Kind::Data if flow.to.index() == host => self.data(host, now, note, marked),
            Kind::Ack if flow.from.index() == host => {
                if let Sender::Window(window) = &mut flow.sender {
                    window.acknowledge(now, note.number, note.marked, flow.next);
                }
            }
            Kind::Notice if flow.from.index() == host => {
                if let Sender::Rate(rate) = &mut flow.sender {
                    rate.notified(now);
                }
            }
            // A routing error brought it to the wrong host.
            _ => self.strange += 1,
        }
    }

    fn data(&mut self, host: usize, now: u64, note: Note, marked: bool) {
        let flow = &mut self.flows[note.flow as usize];
        let arrivals = &mut flow.arrivals;
        arrivals.marked += u64::from(marked);
        if arrivals.add(note.number) {
            self.delivered += 1;
            arrivals.bytes += u64::from(note.length);
            if now >= self.measure_from {
                arrivals.measured += u64::from(note.length);
            }
            if now >= self.end - self.end / 10 {
                arrivals.at_end += u64::from(note.length);
            }
            if arrivals.below == flow.packets {
                arrivals.complete = Some(now);
            }
        }
        let answer = match &flow.sender {
            Sender::Window(_) => Note {
                kind: Kind::Ack,
                number: arrivals.below,
                marked,
                length: HEAD as u32,
                ..note
            },
            Sender::Rate(_) if marked && arrivals.notify(now) => Note {
                kind: Kind::Notice,
                length: HEAD as u32,
                ..note
            },
            Sender::Open | Sender::Rate(_) => return,
        };
        let (class, mut head) = (flow.class, flow.answer);
        answer.write(&mut head);
        let id = self.spare.pop().unwrap_or_else(|| {
            self.answers.push([0; HEAD]);
            self.answers.len() as u32 - 1
        });
        self.answers[id as usize] = head;
        self.cards[host].answer(class, id);
    }

    /// What a host's card does now; a frame that it sends replaces `frame`.
    pub(crate) fn step(&mut self, host: usize, now: u64, frame: &mut Vec<u8>) -> Step {
        let timer = self.timers(host, now);
        frame.clear();
        match self.cards[host].turn(now, &mut self.flows) {
            Turn::Idle => return Step::Waits(timer),
            Turn::Wait(at) => return Step::Waits(at.min(timer)),
            Turn::Answer(id) => {
                frame.extend_from_slice(&self.answers[id as usize]);
                self.spare.push(id);
            }
            Turn::Pfc(pause) => frame.extend_from_slice(&pause.to_bytes()),
            Turn::Data(flow, number) => self.make(flow, number, now, frame),
        }
        let length = frame.len() as u64 + self.overhead;
        Step::Sends(self.cards[host].occupy(now, length))
    }

    /// Does what time has brought to a host; when it will bring more.
    fn timers(&mut self, host: usize, now: u64) -> u64 {
        let mut next = u64::MAX;
        let card = &mut self.cards[host];
        for (at, class, when) in &mut self.pausing {
            if *at != host {
                continue;
            }
            let until = card.pausing[usize::from(class.get() & 7)];
            if *when <= now && now < until {
                card.say(*class, Quanta::MAX);
                let half = Quanta::MAX.duration(card.rate).get() / 2;
                *when = now.saturating_add(half).min(until);
            } else if *when <= now {
                card.say(*class, Quanta::RESUME);
                *when = u64::MAX;
            }
            next = next.min(*when);
        }
        self.pausing.retain(|(_, _, when)| *when < u64::MAX);
        for &id in &card.flows {
            let flow = &mut self.flows[id as usize];
            let Sender::Window(window) = &mut flow.sender else {
                continue;
            };
            if window.deadline <= now {
                if window.acked < flow.next {
                    window.time_out(now);
                    flow.next = window.acked;
                } else {
                    window.deadline = now + super::sender::RETRANSMIT_AFTER;
                }
            }
            next = next.min(window.deadline);
        }
        next
    }

    /// A data frame of a flow.
    fn make(&mut self, id: u32, number: u64, now: u64, frame: &mut Vec<u8>) {
        let flow = &mut self.flows[id as usize];
        frame.extend_from_slice(&flow.data);
        if flow.spray {
            self.spray ^= self.spray << 13;
            self.spray ^= self.spray >> 7;
            self.spray ^= self.spray << 17;
            let port = 0xc000 | (self.spray >> 40) as u16;
            frame[34..36].copy_from_slice(&port.to_be_bytes());
        }
        let note = Note {
            flow: id,
            kind: Kind::Data,
            number,
            marked: false,
            length: flow.packet,
        };
        note.write(frame);
        frame.resize(flow.packet as usize, 0);
        flow.sent(now, number, u64::from(flow.packet) + self.overhead);
    }

    /// The flows.
    pub(crate) fn legs(&self) -> impl Iterator<Item = Leg> + '_ {
        self.flows.iter().map(|flow| Leg {
            name: flow.name.clone(),
            from: flow.from,
            to: flow.to,
            rate: flow.rate,
            packet: flow.packet,
            start: flow.start,
            stop: flow.stop,
        })
    }

    /// What every flow got so far, with its name.
    pub(crate) fn got(&self, now: u64) -> Vec<(&str, Got)> {
        let got = |flow: &Flow| Got {
            bytes: flow.arrivals.bytes,
            runs: flow.start <= now && now < flow.stop && flow.arrivals.complete.is_none(),
        };
        self.flows
            .iter()
            .map(|f| (f.name.as_str(), got(f)))
            .collect()
    }

    /// The flows' figures at the end.
    pub(crate) fn reports(&self, topology: &Topology, now: u64) -> Vec<FlowReport> {
        let report = |flow| FlowReport::new(topology, flow, self.measure_from, now);
        self.flows.iter().map(report).collect()
    }
}

/// Whether a frame is one of ours: IPv4, UDP, to the port that all flows send to.
fn is_ours(head: &[u8]) -> bool {
    head[12..14] == [8, 0] && head[23] == 17 && head[36..38] == 4791u16.to_be_bytes()
}

/// A deadlock by the names of the network; times as the detector has them.
pub(crate) fn deadlock(topology: &Topology, deadlock: &Deadlock) -> DeadlockReport {
    DeadlockReport::new(topology, deadlock)
}

/// What the scenario does, in order of time.
pub(crate) fn timeline(scenario: &Scenario) -> Vec<report::Happening> {
    report::timeline(scenario)
}

/// A switch's figures at a time of its own clock.
pub(crate) fn switch(
    topology: &Topology,
    id: SwitchId,
    buffer: &Buffer,
    now: Nanos,
) -> SwitchReport {
    SwitchReport::new(topology, id, buffer, now)
}

/// A queue as people read it.
pub(crate) fn queue(topology: &Topology, switch: usize, port: PortId, class: Priority) -> String {
    report::port_name(topology, switch, port, class)
}
