//! Byte strings of the wire and bit strings of the executor (P4Runtime 1.5, section 8.3).

use entries::{Bits, Bytestring as _};
use quantities::PortId;

use super::refusal::Refusal;
use crate::port_names::PortNames;

/// How a value is written: its bits, and whether they are two's complement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Bits.
    pub width: u32,
    /// `int<W>`.
    pub signed: bool,
}

impl Shape {
    /// `bit<W>`.
    #[must_use]
    pub const fn unsigned(width: u32) -> Self {
        Self {
            width,
            signed: false,
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    let shown: String = bytes.iter().take(32).map(|b| format!("{b:02x}")).collect();
    let rest = if bytes.len() > 32 { "..." } else { "" };
    format!("0x{shown}{rest}")
}

/// Reads a value of any zero-padded length (P4Runtime 1.5, section 8.3): empty or too large is
/// OUT_OF_RANGE.
///
/// # Errors
/// A refusal that says which value and how wide it may be.
pub fn decode(bytes: &[u8], shape: Shape) -> Result<Bits, Refusal> {
    if shape.signed {
        return decode_signed(bytes, shape.width);
    }
    Bits::decode(bytes, shape.width).map_err(|e| Refusal::out_of_range(e.to_string()))
}

fn decode_signed(bytes: &[u8], width: u32) -> Result<Bits, Refusal> {
    let short = p4runtime::bytestring::signed(bytes, width)
        .map_err(|e| Refusal::out_of_range(e.to_string()))?;
    let given = u32::try_from(short.len() * 8).unwrap_or(u32::MAX);
    Ok(Bits::from_bytes_be(given, short).resize_signed(width))
}

/// The shortest form of a value (P4Runtime 1.5, section 8.3).
#[must_use]
pub fn encode(value: &Bits, signed: bool) -> Vec<u8> {
    if signed {
        let full = value.width().div_ceil(8) * 8;
        let bytes = value.resize_signed(full).to_bytes_be();
        return p4runtime::bytestring::canonical_signed(&bytes).to_vec();
    }
    if let Some(small) = value.to_u64() {
        let bytes = small.to_be_bytes();
        let skip = (small.leading_zeros() as usize / 8).min(7);
        return bytes[skip..].to_vec();
    }
    let bytes = value.to_bytes_be();
    p4runtime::bytestring::canonical(&bytes).to_vec()
}

/// The number of a port's name (P4Runtime 1.5, sections 8.3 and 18.1).
///
/// # Errors
/// INVALID_ARGUMENT if no port is called so.
pub fn named(bytes: &[u8], names: &PortNames) -> Result<u32, Refusal> {
    let name = std::str::from_utf8(bytes)
        .map_err(|_| Refusal::invalid(format!("{} is no text; give a port's name", hex(bytes))))?;
    names
        .number(name)
        .map_err(|e| Refusal::invalid(e.to_string()))
}

/// Reads a value of a type that the control plane knows by the names of ports, if it is one.
///
/// # Errors
/// INVALID_ARGUMENT for a name that is none; OUT_OF_RANGE.
pub fn read(bytes: &[u8], shape: Shape, names: Option<&PortNames>) -> Result<Bits, Refusal> {
    match names {
        None => decode(bytes, shape),
        Some(names) => decode(&named(bytes, names)?.to_be_bytes(), shape),
    }
}

/// The form in which [`read`] takes a value.
#[must_use]
pub fn write(value: &Bits, shape: Shape, names: Option<&PortNames>) -> Vec<u8> {
    // Types with names have 32 bits at most.
    let number = value.to_u64().and_then(|n| u32::try_from(n).ok());
    match (names, number) {
        (Some(names), Some(number)) => names.name(number).into_bytes(),
        _ => encode(value, shape.signed),
    }
}

/// `SDN_PORT_CPU` (P4Runtime 1.5, section 18.1).
const SDN_PORT_CPU: u32 = 0xffff_fffd;

/// The largest port number of v1model, below its drop port.
const LAST_PORT: u32 = 510;

/// Reads a port number: the program's own, or the standard's number of the CPU port.
///
/// # Errors
/// INVALID_ARGUMENT if there can be no such port.
pub fn port(bytes: &[u8], cpu_port: Option<PortId>) -> Result<PortId, Refusal> {
    if bytes.is_empty() {
        return Err(Refusal::invalid("the port is empty; give its number"));
    }
    let short = p4runtime::bytestring::canonical(bytes);
    if short.len() > 4 {
        return Err(Refusal::invalid(format!(
            "{} is no port number",
            hex(bytes)
        )));
    }
    port_number(
        short.iter().fold(0, |v, b| (v << 8) | u32::from(*b)),
        cpu_port,
    )
}

/// The same for a number.
///
/// # Errors
/// INVALID_ARGUMENT if there can be no such port.
pub fn port_number(number: u32, cpu_port: Option<PortId>) -> Result<PortId, Refusal> {
    match (number, cpu_port) {
        (SDN_PORT_CPU, Some(port)) => Ok(port),
        (SDN_PORT_CPU, None) => Err(Refusal::invalid(
            "the switch has no CPU port; start it with --cpu-port",
        )),
        (number, _) if number <= LAST_PORT => Ok(PortId::new(number as u16)),
        (number, _) => Err(Refusal::invalid(format!(
            "port {number} is beyond the last one, {LAST_PORT}"
        ))),
    }
}

/// A port number in its shortest form.
#[must_use]
pub fn port_bytes(port: PortId) -> Vec<u8> {
    p4runtime::bytestring::canonical(&port.get().to_be_bytes()).to_vec()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn any_zero_padding_is_read_and_the_shortest_form_is_answered() {
        for text in [&[5][..], &[0, 5], &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5]] {
            let bits = decode(text, Shape::unsigned(9)).unwrap();
            assert_eq!(encode(&bits, false), &[5][..]);
        }
        let wide = [0xff; 17];
        assert!(decode(&wide, Shape::unsigned(128)).is_err());
        let bits = decode(&wide, Shape::unsigned(136)).unwrap();
        assert_eq!(encode(&bits, false), &wide[..]);
        assert_eq!(encode(&Bits::zero(48), false), &[0][..]);
    }

    #[test]
    fn empty_or_too_large_is_out_of_range() {
        for (text, width) in [(&[][..], 8), (&[1, 0], 8), (&[2, 0], 9), (&[1; 9], 64)] {
            let refusal = decode(text, Shape::unsigned(width)).unwrap_err();
            assert_eq!(refusal.code, tonic::Code::OutOfRange, "{refusal}");
        }
    }

    #[test]
    fn signed_values_extend_and_shorten_by_their_sign() {
        let shape = Shape {
            width: 12,
            signed: true,
        };
        let minus_one = decode(&[0xff, 0xff, 0xff], shape).unwrap();
        assert_eq!(minus_one, Bits::ones(12));
        assert_eq!(encode(&minus_one, true), &[0xff][..]);
        assert!(decode(&[0x08, 0x00], shape).is_err(), "2048 needs 13 bits");
    }

    #[test]
    fn ports_are_numbers_or_the_cpu_port() {
        let cpu = Some(PortId::new(255));
        assert_eq!(port(&[0xff, 0xff, 0xff, 0xfd], cpu), Ok(PortId::new(255)));
        assert_eq!(port(&[0, 1, 2], cpu), Ok(PortId::new(258)));
        assert!(port(&[0xff, 0xff, 0xff, 0xfd], None).is_err());
        assert!(port(&[2, 0], cpu).is_err() && port(&[], cpu).is_err());
    }
}
