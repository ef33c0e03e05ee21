//! BF Runtime, the control plane of Tofino over gRPC: as much of the protocol as filling tables
//! takes. Messages and the service come from `proto/bfruntime.proto`, which says what of the
//! protocol it has and why.
//!
//! P4Runtime has the same shape; only names differ: here tables, keys, actions and data
//! have ids that a device tells with its program (`GetForwardingPipelineConfig`), values are as
//! wide as their fields, and of two ternary entries the one with the smaller `$MATCH_PRIORITY`
//! wins.

/// The messages, as the protocol names them.
#[allow(
    missing_docs,
    unreachable_pub,
    clippy::all,
    clippy::pedantic,
    clippy::nursery
)]
pub mod proto {
    include!("../../generated/bfrt_proto.rs");
}
