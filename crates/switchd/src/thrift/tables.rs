//! `bm_mt_*`: tables, their entries and what counts and measures them.
//!
//! An entry's handle is its slot, and in the upper byte how often a client of this interface freed
//! the slot: a handle of an entry that was deleted is known as such. P4Runtime's priorities are
//! turned round, since there the largest wins and here the smallest.

use std::cell::OnceCell;

use p4exec::tables::{EntryAction, EntryHandle, EntryPriority, EntryView, FieldMatch, Slot};
use p4ir::TableId;
use p4runtime::p4::v1;
use p4runtime::p4::v1::entity::Entity;
use p4runtime::p4::v1::table_action::Type;
use p4runtime::p4::v1::update;
use tonic::Code;

use super::arrays::{counter_value, rates_value, read_rates};
use super::keys::{action_values, code, key_messages, key_value, read_action, read_key};
use super::profiles::{handle_of, id_of};
use super::value::Value;
use super::{Call, Fault, Memory, Outcome};
use crate::engine::control::EntryData;
use crate::translate::pipeline_state::PipelineState;
use crate::translate::refusal::Refusal;
use crate::translate::schema::{Schema, TableSchema};
use crate::translate::update_of;

/// Entries that are deleted together.
const BATCH: usize = 4096;

/// Bits of a handle that say the slot.
const SLOT_BITS: u32 = 24;

/// What a refusal of an entry means here.
struct Entries(Fault);

impl From<Fault> for Entries {
    fn from(fault: Fault) -> Self {
        Self(fault)
    }
}

impl From<Entries> for Fault {
    fn from(Entries(fault): Entries) -> Self {
        fault
    }
}

impl From<Refusal> for Entries {
    fn from(refusal: Refusal) -> Self {
        let code = match refusal.code {
            Code::AlreadyExists => code::DUPLICATE_ENTRY,
            Code::ResourceExhausted => code::TABLE_FULL,
            Code::PermissionDenied => code::IMMUTABLE_TABLE_ENTRIES,
            Code::NotFound => code::INVALID_HANDLE,
            _ => code::ERROR,
        };
        Self(Fault::Refused(code, refusal.message))
    }
}

fn find<'a>(schema: &'a Schema, name: &str) -> Result<&'a TableSchema, Fault> {
    schema
        .tables
        .values()
        .find(|table| table.name == name)
        .ok_or(Fault::Code(code::INVALID_TABLE_NAME))
}

/// A table that has a profile, or has none.
fn find_kind<'a>(schema: &'a Schema, name: &str, indirect: bool) -> Result<&'a TableSchema, Fault> {
    let table = find(schema, name)?;
    match table.profile.is_some() == indirect {
        true => Ok(table),
        false => Err(Fault::Code(code::WRONG_TABLE_TYPE)),
    }
}

fn state_of<'a>(
    contents: &'a PipelineState,
    table: &TableSchema,
) -> Result<&'a p4exec::tables::Table, Fault> {
    let state = contents.state().table(table.table);
    state.map_err(|e| Fault::Refused(code::ERROR, e.to_string()))
}

impl Memory {
    fn version(&self, table: TableId, slot: Slot) -> u8 {
        self.versions.get(&(table, slot)).copied().unwrap_or(0)
    }

    fn handle(&self, table: TableId, slot: Slot) -> i32 {
        let version = u32::from(self.version(table, slot));
        (version << SLOT_BITS | slot).cast_signed()
    }

    /// The entry that a handle names.
    fn entry<'a>(
        &self,
        contents: &'a PipelineState,
        table: &TableSchema,
        handle: i32,
    ) -> Result<EntryView<'a>, Fault> {
        let handle = handle.cast_unsigned();
        let slot = handle & ((1 << SLOT_BITS) - 1);
        let found = state_of(contents, table)?.view(EntryHandle(slot));
        if handle >> SLOT_BITS != u32::from(self.version(table.table, slot)) {
            return Err(Fault::Code(code::EXPIRED_HANDLE));
        }
        found.ok_or(Fault::Code(code::INVALID_HANDLE))
    }

    fn freed(&mut self, table: TableId, slot: Slot) {
        let version = self.versions.entry((table, slot)).or_default();
        *version = version.wrapping_add(1);
    }
}

