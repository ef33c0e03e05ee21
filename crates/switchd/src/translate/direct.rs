//! Direct counters and meters as entities of their own (P4Runtime 1.5, sections 9.3.1 and 9.4.1).

use p4exec::Update;
use p4exec::state::EntryRef;
use p4runtime::p4::v1;
use p4runtime::p4::v1::entity::Entity;

use super::action::WriteContext;
use super::pipeline_state::{PipelineState, Step, View};
use super::refusal::Refusal;
use super::schema::TableSchema;
use super::table::{self, entry_name};
use super::{Sink, Steps, Verb, array, missing};

/// What a table must have.
#[derive(Clone, Copy)]
enum Resource {
    Counter,
    Meter,
    /// A meter, with what it has marked by colour.
    CountingMeter,
}

impl Resource {
    fn check(self, table: &TableSchema) -> Result<(), Refusal> {
        let (there, name) = match self {
            Self::Counter => (table.counter.is_some(), "counter"),
            Self::Meter | Self::CountingMeter => (table.meter.is_some(), "meter"),
        };
        if there {
            return Ok(());
        }
        Err(Refusal::invalid(format!(
            "table `{}` has no direct {name}",
            table.name
        )))
    }
}

/// The entry a write is about; it must be there.
fn named<'a>(
    contents: &View<'a>,
    entry: Option<&v1::TableEntry>,
    resource: Resource,
) -> Result<(&'a TableSchema, EntryRef), Refusal> {
    let entry = entry.ok_or_else(|| missing("table entry"))?;
    let table = contents.schema.table(entry.table_id)?;
    resource.check(table)?;
    if entry.is_default_action {
        return Ok((table, EntryRef::Default));
    }
    let here = |r: Refusal| r.at(&format!("table `{}`", table.name));
    let name = entry_name(table, entry).map_err(here)?;
    let state = contents.state().table(table.table)?;
    let handle = state
        .find(&name.key, name.priority)
        .map_err(p4exec::StateError::from)?;
    Ok((table, EntryRef::Handle(handle)))
}

/// Sets the counter of an entry.
///
/// # Errors
/// INVALID_ARGUMENT or NOT_FOUND.
pub fn write_counter(
    contents: &View<'_>,
    verb: Verb,
    entry: &v1::DirectCounterEntry,
) -> Result<Steps, Refusal> {
    verb.only_modify("direct counter")?;
    let (table, name) = named(contents, entry.table_entry.as_deref(), Resource::Counter)?;
    let Some(data) = &entry.data else {
        // Nothing is to change; that the entry is there was seen to.
        return Ok(Steps::default());
    };
    Ok(Steps::one(Step::Update(Update::SetDirectCounter {
        table: table.table,
        entry: name,
        value: array::cell(data),
    })))
}

/// Configures the meter of an entry.
///
/// # Errors
/// INVALID_ARGUMENT or NOT_FOUND.
pub fn write_meter(
    contents: &View<'_>,
    around: &WriteContext<'_>,
    verb: Verb,
    entry: &v1::DirectMeterEntry,
) -> Result<Steps, Refusal> {
    verb.only_modify("direct meter")?;
    let (table, name) = named(contents, entry.table_entry.as_deref(), Resource::Meter)?;
    let config = entry.config.as_ref().map(array::meter_config).transpose()?;
    let mut steps = Steps::one(Step::Update(Update::SetDirectMeter {
        table: table.table,
        entry: name.clone(),
        config,
    }));
    if let Some(given) = &entry.counter_data {
        steps.push(Step::Update(Update::SetDirectMarked {
            table: table.table,
            entry: name,
            marked: array::marked(around, given)?,
        }));
    }
    Ok(steps)
}

/// The entries a read is about, as a filter of entries that asks for the resource.
fn entries(
    contents: &PipelineState,
    entry: Option<&v1::TableEntry>,
    resource: Resource,
    sink: &mut dyn FnMut(v1::TableEntry) -> Result<(), Refusal>,
) -> Result<(), Refusal> {
    let given = entry.ok_or_else(|| missing("table entry"))?;
    let mut filter = v1::TableEntry {
        table_id: given.table_id,
        r#match: given.r#match.clone(),
        priority: given.priority,
        is_default_action: given.is_default_action,
        ..Default::default()
    };
    match resource {
        Resource::Counter => filter.counter_data = Some(v1::CounterData::default()),
        Resource::Meter => filter.meter_config = Some(v1::MeterConfig::default()),
        Resource::CountingMeter => {
            filter.meter_config = Some(v1::MeterConfig::default());
            filter.meter_counter_data = Some(Box::default());
        }
    }
    let tables: Vec<_> = if given.table_id == 0 {
        let all = contents.schema.tables.values();
        all.filter(|t| resource.check(t).is_ok())
            .map(|t| t.id)
            .collect()
    } else {
        resource.check(contents.schema.table(given.table_id)?)?;
        vec![given.table_id]
    };
    let mut found = false;
    for table_id in tables {
        let filter = v1::TableEntry {
            table_id,
            ..filter.clone()
        };
        table::read(contents, &filter, &mut |entity| {
            let Entity::TableEntry(entry) = entity else {
                return Ok(());
            };
            found = true;
            sink(entry)
        })?;
    }
    if !found && !given.r#match.is_empty() {
        return Err(Refusal::not_found("there is no such table entry"));
    }
    Ok(())
}

/// The key alone, as a direct entry names it.
fn key_of(entry: v1::TableEntry) -> Option<Box<v1::TableEntry>> {
    Some(Box::new(v1::TableEntry {
        table_id: entry.table_id,
        r#match: entry.r#match,
        priority: entry.priority,
        is_default_action: entry.is_default_action,
        ..Default::default()
    }))
}

/// Hands out direct counters.
///
/// # Errors
/// INVALID_ARGUMENT or NOT_FOUND.
pub fn read_counters(
    contents: &PipelineState,
    filter: &v1::DirectCounterEntry,
    sink: &mut Sink<'_>,
) -> Result<(), Refusal> {
    entries(
        contents,
        filter.table_entry.as_deref(),
        Resource::Counter,
        &mut |mut entry| {
            let data = entry.counter_data.take();
            sink(Entity::DirectCounterEntry(v1::DirectCounterEntry {
                table_entry: key_of(entry),
                data,
            }))
        },
    )
}

/// Hands out direct meters.
///
/// # Errors
/// INVALID_ARGUMENT or NOT_FOUND.
pub fn read_meters(
    contents: &PipelineState,
    filter: &v1::DirectMeterEntry,
    sink: &mut Sink<'_>,
) -> Result<(), Refusal> {
    let resource = if filter.counter_data.is_some() {
        Resource::CountingMeter
    } else {
        Resource::Meter
    };
    entries(
        contents,
        filter.table_entry.as_deref(),
        resource,
        &mut |mut entry| {
            let config = entry.meter_config.take();
            let counter_data = entry.meter_counter_data.take().map(|data| *data);
            sink(Entity::DirectMeterEntry(v1::DirectMeterEntry {
                table_entry: key_of(entry),
                config,
                counter_data,
            }))
        },
    )
}
