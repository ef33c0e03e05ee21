//! Where threads wait for each other: for a short time without giving the processor back, then
//! asleep.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

/// How often a thread looks before it sleeps: about as long as it takes to fall asleep and be
/// woken.
const LOOKS: u32 = 4_000;

/// See the module documentation.
#[derive(Debug)]
pub(crate) struct Barrier {
    threads: AtomicUsize,
    arrived: AtomicUsize,
    /// How often all have met.
    met: AtomicUsize,
    broken: AtomicBool,
    looks: u32,
    asleep: Mutex<()>,
    bell: Condvar,
}

/// Breaks the barrier when a thread ends by a bug, so that the others do not wait for it for ever.
pub(crate) struct Guard<'a>(&'a Barrier);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.broken.store(true, Ordering::Release);
            self.0.ring();
        }
    }
}

impl Barrier {
    pub(crate) fn new(threads: usize) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            threads: AtomicUsize::new(threads),
            arrived: AtomicUsize::new(0),
            met: AtomicUsize::new(0),
            broken: AtomicBool::new(false),
            // Who looks keeps those from working that he waits for, if there are not enough
            // processors.
            looks: if threads <= cores { LOOKS } else { 0 },
            asleep: Mutex::new(()),
            bell: Condvar::new(),
        }
    }

    /// There are fewer threads than was thought; not to be said when any of them has come.
    pub(crate) fn only(&self, threads: usize) {
        self.threads.store(threads, Ordering::Release);
    }

    /// Each thread holds one while it works.
    pub(crate) const fn guard(&self) -> Guard<'_> {
        Guard(self)
    }

    /// Returns when all threads have called it as often as this one; whether they have, and none of
    /// them broke.
    #[must_use]
    pub(crate) fn wait(&self) -> bool {
        let met = self.met.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads.load(Ordering::Acquire) {
            self.arrived.store(0, Ordering::Relaxed);
            self.met.store(met.wrapping_add(1), Ordering::Release);
            self.ring();
            return !self.broken.load(Ordering::Acquire);
        }
        for _ in 0..self.looks {
            if self.met.load(Ordering::Acquire) != met || self.broken.load(Ordering::Acquire) {
                return !self.broken.load(Ordering::Acquire);
            }
            std::hint::spin_loop();
        }
        let mut asleep = self.asleep.lock().unwrap_or_else(PoisonError::into_inner);
        while self.met.load(Ordering::Acquire) == met && !self.broken.load(Ordering::Acquire) {
            asleep = self
                .bell
                .wait(asleep)
                .unwrap_or_else(PoisonError::into_inner);
        }
        !self.broken.load(Ordering::Acquire)
    }

    /// Wakes who sleeps. Whoever is about to sleep holds the lock from its last look until it does.
    fn ring(&self) {
        drop(self.asleep.lock().unwrap_or_else(PoisonError::into_inner));
        self.bell.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use super::*;

    #[test]
    fn nobody_is_ahead_of_the_others() {
        for (threads, looks) in [(1, LOOKS), (2, LOOKS), (2, 0), (5, 3)] {
            let barrier = Barrier {
                looks,
                ..Barrier::new(threads)
            };
            let rounds: Vec<AtomicU64> = (0..threads).map(|_| AtomicU64::new(0)).collect();
            std::thread::scope(|scope| {
                for own in &rounds {
                    let (barrier, rounds) = (&barrier, &rounds);
                    scope.spawn(move || {
                        let _guard = barrier.guard();
                        for round in 1..=300 {
                            own.store(round, Ordering::Relaxed);
                            assert!(barrier.wait());
                            for other in rounds {
                                let other = other.load(Ordering::Relaxed);
                                assert!((round..=round + 1).contains(&other));
                            }
                        }
                    });
                }
            });
        }
    }
}
