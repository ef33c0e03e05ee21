//! Case files and the runner that plays them on every executor.
//!
//! A case is a file in the Simple Test Framework format of p4c ([`stf`]), next to the program it
//! tests. [`run`] plays it on anything that implements [`p4exec::Executor`].

pub mod stf;

pub mod bmv2;
mod compare;
pub mod differ;
mod executors;
pub mod fuzz;
pub mod many;
mod names;
pub mod random;
mod run;
pub mod shapes;
pub mod statements;
mod translate;

pub use executors::{Built, Engine, ProgramError, build, compile};
pub use run::{Failure, run};
