//! `bfrt.json`: entries for BF Runtime, the control plane of Tofino. The format is described in
//! `docs/bfrt.md`.
//!
//! Tables have BF Runtime's names (the pipe's name before the program's), keys all of the table's
//! fields, values are hexadecimal strings. Three things are said in BF Runtime's own way: members
//! of an action selector are entries of the action profile's table and groups those of the
//! selector's; an entry that names a group has `$SELECTOR_GROUP_ID` for data; and of two ternary
//! entries the one with the *smaller* `$MATCH_PRIORITY` wins, so that it is [`LOWEST`] less
//! P4Runtime's priority.

use entries::catalog::{Field, Profile};
use entries::{Catalog, MatchKind, Resolved, ResolvedCall, entry_place};
use indexmap::IndexMap;
use p4runtime::P4InfoIndex;
use p4runtime::p4::config::v1::{ActionProfile, Table};
use serde::{Deserialize, Serialize};

use super::{
    Bits, EntriesError, EntryAction, FieldMatch, Group, GroupId, Key, Member, MemberId, NamedCall,
    SwitchEntries, TableEntry, named, value_text, width,
};
use crate::layout::{profile_of, selector_of};

/// What `format` says.
const FORMAT: &str = "switchwright-bfrt";
/// The version of the format.
const VERSION: u32 = 1;
/// The pipe's name in our programs.
pub const PIPE: &str = "pipe";
/// The `$MATCH_PRIORITY` of what loses to everything: it has 24 bits.
pub const LOWEST: i32 = (1 << 24) - 1;