/// P4Runtime's priorities begin at 1.
const LARGEST_PRIORITY: i32 = i32::MAX - 1;

/// BMv2's priority of a P4Runtime priority, and the other way round.
const fn turn_round(priority: i32) -> i32 {
    i32::MAX - priority
}

/// The priority for P4Runtime of a key's options; other tables have none, whatever is said.
fn priority(table: &TableSchema, given: Option<i32>) -> Result<i32, Fault> {
    match given.unwrap_or(0) {
        _ if !table.needs_priority => Ok(0),
        given @ 0..=LARGEST_PRIORITY => Ok(turn_round(given)),
        _ => Err(Fault::Refused(
            code::ERROR,
            "a priority is between 0 and 2147483646".to_owned(),
        )),
    }
}

/// The message that names an entry.
fn named(table: &TableSchema, entry: EntryView<'_>) -> v1::TableEntry {
    v1::TableEntry {
        table_id: table.id,
        r#match: key_messages(&table.fields, &entry.key()),
        priority: entry.priority().0,
        ..Default::default()
    }
}

fn acting(action: Type) -> Option<v1::TableAction> {
    Some(v1::TableAction {
        r#type: Some(action),
    })
}

/// What packets did to an entry, or to the default entry.
fn data_of(
    contents: &PipelineState,
    table: &TableSchema,
    slot: Option<Slot>,
) -> Result<EntryData, Fault> {
    let data = contents.control.entry_data(table.table, vec![slot]);
    let data = data.map_err(|e| Fault::Refused(code::ERROR, e.to_string()))?;
    Ok(data.into_iter().next().unwrap_or_default())
}

/// The message of an entry with all that a modification would reset.
fn whole(
    contents: &PipelineState,
    table: &TableSchema,
    entry: EntryView<'_>,
) -> Result<v1::TableEntry, Fault> {
    let filter = v1::TableEntry {
        meter_config: table.meter.map(|_| v1::MeterConfig::default()),
        ..named(table, entry)
    };
    let mut found = None;
    let read = crate::translate::table::read(contents, &filter, &mut |entity| {
        if let Entity::TableEntry(entry) = entity {
            found = Some(entry);
        }
        Ok(())
    });
    read.map_err(|refusal| Fault::Refused(code::ERROR, refusal.message))?;
    found.ok_or(Fault::Code(code::INVALID_HANDLE))
}

pub(super) fn num_entries(call: &Call<'_>) -> Outcome {
    let name = call.args.text(2)?;
    call.look(code::INVALID_TABLE_NAME, |contents| {
        let table = find(&contents.schema, &name)?;
        let count = state_of(contents, table)?.iter().count();
        Ok(Some(Value::I64(i64::try_from(count).unwrap_or(i64::MAX))))
    })
}

pub(super) fn clear_entries(call: &Call<'_>) -> Outcome {
    let name = call.args.text(2)?;
    let reset = call.args.bool(3)?;
    let mut memory = call.memory();
    let table = call.look(code::INVALID_TABLE_NAME, |contents| {
        let table = find(&contents.schema, &name)?;
        match table.const_entries {
            true => Err(Fault::Code(code::IMMUTABLE_TABLE_ENTRIES)),
            false => Ok(table.clone()),
        }
    })?;
    loop {
        let mut slots = Vec::new();
        call.subject.switch.amend::<Entries>(|contents| {
            let entries = state_of(contents, &table)?.iter();
            let some = entries.filter(|entry| !entry.is_const()).take(BATCH);
            Ok(some
                .map(|entry| {
                    slots.push(entry.handle().0);
                    update_of(
                        update::Type::Delete,
                        Entity::TableEntry(named(&table, entry)),
                    )
                })
                .collect())
        })?;
        slots
            .iter()
            .for_each(|slot| memory.freed(table.table, *slot));
        if slots.len() < BATCH {
            break;
        }
    }
    if reset {
        return set_default(call, &table, None);
    }
    Ok(None)
}

