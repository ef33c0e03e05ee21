//! The buffer dependency graph of an epoch, for all packets that hosts can send. At each switch it
//! has the rules of all plans that the switch may hold in the epoch, so it covers every mixture.
//!
//! A node is an ingress buffer (port, priority). At a switch that may have the rules of several
//! plans a packet may meet each of them, and its code says what it is to them. An edge says that
//! packets of the first buffer may wait for room in the second; it knows the plan whose rules put
//! them into the queue.

use std::collections::{BTreeMap, BTreeSet};

use quantities::Priority;

use super::error::{ChangeError, Dependency, MixedCycle, WaitingBuffer};
use super::model::PlanIndex;
use super::union::{CodeIx, Member, Union};
use crate::check::certificate::GraphSize;
use crate::check::rules::lookup::LOSSY;
use crate::tag::ClassId;

/// A buffer: the number of its port times the number of priorities, plus its priority.
type Node = u32;

/// One of the rows of all plans: the packets of one switch that one plan's rules treat alike.
#[derive(Clone, Default)]
struct RowEdges {
    /// The buffers whose packets have the row.
    from: Vec<Node>,
    /// The buffers that they may wait for.
    onward: Vec<Node>,
}

/// The graph.
pub(super) struct Graph<'a> {
    union: &'a Union<'a>,
    /// How many priorities are told apart: one more than the greatest.
    priorities: u32,
    /// By plan and row.
    rows: Vec<RowEdges>,
    /// The plan of each row.
    plans: Vec<PlanIndex>,
    /// By buffer: the rows of its packets.
    held: Vec<Vec<u32>>,
    /// Codes of which two plans disagree under which priority they are counted, where that can be
    /// met: the first.
    pub(super) mismatch: Option<ChangeError>,
}

/// A packet in a switch: where it came in, and the code that it carries.
type State = (u32, CodeIx);

/// Packets under way, and what is known of them.
struct Reached {
    codes: usize,
    /// By port and code: whether packets get there.
    seen: Vec<bool>,
    /// By port and code: the priorities in which the switch or host before sent them, a bit each.
    sent: Vec<u128>,
    stack: Vec<State>,
}

impl Reached {
    fn add(&mut self, (port, code): State, sent: u128) {
        let at = port as usize * self.codes + usize::from(code);
        self.sent[at] |= sent;
        if !std::mem::replace(&mut self.seen[at], true) {
            self.stack.push((port, code));
        }
    }
}

impl<'a> Graph<'a> {
    /// The graph of an epoch. `held` has, by switch, the plans whose rules it may have; `sending`
    /// the plans with whose initial tags hosts send.
    pub(super) fn new(
        union: &'a Union<'a>,
        held: &[BTreeSet<PlanIndex>],
        sending: &BTreeSet<PlanIndex>,
    ) -> Self {
        let counts: Vec<usize> = union
            .members
            .iter()
            .map(|member| {
                member
                    .rules
                    .as_ref()
                    .map_or(0, |rules| rules.lookup.row_count())
            })
            .collect();
        let plans = (0..)
            .zip(&counts)
            .flat_map(|(plan, rows)| std::iter::repeat_n(plan, *rows));
        let firsts = counts.iter().scan(0, |sum, rows| {
            let first = *sum;
            *sum += rows;
            Some(first)
        });
        let greatest = union
            .members
            .iter()
            .filter_map(Member::greatest_priority)
            .max();
        let priorities = greatest.map_or(1, |greatest| u32::from(greatest.get()) + 1);
        let mut graph = Self {
            union,
            priorities,
            rows: vec![RowEdges::default(); counts.iter().sum()],
            plans: plans.collect(),
            held: vec![Vec::new(); union.port_count() * priorities as usize],
            mismatch: None,
        };
        let reached = graph.follow(held, sending, &firsts.collect::<Vec<_>>());
        graph.mismatch = mismatch(union, held, &reached);
        graph
    }

