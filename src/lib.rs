//! Switchwright: from a data-center topology and a policy to proven P4 data planes that run.
//!
//! What it does stands in the crates below `crates/` (see `ARCHITECTURE.md`).

pub mod cli;
