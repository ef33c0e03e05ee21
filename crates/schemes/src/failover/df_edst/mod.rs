//! Deadlock-free spanning tree resilience (DF-EDST, Stephens15 sections 5.2 and 5.4.2): packets
//! follow edge-disjoint spanning trees and change, where a link is down, only to trees that a [tree
//! transition graph](transitions) leads to. The graph is acyclic, so that nothing circulates
//! without a word of it in the header, and the links of all trees can be put in an order that every
//! packet follows: trees in topological order, in each the links up before those down.
//!
//! Every channel has trees of its own, drawn with another seed, and a graph of its own; a packet
//! keeps the channel that its first switch gave it. An edge is in one tree of a channel, so the
//! port by which a packet comes in tells its tree. With several channels the header tells the
//! channel (it is the packet's lossless tag, too).

mod begin;
mod minimal;
mod select;
mod tags;
mod transitions;

use plan::failover::{
    Action, Destination, Origin, PortMask, PortMatch, Rule, Target, Ternary, Write,
};
use rayon::prelude::*;
use topology::{ArcId, Fabric, SwitchId};

pub use transitions::{TransitionKind, TreeOrder};

use super::packing::pack;
use super::resilient::byte;
use super::roots::Roots;
use super::shallow::{Forest, shallow_pack};
use super::trees::{along, draw, edges, tree_hops};
use super::{FailoverError, FailoverOptions, FailoverScheme, Placed};
use begin::{Beginnings, Start};
use minimal::Minimal;
use select::Selection;
use transitions::{MAX_TREES, TransitionGraph, places};

/// Options of DF-EDST.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransitionOptions {
    /// To which trees packets may change.
    pub kind: TransitionKind,
    /// The order in which the trees of a layer are tried.
    pub order: TreeOrder,
    /// How many channels there are, each with trees of its own.
    pub channels: u8,
    /// On how many trees packets may begin; as many as the resilience leaves if absent.
    pub initial: Option<u8>,
    /// How many trees lead to each destination; all of a channel if absent.
    pub subset: Option<u8>,
    /// Whether the trees of a layer follow each other in a line.
    pub connected: bool,
}

impl TransitionOptions {
    /// The defaults of a graph: one channel, all trees.
    #[must_use]
    pub const fn new(kind: TransitionKind) -> Self {
        Self {
            kind,
            order: TreeOrder::Resilience,
            channels: 1,
            initial: None,
            subset: None,
            connected: false,
        }
    }

    /// What is wrong with them: the option and why.
    pub(super) fn wrong(&self, trees: Option<u8>) -> Option<(&'static str, &'static str)> {
        let more = |few: Option<u8>| few.zip(trees).is_some_and(|(few, trees)| few > trees);
        if self.kind == TransitionKind::NoDfr {
            return Some((
                "--ttg no-dfr",
                "packets may change from any tree to any other and back, so that the links of two trees wait for each other in a \
                 cycle of buffers, and only a word of failed trees in the header ends their way: `--scheme edst` forwards so, and \
                 `--lossless rising` keeps it lossless",
            ));
        }
        if self.channels == 0 || self.channels > MAX_CHANNELS {
            return Some((
                "--channels",
                "there are 1 to 8 priorities that can be channels",
            ));
        }
        if self.initial == Some(0) || more(self.initial) {
            return Some((
                "--initial-trees",
                "packets begin on one of the trees that there are",
            ));
        }
        if self.initial.is_some()
            && matches!(self.kind, TransitionKind::NoRes | TransitionKind::Line)
        {
            return Some((
                "--initial-trees",
                "packets begin on every tree of no-res, and on the first of line",
            ));
        }
        if self.subset == Some(0) || more(self.subset) {
            return Some(("--subset", "it is of the trees that there are"));
        }
        None
    }

    /// The options by name.
    pub(super) fn describe(&self, set: &mut impl FnMut(&str, String)) {
        set("ttg", self.kind.name().to_owned());
        set("tree-order", self.order.name().to_owned());
        set("channels", self.channels.to_string());
        set("connected-layers", self.connected.to_string());
        if let Some(trees) = self.subset {
            set("subset", trees.to_string());
        }
    }
}

/// The random numbers by which trees are selected for a destination are none of those of
/// [`Channels::rules`].
const SELECTION: u64 = 1 << 32;

