//! Detection of deadlocks: queues that can never move again, whatever happens elsewhere.
//!
//! A queue that is paused waits for an input port and class of the next switch; that one may go on
//! when enough of the packets charged to it have left; and they wait in queues of that switch. So
//! the set of queues that can never move again is a greatest fixed point: begin with all paused
//! queues, and leave out, until none is left to leave out, every queue whose far end would go on if
//! all packets outside the set left. What remains is stuck whatever happens elsewhere, for each
//! queue in it waits for others in it: it holds a cycle. It is reported when nothing in it moved
//! for longer than any pause lasts.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use quantities::{Bytes, Nanos, PortId, Priority};

use crate::buffer::{Buffer, Resume, Snapshot};

/// A queue of a network: a switch by its number, an output port, EG_PRIO.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct QueueId {
    /// The switch.
    pub switch: usize,
    /// The output port.
    pub port: PortId,
    /// The class.
    pub class: Priority,
}

/// A deadlock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deadlock {
    /// A shortest cycle: each queue waits for the next, and the last for the first.
    pub cycle: Vec<QueueId>,
    /// All queues that wait for each other in a circle, in order.
    pub circle: Vec<QueueId>,
    /// All queues that wait for the circle and can never move again, the circle included.
    pub stuck: Vec<QueueId>,
    /// When the circle closed: from then on nothing in it moved.
    pub closed: Nanos,
    /// When that was certain: nothing moved for longer than any pause lasts.
    pub confirmed: Nanos,
}

/// A queue that waits for the packets of other queues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitEdge {
    /// Who waits.
    pub from: QueueId,
    /// For whom.
    pub to: QueueId,
}

/// The wait-for graph of a network's paused queues: from every queue to those of the next switch
/// that hold its buffer there.
pub fn wait_for<'a>(
    buffers: impl IntoIterator<Item = (usize, &'a Buffer)>,
    peer: impl Fn(usize, PortId) -> Option<(usize, PortId)>,
) -> Vec<WaitEdge> {
    wait_for_of(snapshots(buffers), peer)
}

/// The same, of what the switches told.
pub fn wait_for_of(
    snapshots: impl IntoIterator<Item = (usize, Snapshot)>,
    peer: impl Fn(usize, PortId) -> Option<(usize, PortId)>,
) -> Vec<WaitEdge> {
    let network = Network::new(snapshots, &peer);
    let all: BTreeSet<QueueId> = network.waits.keys().copied().collect();
    let edges = all.iter().flat_map(|&from| {
        let ahead = network.ahead(from, &all);
        ahead.into_iter().map(move |to| WaitEdge { from, to })
    });
    edges.collect()
}

/// The queues that can never move again, whatever happens elsewhere.
pub fn stuck<'a>(
    buffers: impl IntoIterator<Item = (usize, &'a Buffer)>,
    peer: impl Fn(usize, PortId) -> Option<(usize, PortId)>,
) -> Vec<QueueId> {
    stuck_of(snapshots(buffers), peer)
}

/// The same, of what the switches told.
pub fn stuck_of(
    snapshots: impl IntoIterator<Item = (usize, Snapshot)>,
    peer: impl Fn(usize, PortId) -> Option<(usize, PortId)>,
) -> Vec<QueueId> {
    let network = Network::new(snapshots, &peer);
    network.stuck().into_iter().collect()
}

fn snapshots<'a>(
    buffers: impl IntoIterator<Item = (usize, &'a Buffer)>,
) -> impl Iterator<Item = (usize, Snapshot)> {
    let numbered = buffers.into_iter();
    numbered.map(|(switch, buffer)| (switch, buffer.snapshot()))
}

/// Watches a network for deadlocks.
#[derive(Clone, Debug, Default)]
pub struct Detector {
    /// Queues of deadlocks that were reported.
    known: BTreeSet<QueueId>,
}

