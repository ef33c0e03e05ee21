//! The buffer dependency graph, made from the rules alone.
//!
//! A node is a lossless ingress buffer (port, tag) that packets can get into; an edge says that
//! packets of the first buffer may wait for room in the second. Routing is left open: a packet may
//! leave by any port, the one by which it came included. So are the hosts: a host may send with any
//! tag and any class. What is shown then holds for every forwarding table, loops and
//! misconfigurations included (Tagger17, theorem 1).

use std::collections::BTreeSet;
use std::ops::Range;

use topology::NodeId;

use super::error::{Buffer, Cycle, PlanError, PortName};
use super::lookup::{LOSSY, Lookup, Ports, RowNumber, TagIx};
use super::resilience::lossless::Held;
use crate::model::Tables;
use crate::tag::ClassId;

/// A lossless ingress buffer: port number times tags, plus tag.
type Node = u32;

/// The buffer dependency graph. Edges are read off the tables as they are needed.
pub(super) struct Dependencies<'a> {
    tables: &'a Tables,
    ports: &'a Ports,
    lookup: &'a Lookup,
    /// The tags that may reach a port, as a set, by kind and port.
    reached: Vec<u64>,
    /// By row that packets may have: where in `onward` the buffers are that they may wait for.
    places: Vec<Range<u32>>,
    onward: Vec<Node>,
}

/// One transition of a packet that the tables allow.
struct Step {
    at: u32,
    tag: TagIx,
    out: u32,
    new_tag: TagIx,
}

impl<'a> Dependencies<'a> {
    /// Finds all buffers that packets can get into: from hosts by the tag rules, or because a
    /// channel puts them there. Falling tags met on the way are returned beside it,
    /// one per switch.
    pub(super) fn new(
        tables: &'a Tables,
        ports: &'a Ports,
        lookup: &'a Lookup,
        channels: &[Held],
    ) -> (Self, Vec<PlanError>) {
        let mut graph = Self {
            tables,
            ports,
            lookup,
            reached: vec![0; lookup.kinds * ports.count()],
            places: vec![0..0; lookup.row_count()],
            onward: Vec::new(),
        };
        let mut falls = Vec::new();
        let mut blamed = BTreeSet::new();
        let starts: Vec<(usize, u32, TagIx)> = (0..lookup.kinds)
            .flat_map(|kind| ports.host_facing().map(move |at| (kind, at)))
            .flat_map(|(kind, at)| (0..).zip(&lookup.tags).map(move |(tag, _)| (kind, at, tag)))
            .chain(
                (0..lookup.kinds)
                    .flat_map(|kind| channels.iter().map(move |&(at, tag)| (kind, at, tag))),
            )
            .collect();
        graph.explore(starts, |graph, _, step| {
            if step.new_tag < step.tag
                && !graph.leaves_to_a_host(step.out)
                && blamed.insert(graph.ports.name(step.at).0)
            {
                falls.push(graph.fall(&step));
            }
        });
        (graph, falls)
    }

    /// Marks what can be reached from the given states and shows the steps to `see`: those of
    /// states with the same row only once.
    fn explore(
        &mut self,
        starts: Vec<(usize, u32, TagIx)>,
        mut see: impl FnMut(&Self, usize, Step),
    ) {
        let mut stack = Vec::new();
        let mut followed = vec![false; self.lookup.row_count()];
        for (kind, at, tag) in starts {
            if self.mark(kind, at, tag) {
                stack.push((kind, at, tag));
            }
        }
        while let Some((kind, at, tag)) = stack.pop() {
            let (switch, in_port) = self.ports.name(at);
            let number = self.lookup.number(switch, kind, tag, in_port);
            if std::mem::replace(&mut followed[number as usize], true) {
                continue;
            }
            let first = at - u32::from(in_port.get());
            let (_, row) = self.lookup.numbered(number);
            let known = !self.places[number as usize].is_empty();
            let start = length(&self.onward);
            for (out, &new_tag) in (first..).zip(row) {
                if new_tag == LOSSY {
                    continue;
                }
                see(
                    self,
                    kind,
                    Step {
                        at,
                        tag,
                        out,
                        new_tag,
                    },
                );
                let Some(peer) = self.ports.peer(out) else {
                    continue;
                };
                if !known {
                    let node = self.node(peer, new_tag);
                    self.onward.push(node);
                }
                if self.mark(kind, peer, new_tag) {
                    stack.push((kind, peer, new_tag));
                }
            }
            if !known {
                self.places[number as usize] = start..length(&self.onward);
            }
        }
    }

