//! Which pairs of switches a policy has a route for.

use std::collections::BTreeSet;

use rayon::prelude::*;

use super::policy::RoutePolicy;
use super::set::RouteSet;
use crate::{ArcId, Fabric, SwitchId};

/// Sources that are followed at once: one per bit of a word.
const AT_ONCE: usize = 64;

/// How many pairs of switches with hosts a policy has a route for. Both directions of a pair count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JoinedPairs {
    /// Pairs of different switches with hosts.
    pub pairs: u64,
    /// Of these, those without any route, from the first switch to the second.
    pub apart: u64,
    /// The first of them, as many as were asked for.
    pub named: Vec<(SwitchId, SwitchId)>,
}

impl RouteSet {
    /// Counts the pairs of switches with hosts that have a route and those that have none, and
    /// names at most so many of these.
    #[must_use]
    pub fn joined_pairs(&self, most_named: usize) -> JoinedPairs {
        let fabric = self.fabric();
        let edge: Vec<SwitchId> = fabric.edge_switches().collect();
        let count = edge.len() as u64;
        let pairs = count * count.saturating_sub(1);
        let whole = JoinedPairs {
            pairs,
            ..JoinedPairs::default()
        };
        let Some(spread) = Spread::of(self) else {
            let mut joined = BTreeSet::new();
            self.for_each_path(|path| {
                joined.insert((path.from, path.to));
            });
            let one = |&from: &SwitchId| apart(from, &edge, |to| joined.contains(&(from, to)));
            return edge
                .iter()
                .map(one)
                .fold(whole, |all, one| all.and(one, most_named));
        };
        if spread.joins_all(&edge) {
            return whole;
        }
        let blocks = edge.par_chunks(AT_ONCE).map(|block| {
            let reached = spread.reached(block, spread.rounds);
            let one = |(bit, &from): (usize, &SwitchId)| {
                apart(from, &edge, |to| reached[to.index()] >> bit & 1 == 1)
            };
            let none = JoinedPairs::default();
            let own = block.iter().enumerate().map(one);
            own.fold(none, |all, one| all.and(one, most_named))
        });
        let blocks: Vec<JoinedPairs> = blocks.collect();
        let all = blocks.into_iter();
        all.fold(whole, |all, one| all.and(one, most_named))
    }
}

/// The pairs of a switch that are not joined.
fn apart(from: SwitchId, edge: &[SwitchId], joined: impl Fn(SwitchId) -> bool) -> JoinedPairs {
    let lone = edge.iter().filter(|to| **to != from && !joined(**to));
    let named: Vec<_> = lone.map(|to| (from, *to)).collect();
    JoinedPairs {
        pairs: 0,
        apart: named.len() as u64,
        named,
    }
}

impl JoinedPairs {
    /// The same where a pair needs a route of one policy or of the other; both must name all pairs
    /// that have none.
    #[must_use]
    pub fn either(mut self, other: &Self) -> Self {
        let apart: BTreeSet<_> = other.named.iter().collect();
        self.named.retain(|pair| apart.contains(pair));
        self.apart = self.named.len() as u64;
        self
    }

    fn and(mut self, other: Self, most_named: usize) -> Self {
        self.pairs += other.pairs;
        self.apart += other.apart;
        let room = most_named.saturating_sub(self.named.len());
        self.named.extend(other.named.into_iter().take(room));
        self
    }
}

/// In which order packets of a policy can cross arcs, as far as that decides which switches they
/// reach.
struct Spread<'a> {
    fabric: &'a Fabric,
    /// Arcs in groups: a packet crosses one arc of a group at most, and groups in this order.
    /// Without order: arcs in any order.
    groups: Option<Vec<Vec<ArcId>>>,
    /// How often the order may begin again; without order, how many links a packet may cross.
    rounds: usize,
}

