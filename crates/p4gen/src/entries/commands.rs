//! `commands.txt`: commands for BMv2's `simple_switch_CLI`, one a line.
//!
//! What differs there: the *smallest* priority wins, so priorities are turned round as BMv2's own
//! P4Runtime server does it (2147483647 minus P4Runtime's), and a table looks the same whichever
//! way it was filled. All keys are written, also those that match everything. Members, groups and
//! multicast nodes get handles from the switch, counting from 0: the commands are for a switch
//! that was just started. No comments and no empty lines: the command line knows no comment, and
//! an empty line repeats the command before it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use entries::catalog::{Field, match_kind};
use entries::{Catalog, MAX_REPLICATION_ID, MatchKind, Resolved, ResolvedCall};
use p4runtime::P4InfoIndex;
use p4runtime::p4::config::v1::{ActionProfile, MatchField, Table};
use quantities::PortId;

use super::value_text::{self, hexadecimal};
use super::{
    Bits, CloneSession, EntriesError, EntryAction, FieldMatch, Group, GroupId, Key, Member,
    MemberId, MulticastGroup, NamedAction, NamedCall, Replica, SwitchEntries, TableEntry,
    has_priority, width,
};

const FORMAT: &str = "commands.txt";

/// BMv2's priority of a P4Runtime priority, and the other way round.
fn turn_round(priority: i32) -> i32 {
    i32::MAX - priority
}

/// The commands.
///
/// # Errors
/// [`EntriesError`] for entries that do not fit the program, and for clones that are cut to a
/// length, which the command line cannot say.
pub fn write(entries: &SwitchEntries, info: &P4InfoIndex) -> Result<String, EntriesError> {
    let catalog = Catalog::of_p4info(info.info());
    let resolved = catalog.resolve(entries)?;
    let mut out = String::new();
    for member in &resolved.members {
        let _ = write!(out, "act_prof_create_member {} ", member.profile.name);
        write_call(&mut out, &member.call);
        out.push('\n');
    }
    for group in &entries.groups {
        let _ = writeln!(out, "act_prof_create_group {}", group.profile);
        for member in &group.members {
            let (profile, member, handle) = (&group.profile, member - 1, group.id - 1);
            let _ = writeln!(
                out,
                "act_prof_add_member_to_group {profile} {member} {handle}"
            );
        }
    }
    for entry in &resolved.tables {
        write_entry(&mut out, entry);
    }
    write_replication(&mut out, entries)?;
    Ok(out)
}

fn write_entry(out: &mut String, entry: &Resolved<'_>) {
    let table = &entry.table.name;
    let _ = match &entry.action {
        EntryAction::Call(call) if entry.is_default => {
            let _ = write!(out, "table_set_default {table} ");
            write_call(out, call);
            out.push('\n');
            return;
        }
        EntryAction::Call(call) => write!(out, "table_add {table} {}", call.action.name),
        EntryAction::Member(_) => write!(out, "table_indirect_add {table}"),
        EntryAction::Group(_) => write!(out, "table_indirect_add_with_group {table}"),
        EntryAction::OneShot(never) => match *never {},
    };
    for (field, value) in entry.matches() {
        out.push(' ');
        write_key(out, field, value);
    }
    out.push_str(" =>");
    match &entry.action {
        EntryAction::Call(call) => write_args(out, call),
        EntryAction::Member(MemberId(id)) | EntryAction::Group(GroupId(id)) => {
            let _ = write!(out, " {}", id - 1);
        }
        EntryAction::OneShot(never) => match *never {},
    }
    if entry.table.needs_priority() {
        let _ = write!(out, " {}", turn_round(entry.priority));
    }
    out.push('\n');
}

fn write_call(out: &mut String, call: &ResolvedCall<'_>) {
    out.push_str(&call.action.name);
    write_args(out, call);
}

fn write_args(out: &mut String, call: &ResolvedCall<'_>) {
    for value in &call.args {
        let _ = write!(out, " {}", text(value));
    }
}

