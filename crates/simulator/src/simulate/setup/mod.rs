//! From a scenario and a network to what the engine needs: names looked up, buffers sized, flows
//! and tables made.

pub(super) mod buffers;
pub(super) mod check;
pub(super) mod demands;
pub(super) mod distance;
pub(super) mod resolve;
pub(super) mod routing;
pub(super) mod senders;
pub(super) mod settings;