impl<'a> Spread<'a> {
    /// Of a policy whose routes need not be enumerated.
    fn of(set: &'a RouteSet) -> Option<Self> {
        let fabric = set.fabric();
        let unlayered = |rounds| Self {
            fabric,
            groups: None,
            rounds,
        };
        Some(match set.policy() {
            RoutePolicy::Shortest | RoutePolicy::Ksp { .. } => unlayered(usize::MAX),
            RoutePolicy::AllSimple { max_switches } => {
                unlayered(usize::from(*max_switches).saturating_sub(1))
            }
            RoutePolicy::UpDown { bounces } => {
                let layer = |switch| i32::from(fabric.layer(switch).unwrap_or_default());
                // Up from the lowest layer, then down from the highest.
                Self::ordered(fabric, *bounces, |id| {
                    let from = layer(fabric.arc(id).from);
                    let up = fabric.is_up(id);
                    Some((!up, if up { from } else { -from }))
                })
            }
            RoutePolicy::VirtualUpDown { bounces } => {
                Self::ordered(fabric, *bounces, |id| fabric.rank(id))
            }
            RoutePolicy::BcubeDigit
            | RoutePolicy::BcubeRotations
            | RoutePolicy::Explicit { .. } => return None,
        })
    }

    /// Arcs in the order of their keys; those without one are never crossed.
    fn ordered<K: Ord + Copy>(
        fabric: &'a Fabric,
        bounces: u8,
        key: impl Fn(ArcId) -> Option<K>,
    ) -> Self {
        let ids = fabric.switch_ids().flat_map(|switch| fabric.out(switch));
        let mut arcs: Vec<(K, ArcId)> = ids.filter_map(|id| Some((key(id)?, id))).collect();
        arcs.sort_unstable();
        let groups = arcs.chunk_by(|a, b| a.0 == b.0);
        let ids = |group: &[(K, ArcId)]| group.iter().map(|(_, id)| *id).collect();
        Self {
            fabric,
            groups: Some(groups.map(ids).collect()),
            rounds: usize::from(bounces) + 1,
        }
    }

    /// By switch, from which of these sources it is reached in so many rounds: bit `n` for the
    /// `n`-th.
    fn reached(&self, sources: &[SwitchId], rounds: usize) -> Vec<u64> {
        let mut reached = vec![0; self.fabric.switch_count()];
        for (bit, source) in sources.iter().enumerate() {
            reached[source.index()] |= 1u64 << bit;
        }
        let all: Vec<ArcId>;
        let groups = match &self.groups {
            Some(groups) => &groups[..],
            None => {
                let switches = self.fabric.switch_ids();
                all = switches
                    .flat_map(|switch| self.fabric.out(switch))
                    .collect();
                &[all]
            }
        };
        for _ in 0..rounds {
            let mut changed = false;
            for group in groups {
                // Packets that a group has brought somewhere do not cross another arc of it.
                let crossing = |id: &ArcId| {
                    let arc = self.fabric.arc(*id);
                    (arc.to.index(), reached[arc.from.index()])
                };
                let moved: Vec<(usize, u64)> = group.iter().map(crossing).collect();
                for (to, sources) in moved {
                    changed |= sources & !reached[to] != 0;
                    reached[to] |= sources;
                }
            }
            if !changed {
                break;
            }
        }
        reached
    }

    /// Whether a look at few switches shows that all of these reach one another. Without order, one
    /// of them must reach all others. In a layered fabric one switch at the top must lead down to
    /// all of them: these ways, reversed, lead up to it.
    fn joins_all(&self, edge: &[SwitchId]) -> bool {
        let (sources, rounds) = match self.groups {
            None if self.rounds < usize::MAX => return false,
            None => (edge.iter().copied().take(1).collect(), self.rounds),
            Some(_) => (self.tops(), 1),
        };
        let reached = self.reached(&sources, rounds);
        let common = |all: u64, to: &SwitchId| all & reached[to.index()];
        edge.is_empty() || edge.iter().fold(u64::MAX, common) != 0
    }

