//! The simulated network while it runs: switches, cards, cables, and the events that move them.

use std::collections::BTreeMap;

use device::Device;
use device::DeviceDrop;
use device::buffer::{PauseEdge, Refusal};
use device::deadlock::{self, Deadlock, Detector, QueueId, WaitEdge};
use p4exec::Compiled;
use p4exec::compile::prefetch;
use packet::pfc::{self, Quanta};
use units::{Nanos, PortId, Priority};

use super::calendar::Calendar;
use super::flow::{Flow, HEAD, Kind, Note, Sender};
use super::host::{Nic, Turn};

/// How many events ahead what they need is fetched.
const AHEAD: usize = 4;
const CACHE_LINE: usize = 64;

/// Bytes of a frame that a calendar moves; the rest of it are zeros.
#[derive(Debug, Default)]
pub(super) struct Frame {
    pub(super) bytes: Vec<u8>,
    padding: u32,
}

/// What an event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kinds {
    /// A frame has arrived at a switch's port.
    AtSwitch,
    /// A frame has arrived at a host.
    AtHost,
    /// A switch's port has sent its frame.
    Free,
    /// A switch's timers.
    Timers,
    /// A host's card looks what it may send.
    Wake,
    /// A flow's sender has waited long enough.
    Flow,
    /// The scenario goes on.
    Script,
    /// A point of the plots.
    Sample,
    /// The deadlock detector looks.
    Scan,
    /// A host renews its pause.
    Pause,
}

/// An event: its kind, a switch, host, flow or number, a port, a frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct What {
    pub(super) kind: Kinds,
    pub(super) port: u16,
    pub(super) node: u32,
    pub(super) frame: u32,
}

/// The far end of a cable, and how long it takes there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Far {
    pub(super) host: bool,
    pub(super) node: u32,
    pub(super) port: u16,
    pub(super) delay: u64,
}

/// What was lost, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Losses {
    /// Lossless packets without headroom: violations.
    pub lossless: u64,
    /// Lossy packets without room.
    pub lossy: u64,
    /// Packets that the program dropped: no route, TTL used up.
    pub program: u64,
    /// Packets lost with a link that went down.
    pub link_down: u64,
}

/// What the plots are drawn from.
#[derive(Debug, Default)]
pub(super) struct Trace {
    /// Times of the points.
    pub(super) times: Vec<u64>,
    /// By flow, bytes that arrived since the point before.
    pub(super) arrived: Vec<Vec<u32>>,
    /// Bytes in queues that were not empty, each with the number of the point.
    pub(super) queues: BTreeMap<QueueId, Vec<(u32, u32)>>,
    /// By switch, bytes in its buffer.
    pub(super) buffers: Vec<Vec<u32>>,
    /// By switch, when its queues were paused.
    pub(super) pauses: Vec<(u32, PauseEdge)>,
}

/// See the module documentation.
pub(super) struct World {
    pub(super) now: u64,
    pub(super) end: u64,
    pub(super) calendar: Calendar<What>,
    pub(super) switches: Vec<Device<Compiled>>,
    /// By switch and port.
    pub(super) cables: Vec<Vec<Option<Far>>>,
    timers: Vec<u64>,
    pub(super) hosts: Vec<Nic>,
    /// By host: its switch.
    pub(super) uplinks: Vec<Far>,
    pub(super) flows: Vec<Flow>,
    pool: Vec<Frame>,
    spare: Vec<u32>,
    pub(super) overhead: u64,
    pub(super) measure_from: u64,
    pub(super) sample: u64,
    pub(super) observe: bool,
    pub(super) trace: Trace,
    last_bytes: Vec<u64>,
    detector: Detector,
    pub(super) scan_every: u64,
    pub(super) deadlocks: Vec<Deadlock>,
    pub(super) graph: Vec<WaitEdge>,
    pub(super) losses: Losses,
    pub(super) events: u64,
    pub(super) hops: u64,
    pub(super) delivered: u64,
    spray: u64,
}

