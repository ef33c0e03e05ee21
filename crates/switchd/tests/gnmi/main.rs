//! gNMI over a real socket: every call and mode, what is refused, and what a client may take.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    missing_docs,
    unreachable_pub
)]

mod calls;
mod limits;
mod set;
mod subscribe;
mod support;
