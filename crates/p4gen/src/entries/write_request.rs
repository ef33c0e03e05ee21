//! `entries.txtpb` and `entries.binpb`: all entries of a switch as one `p4.v1.WriteRequest`, in
//! text format or in protobuf's own.
//!
//! Updates come in the order in which a server can take them one by one: members, groups, table
//! entries, multicast groups, clone sessions. Default entries are modified, everything else is
//! inserted (P4Runtime 1.5, 9.1.3). Values are in canonical form. Device and election ids belong
//! to the session and are left for the client to fill in.

use entries::catalog::match_kind;
use entries::{Bytestring as _, Catalog, Problem, Resolved, ResolvedCall, check, message};
use p4runtime::p4::v1::{self, entity, packet_replication_engine_entry, replica};
use p4runtime::p4::v1::{table_action, update};
use p4runtime::{P4InfoIndex, from_text};
use prost::Message as _;
use quantities::PortId;

use super::{
    Bits, CloneSession, EntriesError, EntryAction, Group, GroupId, Key, Member, MemberId,
    MulticastGroup, NamedCall, Replica, SwitchEntries, TableEntry, packet_length, request_text,
    width,
};

/// The message.
///
/// # Errors
/// [`EntriesError`] for entries that do not fit the program.
pub fn write(
    entries: &SwitchEntries,
    info: &P4InfoIndex,
) -> Result<v1::WriteRequest, EntriesError> {
    let catalog = Catalog::of_p4info(info.info());
    let resolved = catalog.resolve(entries)?;
    let mut updates = Vec::with_capacity(entries.tables.len() + entries.members.len());
    for member in &resolved.members {
        updates.push(insert(entity::Entity::ActionProfileMember(
            v1::ActionProfileMember {
                action_profile_id: member.profile.id,
                member_id: member.id,
                action: Some(action(&member.call)),
            },
        )));
    }
    for (group, profile) in entries.groups.iter().zip(&resolved.groups) {
        let member = |&member_id| v1::action_profile_group::Member {
            member_id,
            weight: 1,
            watch_kind: None,
        };
        updates.push(insert(entity::Entity::ActionProfileGroup(
            v1::ActionProfileGroup {
                action_profile_id: profile.id,
                group_id: group.id,
                members: group.members.iter().map(member).collect(),
                max_size: 0,
            },
        )));
    }
    for entry in &resolved.tables {
        let kind = if entry.is_default {
            update::Type::Modify
        } else {
            update::Type::Insert
        };
        updates.push(an_update(
            kind,
            entity::Entity::TableEntry(table_entry(entry)),
        ));
    }
    for group in &entries.multicast_groups {
        let entry = v1::MulticastGroupEntry {
            multicast_group_id: group.id,
            replicas: group.replicas.iter().map(write_replica).collect(),
            metadata: Vec::new(),
        };
        updates.push(insert_replication(
            packet_replication_engine_entry::Type::MulticastGroupEntry(entry),
        ));
    }
    for (id, session) in &entries.clone_sessions {
        let entry = v1::CloneSessionEntry {
            session_id: *id,
            replicas: session.replicas.iter().map(write_replica).collect(),
            class_of_service: 0,
            packet_length_bytes: packet_length(&entries.switch, *id, session)?.into(),
        };
        updates.push(insert_replication(
            packet_replication_engine_entry::Type::CloneSessionEntry(entry),
        ));
    }
    Ok(v1::WriteRequest {
        updates,
        ..Default::default()
    })
}

/// The message as text, an update a line.
///
/// # Errors
/// [`EntriesError`] for entries that do not fit the program.
pub fn write_text(entries: &SwitchEntries, info: &P4InfoIndex) -> Result<String, EntriesError> {
    request_text::write(entries, info)
}

/// The message in protobuf's binary format: a fifth of the text, and far faster to read.
///
/// # Errors
/// [`EntriesError`] for entries that do not fit the program.
pub fn write_binary(entries: &SwitchEntries, info: &P4InfoIndex) -> Result<Vec<u8>, EntriesError> {
    Ok(write(entries, info)?.encode_to_vec())
}

/// Reads the message that [`write_binary`] makes, or another's.
///
/// # Errors
/// [`EntriesError::Syntax`] for bytes that are no `WriteRequest`; `switch` says whose they are.
pub fn message_of_binary(switch: &str, bytes: &[u8]) -> Result<v1::WriteRequest, EntriesError> {
    v1::WriteRequest::decode(bytes).map_err(|error| EntriesError::Syntax {
        at: format!("{switch}, entries.binpb"),
        problem: error.to_string(),
    })
}

fn insert(entity: entity::Entity) -> v1::Update {
    an_update(update::Type::Insert, entity)
}

