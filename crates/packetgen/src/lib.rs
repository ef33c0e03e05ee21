//! Packets for a program: what its parser accepts, with values that its tables' entries match.
//!
//! Everything is drawn from [`Choices`]: a seeded sequence, or the bytes of an input where a fuzzer
//! chooses. The same choices make the same packets.
//!
//! Values come from a [`Pool`]: the constants of the program, what its entries match, and a few
//! values per width. So entries are hit, ranges are met at their ends, and the parser's branches
//! are taken, which uniformly random bits never achieve.

mod choices;
mod packets;
mod pool;
mod traffic;

pub use choices::Choices;
pub use packets::PacketMaker;
pub use pool::Pool;
pub use traffic::{Traffic, TrafficSpec, traffic};