/// What makes a world.
pub(super) struct Parts {
    pub(super) end: u64,
    pub(super) switches: Vec<Device<Compiled>>,
    pub(super) cables: Vec<Vec<Option<Far>>>,
    pub(super) hosts: Vec<Nic>,
    pub(super) uplinks: Vec<Far>,
    pub(super) flows: Vec<Flow>,
    pub(super) overhead: u64,
    pub(super) measure_from: u64,
    pub(super) sample: u64,
    pub(super) observe: bool,
    pub(super) scan_every: u64,
    pub(super) events_per_microsecond: u64,
    pub(super) seed: u64,
}

impl World {
    pub(super) fn new(parts: Parts) -> Self {
        let mut world = Self {
            now: 0,
            end: parts.end,
            calendar: Calendar::new(parts.events_per_microsecond),
            timers: vec![u64::MAX; parts.switches.len()],
            trace: Trace {
                arrived: vec![Vec::new(); parts.flows.len()],
                buffers: vec![Vec::new(); parts.switches.len()],
                ..Trace::default()
            },
            last_bytes: vec![0; parts.flows.len()],
            switches: parts.switches,
            cables: parts.cables,
            hosts: parts.hosts,
            uplinks: parts.uplinks,
            flows: parts.flows,
            pool: Vec::new(),
            spare: Vec::new(),
            overhead: parts.overhead,
            measure_from: parts.measure_from,
            sample: parts.sample,
            observe: parts.observe,
            detector: Detector::default(),
            scan_every: parts.scan_every,
            deadlocks: Vec::new(),
            graph: Vec::new(),
            losses: Losses::default(),
            events: 0,
            hops: 0,
            delivered: 0,
            spray: parts.seed | 1,
        };
        if world.observe {
            for switch in &mut world.switches {
                if let Some(buffer) = switch.buffer_mut() {
                    buffer.log_pauses();
                }
            }
            world.add(world.sample, Kinds::Sample, 0);
        }
        world.add(world.scan_every, Kinds::Scan, 0);
        for id in 0..world.flows.len() {
            let flow = &world.flows[id];
            world.hosts[flow.from.index()].flows.push(id as u32);
        }
        for host in 0..world.hosts.len() {
            world.kick(host);
        }
        world
    }

    pub(super) fn add(&mut self, at: u64, kind: Kinds, node: u32) {
        let what = What {
            kind,
            port: 0,
            node,
            frame: 0,
        };
        self.calendar.add(at, what);
    }

    fn frame(&mut self) -> u32 {
        self.spare.pop().unwrap_or_else(|| {
            self.pool.push(Frame {
                bytes: Vec::with_capacity(128),
                padding: 0,
            });
            self.pool.len() as u32 - 1
        })
    }

    /// Runs up to the next event of the scenario; its number, or nothing at the end.
    pub(super) fn run(&mut self) -> Option<u32> {
        while let Some((at, what)) = self.calendar.next(self.end) {
            self.now = at;
            self.events += 1;
            self.fetch();
            match what.kind {
                Kinds::AtSwitch => self.at_switch(what),
                Kinds::AtHost => self.at_host(what),
                Kinds::Free => {
                    let switch = what.node as usize;
                    self.send(switch, PortId::new(what.port));
                    self.settle(switch);
                }
                Kinds::Timers => self.run_timers(what.node as usize),
                Kinds::Wake => {
                    let host = what.node as usize;
                    if self.hosts[host].wake_at == at {
                        self.hosts[host].wake_at = u64::MAX;
                    }
                    self.kick(host);
                }
                Kinds::Flow => self.time_out(what.node as usize),
                Kinds::Script => return Some(what.node),
                Kinds::Sample => self.take_sample(),
                Kinds::Scan => self.scan(),
                Kinds::Pause => self.renew_pause(what.node as usize, what.port as u8),
            }
        }
        self.now = self.end;
        None
    }

    /// Has the frames that arrive soon fetched to the cache: they were written long ago, and memory is slow.
    fn fetch(&self) {
        let frame = |what: &What| {
            let arrives = matches!(what.kind, Kinds::AtSwitch | Kinds::AtHost);
            arrives.then_some(&self.pool[what.frame as usize])
        };
        if let Some(frame) = self.calendar.ahead(2 * AHEAD).and_then(frame) {
            prefetch(frame);
        }
        if let Some(what) = self.calendar.ahead(AHEAD)
            && let Some(frame) = frame(what)
        {
            for line in frame.bytes.chunks(CACHE_LINE) {
                prefetch(line);
            }
            if what.kind == Kinds::AtSwitch {
                self.switches[what.node as usize].prefetch(PortId::new(what.port));
            }
        }
    }