/// Where an entry leads.
enum Target {
    Action(String, Vec<Vec<u8>>),
    Member(i32),
    Group(i32),
}

impl Target {
    fn action(call: &Call<'_>, field: i16) -> Result<Self, Fault> {
        let data = call.args.byte_strings(field + 1)?;
        let data = data.into_iter().map(<[u8]>::to_vec).collect();
        Ok(Self::Action(call.args.text(field)?, data))
    }

    /// The action of an entry of a table, which must be of the right kind.
    fn of(
        &self,
        contents: &PipelineState,
        table: &TableSchema,
    ) -> Result<Option<v1::TableAction>, Fault> {
        let profile = match (table.profile, self) {
            (None, Self::Action(name, data)) => {
                let data: Vec<&[u8]> = data.iter().map(Vec::as_slice).collect();
                let action = read_action(&table.actions, name, &data)?;
                return Ok(acting(Type::Action(action)));
            }
            (Some(profile), Self::Member(_) | Self::Group(_)) => contents.schema.profile(profile),
            _ => return Err(Fault::Code(code::WRONG_TABLE_TYPE)),
        };
        let profile = profile.map_err(|r| Fault::Refused(code::ERROR, r.message))?;
        let state = contents.state().profile(profile.profile);
        let state = state.map_err(|e| Fault::Refused(code::ERROR, e.to_string()))?;
        Ok(acting(match self {
            Self::Group(_) if !profile.with_selector => {
                return Err(Fault::Code(code::WRONG_TABLE_TYPE));
            }
            Self::Group(handle) => {
                let id = id_of(*handle);
                let group = state.groups().get(&p4exec::tables::GroupId(id));
                let group = group.ok_or(Fault::Code(code::INVALID_GRP_HANDLE))?;
                if group.members().is_empty() {
                    return Err(Fault::Code(code::EMPTY_GRP));
                }
                Type::ActionProfileGroupId(id)
            }
            Self::Member(handle) => {
                let id = id_of(*handle);
                let there = state.members().contains_key(&p4exec::tables::MemberId(id));
                if !there {
                    return Err(Fault::Code(code::INVALID_MBR_HANDLE));
                }
                Type::ActionProfileMemberId(id)
            }
            Self::Action(..) => return Err(Fault::Code(code::WRONG_TABLE_TYPE)),
        }))
    }
}

/// Adds an entry; the field of the options is the last one.
fn add(call: &Call<'_>, target: &Target, options: i16) -> Outcome {
    let name = call.args.text(2)?;
    let params = call.args.structs(3)?;
    let given = call.args.fields(options)?.given_i32(1)?.copied();
    let memory = call.memory();
    let place: OnceCell<(TableId, Vec<FieldMatch>, i32)> = OnceCell::new();
    let found = call.subject.switch.amend_and_look::<_, Entries>(
        |contents| {
            let table = find(&contents.schema, &name)?;
            if table.fields.is_empty() {
                return Err(Fault::Code(code::NO_TABLE_KEY).into());
            }
            if table.const_entries {
                return Err(Fault::Code(code::IMMUTABLE_TABLE_ENTRIES).into());
            }
            let action = target.of(contents, table)?;
            let key = read_key(&table.fields, &params)?;
            let priority = priority(table, given)?;
            let entry = v1::TableEntry {
                table_id: table.id,
                r#match: key_messages(&table.fields, &key),
                priority,
                action,
                ..Default::default()
            };
            // It is set once.
            let _ = place.set((table.table, key, priority));
            Ok(vec![update_of(
                update::Type::Insert,
                Entity::TableEntry(entry),
            )])
        },
        |contents| {
            let (table, key, priority) = place.get()?;
            let state = contents.state().table(*table).ok()?;
            let handle = state.find(key, EntryPriority(*priority)).ok()?;
            Some((*table, handle.0))
        },
    )?;
    let (table, slot) = found.ok_or(Fault::Code(code::ERROR))?;
    Ok(Some(Value::I32(memory.handle(table, slot))))
}

