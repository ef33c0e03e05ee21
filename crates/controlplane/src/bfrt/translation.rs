//! P4Runtime's ids against a device's: updates of entities as BF Runtime has them, and what a
//! device holds as entities.
//!
//! Three things are BF Runtime's own. Members of a selector are entries of the profile's table,
//! groups those of the selector's. Every field of a key is written, also one that matches
//! everything. And of two ternary entries the one with the *smaller* `$MATCH_PRIORITY` wins. A
//! member that is out of use in its group is one with weight 0 here; P4Runtime has no other word
//! for it.

use std::collections::BTreeMap;

use entries::{Bits, Bytestring as _};
use p4gen::entries::bfrt::{
    GROUP, LOWEST, MAX_SIZE, MEMBER, PRIORITY, STATUS, groups_table, members_table,
};
use p4runtime::P4InfoIndex;
use p4runtime::p4::config::v1 as info;
use p4runtime::p4::v1::{self, entity::Entity as Kind, field_match, table_action};

use super::protocol::proto::{
    self, DataField, Entity, KeyField, TableData, TableKey, data_field, key_field,
};
use super::schema::{self, Schema, Table};

/// Bits of a number that is no field of the program.
const NUMBER: u32 = 32;

/// What a device's tables are to a program's P4Info.
#[derive(Clone, Debug)]
pub struct EntityTranslation {
    schema: Schema,
    /// The places of tables in the schema, by the device's id.
    places: BTreeMap<u32, Place>,
}

/// What a table of a device is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// The program's table with this P4Info id.
    Table(u32),
    /// The members of the profile with this id.
    Members(u32),
    /// The groups of the selector with this id.
    Groups(u32),
}

impl EntityTranslation {
    /// The device's tables for a program.
    ///
    /// # Errors
    /// Where the schema is that of another program or version.
    pub fn new(schema: Schema, info: &P4InfoIndex) -> Result<Self, String> {
        if let Some(difference) = schema.difference(info) {
            return Err(difference);
        }
        let mut places = BTreeMap::new();
        for table in &info.info().tables {
            let theirs = find(&schema, table.name())?;
            if !theirs.is_const() {
                places.insert(theirs.id, Place::Table(table.id()));
            }
        }
        for profile in &info.info().action_profiles {
            let members = find(&schema, &members_table(profile))?;
            places.insert(members.id, Place::Members(profile.id()));
            if profile.with_selector {
                let groups = find(&schema, &groups_table(profile))?;
                places.insert(groups.id, Place::Groups(profile.id()));
            }
        }
        Ok(Self { schema, places })
    }

