//! Workloads while they run: jobs that begin by chance, the flows they are made of, and when they
//! are done.
//!
//! A job is one flow to a host drawn at random, or an incast: requests to so many hosts, each of
//! which answers, done when all answers are there. Every host has its own sequence of drawn
//! numbers, so that jobs are the same whatever the network does to them; where the next job waits
//! for the last, only its time differs.
//!
//! Nobody knows more than he has been told: a host knows that a flow has arrived when the last
//! acknowledgement is there, or, where nothing is acknowledged, as long after the arrival as the
//! shortest frame takes. So the parts of a network that are simulated beside each other need not
//! look into each other.

use std::sync::Arc;

use topology::HostId;

use super::chance::Chance;
use super::flow::{Arrivals, Flow, HEAD, Role, Sender, Task, checksum};
use super::sender::Dcqcn;
use super::window::{Window, WindowRules};

/// When jobs begin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Arriving {
    /// So many in a second at every host, independent of each other.
    Poisson(f64),
    /// One at a time at every host; the next one up to so many nanoseconds after the last was done.
    Closed(u64),
}

/// How flows of a workload are sent.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Sending {
    Open,
    Window(WindowRules),
    Rate,
}

/// A workload as the scenario has it, looked up.
#[derive(Clone, Debug)]
pub(crate) struct Workload {
    pub(crate) name: String,
    pub(crate) arriving: Arriving,
    /// How many hosts answer to one; nothing for single flows.
    pub(crate) servers: Option<usize>,
    /// Bytes of a flow, or of each answer: one of these.
    pub(crate) sizes: Vec<u64>,
    /// Bytes of a request.
    pub(crate) request: u32,
    pub(crate) start: u64,
    pub(crate) stop: u64,
    pub(crate) class: u8,
    pub(crate) spray: bool,
    pub(crate) packet: u32,
    pub(crate) sending: Sending,
    /// The first bytes of any data frame and of any answer to one: what does not depend on the
    /// hosts is right in them.
    pub(crate) data: [u8; HEAD],
    pub(crate) answer: [u8; HEAD],
}

/// What frames to and from a host have of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Address {
    pub(crate) mac: [u8; 6],
    /// Where it sends frames to, if not to the receiver itself.
    pub(crate) next: Option<[u8; 6]>,
    pub(crate) ip: [u8; 4],
    /// Bits per second of its link.
    pub(crate) rate: u64,
}

/// Times between hosts in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Between {
    /// From when a frame of full length is sent in an empty network until the receiving host knows.
    pub(crate) data: u64,
    /// The same for the shortest frame.
    pub(crate) short: u64,
    /// What hosts add to either.
    pub(crate) host_delay: u64,
}

/// A flow's last byte has arrived that was all of a job that another host began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct End {
    /// Who began it.
    pub(crate) host: u32,
    /// [`Task::job`].
    pub(crate) job: u32,
    pub(crate) at: u64,
}

/// Word to a host that its job is done: when it is there, and whose turn at it is next.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Word {
    pub(crate) at: u64,
    pub(crate) host: u32,
    pub(crate) turn: u32,
}

/// What does not change of workloads.
#[derive(Debug, Default)]
pub(crate) struct Demand {
    pub(crate) all: Vec<Workload>,
    pub(crate) hosts: Vec<Address>,
    /// By sender and receiver.
    pub(crate) between: Vec<Between>,
    /// Beyond the bytes of a frame.
    pub(crate) overhead: u64,
}

/// A job.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job {
    pub(crate) workload: u32,
    host: u32,
    /// Bytes of its flow, or of each answer.
    pub(crate) size: u64,
    pub(crate) start: u64,
    /// Flows that are yet to end.
    left: u32,
    pub(crate) done: Option<u64>,
    /// What it would take if nothing else were sent, in nanoseconds.
    pub(crate) optimum: u64,
}

/// See the module documentation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Workloads {
    pub(crate) demand: Arc<Demand>,
    /// By workload and host.
    pub(crate) chance: Vec<Chance>,
    pub(crate) jobs: Vec<Job>,
    /// Bytes that have arrived, by workload.
    pub(crate) bytes: Vec<u64>,
    /// What there is to do when: a workload's turn at a host, by its number.
    pub(crate) due: Vec<(u64, u32)>,
    /// When jobs of one flow were done, as their receivers know it.
    pub(crate) ends: Vec<End>,
    /// Word to hosts that is to be sent.
    pub(crate) words: Vec<Word>,
}

impl Workloads {
    /// Draws when the first jobs begin.
    pub(crate) fn begin(&mut self) {
        for turn in 0..self.chance.len() as u32 {
            let (workload, _) = self.turn(turn);
            let Workload {
                start, arriving, ..
            } = self.demand.all[workload];
            let chance = &mut self.chance[turn as usize];
            let wait = match arriving {
                Arriving::Poisson(rate) => chance.wait(rate),
                Arriving::Closed(pause) => chance.below(pause.saturating_add(1)),
            };
            self.due.push((start.saturating_add(wait), turn));
        }
    }

