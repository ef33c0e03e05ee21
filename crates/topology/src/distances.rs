//! Hop distances between many switches at once.

use rayon::prelude::*;

use super::fabric::{Fabric, UNREACHABLE};
use super::ids::SwitchId;

/// Targets per block: one breadth-first search advances this many targets together, a bit each.
const BLOCK: usize = 256;
/// Words of a block's bit set.
const WORDS: usize = BLOCK / 64;
/// Beyond this many hops across, rounds over all arcs cost more than a search per target.
const WIDE: u16 = 64;

/// Distances in hops between every switch and a list of target switches.
#[derive(Clone, Debug)]
pub struct Distances {
    switches: usize,
    targets: Vec<SwitchId>,
    /// Row by row: `hops[t * switches + s]`.
    hops: Vec<u16>,
}

impl Distances {
    /// The distances to the given targets, over the live links of a fabric.
    #[must_use]
    pub fn new(fabric: &Fabric, targets: &[SwitchId]) -> Self {
        let switches = fabric.switch_count();
        let mut hops = vec![UNREACHABLE; switches * targets.len()];
        let across = targets
            .first()
            .map_or(0, |&t| eccentricity(&fabric.distances(t)));
        if across > WIDE {
            hops.par_chunks_mut(switches)
                .zip(targets)
                .for_each(|(row, &target)| row.copy_from_slice(&fabric.distances(target)));
        } else {
            hops.par_chunks_mut(switches * BLOCK)
                .zip(targets.par_chunks(BLOCK))
                .for_each(|(rows, targets)| block(fabric, targets, rows));
        }
        Self {
            switches,
            targets: targets.to_vec(),
            hops,
        }
    }

    /// The targets, in row order.
    #[must_use]
    pub fn targets(&self) -> &[SwitchId] {
        &self.targets
    }

    /// The distances between the `row`-th target and every switch, by switch index.
    #[must_use]
    pub fn row(&self, row: usize) -> &[u16] {
        &self.hops[row * self.switches..(row + 1) * self.switches]
    }
}

/// The largest finite distance.
fn eccentricity(row: &[u16]) -> u16 {
    let finite = row.iter().copied().filter(|&d| d != UNREACHABLE);
    finite.max().unwrap_or(0)
}

/// Breadth-first search from up to [`BLOCK`] targets together: bit `t` of `seen[s]` says that the
/// `t`-th target has been met at `s`, and each round spreads the newly set bits over all arcs.
fn block(fabric: &Fabric, targets: &[SwitchId], rows: &mut [u16]) {
    let switches = fabric.switch_count();
    let mut seen = vec![[0u64; WORDS]; switches];
    for (bit, target) in targets.iter().enumerate() {
        seen[target.index()][bit / 64] |= 1 << (bit % 64);
        rows[bit * switches + target.index()] = 0;
    }
    let mut fresh = seen.clone();
    let mut next = vec![[0u64; WORDS]; switches];
    let mut spread = true;
    let mut hop = 0;
    while spread {
        spread = false;
        hop += 1;
        for switch in fabric.switch_ids() {
            let at = switch.index();
            let mut met = [0u64; WORDS];
            for (_, arc) in fabric.out_arcs(switch) {
                for (met, fresh) in met.iter_mut().zip(&fresh[arc.to.index()]) {
                    *met |= fresh;
                }
            }
            for (word, met) in met.iter_mut().enumerate() {
                *met &= !seen[at][word];
                seen[at][word] |= *met;
                let mut bits = *met;
                while bits != 0 {
                    let bit = word * 64 + bits.trailing_zeros() as usize;
                    rows[bit * switches + at] = hop;
                    bits &= bits - 1;
                    spread = true;
                }
            }
            next[at] = met;
        }
        std::mem::swap(&mut fresh, &mut next);
    }
}
