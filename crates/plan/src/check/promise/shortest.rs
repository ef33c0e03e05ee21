//! Replay of all shortest paths: all destinations at once, a bit each.
//!
//! A packet to destination `d` may be on link `u -> v` iff `v` is nearer to `d` than `u`. For every
//! link that gives a set of destinations; for every (link, tag) the set of destinations of packets
//! that get there grows until nothing changes.

use std::collections::VecDeque;

use rayon::prelude::*;
use topology::{ArcId, Fabric, SwitchId, UNREACHABLE};

use super::replay::{Marking, Replay, Row};
use super::walk::{Lost, Memory, RouteSpace, Walker};
use crate::check::destinations::{BLOCK, Nearer, Set, add, and, first, has, is_empty, without};
use crate::check::rules::lookup::{LOSSY, TagIx};

/// Replays all shortest paths between hosts; the first that turns lossy.
pub(super) fn replay<M: Marking>(replay: &Replay<'_, M>, fabric: &Fabric) -> Option<Lost> {
    let edge: Vec<SwitchId> = fabric.edge_switches().collect();
    let lost = |block: &[SwitchId]| {
        // First in the order in which least has to be followed again; if something is lost, in that
        // in which it has always been told.
        Flood::new(replay, fabric, block, Order::OldestFirst).first_lost()?;
        let target = Flood::new(replay, fabric, block, Order::NewestFirst).first_lost()?;
        Some(block[target])
    };
    let target = edge.par_chunks(BLOCK).find_map_first(lost)?;
    let space = Toward::new(fabric, target);
    Walker::new(replay, fabric, &space).first_lost()
}

/// Which of the states that wait is followed next. All orders find something lost or none does;
/// what they find may differ.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    OldestFirst,
    NewestFirst,
}

/// No destination of the block.
const ELSEWHERE: u32 = u32::MAX;

/// The destinations of one block, under way.
struct Flood<'a, M> {
    replay: &'a Replay<'a, M>,
    fabric: &'a Fabric,
    order: Order,
    /// By switch: its place among the destinations.
    place: Vec<u32>,
    /// By link: the destinations it leads nearer to.
    toward: Vec<Set>,
    /// By tag and link: the destinations of packets that get there.
    live: Vec<Set>,
    /// By tag and link: whether those are all to which the link leads nearer.
    full: Vec<bool>,
    /// By tag and link: those of `live` whose continuations have not been followed yet.
    fresh: Vec<Set>,
    queue: VecDeque<u32>,
}

impl<'a, M: Marking> Flood<'a, M> {
    fn new(
        replay: &'a Replay<'a, M>,
        fabric: &'a Fabric,
        targets: &[SwitchId],
        order: Order,
    ) -> Self {
        let mut place = vec![ELSEWHERE; fabric.switch_count()];
        for (number, target) in (0..).zip(targets) {
            place[target.index()] = number;
        }
        let states = fabric.arcs().len() * replay.marking.tag_count();
        Self {
            replay,
            fabric,
            order,
            place,
            toward: Nearer::new(fabric, targets).toward,
            live: vec![Set::default(); states],
            full: vec![false; states],
            fresh: vec![Set::default(); states],
            queue: VecDeque::new(),
        }
    }

    /// A destination on the way to which some packet turns lossy.
    fn first_lost(&mut self) -> Option<usize> {
        if let Some(target) = self.start() {
            return Some(target);
        }
        while let Some(state) = match self.order {
            Order::OldestFirst => self.queue.pop_front(),
            Order::NewestFirst => self.queue.pop_back(),
        } {
            if let Some(target) = self.expand(state as usize) {
                return Some(target);
            }
        }
        None
    }

