//! IPv4 (RFC 791), with the differentiated services field (RFC 2474) and ECN (RFC 3168).

use std::net::Ipv4Addr;

use crate::checksum::checksum;
use crate::view::{Field, get_array, get_u16, room, set_u16};
use crate::{IpProtocol, PacketError};

/// Length of a header without options.
pub const MIN_HEADER_LEN: usize = 20;

/// The most bytes that options can take.
pub const MAX_OPTIONS_LEN: usize = 40;

mod field {
    use super::Field;
    pub(super) const VERSION_IHL: usize = 0;
    pub(super) const DIFFSERV: usize = 1;
    pub(super) const TOTAL_LEN: Field = 2..4;
    pub(super) const IDENTIFICATION: Field = 4..6;
    pub(super) const FLAGS_FRAGMENT: Field = 6..8;
    pub(super) const TTL: usize = 8;
    pub(super) const PROTOCOL: usize = 9;
    pub(super) const CHECKSUM: Field = 10..12;
    pub(super) const SRC: Field = 12..16;
    pub(super) const DST: Field = 16..20;
}

view! {
    /// View of an IPv4 packet.
    Packet, "IPv4 header", MIN_HEADER_LEN, check
}

fn check(bytes: &[u8]) -> Result<(), PacketError> {
    let header = "IPv4 header";
    let wrong = |field, value: usize, rule| {
        Err(PacketError::Malformed {
            header,
            field,
            value: value as u64,
            rule,
        })
    };
    let version = bytes[field::VERSION_IHL] >> 4;
    if version != 4 {
        return wrong("version", version.into(), "which must be 4");
    }
    let header_len = usize::from(bytes[field::VERSION_IHL] & 0xf) * 4;
    if header_len < MIN_HEADER_LEN {
        return wrong(
            "header length",
            header_len,
            "which must be at least 20 bytes",
        );
    }
    if bytes.len() < header_len {
        return Err(PacketError::Truncated {
            header,
            needed: header_len,
            have: bytes.len(),
        });
    }
    let total_len = usize::from(get_u16(bytes, &field::TOTAL_LEN));
    if total_len < header_len {
        return wrong(
            "total length",
            total_len,
            "which must be at least the header length",
        );
    }
    if bytes.len() < total_len {
        return Err(PacketError::Truncated {
            header: "IPv4 packet",
            needed: total_len,
            have: bytes.len(),
        });
    }
    Ok(())
}

impl<T: AsRef<[u8]>> Packet<T> {
    /// Length of the header with its options, in bytes.
    pub fn header_len(&self) -> usize {
        usize::from(self.bytes()[field::VERSION_IHL] & 0xf) * 4
    }

    /// Length of header and payload in bytes; the buffer may go on with padding.
    pub fn total_len(&self) -> usize {
        usize::from(get_u16(self.bytes(), &field::TOTAL_LEN))
    }

    /// Differentiated services code point, six bits.
    pub fn dscp(&self) -> u8 {
        self.bytes()[field::DIFFSERV] >> 2
    }

    /// Explicit congestion notification, two bits.
    pub fn ecn(&self) -> u8 {
        self.bytes()[field::DIFFSERV] & 3
    }

    /// Identification, for fragments.
    pub fn identification(&self) -> u16 {
        get_u16(self.bytes(), &field::IDENTIFICATION)
    }

    /// Don't fragment.
    pub fn dont_fragment(&self) -> bool {
        self.bytes()[field::FLAGS_FRAGMENT.start] & 0x40 != 0
    }

    /// More fragments follow.
    pub fn more_fragments(&self) -> bool {
        self.bytes()[field::FLAGS_FRAGMENT.start] & 0x20 != 0
    }

    /// Place of this fragment, in units of eight bytes.
    pub fn fragment_offset(&self) -> u16 {
        get_u16(self.bytes(), &field::FLAGS_FRAGMENT) & 0x1fff
    }

    /// Time to live.
    pub fn ttl(&self) -> u8 {
        self.bytes()[field::TTL]
    }

    /// What the payload is.
    pub fn protocol(&self) -> IpProtocol {
        IpProtocol(self.bytes()[field::PROTOCOL])
    }

    /// Whether the header checksum is right.
    pub fn verify_checksum(&self) -> bool {
        checksum(&self.bytes()[..self.header_len()]) == 0
    }

    /// Source address.
    pub fn src(&self) -> Ipv4Addr {
        Ipv4Addr::from(get_array::<4>(self.bytes(), field::SRC))
    }

    /// Destination address.
    pub fn dst(&self) -> Ipv4Addr {
        Ipv4Addr::from(get_array::<4>(self.bytes(), field::DST))
    }

    /// Options, a multiple of four bytes, not interpreted.
    pub fn options(&self) -> &[u8] {
        &self.bytes()[MIN_HEADER_LEN..self.header_len()]
    }

    /// The payload, without padding of the frame.
    pub fn payload(&self) -> &[u8] {
        &self.bytes()[self.header_len()..self.total_len()]
    }
}

/// The meaning of an IPv4 header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr<'a> {
    /// Differentiated services code point, six bits.
    pub dscp: u8,
    /// Explicit congestion notification, two bits.
    pub ecn: u8,
    /// Identification, for fragments.
    pub identification: u16,
    /// Don't fragment.
    pub dont_fragment: bool,
    /// More fragments follow.
    pub more_fragments: bool,
    /// Place of this fragment, in units of eight bytes, thirteen bits.
    pub fragment_offset: u16,
    /// Time to live.
    pub ttl: u8,
    /// What the payload is.
    pub protocol: IpProtocol,
    /// Source address.
    pub src: Ipv4Addr,
    /// Destination address.
    pub dst: Ipv4Addr,
    /// Options, a multiple of four bytes and at most forty.
    pub options: &'a [u8],
    /// Length of the payload in bytes.
    pub payload_len: usize,
}

