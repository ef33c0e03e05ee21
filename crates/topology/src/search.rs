//! Breadth-first search again and again over the same fabric, each time without some links and
//! switches.
//!
//! Neighbourhoods are bit sets, so that a search costs about `switches * switches / 64` steps
//! whatever the number of links: planning and proving local failover ask for millions of them.

use super::fabric::{Fabric, UNREACHABLE};
use super::ids::{LinkId, SwitchId};

/// Room for searches over one fabric.
#[derive(Clone, Debug)]
pub struct HopSearch {
    words: usize,
    /// `neighbours[s * words..]` are the neighbours of `s`.
    neighbours: Vec<u64>,
    hops: Vec<u16>,
    seen: Vec<u64>,
    frontier: Vec<u64>,
    next: Vec<u64>,
    /// Bits that the present search has cleared in `neighbours`.
    cleared: Vec<(usize, u64)>,
}

impl HopSearch {
    /// Room for searches.
    #[must_use]
    pub fn new(fabric: &Fabric) -> Self {
        let switches = fabric.switch_count();
        let words = switches.div_ceil(64);
        let mut neighbours = vec![0; switches * words];
        for switch in fabric.switch_ids() {
            for (_, arc) in fabric.out_arcs(switch) {
                let to = arc.to.index();
                neighbours[switch.index() * words + to / 64] |= 1 << (to % 64);
            }
        }
        Self {
            words,
            neighbours,
            hops: vec![UNREACHABLE; switches],
            seen: vec![0; words],
            frontier: vec![0; words],
            next: vec![0; words],
            cleared: Vec::new(),
        }
    }

    /// Hops from every switch to the nearest of `roots`, by switch index, without the given links
    /// and switches. The search ends with the level at which `until` is met: farther switches, like
    /// those without a way, are [`UNREACHABLE`].
    pub fn search(
        &mut self,
        fabric: &Fabric,
        roots: &[SwitchId],
        links: &[LinkId],
        switches: &[SwitchId],
        until: Option<SwitchId>,
    ) -> &[u16] {
        for &link in links {
            self.cut(fabric, link, links);
        }
        self.hops.fill(UNREACHABLE);
        self.seen.fill(0);
        self.frontier.fill(0);
        for switch in switches {
            self.seen[switch.index() / 64] |= 1 << (switch.index() % 64);
        }
        for root in roots {
            let (word, bit) = (root.index() / 64, 1 << (root.index() % 64));
            if self.seen[word] & bit == 0 {
                self.seen[word] |= bit;
                self.frontier[word] |= bit;
                self.hops[root.index()] = 0;
            }
        }
        let mut level = 0;
        while self.spread(level) {
            level += 1;
            if until.is_some_and(|switch| self.hops[switch.index()] != UNREACHABLE) {
                break;
            }
        }
        for (at, bit) in self.cleared.drain(..) {
            self.neighbours[at] |= bit;
        }
        &self.hops
    }

    /// Takes a link out of the neighbourhoods, unless a parallel one remains.
    fn cut(&mut self, fabric: &Fabric, link: LinkId, links: &[LinkId]) {
        let Some(arc) = fabric.arc_of(link) else {
            return;
        };
        let (from, to) = (fabric.arc(arc).from, fabric.arc(arc).to);
        let mut parallel = fabric.out_arcs(from).map(|(_, arc)| arc);
        if parallel.any(|arc| arc.to == to && !links.contains(&arc.link)) {
            return;
        }
        for (a, b) in [(from, to), (to, from)] {
            let at = a.index() * self.words + b.index() / 64;
            let bit = 1 << (b.index() % 64);
            if self.neighbours[at] & bit != 0 {
                self.neighbours[at] &= !bit;
                self.cleared.push((at, bit));
            }
        }
    }

    /// Goes one level on; `false` if nothing new was met.
    fn spread(&mut self, level: u16) -> bool {
        self.next.fill(0);
        for word in 0..self.words {
            let mut bits = self.frontier[word];
            while bits != 0 {
                let at = (word * 64 + bits.trailing_zeros() as usize) * self.words;
                bits &= bits - 1;
                let row = &self.neighbours[at..at + self.words];
                for (next, row) in self.next.iter_mut().zip(row) {
                    *next |= row;
                }
            }
        }
        let mut any = false;
        for word in 0..self.words {
            let mut fresh = self.next[word] & !self.seen[word];
            self.seen[word] |= fresh;
            self.frontier[word] = fresh;
            while fresh != 0 {
                self.hops[word * 64 + fresh.trailing_zeros() as usize] = level.saturating_add(1);
                fresh &= fresh - 1;
                any = true;
            }
        }
        any
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::{Cables, Jellyfish, JellyfishSize};

    #[test]
    fn the_same_hops_as_over_a_topology_without_those_links() {
        let size = JellyfishSize::Switches {
            switches: 70,
            fabric_ports: 3,
        };
        let jellyfish = Jellyfish {
            size,
            ports: 4,
            seed: 3,
            cables: Cables::default(),
        };
        let topology = jellyfish.generate().expect("a valid Jellyfish");
        let fabric = Fabric::new(&topology);
        let mut search = HopSearch::new(&fabric);
        for first in 0..100 {
            let id = |step: u32| LinkId::new((first * 7 + step * 31) % 175);
            let links = [id(0), id(1), id(2), id(3)];
            let without = Fabric::new(&topology.with_failed_links(&links));
            let root = SwitchId::new(first % 70);
            let hops = search.search(&fabric, &[root], &links, &[], None);
            assert_eq!(hops, without.distances(root), "{links:?}");
        }
    }
}