    fn at_switch(&mut self, what: What) {
        let (switch, id) = (what.node as usize, what.frame as usize);
        let frame = &self.pool[id];
        let device = &mut self.switches[switch];
        device.accept(
            Nanos::new(self.now),
            PortId::new(what.port),
            &frame.bytes,
            frame.padding,
        );
        self.hops += 1;
        for drop in device.drops() {
            match drop {
                DeviceDrop::Buffer(Refusal::Lossless { .. }) => self.losses.lossless += 1,
                DeviceDrop::Buffer(Refusal::Lossy(_)) => self.losses.lossy += 1,
                DeviceDrop::Program(_) => self.losses.program += 1,
                DeviceDrop::PortDown(_) | DeviceDrop::NoSuchPort(_) | DeviceDrop::Buffer(_) => {
                    self.losses.link_down += 1;
                }
            }
        }
        self.spare.push(what.frame);
        self.settle(switch);
    }

    /// Asks the ports that are ready, and sees that timers are run.
    pub(super) fn settle(&mut self, switch: usize) {
        while let Some(port) = self.switches[switch]
            .buffer_mut()
            .and_then(|b| b.next_ready())
        {
            self.send(switch, port);
        }
        let timer = self.switches[switch].buffer().and_then(|b| b.next_timer());
        if let Some(at) = timer.map(Nanos::get)
            && at < self.timers[switch]
        {
            self.timers[switch] = at;
            self.add(at, Kinds::Timers, switch as u32);
        }
    }

    fn run_timers(&mut self, switch: usize) {
        if self.timers[switch] == self.now {
            self.timers[switch] = u64::MAX;
        }
        if let Some(buffer) = self.switches[switch].buffer_mut() {
            buffer.run_timers(Nanos::new(self.now));
        }
        self.settle(switch);
    }

    fn send(&mut self, switch: usize, port: PortId) {
        let id = self.frame();
        let frame = &mut self.pool[id as usize];
        let now = Nanos::new(self.now);
        let Some(departure) = self.switches[switch].transmit(now, port, &mut frame.bytes) else {
            self.spare.push(id);
            return;
        };
        frame.padding = departure.padding;
        let until = departure.until.get();
        let free = What {
            kind: Kinds::Free,
            port: port.get(),
            node: switch as u32,
            frame: 0,
        };
        self.calendar.add(until, free);
        match self.cables[switch].get(usize::from(port.get())) {
            Some(Some(far)) => {
                let arrival = What {
                    kind: if far.host {
                        Kinds::AtHost
                    } else {
                        Kinds::AtSwitch
                    },
                    port: far.port,
                    node: far.node,
                    frame: id,
                };
                self.calendar.add(until + far.delay, arrival);
            }
            _ => self.spare.push(id),
        }
    }

    fn at_host(&mut self, what: What) {
        let host = what.node as usize;
        self.spare.push(what.frame);
        if !self.hosts[host].up {
            self.losses.link_down += 1;
            return;
        }
        let frame = &self.pool[what.frame as usize];
        if frame.bytes.get(12..14) == Some(&[0x88, 0x08]) {
            if let Ok(frame) = pfc::Frame::new_checked(&frame.bytes) {
                let at = self.hosts[host].hear(self.now, &pfc::Repr::parse(&frame));
                self.wake(host, at);
            }
            return;
        }
        let Some(note) = Note::read(&frame.bytes) else {
            return;
        };
        let marked = frame.bytes.get(15).is_some_and(|ecn| ecn & 3 == 3);
        let Some(flow) = self.flows.get_mut(note.flow as usize) else {
            return;
        };
        match note.kind {
            Kind::Data if flow.to.index() == host => self.data(host, note, marked),
            Kind::Ack if flow.from.index() == host => {
                if let Sender::Window(window) = &mut flow.sender {
                    window.acknowledge(self.now, note.number, note.marked, flow.next);
                    self.kick(host);
                }
            }
            Kind::Notice if flow.from.index() == host => {
                if let Sender::Rate(rate) = &mut flow.sender {
                    rate.notified(self.now);
                }
            }
            // A routing error brought it to the wrong host.
            _ => self.losses.program += 1,
        }
    }

