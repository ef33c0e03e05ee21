//! One tuple of the tuple space: all places of entries that are found under one mask.

use std::cmp::Reverse;

use super::hash::HashIndex;
use super::layout::KeyLayout;
use super::records::Records;
use super::{Slot, prefetch_item};

/// In a value of the map: the rest of it is the number of a list.
const LIST: u32 = 1 << 31;

/// Bits of the filter for each cell of the map; at most one in thirteen is set, so that one hash
/// in a hundred that is not there passes.
const FILTER_BITS: usize = 16;

/// The two bits of a hash in its word of the filter.
const fn filter_bits(hash: u32) -> u64 {
    let mixed = hash.wrapping_mul(0x9e37_79b1);
    1 << (mixed >> 26) | 1 << (mixed >> 20 & 63)
}

/// The winner so far: its priority and slot.
pub(crate) type Best = Option<(i32, Slot)>;

/// Entries by the hash of their masked value. Several of one hash form a list in falling priority,
/// then rising slot.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tuple {
    /// The bits that all entries here care about; they may care about more.
    pub(crate) mask: Box<[u64]>,
    /// Two bits in one word for each hash that is present; some of hashes long gone.
    filter: Vec<u64>,
    /// No entry has a larger priority.
    pub(crate) reach: i32,
    map: HashIndex,
    lists: Vec<Vec<Slot>>,
    free_lists: Vec<u32>,
    places: usize,
    /// Places removed since the filter was made anew.
    removed: usize,
    /// Masks whose entries are here.
    pub(crate) masks: usize,
}

impl Tuple {
    pub(crate) fn new(mask: &[u64]) -> Self {
        Self {
            mask: mask.into(),
            reach: i32::MIN,
            ..Self::default()
        }
    }

    /// Places of entries.
    pub(crate) const fn places(&self) -> usize {
        self.places
    }

    /// Where the filter has the bits of a hash, if there is a filter.
    #[inline]
    const fn filter_word(&self, hash: u32) -> usize {
        hash as usize & self.filter.len().wrapping_sub(1)
    }

    /// Whether an entry of this hash may be here.
    #[inline]
    pub(crate) fn may_have(&self, hash: u32) -> bool {
        let at = self.filter_word(hash);
        let bits = filter_bits(hash);
        self.filter.get(at).is_some_and(|word| word & bits == bits)
    }

    fn set_filter(&mut self, hash: u32) {
        let at = self.filter_word(hash);
        self.filter[at] |= filter_bits(hash);
    }

    fn make_filter(&mut self) {
        let words = (self.map.cells() * FILTER_BITS).div_ceil(64);
        self.filter.clear();
        self.filter.resize(words, 0);
        let map = std::mem::take(&mut self.map);
        for (hash, _) in map.iter() {
            self.set_filter(hash);
        }
        self.map = map;
        self.removed = 0;
    }

    /// The slots behind a value of the map.
    #[inline]
    fn slots<'a>(&'a self, value: &'a u32) -> &'a [Slot] {
        if *value & LIST == 0 {
            std::slice::from_ref(value)
        } else {
            &self.lists[(*value & !LIST) as usize]
        }
    }

    /// Adds a place at the end of its list; the list's number and new length, if there is a list.
    /// [`Tuple::add`] and [`Tuple::settle`] see to the order.
    pub(crate) fn gather(&mut self, hash: u32, slot: Slot) -> Option<(u32, usize)> {
        self.places += 1;
        let Some(at) = self.map.find(hash, |_| true) else {
            if self.map.insert(hash, slot) {
                self.make_filter();
            } else {
                self.set_filter(hash);
            }
            return None;
        };
        let value = self.map.value(at);
        let list = if value & LIST == 0 {
            let list = self.free_lists.pop().unwrap_or_else(|| {
                self.lists.push(Vec::new());
                self.lists.len() as u32 - 1
            });
            self.lists[list as usize].push(value);
            self.map.set_value(at, list | LIST);
            list
        } else {
            value & !LIST
        };
        self.lists[list as usize].push(slot);
        Some((list, self.lists[list as usize].len()))
    }

    /// Adds a place; returns how many entries now share its hash.
    pub(crate) fn add(&mut self, records: &Records, hash: u32, slot: Slot) -> usize {
        self.reach = self.reach.max(records.rank(slot));
        let Some((list, len)) = self.gather(hash, slot) else {
            return 1;
        };
        let list = &mut self.lists[list as usize];
        let rank = (Reverse(records.rank(slot)), slot);
        let sorted = &list[..len - 1];
        let at = sorted.partition_point(|s| (Reverse(records.rank(*s)), *s) < rank);
        list[at..].rotate_right(1);
        len
    }

