//! `table_*` and `show_*`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use entries::catalog::match_kind;
use entries::{Bits, Bytestring as _, MatchKind};
use p4gen::entries::{commands, write_request};
use p4runtime::P4InfoIndex;
use p4runtime::p4::config::v1::{MatchField, Table, action_ref};
use p4runtime::p4::v1::{self, entity::Entity, field_match::FieldMatchType, table_action, update};

use super::{Outcome, Session, handle, help, number};

/// Entries that are deleted by one request.
const BATCH: usize = 1000;

/// BMv2's priority of a P4Runtime priority, and the other way round.
const fn turn_round(priority: i32) -> i32 {
    i32::MAX - priority
}

/// The handles of tables that were touched. Entries that were there get theirs by rising priority
/// number and key; entries that are added count on.
#[derive(Default)]
pub(super) struct Handles(BTreeMap<u32, TableHandles>);

#[derive(Default)]
struct TableHandles {
    next: u32,
    entries: BTreeMap<u32, v1::TableEntry>,
}

impl TableHandles {
    fn add(&mut self, entry: v1::TableEntry) -> u32 {
        let handle = self.next;
        self.next += 1;
        self.entries.insert(handle, entry);
        handle
    }
}

/// An entry without what is not its key.
fn key_of(entry: &v1::TableEntry) -> v1::TableEntry {
    v1::TableEntry {
        table_id: entry.table_id,
        r#match: entry.r#match.clone(),
        priority: entry.priority,
        ..Default::default()
    }
}

/// A key in an order of its own.
fn rank(entry: &v1::TableEntry) -> (i32, Vec<u8>) {
    use prost::Message as _;
    (turn_round(entry.priority), key_of(entry).encode_to_vec())
}

impl Session {
    pub(super) fn tables(&mut self, command: &str, words: &[&str]) -> Outcome {
        match (command, words) {
            ("show_tables", []) => self.show_tables(),
            ("show_actions", []) => self.show_actions(),
            ("table_info", [table]) => {
                let index = self.info()?;
                Ok(describe_table(index, find(index, table)?))
            }
            ("table_show_actions", [table]) => {
                let index = self.info()?;
                let refs = &find(index, table)?.action_refs;
                Ok(refs.iter().map(|r| action_line(index, r.id)).collect())
            }
            ("table_num_entries", [table]) => {
                let table = find(self.info()?, table)?.id();
                Ok(self.entries(table)?.len().to_string())
            }
            ("table_add", [_, _, ..]) => self.table_add(words),
            ("table_indirect_add" | "table_indirect_add_with_group", [table, rest @ ..]) => {
                self.indirect_add(command.ends_with("group"), table, rest)
            }
            ("table_set_default", [table, ..]) => {
                let entry = self.line_entry("table_set_default", words)?;
                self.change(update::Type::Modify, Entity::TableEntry(entry))?;
                Ok(format!("Set default action of {table}"))
            }
            ("table_reset_default", [table]) => {
                let table_id = find(self.info()?, table)?.id();
                let entry = v1::TableEntry {
                    table_id,
                    is_default_action: true,
                    ..Default::default()
                };
                self.change(update::Type::Modify, Entity::TableEntry(entry))?;
                Ok(format!("Reset default action of {table}"))
            }
            ("table_modify", [table, action, at, args @ ..]) => {
                self.table_modify(table, action, at, args)
            }
            ("table_indirect_modify" | "table_indirect_modify_with_group", [table, at, to]) => {
                let action = indirect(command.ends_with("group"), to)?;
                let mut entry = self.at_handle(table, at)?;
                entry.action = Some(action);
                self.change(update::Type::Modify, Entity::TableEntry(entry))?;
                Ok(format!("Modified entry {at} of {table}"))
            }
            ("table_delete" | "table_indirect_delete", [table, at]) => {
                let entry = self.at_handle(table, at)?;
                let table_id = entry.table_id;
                self.change(update::Type::Delete, Entity::TableEntry(key_of(&entry)))?;
                if let Some(handles) = self.handles.0.get_mut(&table_id) {
                    handles.entries.remove(&handle(at)?);
                }
                Ok(format!("Deleted entry {at} of {table}"))
            }
            ("table_clear", [table]) => self.table_clear(table),
            ("table_set_timeout", [table, at, milliseconds]) => {
                let mut entry = self.at_handle(table, at)?;
                entry.idle_timeout_ns = number::<i64>(milliseconds)?.saturating_mul(1_000_000);
                self.change(update::Type::Modify, Entity::TableEntry(entry))?;
                Ok(format!("Set timeout of entry {at} of {table}"))
            }
            ("table_dump", [table]) => self.table_dump(table),
            ("table_dump_entry_from_key", [table, keys @ ..]) => self.dump_from_key(table, keys),
            ("table_indirect_reset_default", [_]) => self.tables("table_reset_default", words),
            ("table_dump_entry", [table, at]) => {
                let (entry, at) = (self.at_handle(table, at)?, handle(at)?);
                Ok(dump_entry(self.info()?, Some(at), &entry))
            }
            _ => Err(help::unknown_or_usage(command).into()),
        }
    }

