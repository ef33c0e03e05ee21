//! Disjoint paths up and down: min-cost max-flow over the virtual graph (FC23 section 3.2).
//!
//! The graph has 2k - 1 ranks of all switches: layers 1 to k upward, then k - 1 to 1 downward. An
//! arc over a link leads to the next rank, costs 1 and carries one path; an arc within a switch
//! leads to the next rank, costs nothing and carries any number. Paths go from rank 0 of the source
//! to the last rank of the target.
//!
//! Paths are found one by one along shortest ways of the residual graph. A label bounds from below
//! how far a node is from the target. Labels begin as exact distances without any path, shared by
//! all sources of a target, and only rise: where a search turns back, or for everything that a
//! fruitless search has seen. A search follows arcs along which labels fall by just their cost, so
//! that it finds a way of least cost, and hardly ever turns back.

use super::{FlattenedLinks, number};
use crate::{LinkId, SwitchId};

/// The label of a node from which the target cannot be reached.
const NEVER: u16 = u16::MAX;

/// One link of a [`VirtualPath`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Crossing {
    /// The link.
    pub link: LinkId,
    /// The switch to which it leads.
    pub to: SwitchId,
    /// Whether it leads to the virtual layer above.
    pub up: bool,
    /// The layer in which it arrives, counted from 1.
    pub layer: u8,
}

/// A path from switch to switch, up through the virtual layers, then down. It visits no switch
/// twice.
pub type VirtualPath = Vec<Crossing>;

/// The disjoint paths of one pair of switches, as a count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathCount {
    /// How many paths there are.
    pub paths: u32,
    /// The links of all of them, before switches that they pass twice are cut out.
    pub links: u32,
    /// The links of the shortest path up and down.
    pub shortest: u32,
}

/// Finds the disjoint paths to one switch after the other. What it keeps takes a few bytes for each
/// node and link of the virtual graph, however many pairs it is asked for.
#[derive(Debug)]
pub struct Router<'a> {
    graph: &'a FlattenedLinks,
    /// Ranks of the virtual graph, less one.
    last: usize,
    target: usize,
    /// Distances to the target while there are no paths.
    exact: Vec<u16>,
    labels: Vec<u16>,
    /// Paths over an arc within a switch, by the node it leaves.
    within: Vec<u16>,
    /// Paths that come to a node over a link.
    entered: Vec<u16>,
    /// Paths that leave a node over a link.
    left: Vec<u16>,
    /// Whether a path has an arc over a link: upward ones, then downward ones.
    taken: Vec<bool>,
    /// The search that has seen a node.
    seen: Vec<u32>,
    search: u32,
    stack: Vec<Frame>,
    visited: Vec<u32>,
    /// Nodes and arcs to be reset for the next pair.
    relabelled: Vec<u32>,
    used_nodes: Vec<u32>,
    used_arcs: Vec<u32>,
}

/// A node on the way of a search, and the arcs of it that were tried.
#[derive(Clone, Copy, Debug)]
struct Frame {
    node: u32,
    tried: u32,
    /// How far the target is at least by way of these arcs.
    bound: u16,
    /// The arc by which the search went on.
    by: Arc,
}

/// A node with the arcs over links that lead on from it.
#[derive(Clone, Copy, Debug)]
struct Place<'a> {
    node: u32,
    /// The nodes to which they lead.
    ahead: &'a [u32],
    /// The first of these arcs.
    first: u32,
    /// Whether paths take some of them.
    left: bool,
}

/// An arc of the residual graph.
#[derive(Clone, Copy, Debug)]
struct Arc {
    to: u32,
    kind: Kind,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    /// Within a switch, along the arc or back.
    Within { back: bool },
    /// Over a link, along the arc or back.
    Over { arc: u32, back: bool },
}

impl Arc {
    const fn cost(self) -> i32 {
        match self.kind {
            Kind::Within { .. } => 0,
            Kind::Over { back: false, .. } => 1,
            Kind::Over { back: true, .. } => -1,
        }
    }
}

