//! Tags put beside the configuration that a switch has: the operator's classes, queues, schedulers
//! and other tables stay, and what collides is refused.
//!
//! | module | what |
//! |---|---|
//! | [`base`] | the operator's configuration, without what an earlier merge has added |
//! | [`maps`] | traffic classes that are free, and the operator's maps with ours in them |
//! | [`collisions`] | traffic of the operator in codes or priorities of the plan |
//! | [`buffers`] | headroom, queues, pools: rows that suffice are kept |
//! | [`device`] | ports, cables and neighbours: the plan's and the switch's are the same |

mod base;
mod buffers;
mod collisions;
mod device;
mod maps;

use std::collections::BTreeMap;

use plan::CheckedPlan;
use quantities::PortId;
use serde_json::{Map, Value, json};
use thiserror::Error;
use topology::SwitchId;

pub use base::Base;
use base::{Rows, is_older, spelled};

use crate::assign::Shortage;
use crate::configure::{Options, Watchdog, configure};
use crate::fault::{ConfigError, ConfigFault};
use crate::interfaces::interface;
use crate::pipeline::Pipeline;
use crate::tables::{ConfigDb, MapKind};
use crate::write::{self, OF_THE_DEVICE};

/// Why a switch has no configuration.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum MergeError {
    /// The platform has too little.
    #[error(transparent)]
    Shortage(#[from] Shortage),
    /// Rows of the operator's configuration contradict the plan.
    #[error(transparent)]
    Collision(#[from] ConfigError),
}

/// The configuration of a switch as it is written.
#[derive(Clone, Debug, PartialEq)]
pub struct Configuration {
    /// All tables, as `config_db.json` has them.
    pub tables: Map<String, Value>,
    /// The JSON patch for `config apply-patch`.
    pub patch: Value,
}

/// The configuration of a switch of a plan whose tags are DSCPs: by itself, or beside the one of an
/// operator.
///
/// # Errors
/// [`MergeError`]: what the platform lacks, or every row of the operator's configuration that
/// contradicts the plan.
pub fn configuration(
    plan: &CheckedPlan,
    switch: SwitchId,
    options: &Options,
    base: Option<&Base>,
) -> Result<Configuration, MergeError> {
    let ours = configure(plan, switch, options)?;
    match base {
        None => Ok(Configuration {
            tables: write::tables(&ours),
            patch: write::patch(&ours),
        }),
        Some(base) => {
            let ports: Vec<String> = ours.port_qos.keys().cloned().collect();
            Merge::new(plan, switch, &base.for_ports(&ports)).run(options, &ours)
        }
    }
}

/// Faults by table and key, the first of each.
type Faults = BTreeMap<(String, String), String>;

/// What is merged.
struct Merge<'a> {
    plan: &'a CheckedPlan,
    switch: SwitchId,
    base: &'a Base,
    /// What the operator's maps do.
    pipeline: Pipeline,
    /// The ports of the plan with their interfaces.
    ports: Vec<(PortId, String)>,
    faults: Faults,
    /// The rows that are added or changed.
    add: ConfigDb,
}

impl<'a> Merge<'a> {
    fn new(plan: &'a CheckedPlan, switch: SwitchId, base: &'a Base) -> Self {
        let topology = plan.topology();
        let ports = topology.peers(switch);
        let ports = ports.map(|(port, _)| (port, interface(topology, switch, port)));
        Self {
            plan,
            switch,
            base,
            pipeline: Pipeline::of(&base.config),
            ports: ports.collect(),
            faults: Faults::new(),
            add: ConfigDb::default(),
        }
    }

    fn run(mut self, options: &Options, ours: &ConfigDb) -> Result<Configuration, MergeError> {
        self.device(ours);
        self.collisions();
        self.buffers(ours);
        self.watchdog(options.watchdog, ours);
        if !self.faults.is_empty() {
            return Err(self.error().into());
        }
        self.maps(options.platform, ours)?;
        let tables = self.tables();
        let text = Value::Object(tables.clone()).to_string();
        crate::read(&self.base.file, &text)?;
        let patch = patch(&self.base.given, &tables);
        Ok(Configuration { tables, patch })
    }

    /// Notes a row of the operator's configuration that contradicts the plan.
    fn fault(&mut self, table: &str, key: impl Into<String>, problem: impl Into<String>) {
        let place = (table.to_owned(), key.into());
        self.faults.entry(place).or_insert_with(|| problem.into());
    }

    fn error(self) -> ConfigError {
        let file = match self.base.shared {
            true => {
                let name = &self.plan.topology().switch(self.switch).name;
                format!("{}, for `{name}`", self.base.file)
            }
            false => self.base.file.clone(),
        };
        let faults = self.faults.into_iter();
        let faults = faults.map(|((table, key), problem)| ConfigFault {
            file: file.clone(),
            table,
            key,
            problem,
        });
        ConfigError(faults.collect())
    }

