//! Networks of real switches on this machine: scenarios in namespaces, drills of running switches, and networks of a student's own.

pub mod drill;
pub mod emulate;
pub mod net;