fn insert_replication(kind: packet_replication_engine_entry::Type) -> v1::Update {
    let entry = v1::PacketReplicationEngineEntry { r#type: Some(kind) };
    insert(entity::Entity::PacketReplicationEngineEntry(entry))
}

fn an_update(kind: update::Type, entity: entity::Entity) -> v1::Update {
    v1::Update {
        r#type: kind.into(),
        entity: Some(v1::Entity {
            entity: Some(entity),
        }),
    }
}

fn table_entry(entry: &Resolved<'_>) -> v1::TableEntry {
    let written = entry.matches();
    v1::TableEntry {
        table_id: entry.table.id,
        r#match: written
            .filter_map(|(field, value)| message::write(field.id, value?, Bits::canonical))
            .collect(),
        action: Some(v1::TableAction {
            r#type: Some(match &entry.action {
                EntryAction::Call(call) => table_action::Type::Action(action(call)),
                EntryAction::Member(MemberId(id)) => table_action::Type::ActionProfileMemberId(*id),
                EntryAction::Group(GroupId(id)) => table_action::Type::ActionProfileGroupId(*id),
                EntryAction::OneShot(never) => match *never {},
            }),
        }),
        priority: entry.priority,
        is_default_action: entry.is_default,
        ..Default::default()
    }
}

fn action(call: &ResolvedCall<'_>) -> v1::Action {
    let params = call.params().map(|(param, value)| v1::action::Param {
        param_id: param.id,
        value: value.canonical(),
    });
    v1::Action {
        action_id: call.action.id,
        params: params.collect(),
    }
}

fn write_replica(replica: &Replica) -> v1::Replica {
    let port = p4runtime::bytestring::canonical(&replica.port.get().to_be_bytes()).to_vec();
    v1::Replica {
        port_kind: Some(replica::PortKind::Port(port)),
        instance: replica.rid.into(),
        backup_replicas: Vec::new(),
    }
}

/// Reads the text that [`write_text`] makes, or another's as far as it says what entries can say.
///
/// # Errors
/// [`EntriesError`] for text that is no `WriteRequest`, or entries that do not fit the program.
pub fn read_text(
    switch: &str,
    text: &str,
    info: &P4InfoIndex,
) -> Result<SwitchEntries, EntriesError> {
    read(switch, &from_text(text)?, info)
}

/// Reads a message.
///
/// # Errors
/// [`EntriesError`] for updates that are neither inserts nor changes of a default entry, for
/// entities that entries do not cover, or that do not fit the program.
pub fn read(
    switch: &str,
    request: &v1::WriteRequest,
    info: &P4InfoIndex,
) -> Result<SwitchEntries, EntriesError> {
    let mut entries = SwitchEntries {
        switch: switch.to_owned(),
        ..Default::default()
    };
    for (number, update) in request.updates.iter().enumerate() {
        let at = || format!("{switch}, update {number}");
        let syntax = |problem: &str| EntriesError::Syntax {
            at: at(),
            problem: problem.to_owned(),
        };
        let entity = update
            .entity
            .as_ref()
            .and_then(|entity| entity.entity.as_ref())
            .ok_or_else(|| syntax("the update has no entity"))?;
        let is_default =
            matches!(entity, entity::Entity::TableEntry(entry) if entry.is_default_action);
        let expected = if is_default {
            update::Type::Modify
        } else {
            update::Type::Insert
        };
        if update.r#type() != expected {
            return Err(syntax(
                "entries are inserted and default entries are modified",
            ));
        }
        read_entity(&mut entries, entity, info).map_err(|why| match why {
            Unread::Unfit(why) => why.at(at()).into(),
            Unread::Other(problem) => syntax(problem),
        })?;
    }
    super::fitted(entries, info)
}

