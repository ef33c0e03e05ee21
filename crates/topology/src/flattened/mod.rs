//! Flattened Clos as its routes see it: the virtual layers that links of a topology carry (FC23
//! section 3).

mod arcs;
mod flow;
mod shortest;
mod statistics;
#[cfg(test)]
mod tests;

use thiserror::Error;

use crate::model::VirtualLayers;
use crate::{LinkId, NodeId, SwitchId, Topology};

use arcs::Arcs;
pub use flow::{Crossing, PathCount, Router, VirtualPath};
pub use shortest::ShortestWays;
pub use statistics::PathStatistics;

/// The live links between switches of a Flattened Clos, by the two virtual layers that they join.
#[derive(Clone, Debug)]
pub struct FlattenedLinks {
    switches: usize,
    /// `steps[j]` are the links from layer `j + 1` to layer `j + 2`.
    steps: Vec<Step>,
    /// The link of every position; positions count through the steps.
    links: Vec<LinkId>,
    arcs: Arcs,
}

/// The links from one layer to the next, from both ends.
#[derive(Clone, Debug)]
struct Step {
    /// From the lower layer.
    up: Neighbours,
    /// From the upper layer.
    down: Neighbours,
}

/// The far ends of links, switch by switch.
#[derive(Clone, Debug)]
struct Neighbours {
    /// `first[v]..first[v + 1]` are the ends of switch `v`.
    first: Vec<u32>,
    /// Far switches.
    far: Vec<u32>,
    /// Positions of the links.
    positions: Vec<u32>,
}

/// The links of one switch to the layer above or below, and where they lead.
#[derive(Clone, Copy, Debug, Default)]
struct Ends<'a> {
    /// Far switches.
    far: &'a [u32],
    /// Positions of the links.
    positions: &'a [u32],
}

impl Neighbours {
    /// Of links as near switch, far switch, position.
    fn new(switches: usize, mut links: Vec<(u32, u32, u32)>) -> Self {
        links.sort_unstable_by_key(|&(near, _, position)| (near, position));
        let mut first = vec![0; switches + 1];
        for &(near, ..) in &links {
            first[near as usize + 1] += 1;
        }
        for at in 0..switches {
            first[at + 1] += first[at];
        }
        let ends = links.into_iter().map(|(_, far, position)| (far, position));
        let (far, positions) = ends.unzip();
        Self {
            first,
            far,
            positions,
        }
    }

    fn of(&self, switch: usize) -> Ends<'_> {
        let these = self.first[switch] as usize..self.first[switch + 1] as usize;
        Ends {
            far: &self.far[these.clone()],
            positions: &self.positions[these],
        }
    }
}

/// Why a topology is not a Flattened Clos.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FlattenedError {
    /// A link between switches without virtual layers.
    #[error(
        "{link} has no virtual layers, but in a Flattened Clos every link between switches has; make one with `topo flattened-clos`, or give `a_layer` and `b_layer`"
    )]
    NoLayers {
        /// The link.
        link: String,
    },
    /// No link between switches.
    #[error("no two switches are linked, so there are no virtual layers")]
    NoLinks,
    /// More virtual layers than forwarding counts.
    #[error(
        "links lie in {layers} virtual layers, but forwarding counts to {most}; use fewer layers"
    )]
    TooManyLayers {
        /// Number of layers.
        layers: usize,
        /// The most.
        most: usize,
    },
    /// More nodes in the virtual graph than numbers for them.
    #[error(
        "{switches} switches in {layers} virtual layers are more than 2^31 virtual nodes; use fewer layers"
    )]
    TooLarge {
        /// Number of switches.
        switches: usize,
        /// Number of layers.
        layers: usize,
    },
}

impl FlattenedLinks {
    /// The live links of a topology.
    ///
    /// # Errors
    /// [`FlattenedError`] if a link between switches has no virtual layers, or there is none.
    pub fn new(topology: &Topology) -> Result<Self, FlattenedError> {
        let mut links = Vec::new();
        for id in topology.link_ids().filter(|&id| topology.is_live(id)) {
            let link = topology.link(id);
            let (NodeId::Switch(a), NodeId::Switch(b)) = (link.a.node, link.b.node) else {
                continue;
            };
            let Some(VirtualLayers { a: at, b: other }) = link.virtual_layers else {
                let link = topology.describe_link(id);
                return Err(FlattenedError::NoLayers { link });
            };
            let (lower, upper) = if at < other { (a, b) } else { (b, a) };
            links.push((usize::from(at.min(other)) - 1, lower, upper, id));
        }
        let steps = links.iter().map(|&(step, ..)| step + 1).max();
        let steps = steps.ok_or(FlattenedError::NoLinks)?;
        let switches = topology.switches().len();
        if switches.saturating_mul(2 * steps + 1) >= i32::MAX as usize {
            let layers = steps + 1;
            return Err(FlattenedError::TooLarge { switches, layers });
        }
        links.sort_unstable();
        let number = |switch: SwitchId| number(switch.index());
        let of_step = |wanted: usize| {
            let these = (0..).zip(&links).filter(move |(_, link)| link.0 == wanted);
            let ends =
                these.map(move |(position, link)| (number(link.1), number(link.2), position));
            let ups: Vec<(u32, u32, u32)> = ends.collect();
            let downs = ups.iter().map(|&(a, b, position)| (b, a, position));
            Step {
                down: Neighbours::new(switches, downs.collect()),
                up: Neighbours::new(switches, ups),
            }
        };
        let mut made = Self {
            switches,
            steps: (0..steps).map(of_step).collect(),
            links: links.into_iter().map(|(.., id)| id).collect(),
            arcs: Arcs::default(),
        };
        made.arcs = Arcs::new(&made);
        Ok(made)
    }

    /// Number of switches.
    #[must_use]
    pub fn switch_count(&self) -> usize {
        self.switches
    }

    /// Number of virtual layers.
    #[must_use]
    pub fn layer_count(&self) -> usize {
        self.steps.len() + 1
    }

    /// Number of arcs: one over every link upward, then one downward.
    #[must_use]
    pub fn arc_count(&self) -> usize {
        2 * self.links.len()
    }

    /// The last rank of the virtual graph: rank 0 is layer 1 before a path rises, the last one
    /// layer 1 after it has come down.
    fn last_rank(&self) -> usize {
        2 * self.steps.len()
    }

    /// The links that lead from a rank to the next.
    fn forward(&self, rank: usize, switch: usize) -> Ends<'_> {
        match self.steps.get(rank) {
            Some(step) => step.up.of(switch),
            None => match self.last_rank().checked_sub(rank + 1) {
                Some(step) => self.steps[step].down.of(switch),
                None => Ends::default(),
            },
        }
    }

    /// The arc over a link from a rank to the next.
    fn arc(&self, rank: usize, position: u32) -> u32 {
        if rank < self.steps.len() {
            position
        } else {
            position + number(self.links.len())
        }
    }
}

/// A count that [`FlattenedLinks::new`] or [`Topology::new`] has bounded.
fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
