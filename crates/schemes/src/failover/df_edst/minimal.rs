//! Minimal ways before disjoint trees (Stephens15 section 5.5): packets follow a shortest way on a
//! channel of its own until a link of it is down, and only then trees. Where all shortest ways
//! together close no cycle of buffers, as in trees of switches, nothing is lost as long as nothing
//! fails.
//!
//! The header tells packets on minimal ways from those on trees. The tag alone tells their
//! channels: it rises where a packet goes on by a link that follows the last one on no minimal way,
//! so that one channel of trees takes all packets that have met a failure.

use topology::{ArcId, Fabric, SwitchId};

use super::super::layering::Links;
use super::super::trees::shortest_tree;
use super::{Channels, FailoverError, FailoverScheme};
use crate::cells::{Cells, Squares};

/// The minimal ways to one destination, from all switches with hosts.
pub(super) struct Minimal {
    /// By switch: the arc on.
    pub(super) next: Vec<Option<ArcId>>,
    /// By switch: whether packets come there from other switches.
    pub(super) passed: Vec<bool>,
    /// Arcs that follow each other.
    pairs: Vec<(ArcId, ArcId)>,
    /// The last arcs.
    last: Vec<ArcId>,
}

impl Minimal {
    fn new(fabric: &Fabric, next: Vec<Option<ArcId>>) -> Self {
        let mut ways = Self {
            passed: vec![false; next.len()],
            pairs: Vec::new(),
            last: Vec::new(),
            next,
        };
        for source in fabric.edge_switches() {
            let mut at = source;
            while let Some(arc) = ways.next[at.index()] {
                at = fabric.arc(arc).to;
                match ways.next[at.index()] {
                    Some(on) => ways.pairs.push((arc, on)),
                    None => ways.last.push(arc),
                }
                // What follows is known if another way has come by here.
                if std::mem::replace(&mut ways.passed[at.index()], true) {
                    break;
                }
            }
        }
        ways
    }
}

impl Channels {
    /// The minimal ways to a destination, if packets begin on such.
    pub(super) fn minimal(&self, fabric: &Fabric, code: u32, home: SwitchId) -> Option<Minimal> {
        let options = &self.options;
        options.default_tree.then(|| {
            let next = shortest_tree(fabric, home, options, u64::from(code));
            Minimal::new(fabric, next)
        })
    }

    /// The cells of packets on minimal ways: they keep their tag from link to link of such a way,
    /// whatever its destination, and it rises where they go on by a tree.
    pub(super) fn minimal_cells(
        &self,
        fabric: &Fabric,
        squares: &Squares<'_>,
        destinations: &[(u32, SwitchId)],
    ) -> Result<Cells, FailoverError> {
        let links = Links::new(fabric);
        let (mut pairs, mut last) = (Vec::new(), Vec::new());
        for &(code, home) in destinations {
            if let Some(ways) = self.minimal(fabric, code, home) {
                pairs.extend(ways.pairs.iter().map(|&(arc, next)| links.pair(arc, next)));
                last.extend(ways.last);
            }
        }
        pairs.sort_unstable();
        pairs.dedup();
        if !links.is_acyclic(&pairs) {
            return Err(FailoverError::Option {
                option: "--default-tree",
                scheme: FailoverScheme::DfEdst.name(),
                reason: "the shortest ways of this topology close a cycle of buffers, so that one priority cannot hold them; without \
                         it packets begin on trees",
            });
        }
        let mut cells = squares.empty();
        let firsts = pairs.iter().map(|&pair| links.split(pair).0);
        for arc in firsts.chain(last.iter().copied()) {
            for (at, out) in fabric.out(fabric.arc(arc).to).enumerate() {
                if self.channels[0].owner[out.index()].is_some() {
                    cells.set(squares.through(arc, at), 1);
                }
            }
        }
        for arc in last {
            cells.set(squares.to_hosts(arc), 0);
        }
        for pair in pairs {
            let (arc, at) = links.split(pair);
            cells.set(squares.through(arc, at), 0);
        }
        Ok(cells)
    }
}
