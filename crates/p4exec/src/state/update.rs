//! Changes to the state, each with its inverse, so that a batch is done as a whole or not at all.

use p4ir::{ExternId, TableId, ValueSetId};
use units::Nanos;

use super::replication::{CloneSession, Replica};
use super::{ExternState, ProfileRef, RuntimeState, StateError};
use crate::externs::counter::CounterCell;
use crate::externs::meter::{Meter, MeterConfig};
use crate::tables::{
    ActionCall, ActionProfile, Entry, EntryAction, EntryHandle, EntryPriority, FieldMatch, GroupId,
    GroupMember, MemberId, NewEntry, Table,
};
use crate::value::Bits;

/// A change the control plane asks for.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum Update {
    /// Installs an entry.
    InsertEntry { table: TableId, entry: NewEntry },
    /// Replaces the action of an entry.
    ModifyEntry {
        table: TableId,
        key: Vec<FieldMatch>,
        priority: EntryPriority,
        action: EntryAction,
    },
    /// Removes an entry.
    DeleteEntry {
        table: TableId,
        key: Vec<FieldMatch>,
        priority: EntryPriority,
    },
    /// Sets the default action; `None` brings back the program's own.
    SetDefault {
        table: TableId,
        call: Option<ActionCall>,
    },
    /// Sets the direct counter of an entry.
    SetDirectCounter {
        table: TableId,
        entry: EntryHandle,
        value: CounterCell,
    },
    /// Configures the direct meter of an entry.
    SetDirectMeter {
        table: TableId,
        entry: EntryHandle,
        config: Option<MeterConfig>,
    },
    /// Adds a member to an action profile.
    InsertMember {
        profile: ExternId,
        member: MemberId,
        call: ActionCall,
    },
    /// Replaces a member's action.
    ModifyMember {
        profile: ExternId,
        member: MemberId,
        call: ActionCall,
    },
    /// Removes a member that nothing uses.
    DeleteMember { profile: ExternId, member: MemberId },
    /// Adds a group to a selector.
    InsertGroup {
        profile: ExternId,
        group: GroupId,
        members: Vec<GroupMember>,
    },
    /// Replaces a group's members.
    ModifyGroup {
        profile: ExternId,
        group: GroupId,
        members: Vec<GroupMember>,
    },
    /// Removes a group that nothing uses.
    DeleteGroup { profile: ExternId, group: GroupId },
    /// Sets the copies of a multicast group; `None` removes it.
    SetMulticastGroup {
        group: u16,
        replicas: Option<Vec<Replica>>,
    },
    /// Sets a clone session; `None` removes it.
    SetCloneSession {
        session: u32,
        config: Option<CloneSession>,
    },
    /// Sets a cell of a counter.
    SetCounter {
        counter: ExternId,
        index: usize,
        value: CounterCell,
    },
    /// Configures a cell of a meter.
    SetMeter {
        meter: ExternId,
        index: usize,
        config: Option<MeterConfig>,
    },
    /// Sets a cell of a register.
    SetRegister {
        register: ExternId,
        index: usize,
        value: Bits,
    },
    /// Replaces the members of a value set.
    SetValueSet {
        set: ValueSetId,
        members: Vec<Vec<FieldMatch>>,
    },
}

/// What takes an update back.
enum Undo {
    RemoveEntry(TableId, EntryHandle),
    RestoreEntry(TableId, Box<Entry>),
    RestoreAction(TableId, EntryHandle, EntryAction),
    RestoreDefault(TableId, Option<ActionCall>),
    DirectCounter(TableId, EntryHandle, CounterCell),
    DirectMeter(TableId, EntryHandle, Meter),
    RestoreMeter(ExternId, usize, Meter),
    Update(Update),
}

impl RuntimeState {
    /// Makes one change.
    pub fn apply(&mut self, update: Update, now: Nanos) -> Result<(), StateError> {
        self.run(update, now).map(|_| ())
    }

    /// Makes all changes in order, or, if one is refused, none: the error comes with its position.
    /// No packet sees anything in between, for packets and updates take turns.
    pub fn apply_batch(
        &mut self,
        updates: Vec<Update>,
        now: Nanos,
    ) -> Result<(), (usize, StateError)> {
        let mut done = Vec::with_capacity(updates.len());
        for (index, update) in updates.into_iter().enumerate() {
            match self.run(update, now) {
                Ok(undo) => done.push(undo),
                Err(error) => {
                    for undo in done.into_iter().rev() {
                        self.undo(undo, now);
                    }
                    return Err((index, error));
                }
            }
        }
        Ok(())
    }

