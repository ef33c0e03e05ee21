//! Draws updates: valid ones, ones that the state forbids, and faulty ones, each with the codes
//! that are right for it.

use p4runtime::p4::config::v1 as info;
use p4runtime::p4::config::v1::match_field::MatchType;
use p4runtime::p4::v1;
use p4runtime::p4::v1::entity::Entity;
use p4runtime::p4::v1::field_match::{self, FieldMatchType as Kind};
use p4runtime::p4::v1::packet_replication_engine_entry::Type as Engine;
use p4runtime::p4::v1::table_action::Type as TableAction;
use p4runtime::p4::v1::update::Type;
use rand::RngExt as _;
use rand::seq::{IndexedRandom as _, IteratorRandom as _};
use rand_chacha::ChaCha8Rng as Rng;
use tonic::Code;

use super::model::{Model, TableModel, key, match_type};

/// An update with the codes that are right for it.
#[derive(Clone, Debug)]
pub struct Draw {
    /// What was drawn.
    pub kind: &'static str,
    /// The update.
    pub update: v1::Update,
    /// The right codes: `[Ok]` if it must be made.
    pub expected: Vec<Code>,
}

/// An update of an entity.
#[must_use]
pub fn update(verb: Type, entity: Entity) -> v1::Update {
    v1::Update {
        r#type: verb.into(),
        entity: Some(v1::Entity {
            entity: Some(entity),
        }),
    }
}

/// A number of so many bits, from few, so that draws meet; with zeros in front now and then.
pub fn number(rng: &mut Rng, width: i32) -> Vec<u8> {
    let width = u32::try_from(width).unwrap_or(0);
    let few = rng.random_range(0..4) > 0;
    let value: u64 = if few {
        rng.random_range(0..64)
    } else {
        rng.random()
    };
    let bits = width.min(64);
    let value = if bits == 64 {
        value
    } else {
        value & ((1 << bits) - 1)
    };
    pad(rng, value)
}

fn pad(rng: &mut Rng, value: u64) -> Vec<u8> {
    let bytes = value.to_be_bytes();
    let skip = (value.leading_zeros() as usize / 8).min(7);
    let mut padded = vec![0; if rng.random_range(0..8) == 0 { 3 } else { 0 }];
    padded.extend_from_slice(&bytes[skip..]);
    padded
}

fn value_of(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |v, b| (v << 8) | u64::from(*b))
}

/// A match of a field; `None` is "don't care".
fn field(rng: &mut Rng, field: &info::MatchField) -> Option<v1::FieldMatch> {
    let width = field.bitwidth;
    let free = rng.random_range(0..4) == 0;
    let value = number(rng, width);
    let kind = match match_type(field) {
        MatchType::Exact => Kind::Exact(field_match::Exact { value }),
        _ if free => return None,
        MatchType::Optional => Kind::Optional(field_match::Optional { value }),
        MatchType::Lpm => {
            let prefix_len = rng.random_range(1..=width.max(1));
            // Bits above the 64 lowest are zero in what is drawn.
            let host = u32::try_from(width - prefix_len).unwrap_or(0);
            let value = if host >= 64 {
                0
            } else {
                value_of(&value) >> host << host
            };
            Kind::Lpm(field_match::Lpm {
                value: pad(rng, value),
                prefix_len,
            })
        }
        MatchType::Ternary => {
            let mask = value_of(&number(rng, width));
            if mask == 0 {
                return None;
            }
            let value = value_of(&value) & mask;
            Kind::Ternary(field_match::Ternary {
                value: pad(rng, value),
                mask: pad(rng, mask),
            })
        }
        MatchType::Range => {
            let other = value_of(&number(rng, width));
            let (low, high) = (value_of(&value).min(other), value_of(&value).max(other));
            let full = if width >= 64 {
                u64::MAX
            } else {
                (1u64 << width.max(0)) - 1
            };
            if low == 0 && high == full && width <= 64 {
                return None;
            }
            Kind::Range(field_match::Range {
                low: pad(rng, low),
                high: pad(rng, high),
            })
        }
        MatchType::Unspecified => return None,
    };
    Some(v1::FieldMatch {
        field_id: field.id,
        field_match_type: Some(kind),
    })
}

/// A call of an action with its parameters in any order.
pub fn call(rng: &mut Rng, model: &Model, action_id: u32) -> v1::Action {
    let params = model
        .actions()
        .get(&action_id)
        .map_or(&[][..], |a| &a.params);
    let mut params: Vec<_> = params
        .iter()
        .map(|p| v1::action::Param {
            param_id: p.id,
            value: argument(rng, p.bitwidth),
        })
        .collect();
    if rng.random_range(0..4) == 0 {
        params.reverse();
    }
    v1::Action { action_id, params }
}

