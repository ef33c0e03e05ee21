//! As few tags as can be found: a search beyond the orders that
//! [`single_valued`](super::single_valued) tries.
//!
//! Whether two tags do is asked of a solver first ([`two_tags`]). Where it gives up, orders are
//! searched for. Two tags do if the arcs fall into two halves: a packet rises where it enters the
//! first half from the second. Pairs that lead into the second half and go on are kept there, so
//! they must follow an order; pairs that leave an arc of the first half may be those of packets
//! that have risen, so they must follow one too. For routes of at most three links that is all
//! there is to it; for longer ones it is where the search begins, and the levels that really come
//! of it decide.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use topology::routes::RouteSet;

use super::partition::{Graph, Halves, halve};
use super::two::{Answer, Limit, two_tags};
use super::{Flow, Levels, MAX_INSERTIONS, Order, Start, Way, number, ranking};
use crate::cells::{Cells, Squares, arc_id};
use crate::components::components;
use crate::demand::{Demand, Work, with_demand};
use crate::error::SchemeError;

/// How long to search for fewer tags.
#[derive(Clone, Debug)]
pub struct Search {
    /// Moves of the search, about a million a second; each of the solver's conflicts counts for a
    /// thousand. The same number and seed give the same tables.
    pub moves: u64,
    /// Set by another thread to end the search before.
    pub stop: Option<Arc<AtomicBool>>,
}

impl Default for Search {
    fn default() -> Self {
        Self {
            moves: 100_000_000,
            stop: None,
        }
    }
}

impl Search {
    fn goes_on(&self) -> bool {
        let stop = self.stop.as_ref();
        !stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
    }
}

/// Levels, and how few there can be.
pub(crate) struct Solution {
    pub(crate) levels: Vec<Cells>,
    /// No tables of single-valued rules that never lower a tag have fewer levels.
    pub(crate) at_least: usize,
}

/// The tables of the fewest levels that the search finds.
///
/// # Errors
/// [`SchemeError::TooManyTags`] if there are more levels than tags.
pub(crate) fn optimal(set: &RouteSet, search: &Search, seed: u64) -> Result<Solution, SchemeError> {
    let squares = Squares::new(set.fabric());
    let levels = Levels {
        squares: &squares,
        rank: &ranking(set.fabric()),
        most_insertions: MAX_INSERTIONS,
    };
    with_demand(
        set,
        Optimal {
            levels,
            search,
            seed,
        },
    )
}

/// Arcs up to which a step of annealing, which follows all packets, is worth its time.
const MAX_ANNEALED: usize = 2000;
/// Moves of the other search that a step of annealing counts for.
const MOVES_OF_A_STEP: u64 = 300;
/// Moves of the search that a conflict of the solver counts for.
const MOVES_OF_A_CONFLICT: u64 = 1000;
/// Pairs that a step may make worse at the beginning.
const HEAT: f64 = 1.5;

struct Optimal<'a> {
    levels: Levels<'a>,
    search: &'a Search,
    seed: u64,
}

