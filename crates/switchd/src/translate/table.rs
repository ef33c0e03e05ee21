//! Table entries (P4Runtime 1.5, section 9.1).

use entries::{Problem, check};
use p4exec::Update;
use p4exec::state::EntryRef;
use p4exec::tables::{EntryOptions, EntryPriority, EntryView, FieldMatch, NewEntry, Slot};
use p4runtime::p4::v1;
use p4runtime::p4::v1::entity::Entity;
use p4runtime::p4::v1::table_action;
use quantities::Nanos;

use super::action::{
    Place, WriteContext, decode_action, decode_table_action, encode_action, encode_table_action,
};
use super::key::{decode_key, encode_key};
use super::pipeline_state::{Note, NoteKey, PipelineState, Step, View};
use super::refusal::Refusal;
use super::schema::TableSchema;
use super::{Sink, Steps, Verb, array};
use crate::engine::control::EntryData;

/// Entries whose counters are fetched in one visit of the data plane.
const VISIT: usize = 1024;

/// An entry by what the control plane knows it by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryName {
    /// One match per key field.
    pub key: Vec<FieldMatch>,
    /// Its priority.
    pub priority: EntryPriority,
}

impl EntryName {
    /// As updates name it.
    #[must_use]
    pub fn reference(self) -> EntryRef {
        EntryRef::Key {
            key: self.key,
            priority: self.priority,
        }
    }
}

/// The steps of an update.
///
/// # Errors
/// See the sections cited above.
pub fn write(
    contents: &View<'_>,
    around: &WriteContext<'_>,
    verb: Verb,
    entry: &v1::TableEntry,
) -> Result<Steps, Refusal> {
    let table = contents.schema.table(entry.table_id)?;
    let steps = if entry.is_default_action {
        default_entry(contents, around, table, verb, entry)
    } else {
        match verb {
            Verb::Delete => delete(table, entry),
            Verb::Insert => insert(contents, around, table, entry),
            Verb::Modify => modify(contents, around, table, entry),
        }
    };
    steps.map_err(|r| r.at(&format!("table `{}`", table.name)))
}

