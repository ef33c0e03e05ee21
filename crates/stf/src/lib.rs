//! Case files and the runners that play them: on every executor of ours, and on BMv2 where it is
//! installed.
//!
//! A case is a file in the Simple Test Framework format of p4c ([`case`](mod@case)), next to the
//! program it tests. [`run`] plays it on anything that implements [`p4exec::Executor`],
//! [`bmv2::play`] on `simple_switch`.

pub mod bmv2;
pub mod case;
mod compare;
mod names;
mod run;
mod translate;

pub use case::{Case, parse};
pub use compare::Failure;
pub use run::run;
