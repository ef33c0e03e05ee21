//! Look-ups of several keys in three steps, with other work between them: a look-up has to wait for
//! memory a few times, one time after the other, and what a step will read is asked for in the step
//! before, for all keys together.

use super::{Index, Table};
use crate::tables::lpm::Ways;
use crate::tables::small_table::SmallTable;
use crate::tables::tuple_space::Candidate;
use crate::tables::{Slot, TOGETHER};

/// What look-ups of at most [`TOGETHER`] keys have come to; its memory is kept from one use to the
/// next.
#[derive(Debug, Default)]
pub(crate) struct Together {
    hashes: [u32; TOGETHER],
    ways: Ways,
    candidates: Vec<Candidate>,
}

impl Table {
    /// Whether look-ups of such keys go through the index.
    fn is_indexed(&self, keys: &[&[u64]]) -> bool {
        matches!(self.small, SmallTable::Indexed)
            && !self.is_empty()
            && keys.len() <= TOGETHER
            && keys
                .iter()
                .all(|key| key.len() == self.layout.dense_words())
    }

    /// The first step, which is short, for the key of one place.
    #[inline]
    pub(crate) fn begin_together(&self, place: usize, key: &[u64], together: &mut Together) {
        if let (Index::Exact(index), Some(hash)) = (&self.index, together.hashes.get_mut(place)) {
            *hash = index.begin(key);
        }
    }

    /// The second step, for all keys by their places.
    pub(crate) fn go_on_together(&self, keys: &[&[u64]], together: &mut Together) {
        if !self.is_indexed(keys) {
            return;
        }
        match &self.index {
            Index::Exact(index) => {
                let hashes = together.hashes.iter().take(keys.len());
                hashes.for_each(|hash| index.go_on(&self.records, *hash));
            }
            Index::Lpm(index) => index.go_down(&self.layout, keys, &mut together.ways),
            Index::Tuples(index) => {
                index.begin_together(&self.records, keys, &mut together.candidates);
            }
        }
    }

    /// The last step: what [`Table::lookup_dense`] finds for each key, by their places. Their
    /// records will be read next.
    pub(crate) fn end_together(
        &self,
        keys: &[&[u64]],
        together: &Together,
    ) -> [Option<Slot>; TOGETHER] {
        let mut found = [None; TOGETHER];
        match &self.index {
            Index::Tuples(index) if self.is_indexed(keys) => {
                let (layout, records) = (&self.layout, &self.records);
                return index.end_together(layout, records, keys, &together.candidates);
            }
            Index::Exact(index) if self.is_indexed(keys) => {
                let known = found.iter_mut().zip(keys).zip(together.hashes);
                for ((found, key), hash) in known {
                    *found = index.end(&self.records, key, hash);
                }
            }
            Index::Lpm(index) if self.is_indexed(keys) => {
                let ends = index.end(&together.ways).take(keys.len());
                for (found, end) in found.iter_mut().zip(ends) {
                    *found = end;
                    found.iter().for_each(|slot| self.records.prefetch(*slot));
                }
            }
            _ => {
                for (found, key) in found.iter_mut().zip(keys) {
                    *found = self.lookup_dense(key);
                }
            }
        }
        found
    }
}
