//! The simulation: the calendar of events, the shards that run beside each other, and what looks
//! at all of them at once.

pub(super) mod barrier;
pub(super) mod calendar;
pub(super) mod event;
pub(super) mod parallel;
pub(super) mod partition;
pub(super) mod shard;
pub(super) mod simulation;
pub(super) mod watchdog;
pub(super) mod windows;
