//! Entities in one form, whoever wrote them: the identity of an entity and its value, so that what
//! a plan wants and what a switch answers can be compared.
//!
//! Servers pad values, leave out or spell out what matches everything, and order keys, parameters,
//! members and replicas as they like; P4Runtime says that none of it means anything. [`canonical`]
//! takes all of it away, and with it what is not configuration: counters, time since the last hit.

use std::collections::BTreeMap;
use std::fmt;

use entries::{Bits, Bytestring as _};
use p4gen::entries::value_text;
use p4runtime::bytestring::canonical as shortest;
use p4runtime::p4::config::v1::{MatchField, Table};
use p4runtime::p4::v1::{
    self, action_profile_action, action_profile_group, entity::Entity as Kind, field_match,
    field_match::FieldMatchType, packet_replication_engine_entry as pre, replica, table_action,
};
use p4runtime::{NameError, P4InfoIndex};
use prost::Message as _;
use thiserror::Error;

/// How the table of the port status is marked in programs.
const PORT_STATUS: &str = "@switchwright(\"port_status\")";

/// What a switch holds or is to hold.
pub type Entities = BTreeMap<EntityKey, v1::Entity>;

/// What an entity is, apart from its value. The order is the one in which entities can be created:
/// what is referred to comes before what refers to it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EntityKey {
    /// A member of an action profile.
    Member {
        /// The profile.
        profile: u32,
        /// The member.
        id: u32,
    },
    /// A group of an action selector.
    Group {
        /// The selector.
        profile: u32,
        /// The group.
        id: u32,
    },
    /// A multicast group.
    Multicast(u32),
    /// A clone session.
    Clone(u32),
    /// An entry of a table.
    Entry {
        /// The table.
        table: u32,
        /// The canonical match, encoded: as good a name as any, and short.
        matches: Vec<u8>,
        /// The priority.
        priority: i32,
    },
    /// The default entry of a table, where it is not the program's own.
    Default {
        /// The table.
        table: u32,
    },
}

/// Kinds of entities, as a switch is asked for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EntityKind {
    /// Members of action profiles.
    Members,
    /// Groups of action selectors.
    Groups,
    /// Multicast groups.
    Multicast,
    /// Clone sessions.
    Clones,
    /// Table entries.
    Entries,
    /// Default entries.
    Defaults,
}

impl EntityKey {
    /// Its kind.
    #[must_use]
    pub const fn kind(&self) -> EntityKind {
        match self {
            Self::Member { .. } => EntityKind::Members,
            Self::Group { .. } => EntityKind::Groups,
            Self::Multicast(_) => EntityKind::Multicast,
            Self::Clone(_) => EntityKind::Clones,
            Self::Entry { .. } => EntityKind::Entries,
            Self::Default { .. } => EntityKind::Defaults,
        }
    }
}

impl fmt::Display for EntityKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Members => "action profile members",
            Self::Groups => "action profile groups",
            Self::Multicast => "multicast groups",
            Self::Clones => "clone sessions",
            Self::Entries => "table entries",
            Self::Defaults => "default entries",
        })
    }
}