impl Detector {
    /// The deadlocks that are certain now and were not before.
    ///
    /// `buffers` are all switches with their numbers; `peer` tells which switch and port stands at
    /// the far end of a port, nothing where a host does or the link is down.
    pub fn scan<'a>(
        &mut self,
        now: Nanos,
        buffers: impl IntoIterator<Item = (usize, &'a Buffer)>,
        peer: impl Fn(usize, PortId) -> Option<(usize, PortId)>,
    ) -> Vec<Deadlock> {
        let buffers: Vec<(usize, &Buffer)> = buffers.into_iter().collect();
        // Looking at every packet that waits is dear, and in vain as long as all queues move.
        if self.known.is_empty() && !buffers.iter().any(|(_, b)| b.stands_still(now)) {
            return Vec::new();
        }
        self.scan_of(now, snapshots(buffers), peer)
    }

    /// The same, of what the switches told. They need not have told it at the same moment: what is
    /// reported has not moved since before the oldest of them, if none is older than a pause can
    /// last.
    pub fn scan_of(
        &mut self,
        now: Nanos,
        snapshots: impl IntoIterator<Item = (usize, Snapshot)>,
        peer: impl Fn(usize, PortId) -> Option<(usize, PortId)>,
    ) -> Vec<Deadlock> {
        let network = Network::new(snapshots, &peer);
        let stuck = network.stuck();
        self.known.retain(|queue| stuck.contains(queue));
        let mut found = Vec::new();
        for circle in network.circles(&stuck) {
            if circle.iter().any(|queue| self.known.contains(queue)) {
                self.known.extend(circle);
                continue;
            }
            let waits = circle.iter().filter_map(|queue| network.waits.get(queue));
            let (mut closed, mut timer) = (Nanos::default(), Nanos::default());
            for wait in waits {
                closed = closed.max(wait.since);
                timer = timer.max(wait.timer);
            }
            if now.get().saturating_sub(closed.get()) <= timer.get() {
                continue;
            }
            let cycle = network.shortest_cycle(&circle);
            self.known.extend(&circle);
            found.push(Deadlock {
                stuck: network.behind(&circle, &stuck),
                cycle,
                circle: circle.into_iter().collect(),
                closed,
                confirmed: now,
            });
        }
        found
    }
}

/// A paused queue, and the input port and class of the next switch that it waits for.
struct Waiting {
    since: Nanos,
    timer: Nanos,
    /// The switch, input port and class it waits for; nothing if a host paused it.
    far: Option<(usize, PortId, Priority)>,
    held: Vec<(PortId, Priority, u64)>,
}

/// The paused queues of a network.
struct Network {
    resume: BTreeMap<usize, Resume>,
    waits: BTreeMap<QueueId, Waiting>,
}

impl Network {
    fn new(
        snapshots: impl IntoIterator<Item = (usize, Snapshot)>,
        peer: &impl Fn(usize, PortId) -> Option<(usize, PortId)>,
    ) -> Self {
        let snapshots: BTreeMap<usize, Snapshot> = snapshots.into_iter().collect();
        let resume = snapshots
            .iter()
            .map(|(&switch, s)| (switch, s.resume))
            .collect();
        let held_back: BTreeSet<(usize, PortId, Priority)> = snapshots
            .iter()
            .flat_map(|(&switch, s)| s.held_back.iter().map(move |h| (switch, h.port, h.class)))
            .collect();
        let mut waits = BTreeMap::new();
        for (switch, snapshot) in snapshots {
            for wait in snapshot.waits {
                let (port, class) = (wait.port, wait.class);
                let far = peer(switch, port).map(|(next, port)| (next, port, class));
                let held = wait.held.iter().map(|h| (h.port, h.class, h.bytes.get()));
                let waiting = Waiting {
                    since: wait.since,
                    timer: wait.timer,
                    // A resume is on its way where the far end is not held back any more.
                    far: far.filter(|far| held_back.contains(far)),
                    held: held.collect(),
                };
                waits.insert(
                    QueueId {
                        switch,
                        port,
                        class,
                    },
                    waiting,
                );
            }
        }
        Self { resume, waits }
    }

