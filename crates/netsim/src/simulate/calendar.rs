//! The events to come, in order of time, and of rank and arrival where times are equal.
//!
//! A calendar: a ring of buckets, each a short stretch of time, holds what comes soon; a heap holds the
//! rest. A bucket is sorted when its time comes, so that adding an event is a push; the memory of the one before is used for
//! the next that is filled, so that few lines of the cache serve all.
//!
//! Events of one time at different owners do not touch each other, so that only those of one owner need an order: by rank, and
//! those of one rank in the order in which they were added. So the order in which different owners added them does not matter,
//! which is not the same for every number of threads.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Buckets of the ring; a power of two.
const BUCKETS: usize = 4_096;
const MASK: u64 = BUCKETS as u64 - 1;

/// What happens at somebody.
pub(super) trait Owned {
    /// Who it happens to, a small number.
    fn owner(&self) -> u32;
    /// Which of its owner's events of one time comes first: that of the lowest rank.
    fn rank(&self, at: u64) -> u64;
}

/// An event: when, and what.
#[derive(Clone, Copy, Debug)]
struct Entry<T> {
    at: u64,
    what: T,
}

/// An event that is far away, with its number among those.
#[derive(Debug)]
struct Late<T> {
    order: u64,
    entry: Entry<T>,
}

impl<T> Late<T> {
    const fn key(&self) -> (u64, u64) {
        (self.entry.at, self.order)
    }
}

impl<T> PartialEq for Late<T> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<T> Eq for Late<T> {}

impl<T> PartialOrd for Late<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Late<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

/// See the module documentation. Times may not lie before that of the event taken last.
#[derive(Debug)]
pub(super) struct Calendar<T> {
    /// A bucket lasts 2^shift nanoseconds.
    shift: u32,
    /// Events of a bucket are in order of arrival.
    ring: Vec<Vec<Entry<T>>>,
    /// A bit for each bucket that is not empty.
    full: [u64; BUCKETS / 64],
    /// Which bucket, counted from time 0, `today` was.
    day: u64,
    /// The bucket under way, in order, and how many of its events are over.
    today: Vec<Entry<T>>,
    over: usize,
    /// Memory of buckets that are over.
    spare: Vec<Vec<Entry<T>>>,
    later: BinaryHeap<Reverse<Late<T>>>,
    order: u64,
    /// By owner: the last bucket that had an event of it, and which of that bucket's.
    seen: Vec<(u32, u32)>,
    /// The number of the bucket under way, and by event of it the one before of the same owner, if there is one.
    turns: u32,
    before: Vec<u32>,
}

/// No event.
const NONE: u32 = u32::MAX;

impl<T: Copy + Owned> Calendar<T> {
    /// An empty calendar for about so many events per microsecond.
    #[must_use]
    pub(super) fn new(per_microsecond: u64) -> Self {
        // A few events a bucket: there is little to sort.
        let bucket = (8_000 / per_microsecond.max(1)).clamp(1, 1_024);
        Self {
            shift: bucket.ilog2(),
            ring: (0..BUCKETS).map(|_| Vec::new()).collect(),
            full: [0; BUCKETS / 64],
            day: 0,
            today: Vec::new(),
            over: 0,
            spare: Vec::new(),
            later: BinaryHeap::new(),
            order: 0,
            seen: Vec::new(),
            turns: 0,
            before: Vec::new(),
        }
    }

    /// Adds an event.
    pub(super) fn add(&mut self, at: u64, what: T) {
        let entry = Entry { at, what };
        let day = at >> self.shift;
        if day <= self.day {
            let rest = &self.today[self.over..];
            let mut place = self.over + rest.partition_point(|e| e.at <= at);
            let owner = what.owner();
            let same = self.today[self.over..place].iter().enumerate().rev();
            for (nth, other) in same.take_while(|(_, e)| e.at == at) {
                if other.what.owner() == owner && other.what.rank(at) > what.rank(at) {
                    place = self.over + nth;
                }
            }
            self.today.insert(place, entry);
        } else if day - self.day < BUCKETS as u64 {
            let place = (day & MASK) as usize;
            let bucket = &mut self.ring[place];
            if bucket.is_empty() {
                self.full[place / 64] |= 1 << (place % 64);
                if let Some(spare) = self.spare.pop() {
                    *bucket = spare;
                }
            }
            bucket.push(entry);
        } else {
            self.order += 1;
            let order = self.order;
            self.later.push(Reverse(Late { order, entry }));
        }
    }

