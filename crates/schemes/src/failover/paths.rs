//! The ways to one destination around given failures.

use std::collections::VecDeque;

use plan::failover::Element;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use topology::{ArcId, Fabric, HopRepair, LinkId, SwitchId, UNREACHABLE};

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

    /// These failures and one more: the arc's link, or the switch that it leads to. The last hop to
    /// a destination is always a failed link: if the switch had failed there would be nothing to
    /// protect.
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
    hops: HopRepair,
    rng: ChaCha8Rng,
    /// A number of its own for every set of homes, by which backup ways are chosen with
    /// [`PathPolicy::Common`].
    home: u64,
    /// By arc: its place in an order that backup ways follow as far as they can (DF-FI).
    pub(super) order: Option<&'a [u32]>,
}

impl<'a> Ways<'a> {
    pub(super) fn new(
        fabric: &'a Fabric,
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
            order: None,
            hops: HopRepair::new(fabric, &homes),
            homes,
            policy: options.paths,
            rng,
        }
    }

    /// Hops to the destination from every switch.
    pub(super) fn hops(&mut self, failures: &Failures) -> &[u16] {
        self.hops
            .without(self.fabric, &failures.links, &failures.switches)
    }

    /// Walks by the hops under failures.
    fn with_hops<T>(
        &mut self,
        failures: &Failures,
        walk: impl FnOnce(&mut Self, &[u16]) -> T,
    ) -> T {
        let mut repair = std::mem::take(&mut self.hops);
        let hops = repair.without(self.fabric, &failures.links, &failures.switches);
        let walked = walk(self, hops);
        self.hops = repair;
        walked
    }

    /// One of the arcs that lead from a switch one hop nearer to the destination, as the policy
    /// says.
    pub(super) fn step(
        &mut self,
        at: SwitchId,
        failures: &Failures,
        hops: &[u16],
        last: Option<ArcId>,
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
        self.choose(failures, nearer, last)
    }

    /// One of several arcs, as the policy says.
    fn choose(
        &mut self,
        failures: &Failures,
        nearer: impl Iterator<Item = ArcId>,
        last: Option<ArcId>,
    ) -> Option<ArcId> {
        if self.policy == PathPolicy::FirstShortest {
            return { nearer }.next();
        }
        if let (Some(order), Some(last)) = (self.order, last) {
            let (home, after) = (self.home, order[last.index()]);
            return nearer.min_by_key(|arc| {
                let place = order[arc.index()];
                let spread = mix(mix(home ^ last.index() as u64) ^ arc.index() as u64);
                (place < after, place, spread)
            });
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

    /// A shortest path to the destination by these hops; `None` if there is no way.
    fn shortest(
        &mut self,
        from: SwitchId,
        failures: &Failures,
        hops: &[u16],
        mut last: Option<ArcId>,
    ) -> Option<Vec<ArcId>> {
        let mut path = Vec::with_capacity(usize::from(hops[from.index()].min(64)));
        let mut at = from;
        if hops[at.index()] == UNREACHABLE {
            return None;
        }
        while hops[at.index()] > 0 {
            let arc = self.step(at, failures, hops, last)?;
            path.push(arc);
            last = last.map(|_| arc);
            at = self.fabric.arc(arc).to;
        }
        Some(path)
    }
}

impl Ways<'_> {
    /// A shortest path to the destination that crosses none of the given arcs, which the packet has
    /// crossed, the last first; `None` if there is no way.
    pub(super) fn shortest_beside(
        &mut self,
        from: SwitchId,
        failures: &Failures,
        crossed: &[ArcId],
    ) -> Option<Vec<ArcId>> {
        let mut last = crossed.first().copied();
        let fabric = self.fabric;
        let open = |arc: ArcId| failures.spare(fabric, arc) && !crossed.contains(&arc);
        let path = self.with_hops(failures, |ways, hops| {
            let ordered = ways.in_order(from, hops, &open, last);
            ordered.or_else(|| ways.shortest(from, failures, hops, last))
        })?;
        if path.iter().all(|arc| !crossed.contains(arc)) {
            return Some(path);
        }
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
        if let Some(path) = self.in_order(from, &hops, &open, last) {
            return Some(path);
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
            let arc = self.choose(failures, nearer, last)?;
            path.push(arc);
            last = last.map(|_| arc);
            at = fabric.arc(arc).to;
        }
        Some(path)
    }
}

impl Ways<'_> {
    /// A way along falling hops whose links follow the order, if there is an order and one is found
    /// soon: for packets from hosts a random one, for others the one that leaves the most links to
    /// follow.
    fn in_order(
        &mut self,
        from: SwitchId,
        hops: &[u16],
        open: &dyn Fn(ArcId) -> bool,
        last: Option<ArcId>,
    ) -> Option<Vec<ArcId>> {
        let order = self.order?;
        if hops[from.index()] == UNREACHABLE || self.policy == PathPolicy::FirstShortest {
            return None;
        }
        let spread = match last {
            Some(last) => self.home ^ last.index() as u64,
            None => self.rng.random(),
        };
        let mut climb = Climb {
            fabric: self.fabric,
            order,
            hops,
            open,
            from_host: last.is_none(),
            spread: mix(spread),
            left: MAX_STEPS,
            path: Vec::new(),
        };
        let after = last.map(|last| order[last.index()]);
        climb.go(from, after).then_some(climb.path)
    }
}

/// Switches after which the search for a way that follows the order is given up.
const MAX_STEPS: u32 = 400;

/// The search for a way that follows an order of links.
struct Climb<'a> {
    fabric: &'a Fabric,
    order: &'a [u32],
    hops: &'a [u16],
    open: &'a dyn Fn(ArcId) -> bool,
    from_host: bool,
    spread: u64,
    left: u32,
    path: Vec<ArcId>,
}

impl Climb<'_> {
    fn go(&mut self, at: SwitchId, after: Option<u32>) -> bool {
        let here = self.hops[at.index()];
        if here == 0 {
            return true;
        }
        if self.left == 0 {
            return false;
        }
        self.left -= 1;
        let nearer = self.fabric.out_arcs(at).filter(|&(id, arc)| {
            let follows = after.is_none_or(|after| self.order[id.index()] > after);
            follows && self.hops[arc.to.index()] == here - 1 && (self.open)(id)
        });
        let mut nearer: Vec<ArcId> = nearer.map(|(id, _)| id).collect();
        nearer.sort_by_cached_key(|arc| {
            let place = if self.from_host {
                0
            } else {
                self.order[arc.index()]
            };
            (place, mix(self.spread ^ arc.index() as u64))
        });
        for arc in nearer {
            self.path.push(arc);
            if self.go(self.fabric.arc(arc).to, Some(self.order[arc.index()])) {
                return true;
            }
            self.path.pop();
        }
        false
    }
}

/// Spreads numbers (SplitMix64).
pub(super) const fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
