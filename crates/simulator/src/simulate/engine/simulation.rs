//! The simulated network while it runs: its shards, which are simulated beside each other if there
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
use super::partition::{self, Near, Partition};
use super::shard::{Losses, Shard, ShardSetup};
use super::watchdog::{Watchdog, WatchdogReport};
use super::windows::Windows;
use crate::simulate::host::flow::Flow;
use crate::simulate::host::hosts::Hosts;
use crate::simulate::host::workload::{Job, Workload};

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
pub(crate) struct Trace {
    /// Times of the points.
    pub(crate) times: Vec<u64>,
    /// By flow that the scenario names, and then by workload, bytes that arrived since the point
    /// before.
    pub(crate) arrived: Vec<Vec<u32>>,
    /// Bytes in queues that were not empty, each with the number of the point.
    pub(crate) queues: BTreeMap<QueueId, Vec<(u32, u32)>>,
    /// By switch, bytes in its buffer.
    pub(crate) buffers: Vec<Vec<u32>>,
    /// By switch, when its queues were paused.
    pub(crate) pauses: Vec<(u32, PauseEdge)>,
}

/// Where something is: its shard, and which of that shard's it is.
type ShardIndex = (u8, u32);

/// Why a simulation stopped running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The scenario goes on, with this event of it.
    Script(u32),
    /// The time has come.
    Time,
    /// There were as many events as there may be.
    Events,
}

/// What a simulation is made of.
pub(crate) struct SimulationSetup {
    pub(crate) end: u64,
    pub(crate) switches: Vec<Device<FastestExecutor>>,
    pub(crate) cables: Vec<Vec<Option<PeerPort>>>,
    pub(crate) hosts: Hosts,
    pub(crate) uplinks: Vec<PeerPort>,
    pub(crate) sample: u64,
    pub(crate) observe: bool,
    pub(crate) scan_every: u64,
    pub(crate) events_per_microsecond: u64,
    pub(crate) watchdog: Option<Watchdog>,
    pub(crate) partition: Partition,
    /// How many threads run the shards.
    pub(crate) threads: usize,
}

/// See the module documentation.
pub(crate) struct Simulation {
    pub(crate) coordinator: Coordinator,
    pub(crate) shards: Vec<Shard>,
}

/// What is known of the whole network, and what looks at it.
pub(crate) struct Coordinator {
    pub(crate) now: u64,
    pub(crate) end: u64,
    timetable: BinaryHeap<Reverse<(u64, Turn)>>,
    /// How many of these there were.
    turns: u64,
    /// By switch and port.
    cables: Vec<Vec<Option<PeerPort>>>,
    /// By switch.
    places: Vec<ShardIndex>,
    /// By host: its shard.
    host_shards: Arc<[u8]>,
    /// By flow that the scenario names: where its sender and its receiver have it.
    named: Vec<[ShardIndex; 2]>,
    pub(crate) sample: u64,
    pub(crate) trace: Trace,
    last_bytes: Vec<u64>,
    detector: Detector,
    scan_every: u64,
    /// Where to tell how much time has passed, in nanoseconds.
    progress: Arc<Progress>,
    pub(crate) deadlocks: Vec<Deadlock>,
    pub(crate) graph: Vec<WaitEdge>,
    watchdog: Option<Watchdog>,
    pub(crate) windows: Windows,
}

