//! The switch as a process: P4Runtime server, ports, link status, persistence.
//!
//! [`engine`] owns the data plane on a thread of its own, [`ports`] are its packets' ways in and out; [`translate`] speaks
//! P4Runtime's messages; [`server`] is the service; [`persist`] keeps state on disk.

pub mod admin;
pub mod engine;
pub mod persist;
pub mod ports;
pub mod server;
mod sockets;
pub mod translate;
