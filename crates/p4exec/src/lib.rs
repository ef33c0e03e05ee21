//! Executors of `p4ir` programs and the state they run on: values, tables, externs, the reference
//! interpreter, and with feature `jit` (on by default) the executor that compiles to machine code.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![allow(
    clippy::disallowed_types,
    reason = "hash maps answer look-ups; what goes out is sorted or in the order of the input"
)]
#![cfg_attr(
    not(feature = "jit"),
    allow(
        dead_code,
        reason = "compiled code alone looks at some insides of tables and state"
    )
)]

pub mod bitio;
#[cfg(feature = "jit")]
pub mod compile;
mod drop_reason;
pub mod exec;
pub mod externs;
mod forward;
mod independent;
pub mod info;
pub mod interp;
mod key_set;
pub mod kind;
pub mod limits;
pub mod names;
mod path;
pub mod ports;
pub mod state;
pub mod tables;
pub mod tna;
mod tna_path;
pub mod trace;
pub mod v1model;
pub mod value;

#[cfg(feature = "jit")]
pub use compile::{Compiled, Object, prefetch_behind};
pub use exec::{Batch, Departure, DropReason, Executor, Output, OutputMetadata, Outputs};
pub use independent::are_packets_independent;
pub use interp::{Interpreter, UnsupportedCall, unsupported_calls};
pub use kind::{ExecutorKind, FastestExecutor, FastestFrame, executor};
pub use state::{BuildError, ControlState, DataState, RuntimeState, StateError, Update};
pub use trace::{TraceEvent, Tracer};

/// Asks the processor to fetch what lies there to its cache, where it can be asked: a hint, which
/// never waits.
#[inline]
pub fn prefetch<T: ?Sized>(place: &T) {
    prefetch_behind(place, 0);
}

/// The hint, which this build does not give: it takes an instruction of machine code.
#[cfg(not(feature = "jit"))]
#[inline]
pub fn prefetch_behind<T: ?Sized>(_: &T, _: usize) {}