    fn show_tables(&self) -> Outcome {
        let index = self.info()?;
        let tables = &index.info().tables;
        Ok(tables
            .iter()
            .map(|table| describe_table(index, table))
            .collect())
    }

    fn show_actions(&self) -> Outcome {
        let index = self.info()?;
        let actions = index
            .info()
            .actions
            .iter()
            .filter_map(|a| a.preamble.as_ref());
        Ok(actions.map(|p| action_line(index, p.id)).collect())
    }

    /// The entry that a line of `commands.txt` describes.
    fn line_entry(&self, command: &str, words: &[&str]) -> Outcome<v1::TableEntry> {
        self.text_entry(&format!("{command} {}\n", words.join(" ")))
    }

    /// The first entry of lines of `commands.txt`.
    fn text_entry(&self, lines: &str) -> Outcome<v1::TableEntry> {
        let index = self.info()?;
        let plain = |text: String| {
            // The place of a line in a file says nothing here.
            text.split_once(": ")
                .map_or(text.clone(), |(_, rest)| rest.to_owned())
        };
        let entries = commands::read("", lines, index).map_err(|e| plain(e.to_string()))?;
        let request = write_request::write(&entries, index).map_err(|e| plain(e.to_string()))?;
        let entities = request.updates.into_iter().filter_map(|u| u.entity?.entity);
        let entry = |entity| match entity {
            Entity::TableEntry(entry) => Some(entry),
            _ => None,
        };
        let mut found = entities.filter_map(entry);
        Ok(found.next().ok_or("the line describes no entry")?)
    }

    fn add(&mut self, table: &str, entry: v1::TableEntry) -> Outcome {
        self.number_entries(entry.table_id)?;
        self.change(update::Type::Insert, Entity::TableEntry(entry.clone()))?;
        let handles = self.handles.0.entry(entry.table_id).or_default();
        let at = handles.add(entry);
        Ok(format!("Entry has been added to {table} with handle {at}"))
    }

    fn table_add(&mut self, words: &[&str]) -> Outcome {
        let entry = self.line_entry("table_add", words)?;
        self.add(words[0], entry)
    }

    /// Adds an entry that leads to a member or a group.
    fn indirect_add(&mut self, group: bool, table: &str, rest: &[&str]) -> Outcome {
        let arrow = rest
            .iter()
            .position(|w| *w == "=>")
            .ok_or("there is no =>")?;
        let (keys, target) = (&rest[..arrow], &rest[arrow + 1..]);
        let (to, priority) = target.split_first().ok_or("a handle follows =>")?;
        let mut entry = self.key_entry(table, keys, priority)?;
        entry.action = Some(indirect(group, to)?);
        self.add(table, entry)
    }

