//! A shard of the simulated network while it runs, the whole where there is but one: its switches
//! and hosts, and the events that move them.

use std::collections::BTreeMap;
use std::sync::Arc;

use device::buffer::{Frames, Refusal};
use device::{Device, DeviceDrop, Frame, Scratch};
use p4exec::{Executor as _, FastestExecutor, FastestFrame};
use quantities::{Nanos, PortId, Priority};

use super::calendar::{Calendar, Groups};
use super::event::{Event, EventKind, PeerPort, Post};
use crate::simulate::host::hosts::{FrameEffect, Hosts, NicAction};

/// Frames of a turn, at most, on which a switch's program is run at once.
const MOST_AHEAD: usize = 16;

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

impl std::ops::AddAssign for Losses {
    fn add_assign(&mut self, other: Self) {
        self.lossless += other.lossless;
        self.lossy += other.lossy;
        self.program += other.program;
        self.link_down += other.link_down;
    }
}

/// See the module documentation. Switches have their places in it as numbers, hosts those of the
/// whole network.
pub(crate) struct Shard {
    number: u8,
    pub(crate) now: u64,
    calendar: Calendar<Event>,
    pub(crate) switches: Vec<Device<FastestExecutor>>,
    /// By switch and port.
    cables: Vec<Vec<Option<PeerPort>>>,
    /// By switch: when its next event is; later ones may follow.
    armed: Vec<u64>,
    pub(crate) hosts: Hosts,
    /// By host: its switch.
    uplinks: Vec<PeerPort>,
    /// By host: when its card will look again.
    wakes: Vec<u64>,
    /// What is on the cables.
    frames: Frames,
    /// The frame that a host is making.
    made: Vec<u8>,
    /// What all switches work with, one after the other.
    scratch: Scratch,
    /// By switch: whether packets of its program are independent of each other.
    independent: Vec<bool>,
    storage: FastestFrame,
    /// Which of them has the storage; its own is kept meanwhile.
    working: Option<usize>,
    /// By shard, what is to be sent there.
    pub(crate) posts: Vec<Post>,
    pub(crate) losses: Losses,
    pub(crate) events: u64,
    pub(crate) hops: u64,
    /// Events that other shards have sent.
    pub(crate) received: u64,
}

/// What a shard is made of.
pub(crate) struct ShardSetup {
    pub(crate) number: u8,
    /// How many shards there are.
    pub(crate) shards: u8,
    pub(crate) switches: Vec<Device<FastestExecutor>>,
    pub(crate) cables: Vec<Vec<Option<PeerPort>>>,
    pub(crate) hosts: Hosts,
    pub(crate) uplinks: Vec<PeerPort>,
    /// Of the whole network.
    pub(crate) events_per_microsecond: u64,
    pub(crate) groups: Groups,
}

impl Shard {
    pub(crate) fn new(setup: ShardSetup) -> Self {
        let hosts = setup.hosts.cards.len();
        let mut shard = Self {
            number: setup.number,
            now: 0,
            calendar: Calendar::new(setup.events_per_microsecond, setup.groups),
            armed: vec![u64::MAX; setup.switches.len()],
            cables: setup.cables,
            hosts: setup.hosts,
            uplinks: setup.uplinks,
            wakes: vec![u64::MAX; hosts],
            frames: Frames::default(),
            made: Vec::new(),
            scratch: Scratch::default(),
            independent: independent(&setup.switches),
            switches: setup.switches,
            storage: FastestFrame::new(),
            working: None,
            posts: (0..setup.shards).map(|_| Post::default()).collect(),
            losses: Losses::default(),
            events: 0,
            hops: 0,
            received: 0,
        };
        for host in 0..hosts {
            shard.serve_card(host);
        }
        shard.follow_jobs();
        shard
    }

    /// When the next event is; `u64::MAX` for never.
    pub(crate) fn first(&self) -> u64 {
        self.calendar.first().unwrap_or(u64::MAX)
    }