/// Small enough for signed parameters too, which P4Info does not tell from others.
fn argument(rng: &mut Rng, width: i32) -> Vec<u8> {
    match width {
        ..=1 => vec![0],
        _ => {
            let top = (width - 1).min(6);
            let value = rng.random_range(0..1u64 << top);
            pad(rng, value)
        }
    }
}

/// What an entry of a table does; `None` if there is nothing it could do now.
fn action(rng: &mut Rng, model: &Model, table: &info::Table) -> Option<v1::TableAction> {
    let kind = if table.implementation_id == 0 {
        let id = *model.choices(table, false).choose(rng)?;
        TableAction::Action(call(rng, model, id))
    } else {
        let profile = table.implementation_id;
        let groups = model.groups.keys().filter(|(p, _)| *p == profile);
        let members = model.members.keys().filter(|(p, _)| *p == profile);
        match (
            rng.random::<bool>(),
            groups.choose(rng),
            members.choose(rng),
        ) {
            (true, Some((_, id)), _) | (false, Some((_, id)), None) => {
                TableAction::ActionProfileGroupId(*id)
            }
            (_, _, Some((_, id))) => TableAction::ActionProfileMemberId(*id),
            _ => return None,
        }
    };
    Some(v1::TableAction { r#type: Some(kind) })
}

/// A table whose entries can be written.
pub fn table<'m>(rng: &mut Rng, model: &'m Model) -> Option<&'m TableModel> {
    let open = |t: &&TableModel| {
        !t.info.is_const_table
            && !t.info.match_fields.is_empty()
            && t.info
                .match_fields
                .iter()
                .all(|f| match_type(f) != MatchType::Unspecified)
            && !model.choices(&t.info, false).is_empty()
    };
    model.tables().values().filter(open).choose(rng)
}

/// An entry that could be in a table.
pub fn entry(rng: &mut Rng, model: &Model, table: &TableModel) -> Option<v1::TableEntry> {
    let keys = table.info.match_fields.iter().filter_map(|f| field(rng, f));
    let keys: Vec<_> = keys.collect();
    let metadata: &[u8] = if rng.random_range(0..8) == 0 {
        b"a note"
    } else {
        b""
    };
    Some(v1::TableEntry {
        table_id: table.info.preamble.as_ref()?.id,
        r#match: keys,
        action: Some(action(rng, model, &table.info)?),
        priority: if table.ranked {
            rng.random_range(1..5)
        } else {
            0
        },
        metadata: metadata.into(),
        ..Default::default()
    })
}

pub(super) fn table_update(rng: &mut Rng, model: &Model) -> Option<Draw> {
    let table = table(rng, model)?;
    let mut entry = entry(rng, model, table)?;
    let installed = table.entries.values().filter(|e| !e.is_const);
    if rng.random_range(0..3) > 0
        && let Some(old) = installed.choose(rng)
    {
        entry.r#match.clone_from(&old.r#match);
        entry.priority = old.priority;
    }
    let there = table.entries.get(&key(&entry));
    let is_const = there.is_some_and(|e| e.is_const);
    let full = table.info.size > 0
        && table.entries.len() >= usize::try_from(table.info.size).unwrap_or(usize::MAX);
    let (kind, verb, expected) = match (rng.random_range(0..5), there.is_some()) {
        (_, true) if is_const => {
            let verb = *[Type::Modify, Type::Delete].choose(rng)?;
            ("const entry", verb, vec![Code::PermissionDenied])
        }
        (0..=2, false) if full => (
            "insert into full",
            Type::Insert,
            vec![Code::ResourceExhausted],
        ),
        (0..=2, false) => ("insert", Type::Insert, vec![Code::Ok]),
        (0, true) => ("insert again", Type::Insert, vec![Code::AlreadyExists]),
        (1..=2, true) => ("modify", Type::Modify, vec![Code::Ok]),
        (3, false) => ("modify missing", Type::Modify, vec![Code::NotFound]),
        (_, true) => ("delete", Type::Delete, vec![Code::Ok]),
        (_, false) => ("delete missing", Type::Delete, vec![Code::NotFound]),
    };
    Some(Draw {
        kind,
        update: update(verb, Entity::TableEntry(entry)),
        expected,
    })
}

pub(super) fn default_update(rng: &mut Rng, model: &Model) -> Option<Draw> {
    let open =
        |t: &&TableModel| t.info.const_default_action_id == 0 && t.info.implementation_id == 0;
    let table = model.tables().values().filter(open).choose(rng)?;
    let id = *model.choices(&table.info, true).choose(rng)?;
    let entry = v1::TableEntry {
        table_id: table.info.preamble.as_ref()?.id,
        is_default_action: true,
        action: (rng.random_range(0..3) > 0).then(|| v1::TableAction {
            r#type: Some(TableAction::Action(call(rng, model, id))),
        }),
        ..Default::default()
    };
    Some(Draw {
        kind: "default entry",
        update: update(Type::Modify, Entity::TableEntry(entry)),
        expected: vec![Code::Ok],
    })
}

