//! Breadth-first replay of a policy's walks through the rules, state by state.

use quantities::PortId;
use topology::routes::VirtualReach;
use topology::{ArcId, Fabric, SwitchId};

use super::replay::{Marking, Replay};
use crate::check::rules::lookup::{LOSSY, TagIx};

/// What a policy remembers of a packet beside the link it is on: a small number.
pub(super) type Memory = u32;

/// The walks of a policy as an automaton over links.
pub(super) trait RouteSpace {
    /// How many values the memory has.
    fn memories(&self) -> u32;
    /// The memory of a walk that starts with this link; `None` if none does.
    fn start(&self, arc: ArcId) -> Option<Memory>;
    /// The memory of a walk that goes on with `next`; `None` if none does.
    fn step(&self, arc: ArcId, memory: Memory, next: ArcId) -> Option<Memory>;
    /// Whether a walk may end after this link.
    fn ends(&self, arc: ArcId) -> bool;
    /// Whether a walk may stay at one switch, from host to host.
    fn stays(&self, switch: SwitchId) -> bool;
}

/// A walk that turns lossy.
pub(super) struct Lost {
    /// The first switch.
    pub(super) source: SwitchId,
    /// The port of the source host.
    pub(super) source_port: PortId,
    /// The links up to the switch where it turns lossy.
    pub(super) arcs: Vec<ArcId>,
    /// The tags with which the switches are entered.
    pub(super) tags: Vec<TagIx>,
    /// The port by which it would leave.
    pub(super) out_port: PortId,
}

impl Lost {
    /// Whether no switch is visited twice, the one after the lossy step included.
    pub(super) fn is_simple(&self, fabric: &Fabric) -> bool {
        let mut visited = vec![self.source];
        visited.extend(self.arcs.iter().map(|&arc| fabric.arc(arc).to));
        let last = visited[visited.len() - 1];
        if let Some(arc) = fabric.arc_at(last, self.out_port) {
            visited.push(fabric.arc(arc).to);
        }
        let count = visited.len();
        visited.sort_unstable();
        visited.dedup();
        visited.len() == count
    }
}

/// How a state was reached first.
#[derive(Clone, Copy)]
enum Origin {
    Unseen,
    /// From a host at this port of the link's first switch.
    Host(PortId),
    /// From this state.
    State(u32),
}

/// Replays the walks of a [`RouteSpace`].
pub(super) struct Walker<'a, S, M> {
    replay: &'a Replay<'a, M>,
    fabric: &'a Fabric,
    space: &'a S,
    origins: Vec<Origin>,
    queue: Vec<u32>,
}

impl<'a, S: RouteSpace, M: Marking> Walker<'a, S, M> {
    pub(super) fn new(replay: &'a Replay<'a, M>, fabric: &'a Fabric, space: &'a S) -> Self {
        let states =
            fabric.arcs().len() * space.memories() as usize * replay.marking.tag_count().max(1);
        Self {
            replay,
            fabric,
            space,
            origins: vec![Origin::Unseen; states],
            queue: Vec::new(),
        }
    }

    fn tag_count(&self) -> u32 {
        u32::try_from(self.replay.marking.tag_count()).unwrap_or(u32::MAX)
    }

    fn split(&self, state: u32) -> (ArcId, Memory, TagIx) {
        let tag = TagIx::try_from(state % self.tag_count()).unwrap_or(TagIx::MAX);
        let rest = state / self.tag_count();
        let memories = self.space.memories();
        (ArcId::new(rest / memories), rest % memories, tag)
    }

    fn reach(&mut self, arc: ArcId, memory: Memory, tag: TagIx, origin: Origin) {
        let place = arc.index() * self.space.memories() as usize + memory as usize;
        let state = place * self.tag_count() as usize + usize::from(tag);
        if matches!(self.origins[state], Origin::Unseen) {
            self.origins[state] = origin;
            self.queue.push(u32::try_from(state).unwrap_or(u32::MAX));
        }
    }

