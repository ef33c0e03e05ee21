//! Shards of a network that are simulated beside each other by several threads, in windows
//! of virtual time (conservative parallel simulation): what a shard sends to another one takes at
//! least as long as the shortest cable between shards, so that all events from the earliest one on
//! for that long can be run in any order, shard by shard. Then the shards meet, hand over what they
//! have sent, and the next window begins at what is then the earliest event.
//!
//! What looks at the whole network (see [`simulation`](super::simulation)) does so when all shards
//! have come to its time, by the thread that began all this.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};

use super::barrier::Barrier;
use super::event::Post;
use super::shard::Shard;
use super::simulation::{Coordinator, Simulation, Stop, deliver};
use super::windows::Windows;

/// What each shard reports of a window; of every other window in turn, so that one can be read
/// while the next is written.
#[derive(Debug)]
struct WindowResults {
    /// By shard, when its next event is, or the earliest of those that it has sent to others.
    first: Vec<AtomicU64>,
    /// By shard, events of the window.
    events: Vec<AtomicU64>,
    /// By sender and receiver, what is to be handed over.
    mail: Vec<Mutex<Post>>,
}

/// What the threads share.
struct Shared {
    shards: Vec<Mutex<Shard>>,
    results: [WindowResults; 2],
    /// Up to which time shards may run before all are looked at.
    bound: AtomicU64,
    ended: AtomicBool,
    lookahead: u64,
    /// How many events may be run.
    most: u64,
    barrier: Barrier,
}

/// What the thread that began all this has beside the others.
struct Leader<'a> {
    coordinator: &'a mut Coordinator,
    until: u64,
    stop: Stop,
}

/// Runs a simulation of one shard or several up to the next event of the scenario, a time, or a
/// number of events in all, whichever comes first. Where there are several shards there may be some
/// more events.
pub(crate) fn run(simulation: &mut Simulation, until: u64, most_events: u64) -> Stop {
    let until = until.min(simulation.coordinator.end);
    if simulation.shards.len() == 1 {
        return simulation.run(until, most_events);
    }
    let shards: Vec<Mutex<Shard>> = simulation.shards.drain(..).map(Mutex::new).collect();
    let Windows {
        threads,
        lookahead_ns,
        ..
    } = simulation.coordinator.windows;
    let results = || WindowResults {
        first: shards.iter().map(|_| AtomicU64::new(0)).collect(),
        events: shards.iter().map(|_| AtomicU64::new(0)).collect(),
        mail: (0..shards.len() * shards.len())
            .map(|_| Mutex::default())
            .collect(),
    };
    let before: u64 = shards.iter().map(|shard| lock(shard).events).sum();
    let shared = Shared {
        results: [results(), results()],
        bound: AtomicU64::new(simulation.coordinator.bound(until)),
        ended: AtomicBool::new(false),
        lookahead: lookahead_ns,
        most: most_events.saturating_sub(before + simulation.coordinator.turns()),
        barrier: Barrier::new(threads),
        shards,
    };
    for (shard, first) in shared.shards.iter().zip(&shared.results[0].first) {
        first.store(lock(shard).first(), Ordering::Relaxed);
    }
    let mut lead = Leader {
        coordinator: &mut simulation.coordinator,
        until,
        stop: Stop::Events,
    };
    std::thread::scope(|scope| {
        let shared = &shared;
        let mut waiting = Vec::new();
        for number in 1..threads {
            let (go, gone) = mpsc::channel();
            let spawned = std::thread::Builder::new().spawn_scoped(scope, move || {
                if let Ok(threads) = gone.recv() {
                    work(shared, (number, threads), None);
                }
            });
            // Where the system has no more threads to give, those that there are have more shards
            // each.
            if spawned.is_err() {
                break;
            }
            waiting.push(go);
        }
        let threads = waiting.len() + 1;
        shared.barrier.only(threads);
        lead.coordinator.windows.threads = threads;
        for go in waiting {
            // It fails for none: each waits for it.
            let _ = go.send(threads);
        }
        work(shared, (0, threads), Some(&mut lead));
    });
    let stop = lead.stop;
    let shards = shared.shards.into_iter();
    simulation.shards = shards
        .map(|shard| shard.into_inner().unwrap_or_else(PoisonError::into_inner))
        .collect();
    stop
}