impl<'a> Router<'a> {
    /// Without a target yet.
    #[must_use]
    pub fn new(graph: &'a FlattenedLinks) -> Self {
        let last = graph.last_rank();
        let nodes = (last + 1) * graph.switches;
        Self {
            graph,
            last,
            target: usize::MAX,
            exact: vec![NEVER; nodes],
            labels: vec![NEVER; nodes],
            within: vec![0; nodes],
            entered: vec![0; nodes],
            left: vec![0; nodes],
            taken: vec![false; 2 * graph.links.len()],
            seen: vec![0; nodes],
            search: 0,
            stack: Vec::new(),
            visited: Vec::new(),
            relabelled: Vec::new(),
            used_nodes: Vec::new(),
            used_arcs: Vec::new(),
        }
    }

    /// The disjoint paths between two switches, shortest first: as many as there can be, of as few
    /// links as so many can have. None from a switch to itself.
    pub fn paths(&mut self, from: SwitchId, to: SwitchId) -> Vec<VirtualPath> {
        let found = self.count(from, to);
        let mut paths: Vec<_> = (0..found.paths)
            .map(|_| self.take_path(from.index()))
            .collect();
        paths.sort_by_key(Vec::len);
        paths
    }

    /// How many disjoint paths there are between two switches, and how long.
    pub fn count(&mut self, from: SwitchId, to: SwitchId) -> PathCount {
        let mut found = PathCount::default();
        if from == to {
            return found;
        }
        self.aim(to.index());
        self.reset();
        let source = number(from.index());
        let goal = number(self.last * self.graph.switches + self.target);
        let limit = self.limit(from.index());
        while found.paths < limit && self.find(source, goal) {
            let cost = self.augment();
            if found.paths == 0 {
                found.shortest = cost.unsigned_abs();
            }
            found.paths += 1;
            found.links = found.links.saturating_add_signed(cost);
        }
        found
    }

    /// The most paths that the links of either end could carry: a path may leave the source
    /// downward, too.
    fn limit(&self, source: usize) -> u32 {
        let links = |switch: usize| {
            let of = |step: &super::Step| {
                number(step.up.of(switch).far.len() + step.down.of(switch).far.len())
            };
            self.graph.steps.iter().map(of).sum::<u32>()
        };
        links(source).min(links(self.target))
    }

    /// Computes the distances to a target.
    fn aim(&mut self, target: usize) {
        if self.target == target {
            return;
        }
        self.target = target;
        let switches = self.graph.switches;
        let goal = self.last * switches;
        self.exact[goal..].fill(NEVER);
        self.exact[goal + target] = 0;
        for rank in (0..self.last).rev() {
            for switch in 0..switches {
                let next = (rank + 1) * switches;
                let mut best = self.exact[next + switch];
                let node = number(rank * switches + switch);
                for &to in &self.graph.arcs.to[self.graph.arcs.leaving(node)] {
                    best = best.min(self.exact[to as usize].saturating_add(1));
                }
                self.exact[rank * switches + switch] = best;
            }
        }
        self.relabelled.clear();
        self.labels.copy_from_slice(&self.exact);
    }

    /// Forgets the paths and labels of the last pair.
    fn reset(&mut self) {
        for node in self.relabelled.drain(..) {
            self.labels[node as usize] = self.exact[node as usize];
        }
        for node in self.used_nodes.drain(..) {
            self.within[node as usize] = 0;
            self.entered[node as usize] = 0;
            self.left[node as usize] = 0;
        }
        for arc in self.used_arcs.drain(..) {
            self.taken[arc as usize] = false;
        }
    }

