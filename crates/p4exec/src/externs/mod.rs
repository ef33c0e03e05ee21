//! The externs of v1model that keep state or compute: counters, meters, registers, hashes and
//! checksums, random numbers, digests. None of them reads a clock: time is an argument.

pub(crate) mod args;
pub mod counter;
pub mod digest;
pub mod hash;
pub mod meter;
pub mod random;
pub mod register;