    /// Runs what comes before a time, or up to a number of events in all and what is simulated
    /// together with the last of them; whether that time was reached.
    pub(crate) fn run(&mut self, before: u64, most_events: u64) -> bool {
        let Some(until) = before.checked_sub(1) else {
            return true;
        };
        let mut latest = self.now;
        let mut ended = false;
        while self.events < most_events && !ended {
            ended = !self.calendar.begin(until);
            while self.calendar.next_group() {
                self.prefetch_next_group();
                self.look_ahead();
                while let Some((at, event)) = self.calendar.next() {
                    self.now = at;
                    latest = latest.max(at);
                    // A device counts what it does when something is due.
                    self.events += u64::from(event.kind() != EventKind::Due);
                    self.dispatch(event);
                }
            }
        }
        self.now = latest;
        ended
    }

    #[inline]
    fn dispatch(&mut self, event: Event) {
        let node = event.node() as usize;
        match event.kind() {
            EventKind::AtSwitch | EventKind::Processed => self.at_switch(event),
            EventKind::AtHost => self.at_host(event),
            EventKind::InHost => self.in_host(event),
            EventKind::Due => {
                if self.armed[node] == self.now {
                    self.armed[node] = u64::MAX;
                }
                self.transmit(node, Nanos::new(self.now));
            }
            EventKind::Wake => {
                if self.wakes[node] == self.now {
                    self.wakes[node] = u64::MAX;
                }
                self.serve_card(node);
            }
            EventKind::Flow => self.time_out(node, event.number()),
            EventKind::Job => {
                self.hosts.begin_job(event.number(), self.now);
                self.follow_jobs();
            }
            EventKind::Word => {
                self.hosts.workloads.rest(event.number(), self.now);
                self.follow_jobs();
            }
            EventKind::Pause => self.send_pause(node, Priority::new(event.port() as u8)),
        }
    }

    /// Has what comes soon fetched to the cache: it was touched long ago, and memory is slow.
    fn prefetch_next_group(&self) {
        for event in self.calendar.ahead() {
            if matches!(event.kind(), EventKind::AtSwitch | EventKind::AtHost) {
                self.frames.prefetch(event.number());
            }
            match event.kind() {
                EventKind::AtSwitch => {
                    self.switches[event.node() as usize].prefetch(PortId::new(event.port()));
                }
                EventKind::Due => self.switches[event.node() as usize].prefetch_transmit(),
                _ => {}
            }
        }
    }

    /// Runs a switch's program on the frames that arrive there in the turn that begins, all at
    /// once, where that makes no difference: no packet leaves anything to another one, and tables
    /// and links change between windows alone.
    fn look_ahead(&mut self) {
        let arrives = |event: &Event| event.kind() == EventKind::AtSwitch;
        let first = self.calendar.turn_mut().find(|event| arrives(event));
        let Some(node) = first.map(|event| event.node()) else {
            return;
        };
        let switch = node as usize;
        if !self.independent[switch] {
            return;
        }
        self.hand_storage_to(switch);
        let device = &mut self.switches[switch];
        let mut packets: [(PortId, &[u8]); MOST_AHEAD] = [(PortId::new(0), &[]); MOST_AHEAD];
        let mut count = 0;
        // On others, at other switches of the group among them, the program is run when they come.
        let turn = self.calendar.turn_mut();
        for event in turn.filter(|event| arrives(event) && event.node() == node) {
            let bytes = self.frames.get(event.number(), event.held().into());
            let port = PortId::new(event.port());
            if device.runs_program(&Frame::new(port, bytes))
                && let Some(place) = packets.get_mut(count)
            {
                *event = event.with_kind(EventKind::Processed);
                *place = (port, bytes);
                count += 1;
            }
        }
        device.look_ahead(&mut self.scratch, Nanos::new(self.now), &packets[..count]);
    }

    /// Takes in what another shard has sent.
    pub(crate) fn receive(&mut self, post: &mut Post) {
        for flow in post.flows.drain(..) {
            self.hosts.keep(flow);
        }
        self.received += post.events.len() as u64;
        let mut rest = post.bytes.as_slice();
        for &(at, mut event) in &post.events {
            if matches!(event.kind(), EventKind::AtSwitch | EventKind::AtHost) {
                let (frame, more) = rest.split_at(usize::from(event.held()).min(rest.len()));
                event = event.with_number(self.frames.put(frame));
                rest = more;
            }
            self.calendar.add(at, event);
        }
        post.clear();
    }

