//! Networks of real switches: scenarios in namespaces of this machine, drills of running switches,
//! networks of a student's own, and files for engines that run containers.

pub mod drill;
pub mod emulate;
pub mod export;
pub mod net;
mod ready;