    /// The operator's watchdog stays; `net` adds the ports and priorities that it does not look at.
    fn watchdog(&mut self, watchdog: Watchdog, ours: &ConfigDb) {
        if watchdog == Watchdog::Off {
            return;
        }
        if self.base.config.watchdog_poll_ms.is_none() {
            self.add.watchdog_poll_ms = ours.watchdog_poll_ms;
        }
        for (port, row) in &ours.watchdog {
            if !self.base.config.watchdog.contains_key(port) {
                self.add.watchdog.insert(port.clone(), row.clone());
            }
        }
    }

    /// The operator's tables with the rows that are added.
    fn tables(&self) -> Rows {
        let mut tables = self.base.rows.clone();
        single_ports(&mut tables);
        let older = has_older_references(&tables);
        for (table, rows) in write::tables(&self.add) {
            let Value::Object(rows) = rows else { continue };
            let into = tables.entry(table.clone()).or_insert_with(|| json!({}));
            let Value::Object(into) = into else { continue };
            for (key, mut row) in rows {
                if older {
                    spell_older(&table, &mut row);
                }
                let key = self.key(&table, key);
                overlay(into.entry(key).or_insert_with(|| json!({})), row);
            }
        }
        let sorted: BTreeMap<String, Value> = tables.into_iter().collect();
        sorted
            .into_iter()
            .map(|(name, rows)| (name, ordered(rows)))
            .collect()
    }

    /// The key of a row: cables are listed in the operator's group.
    fn key(&self, table: &str, key: String) -> String {
        let group = match table {
            "CABLE_LENGTH" => self.base.rows.get(table).and_then(Value::as_object),
            _ => None,
        };
        let group = group.and_then(|groups| groups.keys().min());
        group.cloned().unwrap_or(key)
    }

    /// The number of a port in the operator's maps, if he has it.
    fn index(&self, port: &str) -> Option<crate::pipeline::PortIndex> {
        self.pipeline.port(port)
    }

    /// A name of the map of a kind that a port is bound to, for errors.
    fn map_name(&self, kind: MapKind, port: &str) -> String {
        self.base.bound(kind, port).unwrap_or(port).to_owned()
    }
}

/// The fields of a table that refer to rows of another one.
fn references(table: &str) -> Vec<(&'static str, &'static str)> {
    match table {
        "PORT_QOS_MAP" => {
            let kinds = MapKind::ALL.into_iter();
            kinds.map(|kind| (kind.field(), kind.table())).collect()
        }
        "BUFFER_PG" | "BUFFER_QUEUE" => vec![("profile", "BUFFER_PROFILE")],
        "BUFFER_PROFILE" => vec![("pool", "BUFFER_POOL")],
        _ => Vec::new(),
    }
}

/// Whether references are spelled as in older versions of SONiC.
fn has_older_references(tables: &Rows) -> bool {
    let mut all = tables.iter().flat_map(|(table, rows)| {
        let rows = rows.as_object().into_iter().flat_map(Map::values);
        let fields = references(table);
        rows.flat_map(move |row| {
            let texts = fields
                .iter()
                .filter_map(|(field, _)| row.get(field)?.as_str());
            texts.map(is_older).collect::<Vec<_>>()
        })
    });
    all.any(|older| older)
}

/// Spells the references of a row as older versions of SONiC do.
fn spell_older(table: &str, row: &mut Value) {
    for (field, to) in references(table) {
        if let Some(Value::String(name)) = row.get_mut(field)
            && name != "NULL"
        {
            *name = spelled(name, to, true);
        }
    }
}

/// Puts the fields of a row into another.
fn overlay(into: &mut Value, row: Value) {
    match (into, row) {
        (Value::Object(into), Value::Object(row)) => into.extend(row),
        (into, row) => *into = row,
    }
}

/// Objects with their keys in order, so that merging again changes nothing.
fn ordered(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields
                .into_iter()
                .map(|(name, value)| (name, ordered(value)));
            let fields: BTreeMap<String, Value> = fields.collect();
            Value::Object(fields.into_iter().collect())
        }
        other => other,
    }
}

/// A row of `PORT_QOS_MAP` for each port: a key may name several.
fn single_ports(tables: &mut Rows) {
    let rows = tables
        .get_mut("PORT_QOS_MAP")
        .and_then(Value::as_object_mut);
    let Some(rows) = rows else { return };
    let mut single = Rows::new();
    for (key, row) in std::mem::take(rows) {
        for port in crate::read::ports_of(&key) {
            single.insert(port.to_owned(), row.clone());
        }
    }
    *rows = single;
}

/// The JSON patch from one configuration to another: tables that differ take the place of the
/// switch's own.
fn patch(from: &Rows, to: &Rows) -> Value {
    let device = |name: &&String| OF_THE_DEVICE.contains(&name.as_str());
    let changed = to.iter().filter(|(name, _)| !device(name));
    let changed = changed.filter(|(name, rows)| from.get(*name) != Some(rows));
    let changed =
        changed.map(|(name, rows)| json!({"op": "add", "path": format!("/{name}"), "value": rows}));
    let gone = from.keys().filter(|name| !to.contains_key(*name));
    let gone = gone.map(|name| json!({"op": "remove", "path": format!("/{name}")}));
    Value::Array(changed.chain(gone).collect())
}