/// Key and priority of an entry.
///
/// # Errors
/// INVALID_ARGUMENT or OUT_OF_RANGE, naming the field (P4Runtime 1.5, section 9.1.1).
pub fn entry_name(table: &TableSchema, entry: &v1::TableEntry) -> Result<EntryName, Refusal> {
    let given = (entry.priority != 0).then_some(entry.priority);
    let priority = check::priority(table.needs_priority, given)?;
    Ok(EntryName {
        key: decode_key(&table.fields, &entry.r#match)?,
        priority: EntryPriority(priority),
    })
}

fn check_not_const(entry: &v1::TableEntry) -> Result<(), Refusal> {
    if entry.is_const {
        return Err(Refusal::invalid(
            "is_const must not be set: only programs declare const entries",
        ));
    }
    Ok(())
}

/// What no write of an entry may say.
fn check_fields(table: &TableSchema, entry: &v1::TableEntry) -> Result<(), Refusal> {
    check_not_const(entry)?;
    if entry.time_since_last_hit.is_some() {
        return Err(Refusal::invalid(
            "time_since_last_hit is for reading; leave it out",
        ));
    }
    if entry.idle_timeout_ns != 0 && (!table.idle_timeout || entry.is_default_action) {
        return Err(Refusal::invalid(
            "idle_timeout_ns is set, but these entries do not age",
        ));
    }
    if entry.idle_timeout_ns < 0 {
        return Err(Refusal::invalid("idle_timeout_ns is negative"));
    }
    if entry.counter_data.is_some() && table.counter.is_none() {
        return Err(Refusal::invalid(
            "counter_data is set, but the table has no direct counter",
        ));
    }
    if entry.meter_config.is_some() && table.meter.is_none() {
        return Err(Refusal::invalid(
            "meter_config is set, but the table has no direct meter",
        ));
    }
    if entry.meter_counter_data.is_some() && table.meter.is_none() {
        return Err(Refusal::invalid(
            "meter_counter_data is set, but the table has no direct meter",
        ));
    }
    Ok(())
}

fn note(entry: &v1::TableEntry, explicit: bool) -> Note {
    Note {
        cookie: entry.cookie(),
        explicit,
        ..Note::default()
    }
}

/// What an entry says besides key and action. A modification is the whole snapshot: without
/// configuration the meter is reset, and only the counter stays (P4Runtime 1.5, section 9.1).
fn options(
    table: &TableSchema,
    entry: &v1::TableEntry,
    reset: bool,
) -> Result<EntryOptions, Refusal> {
    let config = entry
        .meter_config
        .as_ref()
        .map(array::meter_config)
        .transpose()?;
    let meter = (config.is_some() || (reset && table.meter.is_some())).then_some(config);
    Ok(EntryOptions {
        controller_metadata: entry.metadata.clone(),
        idle_timeout: Nanos::new(entry.idle_timeout_ns.unsigned_abs()),
        counter: entry.counter_data.as_ref().map(array::cell),
        meter,
    })
}

/// Says what the meter of an entry has marked, if the message says so.
fn set_marked(
    steps: &mut Steps,
    around: &WriteContext<'_>,
    table: &TableSchema,
    name: EntryRef,
    entry: &v1::TableEntry,
) -> Result<(), Refusal> {
    if let Some(given) = &entry.meter_counter_data {
        steps.push(Step::Update(Update::SetDirectMarked {
            table: table.table,
            entry: name,
            marked: array::marked(around, given)?,
        }));
    }
    Ok(())
}

trait Cookie {
    fn cookie(&self) -> u64;
    fn set_cookie(&mut self, cookie: u64);
}

#[allow(deprecated)]
impl Cookie for v1::TableEntry {
    fn cookie(&self) -> u64 {
        self.controller_metadata
    }

    fn set_cookie(&mut self, cookie: u64) {
        self.controller_metadata = cookie;
    }
}

/// Only the key matters, and `is_const` (P4Runtime 1.5, section 9.1).
fn delete(table: &TableSchema, entry: &v1::TableEntry) -> Result<Steps, Refusal> {
    check_not_const(entry)?;
    if table.const_entries {
        return Err(Problem::ConstEntries.into());
    }
    let EntryName { key, priority } = entry_name(table, entry)?;
    Ok(Steps::one(Step::Update(Update::DeleteEntry {
        table: table.table,
        key,
        priority,
    })))
}

fn insert(
    contents: &View<'_>,
    around: &WriteContext<'_>,
    table: &TableSchema,
    entry: &v1::TableEntry,
) -> Result<Steps, Refusal> {
    if table.const_entries {
        return Err(Problem::ConstEntries.into());
    }
    if table.fields.is_empty() {
        return Err(check::NO_KEY.into());
    }
    let EntryName { key, priority } = entry_name(table, entry)?;
    check_fields(table, entry)?;
    let Some(action) = &entry.action else {
        return Err(super::missing("action"));
    };
    check_style(contents, table, action)?;
    let (action, explicit) = decode_table_action(around, table, action)?;
    let note = note(entry, explicit);
    let noted = (note != Note::default()).then(|| (key.clone(), note));
    let name = EntryRef::Key {
        key: key.clone(),
        priority,
    };
    let mut steps = Steps::one(Step::Update(Update::InsertEntry {
        table: table.table,
        entry: NewEntry {
            key,
            priority,
            action,
            is_const: false,
            options: options(table, entry, false)?,
        },
    }));
    if let Some((key, note)) = noted {
        steps.push(Step::NoteEntry(table.table, key, priority, note));
    }
    set_marked(&mut steps, around, table, name, entry)?;
    Ok(steps)
}

/// The whole snapshot: what is left out goes back to its default, but for the action and the
/// counter (P4Runtime 1.5, section 9.1).
fn modify(
    contents: &View<'_>,
    around: &WriteContext<'_>,
    table: &TableSchema,
    entry: &v1::TableEntry,
) -> Result<Steps, Refusal> {
    let name = entry_name(table, entry)?;
    check_fields(table, entry)?;
    let state = contents.state().table(table.table)?;
    let installed = state
        .find(&name.key, name.priority)
        .map_err(p4exec::StateError::from)?;
    let installed = state.view(installed);
    if table.const_entries || installed.is_some_and(|e| e.is_const()) {
        // P4Runtime 1.5, section 9.1.7: direct resources only.
        if entry.action.is_some() {
            return Err(Problem::ConstEntries.into());
        }
        if entry.idle_timeout_ns != 0 {
            return Err(Refusal::invalid("const entries do not age"));
        }
        return direct(around, table, name.reference(), entry);
    }
    let (action, explicit) = match &entry.action {
        Some(action) => {
            check_style(contents, table, action)?;
            decode_table_action(around, table, action)?
        }
        // Without action the action stays.
        None => {
            let note =
                installed.and_then(|e| contents.note(NoteKey::Entry(table.table, e.handle())));
            let action = installed
                .map(|e| e.action())
                .ok_or_else(|| super::missing("entry"))?;
            (action, note.is_some_and(|n| n.explicit))
        }
    };
    let reference = EntryRef::Key {
        key: name.key.clone(),
        priority: name.priority,
    };
    let mut steps = Steps::one(Step::Update(Update::ModifyEntry {
        table: table.table,
        key: name.key.clone(),
        priority: name.priority,
        action,
        options: Some(options(table, entry, true)?),
    }));
    steps.push(Step::NoteEntry(
        table.table,
        name.key,
        name.priority,
        note(entry, explicit),
    ));
    set_marked(&mut steps, around, table, reference, entry)?;
    Ok(steps)
}

/// The steps for the direct resources of an entry whose action cannot be changed, or of the default
/// entry.
fn direct(
    around: &WriteContext<'_>,
    table: &TableSchema,
    name: EntryRef,
    entry: &v1::TableEntry,
) -> Result<Steps, Refusal> {
    let mut steps = Steps::default();
    let options = options(table, entry, true)?;
    if let Some(config) = options.meter {
        steps.push(Step::Update(Update::SetDirectMeter {
            table: table.table,
            entry: name.clone(),
            config,
        }));
    }
    if let Some(value) = options.counter {
        steps.push(Step::Update(Update::SetDirectCounter {
            table: table.table,
            entry: name.clone(),
            value,
        }));
    }
    set_marked(&mut steps, around, table, name, entry)?;
    Ok(steps)
}

/// Entries of one selector are all one-shot or none is (P4Runtime 1.5, section 9.2.3).
fn check_style(
    contents: &View<'_>,
    table: &TableSchema,
    action: &v1::TableAction,
) -> Result<(), Refusal> {
    let Some(profile) = table.profile else {
        return Ok(());
    };
    let profile = contents.schema.profile(profile)?;
    use table_action::Type;
    match &action.r#type {
        Some(Type::ActionProfileActionSet(_)) => {
            let state = contents.state().profile(profile.profile)?;
            if state.members().is_empty() && state.groups().is_empty() {
                return Ok(());
            }
            Err(Refusal::invalid(format!(
                "profile `{}` has members or groups: one-shot entries cannot be mixed with them",
                profile.name
            )))
        }
        _ => Ok(()),
    }
}

