//! The k shortest simple paths between two switches: Yen's algorithm with Lawler's saving (Yen71).
//!
//! Paths are ordered by length, then by the ports they leave by, first difference first; so the k
//! shortest are well defined, and the order does not depend on how they are found.

use std::collections::BTreeSet;

use crate::{ArcId, Fabric, SwitchId, UNREACHABLE};

/// Lengths beyond the distance to the target that are tried before the true distance is computed.
const TRIES: u16 = 2;

/// A candidate: compared by length, then by arcs. Where two paths first differ they leave the same
/// switch, and arcs of a switch are numbered in port order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    length: usize,
    arcs: Vec<ArcId>,
    /// Where it left the path it was derived from.
    deviation: usize,
}

/// The `k` first simple paths from `from` to `to`; fewer if there are fewer. `to_target` are the
/// distances of all switches to `to`.
pub(super) fn k_shortest(
    fabric: &Fabric,
    from: SwitchId,
    to: SwitchId,
    k: usize,
    to_target: &[u16],
) -> Vec<Vec<ArcId>> {
    let mut spur = Spur {
        fabric,
        to,
        to_target,
        blocked: vec![false; fabric.switch_count()],
    };
    let mut found: Vec<Candidate> = Vec::new();
    let mut candidates = BTreeSet::new();
    candidates.extend(spur.best(from, &[]).map(|arcs| Candidate {
        length: arcs.len(),
        arcs,
        deviation: 0,
    }));
    while found.len() < k
        && let Some(path) = candidates.pop_first()
    {
        for at in 0..path.deviation {
            spur.blocked[fabric.arc(path.arcs[at]).from.index()] = true;
        }
        for at in path.deviation..path.arcs.len() {
            let prefix = &path.arcs[..at];
            let mut taken = vec![path.arcs[at]];
            let sharing = found.iter().filter(|other| other.arcs.starts_with(prefix));
            taken.extend(sharing.filter_map(|other| other.arcs.get(at)));
            let node = fabric.arc(path.arcs[at]).from;
            if let Some(rest) = spur.best(node, &taken) {
                let arcs = [prefix, &rest].concat();
                candidates.insert(Candidate {
                    length: arcs.len(),
                    arcs,
                    deviation: at,
                });
            }
            spur.blocked[node.index()] = true;
        }
        spur.blocked.fill(false);
        // No more than the best `k - found` candidates can ever be used.
        while candidates.len() > k - found.len() {
            candidates.pop_last();
        }
        found.push(path);
    }
    found.into_iter().map(|path| path.arcs).collect()
}

/// Finds the first path to the target that avoids blocked switches.
struct Spur<'a> {
    fabric: &'a Fabric,
    to: SwitchId,
    to_target: &'a [u16],
    blocked: Vec<bool>,
}

impl Spur<'_> {
    /// The first path from `node` in order of length and ports, whose first arc is not in `taken`.
    fn best(&mut self, node: SwitchId, taken: &[ArcId]) -> Option<Vec<ArcId>> {
        let least = self.to_target[node.index()];
        if node == self.to || least == UNREACHABLE {
            return None;
        }
        let was = std::mem::replace(&mut self.blocked[node.index()], true);
        let tries = least..least.saturating_add(TRIES);
        let quick = tries.into_iter().find_map(|length| {
            let mut path = Vec::with_capacity(usize::from(length));
            let mut dead = BTreeSet::new();
            self.descend(node, length, taken, &mut path, &mut dead)
                .then_some(path)
        });
        let path = quick.or_else(|| self.exact(node, taken));
        self.blocked[node.index()] = was;
        path
    }

    /// Looks for a walk of exactly `length` arcs in port order. If no shorter one exists it is a
    /// simple path; `dead` remembers the switches from which the remaining length does not suffice.
    fn descend(
        &self,
        at: SwitchId,
        length: u16,
        taken: &[ArcId],
        path: &mut Vec<ArcId>,
        dead: &mut BTreeSet<(u16, SwitchId)>,
    ) -> bool {
        if length == 0 {
            return at == self.to;
        }
        for (id, arc) in self.fabric.out_arcs(at) {
            let left = length - 1;
            if taken.contains(&id)
                || self.blocked[arc.to.index()]
                || self.to_target[arc.to.index()] > left
                || (arc.to == self.to && left > 0)
                || dead.contains(&(left, arc.to))
            {
                continue;
            }
            path.push(id);
            if self.descend(arc.to, left, &[], path, dead) {
                return true;
            }
            path.pop();
            dead.insert((left, arc.to));
        }
        false
    }

    /// The same by a search backward from the target, whatever the length.
    fn exact(&self, node: SwitchId, taken: &[ArcId]) -> Option<Vec<ArcId>> {
        let mut distance = vec![UNREACHABLE; self.fabric.switch_count()];
        distance[self.to.index()] = 0;
        let mut queue = vec![self.to];
        let mut next = 0;
        while let Some(&at) = queue.get(next) {
            next += 1;
            for (_, arc) in self.fabric.out_arcs(at) {
                if distance[arc.to.index()] == UNREACHABLE && !self.blocked[arc.to.index()] {
                    distance[arc.to.index()] = distance[at.index()].saturating_add(1);
                    queue.push(arc.to);
                }
            }
        }
        let mut path = Vec::new();
        let mut at = node;
        while at != self.to {
            let arcs = self.fabric.out_arcs(at);
            let free = arcs.filter(|(id, _)| !path.is_empty() || !taken.contains(id));
            let (id, arc) = free.min_by_key(|(_, arc)| distance[arc.to.index()])?;
            if distance[arc.to.index()] == UNREACHABLE {
                return None;
            }
            path.push(id);
            at = arc.to;
        }
        Some(path)
    }
}