/// What a thread does: all threads come to the same decisions, for they read the same.
fn work(shared: &Shared, (number, threads): (usize, usize), mut lead: Option<&mut Leader<'_>>) {
    let _guard = shared.barrier.guard();
    let (mut round, mut events) = (0, 0);
    loop {
        let results = &shared.results[round & 1];
        let firsts = results
            .first
            .iter()
            .map(|first| first.load(Ordering::Relaxed));
        let first = firsts.min().unwrap_or(u64::MAX);
        let bound = shared.bound.load(Ordering::Relaxed);
        if first < bound && events < shared.most {
            let before = first.saturating_add(shared.lookahead).min(bound);
            for shard in (number..shared.shards.len()).step_by(threads) {
                shared.window(shard, round, before);
            }
            round += 1;
            if !shared.barrier.wait() {
                return;
            }
            events += shared.count(round, lead.as_deref_mut());
            continue;
        }
        if !shared.barrier.wait() {
            return;
        }
        if let Some(lead) = &mut lead {
            shared.look(lead, round, events);
        }
        if !shared.barrier.wait() || shared.ended.load(Ordering::Relaxed) {
            return;
        }
    }
}

impl Shared {
    /// Runs a shard for a window.
    fn window(&self, number: usize, round: usize, before: u64) {
        let [results, next] = [round, round + 1].map(|round| &self.results[round & 1]);
        let mut shard = lock(&self.shards[number]);
        self.take_mail(&mut shard, number, results);
        let events = shard.events;
        shard.run(before, u64::MAX);
        let mut first = shard.first();
        for (to, post) in shard.posts.iter_mut().enumerate() {
            if !post.is_empty() {
                first = first.min(post.first);
                let place = &next.mail[number * self.shards.len() + to];
                std::mem::swap(&mut *lock(place), post);
            }
        }
        next.first[number].store(first, Ordering::Relaxed);
        next.events[number].store(shard.events - events, Ordering::Relaxed);
    }

    fn take_mail(&self, shard: &mut Shard, number: usize, results: &WindowResults) {
        let count = self.shards.len();
        for place in (number..count * count).step_by(count) {
            let mut post = lock(&results.mail[place]);
            if !post.is_empty() {
                shard.receive(&mut post);
            }
        }
    }

    /// How many events a window had.
    fn count(&self, round: usize, lead: Option<&mut Leader<'_>>) -> u64 {
        let results = &self.results[round & 1].events;
        let events = |shard: &AtomicU64| shard.load(Ordering::Relaxed);
        let sum = results.iter().map(events).sum();
        if let Some(lead) = lead {
            let windows = &mut lead.coordinator.windows;
            let threads = windows.threads;
            let of_thread = |thread: usize| results[thread..].iter().step_by(threads).map(events);
            let threads = (0..threads).map(|thread| of_thread(thread).sum::<u64>());
            windows.windows += 1;
            windows.events += sum;
            windows.longest_thread_events += threads.max().unwrap_or(0);
            windows.longest_part_events += results.iter().map(events).max().unwrap_or(0);
        }
        sum
    }

    /// All shards have come to where they may not go by themselves: somebody looks at all of them.
    fn look(&self, lead: &mut Leader<'_>, round: usize, events: u64) {
        let results = &self.results[round & 1];
        let mut guards: Vec<MutexGuard<'_, Shard>> = self.shards.iter().map(lock).collect();
        for (number, shard) in guards.iter_mut().enumerate() {
            self.take_mail(shard, number, results);
        }
        let mut shards: Vec<&mut Shard> = guards.iter_mut().map(|guard| &mut **guard).collect();
        lead.coordinator.windows.looks += 1;
        lead.coordinator.windows.messages = shards.iter().map(|shard| shard.received).sum();
        let stop = if events >= self.most {
            let latest = shards.iter().map(|shard| shard.now).max();
            lead.coordinator.now = latest.unwrap_or(0).max(lead.coordinator.now);
            Some(Stop::Events)
        } else {
            let stop = lead.coordinator.turn(lead.until, &mut shards);
            deliver(&mut shards);
            stop
        };
        if let Some(stop) = stop {
            lead.stop = stop;
            self.ended.store(true, Ordering::Relaxed);
        }
        for (shard, first) in shards.iter().zip(&results.first) {
            first.store(shard.first(), Ordering::Relaxed);
        }
        let bound = lead.coordinator.bound(lead.until);
        self.bound.store(bound, Ordering::Relaxed);
    }
}

/// Lets threads meet `times` times without work in between, to measure the time of a meeting.
pub fn meet(threads: usize, times: u32) {
    let barrier = Barrier::new(threads.max(1));
    let go = || {
        let _guard = barrier.guard();
        for _ in 0..times {
            if !barrier.wait() {
                return;
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(go);
        }
        go();
    });
}

fn lock<T>(place: &Mutex<T>) -> MutexGuard<'_, T> {
    place.lock().unwrap_or_else(PoisonError::into_inner)
}