/// As many channels as PFC has priorities.
const MAX_CHANNELS: u8 = 8;

/// One channel: its trees, each at its place in the transition graph.
struct Channel {
    number: u8,
    graph: TransitionGraph,
    /// By arc: the place of its tree; both arcs of an edge are in the same tree.
    owner: Vec<Option<u8>>,
}

/// The trees of all channels.
pub(super) struct Channels {
    channels: Vec<Channel>,
    options: FailoverOptions,
}

/// The trees of a channel toward one destination.
struct Toward {
    home: SwitchId,
    /// The places of the trees that lead there.
    present: u32,
    /// By place and switch: the arc on.
    next: Vec<Vec<Option<ArcId>>>,
    /// By place and switch: links to the destination.
    hops: Vec<Vec<u16>>,
}

impl Channels {
    /// Finds the trees that the options ask for.
    ///
    /// # Errors
    /// [`FailoverError`] if the topology has fewer, or they cannot guarantee the resilience.
    pub(super) fn find(fabric: &Fabric, options: &FailoverOptions) -> Result<Self, FailoverError> {
        let (arcs, ends) = edges(fabric);
        let nodes = fabric.switch_count();
        let found = most_trees(nodes, &ends);
        let asked = options.trees.map(usize::from);
        let failures = usize::from(options.resilience);
        let trees = asked.unwrap_or(found);
        if trees > found || failures >= trees {
            return Err(FailoverError::Trees {
                kind: "edge",
                asked: trees.max(failures + 1),
                found,
                place: String::new(),
                resilience: found.saturating_sub(1),
            });
        }
        let own = options.transitions;
        let initial = own
            .initial
            .map_or_else(|| own.kind.most_initial(trees, failures), usize::from);
        let numbers: Vec<u8> = (0..own.channels).collect();
        let with_hosts: Vec<bool> = fabric
            .switch_ids()
            .map(|switch| !fabric.attachments(switch).is_empty())
            .collect();
        let channel = |&number: &u8| {
            let seed = options.seed.wrapping_add(u64::from(number));
            let count = u8::try_from(trees).unwrap_or(u8::MAX);
            let mut forests = shallow_pack(nodes, &ends, count, Roots::Central(&with_hosts), seed)
                .unwrap_or_default();
            forests.sort_by_key(|forest| length(fabric, forest));
            let mut owner = vec![None; fabric.arcs().len()];
            for (place, forest) in (0u8..).zip(&forests) {
                for &edge in forest.edge.iter().filter(|&&edge| edge != u32::MAX) {
                    let arc = arcs[edge as usize];
                    owner[arc.index()] = Some(place);
                    owner[fabric.reverse(arc).index()] = Some(place);
                }
            }
            let mut rng = draw(options.seed, u64::from(number));
            let graph = TransitionGraph::new(
                own.kind,
                (trees, initial.min(trees)),
                own.connected,
                &mut rng,
            );
            Channel {
                number,
                graph,
                owner,
            }
        };
        Ok(Self {
            channels: numbers.par_iter().map(channel).collect(),
            options: options.clone(),
        })
    }

    /// How many trees each channel has.
    pub(super) fn trees(&self) -> usize {
        self.channels
            .first()
            .map_or(0, |channel| channel.graph.len())
    }

    /// How many failures every packet survives, whatever its destination.
    ///
    /// # Errors
    /// [`FailoverError::Guarantee`] if that is less than the options ask for.
    pub(super) fn guaranteed(
        &self,
        fabric: &Fabric,
        homes: &[SwitchId],
    ) -> Result<u32, FailoverError> {
        let order = self.options.transitions.order;
        let toward = |&home: &SwitchId| {
            let own = self.channels.iter().map(|channel| {
                let toward = self.toward(fabric, channel, home);
                channel.graph.guaranteed(toward.present, order)
            });
            own.min()
        };
        let guaranteed = homes.par_iter().filter_map(toward).min().unwrap_or(0);
        let asked = usize::from(self.options.resilience);
        if guaranteed < asked {
            return Err(FailoverError::Guarantee {
                asked,
                guaranteed,
                kind: self.options.transitions.kind.name(),
                trees: self.trees(),
            });
        }
        Ok(u32::try_from(guaranteed).unwrap_or(u32::MAX))
    }

