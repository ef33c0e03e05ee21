//! From name-based entries to the executor's tables: all of a switch's entries as one batch.

use p4exec::tables::key::FieldMatch;
use p4exec::tables::{
    ActionCall, EntryAction, EntryOptions, EntryPriority, GroupId, GroupMember, MemberId, NewEntry,
    Table,
};
use p4exec::value::Bits;
use p4exec::{RuntimeState, StateError, Update};
use p4gen::entries::{self, MatchValue, SwitchEntries};
use p4ir::{ExternId, TableAction};
use quantities::{Nanos, PortId};
use thiserror::Error;
use topology::{LinkId, SwitchId, Topology};

/// Why an embedded switch does not take its entries.
#[derive(Debug, Error)]
pub enum LoadError {
    /// The program has no such thing.
    #[error("{place}: the program has no {kind} `{name}`")]
    NoSuch {
        /// Which entry.
        place: String,
        /// `table`, `action`, ...
        kind: &'static str,
        /// Its name.
        name: String,
    },
    /// The program has the action, for other tables.
    #[error("{place}: action `{action}` is none of those that can stand there")]
    NotOffered {
        /// Which entry.
        place: String,
        /// The action.
        action: String,
    },
    /// The executor refuses an update.
    #[error("update {index}: {source}")]
    Refused {
        /// The update's position in the batch.
        index: usize,
        /// Why.
        source: StateError,
    },
    /// An entry names a match kind that the table does not have there.
    #[error("{place}: key `{field}` is given as {given}, which the table does not match that way")]
    MatchKind {
        /// Which entry.
        place: String,
        /// The key.
        field: String,
        /// The kind that was given.
        given: &'static str,
    },
    /// Multicast group ids have 16 bits.
    #[error("multicast group {0} does not fit in 16 bits")]
    Group(u32),
}

/// Installs everything, or nothing.
///
/// # Errors
/// [`LoadError`], with the entry or update that does not fit the program.
pub fn install(state: &mut RuntimeState, entries: &SwitchEntries) -> Result<(), LoadError> {
    let updates = Translator {
        state,
        switch: &entries.switch,
    }
    .updates(entries)?;
    state
        .apply_batch(updates, Nanos::new(0))
        .map_err(|(index, source)| LoadError::Refused { index, source })
}

/// Makes a switch of a network of an executor's state: its entries, and its ports, all of them
/// down.
///
/// # Errors
/// As [`install`].
pub fn install_switch(
    state: &mut RuntimeState,
    topology: &Topology,
    switch: SwitchId,
    entries: &SwitchEntries,
) -> Result<(), LoadError> {
    install(state, entries)?;
    let last = topology.peers(switch).map(|(port, _)| port).max();
    let count = last.map_or(0, |port| port.get().saturating_add(1));
    state.set_port_count(count);
    for port in (0..count).map(PortId::new) {
        state.set_port_up(port, false);
    }
    Ok(())
}

/// Says at a switch which links have failed: these, and no others but those that the topology has
/// down.
pub fn set_failed(
    state: &mut RuntimeState,
    topology: &Topology,
    switch: SwitchId,
    failed: &[LinkId],
) {
    for (port, peer) in topology.peers(switch) {
        let up = topology.is_live(peer.link) && !failed.contains(&peer.link);
        state.set_port_up(port, up);
    }
}

struct Translator<'a> {
    state: &'a RuntimeState,
    switch: &'a str,
}

