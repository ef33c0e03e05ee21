//! Two tags, or a proof that two are too few.
//!
//! An order of the arcs says which pairs keep the first tag: those that lead forward. Packets rise
//! at any other pair, and the pairs that risen packets use must follow an order too. Both are asked
//! of a solver for propositional formulas: a variable per pair says that packets rise there, others
//! which packets have then risen and which pairs they use. That both kinds of pairs are acyclic is
//! no formula but watched while the solver searches: a cycle that its partial answer closes becomes
//! a clause (satisfiability modulo acyclicity, GebserJR14).
//!
//! Nothing is lost by orders. Given any monotone single-valued rules of two tags, take an order
//! that the pairs kept in the first tag follow, and keep every pair that leads forward: packets
//! that now rise were in the second tag there before as well.

use std::collections::HashMap;
use std::ops::Range;

use batsat::{Callbacks, ClauseKind, Lit, Solver, SolverInterface, Theory, TheoryArg, Var, lbool};
use topology::ArcId;

use super::{Flow, Order, number};
use crate::acyclic::Acyclic;
use crate::cells::{Cells, Squares, arc_id};
use crate::components::components;
use crate::demand::Demand;

/// Steps of packets from arc to arc up to which a formula is written: gigabytes else.
const MAX_STEPS: usize = 2_000_000;

/// What the solver says.
pub(super) enum Answer {
    /// Packets that rise where this order is not followed need no third tag.
    Order(Order),
    /// No monotone single-valued rules do with two tags.
    Impossible,
    /// Neither was found within the limit.
    Unknown,
}

/// When to give up.
pub(super) struct Limit<'a> {
    /// Clauses to learn.
    pub(super) conflicts: u64,
    pub(super) go_on: &'a dyn Fn() -> bool,
}

/// Whether two tags do for the packets that hosts send, whose pairs of arcs are `closure`; and the
/// clauses that it took.
pub(super) fn two_tags<D: Demand>(
    squares: &Squares<'_>,
    parts: &[D],
    start: &[Flow],
    closure: &Cells,
    limit: Limit<'_>,
) -> (Answer, u64) {
    let components = components(squares, closure);
    let cyclic = components.cyclic_pairs(squares, closure);
    let formula = Formula::new(squares, parts, start, &cyclic, limit);
    let Some(Formula {
        mut solver,
        mut cycles,
    }) = formula
    else {
        return (Answer::Unknown, 0);
    };
    let found = solver.solve_limited_th(&mut cycles, &[]);
    let answer = if found == lbool::TRUE {
        let within = cycles.graphs[FIRST].positions();
        Answer::Order(components.order(|arc| u64::from(within[arc.index()])))
    } else if found == lbool::FALSE {
        Answer::Impossible
    } else {
        Answer::Unknown
    };
    (answer, solver.num_conflicts())
}

/// The graphs of the pairs that the first and the second tag use.
const FIRST: usize = 0;
const SECOND: usize = 1;

/// The formula under construction.
struct Formula<'a> {
    solver: Solver<Counter<'a>>,
    cycles: Cycles,
}

impl<'a> Formula<'a> {
    /// The formula for the pairs that are on cycles, for no others matter; `None` if it would be
    /// too long.
    fn new<D: Demand>(
        squares: &Squares<'_>,
        parts: &[D],
        start: &[Flow],
        cyclic: &[(u32, u32)],
        limit: Limit<'a>,
    ) -> Option<Self> {
        let counter = Counter { limit, learnt: 0 };
        let mut formula = Self {
            solver: Solver::new(batsat::SolverOpts::default(), counter),
            cycles: Cycles::new(squares.fabric.arcs().len()),
        };
        for &(from, to) in cyclic {
            let rises = formula.variable(true);
            formula.cycles.watch(FIRST, (from, to), !rises);
            let used = formula.variable(false);
            formula.cycles.watch(SECOND, (from, to), used);
        }
        let mut steps = 0;
        for (part, flow) in parts.iter().zip(start) {
            let mut packets = Packets::new(squares, part, flow, MAX_STEPS - steps)?;
            steps += packets.steps.len();
            packets.literals(&mut formula);
            formula.follow(&packets);
        }
        Some(formula)
    }

