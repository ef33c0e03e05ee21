//! Deadlocks over all switches: who waits for whom, from what each of them tells of its pauses.

use std::collections::BTreeSet;

use device::buffer::Snapshot;
use device::deadlock::{self, Deadlock, Detector, QueueId, WaitEdge};
use quantities::PortId;
use simulator::simulate::DeadlockReport;
use simulator::simulate::player;
use topology::{LinkId, NodeId, SwitchId, Topology};

use super::EmulateError;
use super::clock::Clock;
use super::lab::Lab;

/// What is known.
pub(super) struct Watch<'a> {
    topology: &'a Topology,
    /// Links that are down.
    down: BTreeSet<LinkId>,
    detector: Detector,
    found: Vec<Deadlock>,
    graph: Vec<WaitEdge>,
    paused: usize,
}

impl<'a> Watch<'a> {
    pub(super) fn new(topology: &'a Topology) -> Self {
        let links = topology.link_ids();
        Self {
            topology,
            down: links.filter(|id| !topology.is_live(*id)).collect(),
            detector: Detector::default(),
            found: Vec::new(),
            graph: Vec::new(),
            paused: 0,
        }
    }

    /// A link failed, or works again.
    pub(super) fn set_link(&mut self, link: LinkId, up: bool) {
        if up {
            self.down.remove(&link);
        } else {
            self.down.insert(link);
        }
    }

    /// Asks all switches and looks for deadlocks that have become certain.
    pub(super) fn look(&mut self, lab: &Lab, clock: &Clock) -> Result<(), EmulateError> {
        // Before anybody is asked: what has not moved for too long by then has not moved since.
        let now = clock.switches_now();
        let Some(snapshots) = lab.snapshots()? else {
            self.paused = 0;
            return Ok(());
        };
        self.paused = snapshots.iter().map(|s| s.waits.len()).sum();
        let numbered = || snapshots.iter().cloned().enumerate();
        let peer = peer(self.topology, &self.down);
        let found = self.detector.scan_of(now, numbered(), &peer);
        if !found.is_empty() && self.graph.is_empty() {
            self.graph = deadlock::wait_for_of(numbered(), &peer);
        }
        self.found.extend(found);
        Ok(())
    }

    /// Queues that can never move again, now.
    pub(super) fn stuck(&self, lab: &Lab) -> Result<usize, EmulateError> {
        let snapshots: Vec<Snapshot> = lab.snapshots()?.unwrap_or_default();
        let peer = peer(self.topology, &self.down);
        Ok(deadlock::stuck_of(snapshots.into_iter().enumerate(), peer).len())
    }

    /// Paused queues when they were last looked at.
    pub(super) const fn paused(&self) -> usize {
        self.paused
    }

    /// The deadlocks so far, each by its shortest cycle.
    pub(super) fn names(&self) -> Vec<String> {
        let cycle = |found: &Deadlock| {
            let names: Vec<String> = found.cycle.iter().map(|queue| self.name(*queue)).collect();
            names.join(" waits for ")
        };
        self.found.iter().map(cycle).collect()
    }

    /// Who waited for whom when the first deadlock was certain.
    pub(super) fn graph(&self) -> Vec<[String; 2]> {
        let edges = self.graph.iter();
        edges
            .map(|edge| [self.name(edge.from), self.name(edge.to)])
            .collect()
    }

    fn name(&self, queue: QueueId) -> String {
        player::queue(self.topology, queue.switch, queue.port, queue.class)
    }

    /// The deadlocks in the scenario's time.
    pub(super) fn reports(&self, clock: &Clock) -> Vec<DeadlockReport> {
        let report = |found: &Deadlock| DeadlockReport {
            closed_us: clock.of_switch(found.closed) as f64 / 1e3,
            confirmed_us: clock.of_switch(found.confirmed) as f64 / 1e3,
            ..player::deadlock(self.topology, found)
        };
        self.found.iter().map(report).collect()
    }
}

/// The switch and port at the far end of a port, where there is one and the link works.
fn peer<'a>(
    topology: &'a Topology,
    down: &'a BTreeSet<LinkId>,
) -> impl Fn(usize, PortId) -> Option<(usize, PortId)> + 'a {
    |switch, port| {
        let peer = topology.peer(SwitchId::new(u32::try_from(switch).ok()?), port)?;
        match peer.end.node {
            NodeId::Switch(next) if !down.contains(&peer.link) => {
                Some((next.index(), peer.end.port))
            }
            _ => None,
        }
    }
}