    /// Installs an entry.
    pub fn insert_entry(
        &mut self,
        table: TableId,
        entry: NewEntry,
        now: Nanos,
    ) -> Result<EntryHandle, StateError> {
        self.check_reference(table, &entry.action)?;
        let action = entry.action.clone();
        let handle = self.table_or(table)?.insert(entry, now)?;
        self.count_reference(table, &action, true);
        Ok(handle)
    }

    /// Replaces the action of an entry and returns the old one.
    pub fn modify_entry(
        &mut self,
        table: TableId,
        handle: EntryHandle,
        action: EntryAction,
    ) -> Result<EntryAction, StateError> {
        self.check_reference(table, &action)?;
        let old = self.table_or(table)?.modify(handle, action.clone())?;
        self.count_reference(table, &old, false);
        self.count_reference(table, &action, true);
        Ok(old)
    }

    /// Removes an entry and returns it.
    pub fn delete_entry(
        &mut self,
        table: TableId,
        handle: EntryHandle,
    ) -> Result<Entry, StateError> {
        let entry = self.table_or(table)?.remove(handle)?;
        self.count_reference(table, &entry.action, false);
        Ok(entry)
    }

    /// Removes all entries that are not const.
    pub fn clear_table(&mut self, table: TableId) -> Result<(), StateError> {
        let handles: Vec<EntryHandle> = self
            .table(table)?
            .iter()
            .filter(|(_, e)| !e.is_const)
            .map(|(h, _)| h)
            .collect();
        for handle in handles {
            self.delete_entry(table, handle)?;
        }
        Ok(())
    }

    fn table_or(&mut self, id: TableId) -> Result<&mut Table, StateError> {
        let error = StateError::NoSuch {
            what: "table",
            id: id.to_string(),
        };
        self.table_mut(id).ok_or(error)
    }

    fn profile_or(&mut self, id: ExternId) -> Result<&mut ActionProfile, StateError> {
        match self.extern_mut(id) {
            Some(ExternState::Profile { profile, .. }) => Ok(profile),
            _ => Err(StateError::NoSuch {
                what: "action profile",
                id: id.to_string(),
            }),
        }
    }

    /// What an entry's action refers to, and in which profile.
    fn reference(&self, table: TableId, action: &EntryAction) -> Option<(ExternId, ProfileRef)> {
        let profile = self.program.tables.get(table)?.implementation?;
        match action {
            EntryAction::Member(member) => Some((profile, ProfileRef::Member(*member))),
            EntryAction::Group(group) => Some((profile, ProfileRef::Group(*group))),
            EntryAction::Call(_) | EntryAction::OneShot(_) => None,
        }
    }

    fn check_reference(&self, table: TableId, action: &EntryAction) -> Result<(), StateError> {
        match self.reference(table, action) {
            Some((id, ProfileRef::Member(member))) => {
                self.profile(id)?.member(member)?;
            }
            Some((id, ProfileRef::Group(group))) => {
                self.profile(id)?.group(group)?;
            }
            None => {}
        }
        Ok(())
    }

    fn count_reference(&mut self, table: TableId, action: &EntryAction, add: bool) {
        let Some(key) = self.reference(table, action) else {
            return;
        };
        let count = self.references.entry(key).or_default();
        *count = if add {
            *count + 1
        } else {
            count.saturating_sub(1)
        };
        if *count == 0 {
            self.references.remove(&key);
        }
    }

    fn check_unused(&self, profile: ExternId, what: ProfileRef) -> Result<(), StateError> {
        let Some(count) = self.references.get(&(profile, what)) else {
            return Ok(());
        };
        let name = match what {
            ProfileRef::Member(member) => format!("member {}", member.0),
            ProfileRef::Group(group) => format!("group {}", group.0),
        };
        let profile = self.profile(profile)?.name().to_owned();
        Err(StateError::InUse {
            profile,
            what: name,
            count: *count,
        })
    }

    /// A member's action must suit every table that uses the profile.
    fn check_member(&self, profile: ExternId, call: &ActionCall) -> Result<ActionCall, StateError> {
        let mut call = call.clone();
        for (id, table) in self.program.tables.iter() {
            if table.implementation == Some(profile) {
                call = self.table(id)?.check_member_call(&call)?;
            }
        }
        Ok(call)
    }

