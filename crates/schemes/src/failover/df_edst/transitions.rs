//! Tree transition graphs (Stephens15 section 5.2.2): on which trees packets may begin, and to
//! which trees they may change where the link of theirs is down.
//!
//! Trees stand at *places* in topological order: packets only ever change to a later place, so that
//! no links of two trees wait for each other. At one switch a packet may pass over several trees,
//! so that it may change to whatever its place *reaches*.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use strum::{EnumMessage, IntoStaticStr, VariantArray};

/// The shape of a tree transition graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, VariantArray, EnumMessage)]
#[strum(serialize_all = "kebab-case")]
pub enum TransitionKind {
    /// Packets stay on their tree.
    #[strum(message = "Packets stay on the tree that they begin on: no failure is survived")]
    NoRes,
    /// Packets change from any tree to any other: a cyclic graph.
    #[strum(
        message = "From any tree to any other: refused, for it is cyclic (see the scheme edst)"
    )]
    NoDfr,
    /// From each tree to the next; packets begin on the first.
    #[strum(
        message = "From each tree to the next, beginning on the first: survives one failure less than there are trees"
    )]
    Line,
    /// From every initial tree to the head of a line of the others.
    #[strum(
        message = "From all initial trees to the head of a line of the others: survives as many failures as those are"
    )]
    T,
    /// Layers, each two trees narrower than the one before; from every tree to all of the next
    /// layer.
    #[strum(message = "Layers, each two trees narrower than the one before")]
    ALayer,
    /// Layers, each half as wide as the one before; from every tree to all of the next layer.
    #[strum(message = "Layers, each half as wide as the one before")]
    MLayer,
    /// As `T`; from initial trees to each other as far as cycles, broken at random, leave it.
    #[strum(message = "As t; among initial trees a random acyclic graph")]
    Rand,
    /// As `T`; from every initial tree to all later ones.
    #[strum(message = "As t; from every initial tree to all later ones")]
    Max,
}

impl TransitionKind {
    /// The name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Trees in each layer, if so many are initial.
    fn widths(self, trees: usize, initial: usize) -> Vec<usize> {
        let mut widths = Vec::new();
        let (mut left, mut width) = (trees, initial.max(1));
        while left > 0 {
            width = width.min(left);
            widths.push(width);
            left -= width;
            width = match self {
                Self::ALayer => width.saturating_sub(2).max(1),
                Self::MLayer => (width / 2).max(1),
                _ => 1,
            };
        }
        widths
    }

    /// How many of so many trees are initial if that many failures are to be survived: as many as
    /// can be.
    pub(super) fn most_initial(self, trees: usize, failures: usize) -> usize {
        match self {
            Self::NoRes | Self::NoDfr => trees,
            Self::Line => 1,
            _ => {
                let enough = |&initial: &usize| self.widths(trees, initial).len() > failures;
                (1..=trees).rev().find(enough).unwrap_or(1)
            }
        }
    }
}

/// In which order a switch tries the trees of one layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, IntoStaticStr, VariantArray, EnumMessage)]
#[strum(serialize_all = "kebab-case")]
pub enum TreeOrder {
    /// Topologically: those first from which most others can be reached.
    #[strum(
        serialize = "res",
        message = "Those first from which most others can be reached"
    )]
    #[default]
    Resilience,
    /// The shortest from this switch first.
    #[strum(serialize = "perf", message = "The shortest from the switch first")]
    Performance,
}

impl TreeOrder {
    /// The name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// The most trees of a graph: sets of places are bits of a word.
pub(super) const MAX_TREES: usize = 24;

/// An acyclic tree transition graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TransitionGraph {
    /// By place: its layer; initial trees are in layer 0.
    layer: Vec<u8>,
    /// By place: the places that packets may change to, a bit each.
    reach: Vec<u32>,
}

/// The places of a set, in rising order.
pub(super) fn places(set: u32) -> impl DoubleEndedIterator<Item = usize> + Clone {
    (0..MAX_TREES).filter(move |place| set >> place & 1 == 1)
}

const fn span(first: usize, count: usize) -> u32 {
    ((1 << count) - 1) << first
}