/// Always there: MODIFY only; no action brings back the program's own (P4Runtime 1.5, section
/// 9.1.3).
fn default_entry(
    contents: &View<'_>,
    around: &WriteContext<'_>,
    table: &TableSchema,
    verb: Verb,
    entry: &v1::TableEntry,
) -> Result<Steps, Refusal> {
    verb.only_modify("default entry")?;
    if !entry.r#match.is_empty() || entry.priority != 0 {
        return Err(check::DEFAULT_WITH_KEYS.into());
    }
    check_fields(table, entry)?;
    if table.const_default {
        return Err(Problem::ConstDefault.into());
    }
    let call = match entry.action.as_ref().map(|a| a.r#type.as_ref()) {
        None => None,
        Some(Some(table_action::Type::Action(action))) => {
            if table.profile.is_some() {
                check_indirect_default(contents, table, action)?;
            }
            Some(decode_action(&table.actions, action, Place::Default)?)
        }
        Some(_) => return Err(check::DEFAULT_IS_AN_ACTION.into()),
    };
    let mut note = note(entry, false);
    note.metadata.clone_from(&entry.metadata);
    let reset = call.is_none();
    let mut steps = Steps::one(Step::Update(Update::SetDefault {
        table: table.table,
        call,
    }));
    let note = (note != Note::default() && !reset).then_some(note);
    steps.push(Step::Note(NoteKey::Default(table.table), note));
    for step in direct(around, table, EntryRef::Default, entry)? {
        steps.push(step);
    }
    Ok(steps)
}