    fn run(&mut self, update: Update, now: Nanos) -> Result<Undo, StateError> {
        Ok(match update {
            Update::InsertEntry { table, entry } => {
                Undo::RemoveEntry(table, self.insert_entry(table, entry, now)?)
            }
            Update::ModifyEntry {
                table,
                key,
                priority,
                action,
            } => {
                let handle = self.table(table)?.find(&key, priority)?;
                Undo::RestoreAction(table, handle, self.modify_entry(table, handle, action)?)
            }
            Update::DeleteEntry {
                table,
                key,
                priority,
            } => {
                let handle = self.table(table)?.find(&key, priority)?;
                Undo::RestoreEntry(table, Box::new(self.delete_entry(table, handle)?))
            }
            Update::SetDefault { table, call } => {
                Undo::RestoreDefault(table, self.table_or(table)?.set_default(call.as_ref())?)
            }
            Update::SetDirectCounter {
                table,
                entry,
                value,
            } => {
                let place = self.entry_or(table, entry)?;
                Undo::DirectCounter(table, entry, std::mem::replace(&mut place.counter, value))
            }
            Update::SetDirectMeter {
                table,
                entry,
                config,
            } => {
                let place = self.entry_or(table, entry)?;
                let old = place.meter;
                place.meter.configure(config);
                Undo::DirectMeter(table, entry, old)
            }
            Update::InsertMember { .. }
            | Update::ModifyMember { .. }
            | Update::DeleteMember { .. }
            | Update::InsertGroup { .. }
            | Update::ModifyGroup { .. }
            | Update::DeleteGroup { .. } => Undo::Update(self.run_profile(update)?),
            Update::SetMulticastGroup { group: 0, .. } => return Err(StateError::GroupZero),
            Update::SetMulticastGroup { group, replicas } => {
                let (what, id) = ("multicast group", u32::from(group));
                let gone = replicas.is_none();
                let replicas = self.replication.set_group(group, replicas);
                if gone && replicas.is_none() {
                    return Err(StateError::NoReplication { what, id });
                }
                Undo::Update(Update::SetMulticastGroup { group, replicas })
            }
            Update::SetCloneSession { session, config } => {
                let (what, id) = ("clone session", session);
                let gone = config.is_none();
                let config = self.replication.set_session(session, config);
                if gone && config.is_none() {
                    return Err(StateError::NoReplication { what, id });
                }
                Undo::Update(Update::SetCloneSession { session, config })
            }
            Update::SetCounter { .. } | Update::SetMeter { .. } | Update::SetRegister { .. } => {
                self.run_array(update)?
            }
            Update::SetValueSet { set, members } => {
                let members = self.replace_value_set(set, members)?;
                Undo::Update(Update::SetValueSet { set, members })
            }
        })
    }

    fn entry_or(&mut self, table: TableId, handle: EntryHandle) -> Result<&mut Entry, StateError> {
        let error = StateError::NoSuch {
            what: "entry",
            id: handle.to_string(),
        };
        self.table_or(table)?.entry_mut(handle).ok_or(error)
    }

    fn run_profile(&mut self, update: Update) -> Result<Update, StateError> {
        Ok(match update {
            Update::InsertMember {
                profile,
                member,
                call,
            } => {
                let call = self.check_member(profile, &call)?;
                self.profile_or(profile)?.insert_member(member, call)?;
                Update::DeleteMember { profile, member }
            }
            Update::ModifyMember {
                profile,
                member,
                call,
            } => {
                let call = self.check_member(profile, &call)?;
                let call = self.profile_or(profile)?.modify_member(member, call)?;
                Update::ModifyMember {
                    profile,
                    member,
                    call,
                }
            }
            Update::DeleteMember { profile, member } => {
                self.check_unused(profile, ProfileRef::Member(member))?;
                let call = self.profile_or(profile)?.remove_member(member)?;
                Update::InsertMember {
                    profile,
                    member,
                    call,
                }
            }
            Update::InsertGroup {
                profile,
                group,
                members,
            } => {
                self.profile_or(profile)?.insert_group(group, members)?;
                Update::DeleteGroup { profile, group }
            }
            Update::ModifyGroup {
                profile,
                group,
                members,
            } => {
                let members = self.profile_or(profile)?.modify_group(group, members)?;
                Update::ModifyGroup {
                    profile,
                    group,
                    members,
                }
            }
            Update::DeleteGroup { profile, group } => {
                self.check_unused(profile, ProfileRef::Group(group))?;
                let members = self.profile_or(profile)?.remove_group(group)?;
                Update::InsertGroup {
                    profile,
                    group,
                    members,
                }
            }
            // `run` sends only the six above; anything else is its own inverse by doing nothing.
            other => other,
        })
    }

