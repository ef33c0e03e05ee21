//! The simulated network while it runs: switches, cards, cables, and the events that move them.

use std::collections::BTreeMap;
use std::sync::Arc;

use device::buffer::{Frames, PauseEdge, Refusal};
use device::deadlock::{self, Deadlock, Detector, QueueId, WaitEdge};
use device::{Bench, Device, DeviceDrop};
use p4exec::{FastestExecutor, FastestFrame};
use quantities::{Nanos, PortId, Priority, Progress};
use topology::{Link, NodeId};

use super::calendar::Calendar;
use super::hosts::{FrameEffect, Hosts, NicAction};
use super::watchdog::{Watchdog, WatchdogReport};

/// What an event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EventKind {
    /// A frame has arrived at a switch's port.
    AtSwitch,
    /// A frame has arrived at a host.
    AtHost,
    /// A switch's port has sent its frame.
    Free,
    /// A switch's timers.
    Timers,
    /// A frame that has arrived at a host reaches who acts on it.
    InHost,
    /// A host's card looks what it may send.
    Wake,
    /// A workload's turn at a host.
    Job,
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
    /// The PFC watchdog looks.
    Watch,
}

/// An event: its kind, a port, a switch, host, flow or number, a frame with the bytes of it that are carried about and the
/// zeros that follow them.
#[derive(Clone, Copy, Debug)]
struct Event {
    kind: EventKind,
    port: u16,
    held: u16,
    padding: u16,
    node: u32,
    frame: u32,
}

impl Event {
    const fn new(kind: EventKind, node: u32, port: u16) -> Self {
        Self {
            kind,
            port,
            held: 0,
            padding: 0,
            node,
            frame: 0,
        }
    }
}

/// The far end of a cable, and how long it takes there.
#[derive(Clone, Copy, Debug)]
pub(super) struct PeerPort {
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
    /// By flow that the scenario names, and then by workload, bytes that arrived since the point before.
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
    calendar: Calendar<Event>,
    pub(super) switches: Vec<Device<FastestExecutor>>,
    /// By switch and port.
    pub(super) cables: Vec<Vec<Option<PeerPort>>>,
    timers: Vec<u64>,
    pub(super) hosts: Hosts,
    /// By host: its switch.
    uplinks: Vec<PeerPort>,
    /// By host: when its card will look again.
    wakes: Vec<u64>,
    /// What is on the cables.
    frames: Frames,
    /// The frame that a host is making.
    made: Vec<u8>,
    /// What all switches work with, one after the other.
    bench: Bench,
    storage: FastestFrame,
    pub(super) sample: u64,
    observe: bool,
    pub(super) trace: Trace,
    last_bytes: Vec<u64>,
    detector: Detector,
    scan_every: u64,
    /// Where to tell how much time has passed, in nanoseconds.
    progress: Arc<Progress>,
    pub(super) deadlocks: Vec<Deadlock>,
    pub(super) graph: Vec<WaitEdge>,
    losses: Losses,
    watchdog: Option<Watchdog>,
    pub(super) events: u64,
    pub(super) hops: u64,
}

/// Why a world stopped running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// The scenario goes on, with this event of it.
    Script(u32),
    /// The time has come.
    Time,
    /// There were as many events as there may be.
    Events,
}

/// What makes a world.
pub(super) struct Parts {
    pub(super) end: u64,
    pub(super) switches: Vec<Device<FastestExecutor>>,
    pub(super) cables: Vec<Vec<Option<PeerPort>>>,
    pub(super) hosts: Hosts,
    pub(super) uplinks: Vec<PeerPort>,
    pub(super) sample: u64,
    pub(super) observe: bool,
    pub(super) scan_every: u64,
    pub(super) events_per_microsecond: u64,
    pub(super) watchdog: Option<Watchdog>,
}

