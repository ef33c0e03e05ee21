//! Sets of destinations, a bit each, and which links lead nearer to them.

use topology::{Distances, Fabric, SwitchId, UNREACHABLE};

/// Words of a set of destinations: the destinations are taken in blocks.
const WORDS: usize = 8;

/// Destinations of a word.
pub(super) const WORD: usize = 64;

/// The most destinations of a block.
pub(super) const BLOCK: usize = WORD * WORDS;

/// Hops up to which switches are found for a whole block together. In networks that are wider few
/// destinations of a block are as far as each other, so that there is little to be won.
const WIDE: usize = 64;

/// A set of destinations of one block.
pub(super) type Set = [u64; WORDS];

/// Those in both.
pub(super) fn and(a: &Set, b: &Set) -> Set {
    std::array::from_fn(|word| a[word] & b[word])
}

/// Those in the first and not in the second.
pub(super) fn without(a: &Set, b: &Set) -> Set {
    std::array::from_fn(|word| a[word] & !b[word])
}

/// Adds those of the second.
pub(super) fn add(a: &mut Set, b: &Set) {
    for (a, b) in a.iter_mut().zip(b) {
        *a |= b;
    }
}

/// Whether there is none.
pub(super) fn is_empty(set: &Set) -> bool {
    set.iter().fold(0, |all, word| all | word) == 0
}

/// Whether a destination is in it.
pub(super) fn has(set: &Set, destination: usize) -> bool {
    set[destination / WORD] & 1 << (destination % WORD) != 0
}

/// Adds a destination.
pub(super) fn insert(set: &mut Set, destination: usize) {
    set[destination / WORD] |= 1 << (destination % WORD);
}

/// Its destinations, rising.
pub(super) fn members(set: &Set) -> impl Iterator<Item = usize> + '_ {
    set.iter().enumerate().flat_map(|(word, &bits)| {
        let rest = std::iter::successors(Some(bits), |bits| Some(bits & bits.wrapping_sub(1)));
        rest.take_while(|bits| *bits != 0)
            .map(move |bits| word * WORD + bits.trailing_zeros() as usize)
    })
}

/// The lowest destination.
pub(super) fn first(set: &Set) -> Option<usize> {
    members(set).next()
}

/// The ways to a block of destinations.
pub(super) struct Nearer {
    /// By switch: the destinations to which there is a way.
    pub(super) joined: Vec<Set>,
    /// By arc: the destinations to which it leads nearer, in hops.
    pub(super) toward: Vec<Set>,
    /// Whether some destination is very far from some switch.
    pub(super) wide: bool,
}

impl Nearer {
    /// The ways to at most [`BLOCK`] switches, over all live links.
    pub(super) fn new(fabric: &Fabric, targets: &[SwitchId]) -> Self {
        let mut ways = Self {
            joined: vec![Set::default(); fabric.switch_count()],
            toward: vec![Set::default(); fabric.arcs().len()],
            wide: false,
        };
        for (bit, target) in targets.iter().enumerate() {
            insert(&mut ways.joined[target.index()], bit);
        }
        let mut fresh = ways.joined.clone();
        let mut next = vec![Set::default(); fresh.len()];
        for _ in 0..WIDE {
            if !ways.spread(fabric, &fresh, &mut next) {
                return ways;
            }
            std::mem::swap(&mut fresh, &mut next);
        }
        ways.wide = true;
        ways.one_by_one(fabric, targets);
        ways
    }

    /// One hop more: `fresh` are the destinations that were met a hop before, `next` becomes those
    /// that are met now. Whether there are any.
    fn spread(&mut self, fabric: &Fabric, fresh: &[Set], next: &mut [Set]) -> bool {
        let mut any = false;
        for (switch, next) in fabric.switch_ids().zip(next) {
            let mut met = Set::default();
            for (_, arc) in fabric.out_arcs(switch) {
                add(&mut met, &fresh[arc.to.index()]);
            }
            let joined = &mut self.joined[switch.index()];
            *next = without(&met, joined);
            if is_empty(next) {
                continue;
            }
            any = true;
            add(joined, next);
            for (id, arc) in fabric.out_arcs(switch) {
                let nearer = and(next, &fresh[arc.to.index()]);
                add(&mut self.toward[id.index()], &nearer);
            }
        }
        any
    }

    /// The same, destination by destination.
    fn one_by_one(&mut self, fabric: &Fabric, targets: &[SwitchId]) {
        let distances = Distances::new(fabric, targets);
        for bit in 0..targets.len() {
            let hops = distances.row(bit);
            for (set, hops) in self.joined.iter_mut().zip(hops) {
                if *hops != UNREACHABLE {
                    insert(set, bit);
                }
            }
            for (set, arc) in self.toward.iter_mut().zip(fabric.arcs()) {
                let (from, to) = (hops[arc.from.index()], hops[arc.to.index()]);
                if from != UNREACHABLE && from == to + 1 {
                    insert(set, bit);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use topology::Topology;
    use topology::generate::{Cables, Jellyfish, JellyfishSize, Ring};

    use super::*;

    /// Whether sets say what distances say, target by target.
    fn agrees(topology: &Topology, wide: bool) {
        let fabric = Fabric::new(topology);
        let targets: Vec<SwitchId> = fabric.switch_ids().take(BLOCK).collect();
        let ways = Nearer::new(&fabric, &targets);
        assert_eq!(ways.wide, wide);
        for (bit, &target) in targets.iter().enumerate() {
            let hops = fabric.distances(target);
            for (set, hops) in ways.joined.iter().zip(&hops) {
                assert_eq!(has(set, bit), *hops != UNREACHABLE);
            }
            for (set, arc) in ways.toward.iter().zip(fabric.arcs()) {
                let nearer = hops[arc.to.index()] < hops[arc.from.index()];
                assert_eq!(has(set, bit), nearer, "{arc:?} to {target:?}");
            }
        }
    }

    #[test]
    fn sets_say_what_distances_say() {
        for seed in 0..4 {
            let jellyfish = Jellyfish {
                size: JellyfishSize::Switches {
                    switches: 40 + 20 * seed,
                    fabric_ports: 4,
                },
                ports: 8,
                seed: seed.into(),
                cables: Cables::default(),
            };
            agrees(&jellyfish.generate().expect("a valid graph"), false);
        }
        for (switches, wide) in [(7, false), (126, false), (150, true)] {
            let ring = Ring {
                switches,
                hosts: 1,
                cables: Cables::default(),
            };
            agrees(&ring.generate().expect("a valid ring"), wide);
        }
    }

    #[test]
    fn members_rise() {
        let mut set = Set::default();
        assert!(is_empty(&set) && first(&set).is_none());
        let some = [0, 63, 64, 200, 511];
        some.iter().for_each(|bit| insert(&mut set, *bit));
        assert_eq!(members(&set).collect::<Vec<_>>(), some);
        assert_eq!(first(&without(&set, &[1, 0, 0, 0, 0, 0, 0, 0])), Some(63));
    }
}