    /// A new variable; only those where packets rise are chosen, all others follow from them.
    fn variable(&mut self, chosen: bool) -> Lit {
        Lit::new(self.solver.new_var(lbool::UNDEF, chosen), true)
    }

    /// Says that the last literal holds where all others do.
    fn imply(&mut self, if_all: &[Lit], then: Lit) {
        let mut clause: Vec<Lit> = if_all.iter().map(|lit| !*lit).collect();
        clause.push(then);
        self.solver.add_clause_reuse(&mut clause);
    }

    /// Says what becomes of packets with either tag at every step.
    fn follow(&mut self, packets: &Packets) {
        for step in &packets.steps {
            let (from, to) = (&packets.states[step.from], &packets.states[step.to]);
            let rises = self.cycles.literal(FIRST, step.pair).map(|kept| !kept);
            let used = self.cycles.literal(SECOND, step.pair);
            if let Some(used) = used {
                self.imply(&[from.second], used);
            }
            if !to.goes_on {
                continue;
            }
            self.imply(&[from.second], to.second);
            let first: Vec<Lit> = from.first.into_iter().collect();
            if let Some(rises) = rises {
                let risen: Vec<Lit> = first.iter().copied().chain([rises]).collect();
                self.imply(&risen, to.second);
            }
            if let Some(to) = to.first {
                let kept: Vec<Lit> = first.into_iter().chain(rises.map(|rises| !rises)).collect();
                self.imply(&kept, to);
            }
        }
    }
}

/// All that packets of one part do if nothing turns lossy.
struct Packets {
    states: Vec<State>,
    steps: Vec<Step>,
}

/// Packets of one context on one arc.
struct State {
    /// That some of them have the first tag; `None` if hosts send such.
    first: Option<Lit>,
    /// That some of them have the second tag.
    second: Lit,
    sent: bool,
    goes_on: bool,
}

/// Packets go on from one arc to the next.
struct Step {
    from: usize,
    to: usize,
    pair: (u32, u32),
}

impl Packets {
    /// `None` if there are more steps than `most`.
    fn new<D: Demand>(squares: &Squares<'_>, part: &D, start: &Flow, most: usize) -> Option<Self> {
        let (_, live) = start.spread(part, squares);
        let fabric = squares.fabric;
        let range = |arc: ArcId| part.layout().of(arc);
        let states = ones(&live).map(|at| State {
            first: None,
            second: Lit::UNDEF,
            sent: has(&start.sets, at),
            goes_on: false,
        });
        let mut packets = Self {
            states: states.collect(),
            steps: Vec::new(),
        };
        let places: HashMap<usize, usize> = ones(&live).zip(0..).collect();
        let (mut one, mut onto) = (Vec::new(), Vec::new());
        for arc in (0..fabric.arcs().len()).map(arc_id) {
            for bit in members(&live, range(arc)) {
                let from = places[&bit];
                one.clear();
                one.resize(range(arc).len(), 0);
                let within = bit - range(arc).start * 64;
                one[within / 64] = 1 << (within % 64);
                for to in fabric.out(fabric.arc(arc).to) {
                    onto.clear();
                    onto.resize(range(to).len(), 0);
                    if !part.step(arc, to, &one, &mut onto) {
                        continue;
                    }
                    packets.states[from].goes_on = true;
                    let pair = (number(arc), number(to));
                    let next = ones(&onto).map(|at| places[&(range(to).start * 64 + at)]);
                    packets.steps.extend(next.map(|to| Step { from, to, pair }));
                }
            }
            if packets.steps.len() > most {
                return None;
            }
        }
        Some(packets)
    }

    fn literals(&mut self, formula: &mut Formula<'_>) {
        for state in &mut self.states {
            if !state.sent {
                state.first = Some(formula.variable(false));
            }
            state.second = formula.variable(false);
        }
    }
}

