//! Ternary, range, optional and mixed match by tuple-space search (Srinivasan99)
//! with merged tuples (as in TupleMerge19).
//!
//! Entries with the same mask share a tuple, which is found by one hash of the masked key. A lookup
//! asks the tuples in falling order of their best priority and stops at the first that cannot win
//! any more; a filter of a few bits per entry turns most of them down. When tuples become many,
//! those whose masks have enough bits in common are merged under the common bits: fewer hashes per
//! lookup, a few more entries to compare ([`merge`]). Every comparison is with the whole entry, so
//! merging never changes a result.
//!
//! A set whose masks have nothing in common (every entry another random mask) cannot be merged; it
//! stays correct, takes no more memory than another, and is slower: the number of tuples is
//! bounded, and what exceeds it is searched in lists.
//!
//! [`merge`]: super::merge

use std::collections::HashMap;

use smallvec::SmallVec;

use super::hash::hash_masked;
use super::layout::{KeyLayout, low_ones};
use super::merge::{self, MAX_TUPLES};
use super::records::Records;
use super::tuple::{Best, Tuple};
use super::{Slot, TOGETHER, WordMap};

/// Tuples up to which nothing is merged.
const FEW: usize = 12;
/// Entries of one hash that make a merged tuple suspicious.
const CROWD: usize = 12;
/// Range fields of an entry that may be cut in two, each doubling its places.
const MAX_CUTS: usize = 2;
/// Free bits of the blocks around ranges come in steps of so many.
const STEP: u32 = 4;

/// What is known about one mask.
#[derive(Clone, Copy, Debug)]
pub(super) struct MaskUse {
    pub(super) tuple: u32,
    pub(super) places: usize,
}

/// The tuple space of one table.
#[derive(Clone, Debug)]
pub(crate) struct TupleSpace {
    tuples: Vec<Tuple>,
    free: Vec<u32>,
    /// The tuples in use by falling reach, then number.
    order: Vec<(i32, u32)>,
    by_mask: WordMap<MaskUse>,
    /// Merge when there are more tuples than this.
    limit: usize,
    /// Merge anew when a tuple is crowded and there are more places than this.
    check_at: usize,
    places: usize,
}

/// A tuple that may have an entry for one of many keys.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate {
    /// The key's place among them.
    which: u32,
    tuple: u32,
    /// Of the key under the tuple's mask.
    hash: u32,
}

/// Words of a place's value or mask.
type Words = SmallVec<[u64; 4]>;

/// The aligned block of `2^free` values around `value`, as value and mask.
const fn block(value: u128, free: u32) -> (u128, u128) {
    let mask = if free >= 128 { 0 } else { u128::MAX << free };
    (value & mask, mask)
}

/// Bits that a block must leave free for its values to differ so, in steps of four: fewer
/// different masks are worth blocks that are up to eight times as large.
const fn free_bits(differing: u128) -> u32 {
    (128 - differing.leading_zeros()).next_multiple_of(STEP)
}

/// At most two aligned blocks that together hold `low..=high`: the range is cut where the first
/// differing bit of its bounds changes, and each half is enclosed in a block around it.
pub(super) const fn range_blocks(low: u128, high: u128) -> [Option<(u128, u128)>; 2] {
    let differing = low ^ high;
    if differing == 0 {
        return [Some(block(low, 0)), None];
    }
    let middle = 127 - differing.leading_zeros();
    let inner = (1u128 << middle) - 1;
    let (below, above) = (inner ^ (low & inner), high & inner);
    // Two blocks are worth it only if both are smaller than the one that holds all.
    let all = free_bits(differing);
    let (left, right) = (free_bits(below), free_bits(above));
    if left >= all || right >= all {
        return [Some(block(low, all)), None];
    }
    [Some(block(low, left)), Some(block(high, right))]
}