    /// Brings the lists in order after [`Tuple::gather`].
    pub(crate) fn settle(&mut self, records: &Records) {
        for list in &mut self.lists {
            list.sort_unstable_by_key(|s| (Reverse(records.rank(*s)), *s));
        }
        self.lower_reach(records);
    }

    /// Removes a place that was added.
    pub(crate) fn remove(&mut self, records: &Records, hash: u32, slot: Slot) {
        let Some(at) = self.map.find(hash, |_| true) else {
            return;
        };
        let value = self.map.value(at);
        let mut laid_anew = false;
        if value & LIST == 0 {
            laid_anew = self.map.remove_at(at);
        } else {
            let list = &mut self.lists[(value & !LIST) as usize];
            let rank = (Reverse(records.rank(slot)), slot);
            if let Ok(place) = list.binary_search_by_key(&rank, |s| (Reverse(records.rank(*s)), *s))
            {
                list.remove(place);
            }
            if let [last] = list[..] {
                // A list that was long gives its memory back with its last but one entry.
                *list = Vec::new();
                self.free_lists.push(value & !LIST);
                self.map.set_value(at, last);
            }
        }
        self.places -= 1;
        self.removed += 1;
        if laid_anew || self.removed > self.places + 8 {
            self.make_filter();
            self.lower_reach(records);
        }
    }

    fn lower_reach(&mut self, records: &Records) {
        let best = |value: u32| self.slots(&value).first().map(|s| records.rank(*s));
        let reach = self.map.iter().filter_map(|(_, value)| best(value)).max();
        self.reach = reach.unwrap_or(i32::MIN);
    }

    /// Asks for what [`Tuple::may_have`] reads.
    #[inline]
    pub(crate) fn prefetch_filter(&self, hash: u32) {
        prefetch_item(&self.filter, self.filter_word(hash));
    }

    /// Asks for where the map has an entry of this hash.
    #[inline]
    pub(crate) fn prefetch_map(&self, hash: u32) {
        self.map.prefetch(hash);
    }

    /// Asks for the record, or the list of slots, that the map probably has for this hash.
    #[inline]
    pub(crate) fn prefetch_entry(&self, records: &Records, hash: u32) {
        let value = self.map.first(hash);
        if value & LIST == 0 {
            records.prefetch(value);
        } else if let Some(list) = self.lists.get((value & !LIST) as usize) {
            prefetch_item(list, 0);
        }
    }

    /// The better of `best` and what matches `key` here.
    #[inline]
    pub(crate) fn search(
        &self,
        layout: &KeyLayout,
        records: &Records,
        hash: u32,
        key: &[u64],
        best: Best,
    ) -> Best {
        let Some(at) = self.map.find(hash, |_| true) else {
            return best;
        };
        for slot in self.slots(&self.map.value(at)) {
            let rank = records.rank(*slot);
            if best.is_some_and(|(top, first)| rank < top || (rank == top && *slot >= first)) {
                break;
            }
            if layout.verify(records.key(*slot), key) {
                return Some((rank, *slot));
            }
        }
        best
    }

    /// The entry with exactly this stored key and rank.
    pub(crate) fn find(
        &self,
        records: &Records,
        hash: u32,
        stored: &[u64],
        rank: i32,
    ) -> Option<Slot> {
        let at = self.map.find(hash, |_| true)?;
        let value = self.map.value(at);
        let slots = self.slots(&value);
        let first = slots.partition_point(|s| records.rank(*s) > rank);
        slots[first..]
            .iter()
            .copied()
            .take_while(|s| records.rank(*s) == rank)
            .find(|s| records.key(*s) == stored)
    }

    /// Entries a lookup that hits somewhere here checks on average.
    pub(crate) fn crowding(&self) -> usize {
        let squares: usize = self
            .map
            .iter()
            .map(|(_, v)| self.slots(&v).len().pow(2))
            .sum();
        squares / self.places.max(1)
    }

    /// Bytes on the heap.
    pub(crate) fn bytes(&self) -> usize {
        let lists: usize = self.lists.iter().map(|l| 24 + l.capacity() * 4).sum();
        self.map.bytes() + self.filter.capacity() * 8 + self.mask.len() * 8 + lists
    }
}
