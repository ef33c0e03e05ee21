//! Executors of `p4ir` programs and the state they run on: values, tables, externs, the reference
//! interpreter.

pub mod bitio;
pub mod compile;
pub mod exec;
pub mod externs;
pub mod interp;
pub mod kind;
mod path;
pub mod ports;
pub mod state;
pub mod tables;
pub mod tna;
mod tna_path;
pub mod trace;
pub mod v1model;
pub mod value;

pub use compile::{Compiled, Object};
pub use exec::{Batch, Departure, DropReason, Executor, Output, OutputMetadata, Outputs};
pub use interp::Interpreter;
pub use kind::{ExecutorKind, executor};
pub use state::{BuildError, ControlState, DataState, RuntimeState, StateError, Update};
pub use trace::{TraceEvent, Tracer};