    fn start(&mut self) -> Option<usize> {
        let initial = self.replay.initial;
        for switch in self.fabric.switch_ids() {
            let hosts = self.fabric.attachments(switch);
            // Hosts that are treated alike send packets that go the same ways.
            let mut met: Vec<quantities::PortId> = Vec::new();
            for source in hosts {
                if let Some(target) = self.position(switch)
                    && self
                        .replay
                        .leaves(switch, initial, source.port, hosts)
                        .is_some()
                {
                    return Some(target);
                }
                let replay = self.replay;
                let alike = |&port: &quantities::PortId| {
                    let ports = [port, source.port];
                    replay.marking.are_alike(switch, initial, ports)
                };
                if met.iter().any(alike) {
                    continue;
                }
                met.push(source.port);
                for (id, arc) in self.fabric.out_arcs(switch) {
                    let going = self.toward[id.index()];
                    let Some(target) = first(&going) else {
                        continue;
                    };
                    for tag in replay.step(switch, initial, source.port, arc.out_port) {
                        match tag {
                            LOSSY => return Some(target),
                            tag => self.reach(id, tag, &going),
                        }
                    }
                }
            }
        }
        None
    }

    /// The position of a switch among the destinations of this block.
    fn position(&self, switch: SwitchId) -> Option<usize> {
        let place = self.place[switch.index()];
        (place != ELSEWHERE).then_some(place as usize)
    }

    /// The number of a link with a tag.
    fn state(&self, arc: ArcId, tag: TagIx) -> usize {
        usize::from(tag) * self.fabric.arcs().len() + arc.index()
    }

    fn reach(&mut self, arc: ArcId, tag: TagIx, going: &Set) {
        let state = self.state(arc, tag);
        let live = &mut self.live[state];
        let new = without(going, live);
        if is_empty(&new) {
            return;
        }
        add(live, &new);
        self.full[state] = *live == self.toward[arc.index()];
        let fresh = &mut self.fresh[state];
        if is_empty(fresh) {
            self.queue
                .push_back(u32::try_from(state).unwrap_or(u32::MAX));
        }
        add(fresh, &new);
    }

    fn expand(&mut self, state: usize) -> Option<usize> {
        let going = std::mem::take(&mut self.fresh[state]);
        let fabric = self.fabric;
        let arcs = fabric.arcs();
        let arc = arcs[state % arcs.len()];
        let tag = TagIx::try_from(state / arcs.len()).unwrap_or(TagIx::MAX);
        if let Some(target) = self.position(arc.to)
            && has(&going, target)
        {
            let hosts = fabric.attachments(arc.to);
            let lost = self.replay.leaves(arc.to, tag, arc.in_port, hosts);
            if lost.is_some() {
                return Some(target);
            }
        }
        let replay = self.replay;
        let mut rows = replay.marking.rows(arc.to, tag, arc.in_port);
        rows.find_map(|row| self.leave(arc.to, row, &going))
    }

    /// Packets to these destinations leave a switch.
    fn leave(&mut self, switch: SwitchId, row: Row<'_>, going: &Set) -> Option<usize> {
        let fabric = self.fabric;
        for (id, next) in fabric.out_arcs(switch) {
            let Some(tag) = row.get(next.out_port) else {
                continue;
            };
            if tag != LOSSY && self.full[self.state(id, tag)] {
                continue;
            }
            let both = and(going, &self.toward[id.index()]);
            if is_empty(&both) {
                continue;
            }
            match tag {
                LOSSY => return first(&both),
                tag => self.reach(id, tag, &both),
            }
        }
        None
    }
}

/// The shortest paths to one destination.
struct Toward<'a> {
    fabric: &'a Fabric,
    /// Of every switch.
    hops: Vec<u16>,
    target: SwitchId,
}

impl<'a> Toward<'a> {
    fn new(fabric: &'a Fabric, target: SwitchId) -> Self {
        Self {
            fabric,
            hops: fabric.distances(target),
            target,
        }
    }
}

impl RouteSpace for Toward<'_> {
    fn memories(&self) -> u32 {
        1
    }

    fn start(&self, arc: ArcId) -> Option<Memory> {
        let arc = self.fabric.arc(arc);
        let (from, to) = (self.hops[arc.from.index()], self.hops[arc.to.index()]);
        (from != UNREACHABLE && from == to + 1).then_some(0)
    }

    fn step(&self, _: ArcId, _: Memory, next: ArcId) -> Option<Memory> {
        self.start(next)
    }

    fn ends(&self, arc: ArcId) -> bool {
        self.fabric.arc(arc).to == self.target
    }

    fn stays(&self, switch: SwitchId) -> bool {
        switch == self.target
    }
}