    /// Follows packets from all hosts and channels, and notes what they wait for.
    fn follow(
        &mut self,
        held: &[BTreeSet<PlanIndex>],
        sending: &BTreeSet<PlanIndex>,
        firsts: &[usize],
    ) -> Reached {
        let union = self.union;
        let mut reached = starts(union, held, sending);
        while let Some((port, code)) = reached.stack.pop() {
            let (switch, in_port) = union.split(port);
            for &plan in &held[switch] {
                let Some((row, tag)) = union.row(plan, (switch, in_port), code) else {
                    continue;
                };
                let member = &union.members[plan];
                let place = firsts[plan] + row as usize;
                let node = port * self.priorities + u32::from(member.priority(tag).get());
                let edges = &mut self.rows[place];
                let known = !edges.from.is_empty();
                let Some(rules) = &member.rules else { continue };
                let cells = rules.lookup.numbered(row).1;
                let first = port - u32::from(in_port.get());
                let mut waits = known && !edges.onward.is_empty();
                for (out, &new) in (first..).zip(cells) {
                    if new == LOSSY {
                        continue;
                    }
                    let priority = member.priority(new);
                    let written = member.writes(code, new);
                    for &peer in &union.far[out as usize].peers {
                        waits = true;
                        reached.add((peer, written), 1u128 << priority.get());
                        if !known {
                            edges
                                .onward
                                .push(peer * self.priorities + u32::from(priority.get()));
                        }
                    }
                }
                if waits && !edges.from.contains(&node) {
                    edges.from.push(node);
                    self.held[node as usize].push(u32::try_from(place).unwrap_or(u32::MAX));
                }
            }
        }
        reached
    }

    /// The size of the graph.
    pub(super) fn size(&self) -> GraphSize {
        let mut size = GraphSize::default();
        let mut met = BTreeSet::new();
        for (node, rows) in (0..).zip(&self.held) {
            if rows.is_empty() {
                continue;
            }
            met.insert(node);
            let mut later: Vec<Node> = rows
                .iter()
                .flat_map(|&row| self.rows[row as usize].onward.iter().copied())
                .collect();
            later.sort_unstable();
            later.dedup();
            size.dependencies += later.len() as u64;
            met.extend(later);
        }
        size.buffers = met.len() as u64;
        size
    }

    /// A shortest cycle of the graph, if it has one.
    pub(super) fn cycle(&self) -> Option<MixedCycle> {
        let left = self.cyclic_part();
        let mut best: Option<Vec<(Node, PlanIndex)>> = None;
        for start in (0..).zip(&left).filter_map(|(n, left)| left.then_some(n)) {
            let limit = best.as_ref().map_or(usize::MAX, Vec::len);
            if limit <= 2 {
                break;
            }
            if let Some(cycle) = self.cycle_through(start, &left, limit) {
                best = Some(cycle);
            }
        }
        best.map(|cycle| self.name(&cycle))
    }

    /// What is left when buffers for which none waits are peeled off.
    fn cyclic_part(&self) -> Vec<bool> {
        let mut waiting = vec![0u32; self.held.len()];
        for edges in self.rows.iter().filter(|edges| !edges.from.is_empty()) {
            for next in &edges.onward {
                waiting[*next as usize] += 1;
            }
        }
        let mut holders: Vec<usize> = self.rows.iter().map(|edges| edges.from.len()).collect();
        let mut left = vec![true; self.held.len()];
        let all = (0..).zip(&waiting);
        let mut free: Vec<Node> = all.filter_map(|(n, w)| (*w == 0).then_some(n)).collect();
        while let Some(node) = free.pop() {
            left[node as usize] = false;
            for &row in &self.held[node as usize] {
                holders[row as usize] -= 1;
                if holders[row as usize] > 0 {
                    continue;
                }
                for &next in &self.rows[row as usize].onward {
                    waiting[next as usize] -= 1;
                    if waiting[next as usize] == 0 {
                        free.push(next);
                    }
                }
            }
        }
        left
    }

    /// A shortest cycle through a buffer of fewer than `limit` buffers, each with the plan by whose
    /// rules it waits for the next.
    fn cycle_through(
        &self,
        start: Node,
        left: &[bool],
        limit: usize,
    ) -> Option<Vec<(Node, PlanIndex)>> {
        let mut from: BTreeMap<Node, (Node, PlanIndex)> = BTreeMap::new();
        let mut layer = vec![start];
        for _ in 1..limit {
            let mut next_layer = Vec::new();
            for &node in &layer {
                for &row in &self.held[node as usize] {
                    let plan = self.plans[row as usize];
                    for &next in &self.rows[row as usize].onward {
                        if !left[next as usize] || from.contains_key(&next) {
                            continue;
                        }
                        from.insert(next, (node, plan));
                        if next == start {
                            return Some(walk_back(start, &from));
                        }
                        next_layer.push(next);
                    }
                }
            }
            if next_layer.is_empty() {
                return None;
            }
            layer = next_layer;
        }
        None
    }

