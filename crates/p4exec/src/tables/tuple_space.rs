//! Ternary, range, optional and mixed match by tuple-space search (Srinivasan, Suri, Varghese,
//! SIGCOMM 1999): entries with the same mask form a tuple, which is a hash map from masked keys;
//! a lookup probes the tuples in falling order of their best priority and stops at the first that
//! cannot win any more.
//!
//! A range `[low, high]` is not a mask. It is cut in two where the first differing bit of its
//! bounds changes; each half is enclosed in the smallest aligned block around it, which is less
//! than twice as large, and carries the exact bounds as a check. So a range costs at most two
//! places in the tuples and a lookup few wasted checks.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::key::{FieldMatch, KeyLayout, RangeCheck};
use super::{Slot, WordMap};
use crate::value::Bits;

/// Keys of up to this many words are masked on the stack.
const STACK_WORDS: usize = 16;

/// An entry in a bucket; sorted by falling priority, then rising slot.
#[derive(Clone, Debug)]
struct Candidate {
    rank: (Reverse<i32>, Slot),
    ranges: Arc<[RangeCheck]>,
}

/// All entries of one mask.
#[derive(Clone, Debug, Default)]
struct Tuple {
    mask: Box<[u64]>,
    buckets: WordMap<Vec<Candidate>>,
    /// How many candidates have each priority.
    priorities: BTreeMap<i32, usize>,
}

impl Tuple {
    fn best(&self) -> Option<i32> {
        self.priorities
            .last_key_value()
            .map(|(priority, _)| *priority)
    }
}

/// The tuple space of one table.
#[derive(Clone, Debug, Default)]
pub(crate) struct TupleSpace {
    tuples: Vec<Tuple>,
    free: Vec<usize>,
    by_mask: WordMap<usize>,
    /// The tuples in use by falling best priority.
    order: BTreeSet<(Reverse<i32>, usize)>,
}

/// One place of an entry: a masked value and its mask, both packed.
struct Place {
    value: Vec<u64>,
    mask: Vec<u64>,
}

/// The places of a canonical key, and the range checks they all carry.
fn places(layout: &KeyLayout, key: &[FieldMatch]) -> (Vec<Place>, Arc<[RangeCheck]>) {
    let mut places = vec![Place {
        value: Vec::new(),
        mask: Vec::new(),
    }];
    let mut ranges = Vec::new();
    for (index, (field, field_match)) in layout.fields().iter().zip(key).enumerate() {
        let width = field.width;
        let blocks = match field_match {
            FieldMatch::Exact(value) | FieldMatch::Optional(Some(value)) => {
                vec![(value.clone(), Bits::ones(width))]
            }
            FieldMatch::Optional(None) => vec![(Bits::zero(width), Bits::zero(width))],
            FieldMatch::Lpm { value, prefix_len } => {
                vec![(value.clone(), Bits::prefix_mask(width, *prefix_len))]
            }
            FieldMatch::Ternary { value, mask } => vec![(value.clone(), mask.clone())],
            FieldMatch::Range { low, high } => {
                let blocks = range_blocks(low, high);
                let exact = matches!(&blocks[..], [(value, mask)]
                    if value == low && value.or(&mask.not()) == *high);
                if !exact {
                    ranges.push(range_check(layout.field_words(index).start, low, high));
                }
                blocks
            }
        };
        places = places
            .iter()
            .flat_map(|place| {
                blocks.iter().map(|(value, mask)| {
                    let mut next = Place {
                        value: place.value.clone(),
                        mask: place.mask.clone(),
                    };
                    value.push_words(&mut next.value);
                    mask.push_words(&mut next.mask);
                    next
                })
            })
            .collect();
    }
    (places, ranges.into())
}

fn range_check(start: usize, low: &Bits, high: &Bits) -> RangeCheck {
    let words = |bits: &Bits| {
        let mut words = Vec::new();
        bits.push_words(&mut words);
        words.into_boxed_slice()
    };
    RangeCheck {
        start,
        low: words(low),
        high: words(high),
    }
}

/// The number of bits after the leading zeroes.
fn bit_length(bits: &Bits) -> u32 {
    (0..bits.width())
        .rev()
        .find(|i| bits.bit(*i))
        .map_or(0, |i| i + 1)
}

/// The aligned block of `2^free` values around `value`, as value and mask.
fn block(value: &Bits, free: u32) -> (Bits, Bits) {
    let mask = Bits::prefix_mask(value.width(), value.width() - free);
    (value.and(&mask), mask)
}

/// At most two disjoint aligned blocks that together hold `low..=high`.
fn range_blocks(low: &Bits, high: &Bits) -> Vec<(Bits, Bits)> {
    let differing = bit_length(&low.xor(high));
    if differing == 0 {
        return vec![block(low, 0)];
    }
    let inner = Bits::ones(low.width()).shr_unsigned(low.width() - (differing - 1));
    let (low_rest, high_rest) = (low.and(&inner), high.and(&inner));
    if low_rest.is_zero() && high_rest == inner {
        return vec![block(low, differing)];
    }
    // The lower half runs from `low` to the last value before the middle, the upper from the
    // middle to `high`: the distance of each to the middle is the block that encloses it.
    let to_middle = bit_length(&inner.xor(&low_rest));
    let from_middle = bit_length(&high_rest);
    vec![block(low, to_middle), block(high, from_middle)]
}

