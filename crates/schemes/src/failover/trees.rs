//! Forwarding along disjoint trees: Algorithms 2 and 3 of Stephens15, with the corrections that
//! make them sound.
//!
//! A packet stays on its tree until the tree's next link at some switch is down; then the tree is
//! marked as failed and the next tree in the switch's order that is neither marked nor down is
//! taken. EDST may take any tree: an edge is in one tree only. An edge fails two arc-disjoint trees
//! at once, so ADST next takes the *reverse tree*, the one that enters the switch by the failed
//! link: a failed link is then met once only.

use plan::failover::{Action, Origin, PortMask, PortMatch, Rule, Ternary, Write, WriteTag};
use quantities::PortId;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use topology::{ArcId, Fabric, SwitchId, Topology, UNREACHABLE};

use super::arborescences::arborescences;
use super::packing::pack;
use super::paths::{Failures, Ways};
use super::resilient::byte;
use super::roots::Roots;
use super::shallow::{Forest, shallow_pack};
use super::{FailoverError, FailoverOptions, FailoverScheme, PathPolicy, Placed, TreeGrowth};

/// The disjoint trees of a topology.
#[derive(Clone, Debug)]
pub struct TreeSet {
    kind: Kind,
    count: usize,
    /// Whether packets start on a shortest-path tree.
    default_tree: bool,
    /// Whether they carry the number of their tree; else the port they come in by tells it.
    marked: bool,
    options: FailoverOptions,
}

#[derive(Clone, Debug)]
enum Kind {
    /// By destination's switch, the tree of every arc: both arcs of an edge are in the same tree.
    Edges(Vec<Vec<Option<u8>>>),
    /// Trees of their own toward every switch.
    Arcs,
}

/// The trees toward one destination.
struct Toward {
    home: SwitchId,
    /// `next[t][v]` = the arc from `v` on in tree `t`; the default tree, if any, is the last.
    next: Vec<Vec<Option<ArcId>>>,
    /// The tree that a packet which comes by an arc is on.
    owner: Vec<Option<u8>>,
    /// `hops[t][v]`.
    hops: Vec<Vec<u16>>,
    /// How many disjoint trees there are.
    count: usize,
}

impl TreeSet {
    /// Finds the trees that the options ask for.
    ///
    /// # Errors
    /// [`FailoverError::Trees`] if there are fewer.
    pub fn find(
        topology: &Topology,
        fabric: &Fabric,
        options: &FailoverOptions,
    ) -> Result<Self, FailoverError> {
        let roots: Vec<SwitchId> = fabric.edge_switches().collect();
        Self::toward_all(topology, fabric, options, &roots)
    }

    /// Finds the trees toward these switches alone.
    ///
    /// # Errors
    /// [`FailoverError::Trees`] if there are fewer.
    pub(super) fn toward_all(
        topology: &Topology,
        fabric: &Fabric,
        options: &FailoverOptions,
        roots: &[SwitchId],
    ) -> Result<Self, FailoverError> {
        let count = options.tree_count();
        let kind = if options.scheme == FailoverScheme::Edst {
            Kind::Edges(edge_disjoint(fabric, count, options, roots)?)
        } else {
            let fewer = roots.par_iter().filter_map(|&root| {
                let found = arborescences(
                    fabric,
                    root,
                    count,
                    options.growth,
                    &mut draw(options.seed, 0),
                )
                .err()?;
                Some((found, root))
            });
            if let Some((found, root)) = fewer.min() {
                return Err(FailoverError::Trees {
                    kind: "arc",
                    asked: count,
                    found,
                    place: format!(" toward switch `{}`", topology.switch(root).name),
                    resilience: found.saturating_sub(1),
                });
            }
            Kind::Arcs
        };
        Ok(Self {
            kind,
            count,
            default_tree: options.default_tree,
            marked: options.default_tree || options.mark_trees,
            options: options.clone(),
        })
    }

