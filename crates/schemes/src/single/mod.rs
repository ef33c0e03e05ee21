//! Single-valued tagging: rules that are single-valued, acyclic and monotone by construction, for
//! any routes.
//!
//! Level by level: at level `x` every pair of arcs (l, m) that lossless packets of level `x` use in
//! a row gets one answer, *keep* or *rise*. The kept pairs always follow some order of the arcs, so
//! the dependency graph of the level is acyclic; packets that rise enter level `x + 1`. Where that
//! order comes from is free, and decides how many levels there are:
//!
//! - if the pairs of a level have no cycle, their own order keeps them all and the level is the
//!   last;
//! - *ranked*: arcs that lead up to a switch of lower rank come before those that lead down, so
//!   packets rise only where they turn from down to up. Two such turns are at least two arcs apart,
//!   hence a route of `n` arcs never needs more than `1 + n / 2` levels, whatever the graph. Pairs
//!   between different strongly connected components keep their level in any case;
//! - *inserted*: pairs are tried hop by hop, and kept unless they close a cycle. It finds orders
//!   that no ranking of switches shows (such as digit-correcting routes in BCube), but costs more.
//!
//! The result with the fewest levels is taken; [`optimal()`] searches further.

mod optimal;
mod partition;
mod two;

use plan::PortSet;
use rayon::prelude::*;
use topology::routes::RouteSet;
use topology::{ArcId, Fabric, SwitchId};

use crate::acyclic::Acyclic;
use crate::cells::{Cells, LAST_LEVEL, Squares, arc_id};
use crate::components::components;
use crate::demand::{Demand, Listed, Work, with_demand};
use crate::error::SchemeError;
use crate::turn::Turn;

pub use optimal::Search;
pub(crate) use optimal::optimal;

/// Pairs of arcs up to which inserting them one by one is worth the while.
const MAX_INSERTIONS: usize = 20_000;

/// The tables of every level.
///
/// # Errors
/// [`SchemeError::TooManyTags`] if there are more levels than tags.
pub(crate) fn single_valued(set: &RouteSet) -> Result<Vec<Cells>, SchemeError> {
    let squares = Squares::new(set.fabric());
    let levels = Levels {
        squares: &squares,
        rank: &ranking(set.fabric()),
        most_insertions: MAX_INSERTIONS,
    };
    with_demand(set, levels)
}

/// The tables of every level for given ways, each as the links that it crosses. Failures are few,
/// so more pairs are worth inserting than for all routes of a network.
///
/// # Errors
/// [`SchemeError::TooManyTags`] if there are more levels than tags.
pub(crate) fn of_ways(
    fabric: &Fabric,
    ways: impl FnOnce(&mut dyn FnMut(&[ArcId])),
) -> Result<Vec<Cells>, SchemeError> {
    let squares = Squares::new(fabric);
    let levels = Levels {
        squares: &squares,
        rank: &ranking(fabric),
        most_insertions: 10 * MAX_INSERTIONS,
    };
    levels.on(&[Listed::of(fabric, ways)])
}

/// Positions of the arcs: a pair is kept iff it leads forward.
type Order = Vec<u32>;

struct Levels<'a> {
    squares: &'a Squares<'a>,
    rank: &'a [u32],
    /// Pairs of arcs up to which they are inserted one by one.
    most_insertions: usize,
}

/// Where the first level's order comes from.
#[derive(Clone, Copy)]
enum Start<'a> {
    /// From the pairs that packets use if all are kept.
    Closure(&'a Cells),
    /// It is given.
    Order(&'a Order),
}

/// How to order the arcs of a level that has cycles.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Ranked,
    Inserted,
}

impl Work for Levels<'_> {
    type Output = Result<Vec<Cells>, SchemeError>;

    fn on<D: Demand>(self, parts: &[D]) -> Self::Output {
        let start = self.start(parts);
        self.usual(parts, &start, &self.closure(parts, &start))
    }
}