    /// The walk that turns lossy first, by number of links; `None` if all stay lossless.
    pub(super) fn first_lost(mut self) -> Option<Lost> {
        if let Some(lost) = self.start() {
            return Some(lost);
        }
        let mut done = 0;
        while let Some(&state) = self.queue.get(done) {
            done += 1;
            if let Some(out_port) = self.expand(state) {
                return Some(self.trace(state, out_port));
            }
        }
        None
    }

    fn start(&mut self) -> Option<Lost> {
        let initial = self.replay.initial;
        for switch in self.fabric.switch_ids() {
            for source in self.fabric.attachments(switch) {
                let lost = |out_port| Lost {
                    source: switch,
                    source_port: source.port,
                    arcs: vec![],
                    tags: vec![initial],
                    out_port,
                };
                if self.space.stays(switch) {
                    let hosts = self.fabric.attachments(switch);
                    if let Some(port) = self.replay.leaves(switch, initial, source.port, hosts) {
                        return Some(lost(port));
                    }
                }
                for (id, arc) in self.fabric.out_arcs(switch) {
                    let Some(memory) = self.space.start(id) else {
                        continue;
                    };
                    let replay = self.replay;
                    for tag in replay.step(switch, initial, source.port, arc.out_port) {
                        match tag {
                            LOSSY => return Some(lost(arc.out_port)),
                            tag => self.reach(id, memory, tag, Origin::Host(source.port)),
                        }
                    }
                }
            }
        }
        None
    }

    /// Follows all continuations of a state; the port of the first that turns lossy.
    fn expand(&mut self, state: u32) -> Option<PortId> {
        let (id, memory, tag) = self.split(state);
        let fabric = self.fabric;
        let arc = fabric.arc(id);
        if self.space.ends(id) {
            let hosts = fabric.attachments(arc.to);
            if let Some(port) = self.replay.leaves(arc.to, tag, arc.in_port, hosts) {
                return Some(port);
            }
        }
        for (next_id, next) in fabric.out_arcs(arc.to) {
            let Some(memory) = self.space.step(id, memory, next_id) else {
                continue;
            };
            let replay = self.replay;
            for tag in replay.step(arc.to, tag, arc.in_port, next.out_port) {
                match tag {
                    LOSSY => return Some(next.out_port),
                    tag => self.reach(next_id, memory, tag, Origin::State(state)),
                }
            }
        }
        None
    }

    fn trace(&self, last: u32, out_port: PortId) -> Lost {
        let mut arcs = Vec::new();
        let mut tags = Vec::new();
        let mut state = last;
        loop {
            let (arc, _, tag) = self.split(state);
            arcs.push(arc);
            tags.push(tag);
            match self.origins[state as usize] {
                Origin::State(before) => state = before,
                Origin::Host(source_port) => {
                    tags.push(self.replay.initial);
                    arcs.reverse();
                    tags.reverse();
                    return Lost {
                        source: self.fabric.arc(arcs[0]).from,
                        source_port,
                        arcs,
                        tags,
                        out_port,
                    };
                }
                Origin::Unseen => {
                    // Every state in the queue has an origin; an empty walk would be the honest
                    // rest.
                    return Lost {
                        source: self.fabric.arc(arc).from,
                        source_port: out_port,
                        arcs: vec![],
                        tags: vec![self.replay.initial],
                        out_port,
                    };
                }
            }
        }
    }
}

/// Up-down walks with at most so many bounces; the memory is the number of bounces so far.
pub(super) struct UpDown<'a> {
    fabric: &'a Fabric,
    bounces: u32,
    /// The bounces still needed from a switch to a host, by arrival from below (or from a host
    /// there) and from above.
    need: [Vec<u32>; 2],
}

/// There is no way to a host.
const NEVER: u32 = u32::MAX;

