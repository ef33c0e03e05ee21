//! Depth-first enumeration of simple paths, steered so that it seldom runs into a dead end.
//!
//! The search holds one path and a cursor per switch of it; whatever the number of paths, memory is
//! the length of the longest. A [`Guide`] says which arcs may follow and prunes those from which no
//! acceptable switch can be reached any more.

use std::sync::Arc;

use super::virtual_layers::{VirtualReach, bounces};
use crate::{ArcId, Fabric, SwitchId, UNREACHABLE};

/// What a guide needs to know of the path so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Progress {
    /// Arcs so far.
    hops: u16,
    /// Bounces so far.
    bounces: u8,
    /// Whether the last arc led down.
    descending: bool,
    /// The rank of the last arc, where arcs have ranks.
    rank: Option<u16>,
}

/// Where paths may go and where they may end.
#[derive(Clone, Debug)]
pub(super) enum Guide {
    /// Along the shortest paths from the source; `hops` are the distances from it and `useful` says
    /// from where a target lies further on.
    Outward { hops: Vec<u16>, useful: Vec<bool> },
    /// Any simple path of at most `most` arcs; `hops` are the distances to the nearest target.
    Within { hops: Vec<u16>, most: u16 },
    /// Up and down with at most `most` bounces; `need` are the bounces still needed from a switch
    /// to the nearest target, by arrival from below (or at the source) and from above.
    UpDown { need: [Vec<u8>; 2], most: u8 },
    /// Up and down through virtual layers with at most `most` bounces.
    VirtualUpDown { reach: VirtualReach, most: u8 },
}

/// More bounces than any path has: there is no way to a target.
const NEVER: u8 = u8::MAX;

impl Guide {
    /// Shortest paths from `source` to the targets.
    pub(super) fn shortest(fabric: &Fabric, source: SwitchId, targets: &[bool]) -> Self {
        let hops = fabric.distances(source);
        let mut order: Vec<_> = fabric.switch_ids().collect();
        order.retain(|s| hops[s.index()] != UNREACHABLE);
        order.sort_by_key(|s| std::cmp::Reverse(hops[s.index()]));
        let mut useful = targets.to_vec();
        for at in order {
            let further = |arc: &crate::Arc| {
                hops[arc.to.index()] == hops[at.index()] + 1 && useful[arc.to.index()]
            };
            if !useful[at.index()] && fabric.out_arcs(at).any(|(_, arc)| further(arc)) {
                useful[at.index()] = true;
            }
        }
        Self::Outward { hops, useful }
    }

    /// Simple paths of at most `most` arcs to the targets.
    pub(super) fn within(fabric: &Fabric, targets: &[bool], most: u16) -> Self {
        let mut hops = vec![UNREACHABLE; targets.len()];
        let mut queue: Vec<_> = fabric.switch_ids().filter(|s| targets[s.index()]).collect();
        for target in &queue {
            hops[target.index()] = 0;
        }
        let mut next = 0;
        while let Some(&at) = queue.get(next) {
            next += 1;
            for (_, arc) in fabric.out_arcs(at) {
                if hops[arc.to.index()] == UNREACHABLE {
                    hops[arc.to.index()] = hops[at.index()].saturating_add(1);
                    queue.push(arc.to);
                }
            }
        }
        Self::Within { hops, most }
    }

    /// Up-down paths of at most `most` bounces to the targets.
    pub(super) fn up_down(fabric: &Fabric, targets: &[bool], most: u8) -> Self {
        // Backward from the targets, round by round: round b settles what needs b bounces.
        let mut need = [vec![NEVER; targets.len()], vec![NEVER; targets.len()]];
        let mut round: Vec<(SwitchId, bool)> = Vec::new();
        for target in fabric.switch_ids().filter(|s| targets[s.index()]) {
            round.extend([(target, false), (target, true)]);
        }
        for bounces in 0..=most.min(NEVER - 1) {
            let mut later = Vec::new();
            while let Some((at, from_above)) = round.pop() {
                let settled = &mut need[usize::from(from_above)][at.index()];
                if *settled <= bounces {
                    continue;
                }
                *settled = bounces;
                // Arcs into `at` that arrive from above (or from below), and what precedes them.
                for arc in fabric.out(at).map(|arc| fabric.reverse(arc)) {
                    if fabric.is_up(arc) == from_above {
                        continue;
                    }
                    let before = fabric.arc(arc).from;
                    round.push((before, false));
                    if from_above {
                        round.push((before, true));
                    } else {
                        later.push((before, true));
                    }
                }
            }
            round = later;
        }
        Self::UpDown { need, most }
    }

