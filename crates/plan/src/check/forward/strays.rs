//! Whether the plan's own forwarding keeps to what its tags keep lossless, pair by pair.
//!
//! A promise is of routes; forwarding by destination can leave them: a detour around a link that is
//! down, a pair that the promised routes do not join. What strays turns lossy. That breaks no
//! promise, but who runs the network must know.

use std::collections::{BTreeMap, VecDeque};

use quantities::PortId;
use rayon::prelude::*;
use serde::Serialize;
use topology::SwitchId;

use super::Walk;
use super::blocks::Block;
use crate::check::destinations::{Set, add, and, insert, is_empty, members, without};
use crate::check::rules::Rules;
use crate::check::rules::lookup::{LOSSY, Lookup, RowNumber, TagIx};
use crate::check::rules::ports::Ports;
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
    /// The ways of the first that turned lossy: states from the first switch on, and the last
    /// egress port.
    Lossy(Vec<State>, PortId),
}

/// The packets of one class.
struct Class<'a> {
    kind: usize,
    initial: TagIx,
    /// Where its packets come from.
    sources: BTreeMap<SwitchId, Vec<PortId>>,
    alike: Alike<'a>,
    lookup: &'a Lookup,
    ports: &'a Ports,
}

/// States whose packets fare alike, whatever port they leave by: those with the same row. Where
/// packets go does not depend on the port by which they came, so one state stands for all.
struct Alike<'a> {
    /// By row, the state that stands for all of it, which comes first.
    states: Vec<State>,
    lookup: &'a Lookup,
    ports: &'a Ports,
    kind: usize,
}

impl<'a> Alike<'a> {
    fn new(lookup: &'a Lookup, ports: &'a Ports, kind: usize) -> Self {
        let mut alike = Self {
            states: vec![(u32::MAX, 0); lookup.row_count()],
            lookup,
            ports,
            kind,
        };
        for at in (0..).take(ports.count()) {
            for (tag, _) in (0..).zip(&lookup.tags) {
                let number = alike.number((at, tag));
                let first = &mut alike.states[number as usize];
                *first = (*first).min((at, tag));
            }
        }
        alike
    }

    /// The number of the row of a state.
    fn number(&self, (at, tag): State) -> RowNumber {
        let (switch, port) = self.ports.name(at);
        self.lookup.number(switch, self.kind, tag, port)
    }
}

/// Which states were seen, without forgetting them one by one.
struct Seen {
    stamps: Vec<u32>,
    now: u32,
}

impl Seen {
    fn new(states: usize) -> Self {
        Self {
            stamps: vec![0; states],
            now: 0,
        }
    }

    fn forget(&mut self) {
        self.now += 1;
    }

    /// Whether a state is new.
    fn add(&mut self, number: u32) -> bool {
        let stamp = &mut self.stamps[number as usize];
        let new = *stamp != self.now;
        *stamp = self.now;
        new
    }
}

