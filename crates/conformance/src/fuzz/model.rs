//! The model: maps from keys to messages, and nothing a server does beyond that.

use std::collections::{BTreeMap, BTreeSet};

use p4runtime::p4::config::v1 as info;
use p4runtime::p4::v1;
use p4runtime::p4::v1::entity::Entity;
use p4runtime::p4::v1::packet_replication_engine_entry::Type as Engine;
use p4runtime::p4::v1::table_action::Type as TableAction;
use p4runtime::p4::v1::update::Type;
use prost::Message as _;

/// A table as the model sees it.
#[derive(Clone, Debug)]
pub struct TableModel {
    /// From P4Info.
    pub info: info::Table,
    /// Entries by table key: matches in order of their fields, and priority.
    pub entries: BTreeMap<Vec<u8>, v1::TableEntry>,
    /// Whether a field needs a priority.
    pub ranked: bool,
}

/// The whole state.
#[derive(Clone, Debug)]
pub struct Model {
    tables: BTreeMap<u32, TableModel>,
    actions: BTreeMap<u32, info::Action>,
    profiles: BTreeMap<u32, info::ActionProfile>,
    /// Members by profile and id.
    pub members: BTreeMap<(u32, u32), v1::ActionProfileMember>,
    /// Groups by profile and id.
    pub groups: BTreeMap<(u32, u32), v1::ActionProfileGroup>,
    /// Multicast groups by id.
    pub multicast: BTreeMap<u32, v1::MulticastGroupEntry>,
}

/// The match type of a field.
#[must_use]
pub fn match_type(field: &info::MatchField) -> info::match_field::MatchType {
    use info::match_field::{Match, MatchType};
    match field.r#match {
        Some(Match::MatchType(kind)) => MatchType::try_from(kind).unwrap_or(MatchType::Unspecified),
        _ => MatchType::Unspecified,
    }
}

/// A number without leading zeros.
fn shortest(bytes: &[u8]) -> Vec<u8> {
    let start = bytes.iter().position(|b| *b != 0);
    start.map_or(vec![0], |start| bytes[start..].to_vec())
}

/// A match in its one form.
fn canonical_match(given: &v1::FieldMatch) -> v1::FieldMatch {
    use v1::field_match::FieldMatchType as Kind;
    let mut given = given.clone();
    let short = |bytes: &mut Vec<u8>| *bytes = shortest(bytes);
    match &mut given.field_match_type {
        Some(Kind::Exact(m)) => short(&mut m.value),
        Some(Kind::Lpm(m)) => short(&mut m.value),
        Some(Kind::Optional(m)) => short(&mut m.value),
        Some(Kind::Ternary(m)) => {
            short(&mut m.value);
            short(&mut m.mask);
        }
        Some(Kind::Range(m)) => {
            short(&mut m.low);
            short(&mut m.high);
        }
        _ => {}
    }
    given
}

fn canonical_action(action: &mut v1::Action) {
    action.params.sort_by_key(|p| p.param_id);
    for param in &mut action.params {
        param.value = shortest(&param.value);
    }
}

/// An entry in its one form.
#[must_use]
pub fn canonical(entry: &v1::TableEntry) -> v1::TableEntry {
    let mut entry = entry.clone();
    entry.r#match = entry.r#match.iter().map(canonical_match).collect();
    entry.r#match.sort_by_key(|m| m.field_id);
    match entry.action.as_mut().and_then(|a| a.r#type.as_mut()) {
        Some(TableAction::Action(action)) => canonical_action(action),
        Some(TableAction::ActionProfileActionSet(set)) => {
            let actions = set.action_profile_actions.iter_mut();
            actions
                .filter_map(|a| a.action.as_mut())
                .for_each(canonical_action);
        }
        _ => {}
    }
    entry
}

/// What identifies an entry in its table.
#[must_use]
pub fn key(entry: &v1::TableEntry) -> Vec<u8> {
    let entry = canonical(entry);
    v1::TableEntry {
        r#match: entry.r#match,
        priority: entry.priority,
        ..Default::default()
    }
    .encode_to_vec()
}