/// Tables with a profile may only have the program's own default action (P4Runtime 1.5, section
/// 9.1.3).
fn check_indirect_default(
    contents: &View<'_>,
    table: &TableSchema,
    action: &v1::Action,
) -> Result<(), Refusal> {
    let own = contents.state().table(table.table)?.default_action();
    let own = own.and_then(|call| encode_action(contents.schema, &table.actions, &call));
    match own {
        Some(own) if own.action_id != action.action_id => Err(Refusal::denied(
            "a table with an action profile keeps the default action of the program",
        )),
        _ => Ok(()),
    }
}

/// Hands out entries.
///
/// # Errors
/// INVALID_ARGUMENT or NOT_FOUND if the request names what cannot be.
pub fn read(
    contents: &PipelineState,
    filter: &v1::TableEntry,
    sink: &mut Sink<'_>,
) -> Result<(), Refusal> {
    if filter.table_id == 0 {
        let plain = v1::TableEntry {
            counter_data: None,
            meter_config: None,
            time_since_last_hit: None,
            meter_counter_data: None,
            is_default_action: false,
            ..filter.clone()
        };
        // P4Runtime 1.5, section 13.2: all tables, and then no other filter.
        if plain != v1::TableEntry::default() {
            return Err(Refusal::invalid(
                "a read of all tables (table id 0) takes no other filter",
            ));
        }
        for table in contents.schema.tables.values() {
            read_table(contents, table, filter, sink)?;
        }
        return Ok(());
    }
    let table = contents.schema.table(filter.table_id)?;
    let here = |r: Refusal| r.at(&format!("table `{}`", table.name));
    if filter.time_since_last_hit.is_some() && !table.idle_timeout {
        return Err(here(Refusal::invalid(
            "time_since_last_hit is asked for, but entries do not age",
        )));
    }
    read_table(contents, table, filter, sink).map_err(here)
}

fn read_table(
    contents: &PipelineState,
    table: &TableSchema,
    filter: &v1::TableEntry,
    sink: &mut Sink<'_>,
) -> Result<(), Refusal> {
    let state = contents.state().table(table.table)?;
    let mut reader = Reader {
        contents,
        table,
        filter,
        wants_data: (filter.counter_data.is_some() && table.counter.is_some())
            || (filter.meter_config.is_some() && table.meter.is_some())
            || (filter.meter_counter_data.is_some() && table.meter.is_some())
            || (filter.time_since_last_hit.is_some() && table.idle_timeout),
        waiting: Vec::new(),
        sink,
    };
    if filter.is_default_action {
        let message = read_default(contents, table)?;
        reader.give(None, message)?;
        return reader.flush();
    }
    if !filter.r#match.is_empty() {
        let name = entry_name(table, filter)?;
        let found = state.find(&name.key, name.priority).ok();
        if let Some(entry) = found.and_then(|handle| state.view(handle)) {
            reader.offer(entry)?;
        }
        return reader.flush();
    }
    for entry in state.iter() {
        reader.offer(entry)?;
    }
    reader.flush()
}

fn read_default(contents: &PipelineState, table: &TableSchema) -> Result<v1::TableEntry, Refusal> {
    let state = contents.state().table(table.table)?;
    let call = state.default_action();
    let action = call.and_then(|call| encode_action(&contents.schema, &table.actions, &call));
    let mut entry = v1::TableEntry {
        table_id: table.id,
        is_default_action: true,
        action: action.map(|action| v1::TableAction {
            r#type: Some(table_action::Type::Action(action)),
        }),
        ..Default::default()
    };
    if let Some(note) = contents.note(NoteKey::Default(table.table)) {
        entry.metadata = note.metadata.clone();
        entry.set_cookie(note.cookie);
    }
    Ok(entry)
}

