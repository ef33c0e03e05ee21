//! Both executors and their state on programs built by hand; every assertion holds for each.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests may fail the test"
)]

mod agree;
mod build;
mod copies;
mod expressions;
mod packet_path;
mod state;
