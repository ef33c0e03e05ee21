//! Networks of real switches on this machine: scenarios in namespaces, and drills of running switches.

pub mod drill;
pub mod emulate;