    /// Takes the next event, if it is not after `until`.
    #[inline]
    pub(super) fn next(&mut self, until: u64) -> Option<(u64, T)> {
        loop {
            if let Some(entry) = self.today.get(self.over) {
                if entry.at > until {
                    return None;
                }
                self.over += 1;
                return Some((entry.at, entry.what));
            }
            self.turn(until)?;
        }
    }

    /// When the next event is.
    pub(super) fn first(&self) -> Option<u64> {
        if let Some(entry) = self.today.get(self.over) {
            return Some(entry.at);
        }
        let near = self.next_full(self.day).and_then(|day| {
            let bucket = &self.ring[(day & MASK) as usize];
            bucket.iter().map(|entry| entry.at).min()
        });
        let far = self.later.peek().map(|late| late.0.entry.at);
        near.into_iter().chain(far).min()
    }

    /// Whether the event taken last is the first of its bucket.
    #[inline]
    pub(super) const fn turned(&self) -> bool {
        self.over == 1
    }

    /// The events known so far of the next bucket but `skip` that has any, if it is near.
    pub(super) fn ahead(&self, skip: usize) -> impl Iterator<Item = &T> {
        let mut day = self.day;
        for _ in 0..=skip {
            day = self.next_full(day).unwrap_or(day);
        }
        let near = day > self.day;
        let bucket = near.then(|| &self.ring[(day & MASK) as usize]);
        bucket.into_iter().flatten().map(|entry| &entry.what)
    }

    /// The first day after one that has a bucket with events in the ring.
    fn next_full(&self, day: u64) -> Option<u64> {
        let words = self.full.len();
        let first = (day + 1) & MASK;
        let (word, bit) = ((first / 64) as usize, first % 64);
        // The first word is seen twice: its bits from `bit` on first, the others last.
        for step in 0..=words {
            let at = (word + step) % words;
            let seen = match step {
                0 => u64::MAX << bit,
                _ if step == words => !(u64::MAX << bit),
                _ => u64::MAX,
            };
            let bits = self.full[at] & seen;
            if bits != 0 {
                let place = at as u64 * 64 + u64::from(bits.trailing_zeros());
                return Some(day + 1 + (place.wrapping_sub(first) & MASK));
            }
        }
        None
    }

    /// Goes to the next day that has events; nothing if there is none up to a time. Then it stays where it is, so that what is
    /// added for the days between goes to their buckets.
    fn turn(&mut self, until: u64) -> Option<()> {
        let far = self.later.peek().map(|late| late.0.entry.at >> self.shift);
        let near = self.next_full(self.day);
        let day = match (near, far) {
            (Some(near), Some(far)) => near.min(far),
            (near, far) => near.or(far)?,
        };
        if day > until >> self.shift {
            return None;
        }
        self.day = day;
        self.over = 0;
        self.today.clear();
        if far == Some(self.day) {
            self.fetch_late();
        }
        if near == Some(self.day) {
            let place = (self.day & MASK) as usize;
            self.full[place / 64] &= !(1 << (place % 64));
            let bucket = std::mem::take(&mut self.ring[place]);
            if self.today.is_empty() {
                let spare = std::mem::replace(&mut self.today, bucket);
                self.spare.push(spare);
            } else {
                self.today.extend_from_slice(&bucket);
                self.spare.push(bucket);
                if let Some(spare) = self.spare.last_mut() {
                    spare.clear();
                }
            }
        }
        if self.shift > 0 {
            self.today.sort_by_key(|entry| entry.at);
        }
        if self.today.len() > 1 {
            self.rank();
        }
        Some(())
    }

