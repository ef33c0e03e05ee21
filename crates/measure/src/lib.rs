//! What `switchwright measure`, `measure-paths`, `p4 bench` and `p4 explain` measure: failover
//! tables under failures, whether packets are rerouted, the speed of executors; and the machine,
//! the time and the memory of a measurement.
//!
//! Benchmarks and the figures of the papers are another package, `switchwright-figures`.

pub mod failover;
mod forwarding;
mod machine;
mod paths;
mod profile;

pub use forwarding::{Budget, ForwardingFigure, forward};
pub use machine::{Machine, kibibytes, resident_memory, timed};
pub use paths::{
    EmbeddedProber, FIRST_TTL, LiveProber, PathsFigure, Prober, ReroutedPair, measure_paths,
};
pub use profile::{Profile, TableCost, profile};
