//! The short way for the common updates: an entry of a table with direct actions, straight from its byte strings into the packed
//! words of the table, without anything allocated in between.
//!
//! It takes only what is right in every respect. Whatever it does not take, or the table refuses, goes the long way, which finds the
//! same fault again and can say what it is.

use p4exec::state::Transaction;
use p4exec::tables::{EntryOptions, KeyLayout, PackedAction, PackedKey, Table};
use p4ir::TableId;
use p4runtime::p4::v1;
use p4runtime::p4::v1::entity::Entity;
use p4runtime::p4::v1::field_match::FieldMatchType as Given;
use p4runtime::p4::v1::table_action;
use quantities::Nanos;

use super::Verb;
use super::schema::{Schema, TableSchema};

/// Makes the update if it can; `noted` says whether some entry of a table has a note, which only the long way minds.
pub(super) fn write(
    schema: &Schema,
    transaction: &mut Transaction<'_>,
    scratch: &mut Scratch,
    update: &v1::Update,
    noted: impl FnOnce(TableId) -> bool,
) -> bool {
    let Some(Entity::TableEntry(entry)) = update.entity.as_ref().and_then(|e| e.entity.as_ref())
    else {
        return false;
    };
    let (Ok(verb), Some(table)) = (Verb::of(update), schema.tables.get(&entry.table_id)) else {
        return false;
    };
    let ranked = if table.needs_priority {
        entry.priority > 0
    } else {
        entry.priority == 0
    };
    if !table.fast || entry.is_default_action || !ranked {
        return false;
    }
    let Ok(state) = transaction.control().table(table.table) else {
        return false;
    };
    if key(table, state.layout(), entry, scratch).is_none() {
        return false;
    }
    if verb == Verb::Delete {
        return !entry.is_const
            && !noted(table.table)
            && transaction.delete_packed(table.table, &scratch.key).is_ok();
    }
    if !plain(table, entry) || action(table, state, entry, scratch).is_none() {
        return false;
    }
    let options = EntryOptions {
        controller_metadata: entry.metadata.clone(),
        idle_timeout: Nanos::new(entry.idle_timeout_ns.unsigned_abs()),
        counter: None,
        // Left out it is reset (p4runtime.md 17).
        meter: (verb == Verb::Modify && table.meter.is_some()).then_some(None),
    };
    let Scratch { key, action } = scratch;
    if verb == Verb::Insert {
        transaction
            .insert_packed(table.table, key, action, &options)
            .is_ok()
    } else {
        !noted(table.table)
            && transaction
                .modify_packed(table.table, key, action, Some(&options))
                .is_ok()
    }
}

/// Whether the entry says nothing that needs a closer look.
#[allow(deprecated)]
fn plain(table: &TableSchema, entry: &v1::TableEntry) -> bool {
    !entry.is_const
        && entry.controller_metadata == 0
        && entry.meter_config.is_none()
        && entry.counter_data.is_none()
        && entry.meter_counter_data.is_none()
        && entry.time_since_last_hit.is_none()
        && (entry.idle_timeout_ns == 0 || (table.idle_timeout && entry.idle_timeout_ns > 0))
}

/// Packs the key; `None` if anything about it is not as it should be.
fn key(
    table: &TableSchema,
    layout: &KeyLayout,
    entry: &v1::TableEntry,
    scratch: &mut Scratch,
) -> Option<()> {
    let out = &mut scratch.key;
    layout.start(entry.priority, out);
    // Fields in rising order, each at most once; another order goes the long way.
    let mut next = 0;
    for given in &entry.r#match {
        let place = next
            + table
                .fields
                .get(next..)?
                .iter()
                .position(|f| f.id == given.field_id)?;
        if table.fields[next..place].iter().any(|f| !f.has_dont_care()) {
            return None;
        }
        next = place + 1;
        match given.field_match_type.as_ref()? {
            Given::Exact(m) if !m.value.is_empty() => {
                layout.set_exact(out, place, &m.value).ok()?;
            }
            Given::Optional(m) if !m.value.is_empty() => {
                layout.set_optional(out, place, &m.value).ok()?;
            }
            Given::Lpm(m) if !m.value.is_empty() && m.prefix_len > 0 => {
                let length = m.prefix_len.unsigned_abs();
                layout.set_lpm(out, place, &m.value, length).ok()?;
            }
            Given::Ternary(m) if !m.value.is_empty() && m.mask.iter().any(|byte| *byte != 0) => {
                layout.set_ternary(out, place, &m.value, &m.mask).ok()?;
            }
            // Ranges are few, and the full one has to be found out.
            _ => return None,
        }
    }
    let rest = table.fields.get(next..)?;
    rest.iter()
        .all(super::schema::FieldSchema::has_dont_care)
        .then_some(())
}

/// Packs the action, its parameters in their order.
fn action(
    table: &TableSchema,
    state: &Table,
    entry: &v1::TableEntry,
    scratch: &mut Scratch,
) -> Option<()> {
    let Some(table_action::Type::Action(given)) = entry.action.as_ref()?.r#type.as_ref() else {
        return None;
    };
    let choice = table
        .actions
        .iter()
        .find(|c| c.schema.id == given.action_id)?;
    let params = &choice.schema.params;
    if !choice.in_entries || params.len() != given.params.len() {
        return None;
    }
    let out = &mut scratch.action;
    state.start_call(choice.action, out).ok()?;
    for (index, (param, given)) in params.iter().zip(&given.params).enumerate() {
        if param.id != given.param_id
            || given.value.is_empty()
            || param.shape.signed
            || param.names.is_some()
        {
            return None;
        }
        state.set_arg(out, index, &given.value).ok()?;
    }
    Some(())
}

/// Memory that is used again for each entry.
#[derive(Default)]
pub(super) struct Scratch {
    pub(super) key: PackedKey,
    pub(super) action: PackedAction,
}
