//! Exports hold what the network has.
#![allow(clippy::unwrap_used)]