    /// The progress after one more arc, or `None` if no path may continue so.
    fn step(&self, fabric: &Fabric, progress: Progress, arc: ArcId) -> Option<Progress> {
        let to = fabric.arc(arc).to.index();
        let mut next = Progress {
            hops: progress.hops.saturating_add(1),
            ..progress
        };
        let allowed = match self {
            Self::Outward { hops, useful } => hops[to] == next.hops && useful[to],
            Self::Within { hops, most } => next.hops.saturating_add(hops[to]) <= *most,
            Self::UpDown { need, most } => {
                let up = fabric.is_up(arc);
                next.bounces += u8::from(progress.descending && up);
                next.descending = !up;
                u16::from(next.bounces) + u16::from(need[usize::from(!up)][to]) <= u16::from(*most)
            }
            Self::VirtualUpDown { reach, most } => {
                let rank = fabric.rank(arc)?;
                next.bounces += u8::from(bounces(progress.rank, rank));
                next.rank = Some(rank);
                let left = most.checked_sub(next.bounces)?;
                reach.leads(rank, fabric.arc(arc).to, left)
            }
        };
        allowed.then_some(next)
    }
}

/// One switch of the path under way.
#[derive(Debug)]
struct Frame {
    switch: SwitchId,
    progress: Progress,
    /// The arcs not yet tried, as a range of ids.
    untried: std::ops::Range<u32>,
}

/// The simple paths from one switch to any of the targets, in the order of the ports.
#[derive(Debug)]
pub(super) struct Search<'a> {
    fabric: &'a Fabric,
    guide: Guide,
    targets: Arc<[bool]>,
    frames: Vec<Frame>,
    arcs: Vec<ArcId>,
    on_path: Vec<bool>,
    /// Whether the path as it stands has yet to be looked at.
    fresh: bool,
}

impl<'a> Search<'a> {
    pub(super) fn new(
        fabric: &'a Fabric,
        guide: Guide,
        source: SwitchId,
        targets: Arc<[bool]>,
    ) -> Self {
        let mut search = Self {
            fabric,
            guide,
            targets,
            frames: Vec::new(),
            arcs: Vec::new(),
            on_path: vec![false; fabric.switch_count()],
            fresh: true,
        };
        search.enter(source, Progress::default());
        search
    }

    fn enter(&mut self, switch: SwitchId, progress: Progress) {
        self.on_path[switch.index()] = true;
        self.frames.push(Frame {
            switch,
            progress,
            untried: self.fabric.out_range(switch),
        });
        self.fresh = true;
    }

    /// Moves to the next path and returns its last switch.
    pub(super) fn advance(&mut self) -> Option<SwitchId> {
        loop {
            let frame = self.frames.last_mut()?;
            if std::mem::take(&mut self.fresh) && self.targets[frame.switch.index()] {
                return Some(frame.switch);
            }
            match frame.untried.next().map(ArcId::new) {
                None => {
                    self.on_path[frame.switch.index()] = false;
                    self.frames.pop();
                    self.arcs.pop();
                }
                Some(arc) => {
                    let to = self.fabric.arc(arc).to;
                    if self.on_path[to.index()] {
                        continue;
                    }
                    if let Some(progress) = self.guide.step(self.fabric, frame.progress, arc) {
                        self.arcs.push(arc);
                        self.enter(to, progress);
                    }
                }
            }
        }
    }

    /// The links of the current path.
    pub(super) fn arcs(&self) -> &[ArcId] {
        &self.arcs
    }
}
