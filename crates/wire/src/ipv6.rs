//! IPv6 (RFC 8200): the fixed header. Extension headers are payload here.

use std::net::Ipv6Addr;

use crate::view::{Field, get_array, get_u16, get_u32, room, set_u16, set_u32};
use crate::{IpProtocol, PacketError};

/// Length of the header in bytes.
pub const HEADER_LEN: usize = 40;

mod field {
    use super::Field;
    /// Version (4 bits), traffic class (8), flow label (20).
    pub(super) const FIRST: Field = 0..4;
    pub(super) const PAYLOAD_LEN: Field = 4..6;
    pub(super) const NEXT_HEADER: usize = 6;
    pub(super) const HOP_LIMIT: usize = 7;
    pub(super) const SRC: Field = 8..24;
    pub(super) const DST: Field = 24..40;
}

view! {
    /// View of an IPv6 packet.
    Packet, "IPv6 header", HEADER_LEN, check
}

fn check(bytes: &[u8]) -> Result<(), PacketError> {
    let version = bytes[0] >> 4;
    if version != 6 {
        return Err(PacketError::Malformed {
            header: "IPv6 header",
            field: "version",
            value: version.into(),
            rule: "which must be 6",
        });
    }
    let needed = HEADER_LEN + usize::from(get_u16(bytes, &field::PAYLOAD_LEN));
    if bytes.len() < needed {
        return Err(PacketError::Truncated {
            header: "IPv6 packet",
            needed,
            have: bytes.len(),
        });
    }
    Ok(())
}

impl<T: AsRef<[u8]>> Packet<T> {
    /// Differentiated services code point, six bits.
    pub fn dscp(&self) -> u8 {
        self.traffic_class() >> 2
    }

    /// Explicit congestion notification, two bits.
    pub fn ecn(&self) -> u8 {
        self.traffic_class() & 3
    }

    /// Flow label, twenty bits.
    pub fn flow_label(&self) -> u32 {
        get_u32(self.bytes(), &field::FIRST) & 0xf_ffff
    }

    /// Length of the payload in bytes.
    pub fn payload_len(&self) -> usize {
        usize::from(get_u16(self.bytes(), &field::PAYLOAD_LEN))
    }

    /// What the payload is.
    pub fn next_header(&self) -> IpProtocol {
        IpProtocol(self.bytes()[field::NEXT_HEADER])
    }

    /// Hop limit.
    pub fn hop_limit(&self) -> u8 {
        self.bytes()[field::HOP_LIMIT]
    }

    /// Source address.
    pub fn src(&self) -> Ipv6Addr {
        Ipv6Addr::from(get_array::<16>(self.bytes(), field::SRC))
    }

    /// Destination address.
    pub fn dst(&self) -> Ipv6Addr {
        Ipv6Addr::from(get_array::<16>(self.bytes(), field::DST))
    }

    /// The payload, without padding of the frame.
    pub fn payload(&self) -> &[u8] {
        &self.bytes()[HEADER_LEN..HEADER_LEN + self.payload_len()]
    }

    fn traffic_class(&self) -> u8 {
        // Bits 4 to 11 of the header.
        (get_u32(self.bytes(), &field::FIRST) >> 20) as u8
    }
}

/// The meaning of an IPv6 header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr {
    /// Differentiated services code point, six bits.
    pub dscp: u8,
    /// Explicit congestion notification, two bits.
    pub ecn: u8,
    /// Flow label, twenty bits.
    pub flow_label: u32,
    /// Length of the payload in bytes.
    pub payload_len: usize,
    /// What the payload is.
    pub next_header: IpProtocol,
    /// Hop limit.
    pub hop_limit: u8,
    /// Source address.
    pub src: Ipv6Addr,
    /// Destination address.
    pub dst: Ipv6Addr,
}

impl Repr {
    /// Reads the header.
    pub fn parse<T: AsRef<[u8]>>(packet: &Packet<T>) -> Self {
        Self {
            dscp: packet.dscp(),
            ecn: packet.ecn(),
            flow_label: packet.flow_label(),
            payload_len: packet.payload_len(),
            next_header: packet.next_header(),
            hop_limit: packet.hop_limit(),
            src: packet.src(),
            dst: packet.dst(),
        }
    }

    /// Writes the header at the start of `buffer`.
    ///
    /// # Errors
    /// [`PacketError::Truncated`] when the buffer is too short; [`PacketError::Malformed`] when a
    /// value does not fit its field.
    pub fn emit(&self, buffer: &mut [u8]) -> Result<(), PacketError> {
        let header = "IPv6 header";
        let wrong = |field, value, rule| {
            Err(PacketError::Malformed {
                header,
                field,
                value,
                rule,
            })
        };
        let Ok(payload_len) = u16::try_from(self.payload_len) else {
            return wrong(
                "payload length",
                self.payload_len as u64,
                "which is too long",
            );
        };
        if self.dscp > 63 {
            return wrong("DSCP", self.dscp.into(), "which must be at most 63");
        }
        if self.ecn > 3 {
            return wrong("ECN", self.ecn.into(), "which must be at most 3");
        }
        if self.flow_label > 0xf_ffff {
            return wrong(
                "flow label",
                self.flow_label.into(),
                "which must fit 20 bits",
            );
        }
        let bytes = room(buffer, header, HEADER_LEN)?;
        let class = u32::from(self.dscp) << 2 | u32::from(self.ecn);
        set_u32(bytes, field::FIRST, 6 << 28 | class << 20 | self.flow_label);
        set_u16(bytes, field::PAYLOAD_LEN, payload_len);
        bytes[field::NEXT_HEADER] = self.next_header.0;
        bytes[field::HOP_LIMIT] = self.hop_limit;
        bytes[field::SRC].copy_from_slice(&self.src.octets());
        bytes[field::DST].copy_from_slice(&self.dst.octets());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn round_trip(
            small in (0_u8..64, 0_u8..4, 0_u32..0x10_0000),
            next_header: u8, hop_limit: u8, addresses: [[u8; 16]; 2], payload_len in 0_usize..50,
        ) {
            let (dscp, ecn, flow_label) = small;
            let repr = Repr {
                dscp, ecn, flow_label, payload_len, hop_limit,
                next_header: IpProtocol(next_header),
                src: addresses[0].into(),
                dst: addresses[1].into(),
            };
            let mut buffer = vec![0xff; HEADER_LEN + payload_len];
            repr.emit(&mut buffer).unwrap();
            let packet = Packet::new_checked(buffer).unwrap();
            prop_assert_eq!(Repr::parse(&packet), repr);
        }

        #[test]
        fn any_bytes_are_safe(bytes: Vec<u8>) {
            if let Ok(packet) = Packet::new_checked(&bytes) {
                prop_assert_eq!(packet.payload().len(), packet.payload_len());
            }
        }
    }
}
