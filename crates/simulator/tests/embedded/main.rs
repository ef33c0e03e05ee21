//! Networks of switches in one process: packets through generated programs and their entries go as
//! the plan's tables say.
#![allow(clippy::unwrap_used, clippy::panic)]

mod failover;
mod walks;

/// Whether the large cases are asked for, as `cargo xtask nightly` does.
pub(crate) fn large() -> bool {
    std::env::var_os("LARGE_TESTS").is_some()
}
