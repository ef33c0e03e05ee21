//! How much of a long computation is done, and how it is stopped before its end.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Steps of a computation, told by its threads and read by whoever shows them. A computation in
/// several passes begins anew with each, and numbers them.
///
/// Whoever waits may [cancel](Progress::cancel) it: the computation ends where it tells of its next
/// step, by unwinding its thread up to [`Cancelled::caught`]. Nobody else has to know of that, and
/// what is half done is dropped on the way.
#[derive(Debug, Default)]
pub struct Progress {
    passes: AtomicU64,
    expected: AtomicU64,
    done: AtomicU64,
    stop: Arc<AtomicBool>,
}

/// A computation was [cancelled](Progress::cancel).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cancelled;

impl Cancelled {
    /// What `work` comes to, unless it is cancelled. Values that `work` changes stay as they are
    /// then: who looks at them afterwards has to know that they are whole at all steps.
    ///
    /// # Errors
    /// [`Cancelled`].
    pub fn caught<T>(work: impl FnOnce() -> T) -> Result<T, Self> {
        match catch_unwind(AssertUnwindSafe(work)) {
            Ok(done) => Ok(done),
            Err(why) if why.is::<Self>() => Err(Self),
            // An error of ours, which is not to be hidden.
            Err(why) => resume_unwind(why),
        }
    }
}

impl Progress {
    /// Begins a pass of so many steps.
    pub fn begin(&self, steps: u64) {
        self.checkpoint();
        self.passes.fetch_add(1, Ordering::Relaxed);
        self.done.store(0, Ordering::Relaxed);
        self.expected.store(steps, Ordering::Relaxed);
    }

    /// The passes that follow are those of other work, and are numbered from 1.
    pub fn begin_work(&self) {
        self.passes.store(0, Ordering::Relaxed);
    }

    /// So many steps more are done.
    pub fn advance(&self, steps: u64) {
        self.checkpoint();
        self.done.fetch_add(steps, Ordering::Relaxed);
    }

    /// So many steps of the pass are done.
    pub fn reach(&self, steps: u64) {
        self.checkpoint();
        self.done.store(steps, Ordering::Relaxed);
    }

    /// Stops the computation at its next step.
    pub fn cancel(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Whether the computation is to stop.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// What [`Progress::is_cancelled`] reads, for searches that end with what they have found so
    /// far.
    #[must_use]
    pub fn stop(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }

    /// A step of which nothing is told: ends here if it is cancelled.
    pub fn checkpoint(&self) {
        if self.is_cancelled() {
            resume_unwind(Box::new(Cancelled));
        }
    }

    /// How many passes of the present work have begun.
    #[must_use]
    pub fn passes(&self) -> u64 {
        self.passes.load(Ordering::Relaxed)
    }

    /// The part of the pass that is done, from 0 to 1; `None` before the first begins.
    #[must_use]
    pub fn fraction(&self) -> Option<f64> {
        let expected = self.expected.load(Ordering::Relaxed);
        let done = self.done.load(Ordering::Relaxed).min(expected);
        (expected > 0).then(|| done as f64 / expected as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_runs_from_nothing_to_all() {
        let progress = Progress::default();
        assert_eq!(progress.fraction(), None);
        progress.begin(4);
        progress.advance(1);
        assert_eq!(progress.fraction(), Some(0.25));
        progress.advance(9);
        assert_eq!(progress.fraction(), Some(1.0));
        progress.begin(10);
        progress.reach(5);
        assert_eq!(progress.fraction(), Some(0.5));
        assert_eq!(progress.passes(), 2);
        progress.begin_work();
        progress.begin(1);
        assert_eq!(progress.passes(), 1);
    }

    #[test]
    fn a_computation_ends_at_the_next_step_after_it_was_cancelled() {
        let progress = Progress::default();
        let mut steps = 0;
        let mut work = || {
            progress.begin(10);
            for step in 0..10 {
                if step == 3 {
                    progress.cancel();
                }
                progress.advance(1);
                steps += 1;
            }
        };
        assert_eq!(Cancelled::caught(&mut work), Err(Cancelled));
        assert_eq!(steps, 3);
        assert!(progress.stop().load(Ordering::Relaxed));
        let other = Progress::default();
        assert_eq!(Cancelled::caught(|| other.advance(1)), Ok(()));
    }
}
