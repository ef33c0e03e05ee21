//! All sets of failures for one destination, as a tree of walks.

use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};
use topology::{HopSearch, SwitchId, UNREACHABLE};

use super::hop::Hop;
use super::lossless::host_ports;
use super::pairs::Pairs;
use super::walk::{Case, DestinationRules, End, World};

/// What walks have shown.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Findings {
    pub(super) walks: u64,
    pub(super) lost: u64,
    pub(super) loops: u64,
    pub(super) stretch: f64,
    /// The lost packet with the fewest failures.
    pub(super) first: Option<Case>,
    /// Packets that arrived, but turned lossy.
    pub(super) lossy: u64,
    /// The one with the fewest failures.
    pub(super) first_lossy: Option<Case>,
    /// Of every wanted dependency of buffers, the walk with the fewest failures that has it.
    pub(super) causes: Vec<Option<Case>>,
    /// The links that arriving packets cross in a row, where there are lossless tags.
    pub(super) pairs: Pairs,
}

/// The lesser of two cases.
fn least(a: Option<Case>, b: Option<Case>) -> Option<Case> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

impl Findings {
    /// The cases that it names.
    pub(super) fn cases(&self) -> impl Iterator<Item = &Case> {
        let causes = self.causes.iter().flatten();
        causes.chain(&self.first).chain(&self.first_lossy)
    }

    /// Both.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            walks: self.walks.saturating_add(other.walks),
            lost: self.lost.saturating_add(other.lost),
            loops: self.loops.saturating_add(other.loops),
            stretch: self.stretch.max(other.stretch),
            first: least(self.first, other.first),
            lossy: self.lossy.saturating_add(other.lossy),
            first_lossy: least(self.first_lossy, other.first_lossy),
            causes: match (self.causes.is_empty(), other.causes.is_empty()) {
                (true, _) => other.causes,
                (_, true) => self.causes,
                _ => {
                    let both = self.causes.into_iter().zip(other.causes);
                    both.map(|(a, b)| least(a, b)).collect()
                }
            },
            pairs: self.pairs.and(&other.pairs),
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
        let mut search = HopSearch::new(&world.fabric);
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
        let search = &mut self.search;
        self.world.hops(search, homes, failed, Some(source))[source.index()]
    }

    /// Judges one walk.
    pub(super) fn judge(
        &mut self,
        source: SwitchId,
        homes: &[SwitchId],
        failed: &[u32],
        (end, way): (End, &[Hop]),
    ) {
        self.findings.walks += 1;
        if let End::Delivered(hops) = end {
            self.replay(source, failed, way);
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
        let case = self.case(source, failed);
        self.findings.first = least(self.findings.first.take(), Some(case));
    }

    fn case(&self, source: SwitchId, failed: &[u32]) -> Case {
        let mut sorted = failed.to_vec();
        sorted.sort_unstable();
        Case {
            failures: failed.len(),
            destination: self.destination,
            source,
            failed: sorted,
        }
    }

    /// Replays the lossless tags along the way of a packet that arrives.
    fn replay(&mut self, source: SwitchId, failed: &[u32], way: &[Hop]) {
        let (Some(tags), Some(last)) = (self.world.tags, way.last()) else {
            return;
        };
        self.findings.pairs.add(self.world, way);
        let destination = self.world.destination(self.destination);
        let hosts = host_ports(&self.world.fabric, destination, last.switch);
        let mut found = Vec::new();
        let kept = tags.replay(&self.world.fabric, way, &hosts, |edge| found.push(edge));
        if found.is_empty() && kept.is_ok() {
            return;
        }
        let case = self.case(source, failed);
        self.findings.causes.resize(tags.wanted(), None);
        for edge in found {
            let known = &mut self.findings.causes[edge];
            *known = least(known.take(), Some(case.clone()));
        }
        if kept.is_err() {
            self.findings.lossy += 1;
            self.findings.first_lossy = least(self.findings.first_lossy.take(), Some(case));
        }
    }
}

/// Explores the sets of failures for one destination.
pub(super) struct Explorer<'w> {
    world: &'w World<'w>,
    rules: DestinationRules<'w>,
    judge: Judge<'w>,
    homes: Vec<SwitchId>,
    most: u32,
    walks: &'w AtomicU64,
    most_walks: u64,
    failed: Vec<u32>,
    /// Elements that are held up: the sets in which they fail are explored elsewhere.
    held: Vec<u32>,
    /// The way of the last packet; kept for its room.
    way: Vec<Hop>,
}

impl<'w> Explorer<'w> {
    pub(super) fn new(
        world: &'w World<'w>,
        destination: usize,
        most: u32,
        walks: &'w AtomicU64,
        most_walks: u64,
    ) -> Self {
        let rules = DestinationRules::new(world, destination);
        let homes = rules.homes.clone();
        Self {
            judge: Judge::new(world, destination, &homes),
            world,
            rules,
            homes,
            most,
            walks,
            most_walks,
            failed: Vec::new(),
            held: Vec::new(),
            way: Vec::new(),
        }
    }

    /// Explores every source and shows `see` the ways of packets that arrive; `None` if there are
    /// too many walks.
    pub(super) fn all_sources(
        &mut self,
        see: &mut dyn FnMut(SwitchId, &[Hop]),
    ) -> Option<Findings> {
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
            self.explore(source, see);
            let walked = self.judge.findings.walks - before;
            if self.walks.fetch_add(walked, Ordering::Relaxed) + walked > self.most_walks {
                return None;
            }
        }
        Some(std::mem::take(&mut self.judge.findings))
    }

    fn explore(&mut self, source: SwitchId, see: &mut dyn FnMut(SwitchId, &[Hop])) {
        let mut examined = Vec::new();
        let mut way = std::mem::take(&mut self.way);
        let end = self
            .rules
            .walk_hops(source, &self.failed, &mut examined, &mut way);
        if matches!(end, End::Delivered(_)) {
            see(source, &way);
        }
        examined.retain(|element| !self.held.contains(element));
        let left = self.most - u32::try_from(self.failed.len()).unwrap_or(u32::MAX);
        self.judge
            .judge(source, &self.homes, &self.failed, (end, &way));
        self.way = way;
        if left == 0 {
            return;
        }
        let held = self.held.len();
        for &element in &examined {
            self.failed.push(element);
            self.explore(source, see);
            self.failed.pop();
            self.held.push(element);
        }
        self.held.truncate(held);
    }
}