/// Field of a key: the priority of an entry.
pub const PRIORITY: &str = "$MATCH_PRIORITY";
/// Field of an action profile: a member.
pub const MEMBER: &str = "$ACTION_MEMBER_ID";
/// Field of a group: whether its members are live.
pub const STATUS: &str = "$ACTION_MEMBER_STATUS";
/// Field of a selector: a group.
pub const GROUP: &str = "$SELECTOR_GROUP_ID";
/// Field of a group: the most members it may have.
pub const MAX_SIZE: &str = "$MAX_GROUP_SIZE";

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: String,
    version: u32,
    switch: String,
    program: String,
    pipe: String,
    /// In the order in which they can be installed.
    tables: Vec<FileTable>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileTable {
    table: String,
    entries: Vec<FileEntry>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileEntry {
    /// Empty for the table's default entry.
    key: IndexMap<String, FileKey>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    action: Option<String>,
    data: IndexMap<String, FileData>,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum FileKey {
    Number(u32),
    Exact(String),
    Ternary { value: String, mask: String },
    Lpm { value: String, prefix_len: u32 },
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum FileData {
    Number(u32),
    Value(String),
    Numbers(Vec<u32>),
    Flags(Vec<bool>),
}

/// The file.
///
/// # Errors
/// [`EntriesError`] for entries that do not fit the program, and for what BF Runtime keeps in fixed
/// tables of its own (multicast groups, clone sessions) or matches in other ways (ranges, optional
/// keys).
pub fn write(
    entries: &SwitchEntries,
    info: &P4InfoIndex,
    program: &str,
) -> Result<String, EntriesError> {
    let catalog = Catalog::of_p4info(info.info());
    let resolved = catalog.resolve(entries)?;
    let cannot = |what| EntriesError::Inexpressible {
        at: entries.switch.clone(),
        format: "bfrt.json",
        what,
    };
    if !entries.multicast_groups.is_empty() {
        return Err(cannot("multicast groups"));
    }
    if !entries.clone_sessions.is_empty() {
        return Err(cannot("clone sessions"));
    }
    let mut tables: IndexMap<String, Vec<FileEntry>> = IndexMap::new();
    for member in &resolved.members {
        let table = tables
            .entry(full(&table_of_members(member.profile)))
            .or_default();
        table.push(FileEntry {
            key: IndexMap::from([(MEMBER.to_owned(), FileKey::Number(member.id))]),
            action: Some(member.call.action.name.clone()),
            data: data_of(&member.call),
        });
    }
    for (group, profile) in entries.groups.iter().zip(&resolved.groups) {
        let table = tables.entry(full(&group.profile)).or_default();
        table.push(write_group(group, profile));
    }
    for entry in &resolved.tables {
        let table = tables.entry(full(&entry.table.name)).or_default();
        table.push(write_entry(entry).map_err(cannot)?);
    }
    let file = File {
        format: FORMAT.to_owned(),
        version: VERSION,
        switch: entries.switch.clone(),
        program: program.to_owned(),
        pipe: PIPE.to_owned(),
        tables: tables
            .into_iter()
            .map(|(table, entries)| FileTable { table, entries })
            .collect(),
    };
    let mut text = serde_json::to_string_pretty(&file)?;
    text.push('\n');
    Ok(text)
}

fn full(name: &str) -> String {
    format!("{PIPE}.{name}")
}

/// The table that holds members: of a selector the profile that it draws from, else the profile
/// itself.
pub fn members_table(profile: &ActionProfile) -> String {
    if profile.with_selector {
        profile_of(profile.name())
    } else {
        profile.name().to_owned()
    }
}

/// The table that holds a selector's groups.
pub fn groups_table(profile: &ActionProfile) -> String {
    selector_of(profile.name())
}

fn table_of_members(profile: &Profile) -> String {
    match profile.with_selector {
        true => profile_of(&profile.name),
        false => profile.name.clone(),
    }
}

fn write_group(group: &Group, profile: &Profile) -> FileEntry {
    let most = u32::try_from(profile.max_group_size).unwrap_or(0);
    FileEntry {
        key: IndexMap::from([(GROUP.to_owned(), FileKey::Number(group.id))]),
        action: None,
        data: IndexMap::from([
            (MEMBER.to_owned(), FileData::Numbers(group.members.clone())),
            (
                STATUS.to_owned(),
                FileData::Flags(vec![true; group.members.len()]),
            ),
            (MAX_SIZE.to_owned(), FileData::Number(most)),
        ]),
    }
}

fn write_entry(entry: &Resolved<'_>) -> Result<FileEntry, &'static str> {
    let mut key = IndexMap::new();
    for (field, value) in entry.matches() {
        key.insert(field.name.clone(), write_key(field, value)?);
    }
    if entry.priority != 0 {
        let priority = LOWEST
            .checked_sub(entry.priority)
            .and_then(|p| u32::try_from(p).ok())
            .ok_or("priorities of more than 24 bits")?;
        key.insert(PRIORITY.to_owned(), FileKey::Number(priority));
    }
    let (action, data) = match &entry.action {
        EntryAction::Call(call) => (Some(call.action.name.clone()), data_of(call)),
        EntryAction::Member(MemberId(id)) => (None, reference(MEMBER, *id)),
        EntryAction::Group(GroupId(id)) => (None, reference(GROUP, *id)),
        EntryAction::OneShot(never) => match *never {},
    };
    Ok(FileEntry { key, action, data })
}

fn reference(name: &str, id: u32) -> IndexMap<String, FileData> {
    IndexMap::from([(name.to_owned(), FileData::Number(id))])
}

fn data_of(call: &ResolvedCall<'_>) -> IndexMap<String, FileData> {
    call.params()
        .map(|(param, value)| (param.name.clone(), FileData::Value(hex(value))))
        .collect()
}

fn hex(bits: &Bits) -> String {
    value_text::hexadecimal(bits)
}

/// A key; one that matches everything is written out, for BF Runtime wants every field.
fn write_key(field: &Field, value: Option<&FieldMatch>) -> Result<FileKey, &'static str> {
    Ok(match (value, field.kind) {
        (Some(FieldMatch::Exact(value)), _) => FileKey::Exact(hex(value)),
        (Some(FieldMatch::Ternary { value, mask }), _) => FileKey::Ternary {
            value: hex(value),
            mask: hex(mask),
        },
        (Some(FieldMatch::Lpm { value, prefix_len }), _) => FileKey::Lpm {
            value: hex(value),
            prefix_len: *prefix_len,
        },
        (None, Some(MatchKind::Ternary)) => FileKey::Ternary {
            value: "0x0".to_owned(),
            mask: "0x0".to_owned(),
        },
        (None, Some(MatchKind::Lpm)) => FileKey::Lpm {
            value: "0x0".to_owned(),
            prefix_len: 0,
        },
        _ => return Err("range and optional keys"),
    })
}

/// Reads what [`write()`] makes; the program's name comes with it.
///
/// # Errors
/// [`EntriesError`] for JSON that is not such a file, or entries that do not fit the program.
pub fn read(
    switch: &str,
    text: &str,
    info: &P4InfoIndex,
) -> Result<(SwitchEntries, String), EntriesError> {
    let syntax = |problem: String| EntriesError::Syntax {
        at: format!("{switch}, bfrt.json"),
        problem,
    };
    let file: File = serde_json::from_str(text).map_err(|e| syntax(e.to_string()))?;
    if file.format != FORMAT || file.version != VERSION {
        return Err(syntax(format!(
            "it is {} version {}; {FORMAT} version {VERSION} is read",
            file.format, file.version
        )));
    }
    let mut reader = Reader {
        info,
        profiles: info
            .info()
            .action_profiles
            .iter()
            .map(|profile| (members_table(profile), profile))
            .collect(),
        entries: SwitchEntries {
            switch: switch.to_owned(),
            ..Default::default()
        },
    };
    for table in &file.tables {
        let prefix = format!("{}.", file.pipe);
        let name = table
            .table
            .strip_prefix(&prefix)
            .ok_or_else(|| syntax(format!("{} is not in the pipe {}", table.table, file.pipe)))?;
        for (number, entry) in table.entries.iter().enumerate() {
            reader.entry(name, number, entry)?;
        }
    }
    let entries = reader.entries;
    let entries = super::fitted(entries, info)?;
    Ok((entries, file.program))
}

struct Reader<'a> {
    info: &'a P4InfoIndex,
    /// Profiles by the table that holds their members.
    profiles: IndexMap<String, &'a ActionProfile>,
    entries: SwitchEntries,
}

impl Reader<'_> {
    fn entry(&mut self, table: &str, number: usize, entry: &FileEntry) -> Result<(), EntriesError> {
        let at = entry_place(&self.entries.switch, table, number);
        let syntax = |problem: &str| EntriesError::Syntax {
            at: at.clone(),
            problem: problem.to_owned(),
        };
        if let Some(profile) = self.profiles.get(table) {
            let id =
                number_key(&entry.key, MEMBER).ok_or_else(|| syntax("a member has a number"))?;
            self.entries.members.push(Member {
                profile: profile.name().to_owned().into(),
                id,
                action: self.call(entry, &at)?,
            });
            return Ok(());
        }
        if self
            .profiles
            .values()
            .any(|profile| profile.name() == table)
        {
            let id = number_key(&entry.key, GROUP).ok_or_else(|| syntax("a group has a number"))?;
            let Some(FileData::Numbers(members)) = entry.data.get(MEMBER) else {
                return Err(syntax("a group lists its members"));
            };
            self.entries.groups.push(Group {
                profile: table.to_owned().into(),
                id,
                members: members.clone(),
            });
            return Ok(());
        }
        let named = |source| named(&at, source);
        let shape: &Table = self.info.table(table).map_err(named)?;
        let action = match (&entry.action, entry.data.get(MEMBER), entry.data.get(GROUP)) {
            (None, Some(FileData::Number(id)), None) => EntryAction::Member(MemberId(*id)),
            (None, None, Some(FileData::Number(id))) => EntryAction::Group(GroupId(*id)),
            (Some(_), None, None) => EntryAction::Call(self.call(entry, &at)?),
            _ => return Err(syntax("an entry has an action, a member or a group")),
        };
        let priority = match entry.key.get(PRIORITY) {
            None => None,
            Some(FileKey::Number(p)) => i32::try_from(*p).ok().and_then(|p| LOWEST.checked_sub(p)),
            Some(_) => return Err(syntax("$MATCH_PRIORITY is a number")),
        };
        self.entries.tables.push(TableEntry {
            table: table.to_owned().into(),
            keys: read_keys(shape, &entry.key, &at)?,
            priority,
            action,
            is_default: entry.key.is_empty(),
        });
        Ok(())
    }

    fn call(&self, entry: &FileEntry, at: &str) -> Result<NamedCall, EntriesError> {
        let named = |source| named(at, source);
        let syntax = |problem: String| EntriesError::Syntax {
            at: at.to_owned(),
            problem,
        };
        let name = entry.action.as_deref();
        let name = name.ok_or_else(|| syntax("the action is missing".to_owned()))?;
        let action = self.info.action(name).map_err(named)?;
        let mut params = Vec::with_capacity(entry.data.len());
        for (name, value) in &entry.data {
            let param = action.param(name).map_err(named)?;
            let FileData::Value(text) = value else {
                return Err(syntax(format!("{name} is not a value")));
            };
            params.push((name.clone().into(), bits(text, param.bitwidth, name, at)?));
        }
        Ok(NamedCall {
            action: action.name().to_owned().into(),
            params,
        })
    }
}

fn number_key(keys: &IndexMap<String, FileKey>, name: &str) -> Option<u32> {
    match keys.get(name) {
        Some(FileKey::Number(number)) => Some(*number),
        _ => None,
    }
}

fn bits(text: &str, bitwidth: i32, what: &str, at: &str) -> Result<Bits, EntriesError> {
    let syntax = |problem: String| EntriesError::Syntax {
        at: at.to_owned(),
        problem: format!("{what}: {problem}"),
    };
    let width = width(bitwidth, what).map_err(|problem| syntax(problem.to_string()))?;
    value_text::parse(text, width).map_err(syntax)
}

fn read_keys(
    table: &Table,
    keys: &IndexMap<String, FileKey>,
    at: &str,
) -> Result<Vec<Key>, EntriesError> {
    let mut read = Vec::with_capacity(keys.len());
    for (name, value) in keys.iter().filter(|(name, _)| *name != PRIORITY) {
        let field = table.field(name).map_err(|source| named(at, source))?;
        let number = |text: &str| bits(text, field.bitwidth, name, at);
        let value = match value {
            FileKey::Exact(text) => Some(FieldMatch::Exact(number(text)?)),
            FileKey::Ternary { value, mask } => FieldMatch::ternary(&number(value)?, number(mask)?),
            FileKey::Lpm { value, prefix_len } => FieldMatch::lpm(&number(value)?, *prefix_len),
            FileKey::Number(_) => {
                return Err(EntriesError::Syntax {
                    at: at.to_owned(),
                    problem: format!("{name} is written as a string, such as \"0x1f\""),
                });
            }
        };
        read.extend(value.map(|value| Key {
            field: name.clone().into(),
            value,
        }));
    }
    Ok(read)
}
