//! The interpreter and its state on programs built by hand.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests may fail the test"
)]

mod build;
mod packet_path;
mod state;