    /// An entry with these keys and any action that the table has; for a table with a profile, any
    /// member.
    fn key_entry(&self, table: &str, keys: &[&str], priority: &[&str]) -> Outcome<v1::TableEntry> {
        let index = self.info()?;
        let found = find(index, table)?;
        let default_only = i32::from(action_ref::Scope::DefaultOnly);
        let refs = found.action_refs.iter().filter(|r| r.scope != default_only);
        let mut actions = refs.filter_map(|r| index.action_by_id(r.id).ok());
        let any = actions.next().ok_or("the table has no action")?;
        let zeros = vec!["0"; any.params.len()].join(" ");
        let (action, keys, priority) = (any.name(), keys.join(" "), priority.join(" "));
        self.text_entry(&match index.action_profile_by_id(found.implementation_id) {
            Err(_) => format!("table_add {table} {action} {keys} => {zeros} {priority}\n"),
            Ok(profile) => format!(
                "act_prof_create_member {} {action} {zeros}\ntable_indirect_add {table} {keys} => 0 {priority}\n",
                profile.name()
            ),
        })
    }

    fn dump_from_key(&mut self, table: &str, keys: &[&str]) -> Outcome {
        let fields = find(self.info()?, table)?.match_fields.len();
        if keys.len() < fields {
            return Err(format!("{table} has {fields} keys and {} are given", keys.len()).into());
        }
        let (keys, priority) = keys.split_at(fields);
        let wanted = rank(&self.key_entry(table, keys, priority)?);
        let table_id = find(self.info()?, table)?.id();
        let now = self.count_anew(table_id)?;
        let found = now.get(&wanted);
        let entry = found.ok_or_else(|| format!("{table} has no entry with this key"))?;
        let mut known = self
            .handles
            .0
            .get(&table_id)
            .into_iter()
            .flat_map(|h| &h.entries);
        let at = known.find(|(_, entry)| rank(entry) == wanted);
        let at = at.map(|(at, _)| *at);
        Ok(dump_entry(self.info()?, at, entry))
    }

    fn table_modify(&mut self, table: &str, action: &str, at: &str, args: &[&str]) -> Outcome {
        let args = args.strip_prefix(&["=>"]).unwrap_or(args);
        let words: Vec<&str> = [table, action, "=>"]
            .into_iter()
            .chain(args.iter().copied())
            .collect();
        let new = self.line_entry("table_set_default", &words)?.action;
        let mut entry = self.at_handle(table, at)?;
        entry.action = new;
        self.change(update::Type::Modify, Entity::TableEntry(entry.clone()))?;
        if let Some(handles) = self.handles.0.get_mut(&entry.table_id) {
            handles.entries.insert(handle(at)?, entry);
        }
        Ok(format!("Modified entry {at} of {table}"))
    }

    fn table_clear(&mut self, table: &str) -> Outcome {
        let table_id = find(self.info()?, table)?.id();
        let mut entries = self.entries(table_id)?;
        entries.retain(|entry| !entry.is_const); // constant entries stay, as in BMv2
        for some in entries.chunks(BATCH) {
            let some = some.iter().map(|entry| Entity::TableEntry(key_of(entry)));
            self.change_all(update::Type::Delete, some)?;
        }
        self.handles.0.remove(&table_id);
        Ok(format!("Deleted {} entries of {table}", entries.len()))
    }

    fn table_dump(&mut self, name: &str) -> Outcome {
        let table_id = find(self.info()?, name)?.id();
        let now = self.count_anew(table_id)?;
        let default = self.fetch(Entity::TableEntry(v1::TableEntry {
            table_id,
            is_default_action: true,
            ..Default::default()
        }))?;
        let index = self.info()?;
        let mut text = "==========\nTABLE ENTRIES\n".to_owned();
        if let Some(handles) = self.handles.0.get(&table_id) {
            for (at, entry) in &handles.entries {
                let entry = now.get(&rank(entry)).unwrap_or(entry);
                text.push_str("**********\n");
                text.push_str(&dump_entry(index, Some(*at), entry));
            }
        }
        text.push_str("==========\n");
        for entity in default {
            if let Entity::TableEntry(entry) = entity {
                text.push_str(&dump_entry(index, None, &entry));
            }
        }
        text.push_str("==========\n");
        Ok(text)
    }

