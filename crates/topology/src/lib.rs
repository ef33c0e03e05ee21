//! Topologies: switches with numbered ports, hosts, links; their file format, generators,
//! importers, drawings; and routes.
//!
//! # Who uses it
//!
//! Use it to describe a data-center network, or to read one: Switchwright's own file, or what other
//! tools write ([`import`]). It knows nothing of tags, tables or packets: the crate `schemes`
//! computes tables for a topology, and `plan` proves them.
//!
//! A [`Topology`] does not change. [`Topology::with_failed_links`] and similar methods return
//! another one with the same ids, so tables for one can be compared with the other. A [`Fabric`] is
//! the same network as a directed graph between switches, on which algorithms work.
//!
//! # Example
//!
//! ```
//! use topology::generate::{Cables, Clos};
//! use topology::{Distances, Fabric, Topology};
//!
//! let (leaves, spines, hosts, parallel) = (4, 2, 8, 1);
//! let cables = Cables::default();
//! let clos = Clos { leaves, spines, hosts, parallel, cables }.generate()?;
//! assert_eq!((clos.switches().len(), clos.hosts().len()), (6, 32));
//!
//! // A file says the same again.
//! let read = Topology::from_json(&clos.to_json())?;
//! assert_eq!(read.to_json(), clos.to_json());
//!
//! // How many links each leaf is from the first.
//! let [first, second] = [clos.switch_named("leaf1")?, clos.switch_named("leaf2")?];
//! let distances = Distances::new(&Fabric::new(&clos), &[first]);
//! assert_eq!(distances.row(0)[second.index()], 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The example `failed_link` of this crate compares a network before and after a failure.
//!
//! # Errors and limits
//!
//! Readers return an error that names the entry and the line, and how to mend it. A network has at
//! most 65,536 switches and as many hosts; a switch has at most [`generate`]'s number of ports. The
//! same file gives the same topology, whatever the order of maps in memory.

#![allow(
    clippy::disallowed_types,
    reason = "hash maps answer look-ups; what goes out is sorted or in the order of the input"
)]

mod address;
mod assumed;
mod assumptions;
mod build;
mod cables;
pub mod cabling;
pub mod difference;
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
mod listed;
mod lookup;
mod model;
mod port_text;
mod ports;
mod prefix;
mod repair;
pub mod routes;
mod search;
pub mod spreadsheet;
mod summary;
#[cfg(test)]
mod tests;

pub use assumed::{AssumedOfLink, AssumedOfNetwork};
pub use assumptions::{Assumption, Assumptions, BUFFER, Fact, MTU, Supplied};
pub use distances::Distances;
pub use error::TopologyError;
pub use fabric::{Arc, Attachment, Fabric, UNREACHABLE};
pub use file::{FORMAT, FileError, TopologyPart, VERSION};
pub use header::{HeaderError, read_with_header, yaml_problem};
pub use ids::{ArcId, HostId, LinkId, NodeId, SwitchId};
pub use lookup::LookupError;
pub use model::{Endpoint, Host, Link, Peer, Role, Switch, Topology, VirtualLayers};
pub use port_text::{port_list, port_text};
pub use ports::natural_order;
pub use prefix::{Ipv4Prefix, Ipv6Prefix, PrefixError, Subnet};
pub use repair::HopRepair;
pub use search::HopSearch;
pub use summary::{LayerSummary, Summary};
