//! The simulated network while it runs: its parts, which are simulated beside each other if there
//! are several, and what looks at all of them at once: the scenario's events, points of plots, the
//! deadlock detector, the PFC watchdog.
//!
//! What looks at all comes before anything else that happens at its time. Otherwise the order of
//! events is that of [`Calendar`](super::calendar::Calendar), which does not depend on who
//! simulates what: any partition gives the same bytes.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;

use device::Device;
use device::buffer::{Buffer, PauseEdge};
use device::deadlock::{self, Deadlock, Detector, QueueId, WaitEdge};
use p4exec::FastestExecutor;
use quantities::{Nanos, PortId, Priority, Progress};
use topology::{Link, NodeId};

use super::calendar::Groups;
use super::event::{PeerPort, owner};
use super::flow::Flow;
use super::hosts::Hosts;
use super::part::{Losses, Part, Pieces};
use super::partition::{self, Near, Partition};
use super::watchdog::{Watchdog, WatchdogReport};
use super::windows::Windows;
use super::workload::{Job, Workload};

/// What looks at the whole network, in this order at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Turn {
    /// The scenario goes on, with this event of it.
    Script(u32),
    /// A point of the plots.
    Sample,
    /// The deadlock detector looks.
    Scan,
    /// The PFC watchdog looks.
    Watch,
}

/// What the plots are drawn from.
#[derive(Debug, Default)]
pub(super) struct Trace {
    /// Times of the points.
    pub(super) times: Vec<u64>,
    /// By flow that the scenario names, and then by workload, bytes that arrived since the point
    /// before.
    pub(super) arrived: Vec<Vec<u32>>,
    /// Bytes in queues that were not empty, each with the number of the point.
    pub(super) queues: BTreeMap<QueueId, Vec<(u32, u32)>>,
    /// By switch, bytes in its buffer.
    pub(super) buffers: Vec<Vec<u32>>,
    /// By switch, when its queues were paused.
    pub(super) pauses: Vec<(u32, PauseEdge)>,
}

/// Where something is: its part, and which of that part's it is.
type Place = (u8, u32);

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
    pub(super) partition: Partition,
    /// How many threads run the parts.
    pub(super) threads: usize,
}

/// See the module documentation.
pub(super) struct World {
    pub(super) whole: Whole,
    pub(super) parts: Vec<Part>,
}

/// What is known of the whole network, and what looks at it.
pub(super) struct Whole {
    pub(super) now: u64,
    pub(super) end: u64,
    timetable: BinaryHeap<Reverse<(u64, Turn)>>,
    /// How many of these there were.
    turns: u64,
    /// By switch and port.
    cables: Vec<Vec<Option<PeerPort>>>,
    /// By switch.
    places: Vec<Place>,
    /// By host: its part.
    host_parts: Arc<[u8]>,
    /// By flow that the scenario names: where its sender and its receiver have it.
    named: Vec<[Place; 2]>,
    pub(super) sample: u64,
    pub(super) trace: Trace,
    last_bytes: Vec<u64>,
    detector: Detector,
    scan_every: u64,
    /// Where to tell how much time has passed, in nanoseconds.
    progress: Arc<Progress>,
    pub(super) deadlocks: Vec<Deadlock>,
    pub(super) graph: Vec<WaitEdge>,
    watchdog: Option<Watchdog>,
    pub(super) windows: Windows,
}