impl Translator<'_> {
    /// Members before the groups that hold them, groups before the entries that name them.
    fn updates(&self, entries: &SwitchEntries) -> Result<Vec<Update>, LoadError> {
        let mut updates = Vec::new();
        for member in &entries.members {
            let profile = self.profile(&member.profile)?;
            let tables = self.state.program().tables.iter();
            let its = tables.filter(|(_, table)| table.implementation == Some(profile));
            let call = self.call(
                its.flat_map(|(_, table)| &table.actions),
                &member.action,
                &format!("member {} of {}", member.id, member.profile),
            )?;
            updates.push(Update::InsertMember {
                profile,
                member: MemberId(member.id),
                call,
            });
        }
        for group in &entries.groups {
            let member = |id: &u32| GroupMember {
                member: MemberId(*id),
                weight: 1,
                watch_port: None,
            };
            updates.push(Update::InsertGroup {
                profile: self.profile(&group.profile)?,
                group: GroupId(group.id),
                members: group.members.iter().map(member).collect(),
            });
        }
        for (number, entry) in entries.tables.iter().enumerate() {
            updates.push(self.entry(number, entry)?);
        }
        for group in &entries.multicast_groups {
            updates.push(multicast(group)?);
        }
        for session in &entries.clone_sessions {
            updates.push(clone_session(session));
        }
        Ok(updates)
    }

    fn entry(&self, number: usize, entry: &entries::TableEntry) -> Result<Update, LoadError> {
        let place = format!("{}, entry {number} of {}", self.switch, entry.table);
        let Some(id) = self.state.table_named(&entry.table) else {
            return Err(self.no_such(place, "table", &entry.table));
        };
        let table = self.state.table(id).map_err(|source| LoadError::Refused {
            index: number,
            source,
        })?;
        let action = match &entry.action {
            entries::EntryAction::Direct(call) => {
                let offered = self.state.program().tables[id].actions.iter();
                EntryAction::Call(self.call(offered, call, &place)?)
            }
            entries::EntryAction::Member(member) => EntryAction::Member(MemberId(*member)),
            entries::EntryAction::Group(group) => EntryAction::Group(GroupId(*group)),
        };
        if entry.is_default {
            let call = match action {
                EntryAction::Call(call) => Some(call),
                _ => None,
            };
            return Ok(Update::SetDefault { table: id, call });
        }
        Ok(Update::InsertEntry {
            table: id,
            entry: NewEntry {
                key: key(table, entry, &place)?,
                priority: EntryPriority(entry.priority.unwrap_or(0)),
                action,
                is_const: false,
                options: EntryOptions::default(),
            },
        })
    }

    /// A call of one of the actions that are offered. The program may have others of that name:
    /// compiled for BMv2 it has one for each table that offers it.
    fn call<'a>(
        &self,
        mut offered: impl Iterator<Item = &'a TableAction>,
        call: &entries::ActionCall,
        place: &str,
    ) -> Result<ActionCall, LoadError> {
        let program = self.state.program();
        let named = |action: &&TableAction| program.actions[action.action].name == call.action;
        let Some(id) = offered.find(named).map(|found| found.action) else {
            if self.state.action_named(&call.action).is_none() {
                return Err(self.no_such(place.to_owned(), "action", &call.action));
            }
            let (place, action) = (place.to_owned(), call.action.clone().into_owned());
            return Err(LoadError::NotOffered { place, action });
        };
        let mut args = Vec::with_capacity(call.params.len());
        for param in program.actions[id].data_params() {
            let name = &param.name;
            let Some((_, value)) = call.params.iter().find(|(given, _)| given == name) else {
                let name = format!("{}.{name}` with a value", call.action);
                return Err(self.no_such(place.to_owned(), "parameter", &name));
            };
            args.push(bits(value));
        }
        Ok(ActionCall { action: id, args })
    }

    fn profile(&self, name: &str) -> Result<ExternId, LoadError> {
        let missing = || self.no_such(self.switch.to_owned(), "action profile", name);
        self.state.extern_named(name).ok_or_else(missing)
    }

    fn no_such(&self, place: String, kind: &'static str, name: &str) -> LoadError {
        LoadError::NoSuch {
            place,
            kind,
            name: name.to_owned(),
        }
    }
}

/// The key in the table's order; what the entry leaves out matches everything.
fn key(
    table: &Table,
    entry: &entries::TableEntry,
    place: &str,
) -> Result<Vec<FieldMatch>, LoadError> {
    let mut fields = Vec::with_capacity(table.spec().keys.len());
    for field in &table.spec().keys {
        let given = entry.keys.iter().find(|k| k.field == field.name);
        let matched = match given {
            Some(key) => Some(field_match(&key.value)),
            None => FieldMatch::any(field.kind, field.width),
        };
        match matched {
            Some(matched) if matched.kind() == field.kind => fields.push(matched),
            _ => {
                return Err(LoadError::MatchKind {
                    place: place.to_owned(),
                    field: field.name.clone(),
                    given: given.map_or("nothing", |k| k.value.kind()),
                });
            }
        }
    }
    Ok(fields)
}

fn field_match(value: &MatchValue) -> FieldMatch {
    match value {
        MatchValue::Exact(value) => FieldMatch::Exact(bits(value)),
        MatchValue::Lpm { value, prefix_len } => FieldMatch::Lpm {
            value: bits(value),
            prefix_len: *prefix_len,
        },
        MatchValue::Ternary { value, mask } => FieldMatch::Ternary {
            value: bits(value),
            mask: bits(mask),
        },
        MatchValue::Range { low, high } => FieldMatch::Range {
            low: bits(low),
            high: bits(high),
        },
        MatchValue::Optional(value) => FieldMatch::Optional(Some(bits(value))),
    }
}

fn bits(value: &p4runtime::Bits) -> Bits {
    Bits::from_bytes_be(value.width(), value.as_bytes())
}

fn multicast(group: &entries::MulticastGroup) -> Result<Update, LoadError> {
    let id = u16::try_from(group.id).map_err(|_| LoadError::Group(group.id))?;
    Ok(Update::SetMulticastGroup {
        group: id,
        replicas: Some(group.replicas.iter().map(replica).collect()),
    })
}

fn clone_session(session: &entries::CloneSession) -> Update {
    let cut = session.packet_length_bytes;
    Update::SetCloneSession {
        session: session.id,
        config: Some(p4exec::state::CloneSession {
            replicas: session.replicas.iter().map(replica).collect(),
            multicast_group: None,
            truncate_to: (cut > 0).then_some(u32::from(cut)),
        }),
    }
}

fn replica(replica: &entries::Replica) -> p4exec::state::Replica {
    p4exec::state::Replica {
        port: replica.port,
        rid: replica.instance,
    }
}