enum Unread {
    Unfit(Problem),
    Other(&'static str),
}

impl<T: Into<Problem>> From<T> for Unread {
    fn from(why: T) -> Self {
        Self::Unfit(why.into())
    }
}

fn read_entity(
    entries: &mut SwitchEntries,
    entity: &entity::Entity,
    info: &P4InfoIndex,
) -> Result<(), Unread> {
    match entity {
        entity::Entity::ActionProfileMember(member) => {
            let profile = info.action_profile_by_id(member.action_profile_id)?;
            let call = member
                .action
                .as_ref()
                .ok_or(Unread::Other("the member has no action"))?;
            entries.members.push(Member {
                profile: profile.name().to_owned().into(),
                id: member.member_id,
                action: read_action(call, info)?,
            });
        }
        entity::Entity::ActionProfileGroup(group) => {
            let profile = info.action_profile_by_id(group.action_profile_id)?;
            let plain = group
                .members
                .iter()
                .all(|m| m.weight == 1 && m.watch_kind.is_none());
            if !plain || group.max_size != 0 {
                return Err(Unread::Other(
                    "groups have members of weight 1, without watch ports",
                ));
            }
            entries.groups.push(Group {
                profile: profile.name().to_owned().into(),
                id: group.group_id,
                members: group
                    .members
                    .iter()
                    .map(|member| member.member_id)
                    .collect(),
            });
        }
        entity::Entity::TableEntry(entry) => entries.tables.push(read_table_entry(entry, info)?),
        entity::Entity::PacketReplicationEngineEntry(entry) => match &entry.r#type {
            Some(packet_replication_engine_entry::Type::MulticastGroupEntry(group)) => {
                entries.multicast_groups.push(MulticastGroup {
                    id: group.multicast_group_id,
                    replicas: read_replicas(&group.replicas)?,
                });
            }
            Some(packet_replication_engine_entry::Type::CloneSessionEntry(session)) => {
                let cut = u16::try_from(session.packet_length_bytes)
                    .map_err(|_| Unread::Other("packet_length_bytes is 0 to 65535"))?;
                let config = CloneSession {
                    replicas: read_replicas(&session.replicas)?,
                    multicast_group: None,
                    truncate_to: (cut > 0).then_some(cut.into()),
                };
                entries.clone_sessions.push((session.session_id, config));
            }
            None => return Err(Unread::Other("the replication entry is empty")),
        },
        _ => return Err(Unread::Other("entries do not cover this kind of entity")),
    }
    Ok(())
}

fn read_table_entry(entry: &v1::TableEntry, info: &P4InfoIndex) -> Result<TableEntry, Unread> {
    let table = info.table_by_id(entry.table_id)?;
    let mut keys = Vec::with_capacity(entry.r#match.len());
    for part in &entry.r#match {
        let field = table.field_by_id(part.field_id)?;
        let (name, kind) = (&field.name, match_kind(field));
        let bits = |bytes: &[u8]| read_bits(bytes, field.bitwidth, &check::field_place(name));
        keys.push(Key {
            field: name.clone().into(),
            value: message::read(name, width(field.bitwidth, name)?, kind, part, bits)?,
        });
    }
    let action = entry
        .action
        .as_ref()
        .and_then(|action| action.r#type.as_ref());
    let action = match action {
        Some(table_action::Type::Action(call)) => EntryAction::Call(read_action(call, info)?),
        Some(table_action::Type::ActionProfileMemberId(id)) => EntryAction::Member(MemberId(*id)),
        Some(table_action::Type::ActionProfileGroupId(id)) => EntryAction::Group(GroupId(*id)),
        Some(table_action::Type::ActionProfileActionSet(_)) => {
            return Err(Unread::Other(
                "one-shot groups are not covered; use members and groups",
            ));
        }
        None => return Err(Unread::Other("the table entry has no action")),
    };
    Ok(TableEntry {
        table: table.name().to_owned().into(),
        keys,
        priority: (entry.priority != 0).then_some(entry.priority),
        action,
        is_default: entry.is_default_action,
    })
}

fn read_action(call: &v1::Action, info: &P4InfoIndex) -> Result<NamedCall, Unread> {
    let action = info.action_by_id(call.action_id)?;
    let mut params = Vec::with_capacity(call.params.len());
    for argument in &call.params {
        let param = action.param_by_id(argument.param_id)?;
        let place = check::param_place(action.name(), &param.name);
        let value = read_bits(&argument.value, param.bitwidth, &place)?;
        params.push((param.name.clone().into(), value));
    }
    Ok(NamedCall {
        action: action.name().to_owned().into(),
        params,
    })
}

fn read_bits(bytes: &[u8], bitwidth: i32, what: &str) -> Result<Bits, Problem> {
    check::bytes(bytes, width(bitwidth, what)?, || what.to_owned())
}

// Older clients still name the port in the field that `port` replaced.
#[allow(deprecated)]
fn read_replicas(replicas: &[v1::Replica]) -> Result<Vec<Replica>, Unread> {
    let wrong = "a replica has a port of at most 16 bits and an instance of at most 16 bits";
    let read = |replica: &v1::Replica| {
        let port = match replica.port_kind.as_ref()? {
            replica::PortKind::Port(bytes) => Bits::decode(bytes, 16).ok()?.to_u128()?,
            replica::PortKind::EgressPort(port) => u128::from(*port),
        };
        Some(Replica {
            rid: u16::try_from(replica.instance).ok()?,
            port: PortId::new(u16::try_from(port).ok()?),
        })
    };
    replicas
        .iter()
        .map(|replica| read(replica).ok_or(Unread::Other(wrong)))
        .collect()
}