impl Simulation {
    pub(crate) fn new(mut setup: SimulationSetup) -> Self {
        let series = setup.hosts.named + setup.hosts.workloads.demand.all.len();
        if setup.observe {
            for device in &mut setup.switches {
                device.change_buffer(Nanos::new(0), Buffer::log_pauses);
            }
        }
        let mut coordinator = Coordinator {
            now: 0,
            end: setup.end,
            timetable: BinaryHeap::new(),
            turns: 0,
            places: places(&setup.partition.switches),
            host_shards: Arc::clone(&setup.partition.hosts),
            named: Vec::new(),
            trace: Trace {
                arrived: vec![Vec::new(); series],
                buffers: vec![Vec::new(); setup.switches.len()],
                ..Trace::default()
            },
            last_bytes: vec![0; series],
            cables: setup.cables.clone(),
            sample: setup.sample,
            detector: Detector::default(),
            scan_every: setup.scan_every,
            progress: Arc::default(),
            deadlocks: Vec::new(),
            graph: Vec::new(),
            watchdog: setup.watchdog.take(),
            windows: Windows::of(&setup.partition, setup.threads),
        };
        if setup.observe {
            coordinator.add(setup.sample, Turn::Sample);
        }
        coordinator.add(setup.scan_every, Turn::Scan);
        if let Some(watchdog) = &coordinator.watchdog {
            coordinator.add(watchdog.next(0), Turn::Watch);
        }
        setup.hosts.workloads.begin();
        let ends: Vec<[usize; 2]> = setup
            .hosts
            .flows
            .iter()
            .map(|flow| [flow.from.index(), flow.to.index()])
            .collect();
        let mut shards = coordinator.shards(setup);
        let place = |id: usize, host: usize| {
            let shard = coordinator.host_shards[host];
            let hosts = &shards[usize::from(shard)].hosts;
            (shard, hosts.place(id as u32).unwrap_or_default() as u32)
        };
        let named = ends.iter().enumerate();
        coordinator.named = named
            .map(|(id, ends)| ends.map(|host| place(id, host)))
            .collect();
        deliver(&mut all(&mut shards));
        Self {
            coordinator,
            shards,
        }
    }

    /// From now on, tells how much time has passed.
    pub(crate) fn set_progress(&mut self, progress: &Arc<Progress>) {
        progress.begin(self.coordinator.end);
        self.coordinator.progress = Arc::clone(progress);
    }

    /// The scenario goes on at a time.
    pub(crate) fn script(&mut self, at: u64, number: u32) {
        self.coordinator.add(at, Turn::Script(number));
    }

    /// Events so far.
    pub(crate) fn events(&self) -> u64 {
        self.shards.iter().map(|shard| shard.events).sum::<u64>() + self.coordinator.turns
    }

    /// Frames that switches processed so far.
    pub(crate) fn hops(&self) -> u64 {
        self.shards.iter().map(|shard| shard.hops).sum()
    }

    /// Data packets that have arrived so far.
    pub(crate) fn delivered(&self) -> u64 {
        self.shards.iter().map(|shard| shard.hosts.delivered).sum()
    }

    /// Runs the one shard up to the next event of the scenario, a time before the end, or a number
    /// of events in all, whichever comes first; several shards are run by
    /// [`parallel`](super::parallel).
    pub(crate) fn run(&mut self, until: u64, most_events: u64) -> Stop {
        let [shard] = &mut self.shards[..] else {
            return Stop::Events;
        };
        loop {
            let most = most_events.saturating_sub(self.coordinator.turns);
            if !shard.run(self.coordinator.bound(until), most) || shard.events >= most {
                self.coordinator.now = shard.now.max(self.coordinator.now);
                return Stop::Events;
            }
            if let Some(stop) = self.coordinator.turn(until, &mut [shard]) {
                return stop;
            }
        }
    }

    /// A host pauses its switch for a class until some time.
    pub(crate) fn pause(&mut self, host: usize, class: Priority, until: u64) {
        self.set_time();
        let shard = usize::from(self.coordinator.host_shards[host]);
        self.shards[shard].pause(host, class, until);
        deliver(&mut all(&mut self.shards));
    }

