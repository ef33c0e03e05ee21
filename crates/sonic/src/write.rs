//! Tables written as `config_db.json` has them, and as the JSON patch that puts them into a running
//! switch.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use crate::tables::{ConfigDb, MapKind, NumberMap};

/// The group of `CABLE_LENGTH` that SONiC's buffer manager reads.
const CABLE_GROUP: &str = "AZURE";
/// The table of our ACL rules, and its type.
pub(crate) const ACL_TABLE: &str = "SWITCHWRIGHT";
pub(crate) const ACL_TYPE: &str = "SWITCHWRIGHT_TC";
/// What the names of maps of ours have in them.
pub(crate) const MARK: &str = "SWITCHWRIGHT";

/// Tables that say what the device is and what it is plugged into. They are in the whole
/// configuration and not in the patch: a running switch has its own.
pub(crate) const OF_THE_DEVICE: [&str; 3] = ["DEVICE_METADATA", "PORT", "DEVICE_NEIGHBOR"];

/// All tables, as `config_db.json` has them.
#[must_use]
pub fn tables(config: &ConfigDb) -> Map<String, Value> {
    let mut tables = Map::new();
    let mut put = |name: &str, rows: Map<String, Value>| {
        // SONiC's configuration knows no empty table.
        if !rows.is_empty() {
            tables.insert(name.to_owned(), Value::Object(rows));
        }
    };
    put("DEVICE_METADATA", metadata(config));
    put("PORT", ports(config));
    put("DEVICE_NEIGHBOR", neighbors(config));
    put("CABLE_LENGTH", cable_length(config));
    for kind in MapKind::ALL {
        let maps = config.maps.get(&kind).into_iter().flatten();
        let row = |(name, map): (&String, &NumberMap)| (name.clone(), number_map(map));
        put(kind.table(), maps.map(row).collect());
    }
    put("PORT_QOS_MAP", port_qos(config));
    put("BUFFER_POOL", pools(config));
    put("BUFFER_PROFILE", profiles(config));
    let groups = config.priority_groups.iter();
    let groups = groups.map(|(key, profile)| (key, profile.as_deref().unwrap_or("NULL")));
    put("BUFFER_PG", by_number(groups));
    let queues = config.queues.iter();
    put(
        "BUFFER_QUEUE",
        by_number(queues.map(|(key, profile)| (key, profile.as_str()))),
    );
    put("PFC_WD", watchdog(config));
    if !config.acl.is_empty() {
        put("ACL_TABLE_TYPE", acl_type());
        put("ACL_TABLE", acl_table(config));
        put("ACL_RULE", acl_rules(config));
    }
    tables
}

/// The JSON patch (RFC 6902) for `config apply-patch`: each table of ours takes the place of the
/// switch's own.
#[must_use]
pub fn patch(config: &ConfigDb) -> Value {
    let mine = tables(config).into_iter();
    let mine = mine.filter(|(name, _)| !OF_THE_DEVICE.contains(&name.as_str()));
    let operation = |(name, rows)| json!({"op": "add", "path": format!("/{name}"), "value": rows});
    Value::Array(mine.map(operation).collect())
}