    /// Workload and host.
    pub(crate) fn turn(&self, turn: u32) -> (usize, usize) {
        let hosts = self.demand.hosts.len();
        (turn as usize / hosts, turn as usize % hosts)
    }

    pub(crate) fn between(&self, from: usize, to: usize) -> Between {
        self.demand.between[from * self.demand.hosts.len() + to]
    }

    /// A job begins at a host: its flows, or its requests, called `ids`.
    pub(crate) fn job(&mut self, turn: u32, now: u64, ids: impl Iterator<Item = u32>) -> Vec<Flow> {
        let (number, host) = self.turn(turn);
        let demand = Arc::clone(&self.demand);
        let workload = &demand.all[number];
        if now >= workload.stop {
            return Vec::new();
        }
        let chance = &mut self.chance[turn as usize];
        let size = workload.sizes[chance.below(workload.sizes.len() as u64) as usize];
        let count = workload.servers.unwrap_or(1);
        let others = drawn(chance, demand.hosts.len(), host, count);
        let ports: Vec<u16> = others.iter().map(|_| chance.port()).collect();
        if let Arriving::Poisson(rate) = workload.arriving {
            let next = now.saturating_add(chance.wait(rate));
            self.due.push((next, turn));
        }
        let task = Task {
            job: self.jobs.len() as u32,
            workload: number as u32,
            size,
        };
        let made: Vec<Flow> = others
            .iter()
            .zip(ports)
            .zip(ids)
            .map(|((&other, port), id)| {
                let (role, bytes) = match workload.servers {
                    Some(_) => (Role::Request(task), workload.request.into()),
                    None => (Role::Shard(task), size),
                };
                self.flow(number, (host, other), bytes, port, (id, now), role)
            })
            .collect();
        let optimum = self.optimum(number, host, &others, size);
        self.jobs.push(Job {
            workload: number as u32,
            host: host as u32,
            size,
            start: now,
            left: count as u32,
            done: None,
            optimum,
        });
        made
    }

    /// What a job takes in an empty network.
    fn optimum(&self, number: usize, host: usize, others: &[usize], size: u64) -> u64 {
        let workload = &self.demand.all[number];
        let (packets, last) = Flow::cut(size, workload.packet);
        let wire = |packets: u64, last: u32| {
            (packets - 1) * (u64::from(workload.packet) + self.demand.overhead)
                + u64::from(last)
                + self.demand.overhead
        };
        let bytes = wire(packets, last);
        let on_link =
            |bytes: u64, host: usize| bytes as f64 * 8e9 / self.demand.hosts[host].rate as f64;
        match workload.servers {
            // The first frame takes its time on all links, the others follow it.
            None => {
                let first = match packets {
                    1 => self.stretched(host, others[0], last, workload.packet),
                    _ => self.between(host, others[0]).data,
                };
                let rest = bytes
                    .saturating_sub(wire(1, if packets == 1 { last } else { workload.packet }));
                first + on_link(rest, host) as u64
            }
            // All answers share the link to the host that asked. They begin to pass it when the
            // first one can be there, and it takes the least of the hosts' times until the last one
            // is known; no answer is there before its own time.
            Some(_) => {
                let frame = if packets == 1 { last } else { workload.packet };
                let one = on_link(wire(1, frame), host) as u64;
                let coordinator = on_link(bytes * others.len() as u64, host) as u64;
                let reached = |&other: &usize| {
                    self.between(host, other).short
                        + self.stretched(other, host, frame, workload.packet)
                };
                let delays = || {
                    others
                        .iter()
                        .map(|&other| self.between(other, host).host_delay)
                };
                let cards = others.iter().zip(delays());
                let first = cards.map(|(other, delay)| reached(other) - delay).min();
                let alone = on_link(bytes - wire(1, frame), host) as u64;
                let own = others.iter().map(|other| reached(other) + alone).max();
                let shared = first.unwrap_or_default()
                    + coordinator.saturating_sub(one)
                    + delays().min().unwrap_or_default();
                shared.max(own.unwrap_or_default())
            }
        }
    }

    /// The time that a frame takes whose length is between the shortest and a full one.
    fn stretched(&self, from: usize, to: usize, length: u32, packet: u32) -> u64 {
        let between = self.between(from, to);
        let shortest = super::flow::ANSWER_LENGTH;
        let span = f64::from(packet.saturating_sub(shortest)).max(1.0);
        let share = f64::from(length.saturating_sub(shortest)) / span;
        let more = between.data.saturating_sub(between.short) as f64;
        between.short + (more * share) as u64
    }

