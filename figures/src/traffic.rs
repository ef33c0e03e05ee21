//! Patterns of traffic between switches (FC23 section 4).

use rand::SeedableRng;
use rand::seq::index::sample;
use rand_chacha::ChaCha8Rng;
use topology::{Fabric, UNREACHABLE};

/// Who sends how much to whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pattern {
    /// Every switch to all others alike.
    AllToAll,
    /// Every switch to an eighth of the others, drawn at random, alike.
    Uniform,
    /// Every switch to one other: of all such pairings the one with the longest shortest paths.
    NearWorst,
}

impl Pattern {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::AllToAll => "all-to-all",
            Self::Uniform => "uniform",
            Self::NearWorst => "near-worst",
        }
    }

    /// What every switch sends to every other, if all send `each`.
    #[expect(clippy::cast_precision_loss, reason = "a few hundred switches")]
    pub(super) fn demands(self, fabric: &Fabric, each: f64, seed: u64) -> Vec<Vec<f64>> {
        let switches = fabric.switch_count();
        let mut demands = vec![vec![0.0; switches]; switches];
        match self {
            Self::AllToAll => {
                for (from, row) in demands.iter_mut().enumerate() {
                    row.fill(each / (switches - 1) as f64);
                    row[from] = 0.0;
                }
            }
            Self::Uniform => {
                let mut random = ChaCha8Rng::seed_from_u64(seed);
                let count = (switches / 8).max(1);
                for (from, row) in demands.iter_mut().enumerate() {
                    for other in sample(&mut random, switches - 1, count) {
                        row[other + usize::from(other >= from)] = each / count as f64;
                    }
                }
            }
            Self::NearWorst => {
                let hops = |hops: &u16| i64::from(if *hops == UNREACHABLE { 0 } else { *hops });
                let distances = fabric.switch_ids().map(|from| fabric.distances(from));
                let weights: Vec<Vec<i64>> = distances
                    .map(|row| row.iter().map(hops).collect())
                    .collect();
                for (from, to) in heaviest_pairing(&weights).into_iter().enumerate() {
                    if from != to {
                        demands[from][to] = each;
                    }
                }
            }
        }
        demands
    }
}

/// The column of every row such that each column is taken once and the weights are most together:
/// the Hungarian method with potentials, a row at a time along shortest augmenting paths.
fn heaviest_pairing(weights: &[Vec<i64>]) -> Vec<usize> {
    let n = weights.len();
    // Rows and columns count from 1; row 0 is none, column 0 is where a new row starts.
    let (mut of_row, mut of_column) = (vec![0; n + 1], vec![0; n + 1]);
    let mut row_at = vec![0; n + 1];
    for row in 1..=n {
        row_at[0] = row;
        let mut column = 0;
        let mut slack = vec![i64::MAX; n + 1];
        let mut before = vec![0; n + 1];
        let mut done = vec![false; n + 1];
        while row_at[column] != 0 {
            done[column] = true;
            let at = row_at[column];
            let (mut least, mut next) = (i64::MAX, 0);
            for other in (1..=n).filter(|&other| !done[other]) {
                let left = -weights[at - 1][other - 1] - of_row[at] - of_column[other];
                if left < slack[other] {
                    (slack[other], before[other]) = (left, column);
                }
                if slack[other] < least {
                    (least, next) = (slack[other], other);
                }
            }
            for other in 0..=n {
                if done[other] {
                    of_row[row_at[other]] += least;
                    of_column[other] -= least;
                } else {
                    slack[other] = slack[other].saturating_sub(least);
                }
            }
            column = next;
        }
        while column != 0 {
            row_at[column] = row_at[before[column]];
            column = before[column];
        }
    }
    let mut pairing = vec![0; n];
    for column in 1..=n {
        pairing[row_at[column] - 1] = column - 1;
    }
    pairing
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;

    fn best(weights: &[Vec<i64>], row: usize, taken: &mut Vec<bool>) -> i64 {
        if row == weights.len() {
            return 0;
        }
        let mut most = i64::MIN;
        for column in 0..weights.len() {
            if !std::mem::replace(&mut taken[column], true) {
                most = most.max(weights[row][column] + best(weights, row + 1, taken));
                taken[column] = false;
            }
        }
        most
    }

    #[test]
    fn no_pairing_is_heavier() {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        for round in 0..200 {
            let n = 1 + round % 6;
            let mut row = || {
                (0..n)
                    .map(|_| random.random_range(0..9))
                    .collect::<Vec<i64>>()
            };
            let weights: Vec<Vec<i64>> = (0..n).map(|_| row()).collect();
            let pairing = heaviest_pairing(&weights);
            let mut columns = pairing.clone();
            columns.sort_unstable();
            assert!(columns.iter().copied().eq(0..n));
            let of_row = pairing
                .iter()
                .zip(&weights)
                .map(|(&column, row)| row[column]);
            assert_eq!(of_row.sum::<i64>(), best(&weights, 0, &mut vec![false; n]));
        }
    }
}
