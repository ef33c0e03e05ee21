//! Cables of a network: from which port to which, how long, of what kind, and what they cost (FC23
//! appendix A.4).
//!
//! Racks stand on a grid and cables run along its lines (Manhattan distance). Within a rack they
//! are copper, between racks fiber with a transceiver at every switch port. Links between switches
//! may run through optical circuit switches (OCSs) or patch panels: each link is then two cables
//! and a circuit.

mod cost;
mod floor;
mod ocs;
mod tables;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::Serialize;
use thiserror::Error;

use crate::{Endpoint, LinkId, NodeId, SwitchId, Topology};

pub use cost::{Cost, FiberPrice, FurtherFiber, PriceError, Prices, TransceiverPrice};
pub use floor::{Floor, FloorError, Place};

/// How a network is to be cabled.
#[derive(Clone, Debug, Default)]
pub struct CablingOptions {
    /// Where racks stand; `None` for FC23's layout of appendix A.4.1: a rack for each switch with
    /// its hosts, in columns on both sides of one column of OCSs, four to a rack.
    pub floor: Option<Floor>,
    /// Racks of a column, in that layout; `None` for as many as make the cables shortest.
    pub racks_per_column: Option<u32>,
    /// Ports of an OCS; `None` to run links through OCSs only where the topology says so.
    pub ocs_ports: Option<u16>,
    /// Metres from one place of the grid to the next; `None` if that is not known.
    pub pitch: Option<f64>,
}

/// Why a network is not cabled.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CablingError {
    /// Some links run through OCSs, others do not.
    #[error(
        "{link} has no `ocs`, but other links between switches have; give all of them one, or none"
    )]
    SomeWithoutOcs {
        /// The link.
        link: String,
    },
    /// An OCS joins more links than it has ports for.
    #[error("ocs{ocs} joins {links} links, for which it needs {needed} ports, but has {ports}; use larger ones", needed = 2 * links)]
    OcsFull {
        /// Its number.
        ocs: u32,
        /// Links through it.
        links: usize,
        /// Its ports.
        ports: u16,
    },
    /// A number of ports that joins nothing.
    #[error("an OCS of {0} ports joins nothing; it needs at least 2")]
    TooFewPorts(u16),
    /// More OCSs than can be numbered in reason.
    #[error("{ocs} OCSs are more than {most}; number them from 1, without gaps")]
    TooManyOcs {
        /// How many there would be.
        ocs: u32,
        /// The most.
        most: u32,
    },
    /// A node has the name of an OCS.
    #[error("a node is called `{0}`, as an OCS would be; rename it")]
    NameTaken(String),
    /// A place is missing, or is no place.
    #[error(transparent)]
    Floor(#[from] FloorError),
}

/// What a cable is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CableKind {
    /// Direct attach copper, within a rack.
    Copper,
    /// Fiber, between racks.
    Fiber,
}

/// What a cable is plugged into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Plug {
    /// A port of a switch or host.
    Port(Endpoint),
    /// A port of an OCS; both count from 1.
    Ocs {
        /// Its number.
        ocs: u32,
        /// Its port.
        port: u32,
    },
}

/// A cable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cable {
    /// The link of which it is the whole or a half.
    pub link: LinkId,
    /// Its ends.
    pub ends: [Plug; 2],
    /// Where their racks stand.
    pub places: [Place; 2],
    /// What it is made of.
    pub kind: CableKind,
}

impl Cable {
    /// How far apart its ends stand, in places of the grid, along its lines.
    #[must_use]
    pub fn distance(&self) -> u64 {
        self.places[0].distance(self.places[1])
    }

    /// Transceivers: one at each end of a fiber that is no port of an OCS.
    #[must_use]
    pub fn transceivers(&self) -> usize {
        match self.kind {
            CableKind::Copper => 0,
            CableKind::Fiber => {
                let lit = |end: &&Plug| matches!(end, Plug::Port(_));
                self.ends.iter().filter(lit).count()
            }
        }
    }
}

/// A circuit through an OCS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Circuit {
    /// The OCS, counted from 1.
    pub ocs: u32,
    /// The two ports that it joins.
    pub ports: [u32; 2],
    /// The link that it makes.
    pub link: LinkId,
}

/// The cables of a network.
#[derive(Clone, Debug)]
pub struct Cabling<'a> {
    pub(super) topology: &'a Topology,
    /// Cables, those of hosts first.
    pub cables: Vec<Cable>,
    /// Circuits, OCS by OCS.
    pub circuits: Vec<Circuit>,
    /// Number of OCSs.
    pub ocs_count: u32,
    /// Racks of a column, in FC23's layout.
    pub racks_per_column: Option<u32>,
    /// Metres from one place of the grid to the next, if known.
    pub pitch: Option<f64>,
}

