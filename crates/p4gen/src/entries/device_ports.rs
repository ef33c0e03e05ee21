//! Ports as a device numbers them.
//!
//! A plan numbers ports as people do, from 1; Tofino's pipelines number them by pipe and channel (9
//! bits). Where a plan's numbers are not the device's, [`DevicePorts`] says which is which. Inside
//! the fabric (one-hot bits, headers, rules of failover) ports keep the plan's numbers.

use std::collections::BTreeMap;

use quantities::PortId;

use super::Problem;
use crate::layout::PORT_BITS;

/// Which device port stands behind a port of the plan, by switch; ports that are not listed keep
/// their number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DevicePorts(BTreeMap<String, BTreeMap<PortId, u16>>);

impl DevicePorts {
    /// Every port has the number that the plan gives it.
    pub const SAME: Self = Self(BTreeMap::new());

    /// Reads `{"leaf1": {"1": 128, "2": 132}}`: device ports by switch and port of the plan.
    ///
    /// # Errors
    /// What is wrong, and where: no such JSON, a number above 511, or two ports of a switch with
    /// one device port.
    pub fn from_json(text: &str) -> Result<Self, String> {
        let map: BTreeMap<String, BTreeMap<u16, u16>> = serde_json::from_str(text)
            .map_err(|e| format!("{e}; expected {{\"SWITCH\": {{\"PORT\": DEVICE_PORT}}}}"))?;
        let limit = 1_u16 << PORT_BITS;
        for (switch, ports) in &map {
            let mut seen = BTreeMap::new();
            for (&port, &device) in ports {
                if device >= limit {
                    return Err(format!(
                        "switch `{switch}`, port {port}: device port {device} does not fit in {PORT_BITS} bits"
                    ));
                }
                if let Some(other) = seen.insert(device, port) {
                    return Err(format!(
                        "switch `{switch}`: ports {other} and {port} both have device port {device}"
                    ));
                }
            }
        }
        let ports = |ports: BTreeMap<u16, u16>| {
            ports
                .into_iter()
                .map(|(port, device)| (PortId::new(port), device))
                .collect()
        };
        Ok(Self(
            map.into_iter()
                .map(|(name, map)| (name, ports(map)))
                .collect(),
        ))
    }

    /// The device port of a switch's port.
    #[must_use]
    pub fn device(&self, switch: &str, port: PortId) -> u16 {
        let listed = self.0.get(switch).and_then(|ports| ports.get(&port));
        listed.copied().unwrap_or(port.get())
    }

    /// The switches that it speaks of.
    pub fn switches(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

/// The ports of one switch, with their device ports.
pub(crate) struct Ports(BTreeMap<PortId, u16>);

impl Ports {
    pub(crate) fn of(
        switch: &str,
        ports: impl Iterator<Item = PortId>,
        devices: &DevicePorts,
    ) -> Result<Self, Problem> {
        let map: BTreeMap<PortId, u16> = ports
            .map(|port| (port, devices.device(switch, port)))
            .collect();
        let mut seen = BTreeMap::new();
        for (port, device) in &map {
            if let Some(other) = seen.insert(device, port) {
                return Err(Problem::DevicePort {
                    ports: [other.get(), port.get()],
                    device: *device,
                });
            }
        }
        Ok(Self(map))
    }

    /// Every port with its device port.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (PortId, u16)> {
        self.0.iter().map(|(port, device)| (*port, *device))
    }

    /// The device's number of a port; a port that the switch does not have keeps its own.
    pub(crate) fn device(&self, port: PortId) -> u16 {
        self.0.get(&port).copied().unwrap_or(port.get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_ports_are_read_and_checked() {
        let ports = DevicePorts::from_json(r#"{"s1": {"1": 128, "2": 132}}"#).unwrap();
        assert_eq!(ports.device("s1", PortId::new(2)), 132);
        assert_eq!(ports.device("s1", PortId::new(3)), 3);
        assert_eq!(ports.device("s2", PortId::new(2)), 2);
        assert_eq!(ports.switches().collect::<Vec<_>>(), ["s1"]);
        let wrong = |text: &str| DevicePorts::from_json(text).unwrap_err();
        assert!(wrong(r#"{"s1": {"1": 512}}"#).contains("9 bits"));
        assert!(wrong(r#"{"s1": {"1": 5, "2": 5}}"#).contains("both"));
        assert!(wrong("[]").contains("expected"));
    }
}