    /// A flow of a workload.
    fn flow(
        &self,
        number: usize,
        (from, to): (usize, usize),
        bytes: u64,
        port: u16,
        (id, now): (u32, u64),
        role: Role,
    ) -> Flow {
        let workload = &self.demand.all[number];
        let (packets, last_packet) = Flow::cut(bytes, workload.packet);
        let rate = self.demand.hosts[from].rate as f64;
        Flow {
            id,
            name: String::new(),
            from: HostId::new(from as u32),
            to: HostId::new(to as u32),
            class: workload.class,
            data: self.head(&workload.data, (from, to), port, id),
            answer: self.head(&workload.answer, (to, from), port, id),
            packet: workload.packet,
            last_packet,
            host_delay: self.between(from, to).host_delay,
            acted: [0; 2],
            rate,
            paced: false,
            spray: workload.spray,
            start: now,
            stop: u64::MAX,
            cycle: None,
            packets,
            sender: match workload.sending {
                Sending::Open => Sender::Open,
                Sending::Window(rules) => Sender::Window(Box::new(Window::new(rules))),
                Sending::Rate => Sender::Rate(Box::new(Dcqcn::new(rate))),
            },
            next: 0,
            due: now as f64,
            sent: 0,
            arrivals: Arrivals::default(),
            timer_at: u64::MAX,
            role,
        }
    }

    /// The first bytes of a frame between two hosts.
    fn head(
        &self,
        base: &[u8; HEAD],
        (from, to): (usize, usize),
        port: u16,
        id: u32,
    ) -> [u8; HEAD] {
        let (from, to) = (&self.demand.hosts[from], &self.demand.hosts[to]);
        let mut head = *base;
        head[0..6].copy_from_slice(&from.next.unwrap_or(to.mac));
        head[6..12].copy_from_slice(&from.mac);
        head[18..20].copy_from_slice(&(id as u16).to_be_bytes());
        head[26..30].copy_from_slice(&from.ip);
        head[30..34].copy_from_slice(&to.ip);
        head[34..36].copy_from_slice(&port.to_be_bytes());
        checksum(&mut head);
        head
    }

    /// A packet of a flow has arrived for the first time.
    pub(crate) fn count(&mut self, flow: &Flow, bytes: u32) {
        if let Role::Shard(task) = flow.role {
            self.bytes[task.workload as usize] += u64::from(bytes);
        }
    }

    /// A flow's last byte has arrived: what its receiver sends because of it, called `id`.
    pub(crate) fn arrived(&mut self, flow: &Flow, now: u64, id: u32) -> Option<Flow> {
        match flow.role {
            Role::Own => None,
            Role::Request(task) => {
                let ends = (flow.to.index(), flow.from.index());
                let port = u16::from_be_bytes([flow.data[34], flow.data[35]]);
                let number = task.workload as usize;
                Some(self.flow(number, ends, task.size, port, (id, now), Role::Shard(task)))
            }
            Role::Shard(task) => {
                match self.demand.all[task.workload as usize].servers {
                    Some(_) => self.answered(task, now),
                    None => self.got(flow, task, now),
                }
                None
            }
        }
    }

    /// An answer is there, at the host that asked.
    fn answered(&mut self, task: Task, now: u64) {
        let Some(job) = self.jobs.get_mut(task.job as usize) else {
            return;
        };
        job.left = job.left.saturating_sub(1);
        if job.left == 0 {
            job.done = Some(now);
            let turn = task.workload * self.demand.hosts.len() as u32 + job.host;
            self.rest(turn, now);
        }
    }

    /// A single flow is there, at another host than the one that began the job.
    fn got(&mut self, flow: &Flow, task: Task, now: u64) {
        let host = flow.from.index() as u32;
        self.ends.push(End {
            host,
            job: task.job,
            at: now,
        });
        let closed = matches!(
            self.demand.all[task.workload as usize].arriving,
            Arriving::Closed(_)
        );
        // A sender with a window knows when the acknowledgement has come.
        if closed && !matches!(flow.sender, Sender::Window(_)) {
            let way = self.between(flow.to.index(), flow.from.index());
            self.words.push(Word {
                at: now.saturating_add(way.short),
                host,
                turn: task.workload * self.demand.hosts.len() as u32 + host,
            });
        }
    }

    /// The sender of a flow knows that all has arrived.
    pub(crate) fn known(&mut self, flow: &Flow, now: u64) {
        if let Role::Shard(task) = flow.role
            && self.demand.all[task.workload as usize].servers.is_none()
        {
            let turn = task.workload * self.demand.hosts.len() as u32 + flow.from.index() as u32;
            self.rest(turn, now);
        }
    }

    /// After a job, the pause before the next one.
    pub(crate) fn rest(&mut self, turn: u32, now: u64) {
        let (workload, _) = self.turn(turn);
        if let Arriving::Closed(pause) = self.demand.all[workload].arriving {
            let wait = self.chance[turn as usize].below(pause.saturating_add(1));
            self.due.push((now.saturating_add(wait), turn));
        }
    }
}

/// So many different hosts, none of them `host`.
fn drawn(chance: &mut Chance, hosts: usize, host: usize, count: usize) -> Vec<usize> {
    let mut others: Vec<usize> = Vec::with_capacity(count);
    while others.len() < count.min(hosts.saturating_sub(1)) {
        let other = chance.below(hosts as u64 - 1) as usize;
        let other = other + usize::from(other >= host);
        if !others.contains(&other) {
            others.push(other);
        }
    }
    others
}
