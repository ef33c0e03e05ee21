//! Topologies: switches with numbered ports, hosts, links; their file format, generators, importers.

mod address;
mod build;
mod distances;
mod error;
mod fabric;
pub mod generate;
mod ids;
mod model;
mod prefix;

pub use distances::Distances;
pub use error::TopologyError;
pub use fabric::{Arc, Attachment, Fabric, UNREACHABLE};
pub use ids::{ArcId, HostId, LinkId, NodeId, SwitchId};
pub use model::{Endpoint, Host, Link, Peer, Role, Switch, Topology};
pub use prefix::{Ipv4Prefix, Ipv6Prefix, PrefixError, Subnet};
