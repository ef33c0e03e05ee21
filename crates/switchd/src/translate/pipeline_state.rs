//! What one pipeline holds: the schema, the control plane's copy of the state, and the notes that
//! only the control plane needs.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use p4exec::state::{ControlState, Delta, Mark, Transaction};
use p4exec::tables::{EntryAction, EntryHandle, EntryPriority, FieldMatch, PackedAction, TOGETHER};
use p4exec::{StateError, Update};
use p4ir::{ExternId, TableId};
use p4runtime::p4::v1;
use p4runtime::p4::v1::digest_entry;
use p4runtime::p4::v1::entity::Entity;
use prost::bytes::Bytes;
use prost::{DecodeError, Message as _};

use super::action::WriteContext;
use super::fast::{Reader, Short, approach};
use super::refusal::Refusal;
use super::schema::Schema;
use super::write;
use crate::engine::control::Control;

/// Looks at a decoded update before it is made, and may refuse it.
pub type Check<'a> = &'a dyn Fn(&v1::Update) -> Result<(), Refusal>;

/// What a note is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NoteKey {
    /// An entry.
    Entry(TableId, EntryHandle),
    /// A default entry.
    Default(TableId),
    /// A group of a selector.
    Group(ExternId, u32),
    /// A multicast group.
    Multicast(u16),
    /// A clone session.
    Session(u32),
    /// A digest that is enabled.
    Digest(u32),
}

/// What the client wants to read back and the executor has no place for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Note {
    /// `metadata` of a default entry or a multicast group.
    pub metadata: Vec<u8>,
    /// `controller_metadata`.
    pub cookie: u64,
    /// Mode and size semantics of a one-shot set were given, though they are the default.
    pub explicit: bool,
    /// `max_size` of a group.
    pub max_size: i32,
    /// `class_of_service` of a clone session.
    pub class_of_service: u32,
    /// The configuration of a digest.
    pub digest: Option<digest_entry::Config>,
}

/// The one-shot entries of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OneShots {
    /// How many.
    pub entries: usize,
    /// The sizes of their sets together, as their profile counts.
    pub size: u64,
}

/// All notes, and the entries of each table that are one-shot.
#[derive(Debug)]
pub struct Notes {
    notes: BTreeMap<NoteKey, Note>,
    one_shots: BTreeMap<TableId, OneShots>,
    undone: Vec<NoteUndo>,
    /// The shortest idle timeout asked for since somebody took note of it, in nanoseconds;
    /// [`u64::MAX`] for none.
    shortest_idle: AtomicU64,
}

#[derive(Debug)]
enum NoteUndo {
    Note(NoteKey, Option<Note>),
    OneShots(TableId, OneShots),
}

impl Default for Notes {
    fn default() -> Self {
        Self {
            notes: BTreeMap::new(),
            one_shots: BTreeMap::new(),
            undone: Vec::new(),
            shortest_idle: AtomicU64::new(u64::MAX),
        }
    }
}

impl Notes {
    fn write(&mut self, key: NoteKey, note: Option<Note>) {
        let old = match note {
            Some(note) => self.notes.insert(key, note),
            None => self.notes.remove(&key),
        };
        if old.is_some() || self.notes.contains_key(&key) {
            self.undone.push(NoteUndo::Note(key, old));
        }
    }

    fn roll_back(&mut self, mark: usize) {
        for undone in self.undone.drain(mark..).rev() {
            match undone {
                NoteUndo::Note(key, Some(note)) => drop(self.notes.insert(key, note)),
                NoteUndo::Note(key, None) => drop(self.notes.remove(&key)),
                NoteUndo::OneShots(table, count) => drop(self.one_shots.insert(table, count)),
            }
        }
    }

    /// Notes that an entry was given an idle timeout, in nanoseconds; zero is none.
    fn note_timeout(&mut self, timeout: u64) {
        if timeout > 0 {
            let shortest = self.shortest_idle.get_mut();
            *shortest = timeout.min(*shortest);
        }
    }

    /// Whether some entry of a table has a note.
    fn any_of(&self, table: TableId) -> bool {
        let first = NoteKey::Entry(table, EntryHandle(0));
        let last = NoteKey::Entry(table, EntryHandle(u32::MAX));
        self.notes.range(first..=last).next().is_some()
    }
}

/// One step of an update.
#[derive(Clone, Debug)]
pub enum Step {
    /// Changes the state.
    Update(Update),
    /// Writes the note of an entry that is there now.
    NoteEntry(TableId, Vec<FieldMatch>, EntryPriority, Note),
    /// Writes a note; `None` erases it.
    Note(NoteKey, Option<Note>),
}