impl World {
    pub(super) fn new(parts: Parts) -> Self {
        let series = parts.hosts.named + parts.hosts.workloads.all.len();
        let hosts = parts.hosts.cards.len();
        let mut world = Self {
            now: 0,
            end: parts.end,
            calendar: Calendar::new(parts.events_per_microsecond),
            timers: vec![u64::MAX; parts.switches.len()],
            trace: Trace {
                arrived: vec![Vec::new(); series],
                buffers: vec![Vec::new(); parts.switches.len()],
                ..Trace::default()
            },
            last_bytes: vec![0; series],
            switches: parts.switches,
            cables: parts.cables,
            hosts: parts.hosts,
            uplinks: parts.uplinks,
            wakes: vec![u64::MAX; hosts],
            frames: Frames::default(),
            made: Vec::new(),
            bench: Bench::default(),
            storage: Vec::new(),
            sample: parts.sample,
            observe: parts.observe,
            detector: Detector::default(),
            scan_every: parts.scan_every,
            progress: Arc::default(),
            deadlocks: Vec::new(),
            graph: Vec::new(),
            losses: Losses::default(),
            watchdog: parts.watchdog,
            events: 0,
            hops: 0,
        };
        if world.observe {
            for switch in &mut world.switches {
                if let Some(buffer) = switch.buffer_mut() {
                    buffer.log_pauses();
                }
            }
            world.add(world.sample, EventKind::Sample, 0);
        }
        world.add(world.scan_every, EventKind::Scan, 0);
        if let Some(watchdog) = &world.watchdog {
            world.add(watchdog.next(0), EventKind::Watch, 0);
        }
        for host in 0..hosts {
            world.kick(host);
        }
        world.hosts.workloads.begin();
        world.follow_jobs();
        world
    }

    /// From now on, tells how much time has passed.
    pub(super) fn tell(&mut self, progress: &Arc<Progress>) {
        progress.begin(self.end);
        self.progress = Arc::clone(progress);
    }

    pub(super) fn add(&mut self, at: u64, kind: EventKind, node: u32) {
        self.calendar.add(at, Event::new(kind, node, 0));
    }

    /// Runs up to the next event of the scenario, a time, or a number of events in all, whichever comes first.
    pub(super) fn run(&mut self, until: u64, most_events: u64) -> Stop {
        let until = until.min(self.end);
        while self.events < most_events {
            let Some((at, event)) = self.calendar.next(until) else {
                self.now = until;
                return Stop::Time;
            };
            self.now = at;
            self.events += 1;
            if self.calendar.turned() {
                self.prefetch();
            }
            let node = event.node as usize;
            match event.kind {
                EventKind::AtSwitch => self.at_switch(event),
                EventKind::AtHost => self.at_host(event),
                EventKind::InHost => self.in_host(event),
                EventKind::Job => {
                    self.hosts.begin_job(event.node, at);
                    self.follow_jobs();
                }
                EventKind::Free => {
                    self.send(node, PortId::new(event.port));
                    self.settle(node);
                }
                EventKind::Timers => self.run_timers(node),
                EventKind::Wake => {
                    if self.wakes[node] == at {
                        self.wakes[node] = u64::MAX;
                    }
                    self.kick(node);
                }
                EventKind::Flow => self.time_out(event.node),
                EventKind::Script => return Stop::Script(event.node),
                EventKind::Sample => self.take_sample(),
                EventKind::Scan => self.scan(),
                EventKind::Watch => self.watch(),
                EventKind::Pause => self.say_pause(node, Priority::new(event.port as u8)),
            }
        }
        Stop::Events
    }

    /// Has what comes soon fetched to the cache: it was touched long ago, and memory is slow.
    fn prefetch(&self) {
        for event in self.calendar.ahead(0) {
            if matches!(event.kind, EventKind::AtSwitch | EventKind::AtHost) {
                self.frames.prefetch(event.frame);
            }
            if matches!(event.kind, EventKind::AtSwitch | EventKind::Free) {
                self.switches[event.node as usize].prefetch(PortId::new(event.port));
            }
        }
    }

    fn at_switch(&mut self, event: Event) {
        let switch = event.node as usize;
        let device = &mut self.switches[switch];
        device.executor_mut().swap_frame(&mut self.storage);
        let bytes = self.frames.get(event.frame, event.held.into());
        device.accept_on(
            &mut self.bench,
            Nanos::new(self.now),
            PortId::new(event.port),
            (bytes, event.padding.into()),
        );
        device.executor_mut().swap_frame(&mut self.storage);
        self.frames.free(event.frame);
        self.hops += 1;
        for drop in self.bench.drops() {
            match drop {
                DeviceDrop::Buffer(Refusal::Lossless { .. }) => self.losses.lossless += 1,
                DeviceDrop::Buffer(Refusal::Lossy(_)) => self.losses.lossy += 1,
                DeviceDrop::Program(_) => self.losses.program += 1,
                // The watchdog counts them itself.
                DeviceDrop::Buffer(Refusal::Storm { .. }) => {}
                DeviceDrop::PortDown(_) | DeviceDrop::NoSuchPort(_) | DeviceDrop::Buffer(_) => {
                    self.losses.link_down += 1;
                }
            }
        }
        self.settle(switch);
    }

