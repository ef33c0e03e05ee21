//! The largest factor by which all demands can be carried at once (maximum concurrent flow), by
//! multiplicative weights (GargKonemann98), with a certified gap.
//!
//! Every arc has a length, which grows with what it carries. In each round every demand goes over
//! its shortest way. The fullest arc says how much of the rounds' flow fits: a lower bound.
//! Whatever the lengths, no factor is above the sum of all lengths (all arcs carry 1) over that of
//! demands times distances: an upper bound.

use serde::Serialize;
use topology::SwitchId;
use topology::flattened::{FlattenedLinks, ShortestWays};

/// Demands, and the ways that may carry them.
pub(super) trait Demands {
    /// Number of arcs.
    fn arcs(&self) -> usize;
    /// All demands together; infinite if one has no way.
    fn total(&self) -> f64;
    /// Sends every demand over its shortest ways, so much of it at once.
    fn send(&self, most: f64, network: &mut Network);
    /// The sum of all demands times the lengths of their shortest ways.
    fn weighted(&self, lengths: &[f64]) -> f64;
}

/// Lengths and loads of arcs.
pub(super) struct Network {
    lengths: Vec<f64>,
    loads: Vec<f64>,
    /// By how much lengths grow with loads.
    growth: f64,
}

impl Network {
    fn carry(&mut self, amount: f64, way: impl Iterator<Item = usize>) {
        for arc in way {
            self.loads[arc] += amount;
            self.lengths[arc] *= (self.growth * amount).exp();
        }
    }
}

/// A demand and the paths that may carry it, as arcs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Commodity<'a> {
    pub(super) demand: f64,
    pub(super) paths: &'a [Vec<u32>],
}

impl Commodity<'_> {
    /// The shortest path, and its length.
    fn shortest(&self, lengths: &[f64]) -> (&[u32], f64) {
        let length = |path: &Vec<u32>| path.iter().map(|&arc| lengths[arc as usize]).sum::<f64>();
        let paths = self.paths.iter().map(|path| (&path[..], length(path)));
        let shortest = paths.min_by(|a, b| a.1.total_cmp(&b.1));
        shortest.unwrap_or((&[], f64::INFINITY))
    }
}

/// Demands over listed paths.
pub(super) struct Listed<'a> {
    pub(super) arcs: usize,
    pub(super) commodities: Vec<Commodity<'a>>,
}

impl Demands for Listed<'_> {
    fn arcs(&self) -> usize {
        self.arcs
    }

    fn total(&self) -> f64 {
        if self.commodities.iter().any(|c| c.paths.is_empty()) {
            return f64::INFINITY;
        }
        self.commodities.iter().map(|c| c.demand).sum()
    }

    fn send(&self, most: f64, network: &mut Network) {
        for commodity in &self.commodities {
            for part in parts(commodity.demand, most) {
                let (path, _) = commodity.shortest(&network.lengths);
                network.carry(part, path.iter().map(|&arc| arc as usize));
            }
        }
    }

    fn weighted(&self, lengths: &[f64]) -> f64 {
        let weighted = |c: &Commodity<'_>| c.demand * c.shortest(lengths).1;
        self.commodities.iter().map(weighted).sum()
    }
}

/// Demands over all ways up and down.
pub(super) struct UpDown<'a> {
    pub(super) graph: &'a FlattenedLinks,
    /// For every switch: which switches send it how much.
    pub(super) demands: Vec<(SwitchId, Vec<(SwitchId, f64)>)>,
}

impl Demands for UpDown<'_> {
    fn arcs(&self) -> usize {
        self.graph.arc_count()
    }

    fn total(&self) -> f64 {
        let none = vec![0.0; self.arcs()];
        let mut ways = ShortestWays::new(self.graph);
        let all = self.demands.iter().flat_map(|(target, sources)| {
            ways.aim(*target, &none);
            let one = |&(source, demand)| demand + ways.distance(source);
            sources.iter().map(one).collect::<Vec<f64>>()
        });
        all.sum()
    }

    fn send(&self, most: f64, network: &mut Network) {
        let mut ways = ShortestWays::new(self.graph);
        for (target, sources) in &self.demands {
            let mut sent = f64::INFINITY;
            for &(source, demand) in sources {
                for part in parts(demand, most) {
                    // What the sources of a target send together counts as one.
                    if sent + part > most {
                        ways.aim(*target, &network.lengths);
                        sent = 0.0;
                    }
                    sent += part;
                    network.carry(part, ways.arcs(source));
                }
            }
        }
    }

    fn weighted(&self, lengths: &[f64]) -> f64 {
        let mut ways = ShortestWays::new(self.graph);
        let all = self.demands.iter().map(|(target, sources)| {
            ways.aim(*target, lengths);
            let one = |&(source, demand)| demand * ways.distance(source);
            sources.iter().map(one).sum::<f64>()
        });
        all.sum()
    }
}