    /// Given edge-disjoint trees, each as a list of arcs in either direction.
    #[cfg(test)]
    pub(super) fn of_edges(
        fabric: &Fabric,
        trees: &[Vec<ArcId>],
        options: &FailoverOptions,
    ) -> Self {
        let mut owner = vec![None; fabric.arcs().len()];
        for (tree, arcs) in (0u8..).zip(trees) {
            for &arc in arcs {
                owner[arc.index()] = Some(tree);
                owner[fabric.reverse(arc).index()] = Some(tree);
            }
        }
        Self {
            kind: Kind::Edges(vec![owner; fabric.switch_count()]),
            count: trees.len(),
            default_tree: options.default_tree,
            marked: options.default_tree || options.mark_trees,
            options: options.clone(),
        }
    }

    /// How many disjoint trees there are.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.count
    }

    /// The rules of all switches for a destination at `home`.
    #[must_use]
    pub(super) fn rules(&self, fabric: &Fabric, code: u32, home: SwitchId) -> Placed {
        let mut toward = self.toward(fabric, code, home);
        if self.default_tree {
            let code = u64::from(code);
            let next = shortest_tree(fabric, home, &self.options, code);
            toward.hops.push(tree_hops(fabric, &next, home));
            toward.next.push(next);
        }
        let starts = self.starts(u64::from(code));
        let mut rules = Placed::default();
        for switch in fabric.switch_ids().filter(|&s| s != home) {
            toward.rules_of(fabric, switch, code, self.marked, starts, &mut rules);
        }
        rules
    }

    /// Given arborescences, for goldens.
    #[cfg(test)]
    pub(super) fn rules_of_arcs(
        fabric: &Fabric,
        code: u32,
        home: SwitchId,
        next: Vec<Vec<Option<ArcId>>>,
        default: Option<Vec<Option<ArcId>>>,
    ) -> Placed {
        let mut toward = Toward::of_arcs(fabric, home, next);
        let marked = default.is_some();
        if let Some(next) = default {
            toward.hops.push(tree_hops(fabric, &next, home));
            toward.next.push(next);
        }
        let mut rules = Placed::default();
        for switch in fabric.switch_ids().filter(|&s| s != home) {
            toward.rules_of(fabric, switch, code, marked, 0, &mut rules);
        }
        rules
    }

    /// With equally short trees, packets of different destinations start on different ones.
    fn starts(&self, code: u64) -> usize {
        if self.options.paths == PathPolicy::FirstShortest {
            return 0;
        }
        usize::try_from(code).unwrap_or(0) % self.count.max(1)
    }

    fn toward(&self, fabric: &Fabric, code: u32, home: SwitchId) -> Toward {
        match &self.kind {
            Kind::Arcs => {
                let mut rng = draw(self.options.seed, u64::from(code));
                let growth = self.options.growth;
                let next =
                    arborescences(fabric, home, self.count, growth, &mut rng).unwrap_or_default();
                Toward::of_arcs(fabric, home, next)
            }
            Kind::Edges(owners) => {
                let owner = &owners[home.index()];
                let next: Vec<_> = (0..self.count)
                    .map(|tree| along(fabric, owner, tree, home))
                    .collect();
                Toward {
                    home,
                    hops: next.iter().map(|n| tree_hops(fabric, n, home)).collect(),
                    next,
                    owner: owner.clone(),
                    count: self.count,
                }
            }
        }
    }
}

/// A shortest-path tree toward a switch; `stream` tells those of its destinations apart.
pub(super) fn shortest_tree(
    fabric: &Fabric,
    home: SwitchId,
    options: &FailoverOptions,
    stream: u64,
) -> Vec<Option<ArcId>> {
    let mut ways = Ways::new(fabric, vec![home], options, stream);
    let nothing = Failures::default();
    let hops = ways.hops(&nothing).to_vec();
    let switches = fabric.switch_ids();
    switches
        .map(|at| ways.step(at, &nothing, &hops, None))
        .collect()
}

/// Random numbers of a destination's own.
pub(super) fn draw(seed: u64, stream: u64) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(stream);
    rng
}

fn number_of(switch: SwitchId) -> u32 {
    u32::try_from(switch.index()).unwrap_or(u32::MAX)
}