    fn name(&self, cycle: &[(Node, PlanIndex)]) -> MixedCycle {
        let buffer = |node: Node| WaitingBuffer {
            port: self.union.port_name(node / self.priorities),
            priority: Priority::new(u8::try_from(node % self.priorities).unwrap_or(u8::MAX)),
        };
        let edges = cycle.iter().map(|&(node, plan)| Dependency {
            from: buffer(node),
            plan,
        });
        MixedCycle {
            edges: edges.collect(),
        }
    }
}

fn walk_back(start: Node, from: &BTreeMap<Node, (Node, PlanIndex)>) -> Vec<(Node, PlanIndex)> {
    let mut cycle = Vec::new();
    let mut at = start;
    while let Some(&(before, plan)) = from.get(&at) {
        cycle.push((before, plan));
        at = before;
        if at == start {
            break;
        }
    }
    cycle.reverse();
    cycle
}

/// Packets of hosts, which send with any code, and packets that failover rules put behind a link.
fn starts(
    union: &Union<'_>,
    held: &[BTreeSet<PlanIndex>],
    sending: &BTreeSet<PlanIndex>,
) -> Reached {
    let codes = union.codes.len();
    let mut reached = Reached {
        codes,
        seen: vec![false; union.port_count() * codes],
        sent: vec![0; union.port_count() * codes],
        stack: Vec::new(),
    };
    let hosts = (0..).zip(&union.far).filter(|(_, far)| far.host);
    for (port, _) in hosts {
        for (code, _) in (0..).zip(&union.codes) {
            reached.add((port, code), 0);
        }
        for &plan in sending {
            let member = &union.members[plan];
            for class in (0..).take(member.tables.tagging.classes.len()) {
                let code = member.initial(ClassId::new(class));
                let Some(code) = code.and_then(|code| union.place_of_code(code)) else {
                    continue;
                };
                if let Some((_, tag)) = member.reads(code) {
                    reached.add((port, code), 1u128 << member.priority(tag).get());
                }
            }
        }
    }
    let plans: BTreeSet<PlanIndex> = held.iter().flatten().copied().collect();
    for plan in plans {
        for (port, code) in union.channels(plan) {
            let tag = union.members[plan].reads(code).map(|(_, tag)| tag);
            let sent = tag.map_or(0, |tag| 1u128 << union.members[plan].priority(tag).get());
            reached.add((port, code), sent);
        }
    }
    reached
}

/// The first place where packets are counted under another priority than that of the queue from
/// which they came: a pause there would not stop them.
fn mismatch(
    union: &Union<'_>,
    held: &[BTreeSet<PlanIndex>],
    reached: &Reached,
) -> Option<ChangeError> {
    for (at, sent) in reached
        .sent
        .iter()
        .enumerate()
        .filter(|(_, sent)| **sent != 0)
    {
        let port = u32::try_from(at / reached.codes).unwrap_or(u32::MAX);
        let code = CodeIx::try_from(at % reached.codes).unwrap_or(CodeIx::MAX);
        let (switch, in_port) = union.split(port);
        for &plan in &held[switch] {
            let Some((row, tag)) = union.row(plan, (switch, in_port), code) else {
                continue;
            };
            let member = &union.members[plan];
            let lossless = member.rules.as_ref().is_some_and(|rules| {
                let cells = rules.lookup.numbered(row).1;
                cells.iter().any(|cell| *cell != LOSSY)
            });
            let counted = member.priority(tag);
            let others = sent & !(1u128 << counted.get());
            if lossless && others != 0 {
                let sent = u8::try_from(others.trailing_zeros()).unwrap_or(0);
                return Some(ChangeError::OtherPriority {
                    code: union.codes[usize::from(code)].1,
                    port: union.port_name(port),
                    sent: Priority::new(sent),
                    counted,
                    plan,
                });
            }
        }
    }
    None
}
