//! The server, point by point of what P4Runtime servers get wrong and clients rely on. Each test
//! names its points.
#![allow(
    clippy::cloned_ref_to_slice_refs,
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    missing_docs,
    unreachable_pub
)]

mod bad_input;
mod batches;
mod builds;
mod clients;
mod config;
mod encoded;
mod encoding;
mod entries;
mod fuzz;
mod includes;
mod interleavings;
mod limits;
mod names;
mod optional;
mod optional_keys;
mod process;
mod serial;
mod session;
mod state;
mod stream;
mod support;