/// Follows every packet that the plan's forwarding moves, in each class, from its first switch to
/// its host. The forwarding has been shown to bring every packet to its host. Of classes in
/// `shortest`, all shortest paths have been shown to stay lossless: their packets are followed only
/// where they may go by other paths.
pub(super) fn forwarded(rules: &Rules<'_>, walks: &[Walk<'_>], shortest: &[ClassId]) -> Forwarded {
    let Rules {
        tables,
        lookup,
        ports,
    } = rules;
    let mut pairs = 0;
    let mut lossy: BTreeMap<(usize, SwitchId, SwitchId), (Vec<State>, PortId)> = BTreeMap::new();
    for (index, class) in tables.tagging.classes.iter().enumerate() {
        let Some(initial) = lookup.index(class.initial) else {
            continue; // refused before
        };
        let Ok(number) = u8::try_from(index) else {
            continue; // refused before
        };
        let id = ClassId::new(number);
        let sources = sources(rules, id, initial);
        let edges = sources.len() as u64;
        pairs += edges * edges.saturating_sub(1);
        let known = |walk: &&Walk<'_>| shortest.contains(&id) && walk.is_shortest();
        let unknown: Vec<&Walk<'_>> = walks.iter().filter(|walk| !known(walk)).collect();
        if unknown.is_empty() {
            continue;
        }
        let class = Class::new(sources, rules, id, initial);
        for walk in unknown {
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

/// Per live edge switch the ports of hosts that send packets of a class, one for each way of
/// treating them.
fn sources(rules: &Rules<'_>, class: ClassId, initial: TagIx) -> BTreeMap<SwitchId, Vec<PortId>> {
    let Rules {
        tables,
        lookup,
        ports,
    } = rules;
    let mut sources: BTreeMap<SwitchId, Vec<PortId>> = BTreeMap::new();
    let mut met = vec![false; lookup.row_count()];
    for at in ports.host_facing() {
        let (switch, port) = ports.name(at);
        if !tables.topology.switch(switch).up {
            continue;
        }
        let row = lookup.number(switch, lookup.kind(class), initial, port);
        // Hosts that are treated alike send packets that are treated alike.
        if !std::mem::replace(&mut met[row as usize], true) {
            sources.entry(switch).or_default().push(port);
        }
    }
    sources
}

impl<'a> Class<'a> {
    fn new(
        sources: BTreeMap<SwitchId, Vec<PortId>>,
        rules: &'a Rules<'_>,
        class: ClassId,
        initial: TagIx,
    ) -> Self {
        let Rules { lookup, ports, .. } = rules;
        let kind = lookup.kind(class);
        Self {
            kind,
            initial,
            sources,
            alike: Alike::new(lookup, ports, kind),
            lookup,
            ports,
        }
    }

    /// The pairs of a walk whose packets turn lossy, each with a way.
    fn strays(&self, walk: &Walk<'_>) -> Vec<(SwitchId, SwitchId, (Vec<State>, PortId))> {
        let doubtful =
            walk.columns_left(|first, block| Flood::new(self, walk, first, block).lossy());
        self.told(walk, doubtful)
    }

    /// The same, of some columns whose packets are followed one by one.
    fn told(
        &self,
        walk: &Walk<'_>,
        columns: Vec<usize>,
    ) -> Vec<(SwitchId, SwitchId, (Vec<State>, PortId))> {
        let seen = || Seen::new(self.alike.states.len());
        let found = columns.into_par_iter().map_init(seen, |seen, column| {
            let to = walk.edge(column);
            let joined = walk.joined(column);
            let sources = self.sources.keys().copied();
            let sources: Vec<SwitchId> = sources
                .filter(|from| *from != to && joined[from.index()])
                .collect();
            if let Outcome::Lossless = self.follow(walk, column, &sources, seen) {
                return Vec::new();
            }
            let each =
                sources
                    .iter()
                    .filter_map(|&from| match self.follow(walk, column, &[from], seen) {
                        Outcome::Lossless => None,
                        Outcome::Lossy(way, port) => Some((from, to, (way, port))),
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
                if seen.add(self.alike.number(state)) {
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
                    && seen.add(self.alike.number((peer, new)))
                {
                    queue.push(((peer, new), done));
                }
            }
            done += 1;
        }
        Outcome::Lossless
    }
}

/// Packets of a class to all columns of a block, under way together.
struct Flood<'a> {
    class: &'a Class<'a>,
    walk: &'a Walk<'a>,
    /// The number of the block's first column.
    first: usize,
    block: &'a Block,
    /// By state that stands for others: columns of the packets that get there, and those of them
    /// that were not followed yet.
    live: Vec<Set>,
    fresh: Vec<Set>,
    queue: VecDeque<u32>,
    /// Columns to which some packet turns lossy, or may.
    lossy: Set,
}

impl<'a> Flood<'a> {
    fn new(class: &'a Class<'a>, walk: &'a Walk<'a>, first: usize, block: &'a Block) -> Self {
        let states = class.alike.states.len();
        Self {
            class,
            walk,
            first,
            block,
            live: vec![Set::default(); states],
            fresh: vec![Set::default(); states],
            queue: VecDeque::new(),
            lossy: Set::default(),
        }
    }

    /// The columns to which some packet from a switch that is not theirs turns lossy, and perhaps
    /// few others.
    fn lossy(mut self) -> Set {
        for (switch, ports) in &self.class.sources {
            let joined = &self.block.joined[switch.index()];
            let going = without(joined, &self.block.own[switch.index()]);
            for port in ports {
                let at = self.class.ports.at(*switch, *port);
                self.reach((at, self.class.initial), &going);
            }
        }
        while let Some(number) = self.queue.pop_front() {
            let going = std::mem::take(&mut self.fresh[number as usize]);
            self.follow(self.class.alike.states[number as usize], &going);
        }
        self.lossy
    }

    fn reach(&mut self, state: State, going: &Set) {
        let number = self.class.alike.number(state);
        let live = &mut self.live[number as usize];
        let new = without(going, live);
        if is_empty(&new) {
            return;
        }
        add(live, &new);
        let fresh = &mut self.fresh[number as usize];
        if is_empty(fresh) {
            self.queue.push_back(number);
        }
        add(fresh, &new);
    }

    /// Where packets of a state go next.
    fn follow(&mut self, (at, tag): State, going: &Set) {
        let Class { lookup, ports, .. } = *self.class;
        let (switch, in_port) = ports.name(at);
        let row = lookup.row(switch, self.class.kind, tag, in_port);
        let turns = |port: PortId| row[usize::from(port.get())] == LOSSY;
        let (block, walk) = (self.block, self.walk);
        let own = &block.own[switch.index()];
        for column in members(&and(going, own)) {
            if walk.host_ports(self.first + column).any(turns) {
                insert(&mut self.lossy, column);
            }
        }
        // A host of two switches, say: what is sent to it past the switch of its column is followed
        // by itself.
        add(&mut self.lossy, &and(going, &block.astray[switch.index()]));
        let going = without(&without(going, own), &self.lossy);
        for (id, arc) in walk.fabric().out_arcs(switch) {
            let over = and(&going, &block.over[id.index()]);
            if is_empty(&over) {
                continue;
            }
            match row[usize::from(arc.out_port.get())] {
                LOSSY => add(&mut self.lossy, &over),
                tag => self.reach((ports.at(arc.to, arc.in_port), tag), &over),
            }
        }
    }
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use quantities::Priority;
    use topology::Fabric;
    use topology::generate::{Cables, Jellyfish, JellyfishSize};

    use super::super::flat::{Family, Ranking};
    use super::super::{Flattened, Prefixes};
    use super::*;
    use crate::budget::Budget;
    use crate::carrier::{Carrier, CarrierKind};
    use crate::check::destinations::BLOCK;
    use crate::model::{Class as PlanClass, Provenance, RuleForm, Tables, TagRule, Tagging};
    use crate::tag::{NewTag, Tag};
    use topology::routes::RoutePolicy;
    use topology::routes::forwarding::{Forwarding, NextHop, Reroute};

    fn hop(port: u16) -> NextHop {
        NextHop {
            port: PortId::new(port),
            mac: [0; 6],
        }
    }

    /// A random graph of one host a switch, on port 1, in which every packet keeps its tag; but not
    /// where it goes out of `lossy`.
    fn tables(switches: u32, lossy: &[(u32, &str)]) -> Tables {
        let graph = Jellyfish {
            size: JellyfishSize::Switches {
                switches,
                fabric_ports: 3,
            },
            ports: 4,
            seed: 1,
            cables: Cables::default(),
        };
        let rule = |out: &str| TagRule {
            precedence: 0,
            class: None,
            tag: Tag::new(1),
            in_ports: "1-4".parse().expect("ports"),
            out_ports: out.parse().expect("ports"),
            new_tag: NewTag::Lossless(Tag::new(1)),
        };
        let mut rules = vec![vec![rule("1-4")]; switches as usize];
        for (switch, kept) in lossy {
            rules[*switch as usize] = vec![rule(kept)];
        }
        Tables {
            provenance: Provenance::ours("hand", ""),
            topology: graph.generate().expect("a random graph"),
            tagging: Tagging {
                classes: vec![PlanClass {
                    name: "a".to_owned(),
                    initial: Tag::new(1),
                    limit: None,
                }],
                class_bits: false,
                priorities: BTreeMap::from([(Tag::new(1), Priority::new(1))]),
                form: RuleForm::PortSets,
                rules,
            },
            carrier: Carrier::numbered(CarrierKind::Dscp, [Tag::new(1)], false),
            promises: vec![],
            forwarding: RoutePolicy::Shortest,
            failover: None,
            budget: Budget::default(),
        }
    }

    fn rules(tables: &Tables) -> Rules<'_> {
        Rules::new(tables).expect("no conflict")
    }

    /// How many pairs turn lossy, which are the same where all columns are followed.
    fn strays(tables: &Tables) -> usize {
        let rules = rules(tables);
        let fabric = Fabric::new(&tables.topology);
        let Flattened { groups, families } = {
            let routing = tables.routing().expect("shortest paths");
            Flattened::new(&tables.topology, &routing)
        };
        let v4 = families.into_iter().next().expect("a family");
        let walk = Walk::new(&tables.topology, &fabric, &groups, v4);
        let class = ClassId::new(0);
        let sources = sources(&rules, class, 0);
        let class = Class::new(sources, &rules, class, 0);
        let found = class.strays(&walk);
        let all = (0..tables.topology.hosts().len()).collect();
        assert_eq!(found, class.told(&walk, all));
        assert!(walk.is_shortest());
        found.len()
    }

    #[test]
    fn floods_miss_nothing_that_following_finds() {
        let switches = BLOCK as u32 + 8;
        let others = switches as usize - 1;
        assert_eq!(strays(&tables(switches, &[])), 0);
        // The hosts of a switch of the second block get nothing lossless, and nobody else suffers.
        let (first, last) = (3, switches - 1);
        assert_eq!(strays(&tables(switches, &[(last, "2-4")])), others);
        let both = [(first, "2-4"), (last, "2-4")];
        assert_eq!(strays(&tables(switches, &both)), 2 * others);
        // What goes by a port of its turns lossy, for many destinations.
        assert!(strays(&tables(40, &[(7, "1-3")])) > 39);
        assert!(strays(&tables(40, &[(7, "2"), (9, "1-2")])) > 39);
    }

    #[test]
    fn proven_shortest_paths_are_not_followed_again_and_others_are() {
        let tables = tables(40, &[(7, "1-3")]);
        let topology = &tables.topology;
        let rules = rules(&tables);
        let fabric = Fabric::new(topology);
        let known = [ClassId::new(0)];
        let lossy = |around: bool, shortest: &[ClassId]| {
            let hosts = Family::ALL.map(|family| Ranking::new(topology, family));
            let made = Forwarding::new(topology, &tables.forwarding, Reroute::Converged);
            let mut made = made.expect("shortest paths").switches().to_vec();
            let onward = |group: &[NextHop]| group.iter().all(|hop| hop.port.get() != 1);
            let changed = made[0]
                .groups
                .iter()
                .map(|group| match around && onward(group) {
                    true => [2, 3, 4].map(hop).to_vec(),
                    false => group.to_vec(),
                });
            made[0].groups = changed.collect();
            let mut known = Prefixes::new(&hosts);
            let made = made.iter().map(|table| known.switch(table)).collect();
            let Flattened { groups, families } = Flattened::of(hosts, made);
            let walk = |family| Walk::new(topology, &fabric, &groups, family);
            let walks: Vec<Walk<'_>> = families.into_iter().map(walk).collect();
            forwarded(&rules, &walks, shortest)
        };
        let followed = lossy(false, &[]);
        assert!(followed.lossy > 0);
        // As if they had been proven, which they could not be.
        let taken = lossy(false, &known);
        assert_eq!((taken.lossy, taken.pairs), (0, followed.pairs));
        // Packets that go round are followed whatever is known of shortest paths.
        let followed = lossy(true, &[]);
        assert!(followed.lossy > 0);
        assert_eq!(lossy(true, &known), followed);
    }
}