    fn data(&mut self, host: usize, note: Note, marked: bool) {
        let flow = &mut self.flows[note.flow as usize];
        let arrivals = &mut flow.arrivals;
        arrivals.marked += u64::from(marked);
        if arrivals.add(note.number) {
            self.delivered += 1;
            arrivals.bytes += u64::from(note.length);
            if self.now >= self.measure_from {
                arrivals.measured += u64::from(note.length);
            }
            if self.now >= self.end - self.end / 10 {
                arrivals.at_end += u64::from(note.length);
            }
            if arrivals.below == flow.packets {
                arrivals.complete = Some(self.now);
            }
        }
        let answer = match &flow.sender {
            Sender::Open => return,
            Sender::Window(_) => Note {
                kind: Kind::Ack,
                number: arrivals.below,
                marked,
                length: HEAD as u32,
                ..note
            },
            Sender::Rate(_) if marked && arrivals.notify(self.now) => Note {
                kind: Kind::Notice,
                length: HEAD as u32,
                ..note
            },
            Sender::Rate(_) => return,
        };
        let (class, head) = (flow.class, flow.answer);
        let id = self.frame();
        let frame = &mut self.pool[id as usize];
        frame.bytes.clear();
        frame.bytes.extend_from_slice(&head);
        frame.padding = 0;
        answer.write(&mut frame.bytes);
        self.hosts[host].answer(class, id);
        self.kick(host);
    }

    fn wake(&mut self, host: usize, at: u64) {
        if at < self.hosts[host].wake_at {
            self.hosts[host].wake_at = at;
            self.add(at, Kinds::Wake, host as u32);
        }
    }

    /// Lets a host's card send what it may.
    pub(super) fn kick(&mut self, host: usize) {
        let turn = self.hosts[host].turn(self.now, &mut self.flows);
        let (id, wire) = match turn {
            Turn::Idle => return,
            Turn::Wait(at) => return self.wake(host, at),
            Turn::Answer(id) => (id, HEAD as u64),
            Turn::Pfc(frame) => {
                let id = self.frame();
                let place = &mut self.pool[id as usize];
                place.bytes.clear();
                place.bytes.extend_from_slice(&frame.to_bytes());
                place.padding = 0;
                (id, pfc::FRAME_LEN as u64)
            }
            Turn::Data(flow, number) => (self.make(flow, number), 0),
        };
        let wire = match turn {
            Turn::Data(flow, _) => u64::from(self.flows[flow as usize].packet),
            _ => wire,
        };
        let until = self.hosts[host].occupy(self.now, wire + self.overhead);
        if let Turn::Data(flow, number) = turn {
            let now = self.now;
            let overhead = self.overhead;
            let flow_state = &mut self.flows[flow as usize];
            flow_state.sent(now, number, wire + overhead);
            if let Sender::Window(window) = &flow_state.sender
                && !flow_state.timer_armed
            {
                let at = window.deadline;
                flow_state.timer_armed = true;
                self.add(at, Kinds::Flow, flow);
            }
        }
        let far = self.uplinks[host];
        let arrival = What {
            kind: Kinds::AtSwitch,
            port: far.port,
            node: far.node,
            frame: id,
        };
        self.calendar.add(until + far.delay, arrival);
        self.wake(host, until);
    }

    /// A data frame of a flow.
    fn make(&mut self, flow: u32, number: u64) -> u32 {
        let id = self.frame();
        let state = &self.flows[flow as usize];
        let frame = &mut self.pool[id as usize];
        frame.bytes.clear();
        frame.bytes.extend_from_slice(&state.data);
        frame.padding = state.packet - HEAD as u32;
        if state.spray {
            self.spray ^= self.spray << 13;
            self.spray ^= self.spray >> 7;
            self.spray ^= self.spray << 17;
            let port = 0xc000 | (self.spray >> 40) as u16;
            frame.bytes[34..36].copy_from_slice(&port.to_be_bytes());
        }
        let note = Note {
            flow,
            kind: Kind::Data,
            number,
            marked: false,
            length: state.packet,
        };
        note.write(&mut frame.bytes);
        id
    }

