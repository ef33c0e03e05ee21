//! The Thrift services of BMv2's `simple_switch`, over a real socket.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs, unreachable_pub)]

mod hostile;
mod methods;
mod support;