    fn at_switch(&mut self, event: Event) {
        let switch = event.node() as usize;
        let now = Nanos::new(self.now);
        let looked_ahead = event.kind() == EventKind::Processed;
        if !looked_ahead {
            self.hand_storage_to(switch);
        }
        let frame = Frame {
            port: PortId::new(event.port()),
            bytes: self.frames.get(event.number(), event.held().into()),
            padding: event.padding().into(),
            looked_ahead,
        };
        self.switches[switch].accept_with(&mut self.scratch, now, &[frame]);
        self.frames.free(event.number());
        self.hops += 1;
        for drop in self.scratch.drops() {
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
        // What is due at this moment comes after all frames that arrive in it.
        let next = self.calendar.peek();
        let more = next.is_some_and(|(at, next)| {
            at == self.now && next.is_at_switch() && next.node() == event.node()
        });
        if !more {
            self.transmit(switch, now);
        }
    }

    /// Has a switch work with the storage that all share, if it does not already.
    #[inline]
    fn hand_storage_to(&mut self, switch: usize) {
        if self.working == Some(switch) {
            return;
        }
        for switch in self.working.into_iter().chain([switch]) {
            let executor = self.switches[switch].executor_mut();
            executor.swap_frame(&mut self.storage);
        }
        self.working = Some(switch);
    }

    /// Puts on the cables what a switch sends up to `due`, and notes when it has something to do
    /// again.
    #[inline]
    fn transmit(&mut self, switch: usize, due: Nanos) {
        let device = &mut self.switches[switch];
        let mut next = device.poll_timeout();
        if next.is_some_and(|at| at <= due) {
            let before = device.tasks();
            self.take_sent(switch, due);
            let device = &self.switches[switch];
            self.events += device.tasks() - before;
            next = device.poll_timeout();
        }
        if let Some(at) = next.map(Nanos::get)
            && at < self.armed[switch]
        {
            self.armed[switch] = at;
            let due = Event::new(EventKind::Due, switch as u32, 0);
            self.calendar.add(at, due);
        }
    }

    /// Puts on the cables what a switch sends up to `due`.
    fn take_sent(&mut self, switch: usize, due: Nanos) {
        let device = &mut self.switches[switch];
        while let Some(sent) = device.poll_transmit(due) {
            let port = usize::from(sent.port.get());
            let Some(Some(far)) = self.cables[switch].get(port) else {
                continue;
            };
            let at = on_cable(self.now, sent.until.get(), far);
            let arrival = far.arrival(sent.bytes, sent.padding);
            if far.shard == self.number {
                let arrival = arrival.with_number(self.frames.put(sent.bytes));
                self.calendar.add(at, arrival);
            } else {
                self.posts[usize::from(far.shard)].add(at, arrival, sent.bytes);
            }
        }
    }

    /// Puts on the cables what a change of a switch between two events has set off. What is due at
    /// this moment comes after the frames that arrive in it.
    pub(crate) fn follow_up(&mut self, switch: usize) {
        self.transmit(switch, Nanos::new(self.now) - Nanos::new(1));
    }

    fn at_host(&mut self, event: Event) {
        let host = event.node() as usize;
        if !self.hosts.cards[host].up {
            self.frames.free(event.number());
            self.losses.link_down += 1;
            return;
        }
        let frame = self.frames.get(event.number(), event.held().into());
        match self.hosts.delay(host, self.now, frame) {
            0 => self.in_host(event),
            delay => {
                let later = event.with_kind(EventKind::InHost);
                self.calendar.add(self.now + delay, later);
            }
        }
    }

    fn in_host(&mut self, event: Event) {
        let host = event.node() as usize;
        self.frames.free(event.number());
        let frame = self.frames.get(event.number(), event.held().into());
        match self.hosts.receive(host, self.now, frame) {
            FrameEffect::Nothing => {}
            FrameEffect::Now => self.serve_card(host),
            FrameEffect::At(at) => self.wake(host, at),
        }
        self.follow_jobs();
    }

    /// Has hosts send what jobs have given them, jobs begin when they are due, and others know what
    /// they are to know.
    fn follow_jobs(&mut self) {
        while let Some((shard, flow)) = self.hosts.opened.pop() {
            self.posts[usize::from(shard)].flows.push(flow);
        }
        while let Some(host) = self.hosts.woken.pop() {
            self.serve_card(host as usize);
        }
        while let Some((at, turn)) = self.hosts.workloads.due.pop() {
            let (_, host) = self.hosts.workloads.turn(turn);
            let job = Event::numbered(EventKind::Job, host as u32, turn);
            self.calendar.add(at, job);
        }
        while let Some(word) = self.hosts.word() {
            let (workload, _) = self.hosts.workloads.turn(word.turn);
            let told =
                Event::new(EventKind::Word, word.host, workload as u16).with_number(word.turn);
            let at = word.at.max(self.now + 1);
            match self.hosts.shard_of(word.host as usize) {
                shard if shard == self.number => self.calendar.add(at, told),
                shard => self.posts[usize::from(shard)].add(at, told, &[]),
            }
        }
    }

    fn wake(&mut self, host: usize, at: u64) {
        if at < self.wakes[host] {
            self.wakes[host] = at;
            let wake = Event::new(EventKind::Wake, host as u32, 0);
            self.calendar.add(at, wake);
        }
    }

    /// Lets a host's card send what it may.
    fn serve_card(&mut self, host: usize) {
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
            let timer = Event::numbered(EventKind::Flow, host as u32, flow);
            self.calendar.add(at, timer);
        }
        let far = &self.uplinks[host];
        let padding = length - self.made.len() as u32;
        let at = on_cable(self.now, until, far);
        let arrival = far.arrival(&self.made, padding);
        if far.shard == self.number {
            let arrival = arrival.with_number(self.frames.put(&self.made));
            self.calendar.add(at, arrival);
        } else {
            self.posts[usize::from(far.shard)].add(at, arrival, &self.made);
        }
        self.wake(host, until);
    }