    /// A link fails or works again.
    pub(crate) fn set_link(&mut self, link: &Link, up: bool) {
        self.set_time();
        for end in [link.a, link.b] {
            match end.node {
                NodeId::Switch(switch) => {
                    let (shard, place) = self.coordinator.places[switch.index()];
                    self.shards[usize::from(shard)].set_port(place as usize, end.port, up);
                }
                NodeId::Host(host) => {
                    let shard = usize::from(self.coordinator.host_shards[host.index()]);
                    self.shards[shard].set_card(host.index(), up);
                }
            }
        }
        deliver(&mut all(&mut self.shards));
    }

    /// A switch gets other tables.
    pub(crate) fn replace(&mut self, switch: usize, executor: FastestExecutor) {
        self.device_mut(switch).replace_executor(executor);
    }

    fn set_time(&mut self) {
        for shard in &mut self.shards {
            shard.now = self.coordinator.now;
        }
    }

    /// A switch, by its number.
    pub(crate) fn device(&self, switch: usize) -> &Device<FastestExecutor> {
        let (shard, place) = self.coordinator.places[switch];
        &self.shards[usize::from(shard)].switches[place as usize]
    }

    pub(crate) fn device_mut(&mut self, switch: usize) -> &mut Device<FastestExecutor> {
        let (shard, place) = self.coordinator.places[switch];
        &mut self.shards[usize::from(shard)].switches[place as usize]
    }

    /// The switches, in the topology's order.
    pub(crate) fn devices(&self) -> impl Iterator<Item = &Device<FastestExecutor>> {
        (0..self.coordinator.places.len()).map(|switch| self.device(switch))
    }

    /// The flows that the scenario names, each as its sender has it and as its receiver does.
    pub(crate) fn flows(&self) -> impl Iterator<Item = (&Flow, &Flow)> {
        let flow = |(shard, place): ShardIndex| {
            &self.shards[usize::from(shard)].hosts.flows[place as usize]
        };
        let named = self.coordinator.named.iter();
        named.map(move |&[sender, receiver]| (flow(sender), flow(receiver)))
    }

    /// By host, whether its switch has paused a priority of it.
    pub(crate) fn paused_hosts(&self) -> Vec<bool> {
        let hosts = self.coordinator.host_shards.iter().enumerate();
        let card =
            |(host, shard): (usize, &u8)| &self.shards[usize::from(*shard)].hosts.cards[host];
        let cards = hosts.map(card);
        cards
            .map(|card| card.is_paused(self.coordinator.now))
            .collect()
    }

    /// From when on throughput counts.
    pub(crate) fn measure_from(&self) -> u64 {
        self.shards
            .first()
            .map_or(0, |shard| shard.hosts.measure_from)
    }

    /// The workloads, their jobs so far, and by workload the bytes that have arrived.
    pub(crate) fn workloads(&self) -> (&[Workload], Vec<Job>, Vec<u64>) {
        let mut first = Vec::with_capacity(self.shards.len());
        let mut jobs = Vec::new();
        let mut bytes = Vec::new();
        for workloads in self.shards.iter().map(|shard| &shard.hosts.workloads) {
            first.push(jobs.len());
            jobs.extend_from_slice(&workloads.jobs);
            bytes.resize(workloads.bytes.len(), 0);
            let sums = bytes.iter_mut().zip(&workloads.bytes);
            sums.for_each(|(sum, bytes)| *sum += bytes);
        }
        for end in self.shards.iter().flat_map(|p| &p.hosts.workloads.ends) {
            let shard = usize::from(self.coordinator.host_shards[end.host as usize]);
            if let Some(job) = jobs.get_mut(first[shard] + end.job as usize) {
                job.done = Some(end.at);
            }
        }
        let shard = self.shards.first();
        let all = shard.map_or(&[][..], |shard| &shard.hosts.workloads.demand.all[..]);
        (all, jobs, bytes)
    }

    /// What was lost so far.
    pub(crate) fn losses(&self) -> Losses {
        let mut losses = Losses::default();
        for shard in &self.shards {
            losses += shard.losses;
            losses.program += shard.hosts.strange;
        }
        // Packets that had a place in a ranked queue and lost it to a more urgent one.
        let buffers = self.devices().filter_map(Device::buffer);
        losses.lossy += buffers.map(|b| b.counters().evicted).sum::<u64>();
        losses
    }

