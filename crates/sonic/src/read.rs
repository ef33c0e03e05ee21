//! `config_db.json` read: every row that matters is typed, every fault is told by file, table and
//! key.
//!
//! Tables that decide nothing about lossless traffic are passed over.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::fault::{ConfigError, ConfigFault};
use crate::platform::{HIGHEST_DSCP, HIGHEST_PG, HIGHEST_QUEUE, HIGHEST_TC};
use crate::references;
use crate::tables::{
    AclRule, ConfigDb, MapKind, NeighborRow, NumberMap, PoolRow, PoolSide, PortQosRow, PortRow,
    ProfileRow, WatchdogRow,
};

/// The largest file that is read, in bytes.
pub const FILE_BYTES_MAX: usize = 64 << 20;

/// Reads a configuration.
///
/// # Errors
/// Every fault that was found.
pub fn read(file: &str, text: &str) -> Result<ConfigDb, ConfigError> {
    let whole = |problem: String| {
        ConfigError(vec![ConfigFault {
            file: file.to_owned(),
            table: String::new(),
            key: String::new(),
            problem,
        }])
    };
    if text.len() > FILE_BYTES_MAX {
        let size = text.len();
        return Err(whole(format!(
            "has {size} bytes; at most {FILE_BYTES_MAX} are read"
        )));
    }
    let text = text.trim_start_matches('\u{feff}');
    let value: Value = serde_json::from_str(text).map_err(|e| whole(format!("no JSON: {e}")))?;
    let Value::Object(root) = value else {
        return Err(whole(
            "is no object of tables, as config_db.json is".to_owned(),
        ));
    };
    let mut reader = Reader {
        file,
        root: &root,
        host: None,
        faults: Vec::new(),
    };
    let config = reader.config();
    let mut faults = reader.faults;
    if faults.is_empty() {
        faults = references::faults(file, &config);
    }
    if faults.is_empty() {
        Ok(config)
    } else {
        Err(ConfigError(faults))
    }
}

type Row = Map<String, Value>;

struct Reader<'a> {
    file: &'a str,
    root: &'a Row,
    /// The name of the device, if it is said.
    host: Option<String>,
    faults: Vec<ConfigFault>,
}

impl<'a> Reader<'a> {
    fn config(&mut self) -> ConfigDb {
        let mut config = ConfigDb::default();
        let local = self
            .rows("DEVICE_METADATA")
            .into_iter()
            .find(|(key, _)| *key == "localhost");
        if let Some((key, row)) = local {
            let table = "DEVICE_METADATA";
            config.hostname = self.text(table, key, row, "hostname");
            let model = self.text(table, key, row, "buffer_model");
            config.dynamic_buffers = model.as_deref() == Some("dynamic");
            self.host.clone_from(&config.hostname);
        }
        self.ports(&mut config);
        self.cable_lengths(&mut config);
        for kind in MapKind::ALL {
            let maps = self.maps(kind);
            config.maps.insert(kind, maps);
        }
        self.port_qos(&mut config);
        self.buffers(&mut config);
        self.watchdog(&mut config);
        self.acl(&mut config);
        self.unfollowed(&mut config);
        config
    }

    fn fault(&mut self, table: &str, key: &str, problem: impl Into<String>) {
        self.faults.push(ConfigFault {
            file: self.file.to_owned(),
            table: table.to_owned(),
            key: key.to_owned(),
            problem: problem.into(),
        });
    }

    /// The rows of a table; none if it is not there.
    fn rows(&mut self, table: &str) -> Vec<(&'a str, &'a Row)> {
        let rows = match self.root.get(table) {
            None => return Vec::new(),
            Some(Value::Object(rows)) => rows,
            Some(_) => {
                self.fault(table, "", "is no object of rows");
                return Vec::new();
            }
        };
        let mut typed = Vec::with_capacity(rows.len());
        for (key, row) in rows {
            match row {
                Value::Object(row) => typed.push((key.as_str(), row)),
                _ => self.fault(table, key, "is no object of fields"),
            }
        }
        typed
    }