/// Calls `put` with value and mask of every place of a stored key.
pub(super) fn each_place(layout: &KeyLayout, stored: &[u64], mut put: impl FnMut(&[u64], &[u64])) {
    let (value, mask) = stored.split_at(layout.dense_words());
    if layout.ranges().is_empty() {
        return put(value, mask);
    }
    let unranged = |half: &[u64]| -> Words {
        let words = half.iter().zip(layout.unranged());
        words.map(|(w, u)| w & u).collect()
    };
    let mut places: SmallVec<[(Words, Words); 4]> = SmallVec::new();
    places.push((unranged(value), unranged(mask)));
    let mut cuts = 0;
    for field in layout.ranges() {
        let width = layout.fields()[*field].width;
        if width > 128 {
            // Found by the other fields only; the exact bounds are compared in the end.
            continue;
        }
        let number = |half: &[u64]| {
            let words = layout.field_in(*field, half);
            words.fold(0u128, |acc, word| (acc << 64) | u128::from(word))
        };
        let (low, high) = (number(value), number(mask));
        let mut blocks = range_blocks(low, high);
        if blocks[1].is_some() {
            cuts += 1;
            if cuts > MAX_CUTS {
                blocks = [Some(block(low, free_bits(low ^ high))), None];
            }
        }
        let words = |number: u128| {
            let high = (width > 64).then_some((number >> 64) as u64);
            let low = (number as u64) & low_ones(width.min(64));
            high.into_iter().chain(std::iter::once(low))
        };
        let [first, second] = blocks;
        for at in 0..places.len() {
            if let Some((own_value, own_mask)) = second {
                let (mut value, mut mask) = places[at].clone();
                layout.write_field(*field, &mut value, words(own_value));
                layout.write_field(*field, &mut mask, words(own_mask));
                places.push((value, mask));
            }
            if let Some((own_value, own_mask)) = first {
                let (value, mask) = &mut places[at];
                layout.write_field(*field, value, words(own_value));
                layout.write_field(*field, mask, words(own_mask));
            }
        }
    }
    for (value, mask) in &places {
        put(value, mask);
    }
}

impl Default for TupleSpace {
    fn default() -> Self {
        Self {
            tuples: Vec::new(),
            free: Vec::new(),
            order: Vec::new(),
            by_mask: HashMap::default(),
            limit: FEW,
            check_at: 1024,
            places: 0,
        }
    }
}

impl TupleSpace {
    pub(crate) fn insert(&mut self, layout: &KeyLayout, records: &Records, slot: Slot) {
        let mut crowded = false;
        each_place(layout, records.key(slot), |value, mask| {
            crowded |= self.add(records, value, mask, slot);
        });
        if self.order.len() > self.limit || (crowded && self.places > self.check_at) {
            self.merge(layout, records);
        }
    }

    /// Adds a place; says whether a merged tuple seems crowded.
    fn add(&mut self, records: &Records, value: &[u64], mask: &[u64], slot: Slot) -> bool {
        let id = match self.by_mask.get_mut(mask) {
            Some(known) => {
                known.places += 1;
                known.tuple
            }
            None => {
                let tuple = self.tuple_for(mask);
                self.by_mask
                    .insert(mask.into(), MaskUse { tuple, places: 1 });
                self.tuples[tuple as usize].masks += 1;
                tuple
            }
        };
        self.places += 1;
        let tuple = &mut self.tuples[id as usize];
        let before = tuple.reach;
        let sharing = tuple.add(records, hash_masked(value, &tuple.mask), slot);
        let (reach, merged) = (tuple.reach, tuple.masks > 1);
        self.move_to(id, before, reach);
        merged && sharing > CROWD
    }

    /// The tuple for a mask that is new: one under whose mask it may go without harm, else its own.
    fn tuple_for(&mut self, mask: &[u64]) -> u32 {
        let full = self.order.len() >= MAX_TUPLES;
        let within = |own: &[u64]| own.iter().zip(mask).all(|(o, m)| o & m == *o);
        let fits = |t: &Tuple| {
            full || merge::tells_apart(merge::ones(&t.mask), t.places() + 1, merge::STRICT)
        };
        let place = self
            .order
            .iter()
            .map(|(_, id)| *id)
            .filter(|id| {
                let tuple = &self.tuples[*id as usize];
                within(&tuple.mask) && (*tuple.mask == *mask || fits(tuple))
            })
            .max_by_key(|id| merge::ones(&self.tuples[*id as usize].mask));
        match place {
            Some(id) => id,
            // The tuple of no bits takes what nothing else does.
            None if full => self.open(&vec![0; mask.len()]),
            None => self.open(mask),
        }
    }

    fn open(&mut self, mask: &[u64]) -> u32 {
        let tuple = Tuple::new(mask);
        let reach = tuple.reach;
        let id = if let Some(id) = self.free.pop() {
            self.tuples[id as usize] = tuple;
            id
        } else {
            self.tuples.push(tuple);
            self.tuples.len() as u32 - 1
        };
        let at = self.rank_of(reach, id);
        self.order.insert(at, (reach, id));
        id
    }

    /// Where a tuple is, or belongs, in the order.
    fn rank_of(&self, reach: i32, id: u32) -> usize {
        self.order
            .partition_point(|(r, i)| *r > reach || (*r == reach && *i < id))
    }

    fn move_to(&mut self, id: u32, before: i32, after: i32) {
        if before == after {
            return;
        }
        let from = self.rank_of(before, id);
        let to = self.rank_of(after, id);
        if after > before {
            self.order[to..=from].rotate_right(1);
            self.order[to] = (after, id);
        } else {
            self.order[from..to].rotate_left(1);
            self.order[to - 1] = (after, id);
        }
    }

