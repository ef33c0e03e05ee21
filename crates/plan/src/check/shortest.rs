//! Replay of all shortest paths: all destinations at once, a bit each.
//!
//! A packet to destination `d` may be on link `u -> v` iff `v` is nearer to `d` than `u`. For every link
//! that gives a set of destinations; for every (link, tag) the set of destinations of packets that get
//! there grows until nothing changes.

use topology::{ArcId, Distances, Fabric, SwitchId, UNREACHABLE};

use super::lookup::TagIx;
use super::replay::Replay;
use super::walk::{Lost, Memory, RouteSpace, Walker};

/// Words of a set of destinations: the destinations are taken in blocks.
const WORDS: usize = 8;

/// A set of destinations of one block.
type Set = [u64; WORDS];

/// Replays all shortest paths between hosts; the first that turns lossy.
pub(super) fn replay(replay: &Replay<'_>, fabric: &Fabric) -> Option<Lost> {
    let edge: Vec<SwitchId> = fabric.edge_switches().collect();
    for block in edge.chunks(64 * WORDS) {
        let distances = Distances::new(fabric, block);
        let mut flood = Flood::new(replay, fabric, &distances);
        if let Some(target) = flood.first_lost() {
            let space = Toward::new(fabric, &distances, target);
            return Walker::new(replay, fabric, &space).first_lost();
        }
    }
    None
}

/// The destinations of one block, under way.
struct Flood<'a> {
    replay: &'a Replay<'a>,
    fabric: &'a Fabric,
    distances: &'a Distances,
    /// By link: the destinations it leads nearer to.
    toward: Vec<Set>,
    /// By link and tag: the destinations of packets that get there.
    live: Vec<Set>,
    /// By link and tag: those of `live` whose continuations have not been followed yet.
    fresh: Vec<Set>,
    queue: Vec<u32>,
    tags: usize,
}

impl<'a> Flood<'a> {
    fn new(replay: &'a Replay<'a>, fabric: &'a Fabric, distances: &'a Distances) -> Self {
        let arcs = fabric.arcs();
        let mut toward = vec![Set::default(); arcs.len()];
        for bit in 0..distances.targets().len() {
            let hops = distances.row(bit);
            for (set, arc) in toward.iter_mut().zip(arcs) {
                let (from, to) = (hops[arc.from.index()], hops[arc.to.index()]);
                if from != UNREACHABLE && from == to + 1 {
                    set[bit / 64] |= 1 << (bit % 64);
                }
            }
        }
        let tags = replay.lookup.tags.len();
        Self {
            replay,
            fabric,
            distances,
            toward,
            live: vec![Set::default(); arcs.len() * tags],
            fresh: vec![Set::default(); arcs.len() * tags],
            queue: Vec::new(),
            tags,
        }
    }

    /// A destination on the way to which some packet turns lossy.
    fn first_lost(&mut self) -> Option<usize> {
        if let Some(target) = self.start() {
            return Some(target);
        }
        while let Some(state) = self.queue.pop() {
            if let Some(target) = self.expand(state as usize) {
                return Some(target);
            }
        }
        None
    }

    fn start(&mut self) -> Option<usize> {
        let initial = self.replay.initial;
        for switch in self.fabric.switch_ids() {
            let hosts = self.fabric.attachments(switch);
            for source in hosts {
                if let Some(target) = self.position(switch)
                    && self
                        .replay
                        .leaves(switch, initial, source.port, hosts)
                        .is_some()
                {
                    return Some(target);
                }
                for (id, arc) in self.fabric.out_arcs(switch) {
                    let going = self.toward[id.index()];
                    let Some(target) = first(&going) else {
                        continue;
                    };
                    match self.replay.step(switch, initial, source.port, arc.out_port) {
                        Some(tag) => self.reach(id, tag, &going),
                        None => return Some(target),
                    }
                }
            }
        }
        None
    }

    /// The position of a switch among the destinations of this block.
    fn position(&self, switch: SwitchId) -> Option<usize> {
        // Destinations are in id order.
        self.distances.targets().binary_search(&switch).ok()
    }

    fn reach(&mut self, arc: ArcId, tag: TagIx, going: &Set) {
        let state = arc.index() * self.tags + usize::from(tag);
        let waiting = first(&self.fresh[state]).is_some();
        let mut any = false;
        for (word, going) in going.iter().enumerate() {
            let new = going & !self.live[state][word];
            self.live[state][word] |= new;
            self.fresh[state][word] |= new;
            any |= new != 0;
        }
        if any && !waiting {
            self.queue.push(u32::try_from(state).unwrap_or(u32::MAX));
        }
    }

    fn expand(&mut self, state: usize) -> Option<usize> {
        let going = std::mem::take(&mut self.fresh[state]);
        let fabric = self.fabric;
        let arc = fabric.arcs()[state / self.tags];
        let tag = TagIx::try_from(state % self.tags).unwrap_or(TagIx::MAX);
        if let Some(target) = self.position(arc.to)
            && going[target / 64] & 1 << (target % 64) != 0
        {
            let hosts = fabric.attachments(arc.to);
            let lost = self.replay.leaves(arc.to, tag, arc.in_port, hosts);
            if lost.is_some() {
                return Some(target);
            }
        }
        for (id, next) in fabric.out_arcs(arc.to) {
            let both = and(&going, &self.toward[id.index()]);
            let Some(target) = first(&both) else {
                continue;
            };
            match self.replay.step(arc.to, tag, arc.in_port, next.out_port) {
                Some(tag) => self.reach(id, tag, &both),
                None => return Some(target),
            }
        }
        None
    }
}

fn and(a: &Set, b: &Set) -> Set {
    std::array::from_fn(|word| a[word] & b[word])
}

/// The lowest destination of a set.
fn first(set: &Set) -> Option<usize> {
    let word = set.iter().position(|w| *w != 0)?;
    Some(word * 64 + set[word].trailing_zeros() as usize)
}

/// The shortest paths to one destination.
struct Toward<'a> {
    fabric: &'a Fabric,
    hops: &'a [u16],
    target: SwitchId,
}

impl<'a> Toward<'a> {
    fn new(fabric: &'a Fabric, distances: &'a Distances, target: usize) -> Self {
        Self {
            fabric,
            hops: distances.row(target),
            target: distances.targets()[target],
        }
    }
}

impl RouteSpace for Toward<'_> {
    fn memories(&self) -> u32 {
        1
    }

    fn start(&self, arc: ArcId) -> Option<Memory> {
        let arc = self.fabric.arc(arc);
        let (from, to) = (self.hops[arc.from.index()], self.hops[arc.to.index()]);
        (from != UNREACHABLE && from == to + 1).then_some(0)
    }

    fn step(&self, _: ArcId, _: Memory, next: ArcId) -> Option<Memory> {
        self.start(next)
    }

    fn ends(&self, arc: ArcId) -> bool {
        self.fabric.arc(arc).to == self.target
    }

    fn stays(&self, switch: SwitchId) -> bool {
        switch == self.target
    }
}
