//! Strongly connected components of the pairs of arcs that packets use in a row.

use topology::ArcId;

use super::cells::{Cells, Squares, arc_id};

/// The components of all arcs, numbered so that every pair leads to the same number or a higher
/// one.
pub(super) struct Components {
    /// By arc.
    number: Vec<u32>,
    count: u32,
}

impl Components {
    /// Whether no pair is on a cycle.
    pub(super) fn is_acyclic(&self) -> bool {
        self.count as usize == self.number.len()
    }

    /// The pairs that lie on cycles.
    pub(super) fn cyclic_pairs(&self, squares: &Squares<'_>, cells: &Cells) -> Vec<(u32, u32)> {
        let fabric = squares.fabric;
        let mut pairs = Vec::new();
        for arc in (0..self.number.len()).map(arc_id) {
            for (place, to) in fabric.out(fabric.arc(arc).to).enumerate() {
                let together = self.number[arc.index()] == self.number[to.index()];
                if together && cells.get(squares.through(arc, place)).is_some() {
                    let number = |arc: ArcId| u32::try_from(arc.index()).unwrap_or(u32::MAX);
                    pairs.push((number(arc), number(to)));
                }
            }
        }
        pairs
    }

    /// Positions of the arcs by component, within a component by `rank`.
    pub(super) fn order(&self, rank: impl Fn(ArcId) -> u64) -> Vec<u32> {
        let mut keys: Vec<(u32, u64, u32)> = (0u32..)
            .zip(&self.number)
            .map(|(arc, number)| (*number, rank(ArcId::new(arc)), arc))
            .collect();
        keys.sort_unstable();
        let mut order = vec![0; keys.len()];
        for (place, (_, _, arc)) in (0..).zip(keys) {
            order[arc as usize] = place;
        }
        order
    }
}

/// One arc on the stack of the depth-first search.
struct Frame {
    arc: ArcId,
    /// The place of the next arc to look at, and of the first one at that switch.
    next: usize,
}

/// Tarjan's algorithm without recursion. Pairs are the cells that are set.
pub(super) fn components(squares: &Squares<'_>, cells: &Cells) -> Components {
    const NONE: u32 = u32::MAX;
    let fabric = squares.fabric;
    let arcs = fabric.arcs().len();
    let mut index = vec![NONE; arcs];
    let mut low = vec![NONE; arcs];
    let mut found = vec![NONE; arcs];
    let mut open: Vec<ArcId> = Vec::new();
    let mut frames: Vec<Frame> = Vec::new();
    let (mut clock, mut count) = (0, 0);
    for root in (0..arcs).map(arc_id) {
        if index[root.index()] != NONE {
            continue;
        }
        frames.push(Frame { arc: root, next: 0 });
        while let Some(frame) = frames.last_mut() {
            let arc = frame.arc;
            let here = arc.index();
            if frame.next == 0 {
                index[here] = clock;
                low[here] = clock;
                clock += 1;
                open.push(arc);
            }
            let out = fabric.out_range(fabric.arc(arc).to);
            let mut child = None;
            while child.is_none() && frame.next < out.len() {
                let place = frame.next;
                frame.next += 1;
                if cells.get(squares.through(arc, place)).is_none() {
                    continue;
                }
                let to = out.start as usize + place;
                if index[to] == NONE {
                    child = Some(arc_id(to));
                } else if found[to] == NONE {
                    low[here] = low[here].min(index[to]);
                }
            }
            if let Some(child) = child {
                frames.push(Frame {
                    arc: child,
                    next: 0,
                });
                continue;
            }
            if low[here] == index[here] {
                while let Some(member) = open.pop() {
                    found[member.index()] = count;
                    if member == arc {
                        break;
                    }
                }
                count += 1;
            }
            let low_here = low[here];
            frames.pop();
            if let Some(parent) = frames.last() {
                let above = parent.arc.index();
                low[above] = low[above].min(low_here);
            }
        }
    }
    // Tarjan finds components last first.
    let number = found.iter().map(|n| count - 1 - n).collect();
    Components { number, count }
}