pub(super) fn add_entry(call: &Call<'_>) -> Outcome {
    add(call, &Target::action(call, 4)?, 6)
}

pub(super) fn indirect_add_entry(call: &Call<'_>) -> Outcome {
    add(call, &Target::Member(call.args.i32(4)?), 5)
}

pub(super) fn selector_add_entry(call: &Call<'_>) -> Outcome {
    add(call, &Target::Group(call.args.i32(4)?), 5)
}

/// Changes an entry that a handle names.
fn modify(
    call: &Call<'_>,
    change: impl FnOnce(&PipelineState, &TableSchema, &mut v1::TableEntry) -> Result<(), Fault>,
) -> Outcome {
    let (name, handle) = (call.args.text(2)?, call.args.i32(3)?);
    let memory = call.memory();
    call.subject.switch.amend::<Entries>(|contents| {
        let table = find(&contents.schema, &name)?;
        let entry = memory.entry(contents, table, handle)?;
        if table.const_entries || entry.is_const() {
            return Err(Fault::Code(code::IMMUTABLE_TABLE_ENTRIES).into());
        }
        let mut entry = whole(contents, table, entry)?;
        change(contents, table, &mut entry)?;
        Ok(vec![update_of(
            update::Type::Modify,
            Entity::TableEntry(entry),
        )])
    })?;
    Ok(None)
}

fn modify_target(call: &Call<'_>, target: &Target) -> Outcome {
    modify(call, |contents, table, entry| {
        entry.action = target.of(contents, table)?;
        Ok(())
    })
}

pub(super) fn modify_entry(call: &Call<'_>) -> Outcome {
    modify_target(call, &Target::action(call, 4)?)
}

pub(super) fn indirect_modify_entry(call: &Call<'_>) -> Outcome {
    modify_target(call, &Target::Member(call.args.i32(4)?))
}

pub(super) fn selector_modify_entry(call: &Call<'_>) -> Outcome {
    modify_target(call, &Target::Group(call.args.i32(4)?))
}

fn set_ttl(call: &Call<'_>, indirect: bool) -> Outcome {
    let timeout = call.args.i32(4)?;
    modify(call, |contents, table, entry| {
        find_kind(&contents.schema, &table.name, indirect)?;
        if !table.idle_timeout {
            return Err(Fault::Code(code::AGEING_DISABLED));
        }
        // BMv2 takes the number as unsigned.
        entry.idle_timeout_ns = i64::from(timeout.cast_unsigned()) * 1_000_000;
        Ok(())
    })
}

pub(super) fn set_entry_ttl(call: &Call<'_>) -> Outcome {
    set_ttl(call, false)
}

pub(super) fn indirect_set_entry_ttl(call: &Call<'_>) -> Outcome {
    set_ttl(call, true)
}

fn delete(call: &Call<'_>, indirect: bool) -> Outcome {
    let (name, handle) = (call.args.text(2)?, call.args.i32(3)?);
    let mut memory = call.memory();
    let mut place = None;
    call.subject.switch.amend::<Entries>(|contents| {
        let table = find_kind(&contents.schema, &name, indirect)?;
        let entry = memory.entry(contents, table, handle)?;
        if table.const_entries || entry.is_const() {
            return Err(Fault::Code(code::IMMUTABLE_TABLE_ENTRIES).into());
        }
        place = Some((table.table, entry.handle().0));
        let entry = named(table, entry);
        Ok(vec![update_of(
            update::Type::Delete,
            Entity::TableEntry(entry),
        )])
    })?;
    if let Some((table, slot)) = place {
        memory.freed(table, slot);
    }
    Ok(None)
}

pub(super) fn delete_entry(call: &Call<'_>) -> Outcome {
    delete(call, false)
}

pub(super) fn indirect_delete_entry(call: &Call<'_>) -> Outcome {
    delete(call, true)
}

