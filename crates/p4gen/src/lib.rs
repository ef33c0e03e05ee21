//! From a proven plan to what a target runs: program, entries, build directory.

pub mod build;
pub mod capabilities;
pub mod entries;
pub mod family;
pub mod hosts;
pub mod layout;
pub mod program;
pub mod targets;
