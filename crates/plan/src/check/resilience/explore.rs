//! All sets of failures for one destination, as a tree of walks.

use std::sync::atomic::{AtomicU64, Ordering};

use topology::{HopSearch, SwitchId, UNREACHABLE};

use super::walk::{Case, End, Lane, World};

/// What walks have shown.
#[derive(Clone, Debug, Default)]
pub(super) struct Findings {
    pub(super) walks: u64,
    pub(super) lost: u64,
    pub(super) loops: u64,
    pub(super) stretch: f64,
    /// The lost packet with the fewest failures.
    pub(super) first: Option<Case>,
}

impl Findings {
    /// Both.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            walks: self.walks + other.walks,
            lost: self.lost.saturating_add(other.lost),
            loops: self.loops.saturating_add(other.loops),
            stretch: self.stretch.max(other.stretch),
            first: match (self.first, other.first) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            },
        }
    }
}

/// Decides whether what became of a packet is right.
pub(super) struct Judge<'w> {
    world: &'w World<'w>,
    destination: usize,
    search: HopSearch,
    /// Hops to the destination while nothing fails.
    hops: Vec<u16>,
    pub(super) findings: Findings,
}

impl<'w> Judge<'w> {
    pub(super) fn new(world: &'w World<'w>, destination: usize, homes: &[SwitchId]) -> Self {
        let mut search = HopSearch::new(&world.fabric, world.topology.links().len());
        let hops = search.search(&world.fabric, homes, &[], &[], None).to_vec();
        Self {
            world,
            destination,
            search,
            hops,
            findings: Findings::default(),
        }
    }

    /// The fewest hops to the destination under failures.
    pub(super) fn fewest(&mut self, source: SwitchId, homes: &[SwitchId], failed: &[u32]) -> u16 {
        let (links, switches) = self.world.failed(failed);
        let alive: Vec<SwitchId> = homes
            .iter()
            .copied()
            .filter(|h| !switches.contains(h))
            .collect();
        let hops = self
            .search
            .search(&self.world.fabric, &alive, &links, &switches, Some(source));
        hops[source.index()]
    }

    /// Judges one walk.
    pub(super) fn judge(&mut self, source: SwitchId, homes: &[SwitchId], failed: &[u32], end: End) {
        self.findings.walks += 1;
        if let End::Delivered(hops) = end {
            let hops = f64::from(hops) + 2.0;
            let least = f64::from(self.hops[source.index()]) + 2.0;
            if hops / least > self.findings.stretch {
                let fewest = f64::from(self.fewest(source, homes, failed)) + 2.0;
                self.findings.stretch = self.findings.stretch.max(hops / fewest);
            }
            return;
        }
        let circles = end == End::Circles;
        if !circles && self.fewest(source, homes, failed) == UNREACHABLE {
            return;
        }
        if circles {
            self.findings.loops += 1;
        } else {
            self.findings.lost += 1;
        }
        let mut sorted = failed.to_vec();
        sorted.sort_unstable();
        let case = Case {
            failures: failed.len(),
            destination: self.destination,
            source,
            failed: sorted,
        };
        if self
            .findings
            .first
            .as_ref()
            .is_none_or(|first| case < *first)
        {
            self.findings.first = Some(case);
        }
    }
}

/// Explores the sets of failures for one destination.
pub(super) struct Explorer<'w> {
    world: &'w World<'w>,
    lane: Lane<'w>,
    judge: Judge<'w>,
    homes: Vec<SwitchId>,
    most: u32,
    walks: &'w AtomicU64,
    most_walks: u64,
    failed: Vec<u32>,
    /// Elements that are held up: the sets in which they fail are explored elsewhere.
    held: Vec<u32>,
}

impl<'w> Explorer<'w> {
    pub(super) fn new(
        world: &'w World<'w>,
        destination: usize,
        most: u32,
        walks: &'w AtomicU64,
        most_walks: u64,
    ) -> Self {
        let lane = Lane::new(world, destination);
        let homes = lane.homes.clone();
        Self {
            judge: Judge::new(world, destination, &homes),
            world,
            lane,
            homes,
            most,
            walks,
            most_walks,
            failed: Vec::new(),
            held: Vec::new(),
        }
    }

    /// Explores every source; `None` if there are too many walks.
    pub(super) fn all_sources(&mut self) -> Option<Findings> {
        for &source in &self.world.sources {
            if self.homes.contains(&source) {
                continue;
            }
            self.held.clear();
            if self.world.element == crate::failover::Element::Switch {
                // A switch that has failed sends nothing.
                self.held
                    .push(u32::try_from(source.index()).unwrap_or(u32::MAX));
            }
            let before = self.judge.findings.walks;
            self.explore(source);
            let walked = self.judge.findings.walks - before;
            if self.walks.fetch_add(walked, Ordering::Relaxed) + walked > self.most_walks {
                return None;
            }
        }
        Some(std::mem::take(&mut self.judge.findings))
    }

    fn explore(&mut self, source: SwitchId) {
        let mut examined = Vec::new();
        let end = self.lane.walk(source, &self.failed, &mut examined);
        examined.retain(|element| !self.held.contains(element));
        let left = self.most - u32::try_from(self.failed.len()).unwrap_or(u32::MAX);
        self.judge.judge(source, &self.homes, &self.failed, end);
        if left == 0 {
            return;
        }
        let held = self.held.len();
        for &element in &examined {
            self.failed.push(element);
            self.explore(source);
            self.failed.pop();
            self.held.push(element);
        }
        self.held.truncate(held);
    }
}