impl<'a> UpDown<'a> {
    pub(super) fn new(fabric: &'a Fabric, bounces: u8) -> Self {
        let switches = fabric.switch_count();
        let mut space = Self {
            fabric,
            bounces: u32::from(bounces),
            need: [vec![NEVER; switches], vec![NEVER; switches]],
        };
        for switch in fabric.edge_switches() {
            space.need[0][switch.index()] = 0;
            space.need[1][switch.index()] = 0;
        }
        // Every round shortens some need or ends the loop; layers are few, so rounds are few.
        let mut changed = true;
        while changed {
            changed = false;
            for (id, arc) in (0..).map(ArcId::new).zip(fabric.arcs()) {
                let up = fabric.is_up(id);
                let rest = space.need[usize::from(!up)][arc.to.index()];
                for descending in [false, true] {
                    let need = rest.saturating_add(u32::from(descending && up));
                    let known = &mut space.need[usize::from(descending)][arc.from.index()];
                    if need < *known {
                        *known = need;
                        changed = true;
                    }
                }
            }
        }
        space
    }

    /// Whether a walk that has this many bounces, the arc's own included, can still end.
    fn viable(&self, arc: ArcId, bounces: u32) -> Option<Memory> {
        let up = self.fabric.is_up(arc);
        let need = self.need[usize::from(!up)][self.fabric.arc(arc).to.index()];
        (bounces.saturating_add(need) <= self.bounces).then_some(bounces)
    }
}

impl RouteSpace for UpDown<'_> {
    fn memories(&self) -> u32 {
        self.bounces + 1
    }

    fn start(&self, arc: ArcId) -> Option<Memory> {
        self.viable(arc, 0)
    }

    fn step(&self, arc: ArcId, memory: Memory, next: ArcId) -> Option<Memory> {
        if next == self.fabric.reverse(arc) {
            return None;
        }
        let bounce = !self.fabric.is_up(arc) && self.fabric.is_up(next);
        self.viable(next, memory + u32::from(bounce))
    }

    fn ends(&self, _: ArcId) -> bool {
        true
    }

    fn stays(&self, _: SwitchId) -> bool {
        true
    }
}

/// Walks up and down through virtual layers with at most so many bounces; the memory is the number
/// of bounces so far.
pub(super) struct VirtualUpDown<'a> {
    fabric: &'a Fabric,
    bounces: u8,
    reach: VirtualReach,
}

impl<'a> VirtualUpDown<'a> {
    pub(super) fn new(fabric: &'a Fabric, bounces: u8) -> Self {
        let hosts = |switch| !fabric.attachments(switch).is_empty();
        let targets: Vec<bool> = fabric.switch_ids().map(hosts).collect();
        Self {
            fabric,
            bounces,
            reach: VirtualReach::new(fabric, &targets, bounces),
        }
    }

    /// Whether a walk that has this many bounces, the arc's own included, can still end.
    fn viable(&self, arc: ArcId, bounces: u32) -> Option<Memory> {
        let left = self.bounces.checked_sub(u8::try_from(bounces).ok()?)?;
        let rank = self.fabric.rank(arc)?;
        let leads = self.reach.leads(rank, self.fabric.arc(arc).to, left);
        leads.then_some(bounces)
    }
}

impl RouteSpace for VirtualUpDown<'_> {
    fn memories(&self) -> u32 {
        u32::from(self.bounces) + 1
    }

    fn start(&self, arc: ArcId) -> Option<Memory> {
        self.viable(arc, 0)
    }

    fn step(&self, arc: ArcId, memory: Memory, next: ArcId) -> Option<Memory> {
        if next == self.fabric.reverse(arc) {
            return None;
        }
        let bounce = self.fabric.rank(next) <= self.fabric.rank(arc);
        self.viable(next, memory + u32::from(bounce))
    }

    fn ends(&self, _: ArcId) -> bool {
        true
    }

    fn stays(&self, _: SwitchId) -> bool {
        true
    }
}
