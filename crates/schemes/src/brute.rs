//! Algorithms 1 and 2 of Tagger17: one tag per hop, and the greedy merging of those tags.

use std::collections::BTreeMap;

use plan::{NewTag, Tag};
use topology::routes::RouteSet;
use topology::{Arc, ArcId, Fabric, Topology};

use super::acyclic::Acyclic;
use super::cells::{Cells, LAST_LEVEL, Squares, arc_id};
use super::demand::{Demand, Work, with_demand};
use super::error::SchemeError;

/// The tagged graph of Algorithm 1: node (arc, t) says that packets of a lossless route are on this
/// arc after `t` switches. Towards a host the tag stays: what leaves the network needs no further
/// priority.
pub(super) struct HopGraph {
    /// By hop: the tables of the switches that packets enter after so many switches.
    pub(super) levels: Vec<Cells>,
    /// By hop: the arcs on which packets are then. Hop 0 are the hosts' own links.
    arcs: Vec<Vec<ArcId>>,
}

/// Algorithm 1.
///
/// # Errors
/// [`SchemeError::TooManyTags`] if a route is longer than tags can count.
pub(super) fn brute_force(set: &RouteSet) -> Result<HopGraph, SchemeError> {
    with_demand(
        set,
        BruteForce {
            squares: &Squares::new(set.fabric()),
        },
    )
}

struct BruteForce<'a> {
    squares: &'a Squares<'a>,
}

impl Work for BruteForce<'_> {
    type Output = Result<HopGraph, SchemeError>;

    fn on<D: Demand>(self, parts: &[D]) -> Self::Output {
        let fabric = self.squares.fabric;
        let all = || (0..fabric.arcs().len()).map(arc_id);
        let mut live: Vec<Vec<u64>> = parts.iter().map(|part| part.layout().empty()).collect();
        for (part, live) in parts.iter().zip(&mut live) {
            for arc in all() {
                part.start(arc, &mut live[part.layout().of(arc)]);
            }
        }
        let on_arc = |live: &[Vec<u64>], arc: ArcId| {
            let mut sets = parts.iter().zip(live);
            sets.any(|(part, live)| any(&live[part.layout().of(arc)]))
        };
        let mut graph = HopGraph {
            levels: vec![self.first_hop(|arc| on_arc(&live, arc))],
            arcs: vec![Vec::new()],
        };
        for hop in 1.. {
            let on: Vec<ArcId> = all().filter(|arc| on_arc(&live, *arc)).collect();
            if on.is_empty() {
                break;
            }
            if hop >= LAST_LEVEL {
                return Err(SchemeError::TooManyTags {
                    needed: usize::from(hop) + 1,
                    most: usize::from(LAST_LEVEL),
                });
            }
            let mut cells = self.squares.empty();
            for (part, live) in parts.iter().zip(&mut live) {
                *live = self.next_hop(part, live, &on, hop, &mut cells);
            }
            graph.levels.push(cells);
            graph.arcs.push(on);
        }
        Ok(graph)
    }
}

impl BruteForce<'_> {
    /// Moves the packets of one part by one hop.
    fn next_hop<D: Demand>(
        &self,
        part: &D,
        live: &[u64],
        on: &[ArcId],
        hop: u8,
        cells: &mut Cells,
    ) -> Vec<u64> {
        let fabric = self.squares.fabric;
        let mut next = part.layout().empty();
        for &arc in on {
            let set = &live[part.layout().of(arc)];
            if part.ends(arc, set) {
                cells.set(self.squares.to_hosts(arc), hop);
            }
            for (place, to) in fabric.out(fabric.arc(arc).to).enumerate() {
                if part.step(arc, to, set, &mut next[part.layout().of(to)]) {
                    cells.set(self.squares.through(arc, place), hop + 1);
                }
            }
        }
        next
    }

    fn first_hop(&self, used: impl Fn(ArcId) -> bool) -> Cells {
        let fabric = self.squares.fabric;
        let mut cells = self.squares.empty();
        for switch in fabric.edge_switches() {
            if fabric.attachments(switch).len() > 1 {
                cells.set(self.squares.among_hosts(switch), 0);
            }
            for (place, arc) in fabric.out(switch).enumerate() {
                if used(arc) {
                    cells.set(self.squares.out_of_hosts(switch, place), 1);
                }
            }
        }
        cells
    }
}

