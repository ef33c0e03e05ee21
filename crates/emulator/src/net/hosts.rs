//! Hosts: a namespace with an address, a gateway and known neighbours.

use std::net::{IpAddr, Ipv4Addr};
use std::process::{Command, ExitStatus, Stdio};

use linuxnet::Namespace;
use linuxnet::rtnl::Rtnl;
use topology::{HostId, NodeId, Topology};

use super::{NetLabError, interface};

/// Length of a subnet's prefix where the topology says none.
const PREFIX: u8 = 24;

/// The subnet's part of an address.
fn network(address: Ipv4Addr, prefix: u8) -> u32 {
    u32::from(address) >> (32 - u32::from(prefix.min(31)))
}

/// The highest address of a subnet that hosts may have and none of them has: the gateway.
fn gateway(topology: &Topology, address: Ipv4Addr, prefix: u8) -> Ipv4Addr {
    let broadcast = (network(address, prefix) + 1) << (32 - u32::from(prefix.min(31)));
    let taken = |a: Ipv4Addr| topology.hosts().iter().any(|h| h.ipv4 == a);
    let mut free = (1..=254).map(|i| Ipv4Addr::from(broadcast.wrapping_sub(i + 1)));
    free.find(|a| !taken(*a)).unwrap_or(address)
}

/// Gives a host its addresses, a default route, and its neighbours' Ethernet addresses.
pub(super) fn set_up(
    topology: &Topology,
    id: HostId,
    namespace: &Namespace,
) -> Result<(), NetLabError> {
    let host = topology.host(id);
    let uplinks = topology.uplinks(id);
    let Some((port, peer)) = uplinks.first() else {
        return Ok(());
    };
    let name = interface(
        topology,
        topology::Endpoint {
            node: NodeId::Host(id),
            port: *port,
        },
    );
    let gateway = gateway(topology, host.ipv4, PREFIX);
    let router = match peer.end.node {
        NodeId::Switch(switch) => topology.port_mac(switch, peer.end.port),
        NodeId::Host(other) => topology.host(other).mac,
    };
    let neighbours = topology.hosts().iter().filter(|other| {
        other.ipv4 != host.ipv4 && network(other.ipv4, PREFIX) == network(host.ipv4, PREFIX)
    });
    namespace.run(|| {
        let mut rtnl = Rtnl::open()?;
        rtnl.set_up("lo", true)?;
        rtnl.set_mac(&name, host.mac)?;
        rtnl.add_address(&name, IpAddr::V4(host.ipv4), PREFIX)?;
        for other in neighbours {
            rtnl.add_neighbour(&name, IpAddr::V4(other.ipv4), other.mac)?;
        }
        rtnl.add_neighbour(&name, IpAddr::V4(gateway), router)?;
        rtnl.add_default_route(&name, IpAddr::V4(gateway))
    })??;
    Ok(())
}

/// Runs a command in a host's namespace.
pub(super) fn run(
    namespace: &Namespace,
    words: &[String],
    silent: bool,
) -> Result<ExitStatus, NetLabError> {
    let (program, arguments) = words
        .split_first()
        .map_or(("sh", &[][..]), |(p, a)| (p.as_str(), a));
    let mut command = Command::new(program);
    command.args(arguments);
    if silent {
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
    }
    let failed = |source| NetLabError::Start {
        program: program.to_owned(),
        source,
    };
    namespace.run(|| command.status())?.map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gateway_is_in_the_subnet() {
        let address = Ipv4Addr::new(10, 0, 1, 7);
        assert_eq!(
            network(address, 24),
            network(Ipv4Addr::new(10, 0, 1, 254), 24)
        );
        assert_ne!(
            network(address, 24),
            network(Ipv4Addr::new(10, 0, 2, 7), 24)
        );
    }
}
