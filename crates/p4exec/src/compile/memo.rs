//! What recent lookups found: per table, a small direct-mapped store from key words to entries.
//!
//! Packets of one flow ask the same questions; answering them from here costs one hash and one
//! comparison whatever the table's match structure costs. An answer holds for the
//! [`Epoch`] of its table that it was found in.

use p4ir::Entity as _;

use super::epoch::{Changed, Epoch, LookupCache};
use crate::tables::Slot;

/// Words of the longest key that is remembered, or looked up ahead.
pub(super) const KEY_WORDS: usize = 4;

/// Answers kept per table.
pub(super) const LINES: usize = 256;

/// A lookup that found nothing.
const MISS: Slot = Slot::MAX;

/// One answer, on a line of the processor's cache of its own: else every second one would lie on
/// two.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
struct Line {
    key: [u64; KEY_WORDS],
    slot: Slot,
    /// The table's epoch when it was found; 0 if nothing was.
    epoch: Epoch,
}

impl Line {
    // Apart from [`Memo::find`], whose stack would else be laid out for a line of it in every
    // lookup.
    #[inline(never)]
    fn set(&mut self, key: [u64; KEY_WORDS], slot: Slot, epoch: Epoch) {
        *self = Self { key, slot, epoch };
    }
}

/// Whether keys are the same, word by word: compared as a whole, one would first be written to
/// memory and then waited for.
#[inline]
fn same(a: &[u64; KEY_WORDS], b: &[u64; KEY_WORDS]) -> bool {
    let differences = a.iter().zip(b).map(|(a, b)| a ^ b);
    differences.fold(0, |all, difference| all | difference) == 0
}

/// See the module documentation.
#[derive(Debug)]
pub(super) struct Memo {
    tables: Vec<Kept>,
}

/// The answers of one table.
#[derive(Debug)]
struct Kept {
    epoch: Epoch,
    /// Made when the table is first looked up.
    lines: Option<Box<[Line; LINES]>>,
}

impl Memo {
    /// A memo for so many tables.
    pub(super) fn new(tables: usize) -> Self {
        Self {
            tables: (0..tables)
                .map(|_| Kept {
                    epoch: 1,
                    lines: None,
                })
                .collect(),
        }
    }

    /// Begins an epoch of a table.
    fn begin(&mut self, table: usize, epoch: Epoch) {
        self.tables[table].epoch = epoch;
    }

    /// The answer for a key of a table, from here or from `look_up`.
    #[inline]
    pub(super) fn find(
        &mut self,
        table: usize,
        key: &[u64],
        look_up: impl FnOnce() -> Option<Slot>,
    ) -> Option<Slot> {
        let (key, sum) = match *key {
            [a] => ([a, 0, 0, 0], sum([a])),
            [a, b] => ([a, b, 0, 0], sum([a, b])),
            [a, b, c] => ([a, b, c, 0], sum([a, b, c])),
            [a, b, c, d] => ([a, b, c, d], sum([a, b, c, d])),
            _ => return look_up(),
        };
        let Some(Kept { epoch, lines }) = self.tables.get_mut(table) else {
            return look_up();
        };
        let lines = lines.get_or_insert_with(lines_of_table);
        let line = &mut lines[line_at(sum)];
        if line.epoch != *epoch || !same(&line.key, &key) {
            line.set(key, look_up().unwrap_or(MISS), *epoch);
        }
        (line.slot != MISS).then_some(line.slot)
    }
}

impl LookupCache for Memo {
    fn renew(&mut self, changed: &Changed<'_>) {
        self.begin(changed.id.index(), changed.epoch);
    }
}

/// No answers yet. Apart from [`Memo::find`], whose stack would else hold them in every lookup.
#[cold]
#[inline(never)]
fn lines_of_table() -> Box<[Line; LINES]> {
    Box::new([Line::default(); LINES])
}

/// What the words of a key are multiplied with.
pub(super) const FACTORS: [u64; KEY_WORDS] = [
    0x9e37_79b9_7f4a_7c15,
    0xbf58_476d_1ce4_e5b9,
    0x94d0_49bb_1331_11eb,
    0xd6e8_feb8_6659_fd93,
];

/// A key filled up with zeroes, if it is not too long.
#[inline]
pub(super) fn padded(key: &[u64]) -> Option<[u64; KEY_WORDS]> {
    let mut words = [0; KEY_WORDS];
    words.get_mut(..key.len())?.copy_from_slice(key);
    Some(words)
}

/// The line of a key, filled up with zeroes.
#[inline]
pub(super) fn line_of(key: &[u64; KEY_WORDS]) -> usize {
    line_at(sum(*key))
}

/// The line of the keys that have a [`sum`].
#[inline]
const fn line_at(sum: u64) -> usize {
    (sum >> (64 - LINES.trailing_zeros())) as usize
}

/// A sum of products of a key's words with odd constants; its top bits are the key's line. Words
/// that are zero add nothing, so keys with zeros behind have the sum of those without.
#[inline]
fn sum<const N: usize>(key: [u64; N]) -> u64 {
    key.iter().zip(FACTORS).fold(0, |sum, (word, factor)| {
        sum.wrapping_add((word ^ (word >> 32)).wrapping_mul(factor))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_those_of_the_lookup_in_their_epoch() {
        let mut memo = Memo::new(2);
        let keys: Vec<[u64; 3]> = (0..2000).map(|i| [i % 700, i % 3, 7]).collect();
        for round in 1..4u32 {
            let answer = |key: &[u64; 3]| {
                let sum = (key[0] + key[1]) as u32 + round;
                (!sum.is_multiple_of(5)).then_some(sum)
            };
            memo.begin(1, round.into());
            for key in &keys {
                assert_eq!(memo.find(1, key, || answer(key)), answer(key));
            }
        }
        let same = [1, 2, 3];
        assert_eq!(memo.find(0, &same, || Some(9)), Some(9));
        assert_eq!(memo.find(0, &same, || None), Some(9), "kept");
        assert_eq!(memo.find(1, &same, || None), None, "another table");
        assert_eq!(memo.find(0, &[1; 9], || Some(4)), Some(4), "too long");
        assert_eq!(memo.find(0, &[1; 9], || None), None);
    }
}
