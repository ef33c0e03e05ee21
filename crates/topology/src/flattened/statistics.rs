//! How many disjoint paths pairs of switches have, and how long they are (FC23, Tables 1, 2 and 7).

use rayon::prelude::*;

use super::{FlattenedLinks, Router, flow::PathCount};
use crate::SwitchId;

/// Disjoint paths over all pairs of switches. Lengths count links; FC23 counts switches, which is
/// one more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathStatistics {
    /// Unordered pairs of switches: the paths of a pair are those of the opposite pair, reversed.
    pub pairs: u64,
    /// Pairs without a path.
    pub unconnected: u64,
    /// Paths over all pairs.
    pub paths: u64,
    /// The fewest paths of a pair.
    pub fewest: u32,
    /// Links over all paths.
    pub links: u64,
    /// Links of the shortest path of every pair, added up.
    pub shortest: u64,
}

impl PathStatistics {
    /// Counts over all pairs of switches; `done` is called after each target.
    pub fn new(graph: &FlattenedLinks, done: &(impl Fn() + Sync)) -> Self {
        let switches = super::number(graph.switch_count());
        let targets = (1..switches).into_par_iter().map_init(
            || Router::new(graph),
            |router, target| {
                let mut sum = Self::default();
                for source in 0..target {
                    sum = sum.and(Self::of(
                        router.count(SwitchId::new(source), SwitchId::new(target)),
                    ));
                }
                done();
                sum
            },
        );
        targets.reduce(Self::default, Self::and)
    }

    /// One pair.
    fn of(count: PathCount) -> Self {
        Self {
            pairs: 1,
            unconnected: u64::from(count.paths == 0),
            paths: u64::from(count.paths),
            fewest: count.paths,
            links: u64::from(count.links),
            shortest: u64::from(count.shortest),
        }
    }

    fn and(self, other: Self) -> Self {
        Self {
            pairs: self.pairs + other.pairs,
            unconnected: self.unconnected + other.unconnected,
            paths: self.paths + other.paths,
            fewest: match (self.pairs, other.pairs) {
                (0, _) => other.fewest,
                (_, 0) => self.fewest,
                _ => self.fewest.min(other.fewest),
            },
            links: self.links + other.links,
            shortest: self.shortest + other.shortest,
        }
    }

    /// Paths of a pair, on average; `None` without pairs.
    #[must_use]
    pub fn mean_paths(&self) -> Option<f64> {
        mean(self.paths, self.pairs)
    }

    /// Links of a path, on average; `None` without paths.
    #[must_use]
    pub fn mean_links(&self) -> Option<f64> {
        mean(self.links, self.paths)
    }

    /// Links of a pair's shortest path, on average over the pairs that have one.
    #[must_use]
    pub fn mean_shortest(&self) -> Option<f64> {
        mean(self.shortest, self.pairs - self.unconnected)
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "exact up to 2^53, far beyond any network"
)]
fn mean(sum: u64, count: u64) -> Option<f64> {
    (count > 0).then(|| sum as f64 / count as f64)
}
