//! Hops to a few switches without some links and switches, found from the hops with them: only what
//! lay behind the failures is searched again.
//!
//! Planning local failover asks for millions of them, each with a few failures that few switches
//! lie behind.

use std::collections::{BTreeSet, VecDeque};

use super::fabric::{Arc, Fabric, UNREACHABLE};
use super::ids::{LinkId, SwitchId};

/// Hops from every switch to the nearest of some roots, and what becomes of them under failures.
#[derive(Clone, Debug, Default)]
pub struct HopRepair {
    intact: Vec<u16>,
    hops: Vec<u16>,
    /// The switches whose hops differ.
    changed: Vec<SwitchId>,
}

impl HopRepair {
    /// The hops without failures.
    #[must_use]
    pub fn new(fabric: &Fabric, roots: &[SwitchId]) -> Self {
        let mut hops = vec![UNREACHABLE; fabric.switch_count()];
        for root in roots {
            hops[root.index()] = 0;
        }
        let mut queue: VecDeque<SwitchId> = roots.iter().copied().collect();
        while let Some(at) = queue.pop_front() {
            for (_, arc) in fabric.out_arcs(at) {
                if hops[arc.to.index()] == UNREACHABLE {
                    hops[arc.to.index()] = hops[at.index()].saturating_add(1);
                    queue.push_back(arc.to);
                }
            }
        }
        Self {
            intact: hops.clone(),
            hops,
            changed: Vec::new(),
        }
    }

    /// Hops by switch index without these links and switches; [`UNREACHABLE`] where there is no
    /// way.
    pub fn without(&mut self, fabric: &Fabric, links: &[LinkId], switches: &[SwitchId]) -> &[u16] {
        for switch in self.changed.drain(..) {
            self.hops[switch.index()] = self.intact[switch.index()];
        }
        let live = |arc: &Arc| !links.contains(&arc.link) && !switches.contains(&arc.to);
        self.cut(fabric, links, switches, &live);
        self.mend(fabric, switches, &live);
        &self.hops
    }

    /// Takes the hops from all switches that lie behind the failures, the nearest first.
    fn cut(
        &mut self,
        fabric: &Fabric,
        links: &[LinkId],
        switches: &[SwitchId],
        live: &dyn Fn(&Arc) -> bool,
    ) {
        let mut asked: BTreeSet<(u16, SwitchId)> = BTreeSet::new();
        for &switch in switches {
            self.drop_hops(fabric, switch, &mut asked);
        }
        for arc in links.iter().filter_map(|&link| fabric.arc_of(link)) {
            let Arc { from, to, .. } = *fabric.arc(arc);
            asked.extend([from, to].map(|end| (self.intact[end.index()], end)));
        }
        while let Some((level, at)) = asked.pop_first() {
            if level == 0 || self.hops[at.index()] == UNREACHABLE {
                continue;
            }
            let mut arcs = fabric.out_arcs(at).map(|(_, arc)| arc);
            if !arcs.any(|arc| self.hops[arc.to.index()] == level - 1 && live(arc)) {
                self.drop_hops(fabric, at, &mut asked);
            }
        }
    }

    /// Takes the hops from a switch; those one hop behind it are to be asked whether they still
    /// have a way.
    fn drop_hops(&mut self, fabric: &Fabric, at: SwitchId, asked: &mut BTreeSet<(u16, SwitchId)>) {
        let level = std::mem::replace(&mut self.hops[at.index()], UNREACHABLE);
        if level == UNREACHABLE {
            return;
        }
        self.changed.push(at);
        let behind = fabric.out_arcs(at).map(|(_, arc)| arc.to);
        let behind = behind.filter(|to| self.hops[to.index()] == level.saturating_add(1));
        asked.extend(behind.map(|to| (level.saturating_add(1), to)));
    }

    /// Gives hops again to those that have lost theirs and still have a way.
    fn mend(&mut self, fabric: &Fabric, switches: &[SwitchId], live: &dyn Fn(&Arc) -> bool) {
        let mut reached: BTreeSet<(u16, SwitchId)> = BTreeSet::new();
        for &at in &self.changed {
            let arcs = fabric
                .out_arcs(at)
                .map(|(_, arc)| arc)
                .filter(|arc| live(arc));
            let nearest = arcs.map(|arc| self.hops[arc.to.index()]).min();
            if let Some(hops) = nearest.filter(|&hops| hops != UNREACHABLE) {
                reached.insert((hops.saturating_add(1), at));
            }
        }
        while let Some((level, at)) = reached.pop_first() {
            if self.hops[at.index()] != UNREACHABLE || switches.contains(&at) {
                continue;
            }
            self.hops[at.index()] = level;
            for (_, arc) in fabric.out_arcs(at) {
                if self.hops[arc.to.index()] == UNREACHABLE && live(arc) {
                    reached.insert((level.saturating_add(1), arc.to));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::{Cables, Jellyfish, JellyfishSize};
    use crate::search::HopSearch;

    #[test]
    fn the_same_hops_as_of_a_search_from_the_start() {
        let size = JellyfishSize::Switches {
            switches: 60,
            fabric_ports: 3,
        };
        let jellyfish = Jellyfish {
            size,
            ports: 4,
            seed: 8,
            cables: Cables::default(),
        };
        let topology = jellyfish.generate().expect("a valid Jellyfish");
        let fabric = Fabric::new(&topology);
        let links: Vec<LinkId> = (0..u32::try_from(topology.links().len()).unwrap())
            .map(LinkId::new)
            .filter(|&link| fabric.arc_of(link).is_some())
            .collect();
        let mut search = HopSearch::new(&fabric);
        for round in 0..300usize {
            let roots: Vec<SwitchId> = (0..=round % 2)
                .map(|step| SwitchId::new((round as u32 * 7 + step as u32 * 31) % 60))
                .collect();
            let mut repair = HopRepair::new(&fabric, &roots);
            for step in 0..8 {
                let failed: Vec<LinkId> = (0..step * 2)
                    .map(|at| links[(round * 13 + at * 29 + step) % links.len()])
                    .collect();
                let down: Vec<SwitchId> = (0..step / 3)
                    .map(|at| SwitchId::new((round as u32 * 5 + at as u32 * 17 + 1) % 60))
                    .filter(|switch| !roots.contains(switch))
                    .collect();
                let hops = repair.without(&fabric, &failed, &down);
                let expected = search.search(&fabric, &roots, &failed, &down, None);
                assert_eq!(hops, expected, "{roots:?} {failed:?} {down:?}");
            }
        }
    }
}
