//! The events to come, in order of time, and of rank and arrival where times are equal.
//!
//! A calendar: a ring of buckets, each a short stretch of time, holds what comes soon; a heap holds
//! the rest. Adding an event is a push.
//!
//! Events come in windows: some buckets at once, group by group. A group is some switches and
//! hosts, what one does is not seen by another group before a window is over, so that within a
//! window the order of groups does not matter (as between shards that are simulated [beside each
//! other](super::parallel)). A group's switches stay in the processor's cache from its first event
//! of a window to its last; by the time alone every event would be at another switch than the one
//! before.
//!
//! Events of one time at different owners do not touch each other, so that only those of one owner
//! need an order: by rank, and those of one rank in the order in which they were added. So the
//! order in which different owners added them does not matter, which is not the same for every
//! number of threads.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Buckets of the ring; a power of two.
const BUCKETS: usize = 4_096;
const MASK: u64 = BUCKETS as u64 - 1;
/// The most buckets of a window.
const SPAN: u64 = 16;
/// So many buckets from the one under way on are in the ring, which leaves some for going back.
const NEAR: u64 = BUCKETS as u64 - 2 * SPAN;
/// About as many events of a group as a window may have: the group's are kept in order while more
/// are added among them.
const CROWD: u64 = 64;

/// What happens at somebody.
pub(crate) trait Owned {
    /// Who it happens to, a small number.
    fn owner(&self) -> u32;
    /// Which of its owner's events of a time comes first: that of the lower rank.
    fn compare_ranks(&self, other: &Self, at: u64) -> Ordering;
}

/// Who forms a group, and how long nothing that one does is seen by another.
#[derive(Clone, Debug)]
pub(crate) struct Groups {
    /// By owner.
    pub(crate) of: Vec<u32>,
    /// How many there are.
    pub(crate) count: usize,
    /// In nanoseconds.
    pub(crate) lookahead: u64,
}

/// An event: when, and what.
#[derive(Clone, Copy, Debug)]
struct Entry<T> {
    at: u64,
    what: T,
}

impl<T: Owned> Entry<T> {
    /// What puts events in order: those of one time and owner by their ranks, which take the
    /// longest to compare.
    #[inline]
    fn compare(&self, other: &Self) -> Ordering {
        let times = self.at.cmp(&other.at);
        let owners = || self.what.owner().cmp(&other.what.owner());
        let ranks = || self.what.compare_ranks(&other.what, self.at);
        times.then_with(owners).then_with(ranks)
    }
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
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Late<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

/// See the module documentation. Times may not lie before that of the event taken last.
#[derive(Debug)]
pub(crate) struct Calendar<T> {
    /// A bucket lasts 2^shift nanoseconds, a window `span` buckets.
    shift: u32,
    span: u64,
    groups: Groups,
    /// Events of a bucket are in order of arrival.
    ring: Vec<Vec<Entry<T>>>,
    /// A bit for each bucket that is not empty.
    full: [u64; BUCKETS / 64],
    /// The first bucket, counted from time 0, that may have events, and the first one that is not
    /// in the ring yet.
    day: u64,
    far: u64,
    /// Memory of buckets that are over.
    spare: Vec<Vec<Entry<T>>>,
    later: BinaryHeap<Reverse<Late<T>>>,
    order: u64,
    /// When the window under way ends; 0 if there is none.
    limit: u64,
    /// Its events as they were found, and group by group.
    found: Vec<Entry<T>>,
    window: Vec<Entry<T>>,
    /// By group: how many of these events it has; and the groups that have any.
    counts: Vec<u32>,
    turns: Vec<Turn>,
    /// Which of these groups is under way, its events in order, and how many of them are over.
    turn: usize,
    today: Vec<Entry<T>>,
    over: usize,
}

/// A group that has events in a window, and where these begin and end.
#[derive(Clone, Copy, Debug)]
struct Turn {
    group: u32,
    from: u32,
    to: u32,
}

impl<T: Copy + Owned> Calendar<T> {
    /// An empty calendar of a network that has about so many events per microsecond, all groups
    /// together.
    #[must_use]
    pub(crate) fn new(per_microsecond: u64, groups: Groups) -> Self {
        let each = (per_microsecond / groups.count.max(1) as u64).max(1);
        let window = (CROWD * 1_000 / each).min(groups.lookahead).max(1);
        let shift = (window / (SPAN / 2)).max(1).ilog2().min(20);
        Self {
            shift,
            span: (window >> shift).clamp(1, SPAN),
            ring: (0..BUCKETS).map(|_| Vec::new()).collect(),
            full: [0; BUCKETS / 64],
            day: 0,
            far: NEAR,
            spare: Vec::new(),
            later: BinaryHeap::new(),
            order: 0,
            limit: 0,
            found: Vec::new(),
            window: Vec::new(),
            counts: vec![0; groups.count],
            turns: Vec::new(),
            turn: 0,
            today: Vec::new(),
            over: 0,
            groups,
        }
    }