/// A demand in parts of which none is larger than `most`.
fn parts(demand: f64, most: f64) -> impl Iterator<Item = f64> {
    let mut left = demand;
    std::iter::from_fn(move || {
        let part = left.min(most);
        left -= part;
        (part > 0.0).then_some(part)
    })
}

/// Between which bounds the throughput lies.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Throughput {
    /// A flow of this factor was found.
    pub at_least: f64,
    /// No flow has a greater one.
    pub at_most: f64,
}

/// How often steps are halved; after that the bounds are as good as they get.
const HALVINGS: u32 = 6;

/// The least length at the beginning of a step, of 1 of all arcs together.
const SHORTEST: f64 = 1e-9;
/// The most that is sent at once, as a share of what an arc carries: only then lengths are looked
/// at again.
const MOST_AT_ONCE: f64 = 0.25;

/// The throughput over arcs that carry 1 each, until the bounds are within `gap` of each other.
pub(super) fn throughput(demands: &impl Demands, gap: f64) -> Throughput {
    let all = demands.total();
    let mut best = Throughput {
        // All demands over one arc surely fit.
        at_least: 1.0 / all,
        at_most: f64::INFINITY,
    };
    if all.is_infinite() {
        best.at_most = 0.0;
        return best;
    }
    let arcs = demands.arcs();
    let mut lengths = vec![1.0; arcs];
    let mut step = 0.5;
    for halvings in 0..HALVINGS {
        // What has become very short in long steps would take many short ones to recover.
        let total: f64 = lengths.iter().sum();
        for length in &mut lengths {
            *length = (*length / total).max(SHORTEST);
        }
        // Flows of one step count together: those of longer steps before are rougher. Errors fall
        // as 1 over step and rounds.
        let mut network = Network {
            lengths,
            loads: vec![0.0f64; arcs],
            growth: 0.0,
        };
        let mut carried = 0.0;
        for _ in 0..32u32 << (2 * halvings) {
            network.growth = step * best.at_least;
            demands.send(MOST_AT_ONCE / best.at_least, &mut network);
            carried += 1.0;
            let total: f64 = network.lengths.iter().sum();
            let weighted = demands.weighted(&network.lengths);
            best.at_most = best.at_most.min(total / weighted);
            let fullest = network.loads.iter().copied().fold(0.0, f64::max);
            best.at_least = best.at_least.max(carried / fullest);
            if best.at_most <= best.at_least * (1.0 + gap) {
                return best;
            }
            network
                .lengths
                .iter_mut()
                .for_each(|length| *length /= total);
        }
        lengths = network.lengths;
        step /= 2.0;
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    fn solved(arcs: usize, demands: &[(f64, Vec<Vec<u32>>)]) -> Throughput {
        let commodities: Vec<Commodity<'_>> = demands
            .iter()
            .map(|(demand, paths)| Commodity {
                demand: *demand,
                paths,
            })
            .collect();
        let found = throughput(&Listed { arcs, commodities }, 0.02);
        assert!(found.at_most <= 1.02 * found.at_least, "{found:?}");
        found
    }

    fn assert_near(found: Throughput, expected: f64) {
        assert!(
            found.at_least <= expected * 1.000_001,
            "{found:?}, not {expected}"
        );
        assert!(
            found.at_most >= expected * 0.999_999,
            "{found:?}, not {expected}"
        );
    }

    #[test]
    fn bounds_enclose_what_is_known() {
        // One arc for two demands.
        assert_near(
            solved(1, &[(1.0, vec![vec![0]]), (3.0, vec![vec![0]])]),
            0.25,
        );
        // Two ways of which one is shared: 1.5 for each of two demands.
        let shared = [(1.0, vec![vec![0], vec![1]]), (1.0, vec![vec![1], vec![2]])];
        assert_near(solved(3, &shared), 1.5);
        // A long way and a short one for 4: both are filled.
        assert_near(solved(4, &[(4.0, vec![vec![0], vec![1, 2, 3]])]), 0.5);
        // A triangle, each demand over its own arc or the two others.
        let around = |own: u32| vec![vec![own], vec![(own + 1) % 3, (own + 2) % 3]];
        let triangle = [(1.0, around(0)), (1.0, around(1)), (1.0, around(2))];
        assert_near(solved(3, &triangle), 1.0);
    }

    #[test]
    fn without_a_path_nothing_is_carried() {
        let commodities = vec![Commodity {
            demand: 1.0,
            paths: &[],
        }];
        let none = Listed {
            arcs: 1,
            commodities,
        };
        assert!(throughput(&none, 0.1).at_most.abs() < 1e-12);
    }
}
