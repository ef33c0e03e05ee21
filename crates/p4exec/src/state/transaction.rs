//! Changes of the control part as a whole or not at all, and their replay on another copy.

use p4ir::{Entity as _, ExternId, ExternType, TableId, ValueSetId};

use super::control::{ControlState, no_such};
use super::data::DataOp;
use super::replication::{CloneSession, Copies, Replica};
use super::update::{EntryRef, Update};
use super::{ExternConfig, StateError};
use crate::externs::hash::{CrcConfig, HashAlgorithm};
use crate::tables::profile::{StoredGroup, StoredMember};
use crate::tables::table::RareOptions;
use crate::tables::{
    ActionCall, EntryAction, EntryHandle, EntryOptions, FieldMatch, GroupId, GroupMember, MemberId,
    NewEntry, PackedAction, PackedKey, Slot, TOGETHER, approach,
};

/// A change of something there are few of: what was in a place, and what is.
#[derive(Clone, Debug)]
enum Change {
    RareOptions {
        table: usize,
        slot: Slot,
        old: Option<Box<RareOptions>>,
        new: Option<Box<RareOptions>>,
    },
    Default {
        table: usize,
        old: Option<Vec<u64>>,
        new: Option<Vec<u64>>,
    },
    Member {
        profile: ExternId,
        id: MemberId,
        old: Option<StoredMember>,
        new: Option<StoredMember>,
    },
    Group {
        profile: ExternId,
        id: GroupId,
        old: Option<StoredGroup>,
        new: Option<StoredGroup>,
    },
    Multicast {
        group: u16,
        old: Option<Vec<Replica>>,
        new: Option<Vec<Replica>>,
    },
    Session {
        id: u32,
        old: Option<CloneSession>,
        new: Option<CloneSession>,
    },
    Backups {
        of: Copies,
        old: Vec<Vec<Replica>>,
        new: Vec<Vec<Replica>>,
    },
    ValueSet {
        set: usize,
        old: Vec<Vec<FieldMatch>>,
        new: Vec<Vec<FieldMatch>>,
    },
    Crc {
        algorithm: HashAlgorithm,
        old: Option<CrcConfig>,
        new: Option<CrcConfig>,
    },
}

impl Change {
    /// Puts the new content in its place, or the old one back.
    fn put(&self, control: &mut ControlState, forward: bool) {
        fn choose<T: Clone>(old: &T, new: &T, forward: bool) -> T {
            if forward { new } else { old }.clone()
        }
        match self {
            Self::RareOptions {
                table,
                slot,
                old,
                new,
            } => {
                let side = choose(old, new, forward);
                control.table_at(*table).set_rare(*slot, side);
            }
            Self::Default { table, old, new } => {
                let row = choose(old, new, forward);
                control.table_at(*table).replace_default(row);
            }
            Self::Member {
                profile,
                id,
                old,
                new,
            } => {
                if let Some(profile) = control.profile_mut(*profile) {
                    profile.put_member(*id, choose(old, new, forward));
                }
            }
            Self::Group {
                profile,
                id,
                old,
                new,
            } => {
                if let Some(profile) = control.profile_mut(*profile) {
                    profile.put_group(*id, choose(old, new, forward));
                }
            }
            Self::Multicast { group, old, new } => {
                let replicas = choose(old, new, forward);
                control.replication.set_group(*group, replicas);
            }
            Self::Session { id, old, new } => {
                let session = choose(old, new, forward);
                control.replication.set_session(*id, session);
            }
            Self::Backups { of, old, new } => {
                let backups = choose(old, new, forward);
                control.replication.set_backups(*of, backups);
            }
            Self::ValueSet { set, old, new } => {
                control.value_sets[*set].put(choose(old, new, forward));
            }
            Self::Crc {
                algorithm,
                old,
                new,
            } => {
                let config = choose(old, new, forward);
                control.hashers.set_custom(*algorithm, config);
            }
        }
    }
}

/// One step of a batch. `at` is where its words begin.
#[derive(Clone, Debug)]
enum Op {
    /// The words are the record.
    Insert {
        table: u32,
        slot: Slot,
        fresh: bool,
        at: usize,
    },
    /// The words are the old row and the new one.
    Modify {
        table: u32,
        slot: Slot,
        at: usize,
    },
    /// The words are the record that was.
    Delete {
        table: u32,
        slot: Slot,
        at: usize,
    },
    Other(Box<Change>),
}