fn write_key(out: &mut String, field: &Field, value: Option<&FieldMatch>) {
    let width = field.width;
    let _ = match value {
        Some(FieldMatch::Exact(value)) => write!(out, "{}", text(value)),
        Some(FieldMatch::Lpm { value, prefix_len }) => write!(out, "{}/{prefix_len}", text(value)),
        Some(FieldMatch::Ternary { value, mask }) => {
            write!(out, "{}&&&{}", hexadecimal(value), hexadecimal(mask))
        }
        // BMv2 has no optional keys: p4c makes them ternary.
        Some(FieldMatch::Optional(Some(value))) => {
            write!(
                out,
                "{}&&&{}",
                hexadecimal(value),
                hexadecimal(&Bits::ones(value.width()))
            )
        }
        Some(FieldMatch::Range { low, high }) => write!(out, "{}->{}", text(low), text(high)),
        None | Some(FieldMatch::Optional(None)) => match field.kind {
            Some(MatchKind::Lpm) => write!(out, "{}/0", text(&Bits::zero(width))),
            Some(MatchKind::Range) => {
                write!(
                    out,
                    "{}->{}",
                    text(&Bits::zero(width)),
                    text(&Bits::ones(width))
                )
            }
            _ => write!(out, "0x0&&&0x0"),
        },
    };
}

fn text(bits: &Bits) -> String {
    value_text::address(bits).unwrap_or_else(|| value_text::decimal(bits))
}

/// Multicast groups, and clone sessions: a plain one has a port, others have a multicast group of
/// their own, numbered above those of the program.
fn write_replication(out: &mut String, entries: &SwitchEntries) -> Result<(), EntriesError> {
    let mut nodes = 0;
    let mut write_group = |out: &mut String, id: u32, replicas: &[Replica]| {
        let mut by_instance: BTreeMap<u16, Vec<u16>> = BTreeMap::new();
        for replica in replicas {
            by_instance
                .entry(replica.rid)
                .or_default()
                .push(replica.port.get());
        }
        let _ = writeln!(out, "mc_mgrp_create {id}");
        for (instance, mut ports) in by_instance {
            ports.sort_unstable();
            let _ = write!(out, "mc_node_create {instance}");
            for port in ports {
                let _ = write!(out, " {port}");
            }
            let _ = writeln!(out, "\nmc_node_associate {id} {nodes}");
            nodes += 1;
        }
    };
    for group in &entries.multicast_groups {
        write_group(out, group.id, &group.replicas);
    }
    for (id, session) in &entries.clone_sessions {
        if session.truncate_to.is_some() {
            return Err(EntriesError::Inexpressible {
                at: format!("{}, clone session {id}", entries.switch),
                format: FORMAT,
                what: "a length to which clones are cut",
            });
        }
        if let [Replica { rid: 0, port }] = session.replicas[..] {
            let _ = writeln!(out, "mirroring_add {id} {port}");
        } else {
            let group = MAX_REPLICATION_ID + id;
            write_group(out, group, &session.replicas);
            let _ = writeln!(out, "mirroring_add_mc {id} {group}");
        }
    }
    Ok(())
}

/// Reads what [`write()`] makes, or a file of another hand that uses the same commands.
///
/// # Errors
/// [`EntriesError`] with the line for what is not a known command or does not fit the program.
pub fn read(switch: &str, text: &str, info: &P4InfoIndex) -> Result<SwitchEntries, EntriesError> {
    let mut reader = Reader {
        info,
        entries: SwitchEntries {
            switch: switch.to_owned(),
            ..Default::default()
        },
        groups: BTreeMap::new(),
        nodes: Vec::new(),
    };
    for (number, line) in text.lines().enumerate() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let Some((command, words)) = words.split_first() {
            reader
                .command(command, words)
                .map_err(|problem| EntriesError::Syntax {
                    at: format!("{switch}, {FORMAT} line {}", number + 1),
                    problem,
                })?;
        }
    }
    let mut entries = reader.entries;
    entries.multicast_groups.extend(
        reader
            .groups
            .into_iter()
            .map(|(id, replicas)| MulticastGroup { id, replicas }),
    );
    super::fitted(entries, info)
}

struct Reader<'a> {
    info: &'a P4InfoIndex,
    entries: SwitchEntries,
    groups: BTreeMap<u32, Vec<Replica>>,
    nodes: Vec<Vec<Replica>>,
}

type Outcome<T = ()> = Result<T, String>;

