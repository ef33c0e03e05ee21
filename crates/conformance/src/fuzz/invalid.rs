//! Faults: a valid insertion is drawn and one thing about it made wrong.

use p4runtime::p4::config::v1::match_field::MatchType;
use p4runtime::p4::v1;
use p4runtime::p4::v1::entity::Entity;
use p4runtime::p4::v1::field_match::{self, FieldMatchType as Kind};
use p4runtime::p4::v1::packet_replication_engine_entry::Type as Engine;
use p4runtime::p4::v1::table_action::Type as TableAction;
use p4runtime::p4::v1::update::Type;
use rand::seq::IndexedRandom as _;
use rand_chacha::ChaCha8Rng as Rng;
use tonic::Code;

use super::draw::{Draw, entry, table, update};
use super::model::{Model, TableModel, key, match_type};

/// The faults, the list of all, and their names, from one list.
macro_rules! faults {
    ($($(#[$doc:meta])* $fault:ident,)*) => {
        /// What can be wrong.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Fault { $($(#[$doc])* $fault,)* }

        /// All faults.
        pub const FAULTS: [Fault; [$(Fault::$fault),*].len()] = [$(Fault::$fault),*];

        impl Fault {
            const fn name(self) -> &'static str {
                match self { $(Self::$fault => stringify!($fault),)* }
            }
        }
    };
}

faults! {
    /// The table is not in P4Info.
    UnknownTable,
    /// A match field is not in the table.
    UnknownField,
    /// An exact field is left out.
    MissingExact,
    /// A field is given twice.
    TwiceField,
    /// A field is matched in another way.
    WrongKind,
    /// A match has no value at all.
    NoKind,
    /// A value has more bits than its field.
    WideValue,
    /// A value has no bytes.
    EmptyValue,
    /// Bits after the prefix are set.
    StrayPrefixBits,
    /// The prefix is longer than the field.
    LongPrefix,
    /// The prefix has no length.
    ZeroPrefix,
    /// Bits outside the mask are set.
    StrayMaskBits,
    /// The mask is zero.
    ZeroMask,
    /// The range is empty.
    SwappedRange,
    /// A priority is missing, or is where none belongs.
    WrongPriority,
    /// A priority below zero.
    NegativePriority,
    /// The action is not in P4Info.
    UnknownAction,
    /// The action is not one of the table's.
    ForeignAction,
    /// The action is for default entries only.
    DefaultOnlyAction,
    /// A parameter is left out.
    MissingParam,
    /// A parameter that the action does not have.
    ExtraParam,
    /// A parameter twice.
    TwiceParam,
    /// An argument has more bits than its parameter.
    WideParam,
    /// An argument has no bytes.
    EmptyParam,
    /// No action at all.
    NoAction,
    /// An empty action.
    EmptyAction,
    /// Another kind of action than the table's implementation wants.
    WrongImplementation,
    /// A member or group that is not there.
    UnknownMember,
    /// The update has no type.
    NoVerb,
    /// The update has no entity.
    NoEntity,
    /// A client claims a const entry.
    ClaimsConst,
    /// An idle timeout where entries do not age.
    IdleTimeout,
    /// The time since the last hit is written.
    WritesHitTime,
    /// The default entry is inserted or deleted.
    DefaultVerb,
    /// The default entry has a key.
    DefaultKey,
    /// A table of const entries is written.
    ConstTable,
    /// A const default action is written.
    ConstDefault,
    /// A group has a weight of zero.
    ZeroWeight,
    /// A group has a member twice.
    TwiceMember,
    /// The multicast group 0.
    GroupZero,
    /// A replica twice.
    TwiceReplica,
}

const INVALID: &[Code] = &[Code::InvalidArgument];
const RANGE: &[Code] = &[Code::OutOfRange];
const DENIED: &[Code] = &[Code::PermissionDenied];

/// Draws a faulty update, if the program has what the fault is about.
pub fn draw(rng: &mut Rng, model: &Model) -> Option<Draw> {
    let fault = *FAULTS.choose(rng)?;
    let (update, expected) = match fault {
        Fault::ConstTable | Fault::ConstDefault => closed(rng, model, fault)?,
        Fault::ZeroWeight | Fault::TwiceMember => group(model, fault)?,
        Fault::GroupZero | Fault::TwiceReplica => multicast(fault),
        _ => {
            let table = table(rng, model)?;
            let entry = entry(rng, model, table)?;
            // The key must be free, so that nothing but the fault speaks against it.
            if table.entries.contains_key(&key(&entry)) {
                return None;
            }
            spoil(rng, model, table, entry, fault)?
        }
    };
    Some(Draw {
        kind: fault.name(),
        update,
        expected: expected.to_vec(),
    })
}

type Spoilt = (v1::Update, &'static [Code]);

fn spoil(
    rng: &mut Rng,
    model: &Model,
    table: &TableModel,
    mut entry: v1::TableEntry,
    fault: Fault,
) -> Option<Spoilt> {
    let mut verb = Type::Insert;
    let expected = match fault {
        Fault::UnknownTable => {
            entry.table_id = 0x02ff_fffe;
            &[Code::NotFound, Code::InvalidArgument][..]
        }
        Fault::WrongPriority => {
            entry.priority = i32::from(!table.ranked);
            INVALID
        }
        Fault::NegativePriority => {
            entry.priority = -3;
            INVALID
        }
        Fault::NoVerb => {
            verb = Type::Unspecified;
            INVALID
        }
        Fault::NoEntity => {
            let empty = v1::Update {
                r#type: verb.into(),
                entity: None,
            };
            return Some((empty, INVALID));
        }
        Fault::ClaimsConst => {
            entry.is_const = true;
            INVALID
        }
        Fault::IdleTimeout => {
            use p4runtime::p4::config::v1::table::IdleTimeoutBehavior as Behaviour;
            if table.info.idle_timeout_behavior() == Behaviour::NotifyControl {
                return None;
            }
            entry.idle_timeout_ns = 1_000_000_000;
            INVALID
        }
        Fault::WritesHitTime => {
            entry.time_since_last_hit = Some(v1::table_entry::IdleTimeout::default());
            INVALID
        }
        Fault::DefaultVerb | Fault::DefaultKey => {
            if table.info.const_default_action_id != 0 || table.info.implementation_id != 0 {
                return None;
            }
            entry.is_default_action = true;
            entry.metadata = Vec::new();
            if fault == Fault::DefaultKey {
                verb = Type::Modify;
                if entry.r#match.is_empty() {
                    return None;
                }
            } else {
                entry.r#match.clear();
                entry.priority = 0;
                verb = *[Type::Insert, Type::Delete].choose(rng)?;
            }
            INVALID
        }
        Fault::NoAction
        | Fault::EmptyAction
        | Fault::UnknownAction
        | Fault::ForeignAction
        | Fault::DefaultOnlyAction
        | Fault::MissingParam
        | Fault::ExtraParam
        | Fault::TwiceParam
        | Fault::WideParam
        | Fault::EmptyParam
        | Fault::WrongImplementation
        | Fault::UnknownMember => spoil_action(rng, model, table, &mut entry, fault)?,
        _ => spoil_key(rng, table, &mut entry, fault)?,
    };
    Some((update(verb, Entity::TableEntry(entry)), expected))
}

/// A field of the entry's key and its description, of one of some kinds.
fn chosen<'e>(
    rng: &mut Rng,
    table: &TableModel,
    entry: &'e mut v1::TableEntry,
    kinds: &[MatchType],
) -> Option<(&'e mut v1::FieldMatch, i32)> {
    let width = |m: &v1::FieldMatch| {
        let mut fields = table.info.match_fields.iter();
        let field = fields.find(|f| f.id == m.field_id)?;
        (kinds.is_empty() || kinds.contains(&match_type(field))).then_some(field.bitwidth)
    };
    let places: Vec<(usize, i32)> = entry
        .r#match
        .iter()
        .enumerate()
        .filter_map(|(i, m)| Some((i, width(m)?)))
        .collect();
    let (place, width) = *places.choose(rng)?;
    Some((entry.r#match.get_mut(place)?, width))
}

/// More bytes than a field of so many bits can have.
fn wide(width: i32) -> Vec<u8> {
    vec![0xff; usize::try_from(width).unwrap_or(0) / 8 + 1]
}

fn set_value(given: &mut v1::FieldMatch, value: Vec<u8>) {
    match &mut given.field_match_type {
        Some(Kind::Exact(m)) => m.value = value,
        Some(Kind::Lpm(m)) => m.value = value,
        Some(Kind::Ternary(m)) => m.value = value,
        Some(Kind::Range(m)) => m.low = value,
        Some(Kind::Optional(m)) => m.value = value,
        _ => {}
    }
}

fn spoil_key(
    rng: &mut Rng,
    table: &TableModel,
    entry: &mut v1::TableEntry,
    fault: Fault,
) -> Option<&'static [Code]> {
    match fault {
        Fault::UnknownField => {
            chosen(rng, table, entry, &[])?.0.field_id = 0xfff;
            // The field it was may be missing now, which is no better.
            Some(INVALID)
        }
        Fault::MissingExact => {
            let id = chosen(rng, table, entry, &[MatchType::Exact])?.0.field_id;
            entry.r#match.retain(|m| m.field_id != id);
            Some(INVALID)
        }
        Fault::TwiceField => {
            let twice = chosen(rng, table, entry, &[])?.0.clone();
            entry.r#match.push(twice);
            Some(INVALID)
        }
        Fault::WrongKind => {
            let (given, _) = chosen(rng, table, entry, &[])?;
            given.field_match_type = Some(match given.field_match_type {
                Some(Kind::Exact(_)) => Kind::Optional(field_match::Optional { value: vec![1] }),
                _ => Kind::Exact(field_match::Exact { value: vec![1] }),
            });
            Some(INVALID)
        }
        Fault::NoKind => {
            chosen(rng, table, entry, &[])?.0.field_match_type = None;
            Some(INVALID)
        }
        Fault::WideValue => {
            let (given, width) = chosen(rng, table, entry, &[])?;
            set_value(given, wide(width));
            Some(RANGE)
        }
        Fault::EmptyValue => {
            set_value(chosen(rng, table, entry, &[])?.0, Vec::new());
            // In a ternary or LPM match an empty value may also be read as a missing one.
            Some(&[Code::OutOfRange, Code::InvalidArgument])
        }
        Fault::StrayPrefixBits => {
            let (given, width) = chosen(rng, table, entry, &[MatchType::Lpm])?;
            if width < 2 {
                return None;
            }
            given.field_match_type = Some(Kind::Lpm(field_match::Lpm {
                value: vec![1],
                prefix_len: width - 1,
            }));
            Some(INVALID)
        }
        Fault::LongPrefix | Fault::ZeroPrefix => {
            let (given, width) = chosen(rng, table, entry, &[MatchType::Lpm])?;
            if let Some(Kind::Lpm(m)) = &mut given.field_match_type {
                m.prefix_len = if fault == Fault::LongPrefix {
                    width + 1
                } else {
                    0
                };
                m.value = vec![0];
            }
            Some(INVALID)
        }
        Fault::StrayMaskBits => {
            let (given, width) = chosen(rng, table, entry, &[MatchType::Ternary])?;
            if width < 2 {
                return None;
            }
            given.field_match_type = Some(Kind::Ternary(field_match::Ternary {
                value: vec![3],
                mask: vec![1],
            }));
            Some(INVALID)
        }
        Fault::ZeroMask => {
            let (given, _) = chosen(rng, table, entry, &[MatchType::Ternary])?;
            let zero = vec![0];
            given.field_match_type = Some(Kind::Ternary(field_match::Ternary {
                value: zero.clone(),
                mask: zero,
            }));
            Some(INVALID)
        }
        Fault::SwappedRange => {
            let (given, width) = chosen(rng, table, entry, &[MatchType::Range])?;
            if width < 2 {
                return None;
            }
            given.field_match_type = Some(Kind::Range(field_match::Range {
                low: vec![2],
                high: vec![1],
            }));
            Some(INVALID)
        }
        _ => None,
    }
}

fn spoil_action(
    rng: &mut Rng,
    model: &Model,
    table: &TableModel,
    entry: &mut v1::TableEntry,
    fault: Fault,
) -> Option<&'static [Code]> {
    let direct = table.info.implementation_id == 0;
    match fault {
        Fault::NoAction => {
            entry.action = None;
            return Some(INVALID);
        }
        Fault::EmptyAction => {
            entry.action = Some(v1::TableAction { r#type: None });
            return Some(INVALID);
        }
        Fault::WrongImplementation => {
            let other = if direct {
                TableAction::ActionProfileMemberId(1)
            } else {
                TableAction::Action(v1::Action::default())
            };
            entry.action = Some(v1::TableAction {
                r#type: Some(other),
            });
            return Some(INVALID);
        }
        Fault::UnknownMember => {
            if direct {
                return None;
            }
            entry.action = Some(v1::TableAction {
                r#type: Some(TableAction::ActionProfileMemberId(999)),
            });
            return Some(&[Code::NotFound]);
        }
        _ => {}
    }
    let Some(TableAction::Action(action)) = entry.action.as_mut().and_then(|a| a.r#type.as_mut())
    else {
        return None;
    };
    match fault {
        Fault::UnknownAction => {
            action.action_id = 0x01ff_fffe;
            Some(&[Code::InvalidArgument, Code::NotFound])
        }
        Fault::ForeignAction => {
            let known: Vec<u32> = table.info.action_refs.iter().map(|r| r.id).collect();
            let others: Vec<u32> = model
                .actions()
                .keys()
                .filter(|id| !known.contains(id))
                .copied()
                .collect();
            action.action_id = *others.choose(rng)?;
            Some(INVALID)
        }
        Fault::DefaultOnlyAction => {
            let allowed = model.choices(&table.info, false);
            let mut refs = table.info.action_refs.iter();
            action.action_id = refs.find(|r| !allowed.contains(&r.id))?.id;
            action.params.clear();
            Some(DENIED)
        }
        Fault::MissingParam => {
            action.params.pop()?;
            Some(INVALID)
        }
        Fault::ExtraParam => {
            action.params.push(v1::action::Param {
                param_id: 99,
                value: vec![1],
            });
            Some(INVALID)
        }
        Fault::TwiceParam => {
            let twice = action.params.choose(rng)?.clone();
            action.params.push(twice);
            Some(INVALID)
        }
        Fault::WideParam | Fault::EmptyParam => {
            let params = &model.actions().get(&action.action_id)?.params;
            let index = (0..action.params.len())
                .collect::<Vec<_>>()
                .choose(rng)
                .copied()?;
            let id = action.params[index].param_id;
            let width = params.iter().find(|p| p.id == id)?.bitwidth;
            let mut value = Vec::new();
            if fault == Fault::WideParam {
                // 01 ff ... does not fit a signed parameter either.
                value.push(1);
                value.extend(wide(width));
            }
            action.params[index].value = value;
            Some(&[Code::OutOfRange, Code::InvalidArgument])
        }
        _ => None,
    }
}

/// Tables and default actions that the program keeps to itself.
fn closed(rng: &mut Rng, model: &Model, fault: Fault) -> Option<Spoilt> {
    let tables: Vec<_> = model.tables().values().collect();
    let table = if fault == Fault::ConstTable {
        let fixed: Vec<_> = tables
            .into_iter()
            .filter(|t| !t.entries.is_empty() && t.info.is_const_table)
            .collect();
        *fixed.choose(rng)?
    } else {
        let fixed: Vec<_> = tables
            .into_iter()
            .filter(|t| t.info.const_default_action_id != 0)
            .collect();
        *fixed.choose(rng)?
    };
    if fault == Fault::ConstTable {
        let mut entry = table.entries.values().next()?.clone();
        entry.is_const = false;
        let verb = *[Type::Insert, Type::Modify, Type::Delete].choose(rng)?;
        return Some((update(verb, Entity::TableEntry(entry)), DENIED));
    }
    let entry = v1::TableEntry {
        table_id: table.info.preamble.as_ref()?.id,
        is_default_action: true,
        ..Default::default()
    };
    Some((update(Type::Modify, Entity::TableEntry(entry)), DENIED))
}

fn group(model: &Model, fault: Fault) -> Option<Spoilt> {
    let (profile, _) = model.profiles().iter().find(|(_, p)| p.with_selector)?;
    let ((_, member_id), _) = model.members.iter().find(|((p, _), _)| p == profile)?;
    let member = |weight| v1::action_profile_group::Member {
        member_id: *member_id,
        weight,
        watch_kind: None,
    };
    let group = v1::ActionProfileGroup {
        action_profile_id: *profile,
        group_id: 777,
        members: match fault {
            Fault::ZeroWeight => vec![member(0)],
            _ => vec![member(1), member(1)],
        },
        max_size: 0,
    };
    Some((
        update(Type::Insert, Entity::ActionProfileGroup(group)),
        INVALID,
    ))
}

fn multicast(fault: Fault) -> Spoilt {
    let replica = v1::Replica {
        port_kind: Some(v1::replica::PortKind::Port(vec![1])),
        instance: 1,
        backup_replicas: vec![],
    };
    let group = v1::MulticastGroupEntry {
        multicast_group_id: if fault == Fault::GroupZero { 0 } else { 60_000 },
        replicas: match fault {
            Fault::TwiceReplica => vec![replica.clone(), replica],
            _ => vec![],
        },
        ..Default::default()
    };
    let entity = Entity::PacketReplicationEngineEntry(v1::PacketReplicationEngineEntry {
        r#type: Some(Engine::MulticastGroupEntry(group)),
    });
    (update(Type::Insert, entity), INVALID)
}