/// What a batch changed: enough to make the same changes in another copy of the control part, to
/// take them back, and to bring the data part in line ([`super::DataState::apply`]).
#[derive(Clone, Debug, Default)]
pub struct Delta {
    ops: Vec<Op>,
    words: Vec<u64>,
    data: Vec<DataOp>,
}

impl Delta {
    /// Whether nothing changed.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.ops.is_empty() && self.data.is_empty()
    }

    pub(super) fn data(&self) -> &[DataOp] {
        &self.data
    }

    /// Makes the changes in a copy that is as the first one was before them.
    pub fn replay(&self, control: &mut ControlState) {
        for ops in self.ops.chunks(TOGETHER) {
            self.approach(ops, control);
            self.replay_some(ops, control);
        }
    }

    /// Goes to the entries that some operations are about.
    fn approach(&self, ops: &[Op], control: &ControlState) {
        approach(ops.iter().filter_map(|op| {
            let (Op::Insert { table, at, .. } | Op::Delete { table, at, .. }) = op else {
                return None;
            };
            let table = control.known_table(TableId::new(*table as usize))?;
            let (rank, key) = table.rank_and_key(&self.words[*at..]);
            Some((table, key, rank))
        }));
    }

    fn replay_some(&self, ops: &[Op], control: &mut ControlState) {
        for op in ops {
            match op {
                Op::Insert {
                    table, slot, at, ..
                } => {
                    let table = *table as usize;
                    let entries = control.table_at(table);
                    let record = &self.words[*at..*at + entries.stride()];
                    let got = entries.put_record(record);
                    debug_assert_eq!(got, *slot, "both copies are alike");
                    let word = entries.action_row(got)[0];
                    control.count_reference(table, word, true);
                }
                Op::Modify { table, slot, at } => {
                    let row = row_words(control, *table);
                    let old = &self.words[*at..*at + row];
                    let new = &self.words[*at + row..*at + 2 * row];
                    set_row(control, *table, *slot, old, new);
                }
                Op::Delete { table, slot, .. } => {
                    let table = *table as usize;
                    let word = control.table_at(table).action_row(*slot)[0];
                    control.count_reference(table, word, false);
                    control.table_at(table).take(*slot);
                }
                Op::Other(change) => change.put(control, true),
            }
        }
    }

    /// Takes back what was changed after the first `keep` operations.
    fn undo(&self, control: &mut ControlState, keep: usize) {
        for op in self.ops[keep..].iter().rev() {
            match op {
                Op::Insert {
                    table, slot, fresh, ..
                } => {
                    let table = *table as usize;
                    let word = control.table_at(table).action_row(*slot)[0];
                    control.count_reference(table, word, false);
                    control.table_at(table).undo_put(*slot, *fresh);
                }
                Op::Modify { table, slot, at } => {
                    let row = row_words(control, *table);
                    let old = &self.words[*at..*at + row];
                    let new = &self.words[*at + row..*at + 2 * row];
                    set_row(control, *table, *slot, new, old);
                }
                Op::Delete { table, slot, at } => {
                    let table = *table as usize;
                    let entries = control.table_at(table);
                    let record = &self.words[*at..*at + entries.stride()];
                    entries.undo_take(*slot, record);
                    let word = entries.action_row(*slot)[0];
                    control.count_reference(table, word, true);
                }
                Op::Other(change) => change.put(control, false),
            }
        }
    }
}

/// Words of a row of a table.
fn row_words(control: &mut ControlState, table: u32) -> usize {
    let table = control.table_at(table as usize);
    table.stride() - 1 - table.layout().stored_words()
}

/// Replaces a row, and counts what the old and the new one refer to.
fn set_row(control: &mut ControlState, table: u32, slot: Slot, old: &[u64], new: &[u64]) {
    let table = table as usize;
    control.count_reference(table, old[0], false);
    control.count_reference(table, new[0], true);
    control.table_at(table).set_row(slot, new);
}

/// A point in a transaction to go back to.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    ops: usize,
    words: usize,
    data: usize,
}

/// Changes in the making. Each is made in full or, if refused, not at all, and the transaction goes
/// on; [`Transaction::commit`] keeps them, dropping the transaction takes them all back.
#[derive(Debug)]
pub struct Transaction<'c> {
    control: &'c mut ControlState,
    delta: Delta,
    key: PackedKey,
    action: PackedAction,
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        self.delta.undo(self.control, 0);
    }
}

