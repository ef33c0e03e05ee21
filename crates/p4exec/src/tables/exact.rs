//! Exact match: a hash map from the packed key.

use super::{Slot, WordMap};

/// Entries by packed key.
#[derive(Clone, Debug, Default)]
pub(crate) struct ExactIndex {
    slots: WordMap<Slot>,
}

impl ExactIndex {
    pub(crate) fn insert(&mut self, key: Box<[u64]>, slot: Slot) {
        self.slots.insert(key, slot);
    }

    pub(crate) fn remove(&mut self, key: &[u64]) {
        self.slots.remove(key);
    }

    pub(crate) fn lookup(&self, key: &[u64]) -> Option<Slot> {
        self.slots.get(key).copied()
    }
}
