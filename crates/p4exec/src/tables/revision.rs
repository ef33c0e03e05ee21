//! Numbers that tell contents apart: who derived something from a table, a profile or the state of
//! the ports keeps the revision it was derived at, and sees by it that it is out of date.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// A number for one content: two things of the same revision hold the same.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Revision(u64);

impl Revision {
    /// A revision that nothing else in this process has or had.
    pub(crate) fn new() -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        Self(LAST.fetch_add(1, Ordering::Relaxed) + 1)
    }
}

/// Says nothing: the number depends on what else the process did.
impl fmt::Debug for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("_")
    }
}