impl Model {
    /// Nothing is installed.
    #[must_use]
    pub fn new(info: &info::P4Info) -> Self {
        let id = |p: &Option<info::Preamble>| p.as_ref().map_or(0, |p| p.id);
        let table = |table: &info::Table| {
            use info::match_field::MatchType as Kind;
            let ranks = |f| matches!(match_type(f), Kind::Ternary | Kind::Range | Kind::Optional);
            let model = TableModel {
                info: table.clone(),
                entries: BTreeMap::new(),
                ranked: table.match_fields.iter().any(ranks),
            };
            (id(&table.preamble), model)
        };
        Self {
            tables: info.tables.iter().map(table).collect(),
            actions: info
                .actions
                .iter()
                .map(|a| (id(&a.preamble), a.clone()))
                .collect(),
            profiles: info
                .action_profiles
                .iter()
                .map(|p| (id(&p.preamble), p.clone()))
                .collect(),
            members: BTreeMap::new(),
            groups: BTreeMap::new(),
            multicast: BTreeMap::new(),
        }
    }

    /// The tables by id.
    #[must_use]
    pub const fn tables(&self) -> &BTreeMap<u32, TableModel> {
        &self.tables
    }

    /// The actions by id.
    #[must_use]
    pub const fn actions(&self) -> &BTreeMap<u32, info::Action> {
        &self.actions
    }

    /// The profiles by id.
    #[must_use]
    pub const fn profiles(&self) -> &BTreeMap<u32, info::ActionProfile> {
        &self.profiles
    }

    /// What a table's default action may be set to or its entries use.
    #[must_use]
    pub fn choices(&self, table: &info::Table, as_default: bool) -> Vec<u32> {
        use info::action_ref::Scope;
        let barred = if as_default {
            Scope::TableOnly
        } else {
            Scope::DefaultOnly
        };
        let refs = table.action_refs.iter();
        refs.filter(|r| r.scope() != barred).map(|r| r.id).collect()
    }

    /// Members that entries or groups use.
    #[must_use]
    pub fn used_members(&self, profile: u32) -> BTreeSet<u32> {
        let in_groups = self.groups.iter().filter(|((p, _), _)| *p == profile);
        let in_groups = in_groups.flat_map(|(_, g)| g.members.iter().map(|m| m.member_id));
        let in_entries = self.entries_of(profile).filter_map(|action| match action {
            TableAction::ActionProfileMemberId(id) => Some(*id),
            _ => None,
        });
        in_groups.chain(in_entries).collect()
    }

    /// Groups that entries use.
    #[must_use]
    pub fn used_groups(&self, profile: u32) -> BTreeSet<u32> {
        let used = self.entries_of(profile).filter_map(|action| match action {
            TableAction::ActionProfileGroupId(id) => Some(*id),
            _ => None,
        });
        used.collect()
    }

    fn entries_of(&self, profile: u32) -> impl Iterator<Item = &TableAction> {
        let tables = self
            .tables
            .values()
            .filter(move |t| t.info.implementation_id == profile);
        let entries = tables.flat_map(|t| t.entries.values());
        entries.filter_map(|e| e.action.as_ref().and_then(|a| a.r#type.as_ref()))
    }

    /// The requests that read everything the model knows of.
    #[must_use]
    pub fn requests(&self) -> Vec<v1::Entity> {
        let entity = |entity| v1::Entity {
            entity: Some(entity),
        };
        let mut requests = vec![
            entity(Entity::TableEntry(v1::TableEntry::default())),
            entity(Entity::PacketReplicationEngineEntry(
                v1::PacketReplicationEngineEntry {
                    r#type: Some(Engine::MulticastGroupEntry(
                        v1::MulticastGroupEntry::default(),
                    )),
                },
            )),
        ];
        if !self.profiles.is_empty() {
            requests.push(entity(Entity::ActionProfileMember(
                v1::ActionProfileMember::default(),
            )));
            requests.push(entity(Entity::ActionProfileGroup(
                v1::ActionProfileGroup::default(),
            )));
        }
        requests
    }