    /// Marks a state; whether it is new.
    fn mark(&mut self, kind: usize, at: u32, tag: TagIx) -> bool {
        let seen = &mut self.reached[kind * self.ports.count() + at as usize];
        let new = *seen & 1 << tag == 0;
        *seen |= 1 << tag;
        new
    }

    /// Whether a host stands at a port: nothing depends on the tags of what leaves there.
    fn leaves_to_a_host(&self, out: u32) -> bool {
        let (switch, port) = self.ports.name(out);
        let peer = self.tables.topology.peer(switch, port);
        peer.is_some_and(|peer| matches!(peer.end.node, NodeId::Host(_)))
    }

    fn fall(&self, step: &Step) -> PlanError {
        let (switch, in_port) = self.ports.name(step.at);
        PlanError::TagFalls {
            switch: self.tables.topology.switch(switch).name.clone(),
            tag: self.lookup.tags[usize::from(step.tag)],
            in_port,
            out_port: self.ports.name(step.out).1,
            new_tag: self.lookup.tags[usize::from(step.new_tag)],
        }
    }

    /// The limits of classes that packets of an honest host can pass.
    pub(super) fn passed_limits(&mut self) -> Vec<PlanError> {
        let mut errors = Vec::new();
        for (number, class) in (0..).zip(&self.tables.tagging.classes) {
            let Some(limit) = class.limit else { continue };
            let (Some(initial), kind) = (
                self.lookup.index(class.initial),
                self.lookup.kind(ClassId::new(number)),
            ) else {
                continue;
            };
            self.reached.fill(0);
            let starts = self.ports.host_facing().map(|at| (kind, at, initial));
            let mut passed = None;
            self.explore(starts.collect(), |graph, _, step| {
                let tag = graph.lookup.tags[usize::from(step.new_tag)];
                if tag > limit && passed.is_none() {
                    let (switch, in_port) = graph.ports.name(step.at);
                    passed = Some(PlanError::LimitPassed {
                        class: class.name.clone(),
                        limit,
                        switch: graph.tables.topology.switch(switch).name.clone(),
                        tag,
                        in_port,
                        out_port: graph.ports.name(step.out).1,
                    });
                }
            });
            errors.extend(passed);
        }
        errors
    }

    fn node(&self, at: u32, tag: TagIx) -> Node {
        at * self.tag_count() + Node::from(tag)
    }

    fn tag_count(&self) -> u32 {
        u32::try_from(self.lookup.tags.len()).unwrap_or(u32::MAX)
    }

    fn node_count(&self) -> usize {
        self.ports.count() * self.lookup.tags.len()
    }

    fn split(&self, node: Node) -> (u32, TagIx) {
        let tag = TagIx::try_from(node % self.tag_count()).unwrap_or(TagIx::MAX);
        (node / self.tag_count(), tag)
    }