impl ControlState {
    /// Begins a transaction.
    pub fn begin(&mut self) -> Transaction<'_> {
        Transaction {
            control: self,
            delta: Delta::default(),
            key: PackedKey::default(),
            action: PackedAction::default(),
        }
    }
}

impl Transaction<'_> {
    /// The state with the changes so far.
    #[must_use]
    pub const fn control(&self) -> &ControlState {
        self.control
    }

    /// Keeps the changes and says what they were.
    #[must_use]
    pub fn commit(mut self) -> Delta {
        std::mem::take(&mut self.delta)
    }

    /// Where the transaction is now.
    #[must_use]
    pub const fn mark(&self) -> Mark {
        Mark {
            ops: self.delta.ops.len(),
            words: self.delta.words.len(),
            data: self.delta.data.len(),
        }
    }

    /// Takes back what was changed since a mark of this transaction.
    pub fn roll_back(&mut self, mark: Mark) {
        self.delta.undo(self.control, mark.ops);
        self.delta.ops.truncate(mark.ops);
        self.delta.words.truncate(mark.words);
        self.delta.data.truncate(mark.data);
    }

    /// Makes one change.
    ///
    /// # Errors
    /// [`StateError`] says what is wrong; nothing was changed then.
    pub fn apply(&mut self, update: Update) -> Result<(), StateError> {
        match update {
            Update::InsertEntry { table, entry } => self.insert_entry(table, &entry).map(|_| ()),
            Update::ModifyEntry {
                table,
                key,
                priority,
                action,
                options,
            } => {
                let handle = self.control.table(table)?.find(&key, priority)?;
                self.modify_entry(table, handle, &action, options.as_ref())
            }
            Update::DeleteEntry {
                table,
                key,
                priority,
            } => {
                let handle = self.control.table(table)?.find(&key, priority)?;
                self.delete_entry(table, handle)
            }
            Update::SetDefault { table, call } => self.set_default(table, call.as_ref()),
            Update::SetDirectCounter {
                table,
                entry,
                value,
            } => {
                let slot = self.cell(table, &entry, "direct counter", |b| b.counter)?;
                self.put(DataOp::DirectCounter(table, slot, value))
            }
            Update::SetDirectMeter {
                table,
                entry,
                config,
            } => {
                let slot = self.cell(table, &entry, "direct meter", |b| b.meter)?;
                self.put(DataOp::DirectMeter(table, slot, config))
            }
            Update::SetDirectMarked {
                table,
                entry,
                marked,
            } => {
                let slot = self.cell(table, &entry, "direct meter", |b| b.meter)?;
                self.put(DataOp::DirectMarked(table, slot, marked))
            }
            Update::SetBackups { of, backups: new } => {
                let old = self.control.replication.backups(of).to_vec();
                self.change(Change::Backups { of, old, new });
                Ok(())
            }
            Update::SetMulticastGroup { group, replicas } => self.set_group(group, replicas),
            Update::SetCloneSession { session, config } => self.set_session(session, config),
            Update::SetCounter {
                counter,
                index,
                value,
            } => {
                self.check_index(counter, index, &ExternType::Counter)?;
                self.put(DataOp::Counter(counter, index, value))
            }
            Update::SetMeter {
                meter,
                index,
                config,
            } => {
                self.check_index(meter, index, &ExternType::Meter)?;
                self.put(DataOp::Meter(meter, index, config))
            }
            Update::SetMarked {
                meter,
                index,
                marked,
            } => {
                self.check_index(meter, index, &ExternType::Meter)?;
                self.put(DataOp::Marked(meter, index, marked))
            }
            Update::SetRegister {
                register,
                index,
                value,
            } => {
                self.check_index(register, index, &ExternType::Register)?;
                self.put(DataOp::Register(register, index, value))
            }
            Update::SetValueSet { set, members } => self.set_value_set(set, &members),
            Update::SetCrc { algorithm, config } => {
                self.change(Change::Crc {
                    algorithm,
                    old: self.control.hashers.custom(algorithm),
                    new: config,
                });
                Ok(())
            }
            other => self.apply_profile(other),
        }
    }

    fn put(&mut self, op: DataOp) -> Result<(), StateError> {
        self.delta.data.push(op);
        Ok(())
    }

    fn change(&mut self, change: Change) {
        change.put(self.control, true);
        self.delta.ops.push(Op::Other(Box::new(change)));
    }

    /// Installs an entry.
    ///
    /// # Errors
    /// [`StateError`] says what does not fit.
    pub fn insert_entry(
        &mut self,
        table: TableId,
        entry: &NewEntry,
    ) -> Result<EntryHandle, StateError> {
        let mut key = std::mem::take(&mut self.key);
        let mut action = std::mem::take(&mut self.action);
        let result = self
            .pack(table, entry, &mut key, &mut action)
            .and_then(|()| self.insert(table, &key, &action, &entry.options, entry.is_const));
        self.key = key;
        self.action = action;
        result
    }

    fn pack(
        &self,
        table: TableId,
        entry: &NewEntry,
        key: &mut PackedKey,
        action: &mut PackedAction,
    ) -> Result<(), StateError> {
        let table = self.control.table(table)?;
        table.pack_key(&entry.key, entry.priority, key)?;
        table.pack_action(&entry.action, action)?;
        Ok(())
    }

    /// Installs an entry that is packed already: the fast way.
    ///
    /// # Errors
    /// [`StateError`] says what does not fit.
    pub fn insert_packed(
        &mut self,
        table: TableId,
        key: &PackedKey,
        action: &PackedAction,
        options: &EntryOptions,
    ) -> Result<EntryHandle, StateError> {
        self.insert(table, key, action, options, false)
    }

    fn insert(
        &mut self,
        id: TableId,
        key: &PackedKey,
        action: &PackedAction,
        options: &EntryOptions,
        is_const: bool,
    ) -> Result<EntryHandle, StateError> {
        let table = self.control.table(id)?;
        let refers = self.control.check_reference(id, action.row());
        if let Err(error) = refers.and_then(|()| self.check_options(id, options)) {
            // What is wrong with the entry itself is told first.
            table.check_insert(key, action, is_const)?;
            return Err(error);
        }
        let index = id.index();
        let table = self.control.table_at(index);
        let (slot, fresh) = table.put(key, action, is_const)?;
        let at = self.delta.words.len();
        self.delta.words.extend_from_slice(table.record(slot));
        let side = table.make_rare(options, action);
        self.control.count_reference(index, action.row()[0], true);
        self.delta.ops.push(Op::Insert {
            table: index as u32,
            slot,
            fresh,
            at,
        });
        if side.is_some() {
            self.change(Change::RareOptions {
                table: index,
                slot,
                old: None,
                new: side,
            });
        }
        if self.control.binding(id).has_cells() {
            self.delta.data.push(DataOp::Reset(id, slot));
            self.note_options(id, slot, options);
        }
        Ok(EntryHandle(slot))
    }

    /// Whether the table has what the options are about.
    fn check_options(&self, table: TableId, options: &EntryOptions) -> Result<(), StateError> {
        let binding = self.control.binding(table);
        let wrong = [
            (
                options.counter.is_some() && !binding.counter,
                "direct counter of table",
            ),
            (
                options.meter.is_some() && !binding.meter,
                "direct meter of table",
            ),
            (
                options.idle_timeout.get() > 0 && !binding.idle_timeout,
                "idle timeout of table",
            ),
        ];
        match wrong.into_iter().find(|(is, _)| *is) {
            Some((_, what)) => Err(no_such(what, &self.control.table(table)?.spec().name)),
            None => Ok(()),
        }
    }

    fn note_options(&mut self, table: TableId, slot: Slot, options: &EntryOptions) {
        if let Some(value) = options.counter {
            let op = DataOp::DirectCounter(table, Some(slot), value);
            self.delta.data.push(op);
        }
        if let Some(config) = options.meter {
            let op = DataOp::DirectMeter(table, Some(slot), config);
            self.delta.data.push(op);
        }
    }

    /// Replaces the action of an entry and, if given, its options; its key and what the options
    /// do not name stay.
    ///
    /// # Errors
    /// [`StateError`] says what does not fit.
    pub fn modify_entry(
        &mut self,
        table: TableId,
        handle: EntryHandle,
        action: &EntryAction,
        options: Option<&EntryOptions>,
    ) -> Result<(), StateError> {
        let mut packed = std::mem::take(&mut self.action);
        let checked = self.control.table(table).and_then(|entries| {
            entries.check_writable(handle)?;
            Ok(entries.pack_action(action, &mut packed)?)
        });
        let result = checked.and_then(|()| self.modify(table, handle.0, &packed, options));
        self.action = packed;
        result
    }

    /// The same for an entry given by its packed key and an action that is packed already.
    ///
    /// # Errors
    /// [`StateError`] says what does not fit.
    pub fn modify_packed(
        &mut self,
        table: TableId,
        key: &PackedKey,
        action: &PackedAction,
        options: Option<&EntryOptions>,
    ) -> Result<(), StateError> {
        let entries = self.control.table(table)?;
        let Some(slot) = entries.find_packed(key) else {
            return Ok(entries.no_entry(key)?);
        };
        entries.check_writable(EntryHandle(slot))?;
        entries.check_shape(key, action)?;
        self.modify(table, slot, action, options)
    }

    fn modify(
        &mut self,
        id: TableId,
        slot: Slot,
        action: &PackedAction,
        options: Option<&EntryOptions>,
    ) -> Result<(), StateError> {
        self.control.check_reference(id, action.row())?;
        if let Some(options) = options {
            self.check_options(id, options)?;
        }
        let index = id.index();
        let at = self.delta.words.len();
        let table = self.control.table_at(index);
        let kept = table.options_of(slot);
        let side = table.make_rare(options.unwrap_or(&kept), action);
        let old_side = table.rare_of(slot);
        self.delta.words.extend_from_slice(table.action_row(slot));
        let words = self.delta.words.len() - at;
        self.delta.words.extend_from_slice(action.row());
        self.delta.words.resize(at + 2 * words, 0);
        let (old, new) = self.delta.words[at..].split_at(words);
        set_row(self.control, index as u32, slot, old, new);
        self.delta.ops.push(Op::Modify {
            table: index as u32,
            slot,
            at,
        });
        if old_side.is_some() || side.is_some() {
            self.change(Change::RareOptions {
                table: index,
                slot,
                old: old_side,
                new: side,
            });
        }
        if self.control.binding(id).idle_timeout {
            self.delta.data.push(DataOp::Touch(id, slot));
        }
        if let Some(options) = options {
            self.note_options(id, slot, options);
        }
        Ok(())
    }

    /// Removes an entry.
    ///
    /// # Errors
    /// [`StateError`] if there is no such entry or it is const.
    pub fn delete_entry(&mut self, id: TableId, handle: EntryHandle) -> Result<(), StateError> {
        self.control.table(id)?.check_writable(handle)?;
        let (index, slot) = (id.index(), handle.0);
        let table = self.control.table_at(index);
        let old = table.rare_of(slot);
        if old.is_some() {
            self.change(Change::RareOptions {
                table: index,
                slot,
                old,
                new: None,
            });
        }
        let at = self.delta.words.len();
        let table = self.control.table_at(index);
        self.delta.words.extend_from_slice(table.record(slot));
        let word = table.action_row(slot)[0];
        table.take(slot);
        self.control.count_reference(index, word, false);
        self.delta.ops.push(Op::Delete {
            table: index as u32,
            slot,
            at,
        });
        Ok(())
    }

    /// Removes the entry of a packed key.
    ///
    /// # Errors
    /// [`StateError`] if there is no such entry or it is const.
    pub fn delete_packed(&mut self, id: TableId, key: &PackedKey) -> Result<(), StateError> {
        let table = self.control.table(id)?;
        match table.find_packed(key) {
            Some(slot) => self.delete_entry(id, EntryHandle(slot)),
            None => Ok(table.no_entry(key)?),
        }
    }

    fn set_default(&mut self, id: TableId, call: Option<&ActionCall>) -> Result<(), StateError> {
        let table = self.control.table(id)?;
        let new = table.check_default(call)?;
        self.change(Change::Default {
            table: id.index(),
            old: table.default_row().map(<[u64]>::to_vec),
            new,
        });
        Ok(())
    }

    /// The slot of a direct resource, `None` being the default action's.
    fn cell(
        &self,
        id: TableId,
        entry: &EntryRef,
        what: &'static str,
        has: impl Fn(super::control::Binding) -> bool,
    ) -> Result<Option<Slot>, StateError> {
        let table = self.control.table(id)?;
        if !has(self.control.binding(id)) {
            return Err(StateError::NoSuch {
                what,
                id: format!("of table `{}`", table.spec().name),
            });
        }
        match entry {
            EntryRef::Default => Ok(None),
            EntryRef::Handle(handle) if table.view(*handle).is_some() => Ok(Some(handle.0)),
            EntryRef::Handle(handle) => Err(no_such("entry", handle)),
            EntryRef::Key { key, priority } => Ok(Some(table.find(key, *priority)?.0)),
        }
    }

    fn check_index(
        &self,
        id: ExternId,
        index: usize,
        ty: &'static ExternType,
    ) -> Result<(), StateError> {
        let instance = self.control.program.externs.get(id);
        match (self.control.extern_config(id), instance) {
            (Some(ExternConfig::Array { size }), Some(own)) if own.ty == *ty => {
                if index < *size {
                    return Ok(());
                }
                Err(StateError::Index {
                    name: own.name.clone(),
                    index,
                    size: *size,
                })
            }
            _ => Err(no_such(ty.name(), id)),
        }
    }

    fn set_group(&mut self, group: u16, new: Option<Vec<Replica>>) -> Result<(), StateError> {
        if group == 0 {
            return Err(StateError::GroupZero);
        }
        let old = self
            .control
            .replication
            .group(group)
            .map(<[Replica]>::to_vec);
        if new.is_none() && old.is_none() {
            let (what, id) = ("multicast group", u32::from(group));
            return Err(StateError::NoReplication { what, id });
        }
        self.change(Change::Multicast { group, old, new });
        Ok(())
    }

    fn set_session(&mut self, id: u32, new: Option<CloneSession>) -> Result<(), StateError> {
        let old = self.control.replication.session(id).cloned();
        if new.is_none() && old.is_none() {
            let what = "clone session";
            return Err(StateError::NoReplication { what, id });
        }
        self.change(Change::Session { id, old, new });
        Ok(())
    }

    fn set_value_set(
        &mut self,
        id: ValueSetId,
        members: &[Vec<FieldMatch>],
    ) -> Result<(), StateError> {
        let set = self.control.value_set(id)?;
        let new = set.check(members)?;
        self.change(Change::ValueSet {
            set: id.index(),
            old: set.members().to_vec(),
            new,
        });
        Ok(())
    }

    fn apply_profile(&mut self, update: Update) -> Result<(), StateError> {
        let (Update::InsertMember { profile, .. }
        | Update::ModifyMember { profile, .. }
        | Update::DeleteMember { profile, .. }
        | Update::InsertGroup { profile, .. }
        | Update::ModifyGroup { profile, .. }
        | Update::DeleteGroup { profile, .. }) = update
        else {
            // `apply` sends nothing else here.
            return Ok(());
        };
        let known = self.control.profile(profile)?;
        let change = match update {
            Update::InsertMember { member, call, .. } => {
                known.check_new_member(member)?;
                self.member_change(profile, member, &call)?
            }
            Update::ModifyMember { member, call, .. } => {
                known.member(member)?;
                self.member_change(profile, member, &call)?
            }
            Update::DeleteMember { member, .. } => {
                known.check_unused_member(member)?;
                Change::Member {
                    profile,
                    id: member,
                    old: known.members().get(&member).cloned(),
                    new: None,
                }
            }
            Update::InsertGroup { group, members, .. } => {
                known.check_new_group(group)?;
                self.group_change(profile, group, members)?
            }
            Update::ModifyGroup { group, members, .. } => {
                known.group(group)?;
                self.group_change(profile, group, members)?
            }
            Update::DeleteGroup { group, .. } => {
                known.check_unused_group(group)?;
                Change::Group {
                    profile,
                    id: group,
                    old: known.groups().get(&group).cloned(),
                    new: None,
                }
            }
            _ => return Ok(()),
        };
        self.change(change);
        Ok(())
    }

    fn member_change(
        &self,
        profile: ExternId,
        id: MemberId,
        call: &ActionCall,
    ) -> Result<Change, StateError> {
        let (call, row) = self.control.pack_member(profile, call)?;
        Ok(Change::Member {
            profile,
            id,
            old: self.control.profile(profile)?.members().get(&id).cloned(),
            new: Some(StoredMember::new(call, row)),
        })
    }

    fn group_change(
        &self,
        profile: ExternId,
        id: GroupId,
        members: Vec<GroupMember>,
    ) -> Result<Change, StateError> {
        let known = self.control.profile(profile)?;
        Ok(Change::Group {
            profile,
            id,
            old: known.groups().get(&id).cloned(),
            new: Some(known.make_group(id, members)?),
        })
    }
}
