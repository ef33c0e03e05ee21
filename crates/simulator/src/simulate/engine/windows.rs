//! Figures of how a simulation was shared among threads.

use serde::Serialize;

use super::partition::Partition;

/// How a simulation was shared among threads. It has no influence on what comes out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Windows {
    /// Parts of the network; 1 where it was not partitioned.
    pub parts: usize,
    /// Threads that ran them.
    pub threads: usize,
    /// Nanoseconds of virtual time that a window lasts at most: what the shortest cable between two
    /// parts takes.
    pub lookahead_ns: u64,
    /// Windows: after each all threads wait for each other once.
    pub windows: u64,
    /// How often one thread looked at the whole network while the others waited: two more waits for
    /// each.
    pub looks: u64,
    /// Events in windows.
    pub events: u64,
    /// The same, of each window only those of the thread that had the most: what takes time if
    /// events are dear and waiting is not.
    pub longest_thread_events: u64,
    /// The same, of each window only those of the part that had the most, as if every part had a
    /// thread.
    pub longest_part_events: u64,
    /// Frames, and words between hosts, that went from one part to another.
    pub messages: u64,
}

impl Windows {
    pub(crate) fn of(partition: &Partition, threads: usize) -> Self {
        let parts = usize::from(partition.parts);
        Self {
            parts,
            threads: threads.clamp(1, parts.max(1)),
            lookahead_ns: match parts {
                1 => 0,
                _ => partition.lookahead,
            },
            ..Self::default()
        }
    }

    /// Events of a window, on average.
    #[must_use]
    pub fn events_per_window(&self) -> f64 {
        self.events as f64 / self.windows.max(1) as f64
    }
}
