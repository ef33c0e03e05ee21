//! Hosts: network cards with PFC, flows and their transports, workloads.

pub(super) mod chance;
pub(super) mod flow;
pub(super) mod hosts;
pub(super) mod nic;
pub(super) mod sender;
pub(super) mod timeout;
pub(super) mod window;
pub(super) mod workload;