/// The positions of all bits that are set.
fn ones(words: &[u64]) -> impl Iterator<Item = usize> + '_ {
    members(words, 0..words.len())
}

/// The same within some of the words.
fn members(words: &[u64], range: Range<usize>) -> impl Iterator<Item = usize> + '_ {
    let bits = range.start * 64..range.end * 64;
    bits.filter(|at| has(words, *at))
}

fn has(words: &[u64], at: usize) -> bool {
    words[at / 64] >> (at % 64) & 1 == 1
}

/// Counts what the solver learns, and ends it.
struct Counter<'a> {
    limit: Limit<'a>,
    learnt: u64,
}

impl Callbacks for Counter<'_> {
    fn on_new_clause(&mut self, _: &[Lit], kind: ClauseKind) {
        self.learnt += u64::from(kind != ClauseKind::Axiom);
    }

    fn stop(&self) -> bool {
        self.learnt >= self.limit.conflicts || !(self.limit.go_on)()
    }
}

/// The two graphs as the solver's partial answer has them.
struct Cycles {
    graphs: [Acyclic; 2],
    /// By variable: the edge that it puts into a graph.
    edges: HashMap<Var, (usize, (u32, u32))>,
    /// The literals that put edges in.
    literals: [HashMap<(u32, u32), Lit>; 2],
    /// Edges in the order in which they came.
    added: Vec<(usize, (u32, u32))>,
    /// Literals of the partial answer that have been looked at.
    seen: usize,
    /// By choice of the solver: how many edges and literals there were before it.
    levels: Vec<(usize, usize)>,
}

impl Cycles {
    fn new(nodes: usize) -> Self {
        Self {
            graphs: [Acyclic::new(nodes), Acyclic::new(nodes)],
            edges: HashMap::new(),
            literals: [HashMap::new(), HashMap::new()],
            added: Vec::new(),
            seen: 0,
            levels: Vec::new(),
        }
    }

    fn watch(&mut self, graph: usize, edge: (u32, u32), literal: Lit) {
        self.edges.insert(literal.var(), (graph, edge));
        self.literals[graph].insert(edge, literal);
    }

    /// The literal that puts an edge into a graph; `None` if the edge is on no cycle.
    fn literal(&self, graph: usize, edge: (u32, u32)) -> Option<Lit> {
        self.literals[graph].get(&edge).copied()
    }

    /// That not all edges are there of a cycle which one more edge closes.
    fn clause(&self, graph: usize, (from, to): (u32, u32)) -> Vec<Lit> {
        let mut cycle = self.graphs[graph].path(to, from);
        cycle.push(to);
        let edges = cycle.windows(2).map(|pair| (pair[0], pair[1]));
        edges
            .filter_map(|edge| self.literal(graph, edge).map(|literal| !literal))
            .collect()
    }
}

impl Theory for Cycles {
    fn final_check(&mut self, acts: &mut TheoryArg<'_>) {
        self.partial_check(acts);
    }

    fn create_level(&mut self) {
        self.levels.push((self.added.len(), self.seen));
    }

    fn pop_levels(&mut self, n: usize) {
        let left = self.levels.len().saturating_sub(n);
        let Some(&(added, seen)) = self.levels.get(left) else {
            return;
        };
        self.levels.truncate(left);
        for (graph, (from, to)) in self.added.drain(added..) {
            self.graphs[graph].remove(from, to);
        }
        self.seen = seen;
    }

    fn n_levels(&self) -> usize {
        self.levels.len()
    }

    fn partial_check(&mut self, acts: &mut TheoryArg<'_>) {
        while let Some(&literal) = acts.model().get(self.seen) {
            self.seen += 1;
            let Some(&(graph, edge)) = self.edges.get(&literal.var()) else {
                continue;
            };
            if self.literal(graph, edge) != Some(literal) {
                continue;
            }
            if !self.graphs[graph].add(edge.0, edge.1) {
                let clause = self.clause(graph, edge);
                acts.raise_conflict(&clause, true);
                return;
            }
            self.added.push((graph, edge));
        }
    }

