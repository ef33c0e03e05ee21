//! The device and its cables: the plan's and the switch's must be the same.

use super::Merge;
use crate::tables::ConfigDb;

impl Merge<'_> {
    pub(super) fn device(&mut self, ours: &ConfigDb) {
        self.hostname(ours);
        let names: Vec<String> = self.ports.iter().map(|(_, name)| name.clone()).collect();
        for port in &names {
            self.port(port, ours);
            self.cable(port, ours);
            self.neighbor(port, ours);
        }
    }

    fn hostname(&mut self, ours: &ConfigDb) {
        let base = self.base;
        match (&base.config.hostname, &ours.hostname) {
            (Some(given), Some(name)) if given != name && !base.shared => {
                let problem = format!("the device is `{given}`, the plan's switch is `{name}`");
                self.fault("DEVICE_METADATA", "localhost.hostname", problem);
            }
            _ => self.add.hostname.clone_from(&ours.hostname),
        }
    }

    fn port(&mut self, port: &str, ours: &ConfigDb) {
        let base = &self.base.config;
        let Some(own) = ours.ports.get(port) else {
            return;
        };
        if base.ports.is_empty() {
            self.add.ports.insert(port.to_owned(), own.clone());
            return;
        }
        match (base.ports.get(port).map(|row| row.speed), own.speed) {
            (None, _) => {
                let problem = "the plan has this port and the configuration does not: plan with \
                     the names of the switch's interfaces (`topo import`)";
                self.fault("PORT", port, problem);
            }
            (Some(Some(given)), Some(planned)) if given != planned => {
                let problem = format!(
                    "{given} Mb/s, but the plan has {planned} Mb/s: correct the rate in the topology, or the row"
                );
                self.fault("PORT", format!("{port}.speed"), problem);
            }
            _ => {}
        }
    }

    fn cable(&mut self, port: &str, ours: &ConfigDb) {
        let Some(&planned) = ours.cable_length.get(port) else {
            return;
        };
        match self.base.config.cable_length.get(port) {
            None => {
                self.add.cable_length.insert(port.to_owned(), planned);
            }
            Some(given) if *given != planned => {
                let problem = format!(
                    "{given}m, but the plan has {planned}m: correct the length in the topology, or the row"
                );
                self.fault("CABLE_LENGTH", port, problem);
            }
            Some(_) => {}
        }
    }

    fn neighbor(&mut self, port: &str, ours: &ConfigDb) {
        let Some(planned) = ours.neighbors.get(port) else {
            return;
        };
        match self.base.config.neighbors.get(port) {
            None => {
                self.add.neighbors.insert(port.to_owned(), planned.clone());
            }
            Some(given) if given.name != planned.name => {
                let problem = format!(
                    "leads to `{}`, but in the plan to `{}`: correct the topology, or the row",
                    given.name, planned.name
                );
                self.fault("DEVICE_NEIGHBOR", format!("{port}.name"), problem);
            }
            Some(_) => {}
        }
    }
}
