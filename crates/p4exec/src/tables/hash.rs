//! Hashing of packed keys, and an open-addressing index from hashes to slots.
//!
//! The index keeps 32 bits of hash beside each slot, so that it grows without reading a key, and
//! probes linearly: one cache line decides most lookups. The seeds are fixed: nothing here may
//! differ from run to run.

use super::prefetch_item;

/// Odd constants without structure (the fractional digits of pi).
const SEEDS: [u64; 4] = [
    0x243f_6a88_85a3_08d3,
    0x1319_8a2e_0370_7345,
    0xa409_3822_299f_31d1,
    0x082e_fa98_ec4e_6c89,
];

/// Both halves of a 128-bit product, folded.
const fn fold(a: u64, b: u64) -> u64 {
    let product = a as u128 * b as u128;
    (product as u64) ^ ((product >> 64) as u64)
}

/// The hash of words that an iterator-like function yields; `N` words are known to exist.
#[inline]
fn hash_with(count: usize, word: impl Fn(usize) -> u64) -> u32 {
    let hash = match count {
        0 => SEEDS[0],
        1 => fold(word(0) ^ SEEDS[0], SEEDS[1]),
        2 => fold(word(0) ^ SEEDS[0], word(1) ^ SEEDS[1]),
        _ => {
            let mut acc = SEEDS[2];
            let mut at = 0;
            while at + 1 < count {
                acc = fold(word(at) ^ acc, word(at + 1) ^ SEEDS[1]);
                at += 2;
            }
            if at < count {
                acc = fold(word(at) ^ acc, SEEDS[3]);
            }
            acc
        }
    };
    (hash >> 32) as u32
}

/// The hash of a packed key.
#[inline]
pub(crate) fn hash_words(words: &[u64]) -> u32 {
    hash_with(words.len(), |i| words[i])
}

/// The hash of `key & mask`.
#[inline]
pub(crate) fn hash_masked(key: &[u64], mask: &[u64]) -> u32 {
    let mask = &mask[..key.len()];
    hash_with(key.len(), |i| key[i] & mask[i])
}

/// No cell has this content: values stay below `u32::MAX`.
const EMPTY: u64 = u64::MAX;

/// The least number of cells.
const MIN_CELLS: usize = 8;

/// A multiset of (hash, value) pairs. At most five of eight cells are in use.
#[derive(Clone, Debug, Default)]
pub(crate) struct HashIndex {
    /// Hash in the upper half, value in the lower; a power of two of them, or none.
    cells: Vec<u64>,
    len: usize,
    /// 32 less the logarithm of the number of cells.
    shift: u32,
}

impl HashIndex {
    #[cfg(test)]
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    pub(crate) const fn cells(&self) -> usize {
        self.cells.len()
    }

    /// Bytes on the heap.
    pub(crate) const fn bytes(&self) -> usize {
        self.cells.capacity() * 8
    }

    const fn home(&self, cell: u64) -> usize {
        ((cell >> 32) >> self.shift) as usize
    }

    /// The cell of the first value with this hash that `is` says yes to.
    #[inline]
    pub(crate) fn find(&self, hash: u32, mut is: impl FnMut(u32) -> bool) -> Option<usize> {
        if self.cells.is_empty() {
            return None;
        }
        let mask = self.cells.len() - 1;
        let mut at = (hash >> self.shift) as usize & mask;
        loop {
            let cell = self.cells[at];
            if cell == EMPTY {
                return None;
            }
            if (cell >> 32) as u32 == hash && is(cell as u32) {
                return Some(at);
            }
            at = (at + 1) & mask;
        }
    }

    /// Asks for the first cell where a pair with this hash may be to be fetched to the cache.
    #[inline]
    pub(crate) fn prefetch(&self, hash: u32) {
        let home = self.home(u64::from(hash) << 32);
        prefetch_item(&self.cells, home);
    }

    /// What is in the first cell where a pair with this hash may be.
    pub(crate) fn first(&self, hash: u32) -> u32 {
        let home = self.home(u64::from(hash) << 32);
        self.cells.get(home).map_or(0, |cell| *cell as u32)
    }