/// The edges between switches: an arc of each, and its ends.
pub(super) fn edges(fabric: &Fabric) -> (Vec<ArcId>, Vec<(u32, u32)>) {
    let ids = fabric.switch_ids().flat_map(|switch| fabric.out(switch));
    let arcs: Vec<ArcId> = ids.filter(|&id| id < fabric.reverse(id)).collect();
    let ends = arcs.iter().map(|&id| fabric.arc(id));
    let ends = ends.map(|arc| (number_of(arc.from), number_of(arc.to)));
    let ends = ends.collect();
    (arcs, ends)
}

/// By switch that is a root, the tree of every arc, for edge-disjoint trees that grow as the
/// options say.
fn edge_disjoint(
    fabric: &Fabric,
    count: usize,
    options: &FailoverOptions,
    roots: &[SwitchId],
) -> Result<Vec<Vec<Option<u8>>>, FailoverError> {
    let (arcs, edges) = edges(fabric);
    let nodes = fabric.switch_count();
    let grown = |count: usize, root: SwitchId| match options.growth {
        TreeGrowth::Shallow => shallow_edges(nodes, &edges, count, root, options.seed),
        TreeGrowth::Random => random_edges(nodes, &edges, count, root, options.seed),
    };
    let around = |root: SwitchId| {
        if !roots.contains(&root) {
            return Some(Vec::new());
        }
        let mut owner = vec![None; fabric.arcs().len()];
        for (tree, forest) in (0u8..).zip(grown(count, root)?) {
            for edge in forest {
                let arc = arcs[edge];
                owner[arc.index()] = Some(tree);
                owner[fabric.reverse(arc).index()] = Some(tree);
            }
        }
        Some(owner)
    };
    let switches: Vec<SwitchId> = fabric.switch_ids().collect();
    let owners: Option<Vec<_>> = switches.into_par_iter().map(around).collect();
    owners.ok_or_else(|| {
        // How many there are does not depend on where they grow from.
        let spans = |&fewer: &usize| grown(fewer, SwitchId::new(0)).is_some();
        let found = (1..count).rev().find(spans).unwrap_or(0);
        FailoverError::Trees {
            kind: "edge",
            asked: count,
            found,
            place: String::new(),
            resilience: found.saturating_sub(1),
        }
    })
}

/// The edges of each of `count` trees that are shallow around a switch; `None` if there are fewer
/// trees.
fn shallow_edges(
    nodes: usize,
    edges: &[(u32, u32)],
    count: usize,
    root: SwitchId,
    seed: u64,
) -> Option<Vec<Vec<usize>>> {
    let count = u8::try_from(count).unwrap_or(u8::MAX);
    let own = seed.wrapping_add(root.index() as u64);
    let forests = shallow_pack(nodes, edges, count, Roots::At(number_of(root)), own)?;
    let of = |forest: &Forest| {
        let edges = forest.edge.iter().filter(|&&edge| edge != u32::MAX);
        edges.map(|&edge| edge as usize).collect()
    };
    Some(forests.iter().map(of).collect())
}

/// The edges of each of `count` trees of any depth, which are others for every switch; `None` if
/// there are fewer trees.
fn random_edges(
    nodes: usize,
    edges: &[(u32, u32)],
    count: usize,
    root: SwitchId,
    seed: u64,
) -> Option<Vec<Vec<usize>>> {
    let mut order: Vec<usize> = (0..edges.len()).collect();
    order.shuffle(&mut draw(seed, root.index() as u64));
    let shuffled: Vec<(u32, u32)> = order.iter().map(|&edge| edges[edge]).collect();
    let packing = pack(nodes, &shuffled, u8::try_from(count).unwrap_or(u8::MAX));
    let back = |forest: Vec<usize>| forest.into_iter().map(|edge| order[edge]).collect();
    packing
        .spans()
        .then(|| packing.forests().into_iter().map(back).collect())
}

