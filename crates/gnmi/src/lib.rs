//! The gRPC Network Management Interface (gNMI): messages, client and server, from the published
//! protos.
//!
//! What the protos under `proto/` give is kept in `generated/`; a test compares both.

/// The version of the service, as the option `gnmi_service` of `gnmi.proto` has it.
pub const SERVICE_VERSION: &str = "0.10.0";

/// The serialised `google.protobuf.FileDescriptorSet` of both protos and what they import.
pub static FILE_DESCRIPTOR_SET: &[u8] = include_bytes!("../generated/descriptors.bin");

/// Rust types of every message, generated from `proto/`.
#[allow(
    missing_docs,
    unreachable_pub,
    deprecated,
    clippy::all,
    clippy::pedantic,
    clippy::nursery,
    rustdoc::all
)]
mod messages {
    include!("../generated/messages.rs");
}

pub use messages::gnmi as proto;
pub use messages::gnmi_ext as extensions;