pub(super) fn profile_update(rng: &mut Rng, model: &Model) -> Option<Draw> {
    let (profile, info) = model.profiles().iter().choose(rng)?;
    let id = rng.random_range(1..8);
    if info.with_selector && rng.random::<bool>() {
        return group_update(rng, model, *profile, info, id);
    }
    let table = info
        .table_ids
        .first()
        .and_then(|id| model.tables().get(id))?;
    let action = *model.choices(&table.info, false).choose(rng)?;
    let member = v1::ActionProfileMember {
        action_profile_id: *profile,
        member_id: id,
        action: Some(call(rng, model, action)),
    };
    let there = model.members.contains_key(&(*profile, id));
    let count = model.members.keys().filter(|(p, _)| p == profile).count();
    let full = info.size > 0 && count >= usize::try_from(info.size).unwrap_or(usize::MAX);
    let used = model.used_members(*profile).contains(&id);
    let (kind, verb, expected) = match (rng.random_range(0..3), there) {
        (0, true) => ("insert member again", Type::Insert, Code::AlreadyExists),
        (0, false) if full => (
            "insert member into full",
            Type::Insert,
            Code::ResourceExhausted,
        ),
        (0, false) => ("insert member", Type::Insert, Code::Ok),
        (1, true) => ("modify member", Type::Modify, Code::Ok),
        (1, false) => ("modify missing member", Type::Modify, Code::NotFound),
        (_, true) if used => ("delete used member", Type::Delete, Code::FailedPrecondition),
        (_, true) => ("delete member", Type::Delete, Code::Ok),
        (_, false) => ("delete missing member", Type::Delete, Code::NotFound),
    };
    Some(Draw {
        kind,
        update: update(verb, Entity::ActionProfileMember(member)),
        expected: vec![expected],
    })
}

fn group_update(
    rng: &mut Rng,
    model: &Model,
    profile: u32,
    info: &info::ActionProfile,
    id: u32,
) -> Option<Draw> {
    let known = model
        .members
        .keys()
        .filter(|(p, _)| *p == profile)
        .map(|(_, m)| *m);
    let most = if info.max_group_size > 0 {
        usize::try_from(info.max_group_size).ok()?
    } else {
        4
    };
    let mut members = known.sample(rng, most.min(4));
    members.sort_unstable();
    let members = members
        .into_iter()
        .map(|member_id| v1::action_profile_group::Member {
            member_id,
            weight: 1,
            watch_kind: None,
        });
    let group = v1::ActionProfileGroup {
        action_profile_id: profile,
        group_id: id,
        members: members.collect(),
        max_size: 0,
    };
    let there = model.groups.contains_key(&(profile, id));
    let used = model.used_groups(profile).contains(&id);
    let (kind, verb, expected) = match (rng.random_range(0..3), there) {
        (0, true) => ("insert group again", Type::Insert, Code::AlreadyExists),
        (0, false) => ("insert group", Type::Insert, Code::Ok),
        (1, true) => ("modify group", Type::Modify, Code::Ok),
        (1, false) => ("modify missing group", Type::Modify, Code::NotFound),
        (_, true) if used => ("delete used group", Type::Delete, Code::FailedPrecondition),
        (_, true) => ("delete group", Type::Delete, Code::Ok),
        (_, false) => ("delete missing group", Type::Delete, Code::NotFound),
    };
    Some(Draw {
        kind,
        update: update(verb, Entity::ActionProfileGroup(group)),
        expected: vec![expected],
    })
}

pub(super) fn multicast_update(rng: &mut Rng, model: &Model) -> Option<Draw> {
    let id = rng.random_range(1..6);
    let replicas = (1..=rng.random_range(0..4u8)).map(|port| v1::Replica {
        port_kind: Some(v1::replica::PortKind::Port(vec![port])),
        instance: u32::from(port),
        backup_replicas: vec![],
    });
    let group = v1::MulticastGroupEntry {
        multicast_group_id: id,
        replicas: replicas.collect(),
        ..Default::default()
    };
    let (kind, verb, expected) = match (rng.random_range(0..3), model.multicast.contains_key(&id)) {
        (0, true) => (
            "insert multicast group again",
            Type::Insert,
            Code::AlreadyExists,
        ),
        (0, false) => ("insert multicast group", Type::Insert, Code::Ok),
        (1, true) => ("modify multicast group", Type::Modify, Code::Ok),
        (1, false) => (
            "modify missing multicast group",
            Type::Modify,
            Code::NotFound,
        ),
        (_, true) => ("delete multicast group", Type::Delete, Code::Ok),
        (_, false) => (
            "delete missing multicast group",
            Type::Delete,
            Code::NotFound,
        ),
    };
    let entity = Entity::PacketReplicationEngineEntry(v1::PacketReplicationEngineEntry {
        r#type: Some(Engine::MulticastGroupEntry(group)),
    });
    Some(Draw {
        kind,
        update: update(verb, entity),
        expected: vec![expected],
    })
}