    /// The value found so.
    #[inline]
    pub(crate) fn get(&self, hash: u32, is: impl FnMut(u32) -> bool) -> Option<u32> {
        self.find(hash, is).map(|at| self.cells[at] as u32)
    }

    /// The value in a cell that [`HashIndex::find`] named.
    pub(crate) fn value(&self, at: usize) -> u32 {
        self.cells[at] as u32
    }

    /// Replaces the value in such a cell.
    pub(crate) fn set_value(&mut self, at: usize, value: u32) {
        self.cells[at] = (self.cells[at] & !0xffff_ffff) | u64::from(value);
    }

    /// All pairs, in no order that means anything.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.cells
            .iter()
            .filter(|cell| **cell != EMPTY)
            .map(|cell| ((cell >> 32) as u32, *cell as u32))
    }

    /// Adds a pair, whether or not there is an equal one; says whether the cells were laid anew.
    pub(crate) fn insert(&mut self, hash: u32, value: u32) -> bool {
        let grows = (self.len + 1) * 8 > self.cells.len() * 5;
        if grows {
            self.resize((self.cells.len() * 2).max(MIN_CELLS));
        }
        self.put((u64::from(hash) << 32) | u64::from(value));
        self.len += 1;
        grows
    }

    fn put(&mut self, cell: u64) {
        let mask = self.cells.len() - 1;
        let mut at = self.home(cell);
        while self.cells[at] != EMPTY {
            at = (at + 1) & mask;
        }
        self.cells[at] = cell;
    }

    fn resize(&mut self, cells: usize) {
        let old = std::mem::replace(&mut self.cells, vec![EMPTY; cells]);
        self.shift = 32 - cells.trailing_zeros();
        for cell in old.into_iter().filter(|cell| *cell != EMPTY) {
            self.put(cell);
        }
    }

    /// Removes the pair in a cell; says whether the cells were laid anew.
    pub(crate) fn remove_at(&mut self, at: usize) -> bool {
        let mask = self.cells.len() - 1;
        let mut hole = at;
        let mut next = (at + 1) & mask;
        while self.cells[next] != EMPTY {
            let home = self.home(self.cells[next]);
            // A pair may move back to the hole if that is not before its home.
            if next.wrapping_sub(home) & mask >= next.wrapping_sub(hole) & mask {
                self.cells[hole] = self.cells[next];
                hole = next;
            }
            next = (next + 1) & mask;
        }
        self.cells[hole] = EMPTY;
        self.len -= 1;
        let shrinks = self.cells.len() > MIN_CELLS && self.len * 8 < self.cells.len();
        if shrinks {
            self.resize(self.cells.len() / 2);
        }
        shrinks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// SmallTable homes, so that runs are long and wrap around.
        #[test]
        fn an_index_is_a_set(steps in proptest::collection::vec((any::<bool>(), 0u32..40), 1..300)) {
            let hash = |v: u32| (v % 5) << 29 | (v % 3);
            let mut index = HashIndex::default();
            let mut model = BTreeSet::new();
            for (add, value) in steps {
                let found = index.find(hash(value), |v| v == value);
                prop_assert_eq!(found.is_some(), model.contains(&value));
                match (add, found) {
                    (true, None) => {
                        index.insert(hash(value), value);
                        model.insert(value);
                    }
                    (false, Some(at)) => {
                        index.remove_at(at);
                        model.remove(&value);
                    }
                    _ => {}
                }
                prop_assert_eq!(index.len(), model.len());
                for v in &model {
                    prop_assert_eq!(index.get(hash(*v), |w| w == *v), Some(*v));
                }
            }
        }
    }

    #[test]
    fn neighbours_hash_apart() {
        let homes: BTreeSet<u32> = (0..4096u64).map(|n| hash_words(&[n]) >> 16).collect();
        assert!(homes.len() > 3800, "{} of 4096", homes.len());
        let homes: BTreeSet<u32> = (0..4096u64)
            .map(|n| hash_words(&[n & 63, n >> 6]) >> 16)
            .collect();
        assert!(homes.len() > 3800, "{} of 4096", homes.len());
    }
}
