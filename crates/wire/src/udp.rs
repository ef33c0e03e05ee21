//! UDP (RFC 768).

use crate::PacketError;
use crate::checksum::Sum;
use crate::view::{Field, get_u16, room, set_u16};

/// Length of the header in bytes.
pub const HEADER_LEN: usize = 8;

mod field {
    use super::Field;
    pub(super) const SRC_PORT: Field = 0..2;
    pub(super) const DST_PORT: Field = 2..4;
    pub(super) const LENGTH: Field = 4..6;
    pub(super) const CHECKSUM: Field = 6..8;
}

view! {
    /// View of a UDP datagram.
    Datagram, "UDP header", HEADER_LEN, check
}

fn check(bytes: &[u8]) -> Result<(), PacketError> {
    let length = usize::from(get_u16(bytes, &field::LENGTH));
    if length < HEADER_LEN {
        return Err(PacketError::Malformed {
            header: "UDP header",
            field: "length",
            value: length as u64,
            rule: "which must be at least 8",
        });
    }
    if bytes.len() < length {
        return Err(PacketError::Truncated {
            header: "UDP datagram",
            needed: length,
            have: bytes.len(),
        });
    }
    Ok(())
}

impl<T: AsRef<[u8]>> Datagram<T> {
    /// Source port.
    pub fn src_port(&self) -> u16 {
        get_u16(self.bytes(), &field::SRC_PORT)
    }

    /// Destination port.
    pub fn dst_port(&self) -> u16 {
        get_u16(self.bytes(), &field::DST_PORT)
    }

    /// Length of header and payload in bytes.
    pub fn length(&self) -> u16 {
        get_u16(self.bytes(), &field::LENGTH)
    }

    /// The checksum as it stands; 0 is none.
    pub fn checksum(&self) -> u16 {
        get_u16(self.bytes(), &field::CHECKSUM)
    }

    /// Whether the checksum is right, given the sum of the pseudo header. No checksum is right too
    /// (over IPv4; IPv6 wants one, RFC 8200, 8.1).
    pub fn verify_checksum(&self, pseudo: Sum) -> bool {
        self.checksum() == 0
            || pseudo
                .bytes(&self.bytes()[..usize::from(self.length())])
                .checksum()
                == 0
    }

    /// The payload.
    pub fn payload(&self) -> &[u8] {
        &self.bytes()[HEADER_LEN..usize::from(self.length())]
    }
}

impl<T: AsRef<[u8]> + AsMut<[u8]>> Datagram<T> {
    /// Computes the checksum, given the sum of the pseudo header.
    pub fn fill_checksum(&mut self, pseudo: Sum) {
        set_u16(self.bytes_mut(), field::CHECKSUM, 0);
        let sum = pseudo
            .bytes(&self.bytes()[..usize::from(self.length())])
            .checksum();
        // A sum of zero is sent as all ones, for zero means none.
        set_u16(
            self.bytes_mut(),
            field::CHECKSUM,
            if sum == 0 { 0xffff } else { sum },
        );
    }
}

/// The meaning of a UDP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr {
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// Length of the payload in bytes.
    pub payload_len: usize,
}

impl Repr {
    /// Reads the header. The checksum is left to [`Datagram::verify_checksum`], which needs the
    /// header before this one.
    pub fn parse<T: AsRef<[u8]>>(datagram: &Datagram<T>) -> Self {
        Self {
            src_port: datagram.src_port(),
            dst_port: datagram.dst_port(),
            payload_len: datagram.payload().len(),
        }
    }

    /// Writes the header at the start of `buffer`, without a checksum.
    ///
    /// # Errors
    /// [`PacketError::Truncated`] when the buffer is too short; [`PacketError::Malformed`] when
    /// the payload is too long.
    pub fn emit(&self, buffer: &mut [u8]) -> Result<(), PacketError> {
        let header = "UDP header";
        let length =
            u16::try_from(HEADER_LEN + self.payload_len).map_err(|_| PacketError::Malformed {
                header,
                field: "payload length",
                value: self.payload_len as u64,
                rule: "which is too long",
            })?;
        let bytes = room(buffer, header, HEADER_LEN)?;
        set_u16(bytes, field::SRC_PORT, self.src_port);
        set_u16(bytes, field::DST_PORT, self.dst_port);
        set_u16(bytes, field::LENGTH, length);
        set_u16(bytes, field::CHECKSUM, 0);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn round_trip(src_port: u16, dst_port: u16, payload in prop::collection::vec(any::<u8>(), 0..50), pseudo: [u8; 12]) {
            let repr = Repr { src_port, dst_port, payload_len: payload.len() };
            let mut buffer = vec![0xff; HEADER_LEN];
            repr.emit(&mut buffer).unwrap();
            buffer.extend(&payload);
            let pseudo = Sum::new().bytes(&pseudo);
            let mut datagram = Datagram::new_checked(buffer).unwrap();
            prop_assert_eq!(Repr::parse(&datagram), repr);
            prop_assert_eq!(datagram.payload(), payload);
            prop_assert!(datagram.verify_checksum(pseudo), "no checksum is accepted");
            datagram.fill_checksum(pseudo);
            prop_assert!(datagram.checksum() != 0 && datagram.verify_checksum(pseudo));
            prop_assert!(!datagram.verify_checksum(pseudo.word(1)));
        }

        #[test]
        fn any_bytes_are_safe(bytes: Vec<u8>) {
            if let Ok(datagram) = Datagram::new_checked(&bytes) {
                prop_assert!(datagram.payload().len() + HEADER_LEN <= bytes.len());
            }
        }
    }
}
