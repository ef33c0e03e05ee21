//! Whether the plan's own forwarding keeps to what its tags keep lossless, pair by pair.
//!
//! A promise is of routes; forwarding by destination can leave them: a detour around a link that is down, a pair that the
//! promised routes do not join. What strays turns lossy. That breaks no promise, but who runs the network must know.

use std::collections::{BTreeMap, BTreeSet};

use quantities::PortId;
use rayon::prelude::*;
use serde::Serialize;
use topology::SwitchId;

use super::forward::Walk;
use super::lookup::{LOSSY, Lookup, Ports, TagIx};
use crate::model::Tables;
use crate::tag::ClassId;

/// How many lossy pairs are told by name.
const MAX_NAMED: usize = 1000;

/// How much of the traffic between hosts stays lossless as the plan forwards it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Forwarded {
    /// Pairs of a switch with hosts and another one, times the classes.
    pub pairs: u64,
    /// Of these, those with a packet that turns lossy on its way.
    pub lossy: u64,
    /// A way for each of these, at most a thousand, by class and names.
    pub lossy_ways: Vec<LossyWay>,
}

/// A way on which packets turn lossy.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct LossyWay {
    /// The name of the class.
    pub class: String,
    /// The switches on it, from the one that the packet enters by to the one where it turns lossy.
    pub switches: Vec<String>,
    /// The switch of the destination's hosts.
    pub to: String,
    /// The port by which the packet comes to where it turns lossy.
    pub in_port: PortId,
    /// The port by which it leaves there.
    pub out_port: PortId,
}

/// A packet at an ingress port: the port's number and the packet's tag.
type State = (u32, TagIx);

/// What became of packets from some switches to a column of hosts.
enum Outcome {
    Lossless,
    /// The ways of the first that turned lossy: states from the first switch on, and the last egress port.
    Lossy(Vec<State>, PortId),
}

/// The packets of one class.
struct Class<'a> {
    kind: usize,
    initial: TagIx,
    /// Per edge switch the ports of hosts, one for each way of treating them.
    sources: BTreeMap<SwitchId, Vec<PortId>>,
    /// Per ingress port and tag the first port of its switch by which packets of that tag fare alike, whatever port they leave by.
    alike: Vec<u32>,
    lookup: &'a Lookup,
    ports: &'a Ports,
}

/// Which states were seen, without forgetting them one by one.
struct Seen {
    stamps: Vec<u32>,
    now: u32,
    tags: usize,
}

impl Seen {
    fn new(ports: usize, tags: usize) -> Self {
        Self {
            stamps: vec![0; ports * tags],
            now: 0,
            tags,
        }
    }

    fn forget(&mut self) {
        self.now += 1;
    }

    /// Whether a state is new.
    fn add(&mut self, (at, tag): State) -> bool {
        let stamp = &mut self.stamps[at as usize * self.tags + usize::from(tag)];
        let new = *stamp != self.now;
        *stamp = self.now;
        new
    }
}

