//! Switchwright: from a data-center topology and a policy to proven P4 data planes that run.
//!
//! Data flows left to right, once; a module imports only what stands to its left (see
//! `ARCHITECTURE.md`):
//!
//! ```text
//! topology -> routes -> scheme -> plan -> { program, entries } -> target -> simulate -> emulate -> measure -> cli
//! ```

pub mod cli;
pub mod emulate;
pub mod entries;
pub mod measure;
pub mod plan;
pub mod program;
pub mod routes;
pub mod scheme;
pub mod simulate;
pub mod target;
pub mod topology;