/// The state as an update finds it.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// The program and its names.
    pub schema: &'a Schema,
    state: &'a ControlState,
    notes: &'a Notes,
}

impl<'a> View<'a> {
    /// The state.
    #[must_use]
    pub const fn state(&self) -> &'a ControlState {
        self.state
    }

    /// The note about something.
    #[must_use]
    pub fn note(&self, key: NoteKey) -> Option<&'a Note> {
        self.notes.notes.get(&key)
    }

    /// Entries of a table that are one-shot.
    #[must_use]
    pub fn one_shots(&self, table: TableId) -> OneShots {
        self.notes
            .one_shots
            .get(&table)
            .copied()
            .unwrap_or_default()
    }
}

/// Bytes of a member, a group or a note, and of a replica, roughly.
const THING: usize = 256;
const REPLICA: usize = 8;

/// See the module's documentation.
pub struct PipelineState {
    /// The program and its names.
    pub schema: Arc<Schema>,
    /// The state.
    pub control: Control,
    reader: Reader,
    notes: Notes,
}

impl PipelineState {
    /// A pipeline state without notes.
    #[must_use]
    pub fn new(schema: Arc<Schema>, control: Control) -> Self {
        Self {
            reader: Reader::new(Arc::clone(&schema), control.state()),
            schema,
            control,
            notes: Notes::default(),
        }
    }

    /// A copy of what the control plane decides, to be read while this one goes on. It does not
    /// know what packets change.
    #[must_use]
    pub fn copy(&self) -> Self {
        let notes = Notes {
            notes: self.notes.notes.clone(),
            one_shots: self.notes.one_shots.clone(),
            ..Notes::default()
        };
        Self {
            schema: Arc::clone(&self.schema),
            control: self.control.copy(),
            reader: self.reader.clone(),
            notes,
        }
    }

    /// Bytes that a copy takes, roughly.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let state = self.state();
        let profiles = self.schema.profiles.values();
        let profiles = profiles.filter_map(|p| state.profile(p.profile).ok());
        let members = profiles.map(|p| p.members().len() + p.groups().len());
        let groups = state.replication.groups().values().map(Vec::len);
        let sessions = state.replication.sessions().values();
        let replicas = groups.chain(sessions.map(|s| s.replicas.len()));
        let things = members.sum::<usize>() + self.notes.notes.len();
        state.bytes() + things * THING + replicas.map(|n| THING + n * REPLICA).sum::<usize>()
    }

    /// What reads updates ahead of their turn.
    #[must_use]
    pub const fn reader(&self) -> &Reader {
        &self.reader
    }

    /// The state.
    #[must_use]
    pub fn state(&self) -> &ControlState {
        self.control.state()
    }

    /// The note about something.
    #[must_use]
    pub fn note(&self, key: NoteKey) -> Option<&Note> {
        self.notes.notes.get(&key)
    }

    /// All notes.
    #[must_use]
    pub const fn notes(&self) -> &BTreeMap<NoteKey, Note> {
        &self.notes.notes
    }

    /// The shortest idle timeout that entries were given since this was asked last, in nanoseconds;
    /// `None` if none was.
    #[must_use]
    pub fn take_shortest_idle(&self) -> Option<u64> {
        let shortest = self.notes.shortest_idle.swap(u64::MAX, Ordering::Relaxed);
        (shortest < u64::MAX).then_some(shortest)
    }

    /// Begins a batch.
    pub fn begin(&mut self) -> Staging<'_> {
        self.notes.undone.clear();
        Staging {
            schema: &self.schema,
            reader: &self.reader,
            transaction: Some(self.control.begin()),
            notes: &mut self.notes,
            packed: PackedAction::default(),
        }
    }

    /// Puts a batch in force, as a whole.
    ///
    /// # Errors
    /// UNAVAILABLE if the data plane has stopped.
    pub fn commit(&mut self, delta: Delta) -> Result<(), Refusal> {
        Ok(self.control.commit(delta)?)
    }
}

/// A point of a batch to go back to.
#[derive(Clone, Copy, Debug)]
pub struct Savepoint {
    state: Mark,
    notes: usize,
}

/// A batch in the making; dropping it takes everything back.
pub struct Staging<'b> {
    schema: &'b Schema,
    reader: &'b Reader,
    /// There until [`Staging::finish`].
    transaction: Option<Transaction<'b>>,
    notes: &'b mut Notes,
    /// Memory that is used again for each entry.
    packed: PackedAction,
}

