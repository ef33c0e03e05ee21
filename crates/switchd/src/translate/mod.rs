//! Between P4Runtime's messages and the executor's state: one file per kind of entity, each with
//! its `write`, which says what steps an update takes, and its `read`, which hands out the entities
//! that a request asks for.

pub mod action;
pub mod array;
pub mod data;
pub mod digest;
pub mod direct;
pub mod fast;
pub mod key;
pub mod packet;
pub mod pipeline_state;
pub mod profile;
pub mod refusal;
pub mod replication;
pub mod schema;
pub mod table;
mod translated;
pub mod value;
pub mod value_set;
mod wire;

use p4runtime::p4::v1;
use p4runtime::p4::v1::entity::Entity;
use p4runtime::p4::v1::packet_replication_engine_entry::Type as Engine;
use p4runtime::p4::v1::update;

use action::WriteContext;
use pipeline_state::{PipelineState, Step, View};
use refusal::Refusal;

/// Takes entities that were read, one after the other; a refusal ends the reading.
pub type Sink<'a> = dyn FnMut(Entity) -> Result<(), Refusal> + 'a;

/// The update that inserts, modifies or deletes an entity.
pub(crate) fn update_of(kind: update::Type, entity: Entity) -> v1::Update {
    v1::Update {
        r#type: kind.into(),
        entity: Some(v1::Entity {
            entity: Some(entity),
        }),
    }
}

/// An update's type, which must be said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// INSERT.
    Insert,
    /// MODIFY.
    Modify,
    /// DELETE.
    Delete,
}

impl Verb {
    fn of(update: &v1::Update) -> Result<Self, Refusal> {
        match update.r#type() {
            update::Type::Insert => Ok(Self::Insert),
            update::Type::Modify => Ok(Self::Modify),
            update::Type::Delete => Ok(Self::Delete),
            update::Type::Unspecified => Err(Refusal::invalid(
                "the update has no type; say INSERT, MODIFY or DELETE",
            )),
        }
    }

    /// Only MODIFY makes sense for things that are always there.
    ///
    /// # Errors
    /// INVALID_ARGUMENT for the others.
    pub fn only_modify(self, what: &str) -> Result<(), Refusal> {
        match self {
            Self::Modify => Ok(()),
            _ => Err(Refusal::invalid(format!(
                "a {what} is always there: it can be modified, not inserted or deleted"
            ))),
        }
    }
}

/// The steps of an update. Most take one: it is kept apart so that nothing is allocated for it.
#[derive(Debug, Default)]
pub struct Steps {
    first: Option<Step>,
    rest: Vec<Step>,
}

impl Steps {
    /// One step.
    #[must_use]
    pub const fn one(step: Step) -> Self {
        Self {
            first: Some(step),
            rest: Vec::new(),
        }
    }

    /// Adds a step.
    pub fn push(&mut self, step: Step) {
        if self.first.is_none() && self.rest.is_empty() {
            self.first = Some(step);
        } else {
            self.rest.push(step);
        }
    }
}

impl IntoIterator for Steps {
    type Item = Step;
    type IntoIter = std::iter::Chain<std::option::IntoIter<Step>, std::vec::IntoIter<Step>>;

    fn into_iter(self) -> Self::IntoIter {
        self.first.into_iter().chain(self.rest)
    }
}

fn missing(what: &str) -> Refusal {
    Refusal::invalid(format!("the {what} is missing"))
}