    /// What a table holds now. Gives handles to what others added, and takes them from what others
    /// deleted.
    fn count_anew(&mut self, table_id: u32) -> Outcome<BTreeMap<(i32, Vec<u8>), v1::TableEntry>> {
        let found = self.entries(table_id)?.into_iter();
        let now: BTreeMap<_, _> = found.map(|entry| (rank(&entry), entry)).collect();
        let handles = self.handles.0.entry(table_id).or_default();
        handles
            .entries
            .retain(|_, entry| now.contains_key(&rank(entry)));
        let known: Vec<_> = handles.entries.values().map(rank).collect();
        for (key, entry) in &now {
            if !known.contains(key) {
                handles.add(entry.clone());
            }
        }
        Ok(now)
    }

    /// The entries of a table, without the default.
    fn entries(&mut self, table_id: u32) -> Outcome<Vec<v1::TableEntry>> {
        let wanted = v1::TableEntry {
            table_id,
            ..Default::default()
        };
        let found = self.fetch(Entity::TableEntry(wanted))?;
        let entry = |entity| match entity {
            Entity::TableEntry(entry) if !entry.is_default_action => Some(entry),
            _ => None,
        };
        Ok(found.into_iter().filter_map(entry).collect())
    }

    /// Counts the entries that a table has when it is first touched.
    fn number_entries(&mut self, table_id: u32) -> Outcome<()> {
        if self.handles.0.contains_key(&table_id) {
            return Ok(());
        }
        let mut entries = self.entries(table_id)?;
        entries.sort_by_cached_key(rank);
        let handles = self.handles.0.entry(table_id).or_default();
        for entry in entries {
            handles.add(entry);
        }
        Ok(())
    }

    pub(super) fn at_handle(&mut self, table: &str, at: &str) -> Outcome<v1::TableEntry> {
        let table_id = find(self.info()?, table)?.id();
        self.number_entries(table_id)?;
        let found = self
            .handles
            .0
            .get(&table_id)
            .and_then(|h| h.entries.get(&handle(at).ok()?));
        let entry = found.cloned().ok_or_else(|| {
            format!("{table} has no entry with handle {at}; `table_dump {table}` shows the handles")
        })?;
        Ok(v1::TableEntry {
            // What counts hits would be written back.
            counter_data: None,
            time_since_last_hit: None,
            ..entry
        })
    }
}

fn indirect(group: bool, to: &str) -> Outcome<v1::TableAction> {
    // simple_switch_CLI counts members and groups from 0, P4Runtime's ids here count from 1.
    let id = handle(to)?
        .checked_add(1)
        .ok_or("the handle is too large")?;
    let kind = if group {
        table_action::Type::ActionProfileGroupId(id)
    } else {
        table_action::Type::ActionProfileMemberId(id)
    };
    Ok(v1::TableAction { r#type: Some(kind) })
}

fn find<'a>(index: &'a P4InfoIndex, name: &str) -> Outcome<&'a Table> {
    Ok(index.table(name).map_err(|e| e.to_string())?)
}

fn kind_name(field: &MatchField) -> &'static str {
    match_kind(field).map_or("other", MatchKind::name)
}

fn describe_table(index: &P4InfoIndex, table: &Table) -> String {
    let profile = index.action_profile_by_id(table.implementation_id).ok();
    let implementation = profile.map_or("None", |p| p.name());
    let key = |f: &MatchField| format!("{}({}, {})", f.name, kind_name(f), f.bitwidth);
    let keys: Vec<String> = table.match_fields.iter().map(key).collect();
    format!(
        "{:<30} [implementation={implementation}, mk={}]\n",
        table.name(),
        keys.join(",\t")
    )
}

fn action_line(index: &P4InfoIndex, id: u32) -> String {
    let Ok(action) = index.action_by_id(id) else {
        return String::new();
    };
    let param =
        |p: &p4runtime::p4::config::v1::action::Param| format!("{}({})", p.name, p.bitwidth);
    let params: Vec<String> = action.params.iter().map(param).collect();
    format!("{:<30} [{}]\n", action.name(), params.join(",\t"))
}