fn any(set: &[u64]) -> bool {
    set.iter().any(|word| *word != 0)
}

/// Algorithm 2 with its slips mended: nodes are visited by falling back from hop to hop, at each
/// hop by switch and port; a node joins the current tag unless one of its incoming edges would
/// close a cycle there, then it gets the next tag and only what was just added is taken back. Once
/// a hop has raised a node, the sandbox is the next tag's.
///
/// # Errors
/// [`SchemeError::MultiValued`] if two nodes that were merged go on with different tags.
pub(super) fn greedy(topology: &Topology, set: &RouteSet) -> Result<Vec<Cells>, SchemeError> {
    let fabric = set.fabric();
    let squares = Squares::new(fabric);
    let graph = brute_force(set)?;
    let tags = merge(fabric, &squares, &graph);
    relabel(fabric, &squares, &graph, &tags).map_err(|clash| clash.named(topology))
}

/// The merged tag of every node, by hop and arc.
fn merge(fabric: &Fabric, squares: &Squares<'_>, graph: &HopGraph) -> Vec<Vec<u8>> {
    let arcs = fabric.arcs().len();
    let mut current = 0;
    let mut sandbox = Acyclic::new(arcs);
    let mut tags = vec![vec![0; arcs]];
    for (hop, nodes) in graph.arcs.iter().enumerate().skip(1) {
        let mut nodes = nodes.clone();
        nodes.sort_by_key(|arc| (fabric.arc(*arc).to, fabric.arc(*arc).in_port));
        let before = &tags[hop - 1];
        let mut here = vec![0; arcs];
        let mut raised = false;
        for node in nodes {
            let edges: Vec<u32> = predecessors(fabric, squares, &graph.levels[hop - 1], node, hop)
                .filter(|arc| before[arc.index()] == current)
                .map(number)
                .collect();
            let fits = admit(&mut sandbox, &edges, number(node));
            here[node.index()] = if fits { current } else { current + 1 };
            raised |= !fits;
        }
        tags.push(here);
        if raised {
            current += 1;
            sandbox = Acyclic::new(arcs);
        }
    }
    tags
}

/// The arcs from which packets go on to `node` after `hop` switches.
fn predecessors<'a>(
    fabric: &'a Fabric,
    squares: &'a Squares<'_>,
    cells: &'a Cells,
    node: ArcId,
    hop: usize,
) -> impl Iterator<Item = ArcId> + 'a {
    let switch = fabric.arc(node).from;
    let place = fabric.out(switch).position(|arc| arc == node).unwrap_or(0);
    let into = fabric.out(switch).map(|arc| fabric.reverse(arc));
    into.filter(move |arc| hop > 1 && cells.get(squares.through(*arc, place)).is_some())
}

/// Adds all edges into `node`, or none.
fn admit(sandbox: &mut Acyclic, edges: &[u32], node: u32) -> bool {
    let mut added = Vec::new();
    for &from in edges {
        let known = sandbox.has(from, node);
        if !sandbox.add(from, node) {
            for from in added {
                sandbox.remove(from, node);
            }
            return false;
        }
        if !known {
            added.push(from);
        }
    }
    true
}