    /// Asks the ports that are ready, and sees that timers are run.
    fn settle(&mut self, switch: usize) {
        let next = |world: &mut Self| world.switches[switch].buffer_mut()?.next_ready();
        while let Some(port) = next(self) {
            self.send(switch, port);
        }
        let timer = self.switches[switch].buffer().and_then(|b| b.next_timer());
        if let Some(at) = timer.map(Nanos::get)
            && at < self.timers[switch]
        {
            self.timers[switch] = at;
            self.add(at, EventKind::Timers, switch as u32);
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
        let now = Nanos::new(self.now);
        let Some((departure, bytes)) = self.switches[switch].start(now, port) else {
            return;
        };
        let until = departure.until.get();
        let free = Event::new(EventKind::Free, switch as u32, port.get());
        self.calendar.add(until, free);
        if let Some(Some(far)) = self.cables[switch].get(usize::from(port.get())) {
            let arrival = on_cable(&mut self.frames, far, bytes, departure.padding);
            self.calendar.add(until + far.delay, arrival);
        }
    }

    fn at_host(&mut self, event: Event) {
        if !self.hosts.cards[event.node as usize].up {
            self.frames.free(event.frame);
            self.losses.link_down += 1;
            return;
        }
        let frame = self.frames.get(event.frame, event.held.into());
        match self.hosts.delay(self.now, frame) {
            0 => self.in_host(event),
            delay => {
                let later = Event {
                    kind: EventKind::InHost,
                    ..event
                };
                self.calendar.add(self.now + delay, later);
            }
        }
    }

    fn in_host(&mut self, event: Event) {
        let host = event.node as usize;
        self.frames.free(event.frame);
        let frame = self.frames.get(event.frame, event.held.into());
        match self.hosts.receive(host, self.now, frame) {
            FrameEffect::Nothing => {}
            FrameEffect::Now => self.kick(host),
            FrameEffect::At(at) => self.wake(host, at),
        }
        self.follow_jobs();
    }

    /// Has hosts send what jobs have given them, and jobs begin when they are due.
    fn follow_jobs(&mut self) {
        while let Some(host) = self.hosts.woken.pop() {
            self.kick(host as usize);
        }
        while let Some((at, turn)) = self.hosts.workloads.due.pop() {
            self.add(at, EventKind::Job, turn);
        }
    }

    fn wake(&mut self, host: usize, at: u64) {
        if at < self.wakes[host] {
            self.wakes[host] = at;
            self.add(at, EventKind::Wake, host as u32);
        }
    }

    /// Lets a host's card send what it may.
    fn kick(&mut self, host: usize) {
        let (until, length, flow) = match self.hosts.turn(host, self.now, &mut self.made) {
            NicAction::Nothing => return,
            NicAction::Waits(at) => return self.wake(host, at),
            NicAction::Sends {
                until,
                length,
                flow,
            } => (until, length, flow),
        };
        if let Some(flow) = flow
            && let Some(at) = self.hosts.arm(flow)
        {
            self.add(at, EventKind::Flow, flow);
        }
        let far = &self.uplinks[host];
        let padding = length - self.made.len() as u32;
        let arrival = on_cable(&mut self.frames, far, &self.made, padding);
        self.calendar.add(until + far.delay, arrival);
        self.wake(host, until);
    }

    fn time_out(&mut self, flow: u32) {
        if let Some(at) = self.hosts.time_out(flow, self.now) {
            self.add(at, EventKind::Flow, flow);
            self.kick(self.hosts.flows[flow as usize].from.index());
        }
    }

    /// A host pauses its switch for a class until some time.
    pub(super) fn pause(&mut self, host: usize, class: Priority, until: u64) {
        self.hosts.cards[host].pausing[usize::from(class.get() & 7)] = until;
        self.say_pause(host, class);
    }

    fn say_pause(&mut self, host: usize, class: Priority) {
        if let Some(at) = self.hosts.say_pause(host, class, self.now) {
            let again = Event::new(EventKind::Pause, host as u32, class.get().into());
            self.calendar.add(at, again);
        }
        self.kick(host);
    }

    /// A link fails or works again.
    pub(super) fn set_link(&mut self, link: &Link, up: bool) {
        let now = Nanos::new(self.now);
        for end in [link.a, link.b] {
            match end.node {
                NodeId::Switch(switch) => {
                    let device = &mut self.switches[switch.index()];
                    let flushed = |d: &Device<FastestExecutor>| {
                        d.buffer().map_or(0, |b| b.counters().flushed)
                    };
                    let before = flushed(device);
                    device.set_link_up(now, end.port, up);
                    self.losses.link_down += flushed(device) - before;
                    self.settle(switch.index());
                }
                NodeId::Host(host) => {
                    self.hosts.cards[host.index()].up = up;
                    self.kick(host.index());
                }
            }
        }
    }

    /// What was lost so far.
    pub(super) fn losses(&self) -> Losses {
        Losses {
            program: self.losses.program + self.hosts.strange,
            lossy: self.losses.lossy + self.evicted(),
            ..self.losses
        }
    }

    /// Packets that had a place in a ranked queue and lost it to a more urgent one.
    fn evicted(&self) -> u64 {
        let buffers = self.switches.iter().filter_map(Device::buffer);
        buffers.map(|buffer| buffer.counters().evicted).sum()
    }

    fn take_sample(&mut self) {
        let point = u32::try_from(self.trace.times.len()).unwrap_or(u32::MAX);
        self.trace.times.push(self.now);
        let named = self.hosts.flows.iter().take(self.hosts.named);
        let bytes = named.map(|flow| flow.arrivals.bytes);
        let bytes = bytes.chain(self.hosts.workloads.bytes.iter().copied());
        let series = self.trace.arrived.iter_mut().zip(&mut self.last_bytes);
        for (bytes, (series, last)) in bytes.zip(series) {
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
        self.add(self.now + self.sample, EventKind::Sample, 0);
    }

    fn scan(&mut self) {
        self.look();
        self.progress.reach(self.now);
        self.add(self.now + self.scan_every, EventKind::Scan, 0);
    }

    /// The PFC watchdog looks at all switches.
    fn watch(&mut self) {
        let Some(mut watchdog) = self.watchdog.take() else {
            return;
        };
        for switch in 0..self.switches.len() {
            let buffer = self.switches[switch].buffer_mut();
            if buffer.is_some_and(|buffer| watchdog.look(self.now, switch, buffer)) {
                self.settle(switch);
            }
        }
        self.add(watchdog.next(self.now), EventKind::Watch, 0);
        self.watchdog = Some(watchdog);
    }

    /// What the PFC watchdog did, if there is one.
    pub(super) fn watchdog(&self) -> Option<WatchdogReport> {
        let watchdog = self.watchdog.as_ref()?;
        Some(watchdog.report(&self.switches))
    }

    /// Looks for deadlocks that have become certain.
    pub(super) fn look(&mut self) {
        let holds = |d: &Device<FastestExecutor>| d.buffer().is_some_and(|b| b.holds_back());
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

/// A frame's way over a cable: its arrival at the far end. Frames are shorter than 64 KB.
fn on_cable(frames: &mut Frames, far: &PeerPort, bytes: &[u8], padding: u32) -> Event {
    let kind = match far.host {
        true => EventKind::AtHost,
        false => EventKind::AtSwitch,
    };
    Event {
        held: bytes.len() as u16,
        padding: padding as u16,
        frame: frames.put(bytes),
        ..Event::new(kind, far.node, far.port)
    }
}

/// The buffers with the numbers of their switches.
fn numbered(
    switches: &[Device<FastestExecutor>],
) -> impl Iterator<Item = (usize, &device::buffer::Buffer)> {
    let buffers = switches.iter().enumerate();
    buffers.filter_map(|(number, device)| Some((number, device.buffer()?)))
}

/// The switch and port at the far end of a port, where there is one.
fn peer(
    cables: &[Vec<Option<PeerPort>>],
) -> impl Fn(usize, PortId) -> Option<(usize, PortId)> + '_ {
    |switch, port| {
        let far = (*cables.get(switch)?.get(usize::from(port.get()))?)?;
        (!far.host).then_some((far.node as usize, PortId::new(far.port)))
    }
}
