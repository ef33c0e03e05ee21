//! Changes the control plane asks for, one at a time or in batches.

use std::sync::Arc;

use p4ir::{ExternId, TableId, ValueSetId};
use quantities::Nanos;

use super::replication::{CloneSession, Copies, Replica};
use super::{ControlState, Delta, RuntimeState, StateError, Transaction};
use crate::externs::counter::CounterCell;
use crate::externs::hash::{CrcConfig, HashAlgorithm};
use crate::externs::meter::{Marked, MeterConfig};
use crate::tables::{
    ActionCall, EntryAction, EntryHandle, EntryOptions, EntryPriority, FieldMatch, GroupId,
    GroupMember, MemberId, NewEntry,
};
use crate::value::Bits;

/// Which entry's direct resource is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryRef {
    /// That of the default action.
    Default,
    /// An entry by its handle.
    Handle(EntryHandle),
    /// An entry by what it matches.
    Key {
        /// One match per key field.
        key: Vec<FieldMatch>,
        /// Its priority, where entries have one.
        priority: EntryPriority,
    },
}

impl From<EntryHandle> for EntryRef {
    fn from(handle: EntryHandle) -> Self {
        Self::Handle(handle)
    }
}

/// A change the control plane asks for.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum Update {
    /// Installs an entry.
    InsertEntry { table: TableId, entry: NewEntry },
    /// Replaces the action of an entry and, if given, its options.
    ModifyEntry {
        table: TableId,
        key: Vec<FieldMatch>,
        priority: EntryPriority,
        action: EntryAction,
        options: Option<EntryOptions>,
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
    /// Sets the direct counter of an entry or of the default action.
    SetDirectCounter {
        table: TableId,
        entry: EntryRef,
        value: CounterCell,
    },
    /// Configures the direct meter of an entry or of the default action.
    SetDirectMeter {
        table: TableId,
        entry: EntryRef,
        config: Option<MeterConfig>,
    },
    /// Says what the direct meter of an entry or of the default action has marked.
    SetDirectMarked {
        table: TableId,
        entry: EntryRef,
        marked: Box<Marked>,
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
    /// Says, for each of the copies, which replicas take its place while its port is down, in the
    /// order in which they are tried; an empty list takes all away.
    SetBackups {
        of: Copies,
        backups: Vec<Vec<Replica>>,
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
    /// Says what a cell of a meter has marked.
    SetMarked {
        meter: ExternId,
        index: usize,
        marked: Box<Marked>,
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
    /// Sets the parameters of a custom CRC; `None` brings back those that BMv2 begins with.
    SetCrc {
        algorithm: HashAlgorithm,
        config: Option<CrcConfig>,
    },
}

impl RuntimeState {
    /// Does something in a transaction and brings the data part in line; nothing is left of it if
    /// it fails.
    pub fn transact<T, E>(
        &mut self,
        now: Nanos,
        run: impl FnOnce(&mut Transaction<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut transaction = Arc::make_mut(&mut self.control).begin();
        let result = run(&mut transaction)?;
        let delta = transaction.commit();
        self.data.apply(&delta, now);
        Ok(result)
    }

    /// Makes one change.
    ///
    /// # Errors
    /// [`StateError`] says what is wrong; nothing was changed then.
    pub fn apply(&mut self, update: Update, now: Nanos) -> Result<(), StateError> {
        self.transact(now, |t| t.apply(update))
    }

    /// Makes all changes in order, or, if one is refused, none: the error comes with its position.
    /// No packet sees anything in between, for packets and updates take turns.
    ///
    /// # Errors
    /// The position of the first change refused, and why.
    pub fn apply_batch(
        &mut self,
        updates: Vec<Update>,
        now: Nanos,
    ) -> Result<(), (usize, StateError)> {
        self.transact(now, |t| {
            for (index, update) in updates.into_iter().enumerate() {
                t.apply(update).map_err(|error| (index, error))?;
            }
            Ok(())
        })
    }

    /// Swaps in another copy of the control part, which has taken the batch of a delta that this
    /// one has not, and brings the data part in line. The time it takes depends on the delta only.
    pub fn swap_control(&mut self, other: &mut Arc<ControlState>, delta: &Delta, now: Nanos) {
        std::mem::swap(&mut self.control, other);
        self.data.apply(delta, now);
    }

    /// The same in a state beside one that the batch was given to ([`RuntimeState::beside`]).
    pub fn swap_control_beside(
        &mut self,
        other: &mut Arc<ControlState>,
        delta: &Delta,
        now: Nanos,
    ) {
        std::mem::swap(&mut self.control, other);
        self.data.apply_beside(delta, now);
    }

    /// Installs an entry.
    ///
    /// # Errors
    /// [`StateError`] says what does not fit.
    pub fn insert_entry(
        &mut self,
        table: TableId,
        entry: NewEntry,
        now: Nanos,
    ) -> Result<EntryHandle, StateError> {
        self.transact(now, |t| t.insert_entry(table, &entry))
    }

    /// Removes all entries that are not const.
    ///
    /// # Errors
    /// [`StateError::NoSuch`] if there is no such table.
    pub fn clear_table(&mut self, table: TableId) -> Result<(), StateError> {
        let entries = self.table(table)?.iter();
        let handles: Vec<EntryHandle> = entries
            .filter(|entry| !entry.is_const())
            .map(|entry| entry.handle())
            .collect();
        self.transact(Nanos::default(), |t| {
            handles
                .into_iter()
                .try_for_each(|handle| t.delete_entry(table, handle))
        })
    }
}