    /// Some switches from which no arc leads up.
    fn tops(&self) -> Vec<SwitchId> {
        let fabric = self.fabric;
        let top = |switch: &SwitchId| !fabric.out(*switch).any(|arc| fabric.is_up(arc));
        let layered = |switch: &SwitchId| fabric.layer(*switch).is_some();
        let switches = fabric.switch_ids().filter(|s| layered(s) && top(s));
        switches.take(AT_ONCE).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Topology;
    use crate::generate::{Bcube, Cables, Clos, FatTree, FlattenedClos, Jellyfish, JellyfishSize};

    /// Small networks of several kinds.
    fn networks() -> Vec<Topology> {
        let cables = Cables::default();
        let flattened = |switches, layers, seed| FlattenedClos {
            switches,
            ports: 6,
            fabric_ports: 4,
            layers: Some(layers),
            split: None,
            single_links: false,
            optical: None,
            seed,
            cables,
        };
        let size = JellyfishSize::Switches {
            switches: 12,
            fabric_ports: 3,
        };
        let jellyfish = Jellyfish {
            size,
            ports: 4,
            seed: 1,
            cables,
        };
        let clos = Clos {
            leaves: 4,
            spines: 2,
            hosts: 1,
            parallel: 1,
            cables,
        };
        let bcube = Bcube { n: 3, k: 1, cables };
        let mut all = vec![
            jellyfish.generate().expect("a random graph"),
            clos.generate().expect("a Clos"),
            FatTree { k: 4, cables }.generate().expect("a fat-tree"),
            bcube.generate().expect("a BCube"),
        ];
        for (layers, seed) in [(2, 1), (3, 1), (3, 2)] {
            let made = flattened(8, layers, seed).generate();
            all.push(made.expect("a Flattened Clos"));
        }
        all
    }

    /// The pairs that enumerating all routes finds apart.
    fn enumerated(set: &RouteSet) -> Vec<(SwitchId, SwitchId)> {
        let mut joined = BTreeSet::new();
        set.for_each_path(|path| {
            joined.insert((path.from, path.to));
        });
        let edge: Vec<SwitchId> = set.fabric().edge_switches().collect();
        let pairs = edge
            .iter()
            .flat_map(|from| edge.iter().map(|to| (*from, *to)));
        let lone = pairs.filter(|pair| pair.0 != pair.1 && !joined.contains(pair));
        lone.collect()
    }

    #[test]
    fn pairs_are_those_that_enumerating_all_routes_finds() {
        let policies = [
            RoutePolicy::Shortest,
            RoutePolicy::Ksp { k: 2 },
            RoutePolicy::AllSimple { max_switches: 3 },
            RoutePolicy::UpDown { bounces: 0 },
            RoutePolicy::UpDown { bounces: 1 },
            RoutePolicy::VirtualUpDown { bounces: 0 },
            RoutePolicy::VirtualUpDown { bounces: 1 },
            RoutePolicy::BcubeDigit,
            RoutePolicy::Explicit {
                routes: vec!["h1 s1 s2 h2".to_owned()],
            },
        ];
        let (mut compared, mut with_lone) = (0, 0);
        for (whole, policy) in networks()
            .iter()
            .flat_map(|n| policies.iter().map(move |p| (n, p)))
        {
            for failed in [0, 2, 4] {
                let links = whole.link_ids().filter(|l| l.index() % 7 < failed);
                let topology = whole.with_failed_links(&links.collect::<Vec<_>>());
                let Ok(set) = RouteSet::new(&topology, policy.clone()) else {
                    continue; // no such layers, no BCube, no such route
                };
                let expected = enumerated(&set);
                let found = set.joined_pairs(usize::MAX);
                assert_eq!(
                    found.named,
                    expected,
                    "{} {policy:?} {failed}",
                    whole.name()
                );
                assert_eq!(found.apart, expected.len() as u64);
                let edge = set.fabric().edge_switches().count() as u64;
                assert_eq!(found.pairs, edge * edge.saturating_sub(1));
                assert_eq!(set.joined_pairs(1).named.len(), expected.len().min(1));
                compared += 1;
                with_lone += usize::from(!expected.is_empty());
            }
        }
        assert!(compared > 50 && with_lone > 20, "{compared} {with_lone}");
    }
}
