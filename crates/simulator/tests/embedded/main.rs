//! Networks of switches in one process: packets through generated programs and their entries go as
//! the plan's tables say.
#![allow(clippy::unwrap_used, clippy::panic)]

mod failover;
mod walks;