    /// The ids of all tables that can hold entries of ours.
    pub fn tables(&self) -> impl Iterator<Item = u32> + '_ {
        self.places.keys().copied()
    }

    /// An update for the device.
    ///
    /// # Errors
    /// What BF Runtime has no place for, in words.
    pub fn update(&self, update: &v1::Update, info: &P4InfoIndex) -> Result<proto::Update, String> {
        use v1::update::Type;
        let kind = match update.r#type() {
            Type::Insert => proto::update::Type::Insert,
            Type::Modify => proto::update::Type::Modify,
            Type::Delete => proto::update::Type::Delete,
            Type::Unspecified => return Err("the update has no type".to_owned()),
        };
        let delete = kind == proto::update::Type::Delete;
        let entity = update.entity.as_ref().and_then(|e| e.entity.as_ref());
        let (kind, mut entry) = match entity {
            Some(Kind::ActionProfileMember(member)) => (kind, self.member(member, delete, info)?),
            Some(Kind::ActionProfileGroup(group)) => (kind, self.group(group, info)?),
            Some(Kind::TableEntry(entry)) if entry.is_default_action => {
                self.default_entry(entry, info)?
            }
            Some(Kind::TableEntry(entry)) => (kind, self.entry(entry, delete, info)?),
            Some(Kind::PacketReplicationEngineEntry(_)) => {
                return Err(
                    "multicast groups and clone sessions are not in the program's tables"
                        .to_owned(),
                );
            }
            _ => return Err("the entity is of a kind that build directories never have".to_owned()),
        };
        if delete || kind == proto::update::Type::Delete {
            entry.data = None;
        }
        Ok(proto::Update {
            r#type: kind.into(),
            entity: Some(wrap(entry)),
        })
    }

    fn member(
        &self,
        member: &v1::ActionProfileMember,
        delete: bool,
        info: &P4InfoIndex,
    ) -> Result<proto::TableEntry, String> {
        let profile = named(info.action_profile_by_id(member.action_profile_id))?;
        let table = find(&self.schema, &members_table(profile))?;
        let call = member.action.as_ref();
        let data = match call {
            Some(call) if !delete => Some(call_data(table, call, info)?),
            _ => None,
        };
        Ok(entry_of(
            table,
            number_key(table, MEMBER, member.member_id)?,
            data,
        ))
    }

    fn group(
        &self,
        group: &v1::ActionProfileGroup,
        info: &P4InfoIndex,
    ) -> Result<proto::TableEntry, String> {
        let profile = named(info.action_profile_by_id(group.action_profile_id))?;
        let table = find(&self.schema, &groups_table(profile))?;
        if let Some(heavy) = group.members.iter().find(|member| member.weight > 1) {
            return Err(format!(
                "member {} has weight {}, and BF Runtime's groups have members without weights",
                heavy.member_id, heavy.weight
            ));
        }
        let members = group.members.iter().map(|m| m.member_id).collect();
        let status = group.members.iter().map(|m| m.weight > 0).collect();
        let room = u32::try_from(profile.max_group_size).unwrap_or(0);
        let fields = vec![
            field(
                table,
                MEMBER,
                data_field::Value::IntArrVal(data_field::IntArray { val: members }),
            )?,
            field(
                table,
                STATUS,
                data_field::Value::BoolArrVal(data_field::BoolArray { val: status }),
            )?,
            field(table, MAX_SIZE, number(room))?,
        ];
        let data = TableData {
            action_id: 0,
            fields,
        };
        Ok(entry_of(
            table,
            number_key(table, GROUP, group.group_id)?,
            Some(data),
        ))
    }

    /// A default entry is set, or given back to the program where it has no action.
    fn default_entry(
        &self,
        entry: &v1::TableEntry,
        info: &P4InfoIndex,
    ) -> Result<(proto::update::Type, proto::TableEntry), String> {
        let ours = named(info.table_by_id(entry.table_id))?;
        let table = find(&self.schema, ours.name())?;
        let data = self.action_data(table, entry, info)?;
        let kind = match data {
            Some(_) => proto::update::Type::Modify,
            None => proto::update::Type::Delete,
        };
        let entry = proto::TableEntry {
            table_id: table.id,
            data,
            is_default_entry: true,
            ..Default::default()
        };
        Ok((kind, entry))
    }

    fn entry(
        &self,
        entry: &v1::TableEntry,
        delete: bool,
        info: &P4InfoIndex,
    ) -> Result<proto::TableEntry, String> {
        let ours = named(info.table_by_id(entry.table_id))?;
        let table = find(&self.schema, ours.name())?;
        let mut fields = Vec::with_capacity(table.key.len());
        for declared in &ours.match_fields {
            let given = entry.r#match.iter().find(|m| m.field_id == declared.id);
            let value = given.and_then(|m| m.field_match_type.as_ref());
            let key = table
                .key_field(&declared.name)
                .ok_or_else(|| format!("no key {}", declared.name))?;
            fields.push(KeyField {
                field_id: key.id,
                match_type: Some(write_key(value, declared)?),
            });
        }
        if let Some(key) = table.key_field(PRIORITY) {
            let priority = LOWEST
                .checked_sub(entry.priority)
                .and_then(|p| u32::try_from(p).ok())
                .ok_or_else(|| format!("the priority {} has more than 24 bits", entry.priority))?;
            fields.push(exact_number(key.id, priority));
        }
        let data = if delete {
            None
        } else {
            self.action_data(table, entry, info)?
        };
        Ok(entry_of(table, TableKey { fields }, data))
    }

    fn action_data(
        &self,
        table: &Table,
        entry: &v1::TableEntry,
        info: &P4InfoIndex,
    ) -> Result<Option<TableData>, String> {
        let action = entry.action.as_ref().and_then(|a| a.r#type.as_ref());
        let reference = |name: &str, id: u32| {
            Ok(Some(TableData {
                action_id: 0,
                fields: vec![field(table, name, number(id))?],
            }))
        };
        match action {
            None => Ok(None),
            Some(table_action::Type::Action(call)) => call_data(table, call, info).map(Some),
            Some(table_action::Type::ActionProfileMemberId(id)) => reference(MEMBER, *id),
            Some(table_action::Type::ActionProfileGroupId(id)) => reference(GROUP, *id),
            Some(table_action::Type::ActionProfileActionSet(_)) => {
                Err("one-shot groups have no place in BF Runtime".to_owned())
            }
        }
    }

    /// What a device holds as an entity; none for the default entry of a table that nobody else can
    /// set.
    ///
    /// # Errors
    /// What the program's P4Info has no place for, in words.
    pub fn entity(
        &self,
        entry: &proto::TableEntry,
        info: &P4InfoIndex,
    ) -> Result<Option<v1::Entity>, String> {
        let place = self.places.get(&entry.table_id);
        let table = self.schema.tables.iter().find(|t| t.id == entry.table_id);
        let (Some(place), Some(table)) = (place, table) else {
            return Err(format!(
                "an entry of the unknown table {:#010x}",
                entry.table_id
            ));
        };
        let wrong = |words: String| format!("{}: {words}", table.name);
        let kind = match *place {
            _ if entry.is_default_entry
                && (table.has_const_default_action || !matches!(place, Place::Table(_))) =>
            {
                return Ok(None);
            }
            Place::Table(id) => {
                Kind::TableEntry(read_entry(table, id, entry, info).map_err(wrong)?)
            }
            Place::Members(profile) => Kind::ActionProfileMember(v1::ActionProfileMember {
                action_profile_id: profile,
                member_id: read_number_key(table, MEMBER, entry).map_err(wrong)?,
                action: Some(read_call(table, entry, info).map_err(wrong)?),
            }),
            Place::Groups(profile) => {
                Kind::ActionProfileGroup(read_group(table, profile, entry).map_err(wrong)?)
            }
        };
        Ok(Some(v1::Entity { entity: Some(kind) }))
    }
}

