//! Case files and the runner that plays them on every executor.
//!
//! A case is a file in the Simple Test Framework format of p4c ([`stf`]), next to the program it
//! tests. [`run`] plays it on anything that implements [`p4exec::Executor`].

pub mod stf;

mod names;
mod run;

pub use run::{Failure, run};
