//! P4Runtime as data: the messages of the standard (version 1.5, with the two additions of
//! 1.6.0), canonical byte strings, the text format, and look-up of P4Info objects by name.
//!
//! With the feature `client` it has a client of servers too ([`client`]).
//!
//! What the protos under `proto/` give is kept in `generated/`, and a test makes it anew
//! (`tests/generated.rs`). The descriptors stay in the binary, as [`FILE_DESCRIPTOR_SET`] and
//! [`descriptor_pool`], so that messages can be printed and parsed by name ([`text`]) and served by
//! reflection.

use std::sync::LazyLock;

use prost_reflect::DescriptorPool;

pub mod bytestring;
#[cfg(feature = "client")]
pub mod client;
pub mod names;
pub mod text;

pub use bytestring::BytestringError;
pub use names::{NameError, P4InfoIndex, check};
pub use text::{TextError, from_text, to_dynamic, to_text, write_escaped};

/// Rust types of every message, generated from `proto/`.
#[allow(
    missing_docs,
    unreachable_pub,
    clippy::all,
    clippy::pedantic,
    rustdoc::all
)]
mod messages {
    include!("../generated/messages.rs");
}

/// Package `google`.
pub mod google {
    /// Package `google.rpc`.
    pub use super::messages::google::rpc;
}

/// Package `p4`.
pub mod p4 {
    /// Package `p4.config`: P4Info and P4 types (chapters 6 and 8).
    pub use super::messages::p4::config;
    /// Package `p4.v1`: service messages and entities (chapters 9 to 17).
    pub use super::messages::p4::v1;
}

/// The serialised `google.protobuf.FileDescriptorSet` of all protos, imports included.
pub static FILE_DESCRIPTOR_SET: &[u8] = include_bytes!("../generated/descriptors.bin");

/// Descriptors of all messages, for reflection.
#[must_use]
pub fn descriptor_pool() -> &'static DescriptorPool {
    static POOL: LazyLock<DescriptorPool> =
        LazyLock::new(|| DescriptorPool::decode(FILE_DESCRIPTOR_SET).expect("a test makes these"));
    &POOL
}