fn named<T>(found: Result<T, p4runtime::NameError>) -> Result<T, String> {
    found.map_err(|error| error.to_string())
}

fn find<'a>(schema: &'a Schema, name: &str) -> Result<&'a Table, String> {
    schema
        .table(name)
        .ok_or_else(|| format!("it has no table {name}"))
}

fn wrap(entry: proto::TableEntry) -> Entity {
    Entity {
        entity: Some(proto::entity::Entity::TableEntry(entry)),
    }
}

fn entry_of(table: &Table, key: TableKey, data: Option<TableData>) -> proto::TableEntry {
    proto::TableEntry {
        table_id: table.id,
        value: Some(proto::table_entry::Value::Key(key)),
        data,
        ..Default::default()
    }
}

fn exact(value: Vec<u8>) -> key_field::MatchType {
    key_field::MatchType::Exact(key_field::Exact { value })
}

fn exact_number(field_id: u32, value: u32) -> KeyField {
    KeyField {
        field_id,
        match_type: Some(exact(value.to_be_bytes().to_vec())),
    }
}

fn number(value: u32) -> data_field::Value {
    data_field::Value::Stream(value.to_be_bytes().to_vec())
}

fn number_key(table: &Table, name: &str, value: u32) -> Result<TableKey, String> {
    let key = table.key_field(name);
    let key = key.ok_or_else(|| format!("{} has no key {name}", table.name))?;
    Ok(TableKey {
        fields: vec![exact_number(key.id, value)],
    })
}