impl Levels<'_> {
    /// What hosts send.
    fn start<D: Demand>(&self, parts: &[D]) -> Vec<Flow> {
        let entering = parts.iter();
        entering
            .map(|part| Flow::entering(part, self.squares))
            .collect()
    }

    /// The fewest levels of the usual ways, given the closure of what hosts send.
    fn usual<D: Demand>(
        &self,
        parts: &[D],
        start: &[Flow],
        first: &Cells,
    ) -> Result<Vec<Cells>, SchemeError> {
        let first_level = Start::Closure(first);
        let ranked = self.levels(parts, start, first_level, Way::Ranked)?;
        if ranked.len() <= 2 || first.count() > self.most_insertions {
            return Ok(ranked);
        }
        let inserted = self.levels(parts, start, first_level, Way::Inserted)?;
        Ok(if inserted.len() < ranked.len() {
            inserted
        } else {
            ranked
        })
    }

    /// All levels, from the packets that hosts send.
    fn levels<D: Demand>(
        &self,
        parts: &[D],
        start: &[Flow],
        first: Start<'_>,
        way: Way,
    ) -> Result<Vec<Cells>, SchemeError> {
        let mut entering = start.to_vec();
        let mut levels = Vec::new();
        loop {
            let level = u8::try_from(levels.len()).unwrap_or(u8::MAX);
            if level >= LAST_LEVEL {
                return Err(SchemeError::TooManyTags {
                    needed: usize::from(level) + 1,
                    most: usize::from(LAST_LEVEL),
                });
            }
            let order = match first {
                Start::Order(order) if level == 0 => order.clone(),
                Start::Closure(closure) if level == 0 => self.order(parts, &entering, closure, way),
                _ => self.order(parts, &entering, &self.closure(parts, &entering), way),
            };
            let (cells, risen) = self.pass(parts, &entering, &order, level);
            levels.push(cells);
            match risen {
                Some(risen) => entering = risen,
                None => return Ok(levels),
            }
        }
    }

    /// The pairs that packets of one level use if all are kept.
    fn closure<D: Demand>(&self, parts: &[D], entering: &[Flow]) -> Cells {
        let closures = parts.par_iter().zip(entering);
        closures
            .map(|(part, flow)| flow.spread(part, self.squares).0)
            .reduce(|| self.squares.empty(), |a, b| a.merge(&b))
    }

    /// The order of one level, given the closure of what enters it.
    fn order<D: Demand>(&self, parts: &[D], entering: &[Flow], closure: &Cells, way: Way) -> Order {
        let fabric = self.squares.fabric;
        let component = components(self.squares, closure);
        match way {
            _ if component.is_acyclic() => component.order(|_| 0),
            Way::Ranked => component.order(|arc| turn_rank(fabric, self.rank, arc)),
            Way::Inserted => self.insert(parts, entering),
        }
    }

    /// Tries the pairs hop by hop and keeps those that close no cycle.
    fn insert<D: Demand>(&self, parts: &[D], entering: &[Flow]) -> Order {
        let fabric = self.squares.fabric;
        let mut graph = Acyclic::new(fabric.arcs().len());
        let mut refused = self.squares.empty();
        let mut live = entering.to_vec();
        let mut fresh = entering.to_vec();
        let mut scratch = Vec::new();
        while fresh.iter().any(|flow| !flow.is_empty()) {
            for ((part, live), fresh) in parts.iter().zip(&mut live).zip(&mut fresh) {
                let mut next = Flow::nothing(part);
                for arc in (0..fabric.arcs().len()).map(arc_id) {
                    let set = &fresh.sets[part.layout().of(arc)];
                    if set.iter().all(|word| *word == 0) {
                        continue;
                    }
                    for (place, to) in fabric.out(fabric.arc(arc).to).enumerate() {
                        let cell = self.squares.through(arc, place);
                        let range = part.layout().of(to);
                        scratch.clear();
                        scratch.resize(range.len(), 0);
                        if refused.get(cell).is_some() || !part.step(arc, to, set, &mut scratch) {
                            continue;
                        }
                        if !graph.add(number(arc), number(to)) {
                            refused.set(cell, 0);
                            continue;
                        }
                        for (at, word) in range.zip(&scratch) {
                            next.sets[at] |= word & !live.sets[at];
                            live.sets[at] |= word;
                        }
                    }
                }
                *fresh = next;
            }
        }
        graph.positions().to_vec()
    }

    /// Moves all packets of a level along the order; its tables, and what rises, if anything does.
    fn pass<D: Demand>(
        &self,
        parts: &[D],
        entering: &[Flow],
        order: &Order,
        level: u8,
    ) -> (Cells, Option<Vec<Flow>>) {
        let arcs = sorted(order);
        let passes: Vec<(Cells, Flow)> = parts
            .par_iter()
            .zip(entering)
            .map(|(part, flow)| self.pass_part(part, flow, &arcs, order, level))
            .collect();
        let mut cells = self.squares.empty();
        let mut risen = Vec::with_capacity(parts.len());
        for (own, flow) in passes {
            cells = cells.merge(&own);
            risen.push(flow);
        }
        let rises = risen.iter().any(|flow| !flow.is_empty());
        (cells, rises.then_some(risen))
    }

    /// The same for one part; `arcs` are all arcs in order.
    fn pass_part<D: Demand>(
        &self,
        part: &D,
        entering: &Flow,
        arcs: &[ArcId],
        order: &Order,
        level: u8,
    ) -> (Cells, Flow) {
        let fabric = self.squares.fabric;
        let layout = part.layout();
        let mut cells = self.squares.empty();
        if level == 0 {
            self.out_of_hosts(part, entering, &mut cells);
        }
        let mut live = entering.clone();
        let mut risen = Flow::nothing(part);
        let mut set = Vec::new();
        for &arc in arcs {
            set.clear();
            set.extend_from_slice(&live.sets[layout.of(arc)]);
            if set.iter().all(|word| *word == 0) {
                continue;
            }
            if part.ends(arc, &set) {
                cells.set(self.squares.to_hosts(arc), level);
            }
            for (place, to) in fabric.out(fabric.arc(arc).to).enumerate() {
                let keep = order[arc.index()] < order[to.index()];
                let target = if keep { &mut live } else { &mut risen };
                if part.step(arc, to, &set, &mut target.sets[layout.of(to)]) {
                    let new = if keep { level } else { level + 1 };
                    cells.set(self.squares.through(arc, place), new);
                }
            }
        }
        (cells, risen)
    }

    fn out_of_hosts<D: Demand>(&self, part: &D, entering: &Flow, cells: &mut Cells) {
        let fabric = self.squares.fabric;
        for switch in fabric.edge_switches() {
            if fabric.attachments(switch).len() > 1 {
                cells.set(self.squares.among_hosts(switch), 0);
            }
            for (place, arc) in fabric.out(switch).enumerate() {
                if entering.sets[part.layout().of(arc)]
                    .iter()
                    .any(|word| *word != 0)
                {
                    cells.set(self.squares.out_of_hosts(switch, place), 0);
                }
            }
        }
    }
}

