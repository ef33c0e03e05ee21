//! The switch as a process: P4Runtime and gNMI server, ports, link status, persistence.
//!
//! [`engine`] owns the data plane on a thread of its own, [`ports`] are its packets' ways in and
//! out; [`translate`] speaks P4Runtime's messages; [`server`] is the service, with gNMI beside it,
//! and keeps its state on disk ([`persist`]); [`thrift`] serves the clients of BMv2's
//! `simple_switch`.

pub mod admin;
pub mod engine;
mod port_names;
pub mod ports;
pub mod server;
mod sockets;
pub mod thrift;
pub mod translate;

pub use server::persist;
