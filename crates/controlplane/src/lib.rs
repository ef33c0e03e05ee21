//! Switches over P4Runtime or BF Runtime: what each of a network holds, how that differs from a
//! build directory, and how to bring it there.
//!
//! | step | module |
//! |---|---|
//! | which switch is where, and who we are to it | [`devices`] |
//! | one switch over P4Runtime: session, pipeline, reads, writes; over BF Runtime, in the same words | [`client`], [`bfrt`] |
//! | one switch, over whichever it has | [`switch`] |
//! | what a build directory wants of every switch | [`desired`] |
//! | entities in one form, whoever wrote them | [`entity`] |
//! | what a switch holds | [`state`] |
//! | what has to change, and in which order | [`diff`] |
//! | one switch brought to a state | [`apply`] |
//! | the network brought to a state, or left as it was | [`push`], [`journal`], [`report`] |
//! | the network brought from one version of a failover plan to another | [`versioned`] |
//! | differences as they appear | [`drift`] |
//! | port status for switches that cannot see their links | [`agent`] |
//!
//! What a switch can do is found out by asking it ([`apply::Abilities`]), beginning with what its
//! target is known for where the devices file or the build says what it is; where it turns out to
//! be otherwise, the report tells.

pub mod agent;
pub mod apply;
pub mod bfrt;
pub mod client;
pub mod desired;
pub mod devices;
pub mod diff;
pub mod drift;
pub mod entity;
mod error;
pub mod journal;
pub mod p4c;
pub mod push;
pub mod report;
pub mod state;
pub mod switch;
pub mod versioned;

pub use apply::{Abilities, Applied};
pub use client::Client;
pub use desired::{Desired, DesiredSwitch};
pub use devices::{ConfigFormat, Device, DeviceRequirements, Devices, DevicesError};
pub use diff::{Change, ChangeKind, PipelineChange, SwitchDiff};
pub use entity::EntityKey;
pub use error::{RemoteError, UpdateFailure};
pub use error::{code_name, update_failures};
pub use p4runtime::client::{ElectionId, Endpoint, Tls};
pub use push::{PushError, PushOptions, Stop};
pub use report::PushReport;
pub use state::SwitchState;
pub use switch::Switch;

#[cfg(test)]
mod tests;
