//! The ways to one destination around given failures.

use std::collections::VecDeque;

use plan::failover::Element;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use topology::{ArcId, Fabric, HopSearch, LinkId, SwitchId, UNREACHABLE};

use super::{FailoverOptions, PathPolicy};

/// Failures that a route assumes.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Failures {
    /// Failed links.
    pub(super) links: Vec<LinkId>,
    /// Failed switches.
    pub(super) switches: Vec<SwitchId>,
}

impl Failures {
    /// Whether an arc can still be used.
    pub(super) fn spare(&self, fabric: &Fabric, arc: ArcId) -> bool {
        let arc = fabric.arc(arc);
        !self.links.contains(&arc.link) && !self.switches.contains(&arc.to)
    }

    /// These failures and one more: the arc's link, or the switch that it leads to. The last hop to a
    /// destination is always a failed link: if the switch had failed there would be nothing to protect.
    pub(super) fn and(
        &self,
        fabric: &Fabric,
        arc: ArcId,
        what: Element,
        homes: &[SwitchId],
    ) -> Self {
        let mut more = self.clone();
        let arc = fabric.arc(arc);
        if what == Element::Switch && !homes.contains(&arc.to) {
            more.switches.push(arc.to);
            more.switches.sort_unstable();
        } else {
            more.links.push(arc.link);
            more.links.sort_unstable();
        }
        more
    }
}

/// The ways to one destination.
pub(super) struct Ways<'a> {
    pub(super) fabric: &'a Fabric,
    pub(super) homes: Vec<SwitchId>,
    policy: PathPolicy,
    search: HopSearch,
    rng: ChaCha8Rng,
    /// A number of its own for every set of homes, by which backup ways are chosen with [`PathPolicy::Common`].
    home: u64,
}

impl<'a> Ways<'a> {
    pub(super) fn new(
        fabric: &'a Fabric,
        links: usize,
        homes: Vec<SwitchId>,
        options: &FailoverOptions,
        stream: u64,
    ) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(options.seed);
        rng.set_stream(stream);
        let own = homes
            .iter()
            .fold(options.seed, |own, home| mix(own ^ home.index() as u64));
        Self {
            fabric,
            home: own,
            homes,
            policy: options.paths,
            search: HopSearch::new(fabric, links),
            rng,
        }
    }

    /// Hops to the destination from every switch that is not farther from it than `from`.
    pub(super) fn hops(&mut self, failures: &Failures, from: Option<SwitchId>) -> &[u16] {
        self.search.search(
            self.fabric,
            &self.homes,
            &failures.links,
            &failures.switches,
            from,
        )
    }

    /// One of the arcs that lead from a switch one hop nearer to the destination, as the policy says.
    pub(super) fn step(
        &mut self,
        at: SwitchId,
        failures: &Failures,
        hops: &[u16],
    ) -> Option<ArcId> {
        let here = hops[at.index()];
        if here == UNREACHABLE || here == 0 {
            return None;
        }
        let fabric = self.fabric;
        let nearer = fabric
            .out_arcs(at)
            .filter(|(id, arc)| hops[arc.to.index()] == here - 1 && failures.spare(fabric, *id))
            .map(|(id, _)| id);
        self.choose(failures, nearer)
    }

    /// One of several arcs, as the policy says.
    fn choose(
        &mut self,
        failures: &Failures,
        nearer: impl Iterator<Item = ArcId>,
    ) -> Option<ArcId> {
        if self.policy == PathPolicy::FirstShortest {
            return { nearer }.next();
        }
        if self.policy == PathPolicy::Common && *failures != Failures::default() {
            let home = self.home;
            return nearer.min_by_key(|arc| mix(home ^ arc.index() as u64));
        }
        let mut chosen = None;
        // Reservoir sampling: every one of the arcs with the same probability.
        for (count, arc) in (1u32..).zip(nearer) {
            if self.rng.random_range(0..count) == 0 {
                chosen = Some(arc);
            }
        }
        chosen
    }

    /// A shortest path to the destination; `None` if there is no way.
    pub(super) fn shortest(&mut self, from: SwitchId, failures: &Failures) -> Option<Vec<ArcId>> {
        let hops = self.hops(failures, Some(from)).to_vec();
        let mut path = Vec::with_capacity(usize::from(hops[from.index()].min(64)));
        let mut at = from;
        if hops[at.index()] == UNREACHABLE {
            return None;
        }
        while hops[at.index()] > 0 {
            let arc = self.step(at, failures, &hops)?;
            path.push(arc);
            at = self.fabric.arc(arc).to;
        }
        Some(path)
    }
}

impl Ways<'_> {
    /// A shortest path to the destination that crosses none of the given arcs; `None` if there is no way.
    pub(super) fn shortest_beside(
        &mut self,
        from: SwitchId,
        failures: &Failures,
        crossed: &[ArcId],
    ) -> Option<Vec<ArcId>> {
        let path = self.shortest(from, failures)?;
        if path.iter().all(|arc| !crossed.contains(arc)) {
            return Some(path);
        }
        let fabric = self.fabric;
        let open = |arc: ArcId| failures.spare(fabric, arc) && !crossed.contains(&arc);
        let mut hops = vec![UNREACHABLE; fabric.switch_count()];
        let mut queue: VecDeque<SwitchId> = self.homes.iter().copied().collect();
        for home in &self.homes {
            hops[home.index()] = 0;
        }
        while let Some(at) = queue.pop_front() {
            for (out, arc) in fabric.out_arcs(at) {
                let far = arc.to;
                let alive = !failures.switches.contains(&far);
                if hops[far.index()] == UNREACHABLE && alive && open(fabric.reverse(out)) {
                    hops[far.index()] = hops[at.index()] + 1;
                    queue.push_back(far);
                }
            }
        }
        let mut path = Vec::new();
        let mut at = from;
        if hops[at.index()] == UNREACHABLE {
            return None;
        }
        while hops[at.index()] > 0 {
            let here = hops[at.index()];
            let nearer = fabric
                .out_arcs(at)
                .filter(|&(id, arc)| hops[arc.to.index()] == here - 1 && open(id))
                .map(|(id, _)| id);
            let arc = self.choose(failures, nearer)?;
            path.push(arc);
            at = fabric.arc(arc).to;
        }
        Some(path)
    }
}

/// Spreads numbers (SplitMix64).
const fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