impl<'a> Repr<'a> {
    /// Reads the header.
    ///
    /// # Errors
    /// [`PacketError::Checksum`] when the header checksum is wrong.
    pub fn parse<T: AsRef<[u8]>>(packet: &'a Packet<T>) -> Result<Self, PacketError> {
        if !packet.verify_checksum() {
            return Err(PacketError::Checksum {
                header: "IPv4 header",
            });
        }
        Ok(Self {
            dscp: packet.dscp(),
            ecn: packet.ecn(),
            identification: packet.identification(),
            dont_fragment: packet.dont_fragment(),
            more_fragments: packet.more_fragments(),
            fragment_offset: packet.fragment_offset(),
            ttl: packet.ttl(),
            protocol: packet.protocol(),
            src: packet.src(),
            dst: packet.dst(),
            options: packet.options(),
            payload_len: packet.payload().len(),
        })
    }

    /// Length of the header in bytes.
    #[must_use]
    pub fn header_len(&self) -> usize {
        MIN_HEADER_LEN + self.options.len()
    }

    /// Writes the header, checksum included, at the start of `buffer`.
    ///
    /// # Errors
    /// [`PacketError::Truncated`] when the buffer is too short; [`PacketError::Malformed`] when a
    /// value does not fit its field.
    pub fn emit(&self, buffer: &mut [u8]) -> Result<(), PacketError> {
        let header = "IPv4 header";
        let wrong = |field, value, rule| {
            Err(PacketError::Malformed {
                header,
                field,
                value,
                rule,
            })
        };
        let header_len = self.header_len();
        if !self.options.len().is_multiple_of(4) || self.options.len() > MAX_OPTIONS_LEN {
            let rule = "bytes, which must be a multiple of 4 up to 40";
            return wrong("options of", self.options.len() as u64, rule);
        }
        let Ok(total_len) = u16::try_from(header_len + self.payload_len) else {
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
        if self.fragment_offset > 0x1fff {
            return wrong(
                "fragment offset",
                self.fragment_offset.into(),
                "which is too large",
            );
        }
        let bytes = room(buffer, header, header_len)?;
        // At most 15 words, as checked above.
        bytes[field::VERSION_IHL] = 0x40 | (header_len / 4) as u8;
        bytes[field::DIFFSERV] = self.dscp << 2 | self.ecn;
        set_u16(bytes, field::TOTAL_LEN, total_len);
        set_u16(bytes, field::IDENTIFICATION, self.identification);
        let flags = u16::from(self.dont_fragment) << 14 | u16::from(self.more_fragments) << 13;
        set_u16(bytes, field::FLAGS_FRAGMENT, flags | self.fragment_offset);
        bytes[field::TTL] = self.ttl;
        bytes[field::PROTOCOL] = self.protocol.0;
        bytes[field::SRC].copy_from_slice(&self.src.octets());
        bytes[field::DST].copy_from_slice(&self.dst.octets());
        bytes[MIN_HEADER_LEN..].copy_from_slice(self.options);
        set_u16(bytes, field::CHECKSUM, 0);
        let sum = checksum(bytes);
        set_u16(bytes, field::CHECKSUM, sum);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    prop_compose! {
        fn headers()(
            small in (0_u8..64, 0_u8..4, any::<bool>(), any::<bool>(), 0_u16..0x2000),
            ttl: u8, protocol: u8, identification: u16,
            addresses: [[u8; 4]; 2],
            words in 0_usize..11, fill: [u8; MAX_OPTIONS_LEN],
            payload in prop::collection::vec(any::<u8>(), 0..40),
        ) -> Vec<u8> {
            let (dscp, ecn, dont_fragment, more_fragments, fragment_offset) = small;
            let repr = Repr {
                dscp, ecn, identification, dont_fragment, more_fragments, fragment_offset, ttl,
                protocol: IpProtocol(protocol),
                src: addresses[0].into(),
                dst: addresses[1].into(),
                options: &fill[..words * 4],
                payload_len: payload.len(),
            };
            let mut buffer = vec![0xff; repr.header_len()];
            repr.emit(&mut buffer).unwrap();
            buffer.extend(&payload);
            let packet = Packet::new_checked(&buffer).unwrap();
            assert_eq!(Repr::parse(&packet).unwrap(), repr);
            assert_eq!(packet.payload(), payload);
            buffer
        }
    }

    proptest! {
        #[test]
        fn a_flipped_bit_is_noticed(mut bytes in headers(), at: prop::sample::Index) {
            let header_len = Packet::new_checked(&bytes).unwrap().header_len();
            let bit = at.index(header_len * 8);
            bytes[bit / 8] ^= 1 << (bit % 8);
            let noticed = match Packet::new_checked(&bytes) {
                Err(_) => true,
                Ok(packet) => Repr::parse(&packet).is_err(),
            };
            prop_assert!(noticed);
        }

        #[test]
        fn any_bytes_are_safe(bytes: Vec<u8>) {
            if let Ok(packet) = Packet::new_checked(&bytes) {
                prop_assert!(packet.payload().len() + packet.header_len() <= bytes.len());
                let _ = Repr::parse(&packet);
            }
        }
    }
}
