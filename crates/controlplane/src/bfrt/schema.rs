//! The schema of a program for BF Runtime (`bf-rt.json`): its tables with their keys, actions and
//! data, and the ids by which a device knows them. The compiler writes it (`--bf-rt-schema`), a
//! device tells it with its program.

use entries::MatchKind;
use std::collections::BTreeMap;

use crate::desired::mark_in;
use p4gen::entries::bfrt::{
    GROUP, MAX_SIZE, MEMBER, PIPE, PRIORITY, STATUS, groups_table, members_table,
};
use p4runtime::P4InfoIndex;
use p4runtime::p4::config::v1 as info;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Why a schema cannot be read.
#[derive(Debug, Error)]
#[error("its schema is not one of BF Runtime's (bf-rt.json): {0}")]
pub struct SchemaError(#[from] serde_json::Error);

/// The tables of a program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Schema {
    /// The version of the format.
    #[serde(default)]
    pub schema_version: String,
    /// The tables.
    pub tables: Vec<Table>,
}

/// A table, also one that holds the members or groups of a selector.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// Its name, with the pipe's before it.
    pub name: String,
    /// The device's id of it.
    pub id: u32,
    /// What kind of table it is.
    pub table_type: String,
    /// How many entries it holds.
    #[serde(default)]
    pub size: u64,
    /// Annotations of the program.
    #[serde(default, deserialize_with = "or_empty")]
    pub annotations: Vec<Annotation>,
    /// Tables that have to be filled before it.
    #[serde(default, deserialize_with = "or_empty")]
    pub depends_on: Vec<u32>,
    /// Whether nobody can change its default entry.
    #[serde(default)]
    pub has_const_default_action: bool,
    /// Its key.
    #[serde(default)]
    pub key: Vec<KeyField>,
    /// Its actions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub action_specs: Vec<Action>,
    /// Data of an entry beside an action's.
    #[serde(default)]
    pub data: Vec<Data>,
    /// What it can do; `ConstTable` is one that only the program fills.
    #[serde(default, deserialize_with = "or_empty")]
    pub attributes: Vec<String>,
}

/// Some tables have `null` where others have a list.
fn or_empty<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// An annotation, as it is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Annotation {
    /// `@name("text")`.
    pub name: String,
}

/// A field of a key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeyField {
    /// The device's id of it.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// How it is matched: `Exact`, `Ternary`, `LPM`, `Range`, `Optional`.
    pub match_type: String,
    /// Its values.
    #[serde(rename = "type")]
    pub values: Type,
}

/// An action.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Action {
    /// The device's id of it.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// `TableAndDefault`, `TableOnly` or `DefaultOnly`.
    #[serde(default)]
    pub action_scope: String,
    /// Its parameters.
    pub data: Vec<DataField>,
}

/// A field of data, or some of which one is given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Data {
    /// Whether it has to be given.
    #[serde(default)]
    pub mandatory: bool,
    /// The field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub singleton: Option<DataField>,
    /// The fields of which one is given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub oneof: Vec<DataField>,
}

/// A field of data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DataField {
    /// The device's id of it.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// Whether it is a list.
    #[serde(default)]
    pub repeated: bool,
    /// Its values; containers have none of their own.
    #[serde(rename = "type", default)]
    pub values: Type,
}

/// What values a field has.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Type {
    /// `bytes`, `uint32`, `uint64`, `bool`, `string`, ...
    #[serde(rename = "type")]
    pub kind: String,
    /// Bits of `bytes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub width: Option<u32>,
}

impl Type {
    /// How wide values are, in bits; none where they are not numbers.
    #[must_use]
    pub fn bits(&self) -> Option<u32> {
        match self.kind.as_str() {
            "bytes" => self.width,
            "uint8" => Some(8),
            "uint16" => Some(16),
            "uint32" => Some(32),
            "uint64" => Some(64),
            _ => None,
        }
    }

    fn bytes(width: i32) -> Self {
        Self {
            kind: "bytes".to_owned(),
            width: u32::try_from(width).ok(),
        }
    }