    fn toward(&self, fabric: &Fabric, channel: &Channel, home: SwitchId) -> Toward {
        let trees = 0..channel.graph.len();
        let next: Vec<_> = trees
            .map(|place| along(fabric, &channel.owner, place, home))
            .collect();
        let hops: Vec<_> = next
            .iter()
            .map(|next| tree_hops(fabric, next, home))
            .collect();
        let selection = Selection {
            graph: &channel.graph,
            options: &self.options,
        };
        let lengths = hops.iter().map(|hops| {
            let sources = fabric
                .edge_switches()
                .map(|source| u64::from(hops[source.index()]));
            sources.sum()
        });
        let seed = self.options.seed.wrapping_add(u64::from(channel.number));
        let mut rng = draw(seed, SELECTION + home.index() as u64);
        let present = selection.choose(&lengths.collect::<Vec<u64>>(), &mut rng);
        Toward {
            home,
            present,
            next,
            hops,
        }
    }

    /// The rules of all switches for a destination at a switch, toward which packets begin as said.
    /// Of the routings to a switch only the first brings the rules for packets from other switches,
    /// which are for all of them: `codes`.
    pub(super) fn rules(
        &self,
        fabric: &Fabric,
        destination: &Destination,
        codes: Ternary,
        (home, beginnings): (SwitchId, &Beginnings),
    ) -> Placed {
        let toward = self.all_toward(fabric, home);
        let starts = beginnings.of(destination.code);
        let minimal = self.minimal(fabric, destination.code, home);
        let first = !matches!(destination.target, Target::Switch { path, .. } if path > 0);
        let mut rules = Placed::default();
        for switch in fabric.switch_ids().filter(|&switch| switch != home) {
            let from_hosts = !fabric.attachments(switch).is_empty();
            let passed = minimal
                .as_ref()
                .is_some_and(|ways| ways.passed[switch.index()]);
            let origins = [
                from_hosts.then_some((Origin::Host, None)),
                passed.then(|| (Origin::Any, self.minimal_mark())),
            ];
            for (origin, mark) in origins.into_iter().flatten() {
                let Some(start) = starts.get(switch.index()).copied().flatten() else {
                    continue;
                };
                let from = Key {
                    codes: Ternary::exact(destination.code),
                    origin,
                    mark,
                };
                self.begin(
                    fabric,
                    &toward,
                    switch,
                    (from, start, minimal.as_ref()),
                    &mut rules,
                );
            }
            for number in (0..self.channels.len()).filter(|_| first) {
                self.pass_on(fabric, &toward, switch, number, codes, &mut rules);
            }
        }
        rules
    }

    fn all_toward(&self, fabric: &Fabric, home: SwitchId) -> Vec<Toward> {
        let toward = |channel| self.toward(fabric, channel, home);
        self.channels.iter().map(toward).collect()
    }

    /// The rules of a switch for packets that are on no tree yet: the minimal way, if they begin on
    /// one, then the trees of a channel.
    fn begin(
        &self,
        fabric: &Fabric,
        toward: &[Toward],
        switch: SwitchId,
        (key, start, minimal): (Key, Start, Option<&Minimal>),
        rules: &mut Placed,
    ) {
        let mut order = self.order_of_host(toward, start, switch);
        if let Some(out) = minimal.and_then(|ways| ways.next[switch.index()]) {
            rules.push(switch, key.rule(fabric, out, self.minimal_mark()));
            // Once this link is down, so is the tree that it is in.
            let next = &toward[start.channel()].next;
            order.retain(|&place| next[place][switch.index()] != Some(out));
        }
        self.install(
            fabric,
            toward,
            switch,
            (key, start.channel()),
            &order,
            rules,
        );
    }

    /// The order in which a switch tries trees for packets that are on none yet: the one that they
    /// begin on, then all others by layers.
    fn order_of_host(&self, toward: &[Toward], start: Start, switch: SwitchId) -> Vec<usize> {
        let others = toward[start.channel()].present & !(1 << start.place());
        let mut order = vec![start.place()];
        order.extend(self.by_layers(toward, start.channel(), others, switch));
        order
    }