    /// Has the events of each owner that are at one time in order of rank. Mostly they are; then a look at each is all.
    fn rank(&mut self) {
        self.turns = self.turns.wrapping_add(1);
        if self.before.len() < self.today.len() {
            self.before.resize(self.today.len(), NONE);
        }
        for at in 0..self.today.len() {
            let owner = self.today[at].what.owner() as usize;
            if owner >= self.seen.len() {
                let never = (self.turns.wrapping_sub(1), 0);
                self.seen.resize(owner + 1, never);
            }
            let seen = &mut self.seen[owner];
            let (turn, before) = *seen;
            *seen = (self.turns, at as u32);
            if turn == self.turns {
                self.before[at] = before;
                self.sink(at);
            } else {
                self.before[at] = NONE;
            }
        }
    }

    /// Has an event change places with those of its owner before it that are to come after it.
    fn sink(&mut self, mut at: usize) {
        let own = self.today[at];
        let rank = own.what.rank(own.at);
        while self.before[at] != NONE {
            let before = self.before[at] as usize;
            let other = self.today[before];
            if other.at != own.at || other.what.rank(other.at) <= rank {
                return;
            }
            self.today.swap(at, before);
            at = before;
        }
    }

    /// Events that were far away when they were added came before all that are in the ring.
    fn fetch_late(&mut self) {
        while let Some(Reverse(late)) = self.later.peek() {
            if late.entry.at >> self.shift != self.day {
                break;
            }
            self.today.extend(self.later.pop().map(|late| late.0.entry));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// An event of one of a few owners.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    struct Own {
        owner: u32,
        rank: u32,
        number: usize,
    }

    impl Owned for Own {
        fn owner(&self) -> u32 {
            self.owner
        }

        fn rank(&self, _: u64) -> u64 {
            self.rank.into()
        }
    }

    proptest! {
        #[test]
        fn events_of_an_owner_come_in_order_of_time_rank_and_arrival(
            rate in 1u64..10_000,
            owners in 1u32..5,
            slot in 1u64..3_000,
            adds in proptest::collection::vec((0u64..3, 0u64..2_000_000, 0u8..4, any::<u8>()), 1..300),
        ) {
            let mut calendar = Calendar::new(rate);
            let mut expected: Vec<(u64, Own)> = Vec::new();
            let mut now = 0;
            let take = |calendar: &mut Calendar<Own>, expected: &mut Vec<(u64, Own)>, until: u64| {
                let first = expected.iter().map(|(at, _)| *at).min();
                prop_assert_eq!(calendar.first(), first);
                let next = calendar.next(until);
                let Some((at, own)) = next else {
                    prop_assert!(first.is_none_or(|first| first > until));
                    return Ok(None);
                };
                prop_assert_eq!(Some(at), first);
                let of_owner = expected.iter().filter(|(at, e)| (*at, e.owner) == (first.unwrap_or(0), own.owner));
                prop_assert_eq!(Some(&own), of_owner.map(|(_, e)| e).min());
                expected.retain(|(_, e)| *e != own);
                Ok(Some(at))
            };
            for (number, (scale, delay, takes, who)) in adds.into_iter().enumerate() {
                let at = now + delay / [1, 100, 10_000][scale as usize] / slot * slot;
                let own = Own { owner: u32::from(who) % owners, rank: u32::from(who) / 64, number };
                calendar.add(at, own);
                expected.push((at, own));
                for _ in 0..takes {
                    let until = now + u64::from(who) * 100;
                    if let Some(at) = take(&mut calendar, &mut expected, until)? {
                        now = at;
                    }
                }
            }
            while !expected.is_empty() {
                take(&mut calendar, &mut expected, u64::MAX)?;
            }
            prop_assert_eq!(calendar.next(u64::MAX).map(|next| next.0), None);
        }
    }
}