impl World {
    pub(super) fn new(mut parts: Parts) -> Self {
        let series = parts.hosts.named + parts.hosts.workloads.demand.all.len();
        if parts.observe {
            for device in &mut parts.switches {
                device.change_buffer(Nanos::new(0), Buffer::log_pauses);
            }
        }
        let mut whole = Whole {
            now: 0,
            end: parts.end,
            timetable: BinaryHeap::new(),
            turns: 0,
            places: places(&parts.partition.switches),
            host_parts: Arc::clone(&parts.partition.hosts),
            named: Vec::new(),
            trace: Trace {
                arrived: vec![Vec::new(); series],
                buffers: vec![Vec::new(); parts.switches.len()],
                ..Trace::default()
            },
            last_bytes: vec![0; series],
            cables: parts.cables.clone(),
            sample: parts.sample,
            detector: Detector::default(),
            scan_every: parts.scan_every,
            progress: Arc::default(),
            deadlocks: Vec::new(),
            graph: Vec::new(),
            watchdog: parts.watchdog.take(),
            windows: Windows::of(&parts.partition, parts.threads),
        };
        if parts.observe {
            whole.add(parts.sample, Turn::Sample);
        }
        whole.add(parts.scan_every, Turn::Scan);
        if let Some(watchdog) = &whole.watchdog {
            whole.add(watchdog.next(0), Turn::Watch);
        }
        parts.hosts.workloads.begin();
        let ends: Vec<[usize; 2]> = parts
            .hosts
            .flows
            .iter()
            .map(|flow| [flow.from.index(), flow.to.index()])
            .collect();
        let mut parts = whole.part(parts);
        let place = |id: usize, host: usize| {
            let part = whole.host_parts[host];
            let hosts = &parts[usize::from(part)].hosts;
            (part, hosts.place(id as u32).unwrap_or_default() as u32)
        };
        let named = ends.iter().enumerate();
        whole.named = named
            .map(|(id, ends)| ends.map(|host| place(id, host)))
            .collect();
        deliver(&mut all(&mut parts));
        Self { whole, parts }
    }

    /// From now on, tells how much time has passed.
    pub(super) fn tell(&mut self, progress: &Arc<Progress>) {
        progress.begin(self.whole.end);
        self.whole.progress = Arc::clone(progress);
    }

    /// The scenario goes on at a time.
    pub(super) fn script(&mut self, at: u64, number: u32) {
        self.whole.add(at, Turn::Script(number));
    }

    /// Events so far.
    pub(super) fn events(&self) -> u64 {
        self.parts.iter().map(|part| part.events).sum::<u64>() + self.whole.turns
    }

    /// Frames that switches processed so far.
    pub(super) fn hops(&self) -> u64 {
        self.parts.iter().map(|part| part.hops).sum()
    }

    /// Data packets that have arrived so far.
    pub(super) fn delivered(&self) -> u64 {
        self.parts.iter().map(|part| part.hosts.delivered).sum()
    }

    /// Runs the one part up to the next event of the scenario, a time before the end, or a number
    /// of events in all, whichever comes first; several parts are run by
    /// [`parallel`](super::parallel).
    pub(super) fn run(&mut self, until: u64, most_events: u64) -> Stop {
        let [part] = &mut self.parts[..] else {
            return Stop::Events;
        };
        loop {
            let most = most_events.saturating_sub(self.whole.turns);
            if !part.run(self.whole.bound(until), most) || part.events >= most {
                self.whole.now = part.now.max(self.whole.now);
                return Stop::Events;
            }
            if let Some(stop) = self.whole.turn(until, &mut [part]) {
                return stop;
            }
        }
    }

    /// A host pauses its switch for a class until some time.
    pub(super) fn pause(&mut self, host: usize, class: Priority, until: u64) {
        self.set_time();
        let part = usize::from(self.whole.host_parts[host]);
        self.parts[part].pause(host, class, until);
        deliver(&mut all(&mut self.parts));
    }

    /// A link fails or works again.
    pub(super) fn set_link(&mut self, link: &Link, up: bool) {
        self.set_time();
        for end in [link.a, link.b] {
            match end.node {
                NodeId::Switch(switch) => {
                    let (part, place) = self.whole.places[switch.index()];
                    self.parts[usize::from(part)].set_port(place as usize, end.port, up);
                }
                NodeId::Host(host) => {
                    let part = usize::from(self.whole.host_parts[host.index()]);
                    self.parts[part].set_card(host.index(), up);
                }
            }
        }
        deliver(&mut all(&mut self.parts));
    }

    /// A switch gets other tables.
    pub(super) fn replace(&mut self, switch: usize, executor: FastestExecutor) {
        self.device_mut(switch).replace_executor(executor);
    }

    fn set_time(&mut self) {
        for part in &mut self.parts {
            part.now = self.whole.now;
        }
    }

