//! An operator's configuration, as it is before tags are put beside it.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use crate::fault::{ConfigError, ConfigFault};
use crate::read::reference;
use crate::tables::{ConfigDb, MapKind, PortQosRow};
use crate::write::{ACL_TABLE, ACL_TYPE, MARK};

/// Rows of a table, or fields of a row.
pub(super) type Rows = Map<String, Value>;

/// The configuration of an operator: what tags are put beside.
#[derive(Clone, Debug)]
pub struct Base {
    /// The file, for errors.
    pub(super) file: String,
    /// Whether it is one file for all switches.
    pub(super) shared: bool,
    /// The tables as they were given.
    pub(super) given: Rows,
    /// The tables without what an earlier merge has added to maps and ACL rules.
    pub(super) rows: Rows,
    /// The same, typed.
    pub(super) config: ConfigDb,
}

impl Base {
    /// Reads a configuration. One that is `shared` is for all switches, so it names none.
    ///
    /// # Errors
    /// Every fault that was found.
    pub fn read(file: &str, text: &str, shared: bool) -> Result<Self, ConfigError> {
        crate::read(file, text)?;
        let text = text.trim_start_matches('\u{feff}');
        let whole = |e: serde_json::Error| {
            ConfigError(vec![ConfigFault {
                file: file.to_owned(),
                table: String::new(),
                key: String::new(),
                problem: format!("no JSON: {e}"),
            }])
        };
        let given: Rows = serde_json::from_str(text).map_err(whole)?;
        let rows = without_ours(given.clone());
        let config = crate::read(file, &Value::Object(rows.clone()).to_string())?;
        Ok(Self {
            file: file.to_owned(),
            shared,
            given,
            rows,
            config,
        })
    }

    /// The same with a row of `PORT_QOS_MAP` for each of these ports. One file for all switches
    /// does not know their ports: one without a row is bound to the map of each kind, where there
    /// is no choice.
    pub(super) fn for_ports(&self, ports: &[String]) -> Cow<'_, Self> {
        if !self.shared {
            return Cow::Borrowed(self);
        }
        let only = |kind: MapKind| {
            let mut maps = self.config.maps.get(&kind)?.keys();
            let name = maps.next()?.clone();
            maps.next().is_none().then_some((kind, name))
        };
        let row = PortQosRow {
            maps: MapKind::ALL.into_iter().filter_map(only).collect(),
            ..PortQosRow::default()
        };
        let fields = row.maps.iter();
        let fields = fields.map(|(kind, name)| (kind.field().to_owned(), json!(name)));
        let fields: Rows = fields.collect();
        let mut whole = self.clone();
        for port in ports
            .iter()
            .filter(|port| !self.config.port_qos.contains_key(*port))
        {
            whole.config.port_qos.insert(port.clone(), row.clone());
            let rows = whole
                .rows
                .entry("PORT_QOS_MAP")
                .or_insert_with(|| json!({}));
            if let Value::Object(rows) = rows {
                rows.insert(port.clone(), Value::Object(fields.clone()));
            }
        }
        Cow::Owned(whole)
    }

    /// The map of a kind that a port is bound to, by name.
    pub(super) fn bound(&self, kind: MapKind, port: &str) -> Option<&str> {
        let row = self.config.port_qos.get(port);
        let own = row.and_then(|row| row.maps.get(&kind));
        let global = match kind {
            MapKind::DscpToTc => self.config.global_dscp_to_tc.as_ref(),
            _ => None,
        };
        own.or(global).map(String::as_str)
    }
}

/// The name of the map from which an earlier merge has made this one: none if it is no map of ours,
/// an empty name if there was no map before.
fn made_from(name: &str) -> Option<&str> {
    let at = name.find(MARK)?;
    Some(name[..at].trim_end_matches('_'))
}

/// The tables without maps and ACL rules of ours; ports are bound to the maps from which ours were
/// made.
fn without_ours(mut tables: Rows) -> Rows {
    for kind in MapKind::ALL {
        retain(&mut tables, kind.table(), |name| made_from(name).is_none());
    }
    retain(&mut tables, "ACL_TABLE", |name| name != ACL_TABLE);
    retain(&mut tables, "ACL_TABLE_TYPE", |name| name != ACL_TYPE);
    let rule = format!("{ACL_TABLE}|");
    retain(&mut tables, "ACL_RULE", |name| !name.starts_with(&rule));
    let ports = tables
        .get_mut("PORT_QOS_MAP")
        .and_then(Value::as_object_mut);
    for row in ports.into_iter().flat_map(|rows| rows.values_mut()) {
        let Some(row) = row.as_object_mut() else {
            continue;
        };
        for kind in MapKind::ALL {
            let given = row.get(kind.field()).and_then(Value::as_str);
            let given = given.unwrap_or_default().to_owned();
            let name = reference(&given);
            match made_from(&name) {
                None => {}
                Some("") => {
                    row.remove(kind.field());
                }
                Some(before) => {
                    let before = spelled(before, kind.table(), is_older(&given));
                    row.insert(kind.field().to_owned(), Value::String(before));
                }
            }
        }
    }
    tables
}

/// Whether a reference is spelled as older versions of SONiC spell them: `[TABLE|NAME]`.
pub(super) fn is_older(reference: &str) -> bool {
    reference.trim_start().starts_with('[')
}

/// A reference to a row of a table, as this or older versions of SONiC spell it.
pub(super) fn spelled(name: &str, table: &str, older: bool) -> String {
    match older {
        true => format!("[{table}|{name}]"),
        false => name.to_owned(),
    }
}

/// Keeps some rows of a table, and no empty table that had rows.
fn retain(tables: &mut Rows, table: &str, keep: impl Fn(&str) -> bool) {
    let Some(rows) = tables.get_mut(table).and_then(Value::as_object_mut) else {
        return;
    };
    let before = rows.len();
    let all = std::mem::take(rows).into_iter();
    *rows = all.filter(|(name, _)| keep(name)).collect();
    if rows.is_empty() && before > 0 {
        tables.remove(table);
    }
}