impl TransitionGraph {
    /// The graph of so many trees, at most [`MAX_TREES`], of which so many are initial; `connected`
    /// says whether the trees of each layer follow each other in a line.
    pub(super) fn new(
        kind: TransitionKind,
        (trees, initial): (usize, usize),
        connected: bool,
        rng: &mut ChaCha8Rng,
    ) -> Self {
        let widths = kind.widths(trees, initial);
        let mut next = vec![0u32; trees];
        let mut layer = Vec::with_capacity(trees);
        for (number, (&width, after)) in
            (0u8..).zip(widths.iter().zip(widths.iter().skip(1).chain([&0])))
        {
            let first = layer.len();
            let among = match kind {
                TransitionKind::Rand if number == 0 => acyclic_at_random(width, rng),
                TransitionKind::Max if number == 0 => {
                    (0..width).map(|at| span(at + 1, width - at - 1)).collect()
                }
                _ if connected && kind != TransitionKind::NoRes => (0..width)
                    .map(|at| span(at + 1, 1) & span(0, width))
                    .collect(),
                _ => vec![0; width],
            };
            for (at, among) in among.into_iter().enumerate() {
                next[first + at] = among << first | span(first + width, *after);
                layer.push(number);
            }
        }
        let mut reach = next;
        for place in (0..trees).rev() {
            reach[place] = places(reach[place]).fold(reach[place], |all, later| all | reach[later]);
        }
        Self { layer, reach }
    }

    /// How many trees there are.
    pub(super) const fn len(&self) -> usize {
        self.layer.len()
    }

    /// All places.
    pub(super) const fn all(&self) -> u32 {
        span(0, self.len())
    }

    /// The places that packets may change to from one.
    pub(super) fn reach(&self, place: usize) -> u32 {
        self.reach[place]
    }

    /// The layer of a place.
    pub(super) fn layer(&self, place: usize) -> u8 {
        self.layer[place]
    }

    /// The places of one layer among some.
    pub(super) fn of_layer(&self, present: u32, layer: u8) -> u32 {
        let own = places(present).filter(|&place| self.layer[place] == layer);
        own.fold(0, |set, place| set | 1 << place)
    }

    /// The places on which packets may begin if only some are there.
    pub(super) fn initial(&self, present: u32) -> u32 {
        let lowest = places(present).map(|place| self.layer[place]).min();
        lowest.map_or(0, |layer| self.of_layer(present, layer))
    }

    /// How many failed links every packet survives if only some trees are there: the worst case
    /// over the orders that switches may try trees in, and over all networks. Links that stop a
    /// packet are of different trees, or it would not have come by.
    pub(super) fn guaranteed(&self, present: u32, order: TreeOrder) -> usize {
        let mut cost = vec![0; self.len()];
        for place in places(present).rev() {
            cost[place] = 1 + self.fewest(self.reach[place] & present, order, &cost);
        }
        // Packets may begin on any initial tree, so nothing is tried before that.
        self.fewest(present, TreeOrder::Performance, &cost)
            .saturating_sub(1)
    }

    /// The fewest failures that stop a packet which may take any of some trees, each at its cost.
    fn fewest(&self, open: u32, order: TreeOrder, cost: &[usize]) -> usize {
        let all = open.count_ones() as usize;
        let taken = places(open).map(|place| {
            let before = places(open).filter(|&other| {
                let (own, others) = (self.layer[place], self.layer[other]);
                let earlier = order == TreeOrder::Resilience && others == own && other < place;
                others < own || earlier
            });
            let spent = before.filter(|&other| self.reach[place] >> other & 1 == 0);
            spent.count() + cost[place]
        });
        taken.min().map_or(all, |least| least.min(all))
    }
}

/// What each of so many places leads to: at first every place leads to every other, then edges of
/// cycles are taken out at random (as Domke11 breaks cycles). Places are numbered in topological
/// order.
fn acyclic_at_random(count: usize, rng: &mut ChaCha8Rng) -> Vec<u32> {
    let mut next: Vec<u32> = (0..count)
        .map(|place| span(0, count) & !(1 << place))
        .collect();
    while let Some(cycle) = find_cycle(&next) {
        let at = rng.random_range(0..cycle.len());
        next[cycle[at]] &= !(1 << cycle[(at + 1) % cycle.len()]);
    }
    let mut order: Vec<usize> = Vec::with_capacity(count);
    let mut left = span(0, count);
    while left != 0 {
        let entered = places(left).fold(0, |set, place| set | next[place]);
        let Some(first) = places(left & !entered).next() else {
            break;
        };
        order.push(first);
        left &= !(1 << first);
    }
    let renumber = |set: u32| {
        let own = order
            .iter()
            .enumerate()
            .filter(|(_, old)| set >> **old & 1 == 1);
        own.fold(0, |set, (place, _)| set | 1 << place)
    };
    order.iter().map(|&old| renumber(next[old])).collect()
}