/// Sets the default action; without one the program's own comes back.
fn set_default(call: &Call<'_>, table: &TableSchema, action: Option<v1::Action>) -> Outcome {
    if table.const_default {
        return Err(Fault::Code(code::DEFAULT_ACTION_IS_CONST));
    }
    let entry = v1::TableEntry {
        table_id: table.id,
        is_default_action: true,
        action: action.and_then(|action| acting(Type::Action(action))),
        ..Default::default()
    };
    let updates = vec![update_of(update::Type::Modify, Entity::TableEntry(entry))];
    let switch = &call.subject.switch;
    switch.amend::<Entries>(|_| Ok(updates))?;
    Ok(None)
}

pub(super) fn set_default_action(call: &Call<'_>) -> Outcome {
    let name = call.args.text(2)?;
    let data = call.args.byte_strings(4)?;
    let action = call.args.text(3)?;
    let (table, action) = call.look(code::INVALID_TABLE_NAME, |contents| {
        let table = find_kind(&contents.schema, &name, false)?;
        Ok((table.clone(), read_action(&table.actions, &action, &data)?))
    })?;
    set_default(call, &table, Some(action))
}

fn reset_default(call: &Call<'_>, indirect: bool) -> Outcome {
    let name = call.args.text(2)?;
    let table = call.look(code::INVALID_TABLE_NAME, |contents| {
        Ok(find_kind(&contents.schema, &name, indirect)?.clone())
    })?;
    set_default(call, &table, None)
}

pub(super) fn reset_default_entry(call: &Call<'_>) -> Outcome {
    reset_default(call, false)
}

pub(super) fn indirect_reset_default_entry(call: &Call<'_>) -> Outcome {
    reset_default(call, true)
}

/// The default entry of a table with a profile is an action here: no member or group can be in its
/// place.
fn refuse_default(call: &Call<'_>, target: &Target) -> Outcome {
    let name = call.args.text(2)?;
    call.look(code::INVALID_TABLE_NAME, |contents| {
        target.of(contents, find_kind(&contents.schema, &name, true)?)?;
        Err(Fault::Refused(
            code::ERROR,
            "the default entry of a table with an action profile is the action of the program"
                .to_owned(),
        ))
    })
}

pub(super) fn set_default_member(call: &Call<'_>) -> Outcome {
    refuse_default(call, &Target::Member(call.args.i32(3)?))
}

pub(super) fn set_default_group(call: &Call<'_>) -> Outcome {
    refuse_default(call, &Target::Group(call.args.i32(3)?))
}

/// `BmActionEntryType`.
const NONE: i32 = 0;
const ACTION_DATA: i32 = 1;
const MEMBER: i32 = 2;
const GROUP: i32 = 3;

fn action_entry(schema: &Schema, action: &EntryAction) -> Value {
    let leads = |kind, field, id| {
        Value::structure([(1, Value::I32(kind)), (field, Value::I32(handle_of(id)))])
    };
    match action {
        EntryAction::Call(call) => {
            let (name, data) = action_values(schema, call);
            Value::structure([(1, Value::I32(ACTION_DATA)), (2, name), (3, data)])
        }
        EntryAction::Member(id) => leads(MEMBER, 4, id.0),
        EntryAction::Group(id) => leads(GROUP, 5, id.0),
        // A set of P4Runtime's has no handle.
        EntryAction::OneShot(_) => Value::structure([(1, Value::I32(NONE))]),
    }
}

fn milliseconds(nanoseconds: u64) -> Value {
    let time = i32::try_from(nanoseconds / 1_000_000).unwrap_or(i32::MAX);
    Value::I32(time)
}

fn entry_value(
    memory: &Memory,
    schema: &Schema,
    table: &TableSchema,
    entry: EntryView<'_>,
    since_hit: u64,
) -> Value {
    let priority = match table.needs_priority {
        true => turn_round(entry.priority().0),
        false => -1,
    };
    let mut fields = vec![
        (1, key_value(&entry.key(), &table.fields)),
        (2, Value::structure([(1, Value::I32(priority))])),
        (3, Value::I32(memory.handle(table.table, entry.handle().0))),
        (4, action_entry(schema, &entry.action())),
    ];
    let timeout = entry.idle_timeout().get();
    if timeout > 0 {
        let life = [(1, milliseconds(timeout)), (2, milliseconds(since_hit))];
        fields.push((5, Value::structure(life)));
    }
    Value::structure(fields)
}

