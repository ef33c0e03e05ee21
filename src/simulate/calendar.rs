//! The events to come, in order of time, and of arrival where times are equal.
//!
//! A calendar: a ring of buckets, each a short stretch of time, holds what comes soon; a heap holds the
//! rest. A bucket is sorted when its time comes, so that adding an event is a push.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Buckets of the ring; a power of two.
const BUCKETS: usize = 8_192;

/// An event: when, its number in order of arrival, and what.
#[derive(Clone, Copy, Debug)]
struct Entry<T> {
    at: u64,
    order: u64,
    what: T,
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.order) == (other.at, other.order)
    }
}

impl<T> Eq for Entry<T> {}

impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Entry<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.order).cmp(&(other.at, other.order))
    }
}

/// See the module documentation. Times may not lie before that of the event taken last.
#[derive(Debug)]
pub(super) struct Calendar<T> {
    /// A bucket lasts 2^shift nanoseconds.
    shift: u32,
    ring: Vec<Vec<Entry<T>>>,
    /// Which bucket, counted from time 0, `today` was.
    day: u64,
    /// The bucket under way, latest first.
    today: Vec<Entry<T>>,
    /// Events in the ring.
    soon: usize,
    later: BinaryHeap<Reverse<Entry<T>>>,
    order: u64,
}

impl<T: Copy> Calendar<T> {
    /// An empty calendar for about so many events per microsecond.
    #[must_use]
    pub(super) fn new(per_microsecond: u64) -> Self {
        // So many events a bucket that the next few are usually in the same.
        let bucket = (32_000 / per_microsecond.max(1)).clamp(1, 1_024);
        Self {
            shift: bucket.ilog2(),
            ring: (0..BUCKETS).map(|_| Vec::new()).collect(),
            day: 0,
            today: Vec::new(),
            soon: 0,
            later: BinaryHeap::new(),
            order: 0,
        }
    }

    /// Adds an event.
    pub(super) fn add(&mut self, at: u64, what: T) {
        self.order += 1;
        let entry = Entry {
            at,
            order: self.order,
            what,
        };
        let day = at >> self.shift;
        if day <= self.day {
            // Usually late in a short list, whose end is its front.
            let place = self.today.partition_point(|e| *e > entry);
            self.today.insert(place, entry);
        } else if day - self.day < BUCKETS as u64 {
            self.ring[day as usize & (BUCKETS - 1)].push(entry);
            self.soon += 1;
        } else {
            self.later.push(Reverse(entry));
        }
    }

    /// Takes the next event, if it is not after `until`.
    pub(super) fn next(&mut self, until: u64) -> Option<(u64, T)> {
        loop {
            if let Some(entry) = self.today.last() {
                if entry.at > until {
                    return None;
                }
                let (at, what) = (entry.at, entry.what);
                self.today.pop();
                return Some((at, what));
            }
            self.turn()?;
        }
    }

    /// The event that comes so many after the next one, if it is known yet.
    pub(super) fn ahead(&self, count: usize) -> Option<&T> {
        let at = self.today.len().checked_sub(count + 1)?;
        Some(&self.today[at].what)
    }

    /// Goes to the next day that has events; nothing if there is none.
    fn turn(&mut self) -> Option<()> {
        let far = self.later.peek().map(|Reverse(e)| e.at >> self.shift);
        if self.soon == 0 {
            self.day = far?;
        } else {
            loop {
                self.day += 1;
                let full = !self.ring[self.day as usize & (BUCKETS - 1)].is_empty();
                if full || far == Some(self.day) {
                    break;
                }
            }
        }
        let bucket = &mut self.ring[self.day as usize & (BUCKETS - 1)];
        self.soon -= bucket.len();
        std::mem::swap(bucket, &mut self.today);
        while let Some(Reverse(entry)) = self.later.peek() {
            if entry.at >> self.shift != self.day {
                break;
            }
            self.today.extend(self.later.pop().map(|Reverse(e)| e));
        }
        self.today.sort_unstable_by(|a, b| b.cmp(a));
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn events_come_in_order_of_time_and_arrival(
            rate in 1u64..10_000,
            adds in proptest::collection::vec((0u64..3, 0u64..2_000_000, 0u8..4), 1..300),
        ) {
            let mut calendar = Calendar::new(rate);
            let mut expected: Vec<(u64, usize)> = Vec::new();
            let (mut now, mut number) = (0, 0);
            let mut got = Vec::new();
            for (scale, delay, takes) in adds {
                let at = now + delay / [1, 100, 10_000][scale as usize];
                calendar.add(at, number);
                expected.push((at, number));
                number += 1;
                for _ in 0..takes {
                    expected.sort_unstable();
                    let next = calendar.next(u64::MAX);
                    let first = (!expected.is_empty()).then(|| expected.remove(0));
                    prop_assert_eq!(next, first);
                    if let Some((at, number)) = next {
                        now = at;
                        got.push(number);
                    }
                }
            }
            expected.sort_unstable();
            for next in expected {
                prop_assert_eq!(calendar.next(u64::MAX), Some(next));
            }
            prop_assert_eq!(calendar.next(u64::MAX), None);
        }
    }
}