    fn time_out(&mut self, flow: usize) {
        let state = &mut self.flows[flow];
        let host = state.from.index();
        let Sender::Window(window) = &mut state.sender else {
            return;
        };
        if window.acked >= state.packets || self.now >= state.stop {
            state.timer_armed = false;
            return;
        }
        if window.deadline <= self.now {
            if window.acked < state.next {
                window.time_out(self.now);
                state.next = window.acked;
            } else {
                window.deadline = self.now + super::sender::RETRANSMIT_AFTER;
            }
        }
        let at = window.deadline;
        self.add(at, Kinds::Flow, flow as u32);
        self.kick(host);
    }

    /// A host pauses its switch for a class until some time.
    pub(super) fn pause(&mut self, host: usize, class: Priority, until: u64) {
        self.hosts[host].pausing[usize::from(class.get() & 7)] = until;
        self.renew_pause(host, class.get());
    }

    fn renew_pause(&mut self, host: usize, class: u8) {
        let card = &mut self.hosts[host];
        let until = card.pausing[usize::from(class & 7)];
        if self.now >= until {
            card.say(Priority::new(class), Quanta::RESUME);
        } else {
            card.say(Priority::new(class), Quanta::MAX);
            let half = Quanta::MAX.duration(card.rate).get() / 2;
            let again = What {
                kind: Kinds::Pause,
                port: class.into(),
                node: host as u32,
                frame: 0,
            };
            self.calendar.add((self.now + half).min(until), again);
        }
        self.kick(host);
    }

    fn take_sample(&mut self) {
        let point = u32::try_from(self.trace.times.len()).unwrap_or(u32::MAX);
        self.trace.times.push(self.now);
        for (flow, (series, last)) in self
            .flows
            .iter()
            .zip(self.trace.arrived.iter_mut().zip(&mut self.last_bytes))
        {
            let bytes = flow.arrivals.bytes;
            series.push(u32::try_from(bytes - *last).unwrap_or(u32::MAX));
            *last = bytes;
        }
        for (number, switch) in self.switches.iter_mut().enumerate() {
            let Some(buffer) = switch.buffer_mut() else {
                continue;
            };
            let used = u32::try_from(buffer.used().get()).unwrap_or(u32::MAX);
            self.trace.buffers[number].push(used);
            for (port, class, bytes) in buffer.queues() {
                let queue = QueueId {
                    switch: number,
                    port,
                    class,
                };
                let bytes = u32::try_from(bytes.get()).unwrap_or(u32::MAX);
                self.trace
                    .queues
                    .entry(queue)
                    .or_default()
                    .push((point, bytes));
            }
            let edges = buffer.take_pauses();
            self.trace
                .pauses
                .extend(edges.into_iter().map(|edge| (number as u32, edge)));
        }
        self.add(self.now + self.sample, Kinds::Sample, 0);
    }

    fn scan(&mut self) {
        self.look();
        self.add(self.now + self.scan_every, Kinds::Scan, 0);
    }

    /// Looks for deadlocks that have become certain.
    pub(super) fn look(&mut self) {
        let holds = |d: &Device<Compiled>| d.buffer().is_some_and(|b| b.holds_back());
        if !self.switches.iter().any(holds) {
            return;
        }
        let buffers = numbered(&self.switches);
        let found = self
            .detector
            .scan(Nanos::new(self.now), buffers, peer(&self.cables));
        if !found.is_empty() && self.graph.is_empty() {
            self.graph = deadlock::wait_for(numbered(&self.switches), peer(&self.cables));
        }
        self.deadlocks.extend(found);
    }

    /// Queues that can never move again, now.
    pub(super) fn stuck(&self) -> usize {
        deadlock::stuck(numbered(&self.switches), peer(&self.cables)).len()
    }
}

/// The buffers with the numbers of their switches.
fn numbered(
    switches: &[Device<Compiled>],
) -> impl Iterator<Item = (usize, &device::buffer::Buffer)> {
    let buffers = switches.iter().enumerate();
    buffers.filter_map(|(number, device)| Some((number, device.buffer()?)))
}

/// The switch and port at the far end of a port, where there is one.
fn peer(cables: &[Vec<Option<Far>>]) -> impl Fn(usize, PortId) -> Option<(usize, PortId)> + '_ {
    |switch, port| {
        let far = (*cables.get(switch)?.get(usize::from(port.get()))?)?;
        (!far.host).then_some((far.node as usize, PortId::new(far.port)))
    }
}