    /// Takes what was read as the state.
    pub fn adopt(&mut self, state: Vec<Entity>) {
        for entity in state {
            self.put(entity);
        }
    }

    fn put(&mut self, entity: Entity) {
        match entity {
            Entity::TableEntry(entry) => {
                if let Some(table) = self.tables.get_mut(&entry.table_id) {
                    table.entries.insert(key(&entry), canonical(&entry));
                }
            }
            Entity::ActionProfileMember(mut member) => {
                member.action.iter_mut().for_each(canonical_action);
                self.members
                    .insert((member.action_profile_id, member.member_id), member);
            }
            Entity::ActionProfileGroup(mut group) => {
                group.members.sort_by_key(|m| m.member_id);
                self.groups
                    .insert((group.action_profile_id, group.group_id), group);
            }
            Entity::PacketReplicationEngineEntry(entry) => {
                if let Some(Engine::MulticastGroupEntry(group)) = entry.r#type {
                    self.multicast.insert(group.multicast_group_id, group);
                }
            }
            _ => {}
        }
    }

    /// Makes a valid update.
    pub fn apply(&mut self, update: &v1::Update) {
        let Some(entity) = update.entity.as_ref().and_then(|e| e.entity.clone()) else {
            return;
        };
        if update.r#type() != Type::Delete {
            let default = matches!(&entity, Entity::TableEntry(e) if e.is_default_action);
            if !default {
                self.put(entity);
            }
            return;
        }
        match entity {
            Entity::TableEntry(entry) => {
                if let Some(table) = self.tables.get_mut(&entry.table_id) {
                    table.entries.remove(&key(&entry));
                }
            }
            Entity::ActionProfileMember(member) => {
                self.members
                    .remove(&(member.action_profile_id, member.member_id));
            }
            Entity::ActionProfileGroup(group) => {
                self.groups
                    .remove(&(group.action_profile_id, group.group_id));
            }
            Entity::PacketReplicationEngineEntry(entry) => {
                if let Some(Engine::MulticastGroupEntry(group)) = entry.r#type {
                    self.multicast.remove(&group.multicast_group_id);
                }
            }
            _ => {}
        }
    }

    /// Compares what was read with the model, and says where they differ.
    pub fn compare(&self, state: &[Entity], differences: &mut Vec<String>) {
        let mut read = Self {
            members: BTreeMap::new(),
            groups: BTreeMap::new(),
            multicast: BTreeMap::new(),
            ..self.clone()
        };
        read.tables.values_mut().for_each(|t| t.entries.clear());
        read.adopt(state.to_vec());
        for (id, table) in &self.tables {
            let other = read.tables.get(id).map(|t| &t.entries);
            differ(
                "entries",
                &table.entries,
                other.unwrap_or(&BTreeMap::new()),
                differences,
            );
        }
        differ("members", &self.members, &read.members, differences);
        differ("groups", &self.groups, &read.groups, differences);
        differ(
            "multicast groups",
            &self.multicast,
            &read.multicast,
            differences,
        );
    }
}

fn differ<K: Ord + std::fmt::Debug, V: PartialEq + std::fmt::Debug>(
    what: &str,
    model: &BTreeMap<K, V>,
    read: &BTreeMap<K, V>,
    differences: &mut Vec<String>,
) {
    if model == read {
        return;
    }
    let lost = model.iter().find(|(k, v)| read.get(k) != Some(v));
    let extra = read.iter().find(|(k, _)| !model.contains_key(k));
    differences.push(format!(
        "{what} differ: the model has {} and the server {}; expected {:?}, read {:?}, more than expected: {:?}",
        model.len(),
        read.len(),
        lost,
        lost.and_then(|(k, _)| read.get(k)),
        extra
    ));
}
