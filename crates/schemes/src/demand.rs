//! What the lossless routes ask of the tags, without walking them one by one.
//!
//! A packet on an arc is described by a *context*: whatever of its route decides how it may go on.
//! A [`Demand`] moves whole sets of contexts from arc to arc, a bit each. For shortest paths the
//! context is the destination, for up-down paths the number of bounces so far, for all others the
//! rest of the route.

use std::collections::HashMap;
use std::ops::Range;

use rayon::prelude::*;
use topology::routes::{RoutePolicy, RouteSet, UpDownAutomaton, UpDownState};
use topology::{ArcId, Fabric, SwitchId};

/// Where the sets of contexts of all arcs lie in one row of words.
#[derive(Clone, Debug)]
pub(super) struct SetLayout {
    first: Vec<usize>,
}

impl SetLayout {
    fn new(widths: impl Iterator<Item = usize>) -> Self {
        let mut first = vec![0];
        let mut end = 0;
        for width in widths {
            end += width;
            first.push(end);
        }
        Self { first }
    }

    /// The words of an arc's set.
    pub(super) fn of(&self, arc: ArcId) -> Range<usize> {
        self.first[arc.index()]..self.first[arc.index() + 1]
    }

    /// Empty sets for all arcs.
    pub(super) fn empty(&self) -> Vec<u64> {
        vec![0; self.first.last().copied().unwrap_or(0)]
    }
}

/// The lossless routes as sets of contexts that move over arcs.
pub(super) trait Demand: Sync {
    /// Where each arc's set lies.
    fn layout(&self) -> &SetLayout;
    /// Adds the contexts of routes whose first arc is `arc`.
    fn start(&self, arc: ArcId, into: &mut [u64]);
    /// Adds what becomes of the contexts `set` on `arc` when they go on to `next`, which leaves the
    /// switch where `arc` ends; whether that is anything.
    fn step(&self, arc: ArcId, next: ArcId, set: &[u64], into: &mut [u64]) -> bool;
    /// Whether a route of these contexts may end after `arc`.
    fn ends(&self, arc: ArcId, set: &[u64]) -> bool;
}

/// All shortest paths: the context is the destination switch.
pub(super) struct Shortest<'a> {
    fabric: &'a Fabric,
    layout: SetLayout,
    /// By arc: the destinations that it leads nearer to.
    toward: Vec<u64>,
    /// The bit of each switch that has hosts.
    bit: Vec<Option<usize>>,
    words: usize,
}

/// Destinations per part: what fills a cache line. Parts are worked on side by side.
const PART: usize = 512;

impl<'a> Shortest<'a> {
    /// All shortest paths, in parts of at most [`PART`] destinations.
    fn parts(fabric: &'a Fabric) -> Vec<Self> {
        let edge: Vec<SwitchId> = fabric.edge_switches().collect();
        edge.par_chunks(PART)
            .map(|part| Self::new(fabric, part))
            .collect()
    }

    /// The shortest paths to these destinations.
    fn new(fabric: &'a Fabric, destinations: &[SwitchId]) -> Self {
        let mut bit = vec![None; fabric.switch_count()];
        for (place, switch) in destinations.iter().enumerate() {
            bit[switch.index()] = Some(place);
        }
        let words = destinations.len().div_ceil(64);
        let mut demand = Self {
            fabric,
            layout: SetLayout::new(fabric.arcs().iter().map(|_| words)),
            toward: vec![0; words * fabric.arcs().len()],
            bit,
            words,
        };
        demand.spread();
        demand
    }