/// Follows every packet that the plan's forwarding moves, in each class, from its first switch to its host. The forwarding
/// has been shown to bring every packet to its host.
pub(super) fn forwarded(tables: &Tables, lookup: &Lookup, walks: &[Walk<'_>]) -> Forwarded {
    let ports = Ports::new(&tables.topology);
    let mut pairs = 0;
    let mut lossy: BTreeMap<(usize, SwitchId, SwitchId), (Vec<State>, PortId)> = BTreeMap::new();
    for (index, class) in tables.tagging.classes.iter().enumerate() {
        let Some(initial) = lookup.index(class.initial) else {
            continue; // refused before
        };
        let Ok(number) = u8::try_from(index) else {
            continue; // refused before
        };
        let class = Class::new(tables, lookup, &ports, ClassId::new(number), initial);
        pairs += class.pairs();
        for walk in walks {
            for (from, to, way) in class.strays(walk) {
                lossy.entry((index, from, to)).or_insert(way);
            }
        }
    }
    let name = |switch: SwitchId| tables.topology.switch(switch).name.clone();
    let told = lossy.iter().take(MAX_NAMED);
    let told = told.map(|((class, _, to), (states, out_port))| LossyWay {
        class: tables.tagging.classes[*class].name.clone(),
        switches: states
            .iter()
            .map(|(at, _)| name(ports.name(*at).0))
            .collect(),
        to: name(*to),
        in_port: states
            .last()
            .map_or(PortId::new(0), |(at, _)| ports.name(*at).1),
        out_port: *out_port,
    });
    Forwarded {
        pairs,
        lossy: lossy.len() as u64,
        lossy_ways: told.collect(),
    }
}

impl<'a> Class<'a> {
    fn new(
        tables: &Tables,
        lookup: &'a Lookup,
        ports: &'a Ports,
        class: ClassId,
        initial: TagIx,
    ) -> Self {
        let kind = lookup.kind(class);
        let mut sources: BTreeMap<SwitchId, Vec<PortId>> = BTreeMap::new();
        let mut rows = BTreeSet::new();
        for at in ports.host_facing() {
            let (switch, port) = ports.name(at);
            if !tables.topology.switch(switch).up {
                continue;
            }
            let row = lookup.row(switch, kind, initial, port);
            // Hosts that are treated alike send packets that are treated alike.
            if rows.insert((switch, row)) {
                sources.entry(switch).or_default().push(port);
            }
        }
        Self {
            kind,
            initial,
            sources,
            alike: alike(lookup, ports, kind),
            lookup,
            ports,
        }
    }

    /// Pairs of a switch with hosts and another one.
    fn pairs(&self) -> u64 {
        let edges = self.sources.len() as u64;
        edges * edges.saturating_sub(1)
    }

    /// The state that stands for all that fare as this one does.
    fn first_alike(&self, (at, tag): State) -> State {
        let place = at as usize * self.lookup.tags.len() + usize::from(tag);
        (self.alike[place], tag)
    }

    /// The pairs of a walk whose packets turn lossy, each with a way.
    fn strays(&self, walk: &Walk<'_>) -> Vec<(SwitchId, SwitchId, (Vec<State>, PortId))> {
        let seen = || Seen::new(self.ports.count(), self.lookup.tags.len());
        let found = (0..walk.columns())
            .into_par_iter()
            .map_init(seen, |seen, column| {
                let to = walk.edge(column);
                let joined = walk.joined(column);
                let sources = self.sources.keys().copied();
                let sources: Vec<SwitchId> = sources
                    .filter(|from| *from != to && joined[from.index()])
                    .collect();
                if let Outcome::Lossless = self.follow(walk, column, &sources, seen) {
                    return Vec::new();
                }
                let each = sources.iter().filter_map(|&from| {
                    match self.follow(walk, column, &[from], seen) {
                        Outcome::Lossless => None,
                        Outcome::Lossy(way, port) => Some((from, to, (way, port))),
                    }
                });
                each.collect()
            });
        found.flatten().collect()
    }

    /// Follows packets from these switches to a column's hosts, until one turns lossy.
    fn follow(
        &self,
        walk: &Walk<'_>,
        column: usize,
        sources: &[SwitchId],
        seen: &mut Seen,
    ) -> Outcome {
        seen.forget();
        let to = walk.edge(column);
        // Each state with the place of the one before it.
        let mut queue: Vec<(State, usize)> = Vec::new();
        for switch in sources {
            for &port in &self.sources[switch] {
                let state = (self.ports.at(*switch, port), self.initial);
                if seen.add(self.first_alike(state)) {
                    queue.push((state, usize::MAX));
                }
            }
        }
        let mut done = 0;
        while let Some(&((at, tag), _)) = queue.get(done) {
            let (switch, in_port) = self.ports.name(at);
            let row = self.lookup.row(switch, self.kind, tag, in_port);
            for out in walk.hops(switch, column) {
                let new = row[usize::from(out.get())];
                if new == LOSSY {
                    return Outcome::Lossy(way(&queue, done), out);
                }
                let peer = self.ports.peer(self.ports.at(switch, out));
                if let Some(peer) = peer.filter(|_| switch != to)
                    && seen.add(self.first_alike((peer, new)))
                {
                    queue.push(((peer, new), done));
                }
            }
            done += 1;
        }
        Outcome::Lossless
    }
}

/// By ingress port and tag: the first port of the same switch whose packets of that tag get the same new tags by every egress port. Where
/// packets go does not depend on the port by which they came, so one of them stands for all.
fn alike(lookup: &Lookup, ports: &Ports, kind: usize) -> Vec<u32> {
    let tags = lookup.tags.len();
    let mut alike = vec![0; ports.count() * tags];
    // The different rows of a switch, tag by tag, with the port that had each first.
    let mut rows: Vec<Vec<(&[u8], u32)>> = vec![Vec::new(); tags];
    let mut last = None;
    for (at, places) in (0..).zip(alike.chunks_mut(tags.max(1))) {
        let (switch, port) = ports.name(at);
        if last.replace(switch) != Some(switch) {
            rows.iter_mut().for_each(Vec::clear);
        }
        for ((tag, rows), place) in (0..).zip(&mut rows).zip(places) {
            let row = lookup.row(switch, kind, tag, port);
            let known = rows.iter().find(|(known, _)| *known == row);
            *place = known.map_or(at, |(_, first)| *first);
            if known.is_none() {
                rows.push((row, at));
            }
        }
    }
    alike
}

/// The states that led to one of the queue.
fn way(queue: &[(State, usize)], last: usize) -> Vec<State> {
    let mut states = Vec::new();
    let mut at = last;
    while let Some(&(state, before)) = queue.get(at) {
        states.push(state);
        at = before;
    }
    states.reverse();
    states
}