/// The arcs of an edge-disjoint tree toward a switch.
pub(super) fn along(
    fabric: &Fabric,
    owner: &[Option<u8>],
    tree: usize,
    home: SwitchId,
) -> Vec<Option<ArcId>> {
    let mut next = vec![None; fabric.switch_count()];
    let mut stack = vec![home];
    while let Some(at) = stack.pop() {
        for (id, arc) in fabric.out_arcs(at) {
            let mine = owner[id.index()].is_some_and(|t| usize::from(t) == tree);
            if mine && arc.to != home && next[arc.to.index()].is_none() {
                next[arc.to.index()] = Some(fabric.reverse(id));
                stack.push(arc.to);
            }
        }
    }
    next
}

/// Hops to the destination along a tree.
pub(super) fn tree_hops(fabric: &Fabric, next: &[Option<ArcId>], home: SwitchId) -> Vec<u16> {
    let mut hops = vec![UNREACHABLE; next.len()];
    hops[home.index()] = 0;
    for start in fabric.switch_ids() {
        let mut way = Vec::new();
        let mut at = start;
        while hops[at.index()] == UNREACHABLE && way.len() <= next.len() {
            let Some(arc) = next[at.index()] else { break };
            way.push(at);
            at = fabric.arc(arc).to;
        }
        let mut count = hops[at.index()];
        for switch in way.into_iter().rev() {
            count = count.saturating_add(1);
            hops[switch.index()] = count;
        }
    }
    hops
}

impl Toward {
    fn of_arcs(fabric: &Fabric, home: SwitchId, next: Vec<Vec<Option<ArcId>>>) -> Self {
        let mut owner = vec![None; fabric.arcs().len()];
        for (tree, arcs) in (0u8..).zip(&next) {
            for arc in arcs.iter().flatten() {
                owner[arc.index()] = Some(tree);
            }
        }
        Self {
            home,
            hops: next.iter().map(|n| tree_hops(fabric, n, home)).collect(),
            count: next.len(),
            next,
            owner,
        }
    }

    /// The rules of one switch.
    fn rules_of(
        &self,
        fabric: &Fabric,
        switch: SwitchId,
        code: u32,
        marked: bool,
        start: usize,
        rules: &mut Placed,
    ) {
        if marked {
            // The header tells the tree: 1 to `count`, then the default tree if there is one; 0 on
            // packets from hosts.
            let default = (self.next.len() > self.count).then_some(self.count);
            let order = self.order(fabric, switch, default, start);
            self.install(
                fabric,
                switch,
                code,
                (Origin::Host, Some(0)),
                &order,
                true,
                rules,
            );
            let passes = |tree: usize| self.enters(fabric, switch, tree);
            if let Some(default) = default.filter(|&tree| passes(tree)) {
                let key = (Origin::Any, Some(number(default)));
                self.install(fabric, switch, code, key, &order, true, rules);
            }
            for tree in (0..self.count).filter(|&tree| passes(tree)) {
                let order = self.order(fabric, switch, Some(tree), start);
                let key = (Origin::Any, Some(number(tree)));
                self.install(fabric, switch, code, key, &order, true, rules);
            }
            return;
        }
        let order = self.order(fabric, switch, None, start);
        self.install(
            fabric,
            switch,
            code,
            (Origin::Host, None),
            &order,
            false,
            rules,
        );
        for (out, arc) in fabric.out_arcs(switch) {
            let incoming = fabric.reverse(out);
            let Some(tree) = self.owner[incoming.index()] else {
                continue;
            };
            // Nothing comes in by the link that its own tree goes on by.
            if arc.to == self.home || self.next[usize::from(tree)][switch.index()] == Some(out) {
                continue;
            }
            let order = self.order(fabric, switch, Some(usize::from(tree)), start);
            let key = (Origin::Port(arc.out_port), None);
            self.install(fabric, switch, code, key, &order, false, rules);
        }
    }

    /// Whether packets can arrive at a switch on a tree.
    fn enters(&self, fabric: &Fabric, switch: SwitchId, tree: usize) -> bool {
        fabric.out(switch).any(|out| {
            let incoming = fabric.reverse(out);
            let from = fabric.arc(incoming).from;
            self.next[tree][from.index()] == Some(incoming)
        })
    }

