//! Packets to and from the controller: the header that P4Info describes is a list of named fields
//! on the wire of P4Runtime and the first bytes of the packet on the CPU port (P4Runtime 1.5,
//! sections 6.4.6 and 16.1).

use p4exec::value::Bits;
use p4runtime::p4::v1;

use super::refusal::Refusal;
use super::schema::{HeaderSchema, Schema};
use super::value;

fn header_bytes(header: &HeaderSchema) -> usize {
    let bits: u32 = header.fields.iter().map(|f| f.shape.width).sum();
    (bits / 8) as usize
}

/// The packet for the CPU port: one value for each field of the header, no more, no less.
///
/// # Errors
/// INVALID_ARGUMENT or OUT_OF_RANGE, naming the field.
pub fn packet_out(schema: &Schema, packet: &v1::PacketOut) -> Result<Vec<u8>, Refusal> {
    let Some(header) = &schema.packet_out else {
        if !packet.metadata.is_empty() {
            return Err(Refusal::invalid(
                "P4Info has no packet_out header: leave the metadata out",
            ));
        }
        return Ok(packet.payload.clone());
    };
    if packet.metadata.len() != header.fields.len() {
        return Err(Refusal::invalid(format!(
            "{} metadata fields are given where packet_out has {}",
            packet.metadata.len(),
            header.fields.len()
        )));
    }
    let mut whole = Bits::zero(0);
    for field in &header.fields {
        let here = |r: Refusal| r.at(&format!("packet_out field `{}`", field.name));
        let given = packet.metadata.iter().find(|m| m.metadata_id == field.id);
        let given = given.ok_or_else(|| here(Refusal::invalid("it is missing")))?;
        whole = whole
            .concat(&value::read(&given.value, field.shape, field.names.as_deref()).map_err(here)?);
    }
    let mut bytes = whole.to_bytes_be();
    bytes.extend_from_slice(&packet.payload);
    Ok(bytes)
}

/// The message of a packet that left by the CPU port. One that is shorter than the header has no
/// fields.
#[must_use]
pub fn packet_in(schema: &Schema, packet: Vec<u8>) -> v1::PacketIn {
    let Some(header) = &schema.packet_in else {
        return v1::PacketIn {
            payload: packet,
            metadata: Vec::new(),
        };
    };
    let length = header_bytes(header);
    if packet.len() < length {
        return v1::PacketIn {
            payload: packet,
            metadata: Vec::new(),
        };
    }
    let mut top = length as u32 * 8;
    let whole = Bits::from_bytes_be(top, &packet[..length]);
    let mut metadata = Vec::with_capacity(header.fields.len());
    for field in header.fields.iter().filter(|f| f.shape.width > 0) {
        let low = top - field.shape.width;
        metadata.push(v1::PacketMetadata {
            metadata_id: field.id,
            value: value::write(
                &whole.slice(top - 1, low),
                field.shape,
                field.names.as_deref(),
            ),
        });
        top = low;
    }
    v1::PacketIn {
        payload: packet[length..].to_vec(),
        metadata,
    }
}