    pub(crate) fn remove(&mut self, layout: &KeyLayout, records: &Records, slot: Slot) {
        each_place(layout, records.key(slot), |value, mask| {
            let Some(known) = self.by_mask.get_mut(mask) else {
                return;
            };
            known.places -= 1;
            let MaskUse { tuple: id, places } = *known;
            let tuple = &mut self.tuples[id as usize];
            let before = tuple.reach;
            tuple.remove(records, hash_masked(value, &tuple.mask), slot);
            let after = tuple.reach;
            self.places -= 1;
            self.move_to(id, before, after);
            if places == 0 {
                self.by_mask.remove(mask);
                self.tuples[id as usize].masks -= 1;
            }
            if self.tuples[id as usize].places() == 0 {
                let at = self.rank_of(after, id);
                self.order.remove(at);
                self.tuples[id as usize] = Tuple::default();
                self.free.push(id);
            }
        });
    }

    /// Lays all entries anew under fewer masks.
    fn merge(&mut self, layout: &KeyLayout, records: &Records) {
        let mut masks: Vec<(usize, Box<[u64]>)> = self
            .by_mask
            .iter()
            .map(|(mask, known)| (known.places, mask.clone()))
            .collect();
        masks.sort_unstable_by(|a, b| (b.0, &b.1).cmp(&(a.0, &a.1)));
        let mut groups = merge::groups(&masks);
        self.tuples.clear();
        self.free.clear();
        self.order.clear();
        for (id, group) in groups.iter().enumerate() {
            self.set_group(id, group);
        }
        let mut fresh = vec![true; groups.len()];
        loop {
            self.fill(layout, records, &fresh);
            let crowded = |id: &usize| {
                let tuple = &self.tuples[*id];
                fresh[*id] && tuple.masks > 1 && tuple.crowding() > CROWD / 2
            };
            let bad: Vec<usize> = (0..groups.len()).filter(crowded).collect();
            if bad.is_empty() || groups.len() + bad.len() > MAX_TUPLES {
                break;
            }
            // Cut the crowded groups in two and lay only their entries anew.
            fresh = vec![false; groups.len()];
            for id in bad {
                let [Some(more), Some(fewer)] = merge::halve(&groups[id]) else {
                    continue;
                };
                self.set_group(id, &more);
                self.set_group(groups.len(), &fewer);
                groups[id] = more;
                groups.push(fewer);
                fresh[id] = true;
                fresh.push(true);
            }
        }
        let reaches = self.tuples.iter().enumerate();
        self.order = reaches.map(|(id, t)| (t.reach, id as u32)).collect();
        self.order
            .sort_unstable_by_key(|(reach, id)| (std::cmp::Reverse(*reach), *id));
        // Once they are so many, only crowding is a reason to try again.
        let next = (self.order.len() * 2).max(FEW);
        self.limit = if next > MAX_TUPLES { usize::MAX } else { next };
        self.check_at = (self.places * 2).max(1024);
    }

    /// Makes an empty tuple of a group.
    fn set_group(&mut self, id: usize, group: &merge::Group) {
        let mut tuple = Tuple::new(&group.mask);
        tuple.masks = group.members.len();
        if id == self.tuples.len() {
            self.tuples.push(tuple);
        } else {
            self.tuples[id] = tuple;
        }
        for mask in &group.members {
            if let Some(known) = self.by_mask.get_mut(mask) {
                known.tuple = id as u32;
            }
        }
    }

    /// Puts the entries of fresh tuples in.
    fn fill(&mut self, layout: &KeyLayout, records: &Records, fresh: &[bool]) {
        for slot in records.iter_from(0) {
            each_place(layout, records.key(slot), |value, mask| {
                if let Some(known) = self.by_mask.get(mask)
                    && fresh[known.tuple as usize]
                {
                    let tuple = &mut self.tuples[known.tuple as usize];
                    tuple.gather(hash_masked(value, &tuple.mask), slot);
                }
            });
        }
        let tuples = self.tuples.iter_mut().zip(fresh);
        for (tuple, _) in tuples.filter(|(_, fresh)| **fresh) {
            tuple.settle(records);
        }
    }

    /// The entry with exactly this stored key and rank.
    pub(crate) fn find(
        &self,
        layout: &KeyLayout,
        records: &Records,
        stored: &[u64],
        rank: i32,
    ) -> Option<Slot> {
        let mut found = None;
        let mut first = true;
        each_place(layout, stored, |value, mask| {
            if std::mem::take(&mut first)
                && let Some(known) = self.by_mask.get(mask)
            {
                let tuple = &self.tuples[known.tuple as usize];
                found = tuple.find(records, hash_masked(value, &tuple.mask), stored, rank);
            }
        });
        found
    }