/// Arcs in the order of their positions, which are `0..n`.
fn sorted(order: &Order) -> Vec<ArcId> {
    let mut arcs = vec![arc_id(0); order.len()];
    for (arc, position) in order.iter().enumerate() {
        arcs[*position as usize] = arc_id(arc);
    }
    arcs
}

/// Packets on arcs: a set of contexts for each.
#[derive(Clone)]
struct Flow {
    sets: Vec<u64>,
}

impl Flow {
    fn nothing<D: Demand>(demand: &D) -> Self {
        Self {
            sets: demand.layout().empty(),
        }
    }

    /// What hosts send.
    fn entering<D: Demand>(demand: &D, squares: &Squares<'_>) -> Self {
        let mut flow = Self::nothing(demand);
        for arc in (0..squares.fabric.arcs().len()).map(arc_id) {
            demand.start(arc, &mut flow.sets[demand.layout().of(arc)]);
        }
        flow
    }

    fn is_empty(&self) -> bool {
        self.sets.iter().all(|word| *word == 0)
    }

    /// Follows the packets until nothing changes; the pairs that they use, and the packets of every
    /// arc.
    fn spread<D: Demand>(&self, demand: &D, squares: &Squares<'_>) -> (Cells, Vec<u64>) {
        let fabric = squares.fabric;
        let layout = demand.layout();
        let mut live = self.sets.clone();
        let mut fresh = self.sets.clone();
        let mut cells = squares.empty();
        let mut queue: Vec<ArcId> = (0..fabric.arcs().len())
            .map(arc_id)
            .filter(|arc| fresh[layout.of(*arc)].iter().any(|word| *word != 0))
            .collect();
        let mut waiting = vec![false; fabric.arcs().len()];
        for arc in &queue {
            waiting[arc.index()] = true;
        }
        let mut set = Vec::new();
        let mut scratch = Vec::new();
        while let Some(arc) = queue.pop() {
            waiting[arc.index()] = false;
            set.clear();
            set.extend_from_slice(&fresh[layout.of(arc)]);
            fresh[layout.of(arc)].fill(0);
            for (place, to) in fabric.out(fabric.arc(arc).to).enumerate() {
                let range = layout.of(to);
                scratch.clear();
                scratch.resize(range.len(), 0);
                if !demand.step(arc, to, &set, &mut scratch) {
                    continue;
                }
                cells.set(squares.through(arc, place), 0);
                let mut grown = false;
                for (at, word) in range.zip(&scratch) {
                    let new = word & !live[at];
                    live[at] |= new;
                    fresh[at] |= new;
                    grown |= new != 0;
                }
                if grown && !waiting[to.index()] {
                    waiting[to.index()] = true;
                    queue.push(to);
                }
            }
        }
        (cells, live)
    }
}

/// A rank for every switch, lower ones "up": by layer where there are layers, else breadth-first
/// from a switch of most links.
fn ranking(fabric: &Fabric) -> Vec<u32> {
    let mut switches: Vec<SwitchId> = fabric.switch_ids().collect();
    let layers: Option<Vec<u8>> = switches.iter().map(|s| fabric.layer(*s)).collect();
    match layers {
        Some(layers) => switches.sort_by_key(|s| std::cmp::Reverse(layers[s.index()])),
        None => {
            let most = switches
                .iter()
                .copied()
                .max_by_key(|s| (fabric.out(*s).count(), std::cmp::Reverse(*s)));
            if let Some(root) = most {
                let hops = fabric.distances(root);
                switches.sort_by_key(|s| hops[s.index()]);
            }
        }
    }
    let mut rank = vec![0; switches.len()];
    for (place, switch) in (0..).zip(switches) {
        rank[switch.index()] = place;
    }
    rank
}

