//! Names of tables, actions and counters, and why packets are dropped: words that programs, entries
//! and reports share.

/// Full names of the tables.
pub mod table {
    /// In port -> does it face a host, and with which address.
    pub const HOST_PORT: &str = "ingress.host_port";
    /// DSCP of a packet that a host sent without carrier -> first code. Not in `dscp` programs.
    pub const EDGE_CLASS: &str = "ingress.edge_class";
    /// IPv4 destination prefix -> next hop, ECMP group, or discard.
    pub const IPV4_ROUTE: &str = "ingress.ipv4_route";
    /// IPv6 destination prefix -> next hop, ECMP group, or discard.
    pub const IPV6_ROUTE: &str = "ingress.ipv6_route";
    /// ECMP group -> action profile group of next hops.
    pub const ECMP_GROUP: &str = "ingress.ecmp_group";
    /// ECMP group, in port of one of its members -> another member: for packets that come back.
    pub const ECMP_RETURN: &str = "ingress.ecmp_return";
    /// Arriving tag, in port, out port -> ING_PRIO, EG_PRIO.
    pub const CLASSIFY: &str = "ingress.classify";
    /// Arriving tag, in port, out port -> new tag.
    pub const REWRITE: &str = "egress.rewrite";
    /// [`REWRITE`] where it is looked up in ingress: Tofino.
    pub const INGRESS_REWRITE: &str = "ingress.rewrite";
    /// Out port -> is the carrier taken off. Not in `dscp` programs.
    pub const HOST_PORT_OUT: &str = "egress.host_port_out";
    /// In port -> its bit. Only in programs with port sets for Tofino.
    pub const IN_PORT_BIT: &str = "ingress.in_port_bit";
    /// Out port -> its bit. Only in programs with port sets for Tofino.
    pub const OUT_PORT_BIT: &str = "ingress.out_port_bit";

    /// Maps: in port, DSCP -> traffic class.
    pub const DSCP_TO_TC: &str = "ingress.dscp_to_tc";
    /// Maps: in port, DSCP, out port -> traffic class, where ACL rules set it.
    pub const ACL_TC: &str = "ingress.acl_tc";
    /// Maps: in port, traffic class -> priority group.
    pub const TC_TO_PRIORITY_GROUP: &str = "ingress.tc_to_pg";
    /// Maps: out port, traffic class -> queue.
    pub const TC_TO_QUEUE: &str = "ingress.tc_to_queue";
    /// Maps: out port, traffic class -> DSCP.
    pub const TC_TO_DSCP: &str = "egress.tc_to_dscp";

    /// `failover`: without key; its default action carries the port status where the switch does
    /// not.
    pub const PORT_STATUS: &str = "ingress.port_status";
    /// `failover`: in port -> from a host, with the version that it stamps, or from a switch.
    pub const ISLAND_IN: &str = "ingress.island_in";
    /// `failover`: what hosts may not send.
    pub const SECURITY: &str = "ingress.security";
    /// `failover`: IPv4 address that a host asks for -> MAC address.
    pub const NEIGHBOR: &str = "ingress.neighbor";
    /// `failover`: version, destination MAC address -> virtual destination.
    pub const ENCAP: &str = "ingress.encap";
    /// `failover` with source routes: version, next hop, port status -> follow or abandon the
    /// route.
    pub const SRC_FORWARD: &str = "ingress.src_forward";
    /// `failover`: version, virtual destination, MAC address, port status -> the host's port.
    pub const LOCAL_HOST: &str = "ingress.local_host";
    /// `failover`: the plan's rules.
    pub const RES_FORWARD: &str = "ingress.res_forward";
    /// `failover`: out port -> is the header taken off.
    pub const ISLAND_OUT: &str = "egress.island_out";
    /// [`ISLAND_OUT`] where it is looked up in ingress: Tofino.
    pub const INGRESS_ISLAND_OUT: &str = "ingress.island_out";
    /// `failover` on Tofino: the port that has gone down -> the bits of all the others.
    pub const PORT_DOWN: &str = "ingress.port_down";
    /// `failover` on Tofino: out port, port status -> is the port up.
    pub const PORT_ALIVE: &str = "ingress.port_alive";
    /// `failover` on Tofino: number of routings, flow hash -> which of them.
    pub const WAY: &str = "ingress.way";
}

