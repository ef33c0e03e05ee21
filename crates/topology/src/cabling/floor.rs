//! Where racks stand.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{Plug, Plugs};
use crate::{NodeId, Topology};

/// The place of a rack on the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Place {
    /// Column.
    pub x: i32,
    /// Row.
    pub y: i32,
}

impl Place {
    /// How far apart two places are along the lines of the grid.
    #[must_use]
    pub fn distance(self, other: Self) -> u64 {
        u64::from(self.x.abs_diff(other.x)) + u64::from(self.y.abs_diff(other.y))
    }
}

/// The places of switches, hosts and OCSs (`ocs1`, `ocs2`, ...), by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Floor {
    places: BTreeMap<String, Place>,
}

/// Why places are refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FloorError {
    /// The text is no table of places.
    #[error("line {line}: {reason}; a line is `node,x,y`, as in `s1,-2,7`")]
    Line {
        /// Counted from 1.
        line: u64,
        /// What is wrong.
        reason: String,
    },
    /// A node has two places.
    #[error("line {line}: `{node}` already has a place; remove one")]
    Twice {
        /// Counted from 1.
        line: u64,
        /// The node.
        node: String,
    },
    /// A switch or an OCS has no place.
    #[error("`{0}` has no place; add a line `{0},x,y` (hosts without one stand with their switch)")]
    Missing(String),
    /// A place for nothing.
    #[error(
        "`{0}` has a place, but is neither a switch nor a host of the topology, nor an OCS of its cabling; remove the line"
    )]
    Unknown(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    node: String,
    x: i32,
    y: i32,
}

impl Floor {
    /// Reads CSV of the columns `node`, `x` and `y`.
    ///
    /// # Errors
    /// [`FloorError`].
    pub fn from_csv(text: &str) -> Result<Self, FloorError> {
        let mut reader = csv::ReaderBuilder::new()
            .trim(csv::Trim::All)
            .from_reader(text.as_bytes());
        let mut floor = Self::default();
        for (line, row) in (2..).zip(reader.deserialize()) {
            let row: Row = row.map_err(|error: csv::Error| FloorError::Line {
                line: error.position().map_or(1, csv::Position::line),
                reason: reason(&error),
            })?;
            let place = Place { x: row.x, y: row.y };
            let node = row.node.clone();
            if floor.places.insert(row.node, place).is_some() {
                return Err(FloorError::Twice { line, node });
            }
        }
        Ok(floor)
    }

    /// That every place is of something.
    ///
    /// # Errors
    /// [`FloorError::Unknown`].
    pub(super) fn check(&self, topology: &Topology, ocs_count: u32) -> Result<(), FloorError> {
        let ocs: BTreeSet<String> = ocs_names(ocs_count).collect();
        let known = |name: &String| topology.node(name).is_some() || ocs.contains(name);
        match self.places.keys().find(|name| !known(name)) {
            Some(name) => Err(FloorError::Unknown(name.clone())),
            None => Ok(()),
        }
    }

    /// The place of what a cable is plugged into; a host without one stands where its switch does.
    pub(super) fn of(&self, topology: &Topology, plug: Plug) -> Result<Place, FloorError> {
        let find = |name: &str| {
            let place = self.places.get(name).copied();
            place.ok_or_else(|| FloorError::Missing(name.to_owned()))
        };
        match plug {
            Plug::Ocs { ocs, .. } => find(&ocs_name(ocs)),
            Plug::Port(end) => match end.node {
                NodeId::Switch(_) => find(topology.node_name(end.node)),
                NodeId::Host(host) => find(topology.node_name(end.node)).or_else(|missing| {
                    let switch = topology
                        .uplinks(host)
                        .first()
                        .map(|(_, peer)| peer.end.node);
                    switch.map_or(Err(missing), |switch| find(topology.node_name(switch)))
                }),
            },
        }
    }
}

fn reason(error: &csv::Error) -> String {
    match error.kind() {
        csv::ErrorKind::Deserialize { err, .. } => err.kind().to_string(),
        csv::ErrorKind::UnequalLengths { len, .. } => format!("{len} values"),
        _ => error.to_string(),
    }
}

/// The name of an OCS.
pub(super) fn ocs_name(ocs: u32) -> String {
    format!("ocs{ocs}")
}

/// The names of all OCSs.
pub(super) fn ocs_names(count: u32) -> impl Iterator<Item = String> {
    (1..=count).map(ocs_name)
}

/// OCSs in a rack.
const OCS_PER_RACK: u32 = 4;

/// FC23's layout (appendix A.4.1): switches in columns of racks on both sides of those of OCSs;
/// with `racks` to a column, or as many as make the cables shortest. Also how many.
pub(super) fn columns(
    topology: &Topology,
    ocs_count: u32,
    plugs: &Plugs,
    racks: Option<u32>,
) -> (Floor, u32) {
    let switches = u32::try_from(topology.switches().len()).unwrap_or(u32::MAX);
    // Beyond so many the columns are much longer than the rows.
    let most = switches.isqrt().saturating_mul(4).clamp(1, switches.max(1));
    let racks = racks.map(|racks| racks.max(1)).or_else(|| {
        (1..=most).min_by_key(|&racks| {
            let apart = |(_, ends): &(_, [Plug; 2])| {
                let [a, b] = ends.map(|plug| column_place(plug, racks));
                match (a, b) {
                    (Some(a), Some(b)) => a.distance(b),
                    _ => 0,
                }
            };
            plugs.iter().map(apart).sum::<u64>()
        })
    });
    let racks = racks.unwrap_or(1);
    let mut places = BTreeMap::new();
    for (at, switch) in (0..).zip(topology.switches()) {
        places.insert(switch.name.clone(), switch_place(at, racks));
    }
    for ocs in 1..=ocs_count {
        places.insert(ocs_name(ocs), ocs_place(ocs));
    }
    (Floor { places }, racks)
}

/// The place of a plug, but of a host's.
fn column_place(plug: Plug, racks: u32) -> Option<Place> {
    match plug {
        Plug::Ocs { ocs, .. } => Some(ocs_place(ocs)),
        Plug::Port(end) => match end.node {
            NodeId::Switch(switch) => {
                Some(switch_place(u32::try_from(switch.index()).ok()?, racks))
            }
            NodeId::Host(_) => None,
        },
    }
}

fn switch_place(at: u32, racks: u32) -> Place {
    let (column, row) = (at / racks, at % racks);
    let out = i32::try_from(column / 2 + 1).unwrap_or(i32::MAX);
    Place {
        x: if column.is_multiple_of(2) { out } else { -out },
        y: i32::try_from(row).unwrap_or(i32::MAX),
    }
}

fn ocs_place(ocs: u32) -> Place {
    Place {
        x: 0,
        y: i32::try_from((ocs - 1) / OCS_PER_RACK).unwrap_or(i32::MAX),
    }
}
