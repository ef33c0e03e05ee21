//! What the tag rules of a plan do, whatever the routing.

pub(super) mod dependencies;
pub(super) mod lookup;
pub(super) mod ports;

use crate::model::Tables;
use lookup::{LOSSY, Lookup, RowNumber, TagIx};
use ports::Ports;

use super::error::PlanError;

/// The tag rules of a plan in its network: the new tag of every packet, in one load.
pub(super) struct Rules<'a> {
    /// The plan.
    pub(super) tables: &'a Tables,
    /// The rules, spelled out.
    pub(super) lookup: Lookup,
    /// The ports of all switches.
    pub(super) ports: Ports,
}

/// A packet in a switch: its kind, the port by which it came, its tag.
pub(super) type State = (usize, u32, TagIx);

/// One transition of a packet that the rules allow.
struct Step {
    row: RowNumber,
    /// The port by which the packet came.
    at: u32,
    tag: TagIx,
    /// The port by which it leaves.
    out: u32,
    new_tag: TagIx,
    /// The ingress port of the next switch, if one is plugged in.
    peer: Option<u32>,
}

/// The states that packets can get into: the tags that may reach a port, as a set, by kind and
/// port.
struct Reached {
    tags: Vec<u64>,
    ports: usize,
}

impl<'a> Rules<'a> {
    /// Spells the rules out. All that they name exists.
    ///
    /// # Errors
    /// One [`PlanError::Conflict`] for each switch that has rules of equal precedence which match
    /// the same packet and disagree.
    pub(super) fn new(tables: &'a Tables) -> Result<Self, Vec<PlanError>> {
        Ok(Self {
            lookup: Lookup::new(tables)?,
            ports: Ports::new(&tables.topology),
            tables,
        })
    }

    /// Follows packets from the given states, out of any port, and shows `see` the transitions:
    /// those of states with the same row only once.
    fn reach(&self, starts: impl Iterator<Item = State>, mut see: impl FnMut(Step)) -> Reached {
        let (lookup, ports) = (&self.lookup, &self.ports);
        let mut reached = Reached {
            tags: vec![0; lookup.kinds * ports.count()],
            ports: ports.count(),
        };
        let mut followed = vec![false; lookup.row_count()];
        let mut stack: Vec<State> = starts.filter(|start| reached.mark(*start)).collect();
        while let Some((kind, at, tag)) = stack.pop() {
            let (switch, in_port) = ports.name(at);
            let row = lookup.number(switch, kind, tag, in_port);
            if std::mem::replace(&mut followed[row as usize], true) {
                continue;
            }
            let first = at - u32::from(in_port.get());
            for (out, &new_tag) in (first..).zip(lookup.numbered(row).1) {
                if new_tag == LOSSY {
                    continue;
                }
                let peer = ports.peer(out);
                see(Step {
                    row,
                    at,
                    tag,
                    out,
                    new_tag,
                    peer,
                });
                if let Some(next) = peer.map(|peer| (kind, peer, new_tag))
                    && reached.mark(next)
                {
                    stack.push(next);
                }
            }
        }
        reached
    }
}

impl Reached {
    /// Marks a state; whether it is new.
    fn mark(&mut self, (kind, at, tag): State) -> bool {
        let seen = &mut self.tags[kind * self.ports + at as usize];
        let new = *seen & 1 << tag == 0;
        *seen |= 1 << tag;
        new
    }

    /// Whether packets can get into a state.
    fn has(&self, (kind, at, tag): State) -> bool {
        self.tags[kind * self.ports + at as usize] & 1 << tag != 0
    }
}