    /// The kinds of packet that can be in a buffer.
    fn kinds_in(&self, at: u32, tag: TagIx) -> impl Iterator<Item = usize> + '_ {
        let count = self.ports.count();
        (0..self.lookup.kinds)
            .filter(move |kind| self.reached[kind * count + at as usize] & 1 << tag != 0)
    }

    /// The rows of the packets that can be in a buffer, one for each kind.
    fn rows(&self, node: Node) -> impl Iterator<Item = RowNumber> + '_ {
        let (at, tag) = self.split(node);
        let (switch, in_port) = self.ports.name(at);
        let number = move |kind| self.lookup.number(switch, kind, tag, in_port);
        self.kinds_in(at, tag).map(number)
    }

    /// The buffers that packets of a row may wait for.
    fn row_successors(&self, row: RowNumber) -> &[Node] {
        let Range { start, end } = self.places[row as usize];
        &self.onward[start as usize..end as usize]
    }

    /// Calls `visit` on the buffers that packets of a buffer may wait for. A buffer that several
    /// kinds of packet lead to is visited once per kind.
    fn successors(&self, node: Node, mut visit: impl FnMut(Node)) {
        for row in self.rows(node) {
            self.row_successors(row)
                .iter()
                .copied()
                .for_each(&mut visit);
        }
    }

    /// The buffers of a shortest cycle, or `None` if the graph has none.
    pub(super) fn shortest_cycle(&self) -> Option<Vec<Held>> {
        let left = self.cyclic_part();
        let mut best: Option<Vec<Node>> = None;
        let mut search = Search::new(self.node_count());
        for node in (0..).zip(&left).filter_map(|(n, left)| left.then_some(n)) {
            let limit = best.as_ref().map_or(usize::MAX, Vec::len);
            if limit <= 2 {
                break;
            }
            if let Some(cycle) = search.cycle_through(self, &left, node, limit) {
                best = Some(cycle);
            }
        }
        best.map(|cycle| cycle.into_iter().map(|node| self.split(node)).collect())
    }

    /// A cycle in words.
    pub(super) fn describe(&self, cycle: &[Held]) -> Cycle {
        Cycle {
            buffers: cycle.iter().map(|&held| self.buffer(held)).collect(),
            causes: Vec::new(),
        }
    }

    /// Peels off buffers for which none waits; what is left has a cycle unless it is empty. Buffers
    /// whose packets have the same row wait for the same ones, which are free once all of them are.
    fn cyclic_part(&self) -> Vec<bool> {
        let count = self.node_count();
        let all = 0..Node::try_from(count).unwrap_or(Node::MAX);
        let mut buffers = vec![0u32; self.lookup.row_count()];
        for node in all.clone() {
            self.rows(node).for_each(|row| buffers[row as usize] += 1);
        }
        let mut rows = vec![0u32; count];
        for (row, _) in (0..).zip(&buffers).filter(|(_, buffers)| **buffers > 0) {
            for next in self.row_successors(row) {
                rows[*next as usize] += 1;
            }
        }
        let mut left = vec![true; count];
        let mut free: Vec<Node> = all.filter(|n| rows[*n as usize] == 0).collect();
        while let Some(node) = free.pop() {
            left[node as usize] = false;
            for row in self.rows(node) {
                buffers[row as usize] -= 1;
                if buffers[row as usize] > 0 {
                    continue;
                }
                for &next in self.row_successors(row) {
                    rows[next as usize] -= 1;
                    if rows[next as usize] == 0 {
                        free.push(next);
                    }
                }
            }
        }
        left
    }

    fn buffer(&self, (at, tag): Held) -> Buffer {
        let (switch, port) = self.ports.name(at);
        let tag = self.lookup.tags[usize::from(tag)];
        Buffer {
            port: PortName {
                switch: self.tables.topology.switch(switch).name.clone(),
                port,
            },
            tag,
            priority: self
                .tables
                .tagging
                .priorities
                .get(&tag)
                .copied()
                .unwrap_or_default(),
        }
    }
}

/// How many there are: not more than cells.
fn length(nodes: &[Node]) -> u32 {
    u32::try_from(nodes.len()).unwrap_or(u32::MAX)
}

/// Breadth-first search whose marks are reused from one start to the next.
struct Search {
    /// The start for which a node was last met.
    met: Vec<Node>,
    /// From where it was met.
    parent: Vec<Node>,
    queue: Vec<Node>,
}

impl Search {
    fn new(nodes: usize) -> Self {
        Self {
            met: vec![Node::MAX; nodes],
            parent: vec![Node::MAX; nodes],
            queue: Vec::new(),
        }
    }

    /// A shortest cycle through `start` of fewer than `limit` nodes.
    fn cycle_through(
        &mut self,
        graph: &Dependencies<'_>,
        left: &[bool],
        start: Node,
        limit: usize,
    ) -> Option<Vec<Node>> {
        self.queue.clear();
        self.queue.push(start);
        let mut done = 0;
        let mut length = 1;
        while done < self.queue.len() && length < limit {
            let layer = done..self.queue.len();
            done = layer.end;
            for index in layer {
                let node = self.queue[index];
                let mut closed = false;
                graph.successors(node, |next| {
                    closed |= next == start;
                    if left[next as usize] && self.met[next as usize] != start && next != start {
                        self.met[next as usize] = start;
                        self.parent[next as usize] = node;
                        self.queue.push(next);
                    }
                });
                if closed {
                    return Some(self.walk_back(start, node));
                }
            }
            length += 1;
        }
        None
    }

    fn walk_back(&self, start: Node, last: Node) -> Vec<Node> {
        let mut cycle = vec![last];
        let mut at = last;
        while at != start {
            at = self.parent[at as usize];
            cycle.push(at);
        }
        cycle.reverse();
        cycle
    }
}