    /// A switch, by its number.
    pub(super) fn device(&self, switch: usize) -> &Device<FastestExecutor> {
        let (part, place) = self.whole.places[switch];
        &self.parts[usize::from(part)].switches[place as usize]
    }

    pub(super) fn device_mut(&mut self, switch: usize) -> &mut Device<FastestExecutor> {
        let (part, place) = self.whole.places[switch];
        &mut self.parts[usize::from(part)].switches[place as usize]
    }

    /// The switches, in the topology's order.
    pub(super) fn devices(&self) -> impl Iterator<Item = &Device<FastestExecutor>> {
        (0..self.whole.places.len()).map(|switch| self.device(switch))
    }

    /// The flows that the scenario names, each as its sender has it and as its receiver does.
    pub(super) fn flows(&self) -> impl Iterator<Item = (&Flow, &Flow)> {
        let flow =
            |(part, place): Place| &self.parts[usize::from(part)].hosts.flows[place as usize];
        let named = self.whole.named.iter();
        named.map(move |&[sender, receiver]| (flow(sender), flow(receiver)))
    }

    /// By host, whether its switch has paused a priority of it.
    pub(super) fn paused_hosts(&self) -> Vec<bool> {
        let hosts = self.whole.host_parts.iter().enumerate();
        let card = |(host, part): (usize, &u8)| &self.parts[usize::from(*part)].hosts.cards[host];
        let cards = hosts.map(card);
        cards.map(|card| card.is_paused(self.whole.now)).collect()
    }

    /// From when on throughput counts.
    pub(super) fn measure_from(&self) -> u64 {
        self.parts.first().map_or(0, |part| part.hosts.measure_from)
    }

    /// The workloads, their jobs so far, and by workload the bytes that have arrived.
    pub(super) fn workloads(&self) -> (&[Workload], Vec<Job>, Vec<u64>) {
        let mut first = Vec::with_capacity(self.parts.len());
        let mut jobs = Vec::new();
        let mut bytes = Vec::new();
        for workloads in self.parts.iter().map(|part| &part.hosts.workloads) {
            first.push(jobs.len());
            jobs.extend_from_slice(&workloads.jobs);
            bytes.resize(workloads.bytes.len(), 0);
            let sums = bytes.iter_mut().zip(&workloads.bytes);
            sums.for_each(|(sum, bytes)| *sum += bytes);
        }
        for end in self.parts.iter().flat_map(|p| &p.hosts.workloads.ends) {
            let part = usize::from(self.whole.host_parts[end.host as usize]);
            if let Some(job) = jobs.get_mut(first[part] + end.job as usize) {
                job.done = Some(end.at);
            }
        }
        let part = self.parts.first();
        let all = part.map_or(&[][..], |part| &part.hosts.workloads.demand.all[..]);
        (all, jobs, bytes)
    }

    /// What was lost so far.
    pub(super) fn losses(&self) -> Losses {
        let mut losses = Losses::default();
        for part in &self.parts {
            losses += part.losses;
            losses.program += part.hosts.strange;
        }
        // Packets that had a place in a ranked queue and lost it to a more urgent one.
        let buffers = self.devices().filter_map(Device::buffer);
        losses.lossy += buffers.map(|b| b.counters().evicted).sum::<u64>();
        losses
    }

    /// What the PFC watchdog did, if there is one.
    pub(super) fn watchdog(&self) -> Option<WatchdogReport> {
        let watchdog = self.whole.watchdog.as_ref()?;
        Some(watchdog.report(self.devices()))
    }

    /// Looks for deadlocks that have become certain.
    pub(super) fn look(&mut self) {
        self.whole.look(&all(&mut self.parts));
    }

    /// Queues that can never move again, now.
    pub(super) fn stuck(&self) -> usize {
        let buffers = self.devices().enumerate();
        let buffers = buffers.filter_map(|(number, device)| Some((number, device.buffer()?)));
        deadlock::stuck(buffers, peer(&self.whole.cables)).len()
    }
}

impl Whole {
    fn add(&mut self, at: u64, turn: Turn) {
        self.timetable.push(Reverse((at, turn)));
    }

