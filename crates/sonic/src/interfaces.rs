//! What ports are called under SONiC.

use quantities::PortId;
use topology::{SwitchId, Topology};

/// How many lanes a port has where nothing says so: SONiC counts interfaces by lanes.
pub(crate) const LANES: u32 = 4;

/// The interface of a port: the name that the topology has for it, else `Ethernet0` for the first
/// port, `Ethernet4` for the second, and so on, but no name that another port of the switch has.
#[must_use]
pub fn interface(topology: &Topology, switch: SwitchId, port: PortId) -> String {
    if let Some(name) = topology.interface(switch, port) {
        return name.to_owned();
    }
    let about = topology.switch(switch);
    let taken = |name: &String| about.interfaces.values().any(|other| other == name);
    let first = first_lane(topology, switch, port);
    // Lanes behind those of all ports, so that no two ports without a name get the same.
    let all = (u32::from(about.ports) + 1) * LANES;
    let lane = |round: u32| first.saturating_add(round.saturating_mul(all));
    let names = (0..).map(|round: u32| format!("Ethernet{}", lane(round)));
    let mut free = names
        .take(about.interfaces.len() + 1)
        .filter(|name| !taken(name));
    free.next().unwrap_or_else(|| format!("Ethernet{first}"))
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use topology::import::{ImportOptions, import};

    use super::*;

    #[test]
    fn a_port_without_a_name_takes_none_of_the_operator() {
        // Port 2 would be Ethernet4, and port 3 Ethernet8; both are names of other ports.
        let links =
            "a,a_port,b\nx,1,h1\nx,2,h2\nx,3,h3\nx,Ethernet4,h4\nx,Ethernet8,h5\nx,et-0/0/1:1,h6\n";
        let topology = import(links, &ImportOptions::default()).unwrap().topology;
        let switch = SwitchId::new(0);
        let ports = topology.peers(switch).map(|(port, _)| port);
        let names: Vec<String> = ports
            .map(|port| interface(&topology, switch, port))
            .collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), 6, "{names:?}");
        assert_eq!(names[0], "Ethernet0");
        for name in ["Ethernet4", "Ethernet8", "et-0/0/1:1"] {
            let port = port_of(&topology, switch, name).unwrap();
            assert_eq!(topology.interface(switch, port), Some(name));
        }
    }
}