impl TupleSpace {
    pub(crate) fn insert(
        &mut self,
        layout: &KeyLayout,
        key: &[FieldMatch],
        priority: i32,
        slot: Slot,
    ) {
        let (places, ranges) = places(layout, key);
        for place in places {
            let index = self.tuple_of(place.mask);
            let tuple = &mut self.tuples[index];
            let before = tuple.best();
            let bucket = tuple
                .buckets
                .entry(place.value.into_boxed_slice())
                .or_default();
            let rank = (Reverse(priority), slot);
            let at = bucket.partition_point(|c| c.rank < rank);
            bucket.insert(
                at,
                Candidate {
                    rank,
                    ranges: Arc::clone(&ranges),
                },
            );
            *tuple.priorities.entry(priority).or_default() += 1;
            let after = tuple.best();
            self.reorder(index, before, after);
        }
    }

    pub(crate) fn remove(
        &mut self,
        layout: &KeyLayout,
        key: &[FieldMatch],
        priority: i32,
        slot: Slot,
    ) {
        for place in places(layout, key).0 {
            let Some(&index) = self.by_mask.get(place.mask.as_slice()) else {
                continue;
            };
            let tuple = &mut self.tuples[index];
            let before = tuple.best();
            let Some(bucket) = tuple.buckets.get_mut(place.value.as_slice()) else {
                continue;
            };
            let Ok(at) = bucket.binary_search_by_key(&(Reverse(priority), slot), |c| c.rank) else {
                continue;
            };
            bucket.remove(at);
            if bucket.is_empty() {
                tuple.buckets.remove(place.value.as_slice());
            }
            if let Some(count) = tuple.priorities.get_mut(&priority) {
                *count -= 1;
                if *count == 0 {
                    tuple.priorities.remove(&priority);
                }
            }
            let after = tuple.best();
            self.reorder(index, before, after);
            if after.is_none() {
                self.by_mask.remove(place.mask.as_slice());
                self.tuples[index] = Tuple::default();
                self.free.push(index);
            }
        }
    }

    /// The tuple of a mask, made if need be.
    fn tuple_of(&mut self, mask: Vec<u64>) -> usize {
        if let Some(index) = self.by_mask.get(mask.as_slice()) {
            return *index;
        }
        let mask = mask.into_boxed_slice();
        let tuple = Tuple {
            mask: mask.clone(),
            ..Tuple::default()
        };
        let index = if let Some(index) = self.free.pop() {
            self.tuples[index] = tuple;
            index
        } else {
            self.tuples.push(tuple);
            self.tuples.len() - 1
        };
        self.by_mask.insert(mask, index);
        index
    }

    fn reorder(&mut self, index: usize, before: Option<i32>, after: Option<i32>) {
        if before == after {
            return;
        }
        if let Some(priority) = before {
            self.order.remove(&(Reverse(priority), index));
        }
        if let Some(priority) = after {
            self.order.insert((Reverse(priority), index));
        }
    }

    /// The matching entry of the largest priority; among equals, of the lowest slot.
    pub(crate) fn lookup(&self, key: &[u64]) -> Option<Slot> {
        let mut stack = [0u64; STACK_WORDS];
        let mut heap = Vec::new();
        let masked = if key.len() <= STACK_WORDS {
            &mut stack[..key.len()]
        } else {
            heap.resize(key.len(), 0);
            &mut heap[..]
        };
        let mut best: Option<(Reverse<i32>, Slot)> = None;
        for (reach, index) in &self.order {
            if best.is_some_and(|(priority, _)| priority < *reach) {
                break;
            }
            let tuple = &self.tuples[*index];
            for ((out, word), mask) in masked.iter_mut().zip(key).zip(&tuple.mask) {
                *out = word & mask;
            }
            let Some(bucket) = tuple.buckets.get(&*masked) else {
                continue;
            };
            let found = bucket
                .iter()
                .find(|c| c.ranges.iter().all(|r| r.passes(key)));
            if let Some(candidate) = found
                && best.is_none_or(|b| candidate.rank < b)
            {
                best = Some(candidate.rank);
            }
        }
        best.map(|(_, slot)| slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn blocks_hold_the_range_and_little_else(a: u16, b: u16) {
            let (low, high) = (a.min(b), a.max(b));
            let bits = |v: u16| Bits::from_u64(16, u64::from(v));
            let blocks = range_blocks(&bits(low), &bits(high));
            prop_assert!(blocks.len() <= 2);
            let held = |v: u16| {
                blocks.iter().filter(|(value, mask)| bits(v).and(mask) == *value).count()
            };
            let mut total = 0u32;
            for v in 0..=u16::MAX {
                let n = held(v);
                prop_assert!(n <= 1, "blocks are disjoint");
                prop_assert!(n == 1 || v < low || v > high, "{v} is left out");
                total += n as u32;
            }
            prop_assert!(total <= 2 * (u32::from(high - low) + 1));
        }
    }
}