    fn of(kind: &str) -> Self {
        Self {
            kind: kind.to_owned(),
            width: None,
        }
    }
}

impl Table {
    /// Whether only the program fills it.
    #[must_use]
    pub fn is_const(&self) -> bool {
        self.attributes.iter().any(|a| a == "ConstTable")
    }

    /// The field of its key with this name.
    #[must_use]
    pub fn key_field(&self, name: &str) -> Option<&KeyField> {
        self.key.iter().find(|field| field.name == name)
    }

    /// The action with this name.
    #[must_use]
    pub fn action(&self, name: &str) -> Option<&Action> {
        self.action_specs.iter().find(|action| action.name == name)
    }

    /// The field of its data with this name.
    #[must_use]
    pub fn data_field(&self, name: &str) -> Option<&DataField> {
        self.data
            .iter()
            .flat_map(|data| data.singleton.iter().chain(&data.oneof))
            .find(|field| field.name == name)
    }
}

impl Schema {
    /// Reads one.
    ///
    /// # Errors
    /// [`SchemaError`].
    pub fn parse(text: &[u8]) -> Result<Self, SchemaError> {
        Ok(serde_json::from_slice(text)?)
    }

    /// The table with this name, without the pipe's.
    #[must_use]
    pub fn table(&self, name: &str) -> Option<&Table> {
        let full = full(name);
        self.tables.iter().find(|table| table.name == full)
    }

    /// What the program was generated as, where it is one of ours.
    #[must_use]
    pub fn mark(&self) -> Option<String> {
        let annotations = self.tables.iter().flat_map(|table| &table.annotations);
        annotations.filter_map(|a| mark_in(&a.name)).next()
    }

    /// Where it is not the schema of a program with this P4Info; none where it is.
    #[must_use]
    pub fn difference(&self, info: &P4InfoIndex) -> Option<String> {
        let tables = info.info().tables.iter();
        tables
            .filter_map(|table| match self.table(table.name()) {
                None => Some(format!("it has no table {}", table.name())),
                Some(theirs) => differing(theirs, table),
            })
            .next()
            .or_else(|| self.differing_actions(info))
    }

    fn differing_actions(&self, info: &P4InfoIndex) -> Option<String> {
        let tables = info.info().tables.iter();
        tables
            .filter_map(|table| {
                let holder = self.holder(table, info)?;
                let actions = table.action_refs.iter();
                let actions = actions.filter_map(|r| info.action_by_id(r.id).ok());
                actions
                    .filter_map(|action| differing_action(holder, action))
                    .next()
            })
            .next()
    }

    /// The table whose entries have a table's actions: the profile's where it has one.
    fn holder(&self, table: &info::Table, info: &P4InfoIndex) -> Option<&Table> {
        match info.action_profile_by_id(table.implementation_id) {
            Ok(profile) => self.table(&members_table(profile)),
            Err(_) => self.table(table.name()),
        }
    }

    /// The schema that the compiler writes for the tables of a program with this P4Info, as far as
    /// entries are concerned.
    #[must_use]
    pub fn of_program(info: &P4InfoIndex) -> Self {
        let mut tables: Vec<Table> = info
            .info()
            .tables
            .iter()
            .map(|table| of_table(table, info))
            .collect();
        for profile in &info.info().action_profiles {
            tables.push(of_members(profile, info));
            if profile.with_selector {
                tables.push(of_groups(profile));
            }
        }
        Self {
            schema_version: "1.0.0".to_owned(),
            tables,
        }
    }

    /// The file.
    ///
    /// # Errors
    /// A serializer that fails, which this shape gives no reason for.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(self)
    }
}

