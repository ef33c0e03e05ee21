//! Whether the rows of a configuration refer to what is there, and tables agree.

use crate::fault::ConfigFault;
use crate::tables::{ConfigDb, MapKind};

/// Every reference that leads nowhere.
pub(crate) fn faults(file: &str, config: &ConfigDb) -> Vec<ConfigFault> {
    let mut checks = Checks {
        file,
        config,
        faults: Vec::new(),
    };
    checks.ports();
    checks.maps();
    checks.classes();
    checks.profiles();
    checks.faults
}

struct Checks<'a> {
    file: &'a str,
    config: &'a ConfigDb,
    faults: Vec<ConfigFault>,
}

impl Checks<'_> {
    fn fault(&mut self, table: &str, key: String, problem: String) {
        self.faults.push(ConfigFault {
            file: self.file.to_owned(),
            table: table.to_owned(),
            key,
            problem,
        });
    }

    fn known(&mut self, table: &str, key: String, port: &str) {
        if !self.config.ports.contains_key(port) {
            self.fault(
                table,
                key,
                format!("there is no port `{port}` in table PORT"),
            );
        }
    }

    /// Ports that tables name. A file without `PORT` says nothing about which there are.
    fn ports(&mut self) {
        let config = self.config;
        if config.ports.is_empty() {
            return;
        }
        for port in config.neighbors.keys() {
            self.known("DEVICE_NEIGHBOR", port.clone(), port);
        }
        for port in config.cable_length.keys() {
            self.known("CABLE_LENGTH", port.clone(), port);
        }
        for port in config.port_qos.keys() {
            self.known("PORT_QOS_MAP", port.clone(), port);
        }
        for (port, group) in config.priority_groups.keys() {
            self.known("BUFFER_PG", format!("{port}|{group}"), port);
        }
        for (port, queue) in config.queues.keys() {
            self.known("BUFFER_QUEUE", format!("{port}|{queue}"), port);
        }
        for port in config.watchdog.keys() {
            self.known("PFC_WD", port.clone(), port);
        }
        for rule in &config.acl {
            for port in rule.in_ports.iter().chain(&rule.out_ports) {
                self.known("ACL_RULE", rule.name.clone(), port);
            }
        }
    }

    fn maps(&mut self) {
        let config = self.config;
        for (port, row) in &config.port_qos {
            for (kind, name) in &row.maps {
                if config.map(*kind, name).is_none() {
                    let problem = format!("there is no `{name}` in table {}", kind.table());
                    let key = format!("{port}.{}", kind.field());
                    self.fault("PORT_QOS_MAP", key, problem);
                }
            }
        }
        if let Some(name) = &config.global_dscp_to_tc
            && config.map(MapKind::DscpToTc, name).is_none()
        {
            let problem = format!("there is no `{name}` in table DSCP_TO_TC_MAP");
            self.fault("PORT_QOS_MAP", "global.dscp_to_tc_map".to_owned(), problem);
        }
    }

    /// Traffic classes that one map of a port gives and the next does not know.
    fn classes(&mut self) {
        let config = self.config;
        let mut told = std::collections::BTreeSet::new();
        for (port, row) in &config.port_qos {
            let Some(name) = row
                .maps
                .get(&MapKind::DscpToTc)
                .or(config.global_dscp_to_tc.as_ref())
            else {
                continue;
            };
            let given = config.map(MapKind::DscpToTc, name);
            for (dscp, tc) in given.into_iter().flatten() {
                for kind in [MapKind::TcToPriorityGroup, MapKind::TcToQueue] {
                    let Some(next) = row.maps.get(&kind) else {
                        continue;
                    };
                    let known = config
                        .map(kind, next)
                        .is_none_or(|map| map.contains_key(tc));
                    if !known && told.insert((name, dscp, kind, next)) {
                        let problem = format!(
                            "gives traffic class {tc}, which {} `{next}` of port `{port}` does not know",
                            kind.table()
                        );
                        self.fault("DSCP_TO_TC_MAP", format!("{name}.{dscp}"), problem);
                    }
                }
            }
        }
    }

    fn profiles(&mut self) {
        let config = self.config;
        for (name, profile) in &config.profiles {
            if !config.pools.contains_key(&profile.pool) {
                let problem = format!("there is no pool `{}` in table BUFFER_POOL", profile.pool);
                self.fault("BUFFER_PROFILE", format!("{name}.pool"), problem);
            }
        }
        let groups = config.priority_groups.iter();
        let groups = groups.filter_map(|(key, name)| Some(("BUFFER_PG", key, name.as_ref()?)));
        let queues = config.queues.iter();
        let queues = queues.map(|(key, name)| ("BUFFER_QUEUE", key, name));
        for (table, (port, number), name) in groups.chain(queues) {
            if !config.profiles.contains_key(name) {
                let problem = format!("there is no profile `{name}` in table BUFFER_PROFILE");
                self.fault(table, format!("{port}|{number}"), problem);
            }
        }
    }
}
