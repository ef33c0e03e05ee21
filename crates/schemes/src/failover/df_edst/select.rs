//! Which trees of a channel lead to a destination, where not all do (Stephens15 section 5.2.2,
//! "Discussion").

use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::super::FailoverOptions;
use super::transitions::{TransitionGraph, TransitionKind, places};

/// What trees are chosen from.
pub(super) struct Selection<'a> {
    pub(super) graph: &'a TransitionGraph,
    pub(super) options: &'a FailoverOptions,
}

impl Selection<'_> {
    /// The places of the trees that lead to a destination, given how long its ways are on each: the
    /// shortest, but so that as many failures as are asked for are survived. Of equals none is
    /// preferred.
    pub(super) fn choose(&self, lengths: &[u64], rng: &mut ChaCha8Rng) -> u32 {
        let all = self.graph.all();
        let Some(count) = self.options.transitions.subset.map(usize::from) else {
            return all;
        };
        let mut order: Vec<usize> = places(all).collect();
        order.shuffle(rng);
        order.sort_by_key(|&place| lengths[place]);
        let initial = self.graph.of_layer(all, 0);
        let later = |place: &usize| initial >> place & 1 == 0;
        let (mut chosen, mut most_initial) = (0u32, count);
        if !matches!(
            self.options.transitions.kind,
            TransitionKind::NoRes | TransitionKind::Line
        ) {
            let reserved = self.reserved(&order);
            most_initial = count.saturating_sub(reserved.len()).max(1);
            let first = order.iter().copied().find(|place| !later(place));
            chosen = reserved
                .into_iter()
                .chain(first)
                .fold(0, |set, place| set | 1 << place);
        }
        for place in order {
            let full = chosen.count_ones() as usize >= count;
            let begins = (chosen & initial).count_ones() as usize;
            if !full && (later(&place) || begins < most_initial) {
                chosen |= 1 << place;
            }
        }
        chosen
    }

    /// The trees that are there for resilience: of `Rand` and `Max` all that are not initial, else
    /// the shortest of each of as many later layers as there are failures to survive, those with
    /// the shortest ones.
    fn reserved(&self, order: &[usize]) -> Vec<usize> {
        let later = order
            .iter()
            .copied()
            .filter(|&place| self.graph.layer(place) > 0);
        if matches!(
            self.options.transitions.kind,
            TransitionKind::Rand | TransitionKind::Max
        ) {
            return later.collect();
        }
        let mut layers = Vec::new();
        let firsts = later.filter(|&place| {
            let layer = self.graph.layer(place);
            let fresh = !layers.contains(&layer);
            layers.push(layer);
            fresh
        });
        firsts.take(usize::from(self.options.resilience)).collect()
    }
}