struct Reader<'a, 's> {
    contents: &'a PipelineState,
    table: &'a TableSchema,
    filter: &'a v1::TableEntry,
    /// Whether something is asked for that only the data plane knows.
    wants_data: bool,
    waiting: Vec<(Option<Slot>, v1::TableEntry)>,
    sink: &'a mut Sink<'s>,
}

impl Reader<'_, '_> {
    /// Takes an entry if it passes the filter.
    fn offer(&mut self, entry: EntryView<'_>) -> Result<(), Refusal> {
        let filter = self.filter;
        if filter.priority != 0 && filter.priority != entry.priority().0 {
            return Ok(());
        }
        if !filter.metadata.is_empty() && filter.metadata != entry.controller_metadata() {
            return Ok(());
        }
        let note = self
            .contents
            .note(NoteKey::Entry(self.table.table, entry.handle()));
        if filter.cookie() != 0 && note.map(|n| n.cookie) != Some(filter.cookie()) {
            return Ok(());
        }
        let message = entry_message(self.contents, self.table, entry, note);
        if let Some(wanted) = filter.action.as_ref().and_then(|a| a.r#type.as_ref()) {
            let given = message.action.as_ref().and_then(|a| a.r#type.as_ref());
            if !same_action(wanted, given) {
                return Ok(());
            }
        }
        self.give(Some(entry.handle().0), message)
    }

    /// Hands out an entry, or lets it wait for what only the data plane knows.
    fn give(&mut self, slot: Option<Slot>, message: v1::TableEntry) -> Result<(), Refusal> {
        if !self.wants_data {
            return (self.sink)(Entity::TableEntry(message));
        }
        self.waiting.push((slot, message));
        if self.waiting.len() >= VISIT {
            return self.flush();
        }
        Ok(())
    }

    /// Completes what waits for the data plane.
    fn flush(&mut self) -> Result<(), Refusal> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let (slots, messages): (Vec<_>, Vec<_>) = self.waiting.drain(..).unzip();
        let data = self.contents.control.entry_data(self.table.table, slots)?;
        for (mut message, data) in messages.into_iter().zip(data) {
            self.complete(&mut message, &data);
            (self.sink)(Entity::TableEntry(message))?;
        }
        Ok(())
    }

    fn complete(&self, message: &mut v1::TableEntry, data: &EntryData) {
        if self.filter.counter_data.is_some() && self.table.counter.is_some() {
            message.counter_data = Some(array::counter_data(&data.counter));
        }
        if self.filter.meter_config.is_some() {
            message.meter_config = data.meter.as_ref().map(array::meter_message);
        }
        if self.filter.meter_counter_data.is_some() && self.table.meter.is_some() {
            message.meter_counter_data = Some(Box::new(array::marked_message(&data.marked)));
        }
        if self.filter.time_since_last_hit.is_some()
            && self.table.idle_timeout
            && !message.is_default_action
        {
            message.time_since_last_hit = Some(v1::table_entry::IdleTimeout {
                elapsed_ns: i64::try_from(data.since_hit.get()).unwrap_or(i64::MAX),
            });
        }
    }
}

/// A filter by action looks at the id of a direct action only.
fn same_action(wanted: &table_action::Type, given: Option<&table_action::Type>) -> bool {
    match (wanted, given) {
        (table_action::Type::Action(wanted), Some(table_action::Type::Action(given))) => {
            wanted.action_id == 0 || wanted.action_id == given.action_id
        }
        _ => false,
    }
}

/// The message of an entry, without what the data plane knows.
#[must_use]
pub fn entry_message(
    contents: &PipelineState,
    table: &TableSchema,
    entry: EntryView<'_>,
    note: Option<&Note>,
) -> v1::TableEntry {
    let explicit = note.is_some_and(|n| n.explicit);
    let mut message = v1::TableEntry {
        table_id: table.id,
        r#match: encode_key(&table.fields, &entry.key()),
        action: encode_table_action(&contents.schema, table, &entry.action(), explicit),
        priority: entry.priority().0,
        metadata: entry.controller_metadata().to_vec(),
        idle_timeout_ns: i64::try_from(entry.idle_timeout().get()).unwrap_or(i64::MAX),
        is_const: entry.is_const(),
        ..Default::default()
    };
    if let Some(note) = note {
        message.set_cookie(note.cookie);
    }
    message
}
