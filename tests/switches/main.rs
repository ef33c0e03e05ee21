//! Running switches, ours and BMv2's: what the command line does with them.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

mod bfrt;
#[path = "../support/bounded.rs"]
mod bounded;
mod compose;
mod drill;
mod export;
mod leftovers;
mod net;
mod push;
mod switch;
