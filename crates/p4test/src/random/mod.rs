//! Random runs of a program: packets, updates and port changes, drawn from [`packetgen::Choices`].
//!
//! The same choices make the same [`Scenario`]. Packets and entries share their values (see
//! [`packetgen::Pool`]), so entries are hit.

mod scenario;
mod updates;

pub use scenario::{Scenario, Step};
pub use updates::UpdateMaker;