/// A cycle, if there is one.
fn find_cycle(next: &[u32]) -> Option<Vec<usize>> {
    let mut done = 0u32;
    for start in 0..next.len() {
        let mut path = vec![start];
        while let Some(&at) = path.last() {
            match places(next[at] & !done).next() {
                None => {
                    done |= 1 << at;
                    path.pop();
                }
                Some(to) => match path.iter().position(|&place| place == to) {
                    Some(depth) => return Some(path.split_off(depth)),
                    None => path.push(to),
                },
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    const KINDS: [TransitionKind; 7] = [
        TransitionKind::NoRes,
        TransitionKind::Line,
        TransitionKind::T,
        TransitionKind::ALayer,
        TransitionKind::MLayer,
        TransitionKind::Rand,
        TransitionKind::Max,
    ];

    fn graph(
        kind: TransitionKind,
        trees: usize,
        failures: usize,
        connected: bool,
    ) -> TransitionGraph {
        let initial = kind.most_initial(trees, failures);
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        TransitionGraph::new(kind, (trees, initial), connected, &mut rng)
    }

    #[test]
    fn every_shape_guarantees_what_stephens15_says() {
        for trees in 1..=12 {
            for order in [TreeOrder::Resilience, TreeOrder::Performance] {
                for connected in [false, true] {
                    let holds = |kind, failures| {
                        graph(kind, trees, failures, connected).guaranteed(span(0, trees), order)
                    };
                    assert_eq!(
                        graph(TransitionKind::NoRes, trees, 0, false)
                            .guaranteed(span(0, trees), order),
                        0
                    );
                    assert_eq!(holds(TransitionKind::Line, 0), trees - 1);
                    for reserved in 0..trees {
                        for kind in [TransitionKind::T, TransitionKind::Rand, TransitionKind::Max] {
                            assert_eq!(
                                holds(kind, reserved),
                                reserved,
                                "{kind:?} {trees} {order:?} {connected}"
                            );
                        }
                        for kind in [TransitionKind::ALayer, TransitionKind::MLayer] {
                            assert!(
                                holds(kind, reserved) >= reserved,
                                "{kind:?} {trees} {reserved}"
                            );
                        }
                    }
                }
            }
        }
    }

    /// A packet against an adversary who fails links of trees anywhere: the fewest that stop it,
    /// all permitted orders tried.
    fn game(
        graph: &TransitionGraph,
        present: u32,
        order: TreeOrder,
        open: u32,
        met: u32,
        begins: bool,
    ) -> u32 {
        let mut least = (met | open).count_ones();
        for place in places(open) {
            for skipped in 0..=open {
                // What was tried before: all lower layers, and of its own what the order says.
                let own = graph.of_layer(open, graph.layer(place)) & !(1 << place);
                let lower = places(open).filter(|&p| graph.layer(p) < graph.layer(place));
                let lower = lower.fold(0u32, |set, p| set | 1 << p);
                let must = match (order, begins) {
                    (TreeOrder::Resilience, false) => lower | own & span(0, place),
                    _ => lower,
                };
                let free = order == TreeOrder::Performance || begins;
                let fits = if free {
                    skipped & must == must && skipped & !(lower | own) == 0
                } else {
                    skipped == must
                };
                if fits {
                    let met = met | skipped | 1 << place;
                    let after = game(
                        graph,
                        present,
                        order,
                        graph.reach(place) & present,
                        met,
                        false,
                    );
                    least = least.min(after);
                }
            }
        }
        least
    }

    #[test]
    fn no_adversary_does_better_than_the_guarantee_says() {
        for kind in KINDS {
            for order in [TreeOrder::Resilience, TreeOrder::Performance] {
                for connected in [false, true] {
                    let graph = graph(kind, 5, 1, connected);
                    for present in 1..1u32 << 5 {
                        let fewest = game(&graph, present, order, present, 0, true);
                        let guaranteed = graph.guaranteed(present, order);
                        assert_eq!(
                            guaranteed + 1,
                            fewest as usize,
                            "{kind:?} {order:?} {connected} {present:b}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn random_graphs_have_no_cycle_and_differ() {
        let mut seen = std::collections::BTreeSet::new();
        for seed in 0..20 {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let next = acyclic_at_random(6, &mut rng);
            for (place, set) in next.iter().enumerate() {
                assert_eq!(set & span(0, place + 1), 0, "only to later places");
            }
            seen.insert(next);
        }
        assert!(seen.len() > 5);
    }
}
