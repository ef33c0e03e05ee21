//! How far every switch is from a destination, and by which arcs it is nearest.
//!
//! A cost is compared by bounces, then by whether the way begins upward, then by hops. So a switch from
//! which the destination lies straight down goes down; one from which it can be reached by going up
//! first goes up; and only where neither works a packet descends to climb again. In topologies without
//! layers no arc leads up and only the hops count. Costs fall strictly along the way: no loops.

use std::collections::BTreeMap;

use crate::{ArcId, Fabric, SwitchId};

/// The cost of a way to a destination: bounces, direction and hops packed in that order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Cost(u32);

const UP: u32 = 1 << 16;
const BOUNCE: u32 = 1 << 17;

impl Cost {
    /// At the destination.
    pub(super) const ZERO: Self = Self(0);
    /// There is no way.
    pub(super) const NEVER: Self = Self(u32::MAX);

    /// The cost of going over an arc (`up` or not) to a switch of this cost.
    pub(super) fn over(self, up: bool) -> Self {
        if self == Self::NEVER {
            return self;
        }
        let further = self.0.saturating_add(1);
        let bare = further & !UP;
        Self(match (up, self.0 & UP != 0) {
            (true, _) => bare | UP,
            (false, true) => bare.saturating_add(BOUNCE),
            (false, false) => bare,
        })
    }
}

/// What counts as a way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Metric<'a> {
    pub(super) fabric: &'a Fabric,
    /// Whether layers count.
    pub(super) layered: bool,
}

impl Metric<'_> {
    /// Whether an arc leads up, where that counts.
    pub(super) fn up(&self, arc: ArcId) -> bool {
        self.layered && self.fabric.is_up(arc)
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
                    let offered = cost.over(self.up(inward));
                    if pin.is_none_or(|pin| pin == inward) && offered < costs[arc.to.index()] {
                        costs[arc.to.index()] = offered;
                        queue.entry(offered).or_default().push(arc.to);
                    }
                }
            }
        }
    }
}