/// What there is to buy and lay.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CablingSummary {
    /// Switches.
    pub switches: usize,
    /// Hosts.
    pub hosts: usize,
    /// Optical circuit switches.
    pub ocs: u32,
    /// Circuits through them.
    pub circuits: usize,
    /// The most cables that one switch has to one OCS; absent without any.
    pub cables_of_a_switch_to_an_ocs: Option<usize>,
    /// Copper cables.
    pub copper_cables: usize,
    /// Fiber cables.
    pub fiber_cables: usize,
    /// Transceivers.
    pub transceivers: usize,
    /// Places of the grid that all fibers cross together.
    pub fiber_distance: u64,
    /// The most that one fiber crosses.
    pub longest_fiber_distance: u64,
    /// Different distances: of so many lengths fibers are needed.
    pub distinct_distances: usize,
    /// Metres of all fibers; absent while the pitch of the grid is not known.
    pub fiber_metres: Option<f64>,
    /// Racks of a column, in FC23's layout.
    pub racks_per_column: Option<u32>,
    /// Metres from one place of the grid to the next, if known.
    pub pitch: Option<f64>,
}

impl<'a> Cabling<'a> {
    /// Cables a network.
    ///
    /// # Errors
    /// [`CablingError`].
    pub fn new(topology: &'a Topology, options: &CablingOptions) -> Result<Self, CablingError> {
        let through = ocs::assign(topology, options.ocs_ports)?;
        let ocs_count = through.iter().flatten().copied().max().unwrap_or(0);
        if let Some(name) = floor::ocs_names(ocs_count).find(|name| topology.node(name).is_some()) {
            return Err(CablingError::NameTaken(name));
        }
        let (plugs, circuits) = plugs(topology, &through);
        let (floor, racks_per_column) = match &options.floor {
            Some(floor) => {
                floor.check(topology, ocs_count)?;
                (floor.clone(), None)
            }
            None => {
                let (floor, racks) =
                    floor::columns(topology, ocs_count, &plugs, options.racks_per_column);
                (floor, Some(racks))
            }
        };
        let mut cables = Vec::with_capacity(plugs.len());
        for (link, ends) in plugs {
            let places = [floor.of(topology, ends[0])?, floor.of(topology, ends[1])?];
            let optical = ends.iter().any(|end| matches!(end, Plug::Ocs { .. }));
            let kind = match optical || places[0] != places[1] {
                true => CableKind::Fiber,
                false => CableKind::Copper,
            };
            cables.push(Cable {
                link,
                ends,
                places,
                kind,
            });
        }
        Ok(Self {
            topology,
            cables,
            circuits,
            ocs_count,
            racks_per_column,
            pitch: options.pitch,
        })
    }

    /// What there is to buy and lay.
    #[must_use]
    pub fn summary(&self) -> CablingSummary {
        let fibers = || {
            self.cables
                .iter()
                .filter(|cable| cable.kind == CableKind::Fiber)
        };
        let mut distances: Vec<u64> = fibers().map(Cable::distance).collect();
        let fiber_distance = distances.iter().sum();
        distances.sort_unstable();
        distances.dedup();
        let mut to_ocs: BTreeMap<(SwitchId, u32), usize> = BTreeMap::new();
        for cable in &self.cables {
            if let [
                Plug::Port(Endpoint {
                    node: NodeId::Switch(switch),
                    ..
                }),
                Plug::Ocs { ocs, .. },
            ] = cable.ends
            {
                *to_ocs.entry((switch, ocs)).or_default() += 1;
            }
        }
        #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
        let fiber_metres = self.pitch.map(|pitch| fiber_distance as f64 * pitch);
        CablingSummary {
            switches: self.topology.switches().len(),
            hosts: self.topology.hosts().len(),
            ocs: self.ocs_count,
            circuits: self.circuits.len(),
            cables_of_a_switch_to_an_ocs: to_ocs.values().copied().max(),
            copper_cables: self.cables.len() - fibers().count(),
            fiber_cables: fibers().count(),
            transceivers: self.cables.iter().map(Cable::transceivers).sum(),
            fiber_distance,
            longest_fiber_distance: distances.last().copied().unwrap_or(0),
            distinct_distances: distances.len(),
            fiber_metres,
            racks_per_column: self.racks_per_column,
            pitch: self.pitch,
        }
    }
}

type Plugs = Vec<(LinkId, [Plug; 2])>;

/// The ends of every cable, those of hosts first, and the circuits; OCS ports are given out in the
/// order of links.
fn plugs(topology: &Topology, through: &[Option<u32>]) -> (Plugs, Vec<Circuit>) {
    let ends = |id: LinkId| {
        let link = topology.link(id);
        match link.b.node {
            NodeId::Host(_) => [link.b, link.a],
            NodeId::Switch(_) => [link.a, link.b],
        }
    };
    let at_host = |id: LinkId| matches!(ends(id)[0].node, NodeId::Host(_));
    let (mut ids, fabric): (Vec<LinkId>, Vec<LinkId>) =
        topology.link_ids().partition(|&id| at_host(id));
    ids.extend(fabric);
    let mut next: BTreeMap<u32, u32> = BTreeMap::new();
    let (mut plugs, mut circuits) = (Vec::new(), Vec::new());
    for id in ids {
        let [a, b] = ends(id).map(Plug::Port);
        let Some(ocs) = through[id.index()] else {
            plugs.push((id, [a, b]));
            continue;
        };
        let used = next.entry(ocs).or_default();
        let ports = [*used + 1, *used + 2];
        *used += 2;
        let [at, then] = ports.map(|port| Plug::Ocs { ocs, port });
        plugs.extend([(id, [a, at]), (id, [b, then])]);
        circuits.push(Circuit {
            ocs,
            ports,
            link: id,
        });
    }
    circuits.sort_unstable();
    (plugs, circuits)
}