    /// Up to where parts may run by themselves: what is before this time, where they are not to go
    /// beyond `until`.
    pub(super) fn bound(&self, until: u64) -> u64 {
        let next = self.timetable.peek().map_or(u64::MAX, |next| next.0.0);
        next.min(until.saturating_add(1))
    }

    /// How many events were not the parts' own.
    pub(super) const fn turns(&self) -> u64 {
        self.turns
    }

    /// Everything before [`Whole::bound`] has happened in all parts: what looks at all of them does
    /// so. Tells why to stop, if so.
    pub(super) fn turn(&mut self, until: u64, parts: &mut [&mut Part]) -> Option<Stop> {
        let due = self.timetable.peek().map(|next| next.0);
        let Some((at, turn)) = due.filter(|(at, _)| *at <= until) else {
            self.now = until;
            return Some(Stop::Time);
        };
        self.timetable.pop();
        self.now = at;
        self.turns += 1;
        for part in parts.iter_mut() {
            part.now = at;
        }
        match turn {
            Turn::Script(number) => return Some(Stop::Script(number)),
            Turn::Sample => self.take_sample(parts),
            Turn::Scan => {
                self.look(parts);
                self.progress.reach(self.now);
                self.add(self.now + self.scan_every, Turn::Scan);
            }
            Turn::Watch => self.watch(parts),
        }
        deliver(parts);
        None
    }

    /// Makes the parts, in which nothing has happened yet.
    fn part(&self, world: Parts) -> Vec<Part> {
        let partition = &world.partition;
        let mut switches: Vec<Vec<Device<FastestExecutor>>> = Vec::new();
        let mut cables: Vec<Vec<Vec<Option<PeerPort>>>> = Vec::new();
        switches.resize_with(partition.parts.into(), Vec::new);
        cables.resize_with(partition.parts.into(), Vec::new);
        let all = world.switches.into_iter().zip(world.cables);
        for ((device, ports), (part, _)) in all.zip(&self.places) {
            let ports = ports.into_iter().map(|far| far.map(|far| self.local(far)));
            switches[usize::from(*part)].push(device);
            cables[usize::from(*part)].push(ports.collect());
        }
        let homes = partition::homes(&world.uplinks);
        let near = partition::near(&self.cables, &homes);
        let uplinks = world.uplinks.into_iter().map(|far| self.local(far));
        let uplinks: Vec<PeerPort> = uplinks.collect();
        let hosts = world.hosts.split(&partition.hosts, partition.parts);
        let pieces = switches.into_iter().zip(cables).zip(hosts);
        (0..)
            .zip(pieces)
            .map(|(number, ((switches, cables), hosts))| {
                Part::new(Pieces {
                    number,
                    parts: partition.parts,
                    switches,
                    cables,
                    hosts,
                    uplinks: uplinks.clone(),
                    events_per_microsecond: world.events_per_microsecond,
                    groups: self.groups(number, &near, &homes),
                })
            })
            .collect()
    }

    /// Who forms a group in a part, if switches do so as `near` tells, and hosts are with their
    /// switches.
    fn groups(&self, part: u8, near: &Near, homes: &[usize]) -> Groups {
        let switches = self.places.iter().zip(&near.group_of);
        let own = switches.filter(|((of, _), _)| *of == part);
        let switches = own.map(|((_, place), &group)| (owner(*place, true), group));
        let hosts = homes.iter().zip(0..);
        let hosts = hosts.map(|(&home, host)| (owner(host, false), near.group_of[home]));
        let mut of = Vec::new();
        for (owner, group) in switches.chain(hosts) {
            let at = owner as usize;
            of.resize(of.len().max(at + 1), 0);
            of[at] = group as u32;
        }
        Groups {
            of,
            count: near.count,
            lookahead: near.lookahead,
        }
    }

    /// The far end of a cable, as parts name it.
    fn local(&self, far: PeerPort) -> PeerPort {
        let (part, node) = match far.host {
            true => (self.host_parts[far.node as usize], far.node),
            false => self.places[far.node as usize],
        };
        PeerPort { part, node, ..far }
    }