/// Full names of the actions.
pub mod action {
    /// `gateway_mac`: this port faces a host.
    pub const FACE_HOST: &str = "ingress.face_host";
    /// `code`: the class's first code (class bits and tag).
    pub const SET_INITIAL_CODE: &str = "ingress.set_initial_code";
    /// Default of `edge_class`.
    pub const SET_EDGE_LOSSY: &str = "ingress.set_edge_lossy";
    /// `port`, `src_mac`, `dst_mac`: send.
    pub const NEXT_HOP: &str = "ingress.next_hop";
    /// `group`, `hash_shift`: let the group choose.
    pub const ECMP: &str = "ingress.ecmp";
    /// Drop.
    pub const DISCARD: &str = "ingress.discard";
    /// `ing_prio`, `eg_prio`.
    pub const SET_PRIORITIES: &str = "ingress.set_priorities";
    /// Default of `classify`, and what an explicit lossy rule does.
    pub const LOSSY: &str = "ingress.lossy";
    /// `tag`: the code of the new tag, without class bits (they stay).
    pub const SET_TAG: &str = "egress.set_tag";
    /// [`SET_TAG`] in ingress: Tofino.
    pub const INGRESS_SET_TAG: &str = "ingress.set_tag";
    /// Default of `rewrite`, and what an explicit lossy rule does.
    pub const SET_LOSSY_CODE: &str = "egress.set_lossy_code";
    /// [`SET_LOSSY_CODE`] in ingress: Tofino.
    pub const INGRESS_SET_LOSSY_CODE: &str = "ingress.set_lossy_code";
    /// Take the carrier off.
    pub const STRIP_CARRIER: &str = "egress.strip_carrier";
    /// `bits`: the in port, one-hot.
    pub const SET_IN_PORT: &str = "ingress.set_in_port";
    /// `bits`: the out port, one-hot.
    pub const SET_OUT_PORT: &str = "ingress.set_out_port";
    /// `tc`: the traffic class.
    pub const SET_TC: &str = "ingress.set_tc";
    /// `ing_prio`: the priority group.
    pub const SET_PRIORITY_GROUP: &str = "ingress.set_pg";
    /// `eg_prio`: the queue.
    pub const SET_QUEUE: &str = "ingress.set_queue";
    /// `dscp`: the DSCP to leave with.
    pub const SET_DSCP: &str = "egress.set_dscp";
    /// Default of the tables that may miss.
    pub const NO_ACTION: &str = "NoAction";

    /// `up`: the ports that are up.
    pub const SET_PORT_STATUS: &str = "ingress.set_port_status";
    /// `version`: this port faces a host; packets get this version.
    pub const FROM_HOST: &str = "ingress.from_host";
    /// This port leads to a switch.
    pub const FROM_FABRIC: &str = "ingress.from_fabric";
    /// Drop what a host sends.
    pub const DENY: &str = "ingress.deny";
    /// `mac`: answer the ARP request.
    pub const ANSWER: &str = "ingress.answer";
    /// `destination`: put the header on.
    pub const ENCAPSULATE: &str = "ingress.encapsulate";
    /// `destination`, `ways`: put the header on; the flow chooses one of so many destinations that
    /// follow.
    pub const ENCAPSULATE_FLOW: &str = "ingress.encapsulate_flow";
    /// `port`: follow the forward route.
    pub const FOLLOW: &str = "ingress.follow";
    /// Discard the forward route.
    pub const ABANDON: &str = "ingress.abandon";
    /// `port`: hand the packet to the host.
    pub const DELIVER: &str = "ingress.deliver";
    /// Drop: the host is not here.
    pub const NO_HOST: &str = "ingress.no_host";
    /// Drop: no way is left.
    pub const NO_WAY: &str = "ingress.no_way";
    /// Take the header off.
    pub const DECAPSULATE: &str = "egress.decapsulate";
    /// [`DECAPSULATE`] in ingress: Tofino.
    pub const INGRESS_DECAPSULATE: &str = "ingress.decapsulate";
    /// `others` (and `others_high`): ports that stay up.
    pub const TAKE_DOWN: &str = "ingress.take_down";
    /// The port is up.
    pub const ALIVE: &str = "ingress.alive";
    /// `path`: the routing.
    pub const TAKE_WAY: &str = "ingress.take_way";
}

/// Full name of the action selector of [`table::ECMP_GROUP`].
pub const ECMP_SELECTOR: &str = "ingress.ecmp_selector";
/// Full name of the action profile that holds the members of [`ECMP_SELECTOR`] on Tofino; to BF
/// Runtime they are two tables.
pub const ECMP_PROFILE: &str = "ingress.ecmp_profile";
/// Full name of the register of the port status on Tofino, 32 ports a cell; that of ports 32 to 63
/// ends in `_high`.
pub const PORTS_UP: &str = "ingress.ports_up";
/// Full name of the counter of packets accepted, indexed by ingress port ++ ING_PRIO.
pub const INGRESS_CLASS_COUNTER: &str = "ingress.ingress_class";
/// Full name of the counter of packets sent, indexed by egress port ++ EG_PRIO.
pub const EGRESS_CLASS_COUNTER: &str = "egress.egress_class";
/// Full name of the counter of packets dropped by ingress, indexed by [`DropReason`].
pub const DROP_COUNTER: &str = "ingress.dropped";

