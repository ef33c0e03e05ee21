//! Executors of `p4ir` programs and the state they run on: values, tables, externs, the reference
//! interpreter, and with feature `jit` (on by default) the executor that compiles to machine code.
//!
//! # Who uses it
//!
//! Use an [`Executor`] to run a P4 program on packets: bytes and a port in, bytes and ports out,
//! with the reason of each drop. It is the pipeline alone, without ports, queues or clocks: a
//! switch with those is a `Device` of the crate `device`. [`Interpreter`] is the reference and
//! builds for every target; [`Compiled`] gives the same outputs from machine code;
//! [`FastestExecutor`] is the faster of the two that a build has.
//!
//! # Example
//!
//! ```
//! use std::sync::Arc;
//!
//! use p4exec::{Executor, Interpreter, Outputs};
//! use p4front::{Options, source::SourceMap};
//! use quantities::{Nanos, PortId};
//!
//! let mut map = SourceMap::new();
//! let text = include_str!("../examples/bridge.p4");
//! let main = map.add("bridge.p4", text)?;
//! let program = p4front::compile(&mut map, main, &Options::default()).expect("no errors");
//! let mut executor = Interpreter::new(Arc::new(program.ir))?;
//!
//! // To the second station, which an entry of the program puts behind port 2.
//! let frame = [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0];
//! let mut out = Outputs::default();
//! executor.process(Nanos::new(0), &frame, PortId::new(1), &mut out);
//! assert_eq!(out.sent[0].port, PortId::new(2));
//! assert_eq!(out.sent[0].bytes, frame);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The example `forward` of this crate runs both executors on the same frames.

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
