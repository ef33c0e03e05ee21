//! TCP segments as far as a switch looks at them (RFC 9293): ports, flags and checksum.

use crate::PacketError;
use crate::checksum::Sum;
use crate::view::{Field, get_u16, get_u32, room, set_u16, set_u32};

/// Length of a header without options.
pub const MIN_HEADER_LEN: usize = 20;

mod field {
    use super::Field;
    pub(super) const SRC_PORT: Field = 0..2;
    pub(super) const DST_PORT: Field = 2..4;
    pub(super) const SEQUENCE: Field = 4..8;
    pub(super) const ACKNOWLEDGMENT: Field = 8..12;
    pub(super) const DATA_OFFSET: usize = 12;
    pub(super) const FLAGS: usize = 13;
    pub(super) const WINDOW: Field = 14..16;
    pub(super) const CHECKSUM: Field = 16..18;
    pub(super) const URGENT: Field = 18..20;
}

view! {
    /// View of a TCP segment. Its length is that of the buffer: give it the IP payload.
    Segment, "TCP header", MIN_HEADER_LEN, check
}

fn check(bytes: &[u8]) -> Result<(), PacketError> {
    let header = "TCP header";
    let header_len = usize::from(bytes[field::DATA_OFFSET] >> 4) * 4;
    if header_len < MIN_HEADER_LEN {
        return Err(PacketError::Malformed {
            header,
            field: "header length",
            value: header_len as u64,
            rule: "which must be at least 20 bytes",
        });
    }
    if bytes.len() < header_len {
        return Err(PacketError::Truncated {
            header,
            needed: header_len,
            have: bytes.len(),
        });
    }
    Ok(())
}

impl<T: AsRef<[u8]>> Segment<T> {
    /// Source port.
    pub fn src_port(&self) -> u16 {
        get_u16(self.bytes(), &field::SRC_PORT)
    }

    /// Destination port.
    pub fn dst_port(&self) -> u16 {
        get_u16(self.bytes(), &field::DST_PORT)
    }

    /// Sequence number.
    pub fn sequence(&self) -> u32 {
        get_u32(self.bytes(), &field::SEQUENCE)
    }

    /// Acknowledgment number.
    pub fn acknowledgment(&self) -> u32 {
        get_u32(self.bytes(), &field::ACKNOWLEDGMENT)
    }

    /// CWR, ECE, URG, ACK, PSH, RST, SYN, FIN, from the top.
    pub fn flags(&self) -> u8 {
        self.bytes()[field::FLAGS]
    }

    /// Receive window.
    pub fn window(&self) -> u16 {
        get_u16(self.bytes(), &field::WINDOW)
    }

    /// Length of the header with its options, in bytes.
    pub fn header_len(&self) -> usize {
        usize::from(self.bytes()[field::DATA_OFFSET] >> 4) * 4
    }

    /// Whether the checksum is right, given the sum of the pseudo header.
    pub fn verify_checksum(&self, pseudo: Sum) -> bool {
        pseudo.bytes(self.bytes()).checksum() == 0
    }

    /// The payload.
    pub fn payload(&self) -> &[u8] {
        &self.bytes()[self.header_len()..]
    }
}

impl<T: AsRef<[u8]> + AsMut<[u8]>> Segment<T> {
    /// Computes the checksum, given the sum of the pseudo header.
    pub fn fill_checksum(&mut self, pseudo: Sum) {
        set_u16(self.bytes_mut(), field::CHECKSUM, 0);
        let sum = pseudo.bytes(self.bytes()).checksum();
        set_u16(self.bytes_mut(), field::CHECKSUM, sum);
    }
}

/// The meaning of a TCP header without options and urgent pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr {
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// Sequence number.
    pub sequence: u32,
    /// Acknowledgment number.
    pub acknowledgment: u32,
    /// CWR, ECE, URG, ACK, PSH, RST, SYN, FIN, from the top.
    pub flags: u8,
    /// Receive window.
    pub window: u16,
}

impl Repr {
    /// Reads the header, without its options. The checksum is left to
    /// [`Segment::verify_checksum`], which needs the header before this one.
    pub fn parse<T: AsRef<[u8]>>(segment: &Segment<T>) -> Self {
        Self {
            src_port: segment.src_port(),
            dst_port: segment.dst_port(),
            sequence: segment.sequence(),
            acknowledgment: segment.acknowledgment(),
            flags: segment.flags(),
            window: segment.window(),
        }
    }

    /// Writes the header at the start of `buffer`, with checksum 0.
    ///
    /// # Errors
    /// [`PacketError::Truncated`] when the buffer is too short.
    pub fn emit(&self, buffer: &mut [u8]) -> Result<(), PacketError> {
        let bytes = room(buffer, "TCP header", MIN_HEADER_LEN)?;
        set_u16(bytes, field::SRC_PORT, self.src_port);
        set_u16(bytes, field::DST_PORT, self.dst_port);
        set_u32(bytes, field::SEQUENCE, self.sequence);
        set_u32(bytes, field::ACKNOWLEDGMENT, self.acknowledgment);
        bytes[field::DATA_OFFSET] = 5 << 4;
        bytes[field::FLAGS] = self.flags;
        set_u16(bytes, field::WINDOW, self.window);
        set_u16(bytes, field::CHECKSUM, 0);
        set_u16(bytes, field::URGENT, 0);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn round_trip(ports: [u16; 2], numbers: [u32; 2], flags: u8, window: u16, payload in prop::collection::vec(any::<u8>(), 0..50)) {
            let repr = Repr {
                src_port: ports[0], dst_port: ports[1],
                sequence: numbers[0], acknowledgment: numbers[1],
                flags, window,
            };
            let mut buffer = vec![0xff; MIN_HEADER_LEN];
            repr.emit(&mut buffer).unwrap();
            buffer.extend(&payload);
            let mut segment = Segment::new_checked(buffer).unwrap();
            prop_assert_eq!(Repr::parse(&segment), repr);
            prop_assert_eq!(segment.payload(), payload);
            segment.fill_checksum(Sum::new().word(6));
            prop_assert!(segment.verify_checksum(Sum::new().word(6)));
            prop_assert!(!segment.verify_checksum(Sum::new().word(7)));
        }

        #[test]
        fn any_bytes_are_safe(bytes: Vec<u8>) {
            if let Ok(segment) = Segment::new_checked(&bytes) {
                prop_assert!(segment.payload().len() < bytes.len());
            }
        }
    }
}