fn field(table: &Table, name: &str, value: data_field::Value) -> Result<DataField, String> {
    let field = table.data_field(name);
    let field = field.ok_or_else(|| format!("{} has no data {name}", table.name))?;
    Ok(DataField {
        field_id: field.id,
        value: Some(value),
    })
}

/// A value at the full width of its field, as BF Runtime wants it.
fn full(value: &[u8], bits: u32) -> Result<Vec<u8>, String> {
    let value = Bits::decode(value, bits).map_err(|error| error.to_string())?;
    Ok(value.to_bytes_be())
}

fn width(bitwidth: i32) -> u32 {
    bitwidth.unsigned_abs()
}

fn write_key(
    value: Option<&field_match::FieldMatchType>,
    declared: &info::MatchField,
) -> Result<key_field::MatchType, String> {
    use field_match::FieldMatchType as Given;
    use key_field::MatchType;
    let bits = width(declared.bitwidth);
    let full = |value: &[u8]| {
        full(value, bits).map_err(|error| format!("the key {}: {error}", declared.name))
    };
    Ok(match (value, schema::kind_of(declared)) {
        (Some(Given::Exact(given)), _) => exact(full(&given.value)?),
        (Some(Given::Ternary(given)), _) => MatchType::Ternary(key_field::Ternary {
            value: full(&given.value)?,
            mask: full(&given.mask)?,
        }),
        (Some(Given::Lpm(given)), _) => MatchType::Lpm(key_field::Lpm {
            value: full(&given.value)?,
            prefix_len: given.prefix_len,
        }),
        (Some(Given::Range(given)), _) => MatchType::Range(key_field::Range {
            low: full(&given.low)?,
            high: full(&given.high)?,
        }),
        (Some(Given::Optional(given)), _) => MatchType::Optional(key_field::Optional {
            value: full(&given.value)?,
            is_valid: true,
        }),
        (None, "Ternary") => MatchType::Ternary(key_field::Ternary {
            value: full(&[0])?,
            mask: full(&[0])?,
        }),
        (None, "LPM") => MatchType::Lpm(key_field::Lpm {
            value: full(&[0])?,
            prefix_len: 0,
        }),
        (None, "Range") => MatchType::Range(key_field::Range {
            low: full(&[0])?,
            high: Bits::ones(bits).to_bytes_be(),
        }),
        (None, "Optional") => MatchType::Optional(key_field::Optional {
            value: full(&[0])?,
            is_valid: false,
        }),
        _ => return Err(format!("the key {} has no value", declared.name)),
    })
}

fn call_data(table: &Table, call: &v1::Action, info: &P4InfoIndex) -> Result<TableData, String> {
    let action = named(info.action_by_id(call.action_id))?;
    let theirs = table.action(action.name());
    let theirs = theirs.ok_or_else(|| format!("{} has no action {}", table.name, action.name()))?;
    let mut fields = Vec::with_capacity(call.params.len());
    for param in &call.params {
        let declared = named(action.param_by_id(param.param_id))?;
        let place = theirs.data.iter().find(|d| d.name == declared.name);
        let place = place.ok_or_else(|| format!("{} has no {}", action.name(), declared.name))?;
        let value = full(&param.value, width(declared.bitwidth))
            .map_err(|error| format!("{}: {error}", declared.name))?;
        fields.push(DataField {
            field_id: place.id,
            value: Some(data_field::Value::Stream(value)),
        });
    }
    Ok(TableData {
        action_id: theirs.id,
        fields,
    })
}

fn keys_of(entry: &proto::TableEntry) -> &[KeyField] {
    match &entry.value {
        Some(proto::table_entry::Value::Key(key)) => &key.fields,
        _ => &[],
    }
}

