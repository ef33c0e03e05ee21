//! What is written is what the plan says, what is read is what was written, and an audit finds what
//! was planted.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

mod audited;
mod buildimage;
mod faults;
mod merged;
mod mgmt;
mod mutated;
mod schema;
mod written;