    /// What the PFC watchdog did, if there is one.
    pub(crate) fn watchdog(&self) -> Option<WatchdogReport> {
        let watchdog = self.coordinator.watchdog.as_ref()?;
        Some(watchdog.report(self.devices()))
    }

    /// Looks for deadlocks that have become certain.
    pub(crate) fn scan(&mut self) {
        self.coordinator.scan(&all(&mut self.shards));
    }

    /// Queues that can never move again, now.
    pub(crate) fn stuck(&self) -> usize {
        let buffers = self.devices().enumerate();
        let buffers = buffers.filter_map(|(number, device)| Some((number, device.buffer()?)));
        deadlock::stuck(buffers, peer(&self.coordinator.cables)).len()
    }
}

impl Coordinator {
    fn add(&mut self, at: u64, turn: Turn) {
        self.timetable.push(Reverse((at, turn)));
    }

    /// Up to where shards may run by themselves: what is before this time, where they are not to go
    /// beyond `until`.
    pub(crate) fn bound(&self, until: u64) -> u64 {
        let next = self.timetable.peek().map_or(u64::MAX, |next| next.0.0);
        next.min(until.saturating_add(1))
    }

    /// How many events were not the shards' own.
    pub(crate) const fn turns(&self) -> u64 {
        self.turns
    }

    /// Everything before [`Coordinator::bound`] has happened in all shards: what looks at all of
    /// them does so. Tells why to stop, if so.
    pub(crate) fn turn(&mut self, until: u64, shards: &mut [&mut Shard]) -> Option<Stop> {
        let due = self.timetable.peek().map(|next| next.0);
        let Some((at, turn)) = due.filter(|(at, _)| *at <= until) else {
            self.now = until;
            return Some(Stop::Time);
        };
        self.timetable.pop();
        self.now = at;
        self.turns += 1;
        for shard in shards.iter_mut() {
            shard.now = at;
        }
        match turn {
            Turn::Script(number) => return Some(Stop::Script(number)),
            Turn::Sample => self.take_sample(shards),
            Turn::Scan => {
                self.scan(shards);
                self.progress.reach(self.now);
                self.add(self.now + self.scan_every, Turn::Scan);
            }
            Turn::Watch => self.watch(shards),
        }
        deliver(shards);
        None
    }

    /// Makes the shards, in which nothing has happened yet.
    fn shards(&self, setup: SimulationSetup) -> Vec<Shard> {
        let partition = &setup.partition;
        let mut switches: Vec<Vec<Device<FastestExecutor>>> = Vec::new();
        let mut cables: Vec<Vec<Vec<Option<PeerPort>>>> = Vec::new();
        switches.resize_with(partition.parts.into(), Vec::new);
        cables.resize_with(partition.parts.into(), Vec::new);
        let all = setup.switches.into_iter().zip(setup.cables);
        for ((device, ports), (shard, _)) in all.zip(&self.places) {
            let ports = ports.into_iter().map(|far| far.map(|far| self.local(far)));
            switches[usize::from(*shard)].push(device);
            cables[usize::from(*shard)].push(ports.collect());
        }
        let homes = partition::homes(&setup.uplinks);
        let near = partition::near(&self.cables, &homes);
        let uplinks = setup.uplinks.into_iter().map(|far| self.local(far));
        let uplinks: Vec<PeerPort> = uplinks.collect();
        let hosts = setup.hosts.split(&partition.hosts, partition.parts);
        let pieces = switches.into_iter().zip(cables).zip(hosts);
        (0..)
            .zip(pieces)
            .map(|(number, ((switches, cables), hosts))| {
                Shard::new(ShardSetup {
                    number,
                    shards: partition.parts,
                    switches,
                    cables,
                    hosts,
                    uplinks: uplinks.clone(),
                    events_per_microsecond: setup.events_per_microsecond,
                    groups: self.groups(number, &near, &homes),
                })
            })
            .collect()
    }