fn to_number(bytes: &[u8]) -> Result<u32, String> {
    let bits = Bits::decode(bytes, NUMBER).map_err(|error| error.to_string())?;
    let value = bits.to_u128().and_then(|value| u32::try_from(value).ok());
    value.ok_or_else(|| "a number has more than 32 bits".to_owned())
}

fn read_number_key(table: &Table, name: &str, entry: &proto::TableEntry) -> Result<u32, String> {
    let id = table.key_field(name).map(|key| key.id);
    let field = keys_of(entry).iter().find(|f| Some(f.field_id) == id);
    match field.and_then(|field| field.match_type.as_ref()) {
        Some(key_field::MatchType::Exact(exact)) => to_number(&exact.value),
        _ => Err(format!("an entry without {name}")),
    }
}

fn read_data<'a>(
    table: &Table,
    name: &str,
    entry: &'a proto::TableEntry,
) -> Option<&'a data_field::Value> {
    let id = table.data_field(name)?.id;
    let fields = &entry.data.as_ref()?.fields;
    fields.iter().find(|f| f.field_id == id)?.value.as_ref()
}

fn read_group(
    table: &Table,
    profile: u32,
    entry: &proto::TableEntry,
) -> Result<v1::ActionProfileGroup, String> {
    let members: &[u32] = match read_data(table, MEMBER, entry) {
        Some(data_field::Value::IntArrVal(members)) => &members.val,
        Some(_) => return Err(format!("{MEMBER} is not a list")),
        None => &[],
    };
    let status: &[bool] = match read_data(table, STATUS, entry) {
        Some(data_field::Value::BoolArrVal(status)) => &status.val,
        _ => &[],
    };
    let member = |(place, member_id): (usize, &u32)| v1::action_profile_group::Member {
        member_id: *member_id,
        weight: i32::from(status.get(place).copied().unwrap_or(true)),
        watch_kind: None,
    };
    Ok(v1::ActionProfileGroup {
        action_profile_id: profile,
        group_id: read_number_key(table, GROUP, entry)?,
        members: members.iter().enumerate().map(member).collect(),
        max_size: 0,
    })
}

fn read_call(
    table: &Table,
    entry: &proto::TableEntry,
    info: &P4InfoIndex,
) -> Result<v1::Action, String> {
    let data = entry.data.as_ref().ok_or("an entry without data")?;
    let theirs = table.action_specs.iter().find(|a| a.id == data.action_id);
    let theirs = theirs.ok_or_else(|| format!("the unknown action {:#010x}", data.action_id))?;
    let action = named(info.action(&theirs.name))?;
    let mut params = Vec::with_capacity(theirs.data.len());
    for place in &theirs.data {
        let declared = named(action.param(&place.name))?;
        let value = data.fields.iter().find(|f| f.field_id == place.id);
        let Some(data_field::Value::Stream(value)) = value.and_then(|f| f.value.as_ref()) else {
            return Err(format!("{} has no {}", theirs.name, place.name));
        };
        params.push(v1::action::Param {
            param_id: declared.id,
            value: value.clone(),
        });
    }
    Ok(v1::Action {
        action_id: action.id(),
        params,
    })
}

