//! Switches over BF Runtime: Tofino's own control plane, as another way to talk to a switch that
//! `push` and `drift` know.
//!
//! Nothing is decided here: what a switch holds is made into P4Runtime's entities, in which a build
//! is compared with it, and changes of those entities are made into BF Runtime's updates.
//!
//! | step | module |
//! |---|---|
//! | the messages and the service | [`protocol`] |
//! | what a device says its program's tables are | [`schema`] |
//! | P4Runtime's ids against the device's, entity by entity | [`translation`] |
//! | one device: session, program, reads, writes | [`client`] |

pub mod client;
pub mod protocol;
pub mod schema;
pub mod translation;

pub use client::Client;
pub use schema::Schema;
pub use translation::EntityTranslation;