    /// Breadth-first search from all destinations at once. An arc leads nearer to a destination iff
    /// the search meets its two ends in successive rounds, the far end first.
    fn spread(&mut self) {
        let words = self.words;
        let switches = self.fabric.switch_count();
        let mut seen = vec![0u64; words * switches];
        for (switch, bit) in self.bit.iter().enumerate() {
            if let Some(bit) = bit {
                seen[switch * words + bit / 64] |= 1 << (bit % 64);
            }
        }
        let mut fresh = seen.clone();
        loop {
            let mut next = vec![0u64; words * switches];
            for (id, arc) in (0usize..).zip(self.fabric.arcs()) {
                let near = &fresh[arc.to.index() * words..][..words];
                let known = &seen[arc.from.index() * words..][..words];
                let met = &mut next[arc.from.index() * words..][..words];
                let toward = &mut self.toward[id * words..][..words];
                for word in 0..words {
                    let new = near[word] & !known[word];
                    toward[word] |= new;
                    met[word] |= new;
                }
            }
            if next.iter().all(|word| *word == 0) {
                return;
            }
            for (seen, next) in seen.iter_mut().zip(&next) {
                *seen |= next;
            }
            fresh = next;
        }
    }
}

impl Demand for Shortest<'_> {
    fn layout(&self) -> &SetLayout {
        &self.layout
    }

    fn start(&self, arc: ArcId, into: &mut [u64]) {
        if !self
            .fabric
            .attachments(self.fabric.arc(arc).from)
            .is_empty()
        {
            for (into, toward) in into.iter_mut().zip(&self.toward[self.layout.of(arc)]) {
                *into |= toward;
            }
        }
    }

    fn step(&self, _: ArcId, next: ArcId, set: &[u64], into: &mut [u64]) -> bool {
        let mut any = 0;
        let toward = &self.toward[self.layout.of(next)];
        for ((into, set), toward) in into.iter_mut().zip(set).zip(toward) {
            let both = set & toward;
            *into |= both;
            any |= both;
        }
        any != 0
    }

    fn ends(&self, arc: ArcId, set: &[u64]) -> bool {
        let bit = self.bit[self.fabric.arc(arc).to.index()];
        bit.is_some_and(|bit| set[bit / 64] & 1 << (bit % 64) != 0)
    }
}

/// All up-down paths: the context is the number of bounces so far.
pub(super) struct UpDown<'a> {
    fabric: &'a Fabric,
    layout: SetLayout,
    /// By arc: the numbers of bounces with which a route may be on it.
    viable: Vec<u64>,
    /// By arc: whether a route may begin with it.
    starts: Vec<bool>,
}

/// The most bounces whose numbers fit a word of contexts.
pub(super) const MAX_BOUNCES: u8 = 63;

impl<'a> UpDown<'a> {
    /// The up-down paths with at most `bounces` bounces ([`MAX_BOUNCES`] at most).
    pub(super) fn new(fabric: &'a Fabric, bounces: u8) -> Self {
        let automaton = UpDownAutomaton::new(fabric, bounces);
        let mut viable = vec![0; fabric.arcs().len()];
        let mut starts = vec![false; fabric.arcs().len()];
        for state in automaton.states() {
            let UpDownState { arc, bounces } = state;
            viable[arc.index()] |= 1 << bounces;
            starts[arc.index()] |= automaton.is_initial(state);
        }
        Self {
            fabric,
            layout: SetLayout::new(viable.iter().map(|_| 1)),
            viable,
            starts,
        }
    }
}

impl Demand for UpDown<'_> {
    fn layout(&self) -> &SetLayout {
        &self.layout
    }

    fn start(&self, arc: ArcId, into: &mut [u64]) {
        if self.starts[arc.index()] {
            into[0] |= 1;
        }
    }

    fn step(&self, arc: ArcId, next: ArcId, set: &[u64], into: &mut [u64]) -> bool {
        if self.fabric.arc(next).to == self.fabric.arc(arc).from {
            return false;
        }
        let bounce = !self.fabric.is_up(arc) && self.fabric.is_up(next);
        let moved = if bounce { set[0] << 1 } else { set[0] } & self.viable[next.index()];
        into[0] |= moved;
        moved != 0
    }

    fn ends(&self, arc: ArcId, set: &[u64]) -> bool {
        set[0] != 0 && !self.fabric.attachments(self.fabric.arc(arc).to).is_empty()
    }
}

/// Routes that had to be enumerated: the context is the rest of the route, shared by all routes
/// that end alike.
pub(super) struct Listed {
    layout: SetLayout,
    /// By arc: its contexts, as positions in `rest`.
    contexts: Vec<Vec<usize>>,
    rest: Vec<Rest>,
    starts: Vec<u64>,
}