impl Work for Optimal<'_> {
    type Output = Result<Solution, SchemeError>;

    fn on<D: Demand>(self, parts: &[D]) -> Self::Output {
        let squares = self.levels.squares;
        let start = self.levels.start(parts);
        let closure = self.levels.closure(parts, &start);
        let acyclic = components(squares, &closure).is_acyclic();
        let mut at_least = if acyclic { 1 } else { 2 };
        let mut best = self.levels.usual(parts, &start, &closure)?;
        if best.len() <= at_least {
            return Ok(Solution {
                levels: best,
                at_least,
            });
        }
        let (answer, conflicts) = self.two_tags(parts, &start, &closure);
        match answer {
            Answer::Order(order) => {
                let order = Start::Order(&order);
                best = self.levels.levels(parts, &start, order, Way::Ranked)?;
            }
            Answer::Impossible => at_least = 3,
            Answer::Unknown => {}
        }
        if best.len() <= at_least {
            return Ok(Solution {
                levels: best,
                at_least,
            });
        }
        let graphs = self.graphs(parts, &start);
        let nodes = squares.fabric.arcs().len();
        // Long enough that an attempt succeeds if it ever will, short enough for many.
        let attempt = (nodes as u64).saturating_mul(4000).max(100_000);
        let mut moves = conflicts.saturating_mul(MOVES_OF_A_CONFLICT);
        let mut seed = self.seed;
        while best.len() > at_least && moves < self.search.moves && self.search.goes_on() {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let most = attempt.min(self.search.moves - moves);
            let halves = halve(&graphs, most, &mut rng, &|| self.search.goes_on());
            // An attempt that ends at once still counts.
            moves += halves.moves.max(1000);
            seed = seed.wrapping_add(1);
            let mut order = order(&halves, nodes);
            if nodes <= MAX_ANNEALED {
                let left = self.search.moves.saturating_sub(moves) / MOVES_OF_A_STEP;
                let steps = (nodes as u64 * 40).min(left);
                moves += steps * MOVES_OF_A_STEP;
                self.anneal(parts, &start, &mut order, (steps, &mut rng));
            }
            for way in [Way::Ranked, Way::Inserted] {
                let found = self
                    .levels
                    .levels(parts, &start, Start::Order(&order), way)?;
                if found.len() < best.len() {
                    best = found;
                }
            }
        }
        Ok(Solution {
            levels: best,
            at_least,
        })
    }
}

impl Optimal<'_> {
    /// Asks a solver whether two tags do, with half of the search's moves at most; and for how many
    /// conflicts it worked.
    fn two_tags<D: Demand>(&self, parts: &[D], start: &[Flow], closure: &Cells) -> (Answer, u64) {
        let limit = Limit {
            conflicts: self.search.moves / 2 / MOVES_OF_A_CONFLICT,
            go_on: &|| self.search.goes_on(),
        };
        two_tags(self.levels.squares, parts, start, closure, limit)
    }

    /// Moves arcs within the first level's order so that fewer pairs of the second level are on
    /// cycles.
    fn anneal<D: Demand>(
        &self,
        parts: &[D],
        start: &[Flow],
        order: &mut Order,
        (steps, rng): (u64, &mut ChaCha8Rng),
    ) {
        let (mut cost, mut cyclic) = self.second_level(parts, start, order);
        for step in 0..steps {
            if cost == 0 || !self.search.goes_on() {
                return;
            }
            // Some of the second level's cycles are of packets that rise into their arcs: one of
            // these is moved.
            let Some(&arc) = cyclic.choose(rng) else {
                return;
            };
            let to = rng.random_range(0..order.len() as u32);
            let moved = relocated(order, arc, to);
            let (new, found) = self.second_level(parts, start, &moved);
            let heat = HEAT * (1.0 - step as f64 / steps as f64) + 0.05;
            let worse = new as f64 - cost as f64;
            if worse <= 0.0 || rng.random_bool((-worse / heat).exp()) {
                *order = moved;
                (cost, cyclic) = (new, found);
            }
        }
    }

    /// How many pairs of the second level stand in the way of an order, and the arcs on its cycles.
    fn second_level<D: Demand>(
        &self,
        parts: &[D],
        start: &[Flow],
        order: &Order,
    ) -> (usize, Vec<u32>) {
        let squares = self.levels.squares;
        let Some(risen) = self.levels.pass(parts, start, order, 0).1 else {
            return (0, Vec::new());
        };
        let closure = self.levels.closure(parts, &risen);
        let found = components(squares, &closure);
        if found.is_acyclic() {
            return (0, Vec::new());
        }
        let cycles = found.cyclic_pairs(squares, &closure);
        let mut arcs: Vec<u32> = cycles.iter().flat_map(|&(from, to)| [from, to]).collect();
        arcs.sort_unstable();
        arcs.dedup();
        (backward_pairs(&arcs, &cycles), arcs)
    }

    /// The pairs of arcs that some packet has come to by another arc, and those after which some
    /// packet goes on.
    fn graphs<D: Demand>(&self, parts: &[D], start: &[Flow]) -> [Graph; 2] {
        let squares = self.levels.squares;
        let fabric = squares.fabric;
        let (mut preceded, mut followed) = (squares.empty(), squares.empty());
        for (part, start) in parts.iter().zip(start) {
            let (_, live) = start.spread(part, squares);
            let layout = part.layout();
            let (mut second, mut third) = (Vec::new(), Vec::new());
            for arc in (0..fabric.arcs().len()).map(arc_id) {
                let set = &live[layout.of(arc)];
                for (place, to) in fabric.out(fabric.arc(arc).to).enumerate() {
                    second.clear();
                    second.resize(layout.of(to).len(), 0);
                    if !part.step(arc, to, set, &mut second) {
                        continue;
                    }
                    for (next, on) in fabric.out(fabric.arc(to).to).enumerate() {
                        third.clear();
                        third.resize(layout.of(on).len(), 0);
                        if part.step(to, on, &second, &mut third) {
                            followed.set(squares.through(arc, place), 0);
                            preceded.set(squares.through(to, next), 0);
                        }
                    }
                }
            }
        }
        [preceded, followed].map(|pairs| {
            let mut graph = Graph::new(fabric.arcs().len());
            for arc in (0..fabric.arcs().len()).map(arc_id) {
                for (place, to) in fabric.out(fabric.arc(arc).to).enumerate() {
                    if pairs.get(squares.through(arc, place)).is_some() {
                        graph.add(number(arc), number(to));
                    }
                }
            }
            graph
        })
    }
}