fn differing(theirs: &Table, ours: &info::Table) -> Option<String> {
    let name = ours.name();
    for field in &ours.match_fields {
        let Some(key) = theirs.key_field(&field.name) else {
            return Some(format!("its table {name} has no key {}", field.name));
        };
        let kind = kind_of(field);
        if key.match_type != kind || key.values.bits() != u32::try_from(field.bitwidth).ok() {
            return Some(format!(
                "the key {} of its table {name} is {} of {} bits, not {kind} of {}",
                field.name,
                key.match_type,
                key.values.bits().unwrap_or(0),
                field.bitwidth
            ));
        }
    }
    let own = |key: &&KeyField| ours.match_fields.iter().any(|f| f.name == key.name);
    let more = theirs
        .key
        .iter()
        .filter(|key| !key.name.starts_with('$'))
        .find(|key| !own(key));
    if let Some(key) = more {
        return Some(format!("its table {name} has another key, {}", key.name));
    }
    let size = u64::try_from(ours.size).unwrap_or(0);
    (theirs.size != size)
        .then(|| format!("its table {name} holds {} entries, not {size}", theirs.size))
}

fn differing_action(holder: &Table, ours: &info::Action) -> Option<String> {
    let (name, table) = (ours.name(), &holder.name);
    let Some(theirs) = holder.action(name) else {
        return Some(format!("its table {table} has no action {name}"));
    };
    let params = |data: &[DataField]| -> BTreeMap<String, Option<u32>> {
        let pairs = data.iter().map(|d| (d.name.clone(), d.values.bits()));
        pairs.collect()
    };
    let wanted: BTreeMap<String, Option<u32>> = ours
        .params
        .iter()
        .map(|p| (p.name.clone(), u32::try_from(p.bitwidth).ok()))
        .collect();
    (params(&theirs.data) != wanted)
        .then(|| format!("the action {name} of its table {table} has other parameters"))
}

/// How a field is matched, in the schema's words.
pub(super) fn kind_of(field: &info::MatchField) -> &'static str {
    match entries::catalog::match_kind(field) {
        Some(MatchKind::Lpm) => "LPM",
        Some(MatchKind::Ternary) => "Ternary",
        Some(MatchKind::Range) => "Range",
        Some(MatchKind::Optional) => "Optional",
        _ => "Exact",
    }
}

/// Ids of what every program has, as the compiler gives them.
mod id {
    pub(super) const PRIORITY: u32 = 65537;
    pub(super) const MEMBER: u32 = 65539;
    pub(super) const GROUP: u32 = 65540;
    pub(super) const STATUS: u32 = 65564;
    pub(super) const MAX_SIZE: u32 = 65565;
    /// The first byte of a profile's id, and of a selector's.
    pub(super) const PROFILE: u32 = 0x81;
    pub(super) const SELECTOR: u32 = 0x82;
}

fn with_prefix(id: u32, prefix: u32) -> u32 {
    (id & 0x00ff_ffff) | prefix << 24
}

fn full(name: &str) -> String {
    format!("{PIPE}.{name}")
}

fn number_key(id: u32, name: &str) -> KeyField {
    KeyField {
        id,
        name: name.to_owned(),
        match_type: "Exact".to_owned(),
        values: Type::of("uint32"),
    }
}

fn field(id: u32, name: &str, kind: &str, repeated: bool) -> DataField {
    DataField {
        id,
        name: name.to_owned(),
        repeated,
        values: Type::of(kind),
    }
}

fn bare(name: &str, id: u32, kind: &str) -> Table {
    Table {
        name: full(name),
        id,
        table_type: kind.to_owned(),
        size: 0,
        annotations: Vec::new(),
        depends_on: Vec::new(),
        has_const_default_action: false,
        key: Vec::new(),
        action_specs: Vec::new(),
        data: Vec::new(),
        attributes: Vec::new(),
    }
}