/// The place of an arc in a ranked order: up before down, up arcs toward lower ranks, down arcs
/// toward higher ones.
fn turn_rank(fabric: &Fabric, rank: &[u32], arc: ArcId) -> u64 {
    let arc = fabric.arc(arc);
    let (from, to) = (rank[arc.from.index()], rank[arc.to.index()]);
    if to < from {
        u64::from(u32::MAX - to)
    } else {
        u64::from(u32::MAX) + 1 + u64::from(to)
    }
}

fn number(arc: ArcId) -> u32 {
    u32::try_from(arc.index()).unwrap_or(u32::MAX)
}

/// One order for all levels, so that several classes can share tags: whether a packet rises then
/// depends on its ports alone. The turns of every switch, and how often a lossless route rises.
///
/// # Errors
/// [`SchemeError::TooManyTags`] if routes rise more often than tags can count.
pub(crate) fn uniform(set: &RouteSet) -> Result<(Vec<Vec<Turn>>, u8), SchemeError> {
    let squares = Squares::new(set.fabric());
    let work = Uniform(Levels {
        squares: &squares,
        rank: &ranking(set.fabric()),
        most_insertions: MAX_INSERTIONS,
    });
    let (order, rises) = with_demand(set, work)?;
    let turns = set.fabric().switch_ids();
    let turns = turns.map(|switch| turns_of(set.fabric(), switch, &order));
    Ok((turns.collect(), rises))
}

struct Uniform<'a>(Levels<'a>);

impl Work for Uniform<'_> {
    type Output = Result<(Order, u8), SchemeError>;

    fn on<D: Demand>(self, parts: &[D]) -> Self::Output {
        let levels = self.0;
        let start = levels.start(parts);
        let closure = levels.closure(parts, &start);
        let mut best: Option<(Order, u8)> = None;
        for way in [Way::Ranked, Way::Inserted] {
            if way == Way::Inserted && closure.count() > levels.most_insertions {
                continue;
            }
            let order = levels.order(parts, &start, &closure, way);
            let mut rises = 0;
            let mut entering = start.clone();
            while let (_, Some(risen)) = levels.pass(parts, &entering, &order, rises) {
                entering = risen;
                rises += 1;
                if rises >= LAST_LEVEL {
                    break;
                }
            }
            if best.as_ref().is_none_or(|(_, least)| rises < *least) {
                best = Some((order, rises));
            }
        }
        match best {
            Some((order, rises)) if rises < LAST_LEVEL => Ok((order, rises)),
            _ => Err(SchemeError::TooManyTags {
                needed: usize::from(LAST_LEVEL) + 1,
                most: usize::from(LAST_LEVEL),
            }),
        }
    }
}

/// The turns of one switch under an order: ingress ports that keep the same egress ports go
/// together.
fn turns_of(fabric: &Fabric, switch: SwitchId, order: &Order) -> Vec<Turn> {
    let hosts: PortSet = fabric.attachments(switch).iter().map(|a| a.port).collect();
    let out: Vec<ArcId> = fabric.out(switch).collect();
    let all: PortSet = out.iter().map(|arc| fabric.arc(*arc).out_port).collect();
    let all = all.union(&hosts);
    let mut groups: Vec<(PortSet, PortSet)> = Vec::new();
    if !hosts.is_empty() {
        groups.push((hosts.clone(), all.clone()));
    }
    for &arc in &out {
        let into = order[fabric.reverse(arc).index()];
        let forward = out.iter().filter(|to| into < order[to.index()]);
        let keeps: PortSet = forward.map(|to| fabric.arc(*to).out_port).collect();
        let keeps = keeps.union(&hosts);
        let port = PortSet::single(fabric.arc(arc).out_port);
        match groups.iter_mut().find(|(_, known)| *known == keeps) {
            Some((ports, _)) => *ports = ports.union(&port),
            None => groups.push((port, keeps)),
        }
    }
    let mut turns = Vec::new();
    for (in_ports, keeps) in groups {
        let rises: PortSet = all.iter().filter(|port| !keeps.contains(*port)).collect();
        for (out_ports, rises) in [(keeps, false), (rises, true)] {
            if !out_ports.is_empty() {
                turns.push(Turn {
                    precedence: 0,
                    in_ports: in_ports.clone(),
                    out_ports,
                    rises,
                });
            }
        }
    }
    turns
}
