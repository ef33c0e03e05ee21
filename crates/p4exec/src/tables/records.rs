//! The entries of a table as packed records side by side, without a pointer in them.
//!
//! A record is `[head][stored key][action word][arguments]`; all records of a table have the same
//! length. Slots are handed out and taken back like a stack, so that two copies of a table that
//! see the same operations have the same slots, and taking operations back in reverse order
//! restores the stack exactly.

use super::{Slot, prefetch_item};

/// The record is in use.
const USED: u64 = 1 << 32;
/// The program itself declares the entry `const`.
pub(crate) const CONST: u64 = 1 << 33;

/// Slots a table may have.
pub(crate) const MAX_SLOTS: u32 = 1 << 31;

/// See the module documentation.
#[derive(Clone, Debug)]
pub(crate) struct Records {
    words: Vec<u64>,
    stride: usize,
    key_words: usize,
    free: Vec<Slot>,
    len: usize,
}

/// The head of a record.
pub(crate) const fn head(rank: i32, is_const: bool) -> u64 {
    (rank as u32) as u64 | USED | if is_const { CONST } else { 0 }
}

/// The prefix length or priority in a head.
pub(crate) const fn rank(head: u64) -> i32 {
    head as u32 as i32
}

impl Records {
    pub(crate) const fn new(key_words: usize, arg_words: usize) -> Self {
        Self {
            words: Vec::new(),
            stride: 2 + key_words + arg_words,
            key_words,
            free: Vec::new(),
            len: 0,
        }
    }

    /// Words of one record.
    pub(crate) const fn stride(&self) -> usize {
        self.stride
    }

    /// Records in use.
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// Slots ever in use at once: all records lie below.
    pub(crate) const fn slots(&self) -> usize {
        self.words.len() / self.stride
    }

    /// Bytes on the heap.
    pub(crate) const fn bytes(&self) -> usize {
        self.words.capacity() * 8 + self.free.capacity() * 4
    }

    const fn base(&self, slot: Slot) -> usize {
        slot as usize * self.stride
    }

    /// Whether a record is in use.
    pub(crate) fn is_used(&self, slot: Slot) -> bool {
        self.words
            .get(self.base(slot))
            .is_some_and(|head| head & USED != 0)
    }

    pub(crate) fn is_const(&self, slot: Slot) -> bool {
        self.words[self.base(slot)] & CONST != 0
    }

    /// Prefix length or priority.
    #[inline]
    pub(crate) fn rank(&self, slot: Slot) -> i32 {
        rank(self.words[self.base(slot)])
    }

    /// The stored key.
    #[inline]
    pub(crate) fn key(&self, slot: Slot) -> &[u64] {
        let at = self.base(slot) + 1;
        &self.words[at..at + self.key_words]
    }

    /// Asks for a record to be fetched to the cache, if there is one.
    #[inline]
    pub(crate) fn prefetch(&self, slot: Slot) {
        let base = self.base(slot);
        prefetch_item(&self.words, base);
        prefetch_item(&self.words, base + self.stride - 1);
    }

    /// Where all records are in memory.
    pub(crate) fn address(&self) -> usize {
        self.words.as_ptr().addr()
    }

    /// Action word and arguments.
    #[inline]
    pub(crate) fn row(&self, slot: Slot) -> &[u64] {
        let base = self.base(slot);
        &self.words[base + 1 + self.key_words..base + self.stride]
    }

    pub(crate) fn row_mut(&mut self, slot: Slot) -> &mut [u64] {
        let base = self.base(slot);
        &mut self.words[base + 1 + self.key_words..base + self.stride]
    }

    /// A whole record.
    pub(crate) fn record(&self, slot: Slot) -> &[u64] {
        &self.words[self.base(slot)..self.base(slot) + self.stride]
    }

    /// Adds a record put together from its parts; says whether the slot was never used before.
    pub(crate) fn add(&mut self, head: u64, key: &[u64], row: &[u64]) -> (Slot, bool) {
        self.len += 1;
        if let Some(slot) = self.free.pop() {
            let base = self.base(slot);
            let record = &mut self.words[base..base + self.stride];
            record[0] = head;
            record[1..=self.key_words].copy_from_slice(key);
            let (given, rest) = record[1 + self.key_words..].split_at_mut(row.len());
            given.copy_from_slice(row);
            rest.fill(0);
            return (slot, false);
        }
        let slot = self.slots() as Slot;
        self.words.push(head);
        self.words.extend_from_slice(key);
        self.words.extend_from_slice(row);
        self.words.resize(self.base(slot + 1), 0);
        (slot, true)
    }

    /// Takes a record out of use.
    pub(crate) fn remove(&mut self, slot: Slot) {
        let base = self.base(slot);
        self.words[base] = 0;
        self.free.push(slot);
        self.len -= 1;
    }

    /// Takes back an [`Records::add`] that was the last one not taken back.
    pub(crate) fn undo_add(&mut self, slot: Slot, fresh: bool) {
        if fresh {
            self.words.truncate(self.base(slot));
            self.len -= 1;
        } else {
            self.remove(slot);
        }
    }

    /// Takes back a [`Records::remove`] that was the last one not taken back.
    pub(crate) fn undo_remove(&mut self, slot: Slot, record: &[u64]) {
        let popped = self.free.pop();
        debug_assert_eq!(popped, Some(slot), "operations are taken back in reverse");
        let base = self.base(slot);
        self.words[base..base + self.stride].copy_from_slice(record);
        self.len += 1;
    }

    /// The slots in use from `from` on, in rising order.
    pub(crate) fn iter_from(&self, from: Slot) -> impl Iterator<Item = Slot> + '_ {
        (from..self.slots() as Slot).filter(|slot| self.is_used(*slot))
    }
}
