//! The largest factor by which all demands can be carried at once over given paths (maximum concurrent flow), by multiplicative
//! weights (GargKonemann98), with a certified gap.
//!
//! Every arc has a length, which grows with what it carries. In each round every demand goes over its shortest path. The fullest arc says
//! how much of the rounds' flow fits: a lower bound. Whatever the lengths, no factor is above the sum of all lengths (all
//! arcs carry 1) over that of demands times distances: an upper bound.

use serde::Serialize;

/// A demand and the paths that may carry it, as arcs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Commodity<'a> {
    pub(super) demand: f64,
    pub(super) paths: &'a [Vec<u32>],
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
/// The most that is sent at once, as a share of what an arc carries: only then lengths are looked at again.
const MOST_AT_ONCE: f64 = 0.25;

/// The throughput over arcs that carry 1 each, until the bounds are within `gap` of each other.
pub(super) fn throughput(arcs: usize, commodities: &[Commodity<'_>], gap: f64) -> Throughput {
    let mut best = Throughput {
        at_least: 0.0,
        at_most: f64::INFINITY,
    };
    if commodities
        .iter()
        .any(|commodity| commodity.paths.is_empty())
    {
        best.at_most = 0.0;
        return best;
    }
    let mut lengths = vec![1.0; arcs];
    let mut step = 0.5;
    for halvings in 0..HALVINGS {
        // What has become very short in long steps would take many short ones to recover.
        let total: f64 = lengths.iter().sum();
        for length in &mut lengths {
            *length = (*length / total).max(SHORTEST);
        }
        // Flows of one step count together: those of longer steps before are rougher. Errors fall as 1 over step and rounds.
        let mut loads = vec![0.0f64; arcs];
        let mut carried = 0.0;
        for _ in 0..32u32 << (2 * halvings) {
            let scale = if best.at_least > 0.0 {
                best.at_least
            } else {
                least(commodities)
            };
            let weighted = round(commodities, scale, step, &mut lengths, &mut loads);
            carried += 1.0;
            let total: f64 = lengths.iter().sum();
            best.at_most = best.at_most.min(total / weighted);
            let fullest = loads.iter().copied().fold(0.0, f64::max);
            best.at_least = best.at_least.max(carried / fullest);
            if best.at_most <= best.at_least * (1.0 + gap) {
                return best;
            }
            lengths.iter_mut().for_each(|length| *length /= total);
        }
        step /= 2.0;
    }
    best
}

/// A factor that surely fits: all demands over one arc.
fn least(commodities: &[Commodity<'_>]) -> f64 {
    1.0 / commodities
        .iter()
        .map(|commodity| commodity.demand)
        .sum::<f64>()
}

/// Sends every demand, times `scale` as far as lengths are concerned, over its shortest paths; the sum of demands times distances, by the lengths at the end.
fn round(
    commodities: &[Commodity<'_>],
    scale: f64,
    step: f64,
    lengths: &mut [f64],
    loads: &mut [f64],
) -> f64 {
    let shortest = |lengths: &[f64], commodity: &Commodity<'_>| {
        let length = |path: &Vec<u32>| path.iter().map(|&arc| lengths[arc as usize]).sum::<f64>();
        let paths = commodity.paths.iter().enumerate();
        let lengths = paths.map(|(at, path)| (at, length(path)));
        lengths
            .min_by(|a, b| a.1.total_cmp(&b.1))
            .unwrap_or((0, 0.0))
    };
    for commodity in commodities {
        let mut left = commodity.demand;
        while left > 0.0 {
            let part = left.min(MOST_AT_ONCE / scale);
            left -= part;
            let (at, _) = shortest(lengths, commodity);
            for &arc in &commodity.paths[at] {
                loads[arc as usize] += part;
                lengths[arc as usize] *= (step * scale * part).exp();
            }
        }
    }
    let weighted = |commodity: &Commodity<'_>| commodity.demand * shortest(lengths, commodity).1;
    commodities.iter().map(weighted).sum()
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
        let found = throughput(arcs, &commodities, 0.02);
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
        let none = [Commodity {
            demand: 1.0,
            paths: &[],
        }];
        assert!(throughput(1, &none, 0.1).at_most.abs() < 1e-12);
    }
}
