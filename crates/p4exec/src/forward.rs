//! What `simple_switch` does between the blocks for a packet that asks for nothing special: it
//! comes from a port, passes ingress and egress once, and leaves by a port or is dropped.
//!
//! It is written once and done in two ways: compiled blocks are run in these steps, and the same
//! steps are written as machine code between the blocks where all are one function. A packet that
//! asks for more is taken on by [`crate::path`] from where [`Way`] says; the metadata is filled by
//! the same [`enter_ingress`] and [`enter_egress`] there.

use std::ops::ControlFlow;

use crate::v1model::StandardFields;

/// How far a packet came on the short way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub(crate) enum Way {
    /// The packet is written.
    Sent,
    /// It was aborted.
    Aborted,
    /// Ingress dropped it.
    DroppedInIngress,
    /// Egress dropped it.
    DroppedInEgress,
    /// It asked for something, or goes to a group, when ingress ended.
    AfterIngress,
    /// It asked for something when egress ended.
    AfterEgress,
}

impl Way {
    /// By number.
    pub(crate) const ALL: [Self; 6] = [
        Self::Sent,
        Self::Aborted,
        Self::DroppedInIngress,
        Self::DroppedInEgress,
        Self::AfterIngress,
        Self::AfterEgress,
    ];
}

/// A step; it breaks where the packet leaves the short way.
pub(crate) type Step = ControlFlow<Way>;

/// The standard metadata of a packet under way, or of code that is written.
pub(crate) trait StandardMetadata {
    /// A field, if the program's metadata has it.
    type Field: Copy;
    /// A number, or what will be one when the code runs.
    type Value: Copy;

    fn constant(&mut self, value: u64) -> Self::Value;
    /// The value of a field; zero if the program's metadata lacks it.
    fn field(&mut self, field: Self::Field) -> Self::Value;
    /// Sets a field to the low bits of a value.
    fn set_field(&mut self, field: Self::Field, value: Self::Value);
}

/// The blocks of a program, and how their packets leave the short way.
pub(crate) trait Blocks: StandardMetadata {
    /// Verifies checksums and runs ingress.
    fn ingress(&mut self) -> Step;
    /// The packet goes on to egress for a port.
    fn passed_on(&mut self, port: Self::Value, rid: Self::Value) -> EgressMetadata<Self::Value>;
    /// Runs egress.
    fn egress(&mut self) -> Step;
    /// Computes checksums and writes the packet.
    fn deparse(&mut self) -> Step;
    /// Leaves if a block asked the switch for something.
    fn leave_if_requested(&mut self, way: Way) -> Step;
    /// Leaves if a value is not zero.
    fn leave_if(&mut self, value: Self::Value, way: Way) -> Step;
    /// Leaves if a port means "drop".
    fn leave_if_dropped(&mut self, port: Self::Value, way: Way) -> Step;
}

/// What the metadata says of a packet that enters ingress.
pub(crate) struct IngressMetadata<V> {
    pub(crate) port: V,
    /// Bytes of the packet.
    pub(crate) length: V,
    /// When it came, in microseconds; only of packets from a port.
    pub(crate) time: Option<V>,
}

/// What the metadata says of a packet that enters egress.
pub(crate) struct EgressMetadata<V> {
    pub(crate) port: V,
    /// One of [`crate::v1model::instance_type`].
    pub(crate) instance_type: V,
    /// Bytes of the packet as it came.
    pub(crate) length: V,
    /// When it was queued and taken from the queue, in microseconds.
    pub(crate) time: V,
}

/// Fills what a packet enters ingress with; all else is zero.
#[inline]
pub(crate) fn enter_ingress<M: StandardMetadata>(
    metadata: &mut M,
    fields: &StandardFields<M::Field>,
    packet: IngressMetadata<M::Value>,
) {
    metadata.set_field(fields.ingress_port, packet.port);
    metadata.set_field(fields.packet_length, packet.length);
    if let Some(time) = packet.time {
        metadata.set_field(fields.ingress_global_timestamp, time);
    }
}

/// Fills what a packet enters egress with.
#[inline]
pub(crate) fn enter_egress<M: StandardMetadata>(
    metadata: &mut M,
    fields: &StandardFields<M::Field>,
    packet: EgressMetadata<M::Value>,
) {
    let zero = metadata.constant(0);
    for (field, value) in [
        (fields.instance_type, packet.instance_type),
        (fields.egress_port, packet.port),
        (fields.egress_spec, zero),
        (fields.packet_length, packet.length),
        (fields.enq_timestamp, packet.time),
        (fields.egress_global_timestamp, packet.time),
    ] {
        metadata.set_field(field, value);
    }
}

/// Takes a packet, whose metadata [`enter_ingress`] filled and which the parser left with this
/// error, to the wire.
#[inline]
pub(crate) fn forward<B: Blocks>(
    blocks: &mut B,
    fields: &StandardFields<B::Field>,
    error: B::Value,
) -> Step {
    blocks.set_field(fields.parser_error, error);
    blocks.ingress()?;
    blocks.leave_if_requested(Way::AfterIngress)?;
    let group = blocks.field(fields.mcast_grp);
    blocks.leave_if(group, Way::AfterIngress)?;
    let port = blocks.field(fields.egress_spec);
    blocks.leave_if_dropped(port, Way::DroppedInIngress)?;
    let rid = blocks.field(fields.egress_rid);
    let packet = blocks.passed_on(port, rid);
    enter_egress(blocks, fields, packet);
    blocks.egress()?;
    blocks.leave_if_requested(Way::AfterEgress)?;
    let port = blocks.field(fields.egress_spec);
    blocks.leave_if_dropped(port, Way::DroppedInEgress)?;
    blocks.deparse()
}