    /// The order in which a switch tries trees, for packets on `first`: after each the reverse tree
    /// of its output, if that has not been tried; else the shortest of those that are left. (For
    /// edge-disjoint trees the reverse tree is the tree itself, which has been tried.)
    fn order(
        &self,
        fabric: &Fabric,
        switch: SwitchId,
        first: Option<usize>,
        start: usize,
    ) -> Vec<usize> {
        let mut left: Vec<usize> = (0..self.count).collect();
        let turn = |tree: usize| (tree + self.count - start) % self.count.max(1);
        left.sort_by_key(|&tree| (self.hops[tree][switch.index()], turn(tree)));
        let mut order = Vec::with_capacity(self.next.len());
        let mut last = first;
        if let Some(first) = first {
            order.push(first);
            left.retain(|&tree| tree != first);
        }
        while !left.is_empty() {
            let reverse = last
                .filter(|&tree| tree < self.count)
                .and_then(|tree| self.next[tree][switch.index()])
                .and_then(|out| self.owner[fabric.reverse(out).index()])
                .map(usize::from);
            let at = left.iter().position(|&tree| Some(tree) == reverse);
            let tree = left.remove(at.unwrap_or(0));
            order.push(tree);
            last = Some(tree);
        }
        order
    }

    /// One rule for every tree of an order: it marks all before it as failed.
    #[expect(clippy::too_many_arguments, reason = "a rule's key has many parts")]
    fn install(
        &self,
        fabric: &Fabric,
        switch: SwitchId,
        code: u32,
        (origin, tree): (Origin, Option<u8>),
        order: &[usize],
        marked: bool,
        rules: &mut Placed,
    ) {
        let mut failed = 0u32;
        for &candidate in order {
            let bit = 1u32 << candidate;
            let Some(out) = self.next[candidate][switch.index()] else {
                failed |= bit;
                continue;
            };
            let port: PortId = fabric.arc(out).out_port;
            let write = Write {
                tag: WriteTag {
                    value: failed,
                    mask: failed,
                },
                tree: (marked && tree != Some(number(candidate))).then(|| number(candidate)),
                channel: None,
            };
            let rule = Rule {
                tag: Ternary::new(0, bit),
                tree,
                origin,
                ports: PortMatch {
                    up: PortMask::single(port),
                    down: PortMask::EMPTY,
                },
                ..Rule::to(
                    code,
                    Action::Forward {
                        route: Box::new([byte(port)]),
                        write,
                    },
                )
            };
            rules.push(switch, rule);
            failed |= bit;
        }
    }
}

/// The number of a tree in the header.
fn number(tree: usize) -> u8 {
    u8::try_from(tree + 1).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use topology::generate::{Cables, Jellyfish, JellyfishSize};

    /// Algorithm 3: after a tree whose link fails comes the tree that enters the switch by that
    /// link.
    #[test]
    fn reverse_trees_come_next() {
        let size = JellyfishSize::Switches {
            switches: 20,
            fabric_ports: 8,
        };
        let jellyfish = Jellyfish {
            size,
            ports: 9,
            seed: 1,
            cables: Cables::default(),
        };
        let topology = jellyfish.generate().expect("a topology");
        let fabric = Fabric::new(&topology);
        let home = SwitchId::new(0);
        let trees = arborescences(&fabric, home, 4, TreeGrowth::Shallow, &mut draw(1, 0))
            .expect("four trees");
        let toward = Toward::of_arcs(&fabric, home, trees);
        let mut forced = 0;
        for switch in fabric.switch_ids().filter(|&switch| switch != home) {
            for first in (0..4).map(Some).chain([None]) {
                let order = toward.order(&fabric, switch, first, 0);
                let mut sorted = order.clone();
                sorted.sort_unstable();
                assert_eq!(sorted, [0, 1, 2, 3]);
                for (at, pair) in order.windows(2).enumerate() {
                    let Some(out) = toward.next[pair[0]][switch.index()] else {
                        continue;
                    };
                    let reverse = toward.owner[fabric.reverse(out).index()].map(usize::from);
                    let Some(reverse) = reverse.filter(|tree| !order[..=at].contains(tree)) else {
                        continue;
                    };
                    assert_eq!(pair[1], reverse);
                    forced += 1;
                }
            }
        }
        assert!(forced > 20, "{forced}");
    }
}