    /// Adds an event.
    // The entry is made where it goes: one made before would be written to the stack and read from
    // there at once, for which a processor waits.
    #[inline]
    pub(crate) fn add(&mut self, at: u64, what: T) {
        if at < self.limit {
            return self.add_today(at, what);
        }
        let day = at >> self.shift;
        if day < self.far {
            // The last window may have gone beyond what is now.
            self.day = self.day.min(day);
            let place = (day & MASK) as usize;
            let bucket = &mut self.ring[place];
            if bucket.is_empty() {
                self.full[place / 64] |= 1 << (place % 64);
                if let Some(spare) = self.spare.pop() {
                    *bucket = spare;
                }
            }
            bucket.push(Entry { at, what });
        } else {
            self.add_later(at, what);
        }
    }

    /// Adds an event that is far away.
    #[inline(never)]
    fn add_later(&mut self, at: u64, what: T) {
        self.order += 1;
        let (order, entry) = (self.order, Entry { at, what });
        self.later.push(Reverse(Late { order, entry }));
    }

    /// Adds an event of the current group to its events of this window. Events of one time and
    /// owner follow each other: a switch sends only after the last frame of a time has arrived, and
    /// looks for that frame at the next place alone.
    fn add_today(&mut self, at: u64, what: T) {
        let entry = Entry { at, what };
        let rest = &self.today[self.over..];
        let place = rest.partition_point(|other| other.compare(&entry).is_le());
        self.today.insert(self.over + place, entry);
    }

    /// Takes the next event of the turn under way. Nothing when that is over.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<(u64, T)> {
        let entry = self.today.get(self.over)?;
        self.over += 1;
        Some((entry.at, entry.what))
    }

    /// The next event of the turn under way, as far as it is known.
    #[inline]
    pub(crate) fn peek(&self) -> Option<(u64, T)> {
        let entry = self.today.get(self.over)?;
        Some((entry.at, entry.what))
    }

    /// When the next event is, between windows.
    pub(crate) fn first(&self) -> Option<u64> {
        let near = self.next_full().and_then(|day| {
            let bucket = &self.ring[(day & MASK) as usize];
            bucket.iter().map(|entry| entry.at).min()
        });
        let far = self.later.peek().map(|late| late.0.entry.at);
        near.into_iter().chain(far).min()
    }

