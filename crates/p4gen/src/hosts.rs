//! What a host of the fabric is set up with: addresses, a way to the others, and the size of its
//! packets.
//!
//! Hosts get an address, a default route and the static neighbours that go with it; the switches
//! answer ARP at host ports, so the static entries only save the first exchange.

use std::net::{Ipv4Addr, Ipv6Addr};

use plan::CheckedPlan;
use topology::{HostId, NodeId, Subnet, Topology};

use crate::family::ProgramFeatures;

/// A gateway that is reachable on any link, whatever the host's own address: hosts whose switch has
/// no subnet use it.
const LINK_LOCAL_GATEWAY: Ipv4Addr = Ipv4Addr::new(169, 254, 1, 1);
/// The same for IPv6; a link-local next hop needs no subnet there.
const LINK_LOCAL_GATEWAY_6: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1);
/// The MTU of cables: what the fabric adds to a packet, hosts must leave free.
const MTU: u16 = 1500;

/// How hosts reach each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// By their switch, which routes.
    Gateway,
    /// As on one Ethernet: they ask for each other's address, and the switch answers.
    Direct,
}

impl Reach {
    /// How hosts reach each other through a program with these features.
    pub(crate) fn of(features: &ProgramFeatures) -> Self {
        match features.routes() {
            true => Self::Gateway,
            false => Self::Direct,
        }
    }
}

/// What a host is set up with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostSetUp {
    /// The Ethernet address of its interface.
    pub mac: [u8; 6],
    /// Its address, and the length of the prefix that it shares with its neighbours.
    pub ipv4: (Ipv4Addr, u8),
    /// All else, as commands of iproute2 that are given once it has these addresses.
    pub commands: Vec<String>,
}

impl HostSetUp {
    /// For a host behind switches that run a plan's program; `interface` is what its cable is
    /// called there.
    #[must_use]
    pub fn of(plan: &CheckedPlan, host: HostId, interface: &str) -> Self {
        let features = ProgramFeatures::of(plan);
        let reach = Reach::of(&features);
        let carrier = features.carrier_bytes();
        Self::new(plan.topology(), host, reach, carrier, interface)
    }

    pub(crate) fn new(
        topology: &Topology,
        id: HostId,
        reach: Reach,
        carrier_bytes: u16,
        interface: &str,
    ) -> Self {
        let host = topology.host(id);
        let mtu = MTU - carrier_bytes;
        let mtu = format!("ip link set dev {interface} mtu {mtu}");
        if reach == Reach::Direct {
            let route = format!("ip route replace default dev {interface} scope link");
            return Self {
                mac: host.mac,
                ipv4: (host.ipv4, 32),
                commands: vec![mtu, route],
            };
        }
        let uplink = topology.uplinks(id).first().map(|(_, peer)| peer.end);
        let gateway_mac = match uplink.map(|end| (end.node, end.port)) {
            Some((NodeId::Switch(switch), port)) => format_mac(topology.port_mac(switch, port)),
            _ => format_mac(host.mac),
        };
        let mut commands = Vec::new();
        if carrier_bytes > 0 {
            commands.push(mtu);
        }
        commands.extend(ipv4_commands(
            subnet_of(topology, id),
            &gateway_mac,
            interface,
        ));
        commands.push(format!("ip -6 addr add {}/128 dev {interface}", host.ipv6));
        commands.push(format!(
            "ip -6 neigh replace {LINK_LOCAL_GATEWAY_6} lladdr {gateway_mac} dev {interface}"
        ));
        commands.push(format!(
            "ip -6 route replace default via {LINK_LOCAL_GATEWAY_6} dev {interface}"
        ));
        Self {
            mac: host.mac,
            ipv4: (host.ipv4, prefix_length(topology, id)),
            commands,
        }
    }
}

/// The subnet of the host's switch, if the host's address lies in it.
fn subnet_of(topology: &Topology, id: HostId) -> Option<Subnet> {
    let (_, uplink) = topology.uplinks(id).first()?;
    let NodeId::Switch(switch) = uplink.end.node else {
        return None;
    };
    let subnet = topology.switch(switch).subnet;
    subnet.filter(|s| s.ipv4.contains(topology.host(id).ipv4))
}

/// How a host reaches the rest.
fn ipv4_commands(subnet: Option<Subnet>, gateway_mac: &str, interface: &str) -> Vec<String> {
    let Some(subnet) = subnet else {
        return vec![
            format!("ip route replace {LINK_LOCAL_GATEWAY} dev {interface} scope link"),
            format!("ip neigh replace {LINK_LOCAL_GATEWAY} lladdr {gateway_mac} dev {interface}"),
            format!("ip route replace default via {LINK_LOCAL_GATEWAY} dev {interface}"),
        ];
    };
    let gateway = switch_address(subnet);
    vec![
        format!("ip neigh replace {gateway} lladdr {gateway_mac} dev {interface}"),
        format!("ip route replace default via {gateway} dev {interface}"),
    ]
}

/// The switch's own address: the last of the subnet but one (the last is the broadcast address).
fn switch_address(subnet: Subnet) -> Ipv4Addr {
    let size = 1u64 << (32 - u32::from(subnet.ipv4.length().min(32)));
    let offset = u32::try_from(size.saturating_sub(2)).unwrap_or(0);
    Ipv4Addr::from(u32::from(subnet.ipv4.address()).wrapping_add(offset))
}

/// The prefix length of a host's address behind switches that route.
pub(crate) fn prefix_length(topology: &Topology, id: HostId) -> u8 {
    subnet_of(topology, id).map_or(32, |subnet| subnet.ipv4.length())
}

/// `02:00:0a:00:00:01`.
#[must_use]
pub fn format_mac(bytes: [u8; 6]) -> String {
    bytes.map(|b| format!("{b:02x}")).join(":")
}