impl Reader<'_> {
    fn command(&mut self, command: &str, words: &[&str]) -> Outcome {
        match (command, words) {
            ("act_prof_create_member", [profile, action, args @ ..]) => {
                let profile = self.profile(profile)?;
                let others = self
                    .entries
                    .members
                    .iter()
                    .filter(|m| m.profile == profile)
                    .count();
                let action = self.call(action, args)?;
                self.entries.members.push(Member {
                    profile,
                    id: count(others)? + 1,
                    action,
                });
            }
            ("act_prof_create_group", [profile]) => {
                let profile = self.profile(profile)?;
                let others = self
                    .entries
                    .groups
                    .iter()
                    .filter(|g| g.profile == profile)
                    .count();
                let id = count(others)? + 1;
                self.entries.groups.push(Group {
                    profile,
                    id,
                    members: Vec::new(),
                });
            }
            ("act_prof_add_member_to_group", [profile, member, group]) => {
                let profile = self.profile(profile)?;
                let (member, group) = (id_of_handle(member)?, id_of_handle(group)?);
                let found = self
                    .entries
                    .groups
                    .iter_mut()
                    .find(|g| g.profile == profile && g.id == group);
                found
                    .ok_or("there is no such group yet")?
                    .members
                    .push(member);
            }
            ("table_set_default", [table, action, args @ ..]) => {
                let args = args.strip_prefix(&["=>"]).unwrap_or(args);
                let action = EntryAction::Call(self.call(action, args)?);
                let table = self.table(table)?.name().to_owned().into();
                self.entries.tables.push(TableEntry {
                    table,
                    keys: Vec::new(),
                    priority: None,
                    action,
                    is_default: true,
                });
            }
            ("table_add", [table, action, rest @ ..]) => {
                let (keys, args, priority) = self.split(table, rest)?;
                let action = EntryAction::Call(self.call(action, args)?);
                self.push_entry(table, keys, priority, action)?;
            }
            ("table_indirect_add" | "table_indirect_add_with_group", [table, rest @ ..]) => {
                let (keys, handle, priority) = self.split(table, rest)?;
                let [handle] = handle else {
                    return Err("one handle follows =>".into());
                };
                let id = id_of_handle(handle)?;
                let group = command == "table_indirect_add_with_group";
                let action = if group {
                    EntryAction::Group(GroupId(id))
                } else {
                    EntryAction::Member(MemberId(id))
                };
                self.push_entry(table, keys, priority, action)?;
            }
            _ => return self.replication(command, words),
        }
        Ok(())
    }

    fn replication(&mut self, command: &str, words: &[&str]) -> Outcome {
        match (command, words) {
            ("mc_mgrp_create", [group]) => {
                self.groups.insert(number(group)?, Vec::new());
            }
            ("mc_node_create", [instance, ports @ ..]) => {
                let instance = number(instance)?;
                let replica = |port: &&str| {
                    number(port).map(|port| Replica {
                        rid: instance,
                        port: PortId::new(port),
                    })
                };
                self.nodes
                    .push(ports.iter().map(replica).collect::<Outcome<_>>()?);
            }
            ("mc_node_associate", [group, node]) => {
                let node = self
                    .nodes
                    .get(number::<usize>(node)?)
                    .ok_or("there is no such node")?;
                let group = self
                    .groups
                    .get_mut(&number(group)?)
                    .ok_or("there is no such group")?;
                group.extend(node);
            }
            ("mirroring_add", [session, port]) => {
                let replicas = vec![Replica {
                    rid: 0,
                    port: PortId::new(number(port)?),
                }];
                self.push_session(number(session)?, replicas);
            }
            ("mirroring_add_mc", [session, group]) => {
                let group = self
                    .groups
                    .remove(&number(group)?)
                    .ok_or("there is no such group")?;
                self.push_session(number(session)?, group);
            }
            _ => {
                return Err(format!(
                    "'{command}' with {} words is not known",
                    words.len()
                ));
            }
        }
        Ok(())
    }

    fn push_session(&mut self, id: u32, replicas: Vec<Replica>) {
        let session = CloneSession {
            replicas,
            ..CloneSession::default()
        };
        self.entries.clone_sessions.push((id, session));
    }

    fn push_entry(
        &mut self,
        table: &str,
        keys: &[&str],
        priority: Option<i32>,
        action: NamedAction,
    ) -> Outcome {
        let table = self.table(table)?;
        if keys.len() != table.match_fields.len() {
            let (have, need) = (keys.len(), table.match_fields.len());
            return Err(format!(
                "{} has {need} keys and {have} are given",
                table.name()
            ));
        }
        let mut read = Vec::new();
        for (field, key) in table.match_fields.iter().zip(keys) {
            if let Some(value) = read_key(field, key)? {
                read.push(Key {
                    field: field.name.clone().into(),
                    value,
                });
            }
        }
        let table = table.name().to_owned().into();
        let entry = TableEntry {
            table,
            keys: read,
            priority,
            action,
            is_default: false,
        };
        self.entries.tables.push(entry);
        Ok(())
    }

    /// Keys, what follows `=>`, and the priority that is last where the table has one.
    fn split<'w>(
        &self,
        table: &str,
        words: &'w [&'w str],
    ) -> Outcome<(&'w [&'w str], &'w [&'w str], Option<i32>)> {
        let (words, priority) = match words.split_last() {
            Some((last, rest)) if has_priority(self.table(table)?) => {
                (rest, Some(turn_round(number(last)?)))
            }
            _ => (words, None),
        };
        let arrow = words
            .iter()
            .position(|&word| word == "=>")
            .ok_or("there is no =>")?;
        Ok((&words[..arrow], &words[arrow + 1..], priority))
    }

    fn table(&self, name: &str) -> Outcome<&Table> {
        self.info.table(name).map_err(|error| error.to_string())
    }

    fn profile(&self, name: &str) -> Outcome<super::Name> {
        let profile: &ActionProfile = self
            .info
            .action_profile(name)
            .map_err(|error| error.to_string())?;
        Ok(profile.name().to_owned().into())
    }

    fn call(&self, name: &str, args: &[&str]) -> Outcome<NamedCall> {
        let action = self.info.action(name).map_err(|error| error.to_string())?;
        if args.len() != action.params.len() {
            let (have, need) = (args.len(), action.params.len());
            return Err(format!(
                "{} has {need} parameters and {have} are given",
                action.name()
            ));
        }
        let mut params = Vec::with_capacity(args.len());
        for (param, arg) in action.params.iter().zip(args) {
            params.push((
                param.name.clone().into(),
                value(arg, param.bitwidth, &param.name)?,
            ));
        }
        Ok(NamedCall {
            action: action.name().to_owned().into(),
            params,
        })
    }
}