    /// A node as its arcs are looked at.
    fn place(&self, node: u32) -> Place<'a> {
        let arcs = &self.graph.arcs;
        let these = arcs.leaving(node);
        Place {
            node,
            ahead: &arcs.to[these.clone()],
            first: number(these.start),
            left: self.left[node as usize] > 0,
        }
    }

    /// The first wanted arc of the residual graph that leaves a node, after so many that were
    /// tried.
    #[inline]
    fn residual(
        &self,
        place: &Place<'_>,
        tried: &mut u32,
        mut wanted: impl FnMut(Arc) -> bool,
    ) -> Option<Arc> {
        let wide = number(self.graph.switches);
        let links = number(place.ahead.len());
        while let Some(&to) = place.ahead.get(*tried as usize) {
            let arc = place.first + *tried;
            *tried += 1;
            let kind = Kind::Over { arc, back: false };
            if !(place.left && self.taken[arc as usize]) && wanted(Arc { to, kind }) {
                return Some(Arc { to, kind });
            }
        }
        if *tried == links {
            *tried += 1;
            let kind = Kind::Within { back: false };
            let to = place.node + wide;
            if (to as usize) < self.labels.len() && wanted(Arc { to, kind }) {
                return Some(Arc { to, kind });
            }
        }
        if *tried == links + 1 {
            *tried += 1;
            let kind = Kind::Within { back: true };
            if let Some(to) = place.node.checked_sub(wide)
                && self.within[to as usize] > 0
                && wanted(Arc { to, kind })
            {
                return Some(Arc { to, kind });
            }
        }
        if self.entered[place.node as usize] == 0 {
            return None;
        }
        let behind = self.graph.arcs.entering(place.node);
        while let Some(&(to, arc)) = behind.get((*tried - links - 2) as usize) {
            *tried += 1;
            let kind = Kind::Over { arc, back: true };
            if self.taken[arc as usize] && wanted(Arc { to, kind }) {
                return Some(Arc { to, kind });
            }
        }
        None
    }

    /// Looks for a way of least cost; it then stands on the stack.
    fn find(&mut self, source: u32, goal: u32) -> bool {
        // Beyond the longest path up and down there may be ways over detours of others, but mostly
        // there are none.
        let mut checked = 0;
        loop {
            let label = self.labels[source as usize];
            if label == NEVER {
                return false;
            }
            if usize::from(label) > self.last && label > checked {
                if !self.reaches(source, goal) {
                    return false;
                }
                checked = label;
            }
            if self.descend(source, goal) {
                return true;
            }
            if self.labels[source as usize] == label && !self.raise() {
                return false;
            }
        }
    }

    /// Follows arcs along which labels fall by their cost, raising the labels of nodes where it
    /// turns back.
    fn descend(&mut self, source: u32, goal: u32) -> bool {
        self.begin();
        self.visit(source);
        while let Some(&Frame {
            node,
            mut tried,
            mut bound,
            ..
        }) = self.stack.last()
        {
            let label = self.labels[node as usize];
            let next = self.residual(&self.place(node), &mut tried, |arc| {
                let over = self.over(arc);
                let wanted = over == label && self.seen[arc.to as usize] != self.search;
                if !wanted {
                    bound = bound.min(over);
                }
                wanted
            });
            match (next, self.stack.last_mut()) {
                (Some(arc), Some(frame)) => {
                    (frame.tried, frame.bound, frame.by) = (tried, bound, arc);
                    if arc.to == goal {
                        return true;
                    }
                    self.visit(arc.to);
                }
                _ => self.turn_back(node, bound),
            }
        }
        false
    }

    fn begin(&mut self) {
        if self.search == u32::MAX {
            self.seen.fill(0);
            self.search = 0;
        }
        self.search += 1;
        self.stack.clear();
        self.visited.clear();
    }

    fn visit(&mut self, node: u32) {
        self.seen[node as usize] = self.search;
        self.visited.push(node);
        let kind = Kind::Within { back: false };
        self.stack.push(Frame {
            node,
            tried: 0,
            bound: NEVER,
            by: Arc { to: node, kind },
        });
    }

    /// Leaves a node whose arcs were all tried; labels beyond them were no less than it is now
    /// told.
    fn turn_back(&mut self, node: u32, bound: u16) {
        self.stack.pop();
        self.relabel(node, bound);
        if let Some(&Frame { by, .. }) = self.stack.last() {
            let over = self.over(by);
            if let Some(frame) = self.stack.last_mut() {
                frame.bound = frame.bound.min(over);
            }
        }
    }

    /// How far the target is at least by way of an arc.
    fn over(&self, arc: Arc) -> u16 {
        match self.labels[arc.to as usize] {
            NEVER => NEVER,
            beyond => u16::try_from(i32::from(beyond) + arc.cost()).unwrap_or(0),
        }
    }

    fn relabel(&mut self, node: u32, label: u16) {
        if label > self.labels[node as usize] {
            self.labels[node as usize] = label;
            self.relabelled.push(node);
        }
    }

    /// Raises the labels of all that the last search has seen, by as much as the arcs that leave
    /// these nodes allow, which is nothing where the search has raised labels itself; false if no
    /// arc leaves them.
    fn raise(&mut self) -> bool {
        let mut least = i32::MAX;
        for &node in &self.visited {
            let label = i32::from(self.labels[node as usize]);
            self.residual(&self.place(node), &mut 0, |arc| {
                let beyond = self.labels[arc.to as usize];
                let rise = i32::from(beyond) + arc.cost() - label;
                if rise < least && beyond != NEVER && self.seen[arc.to as usize] != self.search {
                    least = rise;
                }
                false
            });
        }
        if least == i32::MAX {
            return false;
        }
        let least = u16::try_from(least).unwrap_or(0);
        for at in 0..self.visited.len() {
            let node = self.visited[at];
            let label = self.labels[node as usize];
            self.relabel(node, label.saturating_add(least));
        }
        true
    }

    /// Whether there is a way at all.
    fn reaches(&mut self, source: u32, goal: u32) -> bool {
        self.begin();
        self.seen[source as usize] = self.search;
        self.visited.push(source);
        while let Some(node) = self.visited.pop() {
            let mut tried = 0;
            while let Some(arc) = self.residual(&self.place(node), &mut tried, |arc| {
                let to = arc.to as usize;
                self.exact[to] != NEVER && self.seen[to] != self.search
            }) {
                if arc.to == goal {
                    return true;
                }
                self.seen[arc.to as usize] = self.search;
                self.visited.push(arc.to);
            }
        }
        false
    }

    /// Adds the way on the stack to the paths; its cost.
    fn augment(&mut self) -> i32 {
        let wide = number(self.graph.switches);
        let mut cost = 0;
        for at in 0..self.stack.len() {
            let Frame { node, by, .. } = self.stack[at];
            cost += by.cost();
            match by.kind {
                Kind::Within { back: false } => {
                    self.within[node as usize] += 1;
                    self.used_nodes.push(node);
                }
                Kind::Within { back: true } => self.within[(node - wide) as usize] -= 1,
                Kind::Over { arc, back: false } => {
                    self.taken[arc as usize] = true;
                    self.used_arcs.push(arc);
                    self.entered[by.to as usize] += 1;
                    self.left[node as usize] += 1;
                    self.used_nodes.extend([by.to, node]);
                }
                Kind::Over { arc, back: true } => {
                    self.taken[arc as usize] = false;
                    self.entered[node as usize] -= 1;
                    self.left[by.to as usize] -= 1;
                }
            }
        }
        cost
    }

    /// Takes one path out of those that were found, without what lies between two visits of a
    /// switch.
    fn take_path(&mut self, from: usize) -> VirtualPath {
        let switches = self.graph.switches;
        let mut path = VirtualPath::new();
        let mut switch = from;
        for rank in 0..self.last {
            let node = rank * switches + switch;
            let mut links = self.graph.arcs.leaving(number(node));
            let Some(arc) = links.find(|&arc| self.taken[arc]) else {
                self.within[node] = self.within[node].saturating_sub(1);
                continue;
            };
            self.taken[arc] = false;
            let far = self.graph.arcs.to[arc] - number((rank + 1) * switches);
            let position = self.graph.arcs.positions[arc];
            let up = rank < self.graph.steps.len();
            let layer = if up { rank + 2 } else { self.last - rank };
            let to = SwitchId::new(far);
            if to.index() == from {
                path.clear();
            } else if let Some(before) = path.iter().position(|crossing| crossing.to == to) {
                path.truncate(before + 1);
            } else {
                path.push(Crossing {
                    link: self.graph.links[position as usize],
                    to,
                    up,
                    layer: u8::try_from(layer).unwrap_or(u8::MAX),
                });
            }
            switch = far as usize;
        }
        path
    }
}