/// Why an entity is not one that we can hold against another.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum EntityError {
    /// The program has no such thing.
    #[error(transparent)]
    Name(#[from] NameError),
    /// A value does not fit.
    #[error("{0}")]
    Value(String),
    /// A part is missing or of an unknown kind.
    #[error("{0}")]
    Shape(&'static str),
}

/// An entity in canonical form; `None` for what is not configuration: entries that the program
/// fixes, and default entries as the program has them.
///
/// # Errors
/// [`EntityError`] for entities that do not fit the program, or of kinds that a build directory
/// never has.
pub fn canonical(
    entity: &v1::Entity,
    info: &P4InfoIndex,
) -> Result<Option<(EntityKey, v1::Entity)>, EntityError> {
    let found = match &entity.entity {
        Some(Kind::ActionProfileMember(member)) => Some(canonical_member(member, info)?),
        Some(Kind::ActionProfileGroup(group)) => Some(canonical_group(group)?),
        Some(Kind::PacketReplicationEngineEntry(entry)) => Some(canonical_replication(entry)?),
        Some(Kind::TableEntry(entry)) => canonical_entry(entry, info)?,
        _ => {
            return Err(EntityError::Shape(
                "it is of a kind that build directories never have",
            ));
        }
    };
    Ok(found.map(|(key, kind)| (key, wrap(kind))))
}

/// An entity of this kind.
#[must_use]
pub fn wrap(kind: Kind) -> v1::Entity {
    v1::Entity { entity: Some(kind) }
}

fn canonical_member(
    member: &v1::ActionProfileMember,
    info: &P4InfoIndex,
) -> Result<(EntityKey, Kind), EntityError> {
    let action = member.action.as_ref();
    let action = action
        .map(|action| canonical_action(action, info))
        .transpose()?;
    let key = EntityKey::Member {
        profile: member.action_profile_id,
        id: member.member_id,
    };
    let member = v1::ActionProfileMember {
        action,
        ..member.clone()
    };
    Ok((key, Kind::ActionProfileMember(member)))
}

fn canonical_group(group: &v1::ActionProfileGroup) -> Result<(EntityKey, Kind), EntityError> {
    let key = EntityKey::Group {
        profile: group.action_profile_id,
        id: group.group_id,
    };
    let mut group = group.clone();
    for member in &mut group.members {
        member.watch_kind = match member.watch_kind.take() {
            #[allow(deprecated)] // older clients and servers still name the port so
            Some(action_profile_group::member::WatchKind::Watch(port)) => Some(
                action_profile_group::member::WatchKind::WatchPort(port_bytes(port.into())),
            ),
            Some(action_profile_group::member::WatchKind::WatchPort(port)) => Some(
                action_profile_group::member::WatchKind::WatchPort(shortest(&port).to_vec()),
            ),
            None => None,
        };
    }
    group.members.sort_by_key(|member| member.member_id);
    // Servers answer with the selector's own bound where none was given.
    group.max_size = 0;
    Ok((key, Kind::ActionProfileGroup(group)))
}

fn canonical_replication(
    entry: &v1::PacketReplicationEngineEntry,
) -> Result<(EntityKey, Kind), EntityError> {
    let (key, kind) = match &entry.r#type {
        Some(pre::Type::MulticastGroupEntry(group)) => {
            let replicas = canonical_replicas(&group.replicas);
            (
                EntityKey::Multicast(group.multicast_group_id),
                pre::Type::MulticastGroupEntry(v1::MulticastGroupEntry {
                    replicas,
                    ..group.clone()
                }),
            )
        }
        Some(pre::Type::CloneSessionEntry(session)) => {
            let replicas = canonical_replicas(&session.replicas);
            (
                EntityKey::Clone(session.session_id),
                pre::Type::CloneSessionEntry(v1::CloneSessionEntry {
                    replicas,
                    ..session.clone()
                }),
            )
        }
        None => return Err(EntityError::Shape("the replication entry is empty")),
    };
    let entry = v1::PacketReplicationEngineEntry { r#type: Some(kind) };
    Ok((key, Kind::PacketReplicationEngineEntry(entry)))
}

fn canonical_replicas(replicas: &[v1::Replica]) -> Vec<v1::Replica> {
    let mut replicas = replicas.to_vec();
    for replica in &mut replicas {
        replica.port_kind = match replica.port_kind.take() {
            #[allow(deprecated)] // likewise
            Some(replica::PortKind::EgressPort(port)) => {
                Some(replica::PortKind::Port(port_bytes(port.into())))
            }
            Some(replica::PortKind::Port(port)) => {
                Some(replica::PortKind::Port(shortest(&port).to_vec()))
            }
            None => None,
        };
        for backup in &mut replica.backup_replicas {
            backup.port = shortest(&backup.port).to_vec();
        }
    }
    replicas.sort_by_cached_key(|replica| (replica_port(replica), replica.instance));
    replicas
}

fn replica_port(replica: &v1::Replica) -> Vec<u8> {
    match &replica.port_kind {
        Some(replica::PortKind::Port(port)) => port.clone(),
        _ => Vec::new(),
    }
}

fn port_bytes(port: i64) -> Vec<u8> {
    shortest(&port.to_be_bytes()).to_vec()
}

fn canonical_entry(
    entry: &v1::TableEntry,
    info: &P4InfoIndex,
) -> Result<Option<(EntityKey, Kind)>, EntityError> {
    let table = info.table_by_id(entry.table_id)?;
    if entry.is_const || (table.is_const_table && !entry.is_default_action) {
        return Ok(None);
    }
    let action = match entry
        .action
        .as_ref()
        .and_then(|action| action.r#type.as_ref())
    {
        Some(action) => Some(v1::TableAction {
            r#type: Some(canonical_table_action(action, info)?),
        }),
        None => None,
    };
    // The port status is what links are, not what a plan says.
    if entry.is_default_action
        && (is_port_status(table) || is_initial(action.as_ref(), table, info))
    {
        return Ok(None);
    }
    let entry = v1::TableEntry {
        table_id: entry.table_id,
        r#match: canonical_match(&entry.r#match, table)?,
        action,
        priority: entry.priority,
        is_default_action: entry.is_default_action,
        idle_timeout_ns: entry.idle_timeout_ns,
        metadata: entry.metadata.clone(),
        ..Default::default()
    };
    let key = if entry.is_default_action {
        EntityKey::Default {
            table: entry.table_id,
        }
    } else {
        EntityKey::Entry {
            table: entry.table_id,
            matches: v1::TableEntry {
                r#match: entry.r#match.clone(),
                ..Default::default()
            }
            .encode_to_vec(),
            priority: entry.priority,
        }
    };
    Ok(Some((key, Kind::TableEntry(entry))))
}

/// Whether a default entry is what the program starts with.
fn is_initial(action: Option<&v1::TableAction>, table: &Table, info: &P4InfoIndex) -> bool {
    let Some(table_action::Type::Action(call)) = action.and_then(|a| a.r#type.as_ref()) else {
        return true;
    };
    if table.const_default_action_id != 0 {
        return true; // nobody can change it
    }
    let Some(initial) = &table.initial_default_action else {
        // A table that names no default action has this one (P4_16, 14.2.1.3).
        return info
            .action_by_id(call.action_id)
            .is_ok_and(|action| action.name() == "NoAction");
    };
    let same = |(given, initial): (
        &v1::action::Param,
        &p4runtime::p4::config::v1::table_action_call::Argument,
    )| {
        given.param_id == initial.param_id && given.value == shortest(&initial.value)
    };
    call.action_id == initial.action_id
        && call.params.len() == initial.arguments.len()
        && call.params.iter().zip(&initial.arguments).all(same)
}

fn canonical_table_action(
    action: &table_action::Type,
    info: &P4InfoIndex,
) -> Result<table_action::Type, EntityError> {
    Ok(match action {
        table_action::Type::Action(call) => {
            table_action::Type::Action(canonical_action(call, info)?)
        }
        table_action::Type::ActionProfileActionSet(set) => {
            let mut set = set.clone();
            for member in &mut set.action_profile_actions {
                if let Some(call) = &member.action {
                    member.action = Some(canonical_action(call, info)?);
                }
                if let Some(action_profile_action::WatchKind::WatchPort(port)) =
                    &mut member.watch_kind
                {
                    *port = shortest(port).to_vec();
                }
            }
            set.action_profile_actions
                .sort_by_cached_key(v1::ActionProfileAction::encode_to_vec);
            table_action::Type::ActionProfileActionSet(set)
        }
        other => other.clone(),
    })
}

fn canonical_action(action: &v1::Action, info: &P4InfoIndex) -> Result<v1::Action, EntityError> {
    info.action_by_id(action.action_id)?;
    let mut action = action.clone();
    for param in &mut action.params {
        param.value = shortest(&param.value).to_vec();
    }
    action.params.sort_by_key(|param| param.param_id);
    Ok(action)
}

/// Keys in the order of their ids, without those that match everything.
fn canonical_match(
    fields: &[v1::FieldMatch],
    table: &Table,
) -> Result<Vec<v1::FieldMatch>, EntityError> {
    let mut kept = Vec::with_capacity(fields.len());
    for field in fields {
        let declared = table.field_by_id(field.field_id)?;
        let value = field
            .field_match_type
            .as_ref()
            .ok_or(EntityError::Shape("a key has no value"))?;
        if let Some(value) = canonical_field(value, declared)? {
            kept.push(v1::FieldMatch {
                field_id: field.field_id,
                field_match_type: Some(value),
            });
        }
    }
    kept.sort_by_key(|field| field.field_id);
    Ok(kept)
}

/// `None` if it matches everything.
fn canonical_field(
    value: &FieldMatchType,
    declared: &MatchField,
) -> Result<Option<FieldMatchType>, EntityError> {
    let bytes = |bytes: &[u8]| shortest(bytes).to_vec();
    // Keys of type string (`@p4runtime_translation`) have no width and travel as they are.
    if declared.bitwidth <= 0 {
        return Ok(Some(value.clone()));
    }
    let width = declared.bitwidth.unsigned_abs();
    let bits = |value: &[u8]| {
        Bits::decode(value, width)
            .map_err(|error| EntityError::Value(format!("the key {}: {error}", declared.name)))
    };
    Ok(match value {
        FieldMatchType::Exact(exact) => Some(FieldMatchType::Exact(field_match::Exact {
            value: bytes(&exact.value),
        })),
        FieldMatchType::Lpm(lpm) if lpm.prefix_len == 0 => None,
        FieldMatchType::Lpm(lpm) => {
            let mask = Bits::prefix_mask(width, lpm.prefix_len.unsigned_abs());
            Some(FieldMatchType::Lpm(field_match::Lpm {
                value: bits(&lpm.value)?.and(&mask).canonical(),
                prefix_len: lpm.prefix_len,
            }))
        }
        FieldMatchType::Ternary(ternary) => {
            let mask = bits(&ternary.mask)?;
            (!mask.is_zero()).then_some(FieldMatchType::Ternary(field_match::Ternary {
                value: bits(&ternary.value)?.and(&mask).canonical(),
                mask: mask.canonical(),
            }))
        }
        FieldMatchType::Range(range) => {
            let (low, high) = (bits(&range.low)?, bits(&range.high)?);
            let all = low.is_zero() && high == Bits::ones(width);
            (!all).then_some(FieldMatchType::Range(field_match::Range {
                low: low.canonical(),
                high: high.canonical(),
            }))
        }
        FieldMatchType::Optional(optional) => {
            Some(FieldMatchType::Optional(field_match::Optional {
                value: bytes(&optional.value),
            }))
        }
        FieldMatchType::Other(other) => Some(FieldMatchType::Other(other.clone())),
    })
}

/// An entity in the program's names, on one line.
#[must_use]
pub fn describe(entity: &v1::Entity, info: &P4InfoIndex) -> String {
    match &entity.entity {
        Some(Kind::TableEntry(entry)) => describe_entry(entry, info),
        Some(Kind::ActionProfileMember(member)) => format!(
            "{} member {} -> {}",
            profile_name(member.action_profile_id, info),
            member.member_id,
            member.action.as_ref().map_or_else(
                || "no action".to_owned(),
                |call| describe_action(call, info)
            )
        ),
        Some(Kind::ActionProfileGroup(group)) => {
            let members: Vec<String> = group.members.iter().map(describe_weight).collect();
            format!(
                "{} group {} -> members {}",
                profile_name(group.action_profile_id, info),
                group.group_id,
                members.join(", ")
            )
        }
        Some(Kind::PacketReplicationEngineEntry(entry)) => match &entry.r#type {
            Some(pre::Type::MulticastGroupEntry(group)) => format!(
                "multicast group {} -> {}",
                group.multicast_group_id,
                describe_replicas(&group.replicas)
            ),
            Some(pre::Type::CloneSessionEntry(session)) => format!(
                "clone session {} -> {}",
                session.session_id,
                describe_replicas(&session.replicas)
            ),
            None => "an empty replication entry".to_owned(),
        },
        _ => "an entity of another kind".to_owned(),
    }
}

fn describe_weight(member: &action_profile_group::Member) -> String {
    if member.weight == 1 {
        member.member_id.to_string()
    } else {
        format!("{} (weight {})", member.member_id, member.weight)
    }
}

fn describe_replicas(replicas: &[v1::Replica]) -> String {
    let one = |replica: &v1::Replica| {
        let port = replica_port(replica);
        let port = Bits::decode(&port, 64).ok().and_then(|bits| bits.to_u128());
        let port = port.map_or_else(|| "?".to_owned(), |port| port.to_string());
        format!("port {port} instance {}", replica.instance)
    };
    let all: Vec<String> = replicas.iter().map(one).collect();
    all.join(", ")
}

fn describe_entry(entry: &v1::TableEntry, info: &P4InfoIndex) -> String {
    let Ok(table) = info.table_by_id(entry.table_id) else {
        return format!("an entry of the unknown table {:#010x}", entry.table_id);
    };
    let mut text = table.name().to_owned();
    if entry.is_default_action {
        text.push_str(" default");
    }
    for field in &entry.r#match {
        text.push(' ');
        text.push_str(&describe_field(field, table));
    }
    if entry.priority != 0 {
        text.push_str(&format!(" priority {}", entry.priority));
    }
    match entry
        .action
        .as_ref()
        .and_then(|action| action.r#type.as_ref())
    {
        Some(table_action::Type::Action(call)) => {
            text.push_str(&format!(" -> {}", describe_action(call, info)));
        }
        Some(table_action::Type::ActionProfileMemberId(id)) => {
            text.push_str(&format!(" -> member {id}"));
        }
        Some(table_action::Type::ActionProfileGroupId(id)) => {
            text.push_str(&format!(" -> group {id}"));
        }
        Some(table_action::Type::ActionProfileActionSet(set)) => text.push_str(&format!(
            " -> one-shot group of {}",
            set.action_profile_actions.len()
        )),
        None => {}
    }
    text
}

fn describe_field(field: &v1::FieldMatch, table: &Table) -> String {
    let Ok(declared) = table.field_by_id(field.field_id) else {
        return format!("field{}=?", field.field_id);
    };
    let width = declared.bitwidth.unsigned_abs();
    let number = |bytes: &[u8]| describe_value(bytes, width);
    let mask = |bytes: &[u8]| {
        Bits::decode(bytes, width)
            .map_or_else(|_| "?".to_owned(), |bits| value_text::hexadecimal(&bits))
    };
    let value = match &field.field_match_type {
        Some(FieldMatchType::Exact(exact)) => number(&exact.value),
        Some(FieldMatchType::Optional(optional)) => number(&optional.value),
        Some(FieldMatchType::Lpm(lpm)) => format!("{}/{}", number(&lpm.value), lpm.prefix_len),
        Some(FieldMatchType::Ternary(ternary)) => {
            format!("{}&{}", mask(&ternary.value), mask(&ternary.mask))
        }
        Some(FieldMatchType::Range(range)) => {
            format!("{}..{}", number(&range.low), number(&range.high))
        }
        _ => "?".to_owned(),
    };
    format!("{}={value}", declared.name)
}

fn describe_action(call: &v1::Action, info: &P4InfoIndex) -> String {
    let Ok(action) = info.action_by_id(call.action_id) else {
        return format!("the unknown action {:#010x}", call.action_id);
    };
    let params: Vec<String> = call
        .params
        .iter()
        .map(|param| match action.param_by_id(param.param_id) {
            Ok(declared) => format!(
                "{}={}",
                declared.name,
                describe_value(&param.value, declared.bitwidth.unsigned_abs())
            ),
            Err(_) => format!("{}=?", param.param_id),
        })
        .collect();
    format!("{}({})", action.name(), params.join(", "))
}

fn describe_value(bytes: &[u8], width: u32) -> String {
    match Bits::decode(bytes, width) {
        Ok(bits) => value_text::address(&bits).unwrap_or_else(|| value_text::decimal(&bits)),
        Err(_) => format!("{bytes:02x?}"),
    }
}

fn profile_name(id: u32, info: &P4InfoIndex) -> String {
    info.action_profile_by_id(id).map_or_else(
        |_| format!("profile {id:#010x}"),
        |profile| profile.name().to_owned(),
    )
}

/// Whether a table's default entry is the port status: state of the network, not of the plan.
#[must_use]
pub fn is_port_status(table: &Table) -> bool {
    let preamble = table.preamble.as_ref();
    preamble.is_some_and(|p| p.annotations.iter().any(|a| a == PORT_STATUS))
}
