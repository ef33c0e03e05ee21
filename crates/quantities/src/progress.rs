//! How much of a long computation is done.

use std::sync::atomic::{AtomicU64, Ordering};

/// Steps of a computation, told by its threads and read by whoever shows them. A computation in several passes begins anew
/// with each.
#[derive(Debug, Default)]
pub struct Progress {
    expected: AtomicU64,
    done: AtomicU64,
}

impl Progress {
    /// Begins a pass of so many steps.
    pub fn begin(&self, steps: u64) {
        self.done.store(0, Ordering::Relaxed);
        self.expected.store(steps, Ordering::Relaxed);
    }

    /// So many steps more are done.
    pub fn advance(&self, steps: u64) {
        self.done.fetch_add(steps, Ordering::Relaxed);
    }

    /// So many steps of the pass are done.
    pub fn reach(&self, steps: u64) {
        self.done.store(steps, Ordering::Relaxed);
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
    }
}
