//! The buffer dependency graph, made from the rules alone.
//!
//! A node is a lossless ingress buffer (port, tag) that packets can get into; an edge says that
//! packets of the first buffer may wait for room in the second. Routing is left open: a packet may
//! leave by any port, the one by which it came included. So are the hosts: a host may send with any
//! tag and any class. What is shown then holds for every forwarding table, loops and
//! misconfigurations included (Tagger17, theorem 1).

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use quantities::Progress;

use super::lookup::{RowNumber, TagIx};
use super::ports::IngressBuffer;
use super::{Reached, Rules, Step};
use crate::check::certificate::{Certificate, CertifiedBuffer, GraphSize};
use crate::check::error::{Buffer, Cycle, PlanError, PortName};
use crate::model::Class;
use crate::tag::ClassId;

/// What the buffer dependency graph shows. The graph itself is as large as all rules, and is gone.
pub(in crate::check) struct Dependencies {
    /// Transitions between switches at which a tag falls: the first of each switch.
    pub(in crate::check) falls: Vec<PlanError>,
    /// The buffers of a shortest cycle, each waiting for the next and the last for the first; empty
    /// if there is no cycle.
    pub(in crate::check) cycle: Vec<IngressBuffer>,
    /// The size of the graph.
    pub(in crate::check) size: GraphSize,
}

impl Dependencies {
    /// Makes the graph over all buffers that packets can get into, from hosts by the tag rules or
    /// because a failover rule puts them there (`channels`), and looks for a shortest cycle.
    pub(in crate::check) fn new(
        rules: &Rules<'_>,
        channels: &[IngressBuffer],
        progress: &Progress,
    ) -> Self {
        let (graph, falls) = Graph::new(rules, channels);
        progress.checkpoint();
        let cycle = graph.shortest_cycle().unwrap_or_default();
        let size = graph.size();
        Self { falls, cycle, size }
    }
}

impl Certificate {
    /// The buffers of an acyclic graph in an order in which each waits for later ones only.
    /// Nothing if the graph has a cycle.
    pub(in crate::check) fn new(rules: &Rules<'_>, channels: &[IngressBuffer]) -> Option<Self> {
        let (graph, _) = Graph::new(rules, channels);
        let (left, order) = graph.peeled();
        if left.contains(&true) {
            return None;
        }
        let order: Vec<Node> = order.into_iter().filter(|&n| graph.is_reached(n)).collect();
        let mut place = vec![0; graph.node_count()];
        for (at, node) in order.iter().enumerate() {
            place[*node as usize] = at;
        }
        let line = |&node: &Node| {
            let mut later = Vec::new();
            graph.successors(node, |next| later.push(place[next as usize]));
            later.sort_unstable();
            later.dedup();
            CertifiedBuffer {
                buffer: rules.name_buffer(graph.split(node)),
                waits_for: later,
            }
        };
        Some(Self {
            buffers: order.iter().map(line).collect(),
        })
    }
}

impl Rules<'_> {
    /// The first transition by which a packet that a host sends with the initial tag of its class
    /// gets past the limit of the class.
    pub(in crate::check) fn past_limit(&self, id: ClassId, class: &Class) -> Option<PlanError> {
        let limit = class.limit?;
        let (initial, kind) = (self.lookup.index(class.initial)?, self.lookup.kind(id));
        let starts = self.ports.host_facing().map(|at| (kind, at, initial));
        let mut passed = None;
        self.reach(starts, |step| {
            let tag = self.lookup.tags[usize::from(step.new_tag)];
            if tag > limit && passed.is_none() {
                let (switch, in_port) = self.ports.name(step.at);
                passed = Some(PlanError::LimitPassed {
                    class: class.name.clone(),
                    limit,
                    switch: self.tables.topology.switch(switch).name.clone(),
                    tag,
                    in_port,
                    out_port: self.ports.name(step.out).1,
                });
            }
        });
        passed
    }

    /// A cycle of buffers with names, and for each of its dependencies what it comes from.
    pub(in crate::check) fn name_cycle(&self, cycle: &[IngressBuffer], causes: &[String]) -> Cycle {
        Cycle {
            buffers: cycle
                .iter()
                .map(|&buffer| self.name_buffer(buffer))
                .collect(),
            causes: causes.to_vec(),
        }
    }

    fn name_buffer(&self, (at, tag): IngressBuffer) -> Buffer {
        let tag = self.lookup.tags[usize::from(tag)];
        let priority = self.tables.tagging.priorities.get(&tag).copied();
        Buffer {
            port: self.port_name(at),
            tag,
            priority: priority.unwrap_or_default(),
        }
    }

    fn port_name(&self, at: u32) -> PortName {
        let (switch, port) = self.ports.name(at);
        let topology = &self.tables.topology;
        PortName {
            switch: topology.switch(switch).name.clone(),
            port,
            interface: topology.interface(switch, port).map(str::to_owned),
        }
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
}

/// A lossless ingress buffer: port number times tags, plus tag.
type Node = u32;

