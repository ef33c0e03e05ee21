//! A graph that stays acyclic: arcs are tried one by one and refused if they would close a cycle.
//!
//! The order of Pearce and Kelly ("A dynamic topological sort algorithm for directed acyclic
//! graphs", 2006): nodes keep positions such that every arc leads forward, and an arc that leads
//! backward moves only the nodes between its ends.

use std::collections::{HashMap, VecDeque};

/// A directed acyclic graph under construction. Nodes are `0..n`.
pub(super) struct Acyclic {
    position: Vec<u32>,
    out: Vec<Vec<u32>>,
    into: Vec<Vec<u32>>,
    met: Vec<bool>,
}

impl Acyclic {
    /// `n` nodes and no arc.
    pub(super) fn new(n: usize) -> Self {
        Self {
            position: (0..u32::try_from(n).unwrap_or(u32::MAX)).collect(),
            out: vec![Vec::new(); n],
            into: vec![Vec::new(); n],
            met: vec![false; n],
        }
    }

    /// Positions such that every arc leads from a lower to a higher one.
    pub(super) fn positions(&self) -> &[u32] {
        &self.position
    }

    /// Fills the graph with arcs that close no cycle, all at once.
    pub(super) fn fill(&mut self, arcs: impl Iterator<Item = (u32, u32)>) {
        for (from, to) in arcs {
            self.out[from as usize].push(to);
            self.into[to as usize].push(from);
        }
        let mut waiting: Vec<usize> = self.into.iter().map(Vec::len).collect();
        let mut free: Vec<u32> = (0u32..)
            .zip(&waiting)
            .filter(|(_, left)| **left == 0)
            .map(|(node, _)| node)
            .collect();
        let mut position = 0;
        while let Some(node) = free.pop() {
            self.position[node as usize] = position;
            position += 1;
            for &next in &self.out[node as usize] {
                waiting[next as usize] -= 1;
                if waiting[next as usize] == 0 {
                    free.push(next);
                }
            }
        }
    }

    /// Adds the arc unless it would close a cycle; whether it is in the graph now.
    pub(super) fn add(&mut self, from: u32, to: u32) -> bool {
        if from == to {
            return false;
        }
        if self.out[from as usize].contains(&to) {
            return true;
        }
        let (low, high) = (self.position[to as usize], self.position[from as usize]);
        if low < high && !self.make_room(from, to, low, high) {
            return false;
        }
        self.out[from as usize].push(to);
        self.into[to as usize].push(from);
        true
    }

    /// Takes an arc back that is in the graph.
    pub(super) fn remove(&mut self, from: u32, to: u32) {
        self.out[from as usize].retain(|n| *n != to);
        self.into[to as usize].retain(|n| *n != from);
    }

    /// Whether the arc is in the graph.
    pub(super) fn has(&self, from: u32, to: u32) -> bool {
        self.out[from as usize].contains(&to)
    }

    /// Whether the arc is in the graph or could be added.
    pub(super) fn admits(&mut self, from: u32, to: u32) -> bool {
        let (low, high) = (self.position[to as usize], self.position[from as usize]);
        low > high || (from != to && self.ahead(to, from, high).is_some())
    }

    /// The shortest way from one node to another, both included; just `start` if there is none.
    pub(super) fn path(&self, start: u32, end: u32) -> Vec<u32> {
        let mut before: HashMap<u32, u32> = HashMap::from([(start, start)]);
        let mut queue = VecDeque::from([start]);
        while let Some(node) = queue.pop_front() {
            if node == end {
                break;
            }
            for &next in &self.out[node as usize] {
                if self.position[next as usize] <= self.position[end as usize] {
                    before.entry(next).or_insert_with(|| {
                        queue.push_back(next);
                        node
                    });
                }
            }
        }
        let mut path = vec![end];
        let mut at = end;
        while at != start
            && let Some(&node) = before.get(&at)
        {
            path.push(node);
            at = node;
        }
        path.reverse();
        path
    }

    /// Moves what leads to `from` before what `to` leads to; `false` if `to` leads to `from`.
    fn make_room(&mut self, from: u32, to: u32, low: u32, high: u32) -> bool {
        let Some(ahead) = self.ahead(to, from, high) else {
            return false;
        };
        let behind = self.behind(from, low);
        let by_position = |nodes: &mut Vec<u32>| nodes.sort_by_key(|n| self.position[*n as usize]);
        let (mut ahead, mut behind) = (ahead, behind);
        by_position(&mut ahead);
        by_position(&mut behind);
        let moved: Vec<u32> = behind.into_iter().chain(ahead).collect();
        let mut free: Vec<u32> = moved.iter().map(|n| self.position[*n as usize]).collect();
        free.sort_unstable();
        for (node, position) in moved.into_iter().zip(free) {
            self.position[node as usize] = position;
        }
        true
    }

    /// What `start` leads to, up to position `high`; `None` if that includes `target`.
    fn ahead(&mut self, start: u32, target: u32, high: u32) -> Option<Vec<u32>> {
        let mut found = vec![start];
        self.met[start as usize] = true;
        let mut done = 0;
        let mut cycle = false;
        while let Some(&node) = found.get(done) {
            done += 1;
            for &next in &self.out[node as usize] {
                cycle |= next == target;
                if !self.met[next as usize] && self.position[next as usize] < high {
                    self.met[next as usize] = true;
                    found.push(next);
                }
            }
            if cycle {
                break;
            }
        }
        for &node in &found {
            self.met[node as usize] = false;
        }
        (!cycle).then_some(found)
    }

    /// What leads to `start`, down to position `low`.
    fn behind(&mut self, start: u32, low: u32) -> Vec<u32> {
        let mut found = vec![start];
        self.met[start as usize] = true;
        let mut done = 0;
        while let Some(&node) = found.get(done) {
            done += 1;
            for &before in &self.into[node as usize] {
                if !self.met[before as usize] && self.position[before as usize] > low {
                    self.met[before as usize] = true;
                    found.push(before);
                }
            }
        }
        for &node in &found {
            self.met[node as usize] = false;
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Whether `to` leads to `from` over `arcs`.
    fn closes(arcs: &[(u32, u32)], from: u32, to: u32) -> bool {
        let mut stack = vec![to];
        let mut met = [false; 12];
        while let Some(node) = stack.pop() {
            if node == from {
                return true;
            }
            if !std::mem::replace(&mut met[node as usize], true) {
                stack.extend(arcs.iter().filter(|a| a.0 == node).map(|a| a.1));
            }
        }
        false
    }

    proptest! {
        #[test]
        fn refuses_exactly_what_closes_a_cycle(tries in prop::collection::vec((0u32..12, 0u32..12, any::<bool>()), 0..80)) {
            let mut graph = Acyclic::new(12);
            let mut arcs: Vec<(u32, u32)> = Vec::new();
            for (from, to, keep) in tries {
                let known = arcs.contains(&(from, to));
                prop_assert_eq!(graph.has(from, to), known);
                prop_assert_eq!(graph.admits(from, to), known || !closes(&arcs, from, to));
                let added = graph.add(from, to);
                prop_assert_eq!(added, known || !closes(&arcs, from, to));
                if added && !known {
                    arcs.push((from, to));
                }
                if added && !keep {
                    graph.remove(from, to);
                    arcs.retain(|arc| *arc != (from, to));
                }
                for (a, b) in &arcs {
                    prop_assert!(graph.positions()[*a as usize] < graph.positions()[*b as usize]);
                }
            }
        }
    }
}
