//! The state of a pipeline as updates that make it again: to carry it over to another program, and
//! to save and restore it.

use std::sync::Arc;

use p4runtime::p4::v1;
use p4runtime::p4::v1::entity::Entity;
use p4runtime::p4::v1::packet_replication_engine_entry::Type as Replication;
use p4runtime::p4::v1::update::Type;
use prost::Message as _;
use prost::bytes::Bytes;

use super::batch::Batch;
use super::pipeline::Pipeline;
use crate::engine::EngineHandle;
use crate::translate::pipeline_state::PipelineState;
use crate::translate::refusal::Refusal;
use crate::translate::{self, table, update_of};

/// The requests that read everything, in the order in which it can be written again: what others
/// refer to first.
fn requests(contents: &PipelineState) -> Vec<Entity> {
    let engine = |kind| {
        Entity::PacketReplicationEngineEntry(v1::PacketReplicationEngineEntry {
            r#type: Some(kind),
        })
    };
    let mut requests = vec![
        Entity::ActionProfileMember(v1::ActionProfileMember::default()),
        Entity::ActionProfileGroup(v1::ActionProfileGroup::default()),
        engine(Replication::MulticastGroupEntry(
            v1::MulticastGroupEntry::default(),
        )),
        engine(Replication::CloneSessionEntry(
            v1::CloneSessionEntry::default(),
        )),
        Entity::ValueSetEntry(v1::ValueSetEntry::default()),
        Entity::DigestEntry(v1::DigestEntry::default()),
        Entity::CounterEntry(v1::CounterEntry::default()),
        Entity::MeterEntry(v1::MeterEntry {
            counter_data: Some(v1::MeterCounterData::default()),
            ..Default::default()
        }),
        Entity::RegisterEntry(v1::RegisterEntry::default()),
    ];
    for schema in contents.schema.tables.values() {
        let filter = v1::TableEntry {
            table_id: schema.id,
            counter_data: schema.counter.map(|_| v1::CounterData::default()),
            meter_config: schema.meter.map(|_| v1::MeterConfig::default()),
            meter_counter_data: schema.meter.map(|_| Box::default()),
            ..Default::default()
        };
        let default = v1::TableEntry {
            is_default_action: true,
            ..filter.clone()
        };
        requests.push(Entity::TableEntry(filter));
        if !schema.const_default && schema.profile.is_none() {
            requests.push(Entity::TableEntry(default));
        }
    }
    requests
}

fn unmarked(meter: &v1::MeterEntry) -> bool {
    let nothing = |cell: &Option<v1::CounterData>| cell.is_none_or(|c| c == Default::default());
    let marked = meter.counter_data.as_ref();
    marked.is_none_or(|m| [m.green, m.yellow, m.red].iter().all(nothing))
}

/// The update that writes an entity again; `None` for what is as a fresh program has it.
fn rewrite(entity: Entity) -> Option<v1::Update> {
    let verb = match &entity {
        Entity::TableEntry(entry) if entry.is_const => return None,
        Entity::TableEntry(entry) if entry.is_default_action => {
            entry.action.as_ref()?;
            Type::Modify
        }
        Entity::CounterEntry(entry) if entry.data == Some(v1::CounterData::default()) => {
            return None;
        }
        Entity::MeterEntry(entry) if entry.config.is_none() && unmarked(entry) => return None,
        Entity::ValueSetEntry(entry) if entry.members.is_empty() => return None,
        Entity::RegisterEntry(entry) if is_zero(entry.data.as_ref()) => return None,
        Entity::CounterEntry(_)
        | Entity::MeterEntry(_)
        | Entity::ValueSetEntry(_)
        | Entity::RegisterEntry(_) => Type::Modify,
        _ => Type::Insert,
    };
    Some(update_of(verb, entity))
}

fn is_zero(data: Option<&v1::P4Data>) -> bool {
    use p4runtime::p4::v1::p4_data::Data;
    match data.and_then(|d| d.data.as_ref()) {
        Some(Data::Bitstring(bytes) | Data::EnumValue(bytes)) => bytes.iter().all(|b| *b == 0),
        Some(Data::Bool(value)) => !value,
        Some(Data::Struct(s) | Data::Tuple(s)) => s.members.iter().all(|m| is_zero(Some(m))),
        _ => false,
    }
}

/// Hands out the updates that make a pipeline state again from that of its fresh program.
///
/// # Errors
/// UNAVAILABLE if the data plane has stopped.
pub fn replay(contents: &PipelineState, take: &mut dyn FnMut(v1::Update)) -> Result<(), Refusal> {
    for request in requests(contents) {
        translate::read(contents, Some(&request), &mut |entity| {
            if let Some(update) = rewrite(entity) {
                take(update);
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// Removes the entries that the program itself installed and that may be changed: what is replayed
/// has those that remained.
pub fn clear(engine: &EngineHandle, contents: &mut PipelineState) -> Result<(), Refusal> {
    let mut updates: Vec<Bytes> = Vec::new();
    for schema in contents.schema.tables.values() {
        let state = contents.state().table(schema.table)?;
        for entry in state
            .iter()
            .filter(|e| !e.is_const() && !schema.const_entries)
        {
            let entry = table::entry_message(contents, schema, entry, None);
            let update = update_of(Type::Delete, Entity::TableEntry(entry));
            updates.push(update.encode_to_vec().into());
        }
    }
    make(engine, contents, &updates, "initial entry")
}

/// Makes encoded updates, all or none, and commits them.
pub fn make(
    engine: &EngineHandle,
    contents: &mut PipelineState,
    updates: &[Bytes],
    what: &str,
) -> Result<(), Refusal> {
    let batch = Batch {
        engine,
        permissions: None,
        restoring: true,
    };
    let schema = Arc::clone(&contents.schema);
    let mut staging = contents.begin();
    let staged = batch.stage(&mut staging, &schema, updates, &[], true);
    let staged = staged.map_err(|e| Refusal::invalid(e.to_string()).at(what))?;
    let mut refusals = staged.into_iter();
    if let Some((_, refusal)) = refusals.find(|(_, r)| r.code != tonic::Code::Aborted) {
        return Err(refusal.at(what));
    }
    let delta = staging.finish();
    contents.commit(delta)
}

/// Brings the state of one pipeline into another that does not run yet (RECONCILE_AND_COMMIT,
/// P4Runtime 1.5, chapter 14).
///
/// # Errors
/// INVALID_ARGUMENT, naming what the new program has no place for.
pub fn carry_over(
    engine: &EngineHandle,
    old: &Pipeline,
    new: &mut Pipeline,
) -> Result<(), Refusal> {
    let mut updates: Vec<Bytes> = Vec::new();
    replay(&old.contents, &mut |update| {
        updates.push(update.encode_to_vec().into());
    })?;
    clear(engine, &mut new.contents)?;
    make(
        engine,
        &mut new.contents,
        &updates,
        "the state cannot be kept",
    )
    .map_err(|r| {
        // Whatever the single refusal was: it is the config that does not suit.
        Refusal::invalid(r.message)
    })
}