fn read_entry(
    table: &Table,
    table_id: u32,
    entry: &proto::TableEntry,
    info: &P4InfoIndex,
) -> Result<v1::TableEntry, String> {
    let ours = named(info.table_by_id(table_id))?;
    let mut matches = Vec::with_capacity(ours.match_fields.len());
    let mut priority = 0;
    for given in keys_of(entry) {
        let key = table.key.iter().find(|key| key.id == given.field_id);
        let key = key.ok_or_else(|| format!("the unknown key {}", given.field_id))?;
        let value = given.match_type.as_ref();
        let value = value.ok_or_else(|| format!("the key {} has no value", key.name))?;
        if key.name == PRIORITY {
            let key_field::MatchType::Exact(exact) = value else {
                return Err(format!("{PRIORITY} is not a number"));
            };
            let given = i32::try_from(to_number(&exact.value)?).ok();
            let theirs = given.and_then(|p| LOWEST.checked_sub(p));
            priority = theirs.ok_or_else(|| format!("{PRIORITY} has more than 24 bits"))?;
            continue;
        }
        let declared = named(ours.field(&key.name))?;
        if let Some(value) = read_key(value) {
            matches.push(v1::FieldMatch {
                field_id: declared.id,
                field_match_type: Some(value),
            });
        }
    }
    let reference = |name: &str| match read_data(table, name, entry) {
        Some(data_field::Value::Stream(id)) => Some(to_number(id)),
        _ => None,
    };
    let action = match (reference(GROUP), reference(MEMBER)) {
        (Some(group), _) => table_action::Type::ActionProfileGroupId(group?),
        (None, Some(member)) => table_action::Type::ActionProfileMemberId(member?),
        (None, None) => table_action::Type::Action(read_call(table, entry, info)?),
    };
    Ok(v1::TableEntry {
        table_id,
        r#match: matches,
        action: Some(v1::TableAction {
            r#type: Some(action),
        }),
        priority,
        is_default_action: entry.is_default_entry,
        ..Default::default()
    })
}

/// None for an optional key that matches everything.
fn read_key(value: &key_field::MatchType) -> Option<field_match::FieldMatchType> {
    use field_match::FieldMatchType as Found;
    use key_field::MatchType;
    Some(match value.clone() {
        MatchType::Exact(exact) => Found::Exact(field_match::Exact { value: exact.value }),
        MatchType::Ternary(ternary) => Found::Ternary(field_match::Ternary {
            value: ternary.value,
            mask: ternary.mask,
        }),
        MatchType::Lpm(lpm) => Found::Lpm(field_match::Lpm {
            value: lpm.value,
            prefix_len: lpm.prefix_len,
        }),
        MatchType::Range(range) => Found::Range(field_match::Range {
            low: range.low,
            high: range.high,
        }),
        MatchType::Optional(optional) if optional.is_valid => {
            Found::Optional(field_match::Optional {
                value: optional.value,
            })
        }
        MatchType::Optional(_) => return None,
    })
}

#[cfg(test)]
mod tests {
    use p4runtime::from_text;

    use super::*;

    fn program() -> P4InfoIndex {
        let text = r#"
            tables { preamble { id: 0x02000001 name: "I.t" alias: "t" }
              match_fields { id: 1 name: "a" bitwidth: 12 match_type: TERNARY }
              match_fields { id: 2 name: "b" bitwidth: 32 match_type: LPM }
              match_fields { id: 3 name: "c" bitwidth: 9 match_type: RANGE }
              action_refs { id: 0x01000001 } size: 8 }
            tables { preamble { id: 0x02000002 name: "I.g" alias: "g" }
              match_fields { id: 1 name: "e" bitwidth: 16 match_type: EXACT }
              action_refs { id: 0x01000001 } implementation_id: 0x11000001 size: 8 }
            actions { preamble { id: 0x01000001 name: "I.send" alias: "send" }
              params { id: 1 name: "port" bitwidth: 9 } }
            action_profiles { preamble { id: 0x11000001 name: "I.ecmp_selector" alias: "s" }
              table_ids: 0x02000002 with_selector: true size: 8 max_group_size: 4 }"#;
        P4InfoIndex::new(from_text(text).unwrap()).unwrap()
    }

    fn translation() -> EntityTranslation {
        EntityTranslation::new(Schema::of_program(&program()), &program()).unwrap()
    }

    fn insert(entity: &str) -> v1::Update {
        v1::Update {
            r#type: v1::update::Type::Insert.into(),
            entity: Some(from_text(entity).unwrap()),
        }
    }

    fn entry_in(update: &proto::Update) -> &proto::TableEntry {
        match &update.entity.as_ref().unwrap().entity {
            Some(proto::entity::Entity::TableEntry(entry)) => entry,
            None => panic!("an entry"),
        }
    }