/// Pairs that lead backward in an order which has few such: by Eades, Lin and Smyth's rule, what
/// nothing leads to first, what leads nowhere last, else what leads to most more than to it.
fn backward_pairs(arcs: &[u32], pairs: &[(u32, u32)]) -> usize {
    let place = |arc: u32| arcs.binary_search(&arc).unwrap_or(0);
    let mut out = vec![Vec::new(); arcs.len()];
    let mut into = vec![Vec::new(); arcs.len()];
    for &(from, to) in pairs {
        out[place(from)].push(place(to));
        into[place(to)].push(place(from));
    }
    let mut degrees: Vec<(usize, usize)> = (0..arcs.len())
        .map(|at| (into[at].len(), out[at].len()))
        .collect();
    let mut left: Vec<bool> = vec![true; arcs.len()];
    let mut backward = 0;
    for _ in 0..arcs.len() {
        let open = (0..arcs.len()).filter(|at| left[*at]);
        let next = open.max_by_key(|&at| {
            let (into, out) = degrees[at];
            match (into, out) {
                (0, _) | (_, 0) => isize::MAX,
                (into, out) => out as isize - into as isize,
            }
        });
        let Some(at) = next else { break };
        left[at] = false;
        // A node that leads nowhere goes behind all others: nothing of it leads backward.
        if degrees[at].1 > 0 {
            backward += into[at].iter().filter(|from| left[**from]).count();
        }
        for &to in &out[at] {
            degrees[to].0 = degrees[to].0.saturating_sub(1);
        }
        for &from in &into[at] {
            degrees[from].1 = degrees[from].1.saturating_sub(1);
        }
    }
    backward
}

/// An order with one arc at another position.
fn relocated(order: &Order, arc: u32, to: u32) -> Order {
    let from = order[arc as usize];
    let shift = |at: u32| match at {
        _ if at == from => to,
        _ if from < at && at <= to => at - 1,
        _ if to <= at && at < from => at + 1,
        _ => at,
    };
    order.iter().map(|at| shift(*at)).collect()
}

/// The first half before the second, what found no place between them.
fn order(halves: &Halves, nodes: usize) -> Order {
    let [first, second] = &halves.halves;
    let mut order = vec![0; nodes];
    for (place, arc) in (0..).zip(first.iter().chain(&halves.left).chain(second)) {
        order[*arc as usize] = place;
    }
    order
}
