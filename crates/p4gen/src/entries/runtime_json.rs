//! `runtime.json`: what the controller of p4lang/tutorials loads (`sX-runtime.json`).
//!
//! Its keys are used as they are: `target`, `p4info`, `bmv2_json`, `table_entries`,
//! `multicast_group_entries`, `clone_session_entries`. Values of 32, 48 and 128 bits are written
//! as IPv4, MAC and IPv6 addresses, others as numbers (of any size: a port bitmap may have more
//! digits than a double keeps, which Python reads well and JavaScript does not). Keys that match
//! everything are left out.
//!
//! That controller knows no action profiles. Where a switch needs them, three more keys say it,
//! which that controller does not look at:
//!
//! ```json
//! "action_profile_members": [{ "action_profile": "ingress.sel", "member_id": 1,
//!                              "action_name": "ingress.next_hop", "action_params": {"port": 1} }],
//! "action_profile_groups":  [{ "action_profile": "ingress.sel", "group_id": 1, "members": [1] }],
//! "indirect_table_entries": [{ "table": "ingress.ecmp", "match": {"group": 1}, "group_id": 1 }]
//! ```
//!
//! So the file always loads there, and a switch without multipath is then complete. With multipath
//! the groups are missing, and packets that would take one are dropped: in that case give
//! tutorials' topology file `"cli_input": "commands.txt"` instead of `"runtime_json"`, or load
//! `entries.txtpb` with a P4Runtime client. One more limit of that controller: it does not encode
//! keys of kind `optional`.

use entries::catalog::match_kind;
use entries::{Catalog, MatchKind, ResolvedCall, entry_place};
use indexmap::IndexMap;
use p4runtime::P4InfoIndex;
use p4runtime::p4::config::v1::{MatchField, Table};
use quantities::PortId;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{
    Bits, CloneSession, EntriesError, EntryAction, FieldMatch, Group, GroupId, Key, Member,
    MemberId, MulticastGroup, NamedCall, Replica, SwitchEntries, TableEntry, named, packet_length,
    value_text, width,
};

/// Where the program's files are, as the tutorials' controller finds them: relative to the folder
/// from which their Mininet run is started (or, for the controller alone, the folder of this file).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramFiles {
    /// P4Info in text format.
    pub p4info: String,
    /// What p4c makes of the program for BMv2.
    pub bmv2_json: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    target: String,
    p4info: String,
    bmv2_json: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    action_profile_members: Vec<FileMember>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    action_profile_groups: Vec<FileGroup>,
    #[serde(default)]
    table_entries: Vec<FileEntry>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    indirect_table_entries: Vec<FileIndirect>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    multicast_group_entries: Vec<FileMulticast>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    clone_session_entries: Vec<FileClone>,
}