/// Why the program dropped a packet: the index into [`DROP_COUNTER`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum DropReason {
    /// A header too short or unusable.
    Malformed = 0,
    /// IPv4 header checksum.
    Checksum = 1,
    /// A PAUSE or PFC frame.
    MacControl = 2,
    /// Broadcast or multicast.
    Group = 3,
    /// Neither IPv4 nor IPv6.
    NotRoutable = 4,
    /// TTL or hop limit used up.
    Ttl = 5,
    /// No route.
    NoRoute = 6,
    /// A route that says discard.
    ByRoute = 7,
    /// A host sent the shim.
    ForeignShim = 8,
    /// A switch sent a packet without the shim.
    NoShim = 9,
    /// It came in by a port that the plan does not know.
    UnknownPort = 10,
    /// The security table says so.
    Denied = 11,
    /// It has arrived, but the host is not here or its port is down.
    NoHost = 12,
    /// A source route names a port that leads to no switch.
    NoSuchPort = 13,
    /// A rule sends it out of a port that is down.
    DeadPort = 14,
    /// Its reverse route no longer fits the header.
    TooLong = 15,
}

impl DropReason {
    /// All reasons, in the order of their index.
    pub const ALL: [Self; 16] = [
        Self::Malformed,
        Self::Checksum,
        Self::MacControl,
        Self::Group,
        Self::NotRoutable,
        Self::Ttl,
        Self::NoRoute,
        Self::ByRoute,
        Self::ForeignShim,
        Self::NoShim,
        Self::UnknownPort,
        Self::Denied,
        Self::NoHost,
        Self::NoSuchPort,
        Self::DeadPort,
        Self::TooLong,
    ];

    /// The index into [`DROP_COUNTER`].
    #[must_use]
    pub const fn index(self) -> u8 {
        self as u8
    }

    /// What is wrong with the packet, as `layout.p4` says it.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Malformed => "the parser met a header that is too short or unusable",
            Self::Checksum => "IPv4 header checksum",
            Self::MacControl => "PAUSE and PFC end at the port that receives them",
            Self::Group => "broadcast or multicast, except an ARP request of a host",
            Self::NotRoutable => "neither IPv4 nor IPv6",
            Self::Ttl => "TTL or hop limit used up",
            Self::NoRoute => "no route, or an ECMP group without members",
            Self::ByRoute => "a route that says discard",
            Self::ForeignShim => "a host sent the fabric's own header",
            Self::NoShim => "a switch sent a packet without it",
            Self::UnknownPort => "came in by a port that the plan does not know",
            Self::Denied => "the security table says so",
            Self::NoHost => "arrived, but the host is not here or its port is down",
            Self::NoSuchPort => "a source route names a port that leads to no switch",
            Self::DeadPort => "a rule sends it out of a port that is down",
            Self::TooLong => "its reverse route no longer fits the header",
        }
    }

    /// The constant of `layout.p4`.
    #[must_use]
    pub const fn p4_name(self) -> &'static str {
        match self {
            Self::Malformed => "DROP_MALFORMED",
            Self::Checksum => "DROP_CHECKSUM",
            Self::MacControl => "DROP_MAC_CONTROL",
            Self::Group => "DROP_GROUP",
            Self::NotRoutable => "DROP_NOT_ROUTABLE",
            Self::Ttl => "DROP_TTL",
            Self::NoRoute => "DROP_NO_ROUTE",
            Self::ByRoute => "DROP_BY_ROUTE",
            Self::ForeignShim => "DROP_FOREIGN_SHIM",
            Self::NoShim => "DROP_NO_SHIM",
            Self::UnknownPort => "DROP_UNKNOWN_PORT",
            Self::Denied => "DROP_DENIED",
            Self::NoHost => "DROP_NO_HOST",
            Self::NoSuchPort => "DROP_NO_SUCH_PORT",
            Self::DeadPort => "DROP_DEAD_PORT",
            Self::TooLong => "DROP_TOO_LONG",
        }
    }
}

/// The action profile that holds the members of a selector, by the names that our programs give
/// them. P4Info has one name for both: a layout's has the selector's, a compiler's the profile's.
#[must_use]
pub fn profile_of(name: &str) -> String {
    format!("{}_profile", stem(name))
}

/// The selector that draws from an action profile; see [`profile_of`].
#[must_use]
pub fn selector_of(name: &str) -> String {
    match name.strip_suffix("_profile") {
        Some(stem) => format!("{stem}_selector"),
        None => name.to_owned(),
    }
}

fn stem(name: &str) -> &str {
    let stem = name.strip_suffix("_selector");
    stem.or_else(|| name.strip_suffix("_profile"))
        .unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profile_and_selector_have_each_others_names() {
        assert_eq!(profile_of(ECMP_SELECTOR), ECMP_PROFILE);
        assert_eq!(profile_of(ECMP_PROFILE), ECMP_PROFILE);
        assert_eq!(selector_of(ECMP_PROFILE), ECMP_SELECTOR);
        assert_eq!(selector_of(ECMP_SELECTOR), ECMP_SELECTOR);
    }
}
