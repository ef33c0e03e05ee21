//! Topologies: switches with numbered ports, hosts, links; their file format, generators, importers.

mod ids;
mod model;

pub use ids::{HostId, LinkId, NodeId, SwitchId};
pub use model::{Endpoint, Host, Link, Peer, Switch, Topology, TopologyError};
