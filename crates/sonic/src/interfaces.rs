//! What ports are called under SONiC.

use quantities::PortId;
use topology::{SwitchId, Topology};

/// How many lanes a port has where nothing says so: SONiC counts interfaces by lanes.
pub(crate) const LANES: u32 = 4;

/// The interface of a port: the name that the topology has for it, else `Ethernet0` for the first
/// port, `Ethernet4` for the second, and so on.
#[must_use]
pub fn interface(topology: &Topology, switch: SwitchId, port: PortId) -> String {
    match topology.interface(switch, port) {
        Some(name) => name.to_owned(),
        None => format!("Ethernet{}", first_lane(topology, switch, port)),
    }
}

/// The first of the lanes of a port, counted from 0.
pub(crate) fn first_lane(topology: &Topology, switch: SwitchId, port: PortId) -> u32 {
    // A switch whose ports count from 0 keeps its first lane for port 0.
    let base = u32::from(topology.peer(switch, PortId::new(0)).is_none());
    u32::from(port.get()).saturating_sub(base) * LANES
}

/// The port that an interface stands for.
#[must_use]
pub fn port_of(topology: &Topology, switch: SwitchId, name: &str) -> Option<PortId> {
    let mut ports = topology.peers(switch).map(|(port, _)| port);
    ports.find(|port| interface(topology, switch, *port) == name)
}
