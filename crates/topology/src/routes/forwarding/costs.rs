//! How far every switch is from a destination, and by which arcs it is nearest.
//!
//! A cost is compared by bounces, then by whether the way begins upward, then by hops. So a switch
//! from which the destination lies straight down goes down; one from which it can be reached by
//! going up first goes up; and only where neither works a packet descends to climb again. In
//! topologies without layers no arc leads up and only the hops count. Costs fall strictly along the
//! way: no loops.
//!
//! In a Flattened Clos it depends on the arc by which a packet has come where it may go without a
//! bounce, but tables do not know that arc. So every switch sends to a destination over arcs of one
//! rank, and those before it come to it over arcs of lower ranks. A cost is then compared by
//! bounces, hops, and how high the rank is; where some switch would have to bounce, high ranks come
//! before few hops, as far as it takes.

use std::collections::BTreeMap;

use crate::{ArcId, Fabric, SwitchId, UNREACHABLE};

/// The cost of a way to a destination: bounces, direction and hops packed in that order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Cost(u32);

const UP: u32 = 1 << 16;
const BOUNCE: u32 = 1 << 17;

/// Costs over arcs with ranks, from the highest bits: 6 of bounces, 7 of what the rank lacks of
/// those that come before hops, 12 of hops, 7 of what the rank lacks of [`MOST_RANK`].
const RANKED_BOUNCE: u32 = 1 << 26;
const RANKED_LACK: u32 = 1 << 19;
const RANKED_HOP: u32 = 1 << 7;
const MOST_RANK: u32 = RANKED_HOP - 1;
const MOST_HOPS: u32 = RANKED_LACK / RANKED_HOP - 1;
const MOST_BOUNCES: u32 = 62;

/// An arc as costs see it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    /// It leads up, or not.
    Level { up: bool },
    /// It has a rank; ranks up to `first` come before hops.
    Ranked { rank: u16, first: u16 },
}

impl Cost {
    /// At the destination.
    pub(super) const ZERO: Self = Self(0);
    /// There is no way.
    pub(super) const NEVER: Self = Self(u32::MAX);

    /// So many hops, where nothing else counts.
    pub(super) fn of_hops(hops: u16) -> Self {
        match hops {
            UNREACHABLE => Self::NEVER,
            hops => Self(hops.into()),
        }
    }

    /// The cost of going over an arc to a switch of this cost.
    pub(super) fn over(self, step: Step) -> Self {
        match step {
            _ if self == Self::NEVER => self,
            Step::Level { up } => self.over_level(up),
            Step::Ranked { rank, first } => self.over_ranked(rank.into(), first.into()),
        }
    }

    /// How often a way bounces, over arcs with ranks; 0 if there is none.
    pub(super) fn bounces(self) -> u32 {
        if self == Self::NEVER {
            return 0;
        }
        self.0 / RANKED_BOUNCE
    }

    fn over_ranked(self, rank: u32, first: u32) -> Self {
        let onward = MOST_RANK - self.0 % RANKED_HOP;
        let hops = self.0 % RANKED_LACK / RANKED_HOP + 1;
        let bounces = self.0 / RANKED_BOUNCE + u32::from(rank >= onward);
        if hops > MOST_HOPS || bounces > MOST_BOUNCES {
            return Self::NEVER;
        }
        let lack = first.saturating_sub(rank);
        Self(
            bounces * RANKED_BOUNCE
                + lack * RANKED_LACK
                + hops * RANKED_HOP
                + MOST_RANK.saturating_sub(rank),
        )
    }

    /// That there is no way comes out of no way by itself. Without branches: loops over rows of
    /// costs become instructions on many at once.
    fn over_level(self, up: bool) -> Self {
        let bare = self.0.saturating_add(1) & !UP;
        if up {
            return Self(bare | UP);
        }
        // BOUNCE, if it goes up from there.
        Self(bare.saturating_add((self.0 & UP) * (BOUNCE / UP)))
    }

    /// Sets `bit` of those masks whose cost is what going over an arc that leads up, or not, makes
    /// of the cost onward.
    pub(super) fn mark(masks: &mut [u32], costs: &[Self], onward: &[Self], up: bool, bit: u32) {
        // The direction is known when this is compiled, so that neither loop has a branch.
        if up {
            Self::mark_over(masks, costs, onward, bit, |cost| cost.over_level(true));
        } else {
            Self::mark_over(masks, costs, onward, bit, |cost| cost.over_level(false));
        }
    }