/// Values by name, in order; a value is JSON as it stands.
type Values = IndexMap<String, Box<RawValue>>;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileEntry {
    table: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    default_action: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "match")]
    keys: Option<Values>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    priority: Option<i32>,
    action_name: String,
    #[serde(default)]
    action_params: Values,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileIndirect {
    table: String,
    #[serde(default, rename = "match")]
    keys: Values,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    priority: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    member_id: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    group_id: Option<u32>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileMember {
    action_profile: String,
    member_id: u32,
    action_name: String,
    #[serde(default)]
    action_params: Values,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileGroup {
    action_profile: String,
    group_id: u32,
    members: Vec<u32>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileMulticast {
    multicast_group_id: u32,
    replicas: Vec<FileReplica>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileClone {
    clone_session_id: u32,
    #[serde(default, skip_serializing_if = "is_zero")]
    packet_length_bytes: u16,
    replicas: Vec<FileReplica>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileReplica {
    egress_port: u16,
    instance: u16,
}

fn is_zero(length: &u16) -> bool {
    *length == 0
}

/// The file.
///
/// # Errors
/// [`EntriesError`] for entries that do not fit the program.
pub fn write(
    entries: &SwitchEntries,
    info: &P4InfoIndex,
    files: &ProgramFiles,
) -> Result<String, EntriesError> {
    let catalog = Catalog::of_p4info(info.info());
    let resolved = catalog.resolve(entries)?;
    let mut file = File {
        target: "bmv2".to_owned(),
        p4info: files.p4info.clone(),
        bmv2_json: files.bmv2_json.clone(),
        action_profile_members: Vec::new(),
        action_profile_groups: Vec::new(),
        table_entries: Vec::new(),
        indirect_table_entries: Vec::new(),
        multicast_group_entries: Vec::new(),
        clone_session_entries: Vec::new(),
    };
    for member in &resolved.members {
        file.action_profile_members.push(FileMember {
            action_profile: member.profile.name.clone(),
            member_id: member.id,
            action_name: member.call.action.name.clone(),
            action_params: write_params(&member.call)?,
        });
    }
    file.action_profile_groups
        .extend(entries.groups.iter().map(|group| FileGroup {
            action_profile: group.profile.to_string(),
            group_id: group.id,
            members: group.members.clone(),
        }));
    for entry in &resolved.tables {
        let mut keys = Values::new();
        for (field, value) in entry.matches() {
            if let Some(value) = value {
                keys.insert(field.name.clone(), write_match(value)?);
            }
        }
        let table = entry.table.name.clone();
        let priority = (entry.priority != 0).then_some(entry.priority);
        let reference = |member_id, group_id, keys| FileIndirect {
            table: table.clone(),
            keys,
            priority,
            member_id,
            group_id,
        };
        match &entry.action {
            EntryAction::Call(call) => file.table_entries.push(FileEntry {
                table,
                default_action: entry.is_default.then_some(true),
                keys: (!entry.is_default).then_some(keys),
                priority,
                action_name: call.action.name.clone(),
                action_params: write_params(call)?,
            }),
            EntryAction::Member(MemberId(id)) => {
                file.indirect_table_entries
                    .push(reference(Some(*id), None, keys));
            }
            EntryAction::Group(GroupId(id)) => {
                file.indirect_table_entries
                    .push(reference(None, Some(*id), keys));
            }
            EntryAction::OneShot(never) => match *never {},
        }
    }
    file.multicast_group_entries
        .extend(entries.multicast_groups.iter().map(|group| FileMulticast {
            multicast_group_id: group.id,
            replicas: write_replicas(&group.replicas),
        }));
    for (id, session) in &entries.clone_sessions {
        file.clone_session_entries.push(FileClone {
            clone_session_id: *id,
            packet_length_bytes: packet_length(&entries.switch, *id, session)?,
            replicas: write_replicas(&session.replicas),
        });
    }
    let mut text = serde_json::to_string_pretty(&file)?;
    text.push('\n');
    Ok(text)
}

fn write_params(call: &ResolvedCall<'_>) -> Result<Values, EntriesError> {
    call.params()
        .map(|(param, value)| Ok((param.name.clone(), raw(write_value(value))?)))
        .collect()
}

fn write_match(value: &FieldMatch) -> Result<Box<RawValue>, EntriesError> {
    raw(match value {
        FieldMatch::Exact(value) | FieldMatch::Optional(Some(value)) => write_value(value),
        FieldMatch::Lpm { value, prefix_len } => {
            format!("[{}, {prefix_len}]", write_value(value))
        }
        FieldMatch::Ternary { value: a, mask: b } | FieldMatch::Range { low: a, high: b } => {
            format!("[{}, {}]", write_value(a), write_value(b))
        }
        FieldMatch::Optional(None) => "null".to_owned(),
    })
}

fn write_value(bits: &Bits) -> String {
    match value_text::address(bits) {
        Some(address) => format!("\"{address}\""),
        None => value_text::decimal(bits),
    }
}

fn raw(json: String) -> Result<Box<RawValue>, EntriesError> {
    Ok(RawValue::from_string(json)?)
}

fn write_replicas(replicas: &[Replica]) -> Vec<FileReplica> {
    let write = |r: &Replica| FileReplica {
        egress_port: r.port.get(),
        instance: r.rid,
    };
    replicas.iter().map(write).collect()
}

/// Reads what [`write()`] makes, or a file of the tutorials.
///
/// # Errors
/// [`EntriesError`] for JSON that is not such a file, or entries that do not fit the program.
pub fn read(
    switch: &str,
    text: &str,
    info: &P4InfoIndex,
) -> Result<(SwitchEntries, ProgramFiles), EntriesError> {
    let file: File = serde_json::from_str(text)?;
    if file.target != "bmv2" {
        let problem = format!("the target is '{}' and only bmv2 is known", file.target);
        return Err(EntriesError::Syntax {
            at: format!("{switch}, runtime.json"),
            problem,
        });
    }
    let mut entries = SwitchEntries {
        switch: switch.to_owned(),
        ..Default::default()
    };
    for member in &file.action_profile_members {
        let at = || format!("{switch}, member {}", member.member_id);
        entries.members.push(Member {
            profile: member.action_profile.clone().into(),
            id: member.member_id,
            action: read_call(&member.action_name, &member.action_params, info, &at)?,
        });
    }
    entries
        .groups
        .extend(file.action_profile_groups.into_iter().map(|group| Group {
            profile: group.action_profile.into(),
            id: group.group_id,
            members: group.members,
        }));
    for (number, entry) in file.table_entries.iter().enumerate() {
        let at = || entry_place(switch, &entry.table, number);
        let empty = Values::new();
        let keys = entry.keys.as_ref().unwrap_or(&empty);
        entries.tables.push(TableEntry {
            table: entry.table.clone().into(),
            keys: read_keys(&entry.table, keys, info, &at)?,
            priority: entry.priority,
            action: EntryAction::Call(read_call(
                &entry.action_name,
                &entry.action_params,
                info,
                &at,
            )?),
            is_default: entry.default_action.unwrap_or(false),
        });
    }
    for (number, entry) in file.indirect_table_entries.iter().enumerate() {
        let at = || entry_place(switch, &entry.table, number);
        let action = match (entry.member_id, entry.group_id) {
            (Some(id), None) => EntryAction::Member(MemberId(id)),
            (None, Some(id)) => EntryAction::Group(GroupId(id)),
            _ => {
                let problem = "an indirect entry has either member_id or group_id".to_owned();
                return Err(EntriesError::Syntax { at: at(), problem });
            }
        };
        entries.tables.push(TableEntry {
            table: entry.table.clone().into(),
            keys: read_keys(&entry.table, &entry.keys, info, &at)?,
            priority: entry.priority,
            action,
            is_default: false,
        });
    }
    entries
        .multicast_groups
        .extend(
            file.multicast_group_entries
                .iter()
                .map(|group| MulticastGroup {
                    id: group.multicast_group_id,
                    replicas: read_replicas(&group.replicas),
                }),
        );
    entries
        .clone_sessions
        .extend(file.clone_session_entries.iter().map(|session| {
            let cut = u32::from(session.packet_length_bytes);
            let config = CloneSession {
                replicas: read_replicas(&session.replicas),
                multicast_group: None,
                truncate_to: (cut > 0).then_some(cut),
            };
            (session.clone_session_id, config)
        }));
    let entries = super::fitted(entries, info)?;
    Ok((
        entries,
        ProgramFiles {
            p4info: file.p4info,
            bmv2_json: file.bmv2_json,
        },
    ))
}

fn read_replicas(replicas: &[FileReplica]) -> Vec<Replica> {
    let read = |r: &FileReplica| Replica {
        rid: r.instance,
        port: PortId::new(r.egress_port),
    };
    replicas.iter().map(read).collect()
}

fn read_call(
    name: &str,
    values: &Values,
    info: &P4InfoIndex,
    at: &dyn Fn() -> String,
) -> Result<NamedCall, EntriesError> {
    let named = |source| named(at(), source);
    let action = info.action(name).map_err(named)?;
    let mut params = Vec::with_capacity(values.len());
    for (name, value) in values {
        let param = action.param(name).map_err(named)?;
        params.push((
            name.clone().into(),
            read_value(value, param.bitwidth, name, at)?,
        ));
    }
    Ok(NamedCall {
        action: action.name().to_owned().into(),
        params,
    })
}

fn read_keys(
    table: &str,
    values: &Values,
    info: &P4InfoIndex,
    at: &dyn Fn() -> String,
) -> Result<Vec<Key>, EntriesError> {
    let named = |source| named(at(), source);
    let table: &Table = info.table(table).map_err(named)?;
    let mut keys = Vec::with_capacity(values.len());
    for (name, value) in values {
        let field = table.field(name).map_err(named)?;
        if let Some(value) = read_match(field, value, at)? {
            keys.push(Key {
                field: name.clone().into(),
                value,
            });
        }
    }
    Ok(keys)
}

/// A key's value; `None` where it matches everything (the tutorials' files may say so).
fn read_match(
    field: &MatchField,
    value: &RawValue,
    at: &dyn Fn() -> String,
) -> Result<Option<FieldMatch>, EntriesError> {
    let bits = |value: &RawValue| read_value(value, field.bitwidth, &field.name, at);
    let pair = || -> Result<[Box<RawValue>; 2], EntriesError> {
        serde_json::from_str(value.get()).map_err(|_| EntriesError::Syntax {
            at: at(),
            problem: format!("the key {} takes an array of two values", field.name),
        })
    };
    Ok(match match_kind(field) {
        Some(MatchKind::Lpm) => {
            let [value, prefix_len] = pair()?;
            let prefix_len = serde_json::from_str(prefix_len.get())?;
            FieldMatch::lpm(&bits(&value)?, prefix_len)
        }
        Some(MatchKind::Ternary) => {
            let [value, mask] = pair()?;
            FieldMatch::ternary(&bits(&value)?, bits(&mask)?)
        }
        Some(MatchKind::Range) => {
            let [low, high] = pair()?;
            FieldMatch::range(bits(&low)?, bits(&high)?)
        }
        Some(MatchKind::Optional) => Some(FieldMatch::Optional(Some(bits(value)?))),
        Some(MatchKind::Exact) | None => Some(FieldMatch::Exact(bits(value)?)),
    })
}

fn read_value(
    value: &RawValue,
    bitwidth: i32,
    what: &str,
    at: &dyn Fn() -> String,
) -> Result<Bits, EntriesError> {
    let width = width(bitwidth, what).map_err(|problem| problem.at(at()))?;
    // That controller takes an array of one value for the value.
    let only: Option<[Box<RawValue>; 1]> = serde_json::from_str(value.get()).ok();
    let text = only.as_ref().map_or(value, |[value]| value).get();
    let text = text
        .strip_prefix('"')
        .and_then(|t| t.strip_suffix('"'))
        .unwrap_or(text);
    value_text::parse(text, width).map_err(|problem| EntriesError::Syntax {
        at: at(),
        problem: format!("{what}: {problem}"),
    })
}