    /// The greatest set of queues none of which can move before another one in it does.
    fn stuck(&self) -> BTreeSet<QueueId> {
        let mut stuck: BTreeSet<QueueId> = self.waits.keys().copied().collect();
        loop {
            // What the stuck queues hold, by switch, and by switch, input port and class.
            let mut totals: BTreeMap<usize, u64> = BTreeMap::new();
            let mut charged: BTreeMap<(usize, PortId, Priority), u64> = BTreeMap::new();
            for queue in &stuck {
                for &(port, class, bytes) in self.waits.get(queue).iter().flat_map(|w| &w.held) {
                    *totals.entry(queue.switch).or_default() += bytes;
                    *charged.entry((queue.switch, port, class)).or_default() += bytes;
                }
            }
            let stays = |queue: &QueueId| {
                let Some(far) = self.waits.get(queue).and_then(|w| w.far) else {
                    return false;
                };
                let total = totals.get(&far.0).copied().unwrap_or(0);
                let resume = self.resume.get(&far.0);
                let limit = resume.map(|resume| resume.limit(Bytes::new(total)));
                let held = charged.get(&far).copied().unwrap_or(0);
                held > 0 && limit.is_some_and(|limit| held > limit.get())
            };
            let before = stuck.len();
            stuck.retain(stays);
            if stuck.len() == before {
                return stuck;
            }
        }
    }

    /// The queues of `within` that a queue waits for.
    fn ahead(&self, queue: QueueId, within: &BTreeSet<QueueId>) -> Vec<QueueId> {
        let Some((switch, port, class)) = self.waits.get(&queue).and_then(|w| w.far) else {
            return Vec::new();
        };
        let holds = |q: &&QueueId| {
            let held = self
                .waits
                .get(q)
                .map(|w| w.held.as_slice())
                .unwrap_or_default();
            held.iter().any(|&(p, c, _)| (p, c) == (port, class))
        };
        within
            .iter()
            .filter(|q| q.switch == switch)
            .filter(holds)
            .copied()
            .collect()
    }

    /// Everything reachable from a queue within a set, each with the queue before it on the way.
    fn reach(&self, from: QueueId, within: &BTreeSet<QueueId>) -> BTreeMap<QueueId, QueueId> {
        let mut parent = BTreeMap::new();
        let mut frontier = VecDeque::from([from]);
        while let Some(at) = frontier.pop_front() {
            for next in self.ahead(at, within) {
                parent.entry(next).or_insert_with(|| {
                    frontier.push_back(next);
                    at
                });
            }
        }
        parent
    }

    /// The strongly connected parts that hold a cycle.
    fn circles(&self, stuck: &BTreeSet<QueueId>) -> Vec<BTreeSet<QueueId>> {
        let reach: BTreeMap<QueueId, BTreeSet<QueueId>> = stuck
            .iter()
            .map(|&q| (q, self.reach(q, stuck).into_keys().collect()))
            .collect();
        let mut circles: Vec<BTreeSet<QueueId>> = Vec::new();
        let reaches = |a: &QueueId, b: &QueueId| reach.get(a).is_some_and(|r| r.contains(b));
        for queue in stuck {
            if !reaches(queue, queue) || circles.iter().any(|c| c.contains(queue)) {
                continue;
            }
            let both = |other: &&QueueId| reaches(queue, other) && reaches(other, queue);
            circles.push(stuck.iter().filter(both).copied().collect());
        }
        circles
    }

    fn shortest_cycle(&self, circle: &BTreeSet<QueueId>) -> Vec<QueueId> {
        let mut best: Vec<QueueId> = Vec::new();
        for &start in circle {
            let parent = self.reach(start, circle);
            let mut cycle = Vec::new();
            let mut at = start;
            while let Some(&before) = parent.get(&at) {
                cycle.push(before);
                at = before;
                if at == start {
                    break;
                }
            }
            cycle.reverse();
            if !cycle.is_empty() && (best.is_empty() || cycle.len() < best.len()) {
                best = cycle;
            }
        }
        best
    }

    /// The stuck queues from which the circle is reached.
    fn behind(&self, circle: &BTreeSet<QueueId>, stuck: &BTreeSet<QueueId>) -> Vec<QueueId> {
        let waits_for = |q: &&QueueId| {
            circle.contains(q) || self.reach(**q, stuck).keys().any(|r| circle.contains(r))
        };
        stuck.iter().filter(waits_for).copied().collect()
    }
}