    fn time_out(&mut self, host: usize, flow: u32) {
        if let Some(at) = self.hosts.time_out(flow, self.now) {
            let timer = Event::numbered(EventKind::Flow, host as u32, flow);
            self.calendar.add(at, timer);
            self.serve_card(host);
        }
    }

    /// A host pauses its switch for a class until some time.
    pub(crate) fn pause(&mut self, host: usize, class: Priority, until: u64) {
        self.hosts.cards[host].pausing[usize::from(class.get() & 7)] = until;
        self.send_pause(host, class);
    }

    fn send_pause(&mut self, host: usize, class: Priority) {
        if let Some(at) = self.hosts.send_pause(host, class, self.now) {
            let again = Event::new(EventKind::Pause, host as u32, class.get().into());
            self.calendar.add(at, again);
        }
        self.serve_card(host);
    }

    /// The link of a switch's port fails or works again.
    pub(crate) fn set_port(&mut self, switch: usize, port: PortId, up: bool) {
        let device = &mut self.switches[switch];
        let flushed = |d: &Device<FastestExecutor>| d.buffer().map_or(0, |b| b.counters().flushed);
        let before = flushed(device);
        // Cables are plugged into ports that there are.
        let _ = device.set_link_up(Nanos::new(self.now), port, up);
        self.losses.link_down += flushed(device) - before;
        self.follow_up(switch);
    }

    /// The link of a host's card fails or works again.
    pub(crate) fn set_card(&mut self, host: usize, up: bool) {
        self.hosts.cards[host].up = up;
        self.serve_card(host);
    }
}

/// By switch: whether packets of its program are independent of each other. Switches share
/// programs, of which each is looked at once.
fn independent(switches: &[Device<FastestExecutor>]) -> Vec<bool> {
    let mut known = BTreeMap::new();
    let programs = switches
        .iter()
        .map(|switch| switch.executor().state().program());
    let verdicts = programs.map(|program| {
        let verdict = known.entry(Arc::as_ptr(program));
        *verdict.or_insert_with(|| p4exec::are_packets_independent(program))
    });
    verdicts.collect()
}

/// When a frame is at the far end of a cable whose last bit leaves at `until`. However fast the
/// link and short the cable, that is not in the moment in which it begins to leave: what happens in
/// one moment at different places is independent.
const fn on_cable(now: u64, until: u64, far: &PeerPort) -> u64 {
    let at = until + far.delay;
    if at > now { at } else { now + 1 }
}
