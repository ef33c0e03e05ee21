//! Which links wait for which, over all walks.

use serde::{Deserialize, Serialize};
use topology::{ArcId, Topology};

use super::hop::Hop;
use super::walk::{Case, World};

/// Which links packets cross in a row, over all walks: what waits for what, apart from tags.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Pairs {
    /// A bit for each arc and each arc that leaves where it ends.
    bits: Vec<u64>,
}

impl Pairs {
    fn place(world: &World<'_>, arc: ArcId, next: ArcId) -> usize {
        let first = world.fabric.out_range(world.fabric.arc(next).from).start as usize;
        world.pair_base[arc.index()] + next.index() - first
    }

    /// Adds the pairs of a way.
    pub(super) fn add(&mut self, world: &World<'_>, hops: &[Hop]) {
        let arc = |hop: &Hop| world.fabric.arc_at(hop.switch, hop.out?);
        self.bits.resize(world.pairs().div_ceil(64), 0);
        for pair in hops.windows(2) {
            if let (Some(arc), Some(next)) = (arc(&pair[0]), arc(&pair[1])) {
                let place = Self::place(world, arc, next);
                self.bits[place / 64] |= 1 << (place % 64);
            }
        }
    }

    /// Both.
    pub(super) fn and(mut self, other: &Self) -> Self {
        if self.bits.is_empty() {
            return other.clone();
        }
        for (own, other) in self.bits.iter_mut().zip(&other.bits) {
            *own |= other;
        }
        self
    }

    /// Whether the links can be put in an order that every way follows.
    pub(super) fn is_acyclic(&self, world: &World<'_>) -> bool {
        let fabric = &world.fabric;
        let arcs = || (0u32..).map(ArcId::new).take(fabric.arcs().len());
        let after = |arc: ArcId| {
            fabric.out(fabric.arc(arc).to).filter(move |&next| {
                let place = Self::place(world, arc, next);
                let word = self.bits.get(place / 64).copied().unwrap_or(0);
                word >> (place % 64) & 1 == 1
            })
        };
        let mut waiting = vec![0u32; fabric.arcs().len()];
        for arc in arcs() {
            for next in after(arc) {
                waiting[next.index()] += 1;
            }
        }
        let mut free: Vec<ArcId> = arcs().filter(|arc| waiting[arc.index()] == 0).collect();
        let mut left = fabric.arcs().len();
        while let Some(arc) = free.pop() {
            left -= 1;
            for next in after(arc) {
                waiting[next.index()] -= 1;
                if waiting[next.index()] == 0 {
                    free.push(next);
                }
            }
        }
        left == 0
    }
}

/// Which packet, under which failures, makes one buffer wait for another, in words.
pub(super) fn cause(world: &World<'_>, topology: &Topology, case: Option<&Case>) -> String {
    let Some(case) = case else {
        return "no packet that was walked; the tag rules alone allow it".to_owned();
    };
    let failed: Vec<String> = case
        .failed
        .iter()
        .map(|&element| super::name(topology, world.element, element))
        .collect();
    let failed = if failed.is_empty() {
        "nothing".to_owned()
    } else {
        failed.join(", ")
    };
    format!(
        "a packet from `{}` to {} with {failed} failed",
        topology.switch(case.source).name,
        world.destination(case.destination).describe(topology)
    )
}