    fn scalar(value: &Value) -> Option<String> {
        match value {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        }
    }

    fn text(&mut self, table: &str, key: &str, row: &Row, field: &str) -> Option<String> {
        let value = row.get(field)?;
        let text = Self::scalar(value);
        if text.is_none() {
            self.fault(table, &format!("{key}.{field}"), "is no text");
        }
        text
    }

    fn number<T: std::str::FromStr>(
        &mut self,
        table: &str,
        key: &str,
        row: &Row,
        field: &str,
    ) -> Option<T> {
        let text = self.text(table, key, row, field)?;
        let number = text.parse().ok();
        if number.is_none() {
            let problem = format!("`{text}` is not a number that fits here");
            self.fault(table, &format!("{key}.{field}"), problem);
        }
        number
    }

    fn bounded(&mut self, table: &str, key: &str, text: &str, what: &str, most: u8) -> Option<u8> {
        let number = text.parse::<u8>().ok().filter(|n| *n <= most);
        if number.is_none() {
            let problem = format!("`{text}` is no {what}: they are numbers from 0 to {most}");
            self.fault(table, key, problem);
        }
        number
    }

    fn ports(&mut self, config: &mut ConfigDb) {
        for (key, row) in self.rows("PORT") {
            let port = PortRow {
                speed: self.number("PORT", key, row, "speed"),
                lanes: self.text("PORT", key, row, "lanes"),
                alias: self.text("PORT", key, row, "alias"),
            };
            config.ports.insert(key.to_owned(), port);
        }
        for (key, row) in self.rows("DEVICE_NEIGHBOR") {
            let Some(name) = self.text("DEVICE_NEIGHBOR", key, row, "name") else {
                continue;
            };
            let port = self.text("DEVICE_NEIGHBOR", key, row, "port");
            config
                .neighbors
                .insert(key.to_owned(), NeighborRow { name, port });
        }
    }

    fn cable_lengths(&mut self, config: &mut ConfigDb) {
        let table = "CABLE_LENGTH";
        for (group, row) in self.rows(table) {
            for (port, value) in row {
                let key = format!("{group}.{port}");
                let text = Self::scalar(value).unwrap_or_default();
                let Some(metres) = text.strip_suffix('m').and_then(|n| n.parse().ok()) else {
                    self.fault(table, &key, format!("`{text}` is no length such as `40m`"));
                    continue;
                };
                let before = config.cable_length.insert(port.clone(), metres);
                if before.is_some_and(|before| before != metres) {
                    let before = before.unwrap_or_default();
                    let problem = format!(
                        "{metres} m, but another group says {before} m of the same port: keep one"
                    );
                    self.fault(table, &key, problem);
                }
            }
        }
    }

    fn maps(&mut self, kind: MapKind) -> BTreeMap<String, NumberMap> {
        let table = kind.table();
        let ((from, from_most), (to, to_most)) = (kind.from(), kind.to());
        let mut maps = BTreeMap::new();
        for (name, row) in self.rows(table) {
            let mut map = NumberMap::new();
            for (field, value) in row {
                let key = format!("{name}.{field}");
                let value = Self::scalar(value).unwrap_or_default();
                let from = self.bounded(table, &key, field, from, from_most);
                let to = self.bounded(table, &key, &value, to, to_most);
                if let (Some(from), Some(to)) = (from, to) {
                    map.insert(from, to);
                }
            }
            maps.insert(name.to_owned(), map);
        }
        maps
    }

    /// A list such as `3,4`.
    fn priorities(&mut self, key: &str, row: &Row, field: &str) -> BTreeSet<u8> {
        let table = "PORT_QOS_MAP";
        let text = self.text(table, key, row, field).unwrap_or_default();
        let items = text
            .split(',')
            .map(str::trim)
            .filter(|item| !item.is_empty());
        let place = format!("{key}.{field}");
        items
            .filter_map(|item| self.bounded(table, &place, item, "priority", HIGHEST_PG))
            .collect()
    }

