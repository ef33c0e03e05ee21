//! The switch as a process: P4Runtime server, ports, link status, persistence.

pub mod engine;
pub mod ports;
