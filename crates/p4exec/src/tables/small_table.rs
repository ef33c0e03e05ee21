//! SmallTable entries, matched one and all: a table of up to [`MAX_ENTRIES`] entries whose key
//! packs into one or two words is asked by comparing the key with every entry, which takes fewer
//! steps than any index and no branch that depends on the packet.

use super::Slot;
use super::layout::{KeyForm, KeyLayout};
use super::records::Records;
use crate::value::Bits;

/// The most entries compared so.
pub(crate) const MAX_ENTRIES: usize = 16;

/// Tables that ever had more slots than this keep to their index: looking for the last entries
/// among many free slots at each removal would cost more than it gains.
const MAX_SLOTS: usize = 4 * MAX_ENTRIES;

/// The entries of a small table, the winner of any two first.
#[derive(Clone, Debug, Default)]
pub(crate) enum SmallTable {
    /// A table without keys.
    Keyless,
    /// Keys of one dense word: mask and value.
    OneWord(Vec<[u64; 2]>, Vec<Slot>),
    /// Keys of two: masks, then values.
    TwoWords(Vec<[u64; 4]>, Vec<Slot>),
    /// Too many, too long, or ranges among them: ask the index.
    #[default]
    Indexed,
}

impl SmallTable {
    /// The entries of a table as they are now.
    pub(crate) fn new(layout: &KeyLayout, records: &Records) -> Self {
        if layout.fields().is_empty() {
            return Self::Keyless;
        }
        let words = layout.dense_words();
        let suits = records.len() <= MAX_ENTRIES
            && records.slots() <= MAX_SLOTS
            && layout.ranges().is_empty()
            && matches!(words, 1 | 2);
        if !suits {
            return Self::Indexed;
        }
        let mut slots: Vec<Slot> = records.iter_from(0).collect();
        slots.sort_by_key(|slot| (std::cmp::Reverse(records.rank(*slot)), *slot));
        let masks = |slot: &Slot| mask(layout, records, *slot);
        let value = |slot: &Slot, word: usize| records.key(*slot)[word];
        if words == 1 {
            let entries = slots.iter().map(|s| [masks(s)[0], value(s, 0)]).collect();
            return Self::OneWord(entries, slots);
        }
        let entry = |s: &Slot| {
            let mask = masks(s);
            [mask[0], mask[1], value(s, 0), value(s, 1)]
        };
        Self::TwoWords(slots.iter().map(entry).collect(), slots)
    }

    /// The entries, winners first, each with its slot: masks, then values. `None` if they are many.
    pub(crate) fn entries(&self) -> Option<Vec<(&[u64], Slot)>> {
        fn pairs<'a, const N: usize>(
            entries: &'a [[u64; N]],
            slots: &[Slot],
        ) -> Vec<(&'a [u64], Slot)> {
            let entries = entries.iter().map(<[u64; N]>::as_slice);
            entries.zip(slots.iter().copied()).collect()
        }
        match self {
            Self::Keyless => Some(Vec::new()),
            Self::OneWord(entries, slots) => Some(pairs(entries, slots)),
            Self::TwoWords(entries, slots) => Some(pairs(entries, slots)),
            Self::Indexed => None,
        }
    }

    /// The winner for a dense key, if that can be said from here.
    #[inline]
    pub(crate) fn lookup(&self, key: &[u64]) -> Option<Option<Slot>> {
        let (hits, slots) = match (self, key) {
            (Self::OneWord(entries, slots), [key]) => {
                let hit = |[mask, value]: &[u64; 2]| key & mask == *value;
                (hits(entries, hit), slots)
            }
            (Self::TwoWords(entries, slots), [first, second]) => {
                let hit =
                    |[m0, m1, v0, v1]: &[u64; 4]| ((first & m0) ^ v0) | ((second & m1) ^ v1) == 0;
                (hits(entries, hit), slots)
            }
            (Self::Keyless, _) => return Some(None),
            _ => return None,
        };
        Some(slots.get(hits.trailing_zeros() as usize).copied())
    }
}

/// One bit per entry.
#[inline]
fn hits<const N: usize>(entries: &[[u64; N]], hit: impl Fn(&[u64; N]) -> bool) -> u32 {
    let bits = entries.iter().zip(0u32..);
    bits.fold(0, |hits, (entry, place)| {
        hits | u32::from(hit(entry)) << place
    })
}

/// The bits that an entry cares about.
fn mask(layout: &KeyLayout, records: &Records, slot: Slot) -> Vec<u64> {
    let words = layout.dense_words();
    match layout.form() {
        KeyForm::Exact => vec![u64::MAX; words],
        KeyForm::Masked => records.key(slot)[words..].to_vec(),
        KeyForm::Prefix { field } => {
            let mut mask = vec![u64::MAX; words];
            let width = layout.fields()[field].width;
            let mut ones = Vec::new();
            Bits::prefix_mask(width, records.rank(slot).unsigned_abs()).push_words(&mut ones);
            layout.write_field(field, &mut mask, ones.into_iter());
            mask
        }
    }
}