/// Entries with the times since they were hit, where they age.
fn entry_values(
    memory: &Memory,
    contents: &PipelineState,
    table: &TableSchema,
    entries: &[EntryView<'_>],
) -> Result<Vec<Value>, Fault> {
    let times = match table.idle_timeout {
        false => Vec::new(),
        true => {
            let slots = entries.iter().map(|entry| Some(entry.handle().0)).collect();
            let data = contents.control.entry_data(table.table, slots);
            data.map_err(|e| Fault::Refused(code::ERROR, e.to_string()))?
        }
    };
    let times = times.iter().map(|data| data.since_hit.get());
    let times = times.chain(std::iter::repeat(0));
    let value = |(entry, time): (&EntryView<'_>, u64)| {
        entry_value(memory, &contents.schema, table, *entry, time)
    };
    Ok(entries.iter().zip(times).map(value).collect())
}

pub(super) fn entries(call: &Call<'_>) -> Outcome {
    let name = call.args.text(2)?;
    let memory = call.memory();
    call.look(code::INVALID_TABLE_NAME, |contents| {
        let table = find(&contents.schema, &name)?;
        let entries: Vec<_> = state_of(contents, table)?.iter().collect();
        let values = entry_values(&memory, contents, table, &entries)?;
        Ok(Some(Value::structures(values)))
    })
}

/// One entry that `find` finds.
fn one(
    call: &Call<'_>,
    memory: &Memory,
    pick: impl for<'a> FnOnce(&'a PipelineState, &TableSchema) -> Result<EntryView<'a>, Fault>,
) -> Outcome {
    let name = call.args.text(2)?;
    call.look(code::INVALID_TABLE_NAME, |contents| {
        let table = find(&contents.schema, &name)?;
        let entry = pick(contents, table)?;
        let values = entry_values(memory, contents, table, &[entry])?;
        Ok(values.into_iter().next())
    })
}

pub(super) fn entry(call: &Call<'_>) -> Outcome {
    let handle = call.args.i32(3)?;
    let memory = call.memory();
    one(call, &memory, |contents, table| {
        memory.entry(contents, table, handle)
    })
}

/// The default entry of a table.
fn default_of(contents: &PipelineState, table: &TableSchema) -> Result<Value, Fault> {
    Ok(match state_of(contents, table)?.default_action() {
        Some(call) => action_entry(&contents.schema, &EntryAction::Call(call)),
        None => Value::structure([(1, Value::I32(NONE))]),
    })
}

pub(super) fn default_entry(call: &Call<'_>) -> Outcome {
    let name = call.args.text(2)?;
    call.look(code::INVALID_TABLE_NAME, |contents| {
        let table = find(&contents.schema, &name)?;
        Ok(Some(default_of(contents, table)?))
    })
}

pub(super) fn entry_from_key(call: &Call<'_>) -> Outcome {
    let params = call.args.structs(3)?;
    let given = call.args.fields(4)?.given_i32(1)?.copied();
    if params.is_empty() {
        let name = call.args.text(2)?;
        return call.look(code::INVALID_TABLE_NAME, |contents| {
            let found = default_of(contents, find(&contents.schema, &name)?)?;
            let none = Value::structures([]);
            let fields = [
                (1, none),
                (2, Value::structure([])),
                (3, Value::I32(0)),
                (4, found),
            ];
            Ok(Some(Value::structure(fields)))
        });
    }
    let memory = call.memory();
    one(call, &memory, |contents, table| {
        let key = read_key(&table.fields, &params)?;
        let priority = EntryPriority(priority(table, given)?);
        let state = state_of(contents, table)?;
        let found = state.find(&key, priority).ok();
        let found = found.and_then(|handle| state.view(handle));
        found.ok_or(Fault::Code(code::BAD_MATCH_KEY))
    })
}