    /// Places by rising layer, in each as the options say.
    fn by_layers(
        &self,
        toward: &[Toward],
        channel: usize,
        set: u32,
        switch: SwitchId,
    ) -> Vec<usize> {
        let graph = &self.channels[channel].graph;
        let mut order: Vec<usize> = places(set).collect();
        if self.options.transitions.order == TreeOrder::Performance {
            order.sort_by_key(|&place| {
                (
                    graph.layer(place),
                    toward[channel].hops[place][switch.index()],
                )
            });
        }
        order
    }

    /// The rules of a switch for packets of a channel from other switches: for every tree that they
    /// may be on, itself and then what can be reached from it.
    fn pass_on(
        &self,
        fabric: &Fabric,
        toward: &[Toward],
        switch: SwitchId,
        number: usize,
        codes: Ternary,
        rules: &mut Placed,
    ) {
        let channel = &self.channels[number];
        let own = &toward[number];
        let mut marked = 0u32;
        for (out, arc) in fabric.out_arcs(switch) {
            let Some(place) = channel.owner[out.index()].map(usize::from) else {
                continue;
            };
            // Nothing comes in by the link that its own tree goes on by.
            let enters = arc.to != own.home && own.next[place][switch.index()] != Some(out);
            if !enters || own.present >> place & 1 == 0 || marked >> place & 1 == 1 {
                continue;
            }
            let mut order = vec![place];
            order.extend(self.by_layers(
                toward,
                number,
                channel.graph.reach(place) & own.present,
                switch,
            ));
            let origin = if self.options.mark_trees {
                marked |= 1 << place;
                Origin::Any
            } else {
                Origin::Port(arc.out_port)
            };
            let mark = self.mark(number, place);
            let key = Key {
                codes,
                origin,
                mark,
            };
            self.install(fabric, toward, switch, (key, number), &order, rules);
        }
    }

    /// One rule for every tree of an order.
    fn install(
        &self,
        fabric: &Fabric,
        toward: &[Toward],
        switch: SwitchId,
        (key, channel): (Key, usize),
        order: &[usize],
        rules: &mut Placed,
    ) {
        for &place in order {
            let Some(out) = toward[channel].next[place][switch.index()] else {
                continue;
            };
            rules.push(switch, key.rule(fabric, out, self.mark(channel, place)));
        }
    }
}

/// What rules ask of a packet.
#[derive(Clone, Copy)]
struct Key {
    codes: Ternary,
    origin: Origin,
    mark: Option<u8>,
}

impl Key {
    /// Sends packets on by an arc, if its link is up, with a mark.
    fn rule(self, fabric: &Fabric, out: ArcId, mark: Option<u8>) -> Rule {
        let port = fabric.arc(out).out_port;
        let write = Write {
            tree: mark.filter(|_| mark != self.mark),
            ..Write::default()
        };
        let action = Action::Forward {
            route: Box::new([byte(port)]),
            write,
        };
        Rule {
            destination: self.codes,
            tree: self.mark,
            origin: self.origin,
            ports: PortMatch {
                up: PortMask::single(port),
                down: PortMask::EMPTY,
            },
            ..Rule::to(0, action)
        }
    }
}

/// How many edge-disjoint spanning trees there are, up to [`MAX_TREES`].
fn most_trees(nodes: usize, ends: &[(u32, u32)]) -> usize {
    let spans = |count: usize| pack(nodes, ends, u8::try_from(count).unwrap_or(u8::MAX)).spans();
    let (mut least, mut most) = (
        0,
        MAX_TREES.min(ends.len() / nodes.saturating_sub(1).max(1)),
    );
    while least < most {
        let middle = (least + most).div_ceil(2);
        if spans(middle) {
            least = middle;
        } else {
            most = middle - 1;
        }
    }
    least
}

/// The sum of the ways of a tree between all switches with hosts, in links.
fn length(fabric: &Fabric, forest: &Forest) -> u64 {
    let depths = forest.depths();
    let mut order: Vec<usize> = (0..depths.len()).collect();
    order.sort_by_key(|&node| std::cmp::Reverse(depths[node]));
    let mut below: Vec<u64> = fabric
        .switch_ids()
        .map(|switch| u64::from(!fabric.attachments(switch).is_empty()))
        .collect();
    let all: u64 = below.iter().sum();
    let mut length = 0;
    for node in order {
        if depths[node] > 0 {
            length += below[node] * (all - below[node]);
            below[forest.above[node] as usize] += below[node];
        }
    }
    length
}