    const ENTRIES: [&str; 4] = [
        r#"action_profile_member { action_profile_id: 0x11000001 member_id: 1
           action { action_id: 0x01000001 params { param_id: 1 value: "\003" } } }"#,
        r#"action_profile_group { action_profile_id: 0x11000001 group_id: 2
           members { member_id: 1 weight: 1 } members { member_id: 3 } }"#,
        r#"table_entry { table_id: 0x02000001 priority: 5 match { field_id: 1 ternary { value: "\017" mask: "\377" } }
           action { action { action_id: 0x01000001 params { param_id: 1 value: "\001\000" } } } }"#,
        r#"table_entry { table_id: 0x02000002 match { field_id: 1 exact { value: "\011" } }
           action { action_profile_group_id: 2 } }"#,
    ];

    #[test]
    fn entities_come_back_as_they_were() {
        use crate::entity::canonical;

        let (translation, info) = (translation(), program());
        for text in ENTRIES {
            let update = insert(text);
            let theirs = translation.update(&update, &info).unwrap();
            let back = translation
                .entity(entry_in(&theirs), &info)
                .unwrap()
                .unwrap();
            let ours = canonical(update.entity.as_ref().unwrap(), &info).unwrap();
            assert_eq!(canonical(&back, &info).unwrap(), ours, "{text}");
        }
    }

    #[test]
    fn every_field_of_a_key_is_written_and_the_smaller_priority_wins() {
        let update = translation()
            .update(&insert(ENTRIES[2]), &program())
            .unwrap();
        let keys = keys_of(entry_in(&update));
        let [a, b, c, priority] = keys else {
            panic!("{keys:?}")
        };
        use key_field::MatchType;
        let ternary = key_field::Ternary {
            value: vec![0, 15],
            mask: vec![0, 255],
        };
        assert_eq!(a.match_type, Some(MatchType::Ternary(ternary)));
        let everything = key_field::Lpm {
            value: vec![0; 4],
            prefix_len: 0,
        };
        assert_eq!(b.match_type, Some(MatchType::Lpm(everything)));
        let everything = key_field::Range {
            low: vec![0, 0],
            high: vec![1, 255],
        };
        assert_eq!(c.match_type, Some(MatchType::Range(everything)));
        assert_eq!(priority.match_type, Some(exact(vec![0, 255, 255, 250])));
    }

    #[test]
    fn what_bf_runtime_has_no_place_for_is_refused() {
        let refused = |text: &str| translation().update(&insert(text), &program()).unwrap_err();
        let heavy = ENTRIES[1].replace("weight: 1", "weight: 2");
        assert!(refused(&heavy).contains("member 1 has weight 2"));
        let high = ENTRIES[2].replace("priority: 5", "priority: 16777216");
        assert!(refused(&high).contains("more than 24 bits"));
        let one_shot = r#"table_entry { table_id: 0x02000002 match { field_id: 1 exact { value: "\011" } }
                          action { action_profile_action_set { } } }"#;
        assert!(refused(one_shot).contains("one-shot"));
        let clone = "packet_replication_engine_entry { clone_session_entry { session_id: 1 } }";
        assert!(refused(clone).contains("clone sessions"));
    }

    #[test]
    fn another_schema_is_told_by_its_first_difference() {
        let info = program();
        let told = |change: &dyn Fn(&mut Schema)| {
            let mut schema = Schema::of_program(&info);
            change(&mut schema);
            EntityTranslation::new(schema, &info).unwrap_err()
        };
        assert_eq!(told(&|s| s.tables.clear()), "it has no table I.t");
        assert_eq!(
            told(&|s| s.tables[0].key[0].values.width = Some(13)),
            "the key a of its table I.t is Ternary of 13 bits, not Ternary of 12"
        );
        assert!(told(&|s| s.tables[0].size = 9).contains("holds 9 entries, not 8"));
        assert!(told(&|s| s.tables[0].action_specs.clear()).contains("no action I.send"));
        assert!(told(&|s| s.tables[2].action_specs[0].data.clear()).contains("other parameters"));
    }
}