/// The steps of an update.
///
/// # Errors
/// Why it is refused, as far as the message alone tells; the state may refuse it later.
pub fn write(
    contents: &View<'_>,
    around: &WriteContext<'_>,
    update: &v1::Update,
) -> Result<Steps, Refusal> {
    let verb = Verb::of(update)?;
    let entity = update.entity.as_ref().and_then(|e| e.entity.as_ref());
    match entity.ok_or_else(|| missing("entity"))? {
        Entity::TableEntry(entry) => table::write(contents, around, verb, entry),
        Entity::ActionProfileMember(member) => profile::write_member(contents, verb, member),
        Entity::ActionProfileGroup(group) => profile::write_group(contents, around, verb, group),
        Entity::CounterEntry(entry) => array::write_counter(contents, verb, entry),
        Entity::MeterEntry(entry) => array::write_meter(contents, around, verb, entry),
        Entity::RegisterEntry(entry) => array::write_register(contents, verb, entry),
        Entity::DirectCounterEntry(entry) => direct::write_counter(contents, verb, entry),
        Entity::DirectMeterEntry(entry) => direct::write_meter(contents, around, verb, entry),
        Entity::PacketReplicationEngineEntry(entry) => {
            match entry
                .r#type
                .as_ref()
                .ok_or_else(|| missing("entry's type"))?
            {
                Engine::MulticastGroupEntry(group) => {
                    replication::write_group(contents, around, verb, group)
                }
                Engine::CloneSessionEntry(session) => {
                    replication::write_session(contents, around, verb, session)
                }
            }
        }
        Entity::ValueSetEntry(entry) => value_set::write(contents, verb, entry),
        Entity::DigestEntry(entry) => digest::write(contents, verb, entry),
        Entity::ExternEntry(_) => Err(Refusal::unimplemented(
            "v1model has no externs beyond the standard's entities",
        )),
    }
}

/// Hands out the entities a request asks for (P4Runtime 1.5, section 13.2).
///
/// # Errors
/// Why the request is refused, nothing having been handed out then; or what the sink says.
pub fn read(
    contents: &PipelineState,
    entity: Option<&Entity>,
    sink: &mut Sink<'_>,
) -> Result<(), Refusal> {
    let empty = || {
        Refusal::invalid(
            "the entity is empty; name a kind of entity (an unset entity reads nothing)",
        )
    };
    match entity.ok_or_else(empty)? {
        Entity::TableEntry(entry) => table::read(contents, entry, sink),
        Entity::ActionProfileMember(member) => profile::read_members(contents, member, sink),
        Entity::ActionProfileGroup(group) => profile::read_groups(contents, group, sink),
        Entity::CounterEntry(entry) => array::read_counters(contents, entry, sink),
        Entity::MeterEntry(entry) => array::read_meters(contents, entry, sink),
        Entity::RegisterEntry(entry) => array::read_registers(contents, entry, sink),
        Entity::DirectCounterEntry(entry) => direct::read_counters(contents, entry, sink),
        Entity::DirectMeterEntry(entry) => direct::read_meters(contents, entry, sink),
        Entity::PacketReplicationEngineEntry(entry) => {
            match entry
                .r#type
                .as_ref()
                .ok_or_else(|| missing("entry's type"))?
            {
                Engine::MulticastGroupEntry(group) => {
                    replication::read_groups(contents, group, sink)
                }
                Engine::CloneSessionEntry(session) => {
                    replication::read_sessions(contents, session, sink)
                }
            }
        }
        Entity::ValueSetEntry(entry) => value_set::read(contents, entry, sink),
        Entity::DigestEntry(entry) => digest::read(contents, entry, sink),
        // A wildcard over the externs we have, of which there are none.
        Entity::ExternEntry(entry) if entry.extern_type_id == 0 => Ok(()),
        Entity::ExternEntry(entry) => Err(Refusal::not_found(format!(
            "there is no extern type {}",
            entry.extern_type_id
        ))),
    }
}

/// The id of the P4Info object that an entity is part of, by which roles divide the switch; `None`
/// for the replication engine.
#[must_use]
pub fn subject(entity: &Entity) -> Option<u32> {
    let table = |entry: &Option<Box<v1::TableEntry>>| entry.as_ref().map(|e| e.table_id);
    match entity {
        Entity::TableEntry(e) => Some(e.table_id),
        Entity::ActionProfileMember(e) => Some(e.action_profile_id),
        Entity::ActionProfileGroup(e) => Some(e.action_profile_id),
        Entity::CounterEntry(e) => Some(e.counter_id),
        Entity::MeterEntry(e) => Some(e.meter_id),
        Entity::RegisterEntry(e) => Some(e.register_id),
        Entity::DirectCounterEntry(e) => table(&e.table_entry),
        Entity::DirectMeterEntry(e) => table(&e.table_entry),
        Entity::ValueSetEntry(e) => Some(e.value_set_id),
        Entity::DigestEntry(e) => Some(e.digest_id),
        Entity::ExternEntry(e) => Some(e.extern_id),
        Entity::PacketReplicationEngineEntry(_) => None,
    }
}
