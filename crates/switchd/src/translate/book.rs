//! What one pipeline holds: the schema, the control plane's copy of the state, and the notes that only the control plane needs.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use p4exec::Update;
use p4exec::tables::{EntryAction, EntryHandle};
use p4ir::{ExternId, TableId};
use p4runtime::p4::v1::digest_entry;

use super::refusal::Refusal;
use super::schema::Schema;
use crate::engine::control::{Change, Control, EntryName, Mark};

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

/// What the client wants to read back and the data plane has no use for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Note {
    /// `metadata`.
    pub metadata: Bytes,
    /// `controller_metadata`.
    pub cookie: u64,
    /// `idle_timeout_ns`.
    pub idle_timeout: i64,
    /// Mode and size semantics of a one-shot set were given, though they are the default.
    pub explicit: bool,
    /// `max_size` of a group.
    pub max_size: i32,
    /// `class_of_service` of a clone session.
    pub class_of_service: u32,
    /// The configuration of a digest.
    pub digest: Option<digest_entry::Config>,
}

/// One step of an update.
#[derive(Clone, Debug)]
pub enum Step {
    /// Changes the state.
    Change(Change),
    /// Writes the note of an entry that is there now.
    NoteEntry(TableId, EntryName, Note),
    /// Writes a note; `None` erases it.
    Note(NoteKey, Option<Note>),
}

enum Unnoted {
    Note(NoteKey, Option<Note>),
    OneShots(TableId, usize),
}

/// A point to go back to.
#[derive(Clone, Copy, Debug)]
pub struct BookMark {
    control: Mark,
    notes: usize,
}

/// See the module's documentation.
pub struct Book {
    /// The program and its names.
    pub schema: Arc<Schema>,
    /// The state.
    pub control: Control,
    notes: BTreeMap<NoteKey, Note>,
    /// One-shot entries per table.
    one_shots: BTreeMap<TableId, usize>,
    undone: Vec<Unnoted>,
}

impl Book {
    /// A book without notes.
    #[must_use]
    pub const fn new(schema: Arc<Schema>, control: Control) -> Self {
        Self {
            schema,
            control,
            notes: BTreeMap::new(),
            one_shots: BTreeMap::new(),
            undone: Vec::new(),
        }
    }

    /// The note about something.
    #[must_use]
    pub fn note(&self, key: NoteKey) -> Option<&Note> {
        self.notes.get(&key)
    }

    /// All notes.
    #[must_use]
    pub const fn notes(&self) -> &BTreeMap<NoteKey, Note> {
        &self.notes
    }

    /// Entries of a table that are one-shot.
    #[must_use]
    pub fn one_shots(&self, table: TableId) -> usize {
        self.one_shots.get(&table).copied().unwrap_or(0)
    }

    /// Here, to go back to.
    #[must_use]
    pub const fn mark(&self) -> BookMark {
        BookMark {
            control: self.control.mark(),
            notes: self.undone.len(),
        }
    }

    /// Does one step; the data plane sees it after [`Book::commit`].
    ///
    /// # Errors
    /// Why the state refuses; nothing has changed then.
    pub fn stage(&mut self, step: Step) -> Result<(), Refusal> {
        match step {
            Step::Change(change) => self.change(change),
            Step::NoteEntry(table, name, note) => {
                let table_state = self.control.state().table(table)?;
                let handle = table_state
                    .find(&name.key, name.priority)
                    .map_err(p4exec::StateError::from)?;
                let note = (note != Note::default()).then_some(note);
                self.write_note(NoteKey::Entry(table, handle), note);
                Ok(())
            }
            Step::Note(key, note) => {
                self.write_note(key, note);
                Ok(())
            }
        }
    }

    fn write_note(&mut self, key: NoteKey, note: Option<Note>) {
        let old = match note {
            Some(note) => self.notes.insert(key, note),
            None => self.notes.remove(&key),
        };
        self.undone.push(Unnoted::Note(key, old));
    }

    fn change(&mut self, change: Change) -> Result<(), Refusal> {
        let aside = self.aside(&change);
        let gone = self.deleted(&change);
        self.control.stage(change)?;
        if let Some((table, was, is)) = aside
            && was != is
        {
            let count = self.one_shots(table);
            self.undone.push(Unnoted::OneShots(table, count));
            let count = if is {
                count + 1
            } else {
                count.saturating_sub(1)
            };
            self.one_shots.insert(table, count);
        }
        if let Some(key) = gone {
            self.write_note(key, None);
        }
        Ok(())
    }

    /// The note of the entry that a change deletes.
    fn deleted(&self, change: &Change) -> Option<NoteKey> {
        let Change::State(Update::DeleteEntry {
            table,
            key,
            priority,
        }) = change
        else {
            return None;
        };
        let first = NoteKey::Entry(*table, EntryHandle(0));
        let last = NoteKey::Entry(*table, EntryHandle(u32::MAX));
        self.notes.range(first..=last).next()?;
        let handle = self
            .control
            .state()
            .table(*table)
            .ok()?
            .find(key, *priority);
        let key = NoteKey::Entry(*table, handle.ok()?);
        self.notes.contains_key(&key).then_some(key)
    }

    /// For a change of an entry of a table with a profile: whether it was and will be one-shot.
    fn aside(&self, change: &Change) -> Option<(TableId, bool, bool)> {
        let Change::State(update) = change else {
            return None;
        };
        let one_shot = |action: &EntryAction| matches!(action, EntryAction::OneShot(_));
        let (table, name, new) = match update {
            Update::InsertEntry { table, entry } => (*table, None, one_shot(&entry.action)),
            Update::ModifyEntry {
                table,
                key,
                priority,
                action,
            } => (*table, Some((key, priority)), one_shot(action)),
            Update::DeleteEntry {
                table,
                key,
                priority,
            } => (*table, Some((key, priority)), false),
            _ => return None,
        };
        let state = self.control.state().table(table).ok()?;
        if !state.spec().indirect {
            return None;
        }
        let old = name.and_then(|(key, priority)| state.find(key, *priority).ok());
        let old = old.and_then(|handle| state.entry(handle));
        Some((table, old.is_some_and(|entry| one_shot(&entry.action)), new))
    }

    /// Takes back everything staged since a mark.
    pub fn roll_back(&mut self, mark: BookMark) {
        self.control.roll_back(mark.control);
        for undone in self.undone.drain(mark.notes..).rev() {
            match undone {
                Unnoted::Note(key, Some(note)) => drop(self.notes.insert(key, note)),
                Unnoted::Note(key, None) => drop(self.notes.remove(&key)),
                Unnoted::OneShots(table, count) => drop(self.one_shots.insert(table, count)),
            }
        }
    }

    /// Takes back everything staged since the last commit.
    pub fn abandon(&mut self) {
        self.roll_back(BookMark {
            control: Mark::default(),
            notes: 0,
        });
    }

    /// Puts everything staged in force, as a whole.
    ///
    /// # Errors
    /// UNAVAILABLE if the data plane has stopped.
    pub fn commit(&mut self) -> Result<(), Refusal> {
        self.undone.clear();
        Ok(self.control.commit()?)
    }
}