    /// Who forms a group in a shard, if switches do so as `near` tells, and hosts are with their
    /// switches.
    fn groups(&self, shard: u8, near: &Near, homes: &[usize]) -> Groups {
        let switches = self.places.iter().zip(&near.group_of);
        let own = switches.filter(|((of, _), _)| *of == shard);
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

    /// The far end of a cable, as shards name it.
    fn local(&self, far: PeerPort) -> PeerPort {
        let (shard, node) = match far.host {
            true => (self.host_shards[far.node as usize], far.node),
            false => self.places[far.node as usize],
        };
        PeerPort { shard, node, ..far }
    }

    fn take_sample(&mut self, shards: &mut [&mut Shard]) {
        let point = u32::try_from(self.trace.times.len()).unwrap_or(u32::MAX);
        self.trace.times.push(self.now);
        let named = self.named.iter().map(|&[_, (shard, place)]| {
            let flow = &shards[usize::from(shard)].hosts.flows[place as usize];
            flow.arrivals.bytes
        });
        let mut bytes: Vec<u64> = named.collect();
        for workload in 0..self.last_bytes.len() - bytes.len() {
            let of_shard = |shard: &&mut Shard| shard.hosts.workloads.bytes[workload];
            bytes.push(shards.iter().map(of_shard).sum());
        }
        let series = self.trace.arrived.iter_mut().zip(&mut self.last_bytes);
        for (bytes, (series, last)) in bytes.into_iter().zip(series) {
            series.push(u32::try_from(bytes - *last).unwrap_or(u32::MAX));
            *last = bytes;
        }
        for (number, &(shard, place)) in self.places.iter().enumerate() {
            let switch = &mut shards[usize::from(shard)].switches[place as usize];
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
    fn watch(&mut self, shards: &mut [&mut Shard]) {
        let Some(mut watchdog) = self.watchdog.take() else {
            return;
        };
        for (number, &(shard, place)) in self.places.iter().enumerate() {
            let shard = &mut shards[usize::from(shard)];
            let poll = |buffer: &mut Buffer| watchdog.poll(self.now, number, buffer);
            let device = &mut shard.switches[place as usize];
            if device.change_buffer(Nanos::new(self.now), poll) == Some(true) {
                shard.follow_up(place as usize);
            }
        }
        self.add(watchdog.next(self.now), Turn::Watch);
        self.watchdog = Some(watchdog);
    }

    fn scan(&mut self, shards: &[&mut Shard]) {
        let devices = shards.iter().flat_map(|shard| &shard.switches);
        let mut buffers = devices.filter_map(Device::buffer);
        if !buffers.any(Buffer::holds_back) {
            return;
        }
        let numbered = || {
            let places = self.places.iter().enumerate();
            places.filter_map(|(number, &(shard, place))| {
                let device = &shards[usize::from(shard)].switches[place as usize];
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
fn places(part_of: &[u8]) -> Vec<ShardIndex> {
    let mut counts = [0; 1 << u8::BITS];
    let place = |&shard: &u8| {
        let count: &mut u32 = &mut counts[usize::from(shard)];
        *count += 1;
        (shard, *count - 1)
    };
    part_of.iter().map(place).collect()
}

pub(crate) fn all(shards: &mut [Shard]) -> Vec<&mut Shard> {
    shards.iter_mut().collect()
}

/// Hands over what shards have to send each other.
pub(crate) fn deliver(shards: &mut [&mut Shard]) {
    for from in 0..shards.len() {
        for to in 0..shards.len() {
            if !shards[from].posts[to].is_empty() {
                let mut post = std::mem::take(&mut shards[from].posts[to]);
                shards[to].receive(&mut post);
                shards[from].posts[to] = post;
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