/// Bytes as BMv2 prints them: all of the field's bytes, in hexadecimal.
fn hex(value: &[u8], bitwidth: i32) -> String {
    let length = usize::try_from(bitwidth)
        .unwrap_or(0)
        .div_ceil(8)
        .max(value.len());
    let mut text = "00".repeat(length - value.len());
    for byte in value {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

fn dump_entry(index: &P4InfoIndex, at: Option<u32>, entry: &v1::TableEntry) -> String {
    let mut text = match at {
        Some(at) => format!("Dumping entry {at:#x}\nMatch key:\n"),
        None => "Dumping default entry\n".to_owned(),
    };
    if at.is_some()
        && let Ok(table) = index.table_by_id(entry.table_id)
    {
        for field in &table.match_fields {
            let given = entry.r#match.iter().find(|m| m.field_id == field.id);
            let value = given.and_then(|m| m.field_match_type.as_ref());
            let kind = kind_name(field).to_uppercase();
            let _ = writeln!(
                text,
                "* {:<20}: {kind:<10}{}",
                field.name,
                key_text(field, value)
            );
        }
        if entry.priority != 0 {
            let _ = writeln!(text, "Priority: {}", turn_round(entry.priority));
        }
    }
    let _ = writeln!(
        text,
        "Action entry: {}",
        action_text(index, entry.action.as_ref())
    );
    text
}

fn key_text(field: &MatchField, value: Option<&FieldMatchType>) -> String {
    let width = field.bitwidth;
    let hex = |bytes: &[u8]| hex(bytes, width);
    let ones = || {
        let bits = u32::try_from(width).unwrap_or(0);
        hex(&Bits::ones(bits).canonical())
    };
    match value {
        Some(FieldMatchType::Exact(m)) => hex(&m.value),
        Some(FieldMatchType::Lpm(m)) => format!("{}/{}", hex(&m.value), m.prefix_len),
        Some(FieldMatchType::Ternary(m)) => format!("{} &&& {}", hex(&m.value), hex(&m.mask)),
        Some(FieldMatchType::Range(m)) => format!("{} -> {}", hex(&m.low), hex(&m.high)),
        Some(FieldMatchType::Optional(m)) => format!("{} &&& {}", hex(&m.value), ones()),
        Some(FieldMatchType::Other(_)) => "?".to_owned(),
        None => match kind_name(field) {
            "lpm" => format!("{}/0", hex(&[])),
            "range" => format!("{} -> {}", hex(&[]), ones()),
            _ => format!("{0} &&& {0}", hex(&[])),
        },
    }
}

fn action_text(index: &P4InfoIndex, action: Option<&v1::TableAction>) -> String {
    match action.and_then(|a| a.r#type.as_ref()) {
        Some(table_action::Type::Action(action)) => call_text(index, action),
        Some(table_action::Type::ActionProfileMemberId(id)) => {
            format!("member({})", id.saturating_sub(1))
        }
        Some(table_action::Type::ActionProfileGroupId(id)) => {
            format!("group({})", id.saturating_sub(1))
        }
        Some(table_action::Type::ActionProfileActionSet(set)) => {
            format!("one-shot group of {}", set.action_profile_actions.len())
        }
        None => "none".to_owned(),
    }
}

pub(super) fn call_text(index: &P4InfoIndex, call: &v1::Action) -> String {
    let Ok(action) = index.action_by_id(call.action_id) else {
        return format!("{:#x}", call.action_id);
    };
    let value = |p: &p4runtime::p4::config::v1::action::Param| {
        let given = call.params.iter().find(|g| g.param_id == p.id);
        given.map_or_else(|| "?".to_owned(), |g| hex(&g.value, p.bitwidth))
    };
    let values: Vec<String> = action.params.iter().map(value).collect();
    format!("{} - {}", action.name(), values.join(", "))
}