    /// The same where nothing but hops counts, which fewer instructions compare. A way from nowhere
    /// comes out as one to here: masks of cost [`Cost::ZERO`] say nothing.
    pub(super) fn mark_hops(masks: &mut [u32], costs: &[Self], onward: &[Self], bit: u32) {
        Self::mark_over(masks, costs, onward, bit, |cost| {
            Self(cost.0.wrapping_add(1))
        });
    }

    fn mark_over(
        masks: &mut [u32],
        costs: &[Self],
        onward: &[Self],
        bit: u32,
        over: impl Fn(Self) -> Self,
    ) {
        for ((mask, cost), onward) in masks.iter_mut().zip(costs).zip(onward) {
            *mask |= if over(*onward) == *cost { bit } else { 0 };
        }
    }
}

/// What counts beside hops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Nothing.
    Hops,
    /// The layers of switches.
    Layers,
    /// The virtual layers of links; ranks up to `first` come before hops.
    Ranks { first: u16 },
}

/// What counts as a way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Metric<'a> {
    pub(super) fabric: &'a Fabric,
    pub(super) kind: Kind,
}

impl Metric<'_> {
    /// An arc as costs see it.
    pub(super) fn step(&self, arc: ArcId) -> Step {
        match (self.kind, self.fabric.rank(arc)) {
            (Kind::Ranks { first }, Some(rank)) => Step::Ranked { rank, first },
            (Kind::Layers, _) => Step::Level {
                up: self.fabric.is_up(arc),
            },
            _ => Step::Level { up: false },
        }
    }

    /// The costs of all switches to the nearest of some switches, and the metric that they follow:
    /// as few ranks come before hops as avoid bounces, or all of them.
    pub(super) fn settled(
        self,
        targets: &[SwitchId],
        pins: &mut [Option<ArcId>],
    ) -> (Self, Vec<Cost>) {
        let last = match self.kind {
            Kind::Ranks { .. } => 2 * u16::from(self.fabric.virtual_layer_count()),
            Kind::Hops | Kind::Layers => return (self, self.costs(targets, pins)),
        };
        let mut first = 0;
        loop {
            let kind = Kind::Ranks { first };
            let metric = Self { kind, ..self };
            let costs = metric.costs(targets, pins);
            if first >= last || costs.iter().all(|cost| cost.bounces() == 0) {
                return (metric, costs);
            }
            // Ranks begin with 1, so that `first` of 1 changes nothing.
            first = (first + 1).max(2);
        }
    }

    /// The costs of all switches to the nearest of some switches. A switch with a pin uses that arc
    /// alone, unless it leads nowhere: then the pin is taken out of `pins`.
    pub(super) fn costs(&self, targets: &[SwitchId], pins: &mut [Option<ArcId>]) -> Vec<Cost> {
        let mut costs = vec![Cost::NEVER; self.fabric.switch_count()];
        let mut queue: BTreeMap<Cost, Vec<SwitchId>> = BTreeMap::new();
        for &target in targets {
            costs[target.index()] = Cost::ZERO;
            queue.entry(Cost::ZERO).or_default().push(target);
        }
        self.settle(&mut costs, queue, pins);
        if pins.is_empty() {
            return costs;
        }
        // What the pins cut off may go any way to what they did not.
        let mut queue: BTreeMap<Cost, Vec<SwitchId>> = BTreeMap::new();
        let mut lost = false;
        for switch in self.fabric.switch_ids() {
            let cost = costs[switch.index()];
            if cost == Cost::NEVER {
                pins[switch.index()] = None;
                lost = true;
            } else {
                queue.entry(cost).or_default().push(switch);
            }
        }
        if lost {
            self.settle(&mut costs, queue, pins);
        }
        costs
    }

    /// Dijkstra's algorithm, backward; few different costs occur, so a map of buckets is the queue.
    fn settle(
        &self,
        costs: &mut [Cost],
        mut queue: BTreeMap<Cost, Vec<SwitchId>>,
        pins: &[Option<ArcId>],
    ) {
        while let Some((cost, switches)) = queue.pop_first() {
            for at in switches {
                if costs[at.index()] != cost {
                    continue;
                }
                for (out, arc) in self.fabric.out_arcs(at) {
                    let inward = self.fabric.reverse(out);
                    let pin = pins.get(arc.to.index()).copied().flatten();
                    let offered = cost.over(self.step(inward));
                    if pin.is_none_or(|pin| pin == inward) && offered < costs[arc.to.index()] {
                        costs[arc.to.index()] = offered;
                        queue.entry(offered).or_default().push(arc.to);
                    }
                }
            }
        }
    }
}