/// One context: a packet on `arc`, with `next` (arc and bit of the next context) to come.
struct Rest {
    bit: usize,
    next: Option<(ArcId, usize)>,
}

impl Listed {
    fn new(set: &RouteSet) -> Self {
        Self::of(set.fabric(), |see| set.for_each_path(|path| see(path.arcs)))
    }

    /// Given paths, each as the links that it crosses.
    pub(super) fn of(fabric: &Fabric, paths: impl FnOnce(&mut dyn FnMut(&[ArcId]))) -> Self {
        let mut known: HashMap<(ArcId, Option<usize>), usize> = HashMap::new();
        let mut contexts = vec![Vec::new(); fabric.arcs().len()];
        let mut rest: Vec<Rest> = Vec::new();
        let mut firsts: Vec<(ArcId, usize)> = Vec::new();
        paths(&mut |path| {
            let mut after: Option<(ArcId, usize)> = None;
            for &arc in path.iter().rev() {
                let key = (arc, after.map(|(_, context)| context));
                let context = *known.entry(key).or_insert_with(|| {
                    let of_arc: &mut Vec<usize> = &mut contexts[arc.index()];
                    rest.push(Rest {
                        bit: of_arc.len(),
                        next: after.map(|(arc, context)| (arc, rest[context].bit)),
                    });
                    of_arc.push(rest.len() - 1);
                    rest.len() - 1
                });
                after = Some((arc, context));
            }
            firsts.extend(after);
        });
        let layout = SetLayout::new(contexts.iter().map(|c: &Vec<usize>| c.len().div_ceil(64)));
        let mut starts = layout.empty();
        for (arc, context) in firsts {
            let bit = rest[context].bit;
            starts[layout.of(arc)][bit / 64] |= 1 << (bit % 64);
        }
        Self {
            layout,
            contexts,
            rest,
            starts,
        }
    }

    /// The contexts of a set.
    fn members<'s>(&'s self, arc: ArcId, set: &'s [u64]) -> impl Iterator<Item = &'s Rest> {
        let contexts = &self.contexts[arc.index()];
        let bits = set.iter().enumerate().flat_map(|(word, &bits)| {
            let mut left = bits;
            std::iter::from_fn(move || {
                let bit = (left != 0).then(|| word * 64 + left.trailing_zeros() as usize)?;
                left &= left - 1;
                Some(bit)
            })
        });
        bits.map(|bit| &self.rest[contexts[bit]])
    }
}

impl Demand for Listed {
    fn layout(&self) -> &SetLayout {
        &self.layout
    }

    fn start(&self, arc: ArcId, into: &mut [u64]) {
        for (into, start) in into.iter_mut().zip(&self.starts[self.layout.of(arc)]) {
            *into |= start;
        }
    }

    fn step(&self, arc: ArcId, next: ArcId, set: &[u64], into: &mut [u64]) -> bool {
        let mut any = false;
        for context in self.members(arc, set) {
            if let Some((to, bit)) = context.next
                && to == next
            {
                into[bit / 64] |= 1 << (bit % 64);
                any = true;
            }
        }
        any
    }

    fn ends(&self, arc: ArcId, set: &[u64]) -> bool {
        self.members(arc, set).any(|context| context.next.is_none())
    }
}

/// Work on the demand of a set of routes, whatever kind it is.
pub(super) trait Work {
    /// What the work yields.
    type Output;
    /// Does it. The parts together are the demand; no packet goes from one to another.
    fn on<D: Demand>(self, parts: &[D]) -> Self::Output;
}

/// Does `work` on the demand of `set`.
pub(super) fn with_demand<W: Work>(set: &RouteSet, work: W) -> W::Output {
    match set.policy() {
        RoutePolicy::Shortest => work.on(&Shortest::parts(set.fabric())),
        RoutePolicy::UpDown { bounces } if *bounces <= MAX_BOUNCES => {
            work.on(&[UpDown::new(set.fabric(), *bounces)])
        }
        _ => work.on(&[Listed::new(set)]),
    }
}