    fn run_array(&mut self, update: Update) -> Result<Undo, StateError> {
        let (id, index, what) = match &update {
            Update::SetCounter { counter, index, .. } => (*counter, *index, "counter"),
            Update::SetMeter { meter, index, .. } => (*meter, *index, "meter"),
            Update::SetRegister {
                register, index, ..
            } => (*register, *index, "register"),
            _ => return Ok(Undo::Update(update)),
        };
        let beyond = |name: &str, size| StateError::Index {
            name: name.to_owned(),
            index,
            size,
        };
        match (update, self.extern_mut(id)) {
            (Update::SetCounter { value, .. }, Some(ExternState::Counter(counter))) => {
                let error = beyond(&counter.name, counter.cells.len());
                let cell = counter.cells.get_mut(index).ok_or(error)?;
                let value = std::mem::replace(cell, value);
                Ok(Undo::Update(Update::SetCounter {
                    counter: id,
                    index,
                    value,
                }))
            }
            (Update::SetMeter { config, .. }, Some(ExternState::Meter(meter))) => {
                let error = beyond(&meter.name, meter.cells.len());
                let cell = meter.cells.get_mut(index).ok_or(error)?;
                let old = *cell;
                cell.configure(config);
                Ok(Undo::RestoreMeter(id, index, old))
            }
            (Update::SetRegister { value, .. }, Some(ExternState::Register(register))) => {
                let error = beyond(&register.name, register.size());
                let value = register.write(index, &value).ok_or(error)?;
                Ok(Undo::Update(Update::SetRegister {
                    register: id,
                    index,
                    value,
                }))
            }
            _ => Err(StateError::NoSuch {
                what,
                id: id.to_string(),
            }),
        }
    }

    fn replace_value_set(
        &mut self,
        id: ValueSetId,
        members: Vec<Vec<FieldMatch>>,
    ) -> Result<Vec<Vec<FieldMatch>>, StateError> {
        let error = StateError::NoSuch {
            what: "value set",
            id: id.to_string(),
        };
        let set = self
            .value_sets
            .get_mut(p4ir::Entity::index(id))
            .ok_or(error)?;
        if members.len() > set.size {
            let (name, size, given) = (set.name.clone(), set.size, members.len());
            return Err(StateError::ValueSetFull { name, size, given });
        }
        let members = members
            .iter()
            .map(|m| set.layout.canonical(m))
            .collect::<Result<Vec<_>, _>>()
            .map_err(|source| StateError::ValueSetKey {
                name: set.name.clone(),
                source,
            })?;
        Ok(std::mem::replace(&mut set.members, members))
    }

    /// Takes a change back. It was just made, so nothing can refuse its inverse.
    fn undo(&mut self, undo: Undo, now: Nanos) {
        match undo {
            Undo::RemoveEntry(table, handle) => {
                let _ = self.delete_entry(table, handle);
            }
            Undo::RestoreEntry(table, entry) => {
                self.count_reference(table, &entry.action, true);
                if let Some(table) = self.table_mut(table) {
                    let _ = table.restore(*entry);
                }
            }
            Undo::RestoreAction(table, handle, action) => {
                let _ = self.modify_entry(table, handle, action);
            }
            Undo::RestoreDefault(table, call) => {
                if let Some(table) = self.table_mut(table) {
                    table.restore_default(call);
                }
            }
            Undo::DirectCounter(table, handle, value) => {
                if let Ok(entry) = self.entry_or(table, handle) {
                    entry.counter = value;
                }
            }
            Undo::DirectMeter(table, handle, meter) => {
                if let Ok(entry) = self.entry_or(table, handle) {
                    entry.meter = meter;
                }
            }
            Undo::RestoreMeter(id, index, old) => {
                if let Some(ExternState::Meter(meter)) = self.extern_mut(id)
                    && let Some(cell) = meter.cells.get_mut(index)
                {
                    *cell = old;
                }
            }
            Undo::Update(update) => {
                let _ = self.run(update, now);
            }
        }
    }
}