/// The buffer dependency graph.
struct Graph<'a> {
    rules: &'a Rules<'a>,
    reached: Reached,
    /// By row that packets may have: where in `onward` the buffers are that they may wait for.
    places: Vec<Range<u32>>,
    onward: Vec<Node>,
}

impl<'a> Graph<'a> {
    /// The graph, and the falling tags that were met on the way, one for each switch.
    fn new(rules: &'a Rules<'a>, channels: &[IngressBuffer]) -> (Self, Vec<PlanError>) {
        let (lookup, ports) = (&rules.lookup, &rules.ports);
        let kinds = 0..lookup.kinds;
        let hosts = kinds
            .clone()
            .flat_map(|kind| ports.host_facing().map(move |at| (kind, at)))
            .flat_map(|(kind, at)| (0..).zip(&lookup.tags).map(move |(tag, _)| (kind, at, tag)));
        let put = kinds.flat_map(|kind| channels.iter().map(move |&(at, tag)| (kind, at, tag)));
        let mut places = vec![0..0; lookup.row_count()];
        let mut onward = Vec::new();
        let mut falls = Vec::new();
        let mut blamed = BTreeSet::new();
        let reached = rules.reach(hosts.chain(put), |step| {
            if step.new_tag < step.tag
                // Nothing depends on the tags of what leaves to a host.
                && !ports.faces_host(step.out)
                && blamed.insert(ports.name(step.at).0)
            {
                falls.push(rules.fall(&step));
            }
            let Some(peer) = step.peer else { return };
            let place: &mut Range<u32> = &mut places[step.row as usize];
            if place.start == place.end {
                place.start = length(&onward);
            }
            onward.push(node(rules, (peer, step.new_tag)));
            place.end = length(&onward);
        });
        let graph = Self {
            rules,
            reached,
            places,
            onward,
        };
        (graph, falls)
    }

    fn node_count(&self) -> usize {
        self.rules.ports.count() * self.rules.lookup.tags.len()
    }

    fn split(&self, node: Node) -> IngressBuffer {
        let tags = tag_count(self.rules);
        (
            node / tags,
            TagIx::try_from(node % tags).unwrap_or(TagIx::MAX),
        )
    }

    /// The rows of the packets that can be in a buffer, one for each kind.
    fn rows(&self, node: Node) -> impl Iterator<Item = RowNumber> + '_ {
        let (at, tag) = self.split(node);
        let lookup = &self.rules.lookup;
        let (switch, in_port) = self.rules.ports.name(at);
        (0..lookup.kinds)
            .filter(move |&kind| self.reached.has((kind, at, tag)))
            .map(move |kind| lookup.number(switch, kind, tag, in_port))
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
    fn shortest_cycle(&self) -> Option<Vec<IngressBuffer>> {
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

    /// Whether packets can get into a buffer.
    fn is_reached(&self, node: Node) -> bool {
        self.rows(node).next().is_some()
    }

    /// How many buffers packets can get into, and how many pairs of them there are of which the
    /// first may wait for the second.
    fn size(&self) -> GraphSize {
        let mut size = GraphSize::default();
        // Ports that the same rules match wait for the same buffers.
        let mut known: BTreeMap<Vec<RowNumber>, u64> = BTreeMap::new();
        for node in 0..Node::try_from(self.node_count()).unwrap_or(Node::MAX) {
            let rows: Vec<RowNumber> = self.rows(node).collect();
            size.dependencies += match rows[..] {
                [] => continue,
                [row] => self.row_successors(row).len() as u64,
                _ => *known.entry(rows).or_insert_with_key(|rows| {
                    let later = rows.iter().flat_map(|&row| self.row_successors(row));
                    let mut later: Vec<Node> = later.copied().collect();
                    later.sort_unstable();
                    later.dedup();
                    later.len() as u64
                }),
            };
            size.buffers += 1;
        }
        size
    }

    /// What is left when buffers for which none waits are peeled off: it has a cycle unless it is
    /// empty.
    fn cyclic_part(&self) -> Vec<bool> {
        self.peeled().0
    }

    /// Peels off buffers for which none waits: what is left, and the buffers in the order in which
    /// they went. Buffers whose packets have the same row wait for the same ones, which are free
    /// once all of them are.
    fn peeled(&self) -> (Vec<bool>, Vec<Node>) {
        let count = self.node_count();
        let all = 0..Node::try_from(count).unwrap_or(Node::MAX);
        let mut buffers = vec![0u32; self.rules.lookup.row_count()];
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
        let mut order = Vec::with_capacity(count);
        while let Some(node) = free.pop() {
            left[node as usize] = false;
            order.push(node);
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
        (left, order)
    }
}

fn tag_count(rules: &Rules<'_>) -> u32 {
    u32::try_from(rules.lookup.tags.len()).unwrap_or(u32::MAX)
}

fn node(rules: &Rules<'_>, (at, tag): IngressBuffer) -> Node {
    at * tag_count(rules) + Node::from(tag)
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
        graph: &Graph<'_>,
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
