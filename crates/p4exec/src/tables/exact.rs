//! Exact match: one hash of the dense key, one probe, one comparison.

use super::Slot;
use super::hash::{HashIndex, hash_words};
use super::records::Records;

/// Entries by dense key.
#[derive(Clone, Debug, Default)]
pub(crate) struct ExactIndex {
    slots: HashIndex,
}

impl ExactIndex {
    pub(crate) fn insert(&mut self, records: &Records, slot: Slot) {
        self.slots.insert(hash_words(records.key(slot)), slot);
    }

    pub(crate) fn remove(&mut self, records: &Records, slot: Slot) {
        let hash = hash_words(records.key(slot));
        if let Some(at) = self.slots.find(hash, |s| s == slot) {
            self.slots.remove_at(at);
        }
    }

    /// Asks for what a look-up of a key begins with; the key's hash.
    #[inline]
    pub(crate) fn begin(&self, key: &[u64]) -> u32 {
        let hash = hash_words(key);
        self.slots.prefetch(hash);
        hash
    }

    /// Asks for the record that a look-up with this hash probably finds.
    #[inline]
    pub(crate) fn go_on(&self, records: &Records, hash: u32) {
        records.prefetch(self.slots.first(hash));
    }

    #[inline]
    pub(crate) fn lookup(&self, records: &Records, key: &[u64]) -> Option<Slot> {
        // The usual lengths as constants, so that hashing does not loop.
        let hash = match *key {
            [a] => hash_words(&[a]),
            [a, b] => hash_words(&[a, b]),
            [a, b, c] => hash_words(&[a, b, c]),
            _ => hash_words(key),
        };
        self.end(records, key, hash)
    }

    /// [`ExactIndex::lookup`] of a key whose hash is known.
    #[inline]
    pub(crate) fn end(&self, records: &Records, key: &[u64], hash: u32) -> Option<Slot> {
        // The usual lengths as constants, so that comparing neither loops nor calls.
        match *key {
            [a] => self.slots.get(hash, |slot| records.key(slot) == [a]),
            [a, b] => self.slots.get(hash, |slot| records.key(slot) == [a, b]),
            [a, b, c] => self.slots.get(hash, |slot| records.key(slot) == [a, b, c]),
            _ => self.slots.get(hash, |slot| records.key(slot) == key),
        }
    }

    pub(crate) const fn bytes(&self) -> usize {
        self.slots.bytes()
    }
}