    fn explain_propagation(&mut self, _: Lit) -> &[Lit] {
        &[] // nothing is propagated
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use topology::Fabric;
    use topology::generate::{Cables, Jellyfish, JellyfishSize};

    use super::super::{Levels, MAX_INSERTIONS, Start, Way, ranking};
    use super::*;
    use crate::demand::Listed;

    /// Choices of which all are tried.
    const MOST_CHOICES: usize = 12;

    /// Four switches, each linked to all others.
    fn fabric() -> Fabric {
        let size = JellyfishSize::Switches {
            switches: 4,
            fabric_ports: 3,
        };
        let all_linked = Jellyfish {
            size,
            ports: 4,
            seed: 1,
            cables: Cables::default(),
        };
        Fabric::new(&all_linked.generate().expect("a valid Jellyfish"))
    }

    /// A way by the numbers of the arcs to take at every switch.
    fn way(fabric: &Fabric, first: usize, turns: &[usize]) -> Vec<ArcId> {
        let mut way = vec![arc_id(first % fabric.arcs().len())];
        for turn in turns {
            let last = fabric.arc(way[way.len() - 1]);
            let on = fabric
                .out(last.to)
                .filter(|arc| fabric.arc(*arc).to != last.from);
            let on: Vec<ArcId> = on.collect();
            way.push(on[turn % on.len()]);
        }
        way
    }

    /// Whether any monotone rules of two tags do, all tried: where packets rise, and which hosts
    /// send with the second tag.
    fn some_rules_do(arcs: usize, ways: &[Vec<ArcId>]) -> Option<bool> {
        let mut choices: Vec<(Option<ArcId>, ArcId)> = Vec::new();
        for way in ways {
            choices.push((None, way[0]));
            choices.extend(way.windows(2).map(|pair| (Some(pair[0]), pair[1])));
        }
        choices.sort_unstable();
        choices.dedup();
        let place = |choice| choices.binary_search(&choice).unwrap_or(0);
        (choices.len() <= MOST_CHOICES).then(|| {
            (0u32..1 << choices.len()).any(|rises| {
                let mut graphs = [Acyclic::new(arcs), Acyclic::new(arcs)];
                ways.iter().all(|way| {
                    let mut before = None;
                    let mut tag = FIRST;
                    way.iter().all(|&arc| {
                        let from = before.replace(arc);
                        let rise = tag == FIRST && rises >> place((from, arc)) & 1 == 1;
                        tag = if rise { SECOND } else { tag };
                        from.is_none_or(|from| rise || graphs[tag].add(number(from), number(arc)))
                    })
                })
            })
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]
        #[test]
        fn says_what_trying_all_rules_says(
            drawn in prop::collection::vec((0usize..12, prop::collection::vec(0usize..2, 1..6)), 1..5)
        ) {
            let fabric = fabric();
            let ways: Vec<Vec<ArcId>> =
                drawn.iter().map(|(first, turns)| way(&fabric, *first, turns)).collect();
            let Some(expected) = some_rules_do(fabric.arcs().len(), &ways) else {
                return Ok(());
            };
            let squares = Squares::new(&fabric);
            let levels = Levels {
                squares: &squares,
                rank: &ranking(&fabric),
                most_insertions: MAX_INSERTIONS,
            };
            let parts = [Listed::of(&fabric, |see| ways.iter().for_each(|way| see(way)))];
            let start = levels.start(&parts);
            let closure = levels.closure(&parts, &start);
            let limit = Limit { conflicts: u64::MAX, go_on: &|| true };
            match two_tags(&squares, &parts, &start, &closure, limit).0 {
                Answer::Order(order) => {
                    prop_assert!(expected);
                    let found = levels.levels(&parts, &start, Start::Order(&order), Way::Ranked);
                    prop_assert!(found.expect("few levels").len() <= 2);
                }
                Answer::Impossible => prop_assert!(!expected),
                Answer::Unknown => prop_assert!(false, "the limit is beyond any work"),
            }
        }
    }
}