fn row(fields: impl IntoIterator<Item = (&'static str, Option<String>)>) -> Value {
    let given = fields.into_iter();
    let given = given.filter_map(|(name, value)| Some((name.to_owned(), Value::String(value?))));
    Value::Object(given.collect())
}

fn text(value: impl ToString) -> Option<String> {
    Some(value.to_string())
}

fn number_map(map: &NumberMap) -> Value {
    let row = |(from, to): (&u8, &u8)| (from.to_string(), Value::String(to.to_string()));
    Value::Object(map.iter().map(row).collect())
}

fn metadata(config: &ConfigDb) -> Map<String, Value> {
    let local = config.hostname.iter();
    local
        .map(|name| ("localhost".to_owned(), row([("hostname", text(name))])))
        .collect()
}

fn ports(config: &ConfigDb) -> Map<String, Value> {
    let each = config.ports.iter().map(|(name, port)| {
        let fields = [
            ("alias", port.alias.clone()),
            ("lanes", port.lanes.clone()),
            ("speed", port.speed.map(|speed| speed.to_string())),
        ];
        (name.clone(), row(fields))
    });
    each.collect()
}

fn neighbors(config: &ConfigDb) -> Map<String, Value> {
    let each = config.neighbors.iter().map(|(port, neighbor)| {
        let fields = [
            ("name", text(&neighbor.name)),
            ("port", neighbor.port.clone()),
        ];
        (port.clone(), row(fields))
    });
    each.collect()
}

fn cable_length(config: &ConfigDb) -> Map<String, Value> {
    let each = config.cable_length.iter();
    let lengths: Map<String, Value> = each
        .map(|(port, metres)| (port.clone(), Value::String(format!("{metres}m"))))
        .collect();
    match lengths.is_empty() {
        true => Map::new(),
        false => [(CABLE_GROUP.to_owned(), Value::Object(lengths))]
            .into_iter()
            .collect(),
    }
}

fn list(numbers: &BTreeSet<u8>) -> Option<String> {
    let numbers: Vec<String> = numbers.iter().map(u8::to_string).collect();
    (!numbers.is_empty()).then(|| numbers.join(","))
}

fn port_qos(config: &ConfigDb) -> Map<String, Value> {
    let each = config.port_qos.iter().map(|(port, qos)| {
        let maps = qos.maps.iter();
        let maps = maps.map(|(kind, name)| (kind.field(), text(name)));
        let lists = [
            ("pfc_enable", list(&qos.pfc_enable)),
            ("pfcwd_sw_enable", list(&qos.watchdog)),
        ];
        (port.clone(), row(maps.chain(lists)))
    });
    let global = config.global_dscp_to_tc.iter();
    let global = global.map(|name| ("global".to_owned(), row([("dscp_to_tc_map", text(name))])));
    each.chain(global).collect()
}

fn pools(config: &ConfigDb) -> Map<String, Value> {
    let each = config.pools.iter().map(|(name, pool)| {
        let (kind, mode) = (
            pool.side.name(),
            if pool.dynamic { "dynamic" } else { "static" },
        );
        let fields = [
            ("type", text(kind)),
            ("mode", text(mode)),
            ("size", pool.size.map(|size| size.to_string())),
            ("xoff", (pool.xoff > 0).then(|| pool.xoff.to_string())),
        ];
        (name.clone(), row(fields))
    });
    each.collect()
}

fn profiles(config: &ConfigDb) -> Map<String, Value> {
    let each = config.profiles.iter().map(|(name, profile)| {
        let fields = [
            ("pool", text(&profile.pool)),
            ("size", text(profile.size)),
            ("xon", profile.xon.map(|n| n.to_string())),
            ("xon_offset", profile.xon_offset.map(|n| n.to_string())),
            ("xoff", profile.xoff.map(|n| n.to_string())),
            ("dynamic_th", profile.dynamic_th.map(|n| n.to_string())),
            ("static_th", profile.static_th.map(|n| n.to_string())),
        ];
        (name.clone(), row(fields))
    });
    each.collect()
}

fn by_number<'a>(rows: impl Iterator<Item = (&'a (String, u8), &'a str)>) -> Map<String, Value> {
    rows.map(|((port, number), profile)| {
        let key = format!("{port}|{number}");
        (key, row([("profile", text(profile))]))
    })
    .collect()
}

fn watchdog(config: &ConfigDb) -> Map<String, Value> {
    let poll = config.watchdog_poll_ms.iter();
    let global = poll.map(|ms| ("GLOBAL".to_owned(), row([("POLL_INTERVAL", text(ms))])));
    let each = config.watchdog.iter().map(|(port, watchdog)| {
        let fields = [
            ("action", text(&watchdog.action)),
            (
                "detection_time",
                watchdog.detection_ms.map(|n| n.to_string()),
            ),
            (
                "restoration_time",
                watchdog.restoration_ms.map(|n| n.to_string()),
            ),
        ];
        (port.clone(), row(fields))
    });
    each.chain(global).collect()
}

fn acl_type() -> Map<String, Value> {
    let kind = json!({
        "MATCHES": ["IN_PORTS", "OUT_PORTS", "DSCP"],
        "ACTIONS": ["TC_ACTION"],
        "BIND_POINTS": ["PORT"],
    });
    [(ACL_TYPE.to_owned(), kind)].into_iter().collect()
}

fn acl_table(config: &ConfigDb) -> Map<String, Value> {
    let ports: Vec<&String> = config.port_qos.keys().collect();
    let table = json!({
        "type": ACL_TYPE,
        "policy_desc": "tags, where traffic classes do not suffice",
        "stage": "ingress",
        "ports": ports,
    });
    [(ACL_TABLE.to_owned(), table)].into_iter().collect()
}

fn acl_rules(config: &ConfigDb) -> Map<String, Value> {
    let ports = |names: &BTreeSet<String>| {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        text(names.join(","))
    };
    let each = config.acl.iter().map(|rule| {
        let fields = [
            ("PRIORITY", text(rule.priority)),
            ("IN_PORTS", ports(&rule.in_ports)),
            ("OUT_PORTS", ports(&rule.out_ports)),
            ("DSCP", text(rule.dscp)),
            ("TC_ACTION", text(rule.tc)),
        ];
        (rule.name.clone(), row(fields))
    });
    each.collect()
}

/// The key of an ACL rule of ours.
#[must_use]
pub(crate) fn acl_key(number: usize) -> String {
    format!("{ACL_TABLE}|RULE_{number}")
}

/// Names for maps: equal maps share one.
pub(crate) struct Names {
    prefix: String,
    names: BTreeMap<NumberMap, String>,
}

impl Names {
    pub(crate) fn new(prefix: impl Into<String>) -> Self {
        Self {
            prefix: prefix.into(),
            names: BTreeMap::new(),
        }
    }

    /// The name of a map: the first is `PREFIX_1`.
    pub(crate) fn name(&mut self, map: NumberMap) -> String {
        let next = self.names.len() + 1;
        let made = || format!("{}_{next}", self.prefix);
        self.names.entry(map).or_insert_with(made).clone()
    }

    /// The maps by name.
    pub(crate) fn maps(self) -> BTreeMap<String, NumberMap> {
        self.names
            .into_iter()
            .map(|(map, name)| (name, map))
            .collect()
    }
}