    /// The events of the turn under way that are still to come, as far as they are known. They may
    /// be changed, but for whose they are and their rank.
    pub(crate) fn turn_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.today[self.over..]
            .iter_mut()
            .map(|entry| &mut entry.what)
    }

    /// The events known so far of the group whose turn is next in this window.
    pub(crate) fn ahead(&self) -> impl Iterator<Item = &T> {
        let next = self.turns.get(self.turn);
        let events = next.map(|turn| &self.window[turn.from as usize..turn.to as usize]);
        events.into_iter().flatten().map(|entry| &entry.what)
    }

    /// The first day that has a bucket with events in the ring.
    fn next_full(&self) -> Option<u64> {
        let words = self.full.len();
        let first = self.day & MASK;
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
                return Some(self.day + (place.wrapping_sub(first) & MASK));
            }
        }
        None
    }

    /// Begins the next window, with what is not after `until`; false if there is nothing up to
    /// then. The one before is over.
    pub(crate) fn begin(&mut self, until: u64) -> bool {
        let far = self.later.peek().map(|late| late.0.entry.at >> self.shift);
        let day = match (self.next_full(), far) {
            (Some(near), Some(far)) => near.min(far),
            (Some(day), None) | (None, Some(day)) => day,
            (None, None) => return false,
        };
        if day > until >> self.shift {
            return false;
        }
        self.day = day;
        self.far = self.far.max(day.saturating_add(NEAR));
        let end = (day << self.shift).saturating_add(self.span << self.shift);
        let limit = end.min(until.saturating_add(1));
        self.found.clear();
        // Events that were far away when they were added came before all that are in the ring.
        while let Some(Reverse(late)) = self.later.peek()
            && late.entry.at < limit
        {
            self.found.extend(self.later.pop().map(|late| late.0.entry));
        }
        for day in day..day.saturating_add(self.span) {
            self.take_bucket(day, limit);
        }
        if self.found.is_empty() {
            return false;
        }
        if limit == end {
            self.day += self.span;
        }
        self.limit = limit;
        self.share_out();
        true
    }

    /// Takes what is before the limit from a bucket.
    fn take_bucket(&mut self, day: u64, limit: u64) {
        let place = (day & MASK) as usize;
        let bucket = &mut self.ring[place];
        if (day << self.shift).saturating_add(1 << self.shift) <= limit {
            self.found.append(bucket);
        } else {
            self.found
                .extend(bucket.extract_if(.., |entry| entry.at < limit));
        }
        if bucket.is_empty() && self.full[place / 64] >> (place % 64) & 1 == 1 {
            self.full[place / 64] &= !(1 << (place % 64));
            self.spare.push(std::mem::take(bucket));
        }
    }

    /// Puts a window's events group by group; those of a group stay in order of arrival.
    fn share_out(&mut self) {
        self.turns.clear();
        self.turn = 0;
        if self.counts.len() <= 1 {
            std::mem::swap(&mut self.found, &mut self.window);
            let to = self.window.len() as u32;
            let turn = Turn {
                group: 0,
                from: 0,
                to,
            };
            return self.turns.push(turn);
        }
        for entry in &self.found {
            let group = self.groups.of[entry.what.owner() as usize];
            let count = &mut self.counts[group as usize];
            if *count == 0 {
                let turn = Turn {
                    group,
                    from: 0,
                    to: 0,
                };
                self.turns.push(turn);
            }
            *count += 1;
        }
        let mut from = 0;
        for turn in &mut self.turns {
            let count = &mut self.counts[turn.group as usize];
            (turn.from, turn.to) = (from, from + *count);
            // From now on: where the group's next event goes.
            *count = from;
            from = turn.to;
        }
        if let Some(&any) = self.found.first()
            && self.window.len() < self.found.len()
        {
            self.window.resize(self.found.len(), any);
        }
        for entry in &self.found {
            let group = self.groups.of[entry.what.owner() as usize];
            let place = &mut self.counts[group as usize];
            self.window[*place as usize] = *entry;
            *place += 1;
        }
        for turn in &self.turns {
            self.counts[turn.group as usize] = 0;
        }
    }

    /// Begins the turn of the next group of this window, whose events come by [`Calendar::next`];
    /// false if there is none, and the window is over. Times of a turn may be before those of the
    /// turn before.
    pub(crate) fn next_group(&mut self) -> bool {
        self.today.clear();
        self.over = 0;
        let Some(turn) = self.turns.get(self.turn) else {
            self.limit = 0;
            return false;
        };
        self.turn += 1;
        let events = &self.window[turn.from as usize..turn.to as usize];
        self.today.extend_from_slice(events);
        self.today.sort_by(Entry::compare);
        true
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::simulate::host::chance::Chance;

    /// An event of one of a few owners: who sent it, and which of its events it is.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    struct Own {
        owner: u32,
        sender: u32,
        number: u32,
        depth: u32,
    }

    impl Owned for Own {
        fn owner(&self) -> u32 {
            self.owner
        }

        fn compare_ranks(&self, other: &Self, _: u64) -> Ordering {
            self.sender.cmp(&other.sender)
        }
    }

    /// Owners that send each other events, and what happened to each.
    #[derive(Debug)]
    struct Play {
        groups: Groups,
        sent: Vec<u32>,
        happened: Vec<Vec<(u64, u32, u32)>>,
    }

    impl Play {
        fn new(groups: &Groups) -> Self {
            Self {
                sent: vec![0; groups.of.len()],
                happened: vec![Vec::new(); groups.of.len()],
                groups: groups.clone(),
            }
        }

        /// An event happens; what it leads to, which depends on nothing but the event.
        fn dispatch(&mut self, at: u64, own: Own) -> Vec<(u64, Own)> {
            let sender = own.owner as usize;
            self.happened[sender].push((at, own.sender, own.number));
            let mut chance = Chance::of(at, u64::from(own.number) << 32 | u64::from(own.sender));
            let more = if own.depth == 0 { 0 } else { chance.below(3) };
            (0..more).map(|_| self.send(at, own, &mut chance)).collect()
        }

        fn send(&mut self, at: u64, own: Own, chance: &mut Chance) -> (u64, Own) {
            let owners = self.groups.of.len() as u64;
            let to = chance.below(owners) as usize;
            let from = own.owner as usize;
            let least = if to == from {
                0
            } else if self.groups.of[to] == self.groups.of[from] {
                1
            } else {
                self.groups.lookahead
            };
            // Often in the same moment; now and then far away.
            let range = [1, 50, 3_000, 30_000_000][chance.below(4) as usize];
            self.sent[from] += 1;
            let sent = Own {
                owner: to as u32,
                sender: own.owner,
                number: self.sent[from],
                depth: own.depth - 1,
            };
            (at + least + chance.below(range), sent)
        }
    }

    /// What happens if always the first event happens next.
    fn one_by_one(first: &[(u64, Own)], groups: &Groups) -> Vec<Vec<(u64, u32, u32)>> {
        let mut play = Play::new(groups);
        let mut order = 0;
        let mut events = BTreeMap::new();
        let mut add = |events: &mut BTreeMap<_, _>, (at, own): (u64, Own)| {
            order += 1;
            events.insert((at, own.owner, own.sender, order), own);
        };
        first.iter().for_each(|event| add(&mut events, *event));
        while let Some(((at, ..), own)) = events.pop_first() {
            let more = play.dispatch(at, own);
            more.into_iter().for_each(|event| add(&mut events, event));
        }
        play.happened
    }

    proptest! {
        #[test]
        fn every_owner_sees_its_events_in_order_of_time_rank_and_arrival(
            rate in 1u64..10_000,
            of in proptest::collection::vec(0u32..4, 1..8),
            lookahead in prop_oneof![1u64..4, 1u64..3_000],
            first in proptest::collection::vec((0u64..100_000, any::<u8>()), 1..60),
            steps in proptest::collection::vec(1u64..40_000, 1..20),
        ) {
            let groups = Groups { count: 4, lookahead, of };
            let owners = groups.of.len() as u32;
            let first: Vec<(u64, Own)> = (1_000_000..).zip(&first).map(|(number, &(at, who))| {
                let owner = u32::from(who) % owners;
                (at, Own { owner, sender: owner, number, depth: 6 })
            }).collect();
            let expected = one_by_one(&first, &groups);
            let mut play = Play::new(&groups);
            let mut calendar = Calendar::new(rate, groups);
            first.iter().for_each(|&(at, own)| calendar.add(at, own));
            let mut until = 0;
            let mut steps = steps.into_iter();
            while let Some(next) = calendar.first() {
                until = steps.next().map_or(u64::MAX, |step| until + step);
                prop_assert_eq!(calendar.begin(until), next <= until);
                while calendar.next_group() {
                    let mut last = None;
                    while let Some((at, own)) = calendar.next() {
                        prop_assert!(at <= until);
                        // Those of one moment at one owner follow each other.
                        prop_assert!(last <= Some((at, own.owner)));
                        last = Some((at, own.owner));
                        for (at, own) in play.dispatch(at, own) {
                            calendar.add(at, own);
                        }
                    }
                }
            }
            prop_assert_eq!(play.happened, expected);
            prop_assert!(!calendar.begin(u64::MAX));
        }
    }
}
