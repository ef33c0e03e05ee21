//! Why a topology is refused.

use std::net::IpAddr;

use quantities::PortId;
use thiserror::Error;

use super::prefix::Ipv4Prefix;

/// The most switches, hosts or links: ids are `u32`, and a link is two directed arcs.
pub(super) const MAX_ENTITIES: usize = (u32::MAX / 2) as usize;

/// Why a topology is refused; each message names the entity and the place and how to mend it.
/// A link is named by its position (from 0) and its ends.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TopologyError {
    /// Two links use the same port.
    #[error(
        "port {port} of `{node}` is used twice, by {first} and by {second}; give one of them another port"
    )]
    PortUsedTwice {
        /// The node's name.
        node: String,
        /// The port.
        port: PortId,
        /// The link that had it first.
        first: String,
        /// The link that wants it too.
        second: String,
    },
    /// A link names a port the switch does not have.
    #[error(
        "{link}: switch `{node}` has no port {port}, only 1 to {ports}; correct the link or raise the switch's `ports`"
    )]
    NoSuchPort {
        /// The switch's name.
        node: String,
        /// The port.
        port: PortId,
        /// How many ports there are.
        ports: u16,
        /// The link.
        link: String,
    },
    /// Two nodes share a name.
    #[error(
        "the name `{0}` is used by two nodes; switches and hosts share one name space, rename one"
    )]
    DuplicateName(String),
    /// A name that link and port notations could not be told from.
    #[error("the name `{0}` is empty or holds a space, a comma or a colon; rename the node")]
    BadName(String),
    /// The name of a port makes no sense.
    #[error("`{node}`: interface `{name}`: {problem}; correct `interfaces`")]
    Interface {
        /// The node's name.
        node: String,
        /// The interface.
        name: String,
        /// What is wrong.
        problem: String,
    },
    /// Two hosts share an address.
    #[error(
        "hosts `{first}` and `{second}` both have the address {address}; give one of them another"
    )]
    DuplicateAddress {
        /// The host that had it first.
        first: String,
        /// The other.
        second: String,
        /// The address.
        address: IpAddr,
    },
    /// The subnets of two switches overlap.
    #[error(
        "the subnets of switches `{first}` and `{second}` overlap in {prefix}; make them disjoint"
    )]
    SubnetsOverlap {
        /// One switch.
        first: String,
        /// The other.
        second: String,
        /// The IPv4 block of the smaller one.
        prefix: Ipv4Prefix,
    },
    /// A link's end is not a node of this topology.
    #[error(
        "{link} ends at `{node}`, which is neither a switch nor a host of this topology; add the node or remove the link"
    )]
    DanglingLink {
        /// The missing node.
        node: String,
        /// The link.
        link: String,
    },
    /// A link joins a node to itself.
    #[error("{link} joins `{node}` to itself; remove it")]
    SelfLink {
        /// The node.
        node: String,
        /// The link.
        link: String,
    },
    /// A link joins two hosts.
    #[error("{link} joins two hosts; put a switch between them")]
    HostToHost {
        /// The link.
        link: String,
    },
    /// A link carries nothing.
    #[error("{link} has a rate of 0; give it one, or mark the link down")]
    NoRate {
        /// The link.
        link: String,
    },
    /// A link to a host has virtual layers.
    #[error(
        "{link} leads to a host, and only links between switches have virtual layers; leave `a_layer` and `b_layer` out"
    )]
    HostInVirtualLayer {
        /// The link.
        link: String,
    },
    /// A link joins virtual layers that are not neighbours.
    #[error(
        "{link} has its ends in the virtual layers {a} and {b}, but layers count from 1 and a link joins neighbouring ones; correct `a_layer` and `b_layer`"
    )]
    VirtualLayersApart {
        /// The link.
        link: String,
        /// The layer of its end `a`.
        a: u8,
        /// The layer of its end `b`.
        b: u8,
    },
    /// A switch cannot reach the others.
    #[error(
        "switch `{0}` is not connected to the rest of the network (down links count as connections); add a link or remove the switch"
    )]
    Disconnected(String),
    /// A host has no link.
    #[error("host `{0}` has no link; add one or remove the host")]
    HostWithoutLink(String),
    /// There is nothing in it.
    #[error("the topology has no switch; it needs at least one")]
    NoSwitch,
    /// More nodes or links than ids.
    #[error("the topology has {0} {1}; at most {max} are supported", max = MAX_ENTITIES)]
    TooLarge(usize, &'static str),
}
