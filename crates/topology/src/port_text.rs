//! Ports as messages and tables name them.

use std::collections::BTreeSet;

use quantities::PortId;

use super::ids::SwitchId;
use super::model::Topology;

impl Topology {
    /// A port for a person to read: the name that the switch gives it with its number,
    /// `Ethernet1/49/1 (49)`, or the number where the topology has no name.
    #[must_use]
    pub fn port_label(&self, switch: SwitchId, port: PortId) -> String {
        port_text(self.interface(switch, port), port)
    }
}

/// A port by its name and its number, `Ethernet1/49/1 (49)`, or by its number where it has no name.
#[must_use]
pub fn port_text(interface: Option<&str>, port: PortId) -> String {
    match interface {
        Some(name) => format!("{name} ({port})"),
        None => port.to_string(),
    }
}

/// A set of ports as numbers and ranges of numbers, rising: `49-52, 54`. Two neighbours are listed
/// one by one: `1, 2`. Without ports it is `none`.
#[must_use]
pub fn port_list(ports: impl IntoIterator<Item = PortId>) -> String {
    let ports: BTreeSet<u16> = ports.into_iter().map(PortId::get).collect();
    let mut runs: Vec<(u16, u16)> = Vec::new();
    for port in ports {
        match runs.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(port) => *last = port,
            _ => runs.push((port, port)),
        }
    }
    let run = |&(first, last): &(u16, u16)| match last - first {
        0 => first.to_string(),
        1 => format!("{first}, {last}"),
        _ => format!("{first}-{last}"),
    };
    let runs: Vec<String> = runs.iter().map(run).collect();
    match runs.is_empty() {
        true => "none".to_owned(),
        false => runs.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::{Cables, Clos};

    #[test]
    fn ports_are_named_where_they_have_names() {
        let clos = Clos {
            leaves: 2,
            spines: 2,
            hosts: 1,
            parallel: 1,
            cables: Cables::default(),
        };
        let text = clos.generate().unwrap().to_json();
        let mut value: serde_json::Value = serde_json::from_str(&text).unwrap();
        let switch = &mut value["switches"][0];
        let name = switch["name"].as_str().unwrap().to_owned();
        switch["interfaces"] = serde_json::json!({ "2": "Ethernet1/49/1" });
        let topology = Topology::from_json(&value.to_string()).unwrap();
        let switch = topology.switch_named(&name).unwrap();
        assert_eq!(
            topology.port_label(switch, PortId::new(2)),
            "Ethernet1/49/1 (2)"
        );
        assert_eq!(topology.port_label(switch, PortId::new(1)), "1");
    }

    #[test]
    fn sets_of_ports_are_lists_of_ranges() {
        let list = |ports: &[u16]| port_list(ports.iter().copied().map(PortId::new));
        assert_eq!(list(&[]), "none");
        assert_eq!(list(&[54, 49, 50, 51, 52]), "49-52, 54");
        assert_eq!(list(&[1, 2]), "1, 2");
        assert_eq!(list(&[u16::MAX, 0, u16::MAX - 1]), "0, 65534, 65535");
    }
}
