//! Parts of a network that are simulated beside each other by several threads, in windows of
//! virtual time (conservative parallel simulation): what a part sends to another one takes at least
//! as long as the shortest cable between parts, so that all events from the earliest one on for
//! that long can be run in any order, part by part. Then the parts meet, hand over what they have
//! sent, and the next window begins at what is then the earliest event.
//!
//! What looks at the whole network (see [`world`](super::world)) does so when all parts have come
//! to its time, by the thread that began all this.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};

use super::barrier::Barrier;
use super::event::Post;
use super::part::Part;
use super::windows::Windows;
use super::world::{Stop, Whole, World, deliver};

/// What each part has told of a window; of every other window in turn, so that one can be read
/// while the next is written.
#[derive(Debug)]
struct Told {
    /// By part, when its next event is, or the earliest of those that it has sent to others.
    first: Vec<AtomicU64>,
    /// By part, events of the window.
    events: Vec<AtomicU64>,
    /// By sender and receiver, what is to be handed over.
    mail: Vec<Mutex<Post>>,
}

/// What the threads share.
struct Shared {
    parts: Vec<Mutex<Part>>,
    told: [Told; 2],
    /// Up to which time parts may run before all are looked at.
    bound: AtomicU64,
    ended: AtomicBool,
    lookahead: u64,
    /// How many events may be run.
    most: u64,
    barrier: Barrier,
}

/// What the thread that began all this has beside the others.
struct Lead<'a> {
    whole: &'a mut Whole,
    until: u64,
    stop: Stop,
}

/// Runs a world of one part or several up to the next event of the scenario, a time, or a number of
/// events in all, whichever comes first. Where there are several parts there may be some more
/// events.
pub(super) fn run(world: &mut World, until: u64, most_events: u64) -> Stop {
    let until = until.min(world.whole.end);
    if world.parts.len() == 1 {
        return world.run(until, most_events);
    }
    let parts: Vec<Mutex<Part>> = world.parts.drain(..).map(Mutex::new).collect();
    let Windows {
        threads,
        lookahead_ns,
        ..
    } = world.whole.windows;
    let told = || Told {
        first: parts.iter().map(|_| AtomicU64::new(0)).collect(),
        events: parts.iter().map(|_| AtomicU64::new(0)).collect(),
        mail: (0..parts.len() * parts.len())
            .map(|_| Mutex::default())
            .collect(),
    };
    let before: u64 = parts.iter().map(|part| lock(part).events).sum();
    let shared = Shared {
        told: [told(), told()],
        bound: AtomicU64::new(world.whole.bound(until)),
        ended: AtomicBool::new(false),
        lookahead: lookahead_ns,
        most: most_events.saturating_sub(before + world.whole.turns()),
        barrier: Barrier::new(threads),
        parts,
    };
    for (part, first) in shared.parts.iter().zip(&shared.told[0].first) {
        first.store(lock(part).first(), Ordering::Relaxed);
    }
    let mut lead = Lead {
        whole: &mut world.whole,
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
            // Where the system has no more threads to give, those that there are have more parts
            // each.
            if spawned.is_err() {
                break;
            }
            waiting.push(go);
        }
        let threads = waiting.len() + 1;
        shared.barrier.only(threads);
        lead.whole.windows.threads = threads;
        for go in waiting {
            // It fails for none: each waits for it.
            let _ = go.send(threads);
        }
        work(shared, (0, threads), Some(&mut lead));
    });
    let stop = lead.stop;
    let parts = shared.parts.into_iter();
    world.parts = parts
        .map(|part| part.into_inner().unwrap_or_else(PoisonError::into_inner))
        .collect();
    stop
}

/// What a thread does: all threads come to the same decisions, for they read the same.
fn work(shared: &Shared, (number, threads): (usize, usize), mut lead: Option<&mut Lead<'_>>) {
    let _guard = shared.barrier.guard();
    let (mut round, mut events) = (0, 0);
    loop {
        let told = &shared.told[round & 1];
        let firsts = told.first.iter().map(|first| first.load(Ordering::Relaxed));
        let first = firsts.min().unwrap_or(u64::MAX);
        let bound = shared.bound.load(Ordering::Relaxed);
        if first < bound && events < shared.most {
            let before = first.saturating_add(shared.lookahead).min(bound);
            for part in (number..shared.parts.len()).step_by(threads) {
                shared.window(part, round, before);
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
    /// Runs a part for a window.
    fn window(&self, number: usize, round: usize, before: u64) {
        let [told, next] = [round, round + 1].map(|round| &self.told[round & 1]);
        let mut part = lock(&self.parts[number]);
        self.take_mail(&mut part, number, told);
        let events = part.events;
        part.run(before, u64::MAX);
        let mut first = part.first();
        for (to, post) in part.posts.iter_mut().enumerate() {
            if !post.is_empty() {
                first = first.min(post.first);
                let place = &next.mail[number * self.parts.len() + to];
                std::mem::swap(&mut *lock(place), post);
            }
        }
        next.first[number].store(first, Ordering::Relaxed);
        next.events[number].store(part.events - events, Ordering::Relaxed);
    }

    fn take_mail(&self, part: &mut Part, number: usize, told: &Told) {
        let count = self.parts.len();
        for place in (number..count * count).step_by(count) {
            let mut post = lock(&told.mail[place]);
            if !post.is_empty() {
                part.receive(&mut post);
            }
        }
    }

    /// How many events a window had.
    fn count(&self, round: usize, lead: Option<&mut Lead<'_>>) -> u64 {
        let told = &self.told[round & 1].events;
        let events = |part: &AtomicU64| part.load(Ordering::Relaxed);
        let sum = told.iter().map(events).sum();
        if let Some(lead) = lead {
            let windows = &mut lead.whole.windows;
            let threads = windows.threads;
            let of_thread = |thread: usize| told[thread..].iter().step_by(threads).map(events);
            let threads = (0..threads).map(|thread| of_thread(thread).sum::<u64>());
            windows.windows += 1;
            windows.events += sum;
            windows.longest_thread_events += threads.max().unwrap_or(0);
            windows.longest_part_events += told.iter().map(events).max().unwrap_or(0);
        }
        sum
    }

    /// All parts have come to where they may not go by themselves: somebody looks at all of them.
    fn look(&self, lead: &mut Lead<'_>, round: usize, events: u64) {
        let told = &self.told[round & 1];
        let mut guards: Vec<MutexGuard<'_, Part>> = self.parts.iter().map(lock).collect();
        for (number, part) in guards.iter_mut().enumerate() {
            self.take_mail(part, number, told);
        }
        let mut parts: Vec<&mut Part> = guards.iter_mut().map(|guard| &mut **guard).collect();
        lead.whole.windows.looks += 1;
        lead.whole.windows.messages = parts.iter().map(|part| part.received).sum();
        let stop = if events >= self.most {
            let latest = parts.iter().map(|part| part.now).max();
            lead.whole.now = latest.unwrap_or(0).max(lead.whole.now);
            Some(Stop::Events)
        } else {
            let stop = lead.whole.turn(lead.until, &mut parts);
            deliver(&mut parts);
            stop
        };
        if let Some(stop) = stop {
            lead.stop = stop;
            self.ended.store(true, Ordering::Relaxed);
        }
        for (part, first) in parts.iter().zip(&told.first) {
            first.store(part.first(), Ordering::Relaxed);
        }
        let bound = lead.whole.bound(lead.until);
        self.bound.store(bound, Ordering::Relaxed);
    }
}

/// Has threads meet so many times with nothing to do between, to see what that takes.
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