fn read_key(field: &MatchField, key: &str) -> Outcome<Option<FieldMatch>> {
    let bits = |text: &str| value(text, field.bitwidth, &field.name);
    let pair = |separator: &str| {
        key.split_once(separator)
            .ok_or_else(|| format!("the key {} is written with {separator}", field.name))
    };
    Ok(match match_kind(field) {
        Some(MatchKind::Lpm) => {
            let (value, prefix_len) = pair("/")?;
            FieldMatch::lpm(&bits(value)?, number(prefix_len)?)
        }
        Some(MatchKind::Ternary) => {
            let (value, mask) = pair("&&&")?;
            FieldMatch::ternary(&bits(value)?, bits(mask)?)
        }
        Some(MatchKind::Optional) => {
            let (value, mask) = pair("&&&")?;
            let (value, mask) = (bits(value)?, bits(mask)?);
            if mask.is_zero() {
                None
            } else if mask == Bits::ones(mask.width()) {
                Some(FieldMatch::Optional(Some(value)))
            } else {
                return Err(format!(
                    "the optional key {} has a partial mask",
                    field.name
                ));
            }
        }
        Some(MatchKind::Range) => {
            let (low, high) = pair("->")?;
            FieldMatch::range(bits(low)?, bits(high)?)
        }
        Some(MatchKind::Exact) | None => Some(FieldMatch::Exact(bits(key)?)),
    })
}

fn value(text: &str, bitwidth: i32, what: &str) -> Outcome<Bits> {
    let width = width(bitwidth, what).map_err(|problem| problem.to_string())?;
    value_text::parse(text, width).map_err(|problem| format!("{what}: {problem}"))
}

fn number<T: std::str::FromStr>(text: &str) -> Outcome<T> {
    text.parse()
        .map_err(|_| format!("'{text}' is not a number in range"))
}

/// The switch counts handles from 0, ids count from 1.
fn id_of_handle(text: &str) -> Outcome<u32> {
    let handle: u32 = number(text)?;
    handle
        .checked_add(1)
        .ok_or_else(|| format!("the handle {handle} is too large"))
}

fn count(number: usize) -> Outcome<u32> {
    u32::try_from(number).map_err(|_| "there are too many".to_owned())
}
