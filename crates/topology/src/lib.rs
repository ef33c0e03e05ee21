//! Topologies: switches with numbered ports, hosts, links; their file format, generators,
//! importers, drawings; and routes.

#![allow(
    clippy::disallowed_types,
    reason = "hash maps answer look-ups; what goes out is sorted or in the order of the input"
)]

mod address;
mod build;
mod cables;
pub mod cabling;
mod distances;
pub mod draw;
mod error;
mod fabric;
mod file;
pub mod flattened;
pub mod generate;
mod header;
mod ids;
pub mod import;
mod layers;
mod lookup;
mod model;
mod prefix;
mod repair;
pub mod routes;
mod search;
pub mod spreadsheet;
mod summary;
#[cfg(test)]
mod tests;

pub use distances::Distances;
pub use error::TopologyError;
pub use fabric::{Arc, Attachment, Fabric, UNREACHABLE};
pub use file::{FORMAT, FileError, TopologyPart, VERSION};
pub use header::{HeaderError, read_with_header};
pub use ids::{ArcId, HostId, LinkId, NodeId, SwitchId};
pub use lookup::LookupError;
pub use model::{Endpoint, Host, Link, Peer, Role, Switch, Topology, VirtualLayers};
pub use prefix::{Ipv4Prefix, Ipv6Prefix, PrefixError, Subnet};
pub use repair::HopRepair;
pub use search::HopSearch;
pub use summary::{LayerSummary, Summary};