/// The table of a call and the slot of the entry that its handle names.
fn place(
    call: &Call<'_>,
    contents: &PipelineState,
    memory: &Memory,
) -> Result<(TableSchema, Slot), Fault> {
    let table = find(&contents.schema, &call.args.text(2)?)?;
    let entry = memory.entry(contents, table, call.args.i32(3)?)?;
    Ok((table.clone(), entry.handle().0))
}

pub(super) fn read_counter(call: &Call<'_>) -> Outcome {
    let memory = call.memory();
    call.look(code::INVALID_TABLE_NAME, |contents| {
        let (table, slot) = place(call, contents, &memory)?;
        if table.counter.is_none() {
            return Err(Fault::Code(code::COUNTERS_DISABLED));
        }
        let data = data_of(contents, &table, Some(slot))?;
        Ok(Some(counter_value(&data.counter)))
    })
}

/// Sets the direct counters of entries; `pick` names them.
fn set_counters(
    call: &Call<'_>,
    data: v1::CounterData,
    pick: impl FnOnce(&PipelineState, &TableSchema) -> Result<Vec<v1::TableEntry>, Fault>,
) -> Outcome {
    let name = call.args.text(2)?;
    call.subject.switch.amend::<Entries>(|contents| {
        let table = find(&contents.schema, &name)?;
        if table.counter.is_none() {
            return Err(Fault::Code(code::COUNTERS_DISABLED).into());
        }
        let entries = pick(contents, table)?.into_iter();
        let entity = |entry| {
            Entity::DirectCounterEntry(v1::DirectCounterEntry {
                table_entry: Some(Box::new(entry)),
                data: Some(data),
            })
        };
        Ok(entries
            .map(|entry| update_of(update::Type::Modify, entity(entry)))
            .collect())
    })?;
    Ok(None)
}

pub(super) fn reset_counters(call: &Call<'_>) -> Outcome {
    set_counters(call, v1::CounterData::default(), |contents, table| {
        let entries = state_of(contents, table)?.iter();
        let default = v1::TableEntry {
            table_id: table.id,
            is_default_action: true,
            ..Default::default()
        };
        Ok(entries
            .map(|entry| named(table, entry))
            .chain([default])
            .collect())
    })
}

pub(super) fn write_counter(call: &Call<'_>) -> Outcome {
    let handle = call.args.i32(3)?;
    let value = call.args.fields(4)?;
    let data = v1::CounterData {
        byte_count: value.i64(1)?,
        packet_count: value.i64(2)?,
    };
    let memory = call.memory();
    set_counters(call, data, |contents, table| {
        Ok(vec![named(table, memory.entry(contents, table, handle)?)])
    })
}

pub(super) fn set_meter_rates(call: &Call<'_>) -> Outcome {
    let handle = call.args.i32(3)?;
    let config = read_rates(&call.args, 4)?
        .map_err(|why| Fault::Refused(code::INVALID_METER_OPERATION, why.text().to_owned()))?;
    let memory = call.memory();
    let name = call.args.text(2)?;
    call.subject.switch.amend::<Entries>(|contents| {
        let table = find(&contents.schema, &name)?;
        let entry = memory.entry(contents, table, handle)?;
        if table.meter.is_none() {
            return Err(Fault::Code(code::METERS_DISABLED).into());
        }
        let entity = Entity::DirectMeterEntry(v1::DirectMeterEntry {
            table_entry: Some(Box::new(named(table, entry))),
            config: Some(config),
            counter_data: None,
        });
        Ok(vec![update_of(update::Type::Modify, entity)])
    })?;
    Ok(None)
}

pub(super) fn meter_rates(call: &Call<'_>) -> Outcome {
    let memory = call.memory();
    call.look(code::INVALID_TABLE_NAME, |contents| {
        let (table, slot) = place(call, contents, &memory)?;
        if table.meter.is_none() {
            return Err(Fault::Code(code::METERS_DISABLED));
        }
        let data = data_of(contents, &table, Some(slot))?;
        Ok(Some(rates_value(data.meter)))
    })
}