    #[inline(always)]
    fn search(&self, layout: &KeyLayout, records: &Records, key: &[u64]) -> Option<Slot> {
        let mut best: Best = None;
        for (reach, id) in &self.order {
            if best.is_some_and(|(rank, _)| rank > *reach) {
                break;
            }
            let tuple = &self.tuples[*id as usize];
            let hash = hash_masked(key, &tuple.mask);
            if tuple.may_have(hash) {
                best = tuple.search(layout, records, hash, key, best);
            }
        }
        best.map(|(_, slot)| slot)
    }

    /// The matching entry of the largest priority; among equals, of the lowest slot.
    pub(crate) fn lookup(
        &self,
        layout: &KeyLayout,
        records: &Records,
        key: &[u64],
    ) -> Option<Slot> {
        // The usual lengths as constants, so that the loops over words disappear.
        match *key {
            [a] => self.search(layout, records, &[a]),
            [a, b] => self.search(layout, records, &[a, b]),
            [a, b, c] => self.search(layout, records, &[a, b, c]),
            _ => self.search(layout, records, key),
        }
    }

    /// Finds the tuples that may have an entry for some of at most [`TOGETHER`] keys, in the order
    /// of a look-up, and asks for those entries.
    pub(crate) fn begin_together(
        &self,
        records: &Records,
        keys: &[&[u64]],
        candidates: &mut Vec<Candidate>,
    ) {
        candidates.clear();
        // What a tuple's filter has to say is asked for while the one before it is asked.
        let mut before: Option<(u32, [u32; TOGETHER])> = None;
        for (_, id) in &self.order {
            let tuple = &self.tuples[*id as usize];
            let mut hashes = [0; TOGETHER];
            for (hash, key) in hashes.iter_mut().zip(keys) {
                *hash = hash_masked(key, &tuple.mask);
                tuple.prefetch_filter(*hash);
            }
            if let Some((id, hashes)) = before.replace((*id, hashes)) {
                self.collect(id, &hashes[..keys.len()], candidates);
            }
        }
        if let Some((id, hashes)) = before {
            self.collect(id, &hashes[..keys.len()], candidates);
        }
        for candidate in candidates {
            self.tuples[candidate.tuple as usize].prefetch_entry(records, candidate.hash);
        }
    }

    /// Adds a tuple for those keys for which it may have an entry.
    #[inline]
    fn collect(&self, id: u32, hashes: &[u32], candidates: &mut Vec<Candidate>) {
        let tuple = &self.tuples[id as usize];
        for (which, hash) in hashes.iter().enumerate() {
            if tuple.may_have(*hash) {
                tuple.prefetch_map(*hash);
                candidates.push(Candidate {
                    which: which as u32,
                    tuple: id,
                    hash: *hash,
                });
            }
        }
    }

    /// [`TupleSpace::lookup`] of the keys that these candidates were found for.
    pub(crate) fn end_together(
        &self,
        layout: &KeyLayout,
        records: &Records,
        keys: &[&[u64]],
        candidates: &[Candidate],
    ) -> [Option<Slot>; TOGETHER] {
        let mut best: [Best; TOGETHER] = [None; TOGETHER];
        for candidate in candidates {
            let tuple = &self.tuples[candidate.tuple as usize];
            let which = candidate.which as usize;
            if let (Some(best), Some(key)) = (best.get_mut(which), keys.get(which))
                && best.is_none_or(|(rank, _)| rank <= tuple.reach)
            {
                *best = tuple.search(layout, records, candidate.hash, key, *best);
            }
        }
        let mut found = [None; TOGETHER];
        for (found, best) in found.iter_mut().zip(best) {
            *found = best.map(|(_, slot)| slot);
        }
        found
    }

    /// Bytes on the heap, roughly.
    pub(crate) fn bytes(&self) -> usize {
        let tuples: usize = self
            .tuples
            .iter()
            .map(|t| size_of::<Tuple>() + t.bytes())
            .sum();
        let words = self.tuples.first().map_or(0, |t| t.mask.len());
        tuples + self.by_mask.capacity() * (40 + words * 8) + self.order.capacity() * 8
    }

    /// Tuples a lookup that hits nothing asks.
    pub(crate) const fn tuples(&self) -> usize {
        self.order.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn blocks_hold_the_range_and_little_else(a: u16, b: u16) {
            let (low, high) = (u128::from(a.min(b)), u128::from(a.max(b)));
            let blocks: Vec<_> = range_blocks(low, high).into_iter().flatten().collect();
            let held = |v: u128| blocks.iter().filter(|(value, mask)| v & mask == *value).count();
            let mut total = 0u128;
            for v in 0..=u128::from(u16::MAX) {
                let n = held(v);
                prop_assert!(n <= 1, "blocks are disjoint");
                prop_assert!(n == 1 || v < low || v > high, "{v} is left out");
                total += n as u128;
            }
            prop_assert!(total <= 16 * (high - low + 1));
        }
    }
}