    fn port_qos(&mut self, config: &mut ConfigDb) {
        let table = "PORT_QOS_MAP";
        for (key, row) in self.rows(table) {
            let mut qos = PortQosRow::default();
            for kind in MapKind::ALL {
                if let Some(name) = self.text(table, key, row, kind.field()) {
                    qos.maps.insert(kind, reference(&name));
                }
            }
            qos.pfc_enable = self.priorities(key, row, "pfc_enable");
            qos.watchdog = self.priorities(key, row, "pfcwd_sw_enable");
            if key == "global" {
                config.global_dscp_to_tc = qos.maps.remove(&MapKind::DscpToTc);
                continue;
            }
            for port in ports_of(key) {
                config.port_qos.insert(port.to_owned(), qos.clone());
            }
        }
    }

    /// What decides about classes beside the maps that are read.
    fn unfollowed(&mut self, config: &mut ConfigDb) {
        for (key, row) in self.rows("PORT_QOS_MAP") {
            let enabled = row.get("pfc_enable").and_then(Value::as_str);
            let lossless = enabled.is_some_and(|list| !list.trim().is_empty());
            if lossless && row.contains_key("dot1p_to_tc_map") {
                let what = format!("`{key}` maps 802.1p priorities to traffic classes");
                config.unfollowed.push(what);
            }
        }
        for (key, row) in self.rows("TUNNEL") {
            if row.keys().any(|field| field.ends_with("_map")) {
                let what = format!("tunnel `{key}` has maps of its own");
                config.unfollowed.push(what);
            }
        }
    }

    fn buffers(&mut self, config: &mut ConfigDb) {
        let table = "BUFFER_POOL";
        for (key, row) in self.rows(table) {
            let pool = PoolRow {
                side: match self.text(table, key, row, "type").as_deref() {
                    Some("egress") => PoolSide::Egress,
                    Some("both") => PoolSide::Both,
                    _ => PoolSide::Ingress,
                },
                dynamic: self.text(table, key, row, "mode").as_deref() == Some("dynamic"),
                size: self.number(table, key, row, "size"),
                xoff: self.number(table, key, row, "xoff").unwrap_or_default(),
            };
            config.pools.insert(key.to_owned(), pool);
        }
        let table = "BUFFER_PROFILE";
        for (key, row) in self.rows(table) {
            let pool = self.text(table, key, row, "pool");
            if pool.is_none() {
                self.fault(table, key, "names no pool");
            }
            let profile = ProfileRow {
                pool: reference(&pool.unwrap_or_default()),
                size: self.number(table, key, row, "size").unwrap_or_default(),
                xon: self.number(table, key, row, "xon"),
                xon_offset: self.number(table, key, row, "xon_offset"),
                xoff: self.number(table, key, row, "xoff"),
                dynamic_th: self.number(table, key, row, "dynamic_th"),
                static_th: self.number(table, key, row, "static_th"),
            };
            config.profiles.insert(key.to_owned(), profile);
        }
        config.priority_groups = self.by_number("BUFFER_PG", "priority group", HIGHEST_PG);
        let queues = self.by_number("BUFFER_QUEUE", "queue", HIGHEST_QUEUE);
        let named = queues.into_iter();
        config.queues = named.filter_map(|(key, name)| Some((key, name?))).collect();
    }

    /// Rows such as `Ethernet0|3-4`, each with its profile.
    fn by_number(
        &mut self,
        table: &str,
        what: &str,
        most: u8,
    ) -> BTreeMap<(String, u8), Option<String>> {
        let mut found: BTreeMap<(String, u8), Option<String>> = BTreeMap::new();
        for (key, row) in self.rows(table) {
            let Some((ports, range)) = key.rsplit_once('|') else {
                self.fault(table, key, "is no `PORT|NUMBER` or `PORT|FIRST-LAST`");
                continue;
            };
            let Some(ports) = self.own(ports) else {
                continue;
            };
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let first = self.bounded(table, key, first, what, most);
            let last = self.bounded(table, key, last, what, most);
            let (Some(first), Some(last)) = (first, last) else {
                continue;
            };
            let Some(profile) = self.text(table, key, row, "profile") else {
                self.fault(table, key, "names no profile");
                continue;
            };
            let profile = Some(reference(&profile)).filter(|name| name != "NULL");
            for port in ports_of(ports) {
                for number in first..=last {
                    let place = (port.to_owned(), number);
                    let before = found.insert(place, profile.clone());
                    if before.is_some_and(|before| before != profile) {
                        let problem = format!(
                            "{what} {number} of `{port}` stands in two rows with different profiles: keep one"
                        );
                        self.fault(table, key, problem);
                    }
                }
            }
        }
        found
    }

