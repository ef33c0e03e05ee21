//! P4Info of a program: the control plane's view of it (P4Runtime specification 1.4, chapter 6).
//!
//! P4Runtime's own messages, entity by entity what p4c writes: same ids, aliases and names. The
//! order is that of p4c's traversal too: blocks of the package in order, then what they contain.

mod build;
mod constant;
mod derived;
mod entries;
mod facts;
mod ids;
mod notes;
mod objects;
mod package;
mod reach;
mod types;

pub(crate) use build::build;
pub use build::match_type;
pub use derived::p4info_of;
pub use entries::initial_entries;
pub(crate) use facts::{Facts, SelectorFact};
pub(crate) use types::{Decls, Records};

/// Widths and sizes as messages have them; the front end's limits keep them far below what fits.
fn int32(number: impl TryInto<i32>) -> i32 {
    number.try_into().unwrap_or(i32::MAX)
}