    fn take_sample(&mut self, parts: &mut [&mut Part]) {
        let point = u32::try_from(self.trace.times.len()).unwrap_or(u32::MAX);
        self.trace.times.push(self.now);
        let named = self.named.iter().map(|&[_, (part, place)]| {
            let flow = &parts[usize::from(part)].hosts.flows[place as usize];
            flow.arrivals.bytes
        });
        let mut bytes: Vec<u64> = named.collect();
        for workload in 0..self.last_bytes.len() - bytes.len() {
            let of_part = |part: &&mut Part| part.hosts.workloads.bytes[workload];
            bytes.push(parts.iter().map(of_part).sum());
        }
        let series = self.trace.arrived.iter_mut().zip(&mut self.last_bytes);
        for (bytes, (series, last)) in bytes.into_iter().zip(series) {
            series.push(u32::try_from(bytes - *last).unwrap_or(u32::MAX));
            *last = bytes;
        }
        for (number, &(part, place)) in self.places.iter().enumerate() {
            let switch = &mut parts[usize::from(part)].switches[place as usize];
            let edges = switch.change_buffer(Nanos::new(self.now), Buffer::take_pauses);
            let Some(buffer) = switch.buffer() else {
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
                let queues = self.trace.queues.entry(queue).or_default();
                queues.push((point, bytes));
            }
            let edges = edges.into_iter().flatten();
            let edges = edges.map(|edge| (number as u32, edge));
            self.trace.pauses.extend(edges);
        }
        self.add(self.now + self.sample, Turn::Sample);
    }

    /// The PFC watchdog looks at all switches.
    fn watch(&mut self, parts: &mut [&mut Part]) {
        let Some(mut watchdog) = self.watchdog.take() else {
            return;
        };
        for (number, &(part, place)) in self.places.iter().enumerate() {
            let part = &mut parts[usize::from(part)];
            let look = |buffer: &mut Buffer| watchdog.look(self.now, number, buffer);
            let device = &mut part.switches[place as usize];
            if device.change_buffer(Nanos::new(self.now), look) == Some(true) {
                part.follow_up(place as usize);
            }
        }
        self.add(watchdog.next(self.now), Turn::Watch);
        self.watchdog = Some(watchdog);
    }

    fn look(&mut self, parts: &[&mut Part]) {
        let devices = parts.iter().flat_map(|part| &part.switches);
        let mut buffers = devices.filter_map(Device::buffer);
        if !buffers.any(Buffer::holds_back) {
            return;
        }
        let numbered = || {
            let places = self.places.iter().enumerate();
            places.filter_map(|(number, &(part, place))| {
                let device = &parts[usize::from(part)].switches[place as usize];
                Some((number, device.buffer()?))
            })
        };
        let now = Nanos::new(self.now);
        let found = self.detector.scan(now, numbered(), peer(&self.cables));
        if !found.is_empty() && self.graph.is_empty() {
            self.graph = deadlock::wait_for(numbered(), peer(&self.cables));
        }
        self.deadlocks.extend(found);
    }
}

/// Where each switch is.
fn places(part_of: &[u8]) -> Vec<Place> {
    let mut counts = [0; 1 << u8::BITS];
    let place = |&part: &u8| {
        let count: &mut u32 = &mut counts[usize::from(part)];
        *count += 1;
        (part, *count - 1)
    };
    part_of.iter().map(place).collect()
}

pub(super) fn all(parts: &mut [Part]) -> Vec<&mut Part> {
    parts.iter_mut().collect()
}

/// Hands over what parts have to send each other.
pub(super) fn deliver(parts: &mut [&mut Part]) {
    for from in 0..parts.len() {
        for to in 0..parts.len() {
            if !parts[from].posts[to].is_empty() {
                let mut post = std::mem::take(&mut parts[from].posts[to]);
                parts[to].receive(&mut post);
                parts[from].posts[to] = post;
            }
        }
    }
}

/// The switch and port at the far end of a port, where there is one.
fn peer(
    cables: &[Vec<Option<PeerPort>>],
) -> impl Fn(usize, PortId) -> Option<(usize, PortId)> + '_ {
    |switch, port| {
        let far = (*cables.get(switch)?.get(usize::from(port.get()))?)?;
        far.switch()
    }
}
