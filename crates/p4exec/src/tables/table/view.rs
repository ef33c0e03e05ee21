//! Entries as readers see them.

use quantities::Nanos;

use super::Table;
use crate::tables::Slot;
use crate::tables::action;
use crate::tables::entry::{Entry, EntryAction, EntryHandle, EntryPriority};
use crate::tables::key::FieldMatch;

/// A stored entry, unpacked only as far as it is asked.
#[derive(Clone, Copy, Debug)]
pub struct EntryView<'a> {
    pub(super) table: &'a Table,
    pub(super) slot: Slot,
}

impl<'a> EntryView<'a> {
    /// Its handle.
    #[must_use]
    pub const fn handle(&self) -> EntryHandle {
        EntryHandle(self.slot)
    }

    /// The stored key words ([`KeyLayout`](crate::tables::layout::KeyLayout) says what they mean).
    #[must_use]
    pub fn key_words(&self) -> &'a [u64] {
        self.table.records.key(self.slot)
    }

    /// Prefix length or priority, by the form of the key.
    #[must_use]
    pub fn rank(&self) -> i32 {
        self.table.records.rank(self.slot)
    }

    /// Zero in tables whose entries have none.
    #[must_use]
    pub fn priority(&self) -> EntryPriority {
        if self.table.layout.needs_priority() {
            EntryPriority(self.rank())
        } else {
            EntryPriority::default()
        }
    }

    /// Action word and arguments.
    #[must_use]
    pub fn action_row(&self) -> &'a [u64] {
        self.table.action_row(self.slot)
    }

    /// One canonical match per key field.
    #[must_use]
    pub fn key(&self) -> Vec<FieldMatch> {
        self.table.layout.unpack(self.key_words(), self.rank())
    }

    /// What the entry does.
    #[must_use]
    pub fn action(&self) -> EntryAction {
        let side = self.table.rare(self.slot).and_then(|s| s.one_shot.as_ref());
        let one_shot = side.map_or(&[][..], |o| &o.calls);
        action::unpack_action(self.action_row(), &self.table.spec.actions, one_shot)
    }

    /// Whether the program itself declares it `const`.
    #[must_use]
    pub fn is_const(&self) -> bool {
        self.table.records.is_const(self.slot)
    }

    /// The controller's own note.
    #[must_use]
    pub fn controller_metadata(&self) -> &'a [u8] {
        let side = self.table.rare(self.slot);
        side.map_or(&[], |s| &s.controller_metadata)
    }

    /// Reported idle after this long without a hit, if not zero.
    #[must_use]
    pub fn idle_timeout(&self) -> Nanos {
        let side = self.table.rare(self.slot);
        side.map_or(Nanos::default(), |s| s.idle_timeout)
    }

    /// All of it.
    #[must_use]
    pub fn to_entry(&self) -> Entry {
        Entry {
            key: self.key(),
            priority: self.priority(),
            action: self.action(),
            is_const: self.is_const(),
            controller_metadata: self.controller_metadata().to_vec(),
            idle_timeout: self.idle_timeout(),
        }
    }
}