/// Tables over the merged tags.
fn relabel(
    fabric: &Fabric,
    squares: &Squares<'_>,
    graph: &HopGraph,
    tags: &[Vec<u8>],
) -> Result<Vec<Cells>, Clash> {
    let highest = tags.iter().flatten().copied().max().unwrap_or(0);
    let mut levels = vec![squares.empty(); usize::from(highest) + 1];
    for switch in fabric.edge_switches() {
        if fabric.attachments(switch).len() > 1 {
            levels[0].set(squares.among_hosts(switch), 0);
        }
        for (place, arc) in fabric.out(switch).enumerate() {
            if graph.levels[0]
                .get(squares.out_of_hosts(switch, place))
                .is_some()
            {
                let first = tags.get(1).map_or(0, |tags| tags[arc.index()]);
                levels[0].set(squares.out_of_hosts(switch, place), first);
            }
        }
    }
    for (hop, nodes) in graph.arcs.iter().enumerate().skip(1) {
        let brute = &graph.levels[hop];
        for &arc in nodes {
            let tag = tags[hop][arc.index()];
            let switch = fabric.arc(arc).to;
            let table = &mut levels[usize::from(tag)];
            if brute.get(squares.to_hosts(arc)).is_some() {
                table.set(squares.to_hosts(arc), tag);
            }
            for (place, to) in fabric.out(switch).enumerate() {
                let cell = squares.through(arc, place);
                if brute.get(cell).is_none() {
                    continue;
                }
                let new = tags[hop + 1][to.index()];
                match table.get(cell) {
                    Some(old) if old != new => {
                        return Err(Clash {
                            arrives: *fabric.arc(arc),
                            leaves: *fabric.arc(to),
                            tag,
                            answers: (old, new),
                        });
                    }
                    _ => table.set(cell, new),
                }
            }
        }
    }
    Ok(levels)
}

/// What Algorithm 2 makes of routes, whether or not a table can hold it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GreedyCount {
    /// Tags.
    pub tags: usize,
    /// Keys of its rules: tag, input port, output port.
    pub keys: usize,
    /// Keys with more than one new tag; with any, no switch can have these rules.
    pub multi_valued: usize,
}

impl GreedyCount {
    /// Whether rules say one new tag for every key, as tables must.
    #[must_use]
    pub const fn installable(&self) -> bool {
        self.multi_valued == 0
    }
}

/// Counts what Algorithm 2 makes.
///
/// # Errors
/// [`SchemeError::TooManyTags`] if a route is longer than tags can count.
pub(super) fn greedy_count(set: &RouteSet) -> Result<GreedyCount, SchemeError> {
    let fabric = set.fabric();
    let squares = Squares::new(fabric);
    let graph = brute_force(set)?;
    let tags = merge(fabric, &squares, &graph);
    let highest = tags.iter().flatten().copied().max().unwrap_or(0);
    let mut answers: BTreeMap<(u8, usize), (u8, bool)> = BTreeMap::new();
    for (hop, nodes) in graph.arcs.iter().enumerate().skip(1) {
        for &arc in nodes {
            let tag = tags[hop][arc.index()];
            for (place, to) in fabric.out(fabric.arc(arc).to).enumerate() {
                let cell = squares.through(arc, place);
                if graph.levels[hop].get(cell).is_some() {
                    let new = tags[hop + 1][to.index()];
                    let answer = answers.entry((tag, cell)).or_insert((new, false));
                    answer.1 |= answer.0 != new;
                }
            }
        }
    }
    Ok(GreedyCount {
        tags: usize::from(highest) + 1,
        keys: answers.len(),
        multi_valued: answers.values().filter(|(_, several)| *several).count(),
    })
}

/// A key with two answers.
struct Clash {
    arrives: Arc,
    leaves: Arc,
    tag: u8,
    answers: (u8, u8),
}

impl Clash {
    fn named(self, topology: &Topology) -> SchemeError {
        let lossless = |level| NewTag::Lossless(Tag::new(level));
        let (first, second) = self.answers;
        SchemeError::MultiValued {
            switch: topology.switch(self.arrives.to).name.clone(),
            tag: Tag::new(self.tag),
            in_port: self.arrives.in_port,
            out_port: self.leaves.out_port,
            first: lossless(first.min(second)),
            second: lossless(first.max(second)),
        }
    }
}

fn number(arc: ArcId) -> u32 {
    u32::try_from(arc.index()).unwrap_or(u32::MAX)
}