    /// The ports of a key. A chassis names host and chip as well (`linecard1|asic0|Ethernet0`):
    /// none if it is another host.
    fn own<'k>(&self, ports: &'k str) -> Option<&'k str> {
        match ports.split_once('|') {
            None => Some(ports),
            Some((host, rest)) => {
                let own = self.host.as_deref() == Some(host);
                own.then(|| rest.rsplit('|').next().unwrap_or(rest))
            }
        }
    }

    fn watchdog(&mut self, config: &mut ConfigDb) {
        let table = "PFC_WD";
        for (key, row) in self.rows(table) {
            if key == "GLOBAL" {
                config.watchdog_poll_ms = self.number(table, key, row, "POLL_INTERVAL");
                continue;
            }
            let action = self.text(table, key, row, "action");
            let action = action.unwrap_or_else(|| "drop".to_owned());
            if !["drop", "forward", "alert"].contains(&action.as_str()) {
                let problem = format!("`{action}` is none of drop, forward, alert");
                self.fault(table, &format!("{key}.action"), problem);
            }
            let row = WatchdogRow {
                action,
                detection_ms: self.number(table, key, row, "detection_time"),
                restoration_ms: self.number(table, key, row, "restoration_time"),
            };
            config.watchdog.insert(key.to_owned(), row);
        }
    }

    fn acl(&mut self, config: &mut ConfigDb) {
        let table = "ACL_RULE";
        for (key, row) in self.rows(table) {
            if !row.contains_key("TC_ACTION") {
                continue;
            }
            let ports = |text: Option<String>| -> BTreeSet<String> {
                let text = text.unwrap_or_default();
                let names = text.split(',').map(str::trim).filter(|n| !n.is_empty());
                names.map(str::to_owned).collect()
            };
            let dscp = self.text(table, key, row, "DSCP").unwrap_or_default();
            let tc = self.text(table, key, row, "TC_ACTION").unwrap_or_default();
            let in_ports = ports(self.text(table, key, row, "IN_PORTS"));
            let out_ports = ports(self.text(table, key, row, "OUT_PORTS"));
            let priority = self.number(table, key, row, "PRIORITY").unwrap_or_default();
            let dscp = self.bounded(table, &format!("{key}.DSCP"), &dscp, "DSCP", HIGHEST_DSCP);
            let place = format!("{key}.TC_ACTION");
            let tc = self.bounded(table, &place, &tc, "traffic class", HIGHEST_TC);
            if let (Some(dscp), Some(tc)) = (dscp, tc) {
                config.acl.push(AclRule {
                    name: key.to_owned(),
                    priority,
                    in_ports,
                    out_ports,
                    dscp,
                    tc,
                });
            }
        }
    }
}

/// The ports that a key names: SONiC's templates write a key without any for a device without
/// neighbours.
pub(crate) fn ports_of(key: &str) -> impl Iterator<Item = &str> {
    key.split(',')
        .map(str::trim)
        .filter(|port| !port.is_empty())
}

/// The name in a reference: `AZURE`, or `[DSCP_TO_TC_MAP|AZURE]` as older configurations have it.
pub(crate) fn reference(text: &str) -> String {
    let inner = text.trim().trim_start_matches('[').trim_end_matches(']');
    inner.rsplit('|').next().unwrap_or(inner).to_owned()
}
