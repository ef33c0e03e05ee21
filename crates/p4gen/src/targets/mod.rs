//! Targets: what a switch can do, and what a build holds for one.

pub mod capabilities;
pub mod tofino;
pub(crate) mod v1model;