/// Why the transaction is there: only `finish` takes it, and it takes the batch as well.
const TRANSACTION_PRESENT: &str = "the batch is not finished yet";

impl Drop for Staging<'_> {
    fn drop(&mut self) {
        if self.transaction.is_some() {
            self.notes.roll_back(0);
        }
    }
}

impl<'b> Staging<'b> {
    fn transaction(&mut self) -> &mut Transaction<'b> {
        self.transaction.as_mut().expect(TRANSACTION_PRESENT)
    }

    /// The state with what was done so far.
    #[must_use]
    pub fn view(&self) -> View<'_> {
        View {
            schema: self.schema,
            state: self
                .transaction
                .as_ref()
                .expect(TRANSACTION_PRESENT)
                .control(),
            notes: self.notes,
        }
    }

    /// Here, to go back to.
    #[must_use]
    pub fn mark(&self) -> Savepoint {
        Savepoint {
            state: self.transaction.as_ref().expect(TRANSACTION_PRESENT).mark(),
            notes: self.notes.undone.len(),
        }
    }

    /// Takes back everything done since a mark.
    pub fn roll_back(&mut self, mark: Savepoint) {
        self.transaction().roll_back(mark.state);
        self.notes.roll_back(mark.notes);
    }

    /// Keeps what was done, to be put in force by [`PipelineState::commit`].
    #[must_use]
    pub fn finish(mut self) -> Delta {
        let delta = self.transaction.take().map(Transaction::commit);
        delta.unwrap_or_default()
    }

    /// Makes encoded updates one after the other, the common sort without decoding them; of each,
    /// `told` hears what came of it, and says whether to go on. Each is made as a whole or not at
    /// all. `ahead` is what [`PipelineState::reader`] has read of them already, in their places, or
    /// nothing. `check` may refuse what was decoded.
    ///
    /// # Errors
    /// [`DecodeError`] if an update is none; those before it were made then.
    pub fn updates(
        &mut self,
        around: &WriteContext<'_>,
        updates: &[Bytes],
        ahead: &[Option<Short<'_>>],
        check: Option<Check<'_>>,
        mut told: impl FnMut(&mut Self, usize, Refusal) -> ControlFlow<()>,
    ) -> Result<(), DecodeError> {
        let mut now = Vec::new();
        for (number, some) in updates.chunks(TOGETHER).enumerate() {
            let first = number * TOGETHER;
            let short = ahead.get(first..first + some.len()).unwrap_or_else(|| {
                now.clear();
                now.extend(self.reader.read(some));
                &now
            });
            approach(self.transaction().control(), short);
            for (index, (update, short)) in some.iter().zip(short).enumerate() {
                if check.is_none() && short.as_ref().is_some_and(|short| self.make_short(short)) {
                    continue;
                }
                let update = v1::Update::decode(update.as_ref())?;
                let made = check.map_or(Ok(()), |check| check(&update));
                let Err(refusal) = made.and_then(|()| self.update(around, &update)) else {
                    continue;
                };
                if told(self, first + index, refusal).is_break() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Makes an update that was read ahead, if it goes the short way.
    fn make_short(&mut self, short: &Short<'_>) -> bool {
        let transaction = self.transaction.as_mut().expect(TRANSACTION_PRESENT);
        let notes = &*self.notes;
        let noted = |table| notes.any_of(table);
        let Some(timeout) = short.make(transaction, &mut self.packed, noted) else {
            return false;
        };
        self.notes.note_timeout(timeout.get());
        true
    }

    /// Changes the state as no message of P4Runtime says it.
    ///
    /// # Errors
    /// Why the state refuses it.
    pub fn apply(&mut self, update: Update) -> Result<(), Refusal> {
        self.change(update)
    }

    /// Makes one update, as a whole or not at all.
    ///
    /// # Errors
    /// Why it is refused.
    pub fn update(
        &mut self,
        around: &WriteContext<'_>,
        update: &v1::Update,
    ) -> Result<(), Refusal> {
        if let Some(Entity::TableEntry(entry)) =
            update.entity.as_ref().and_then(|e| e.entity.as_ref())
            && entry.idle_timeout_ns > 0
        {
            self.notes
                .note_timeout(entry.idle_timeout_ns.unsigned_abs());
        }
        let steps = write(&self.view(), around, update)?;
        let mark = self.mark();
        for step in steps {
            if let Err(refusal) = self.step(step) {
                self.roll_back(mark);
                return Err(refusal);
            }
        }
        Ok(())
    }

    fn step(&mut self, step: Step) -> Result<(), Refusal> {
        match step {
            Step::Update(update) => self.change(update),
            Step::NoteEntry(table, key, priority, note) => {
                let entries = self.view().state().table(table)?;
                let handle = entries
                    .find(&key, priority)
                    .map_err(p4exec::StateError::from)?;
                let note = (note != Note::default()).then_some(note);
                self.notes.write(NoteKey::Entry(table, handle), note);
                Ok(())
            }
            Step::Note(key, note) => {
                self.notes.write(key, note);
                Ok(())
            }
        }
    }

    fn change(&mut self, update: Update) -> Result<(), Refusal> {
        let aside = self.aside(&update);
        let gone = self.deleted(&update);
        let whose = match &update {
            Update::InsertEntry { table, .. } | Update::ModifyEntry { table, .. } => Some(*table),
            _ => None,
        };
        if let Err(error) = self.transaction().apply(update) {
            // What a profile refuses says nothing of the entry.
            let table = whose.filter(|_| matches!(error, StateError::Profile(_)));
            let table = table.and_then(|table| self.view().state().table(table).ok());
            return Err(match table {
                Some(table) => Refusal::from(error).at(&format!("table `{}`", table.spec().name)),
                None => error.into(),
            });
        }
        if let Some((table, was, is)) = aside
            && was != is
        {
            self.count_one_shot(table, was, is)?;
        }
        if let Some(key) = gone {
            self.notes.write(key, None);
        }
        Ok(())
    }

    /// The note of the entry that an update deletes.
    fn deleted(&self, update: &Update) -> Option<NoteKey> {
        let Update::DeleteEntry {
            table,
            key,
            priority,
        } = update
        else {
            return None;
        };
        if !self.notes.any_of(*table) {
            return None;
        }
        let handle = self.view().state().table(*table).ok()?.find(key, *priority);
        let key = NoteKey::Entry(*table, handle.ok()?);
        self.notes.notes.contains_key(&key).then_some(key)
    }

    /// Counts a one-shot entry that changed. All of a profile together must fit into it, as if they
    /// were members and groups (P4Runtime 1.5, sections 6.4.3 and 9.2.3).
    fn count_one_shot(
        &mut self,
        table: TableId,
        was: Option<u64>,
        is: Option<u64>,
    ) -> Result<(), Refusal> {
        let before = self.view().one_shots(table);
        self.notes.undone.push(NoteUndo::OneShots(table, before));
        let after = OneShots {
            entries: before.entries + usize::from(is.is_some()) - usize::from(was.is_some()),
            size: before.size + is.unwrap_or(0) - was.unwrap_or(0),
        };
        self.notes.one_shots.insert(table, after);
        let Some(profile) = self.schema.profile_of(table) else {
            return Ok(());
        };
        let view = self.view();
        let most = view.state().profile(profile.profile)?.size();
        let sum: u64 = profile.tables.iter().map(|t| view.one_shots(*t).size).sum();
        match most {
            Some(most) if is > was && sum > most as u64 => Err(Refusal::exhausted(format!(
                "the one-shot sets of profile `{}` would have size {sum} together; it has room for {most}",
                profile.name
            ))),
            _ => Ok(()),
        }
    }

    /// For a change of an entry of a table with a profile: the size of the set it was and will be,
    /// if it is one-shot.
    fn aside(&self, update: &Update) -> Option<(TableId, Option<u64>, Option<u64>)> {
        let one_shot = |table: TableId, action: &EntryAction| match action {
            EntryAction::OneShot(calls) => {
                let profile = self.schema.profile_of(table);
                Some(match profile.and_then(|p| p.max_member_weight) {
                    Some(_) => calls.len() as u64,
                    None => calls.iter().map(|c| u64::from(c.weight)).sum(),
                })
            }
            _ => None,
        };
        let (table, name, new) = match update {
            Update::InsertEntry { table, entry } => (*table, None, one_shot(*table, &entry.action)),
            Update::ModifyEntry {
                table,
                key,
                priority,
                action,
                ..
            } => (*table, Some((key, priority)), one_shot(*table, action)),
            Update::DeleteEntry {
                table,
                key,
                priority,
            } => (*table, Some((key, priority)), None),
            _ => return None,
        };
        let state = self.view().state().table(table).ok()?;
        if !state.spec().indirect {
            return None;
        }
        let old = name.and_then(|(key, priority)| state.find(key, *priority).ok());
        let old = old.and_then(|handle| state.view(handle));
        Some((
            table,
            old.and_then(|entry| one_shot(table, &entry.action())),
            new,
        ))
    }
}