fn of_table(table: &info::Table, info: &P4InfoIndex) -> Table {
    let profile = info.action_profile_by_id(table.implementation_id).ok();
    let mut key: Vec<KeyField> = table
        .match_fields
        .iter()
        .map(|field| KeyField {
            id: field.id,
            // P4Info says `$valid$` where BF Runtime says `$valid`.
            name: field.name.replace(".$valid$", ".$valid"),
            match_type: kind_of(field).to_owned(),
            values: Type::bytes(field.bitwidth),
        })
        .collect();
    if key
        .iter()
        .any(|k| matches!(k.match_type.as_str(), "Ternary" | "Range" | "Optional"))
    {
        key.push(number_key(id::PRIORITY, PRIORITY));
    }
    let member = || field(id::MEMBER, MEMBER, "uint32", false);
    let (kind, depends_on, data) = match profile {
        None => ("MatchAction_Direct", Vec::new(), None),
        Some(p) if p.with_selector => (
            "MatchAction_Indirect_Selector",
            vec![
                with_prefix(p.id(), id::SELECTOR),
                with_prefix(p.id(), id::PROFILE),
            ],
            Some(Data {
                mandatory: true,
                singleton: None,
                oneof: vec![member(), field(id::GROUP, GROUP, "uint32", false)],
            }),
        ),
        Some(p) => (
            "MatchAction_Indirect",
            vec![with_prefix(p.id(), id::PROFILE)],
            Some(Data {
                mandatory: true,
                singleton: Some(member()),
                oneof: Vec::new(),
            }),
        ),
    };
    let annotations = table.preamble.iter().flat_map(|p| &p.annotations);
    Table {
        size: u64::try_from(table.size).unwrap_or(0),
        annotations: annotations
            .map(|name| Annotation { name: name.clone() })
            .collect(),
        depends_on,
        has_const_default_action: table.const_default_action_id != 0,
        key,
        action_specs: if profile.is_none() {
            of_actions(table, info)
        } else {
            Vec::new()
        },
        data: data.into_iter().collect(),
        attributes: if table.is_const_table {
            vec!["ConstTable".to_owned()]
        } else {
            Vec::new()
        },
        ..bare(table.name(), table.id(), kind)
    }
}

fn of_actions(table: &info::Table, info: &P4InfoIndex) -> Vec<Action> {
    let scope = |reference: &info::ActionRef| match reference.scope() {
        info::action_ref::Scope::TableOnly => "TableOnly",
        info::action_ref::Scope::DefaultOnly => "DefaultOnly",
        _ => "TableAndDefault",
    };
    let one = |reference: &info::ActionRef| {
        let action = info.action_by_id(reference.id).ok()?;
        let params = action.params.iter();
        Some(Action {
            id: action.id(),
            name: action.name().to_owned(),
            action_scope: scope(reference).to_owned(),
            data: params
                .map(|p| DataField {
                    id: p.id,
                    name: p.name.clone(),
                    repeated: false,
                    values: Type::bytes(p.bitwidth),
                })
                .collect(),
        })
    };
    table.action_refs.iter().filter_map(one).collect()
}

fn of_members(profile: &info::ActionProfile, info: &P4InfoIndex) -> Table {
    let user = profile.table_ids.first();
    let user = user.and_then(|id| info.table_by_id(*id).ok());
    Table {
        size: u64::try_from(profile.size).unwrap_or(0),
        key: vec![number_key(id::MEMBER, MEMBER)],
        action_specs: user.map_or_else(Vec::new, |table| of_actions(table, info)),
        ..bare(
            &members_table(profile),
            with_prefix(profile.id(), id::PROFILE),
            "Action",
        )
    }
}

fn of_groups(profile: &info::ActionProfile) -> Table {
    let data = [
        field(id::MEMBER, MEMBER, "uint32", true),
        field(id::STATUS, STATUS, "bool", true),
        field(id::MAX_SIZE, MAX_SIZE, "uint32", false),
    ];
    let users = u64::try_from(profile.size).unwrap_or(0);
    Table {
        size: users,
        depends_on: vec![with_prefix(profile.id(), id::PROFILE)],
        key: vec![number_key(id::GROUP, GROUP)],
        data: data
            .into_iter()
            .map(|field| Data {
                mandatory: false,
                singleton: Some(field),
                oneof: Vec::new(),
            })
            .collect(),
        ..bare(
            &groups_table(profile),
            with_prefix(profile.id(), id::SELECTOR),
            "Selector",
        )
    }
}
