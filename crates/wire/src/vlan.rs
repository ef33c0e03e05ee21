//! VLAN tags (IEEE 802.1Q): priority code point, drop eligibility, VLAN id, and the type of what
//! follows.

use quantities::Priority;

use crate::view::{Field, get_u16, room, set_u16};
use crate::{EtherType, PacketError};

/// Length of a tag after the EtherType that announces it.
pub const HEADER_LEN: usize = 4;

mod field {
    use super::Field;
    pub(super) const TCI: Field = 0..2;
    pub(super) const ETHER_TYPE: Field = 2..4;
}

view! {
    /// View of a VLAN tag, from its tag control information on.
    Tag, "VLAN tag", HEADER_LEN, |_| Ok(())
}

impl<T: AsRef<[u8]>> Tag<T> {
    /// Priority code point.
    pub fn pcp(&self) -> Priority {
        // Three bits.
        Priority::new((self.tci() >> 13) as u8)
    }

    /// Drop eligible indicator.
    pub fn dei(&self) -> bool {
        self.tci() >> 12 & 1 == 1
    }

    /// VLAN id, 12 bits.
    pub fn id(&self) -> u16 {
        self.tci() & 0xfff
    }

    /// Type of what follows.
    pub fn ether_type(&self) -> EtherType {
        EtherType(get_u16(self.bytes(), &field::ETHER_TYPE))
    }

    fn tci(&self) -> u16 {
        get_u16(self.bytes(), &field::TCI)
    }
}

impl<T: AsRef<[u8]> + AsMut<[u8]>> Tag<T> {
    /// Sets the priority code point; only three bits are kept.
    pub fn set_pcp(&mut self, pcp: Priority) {
        self.set_tci(self.tci() & 0x1fff | u16::from(pcp.get() & 7) << 13);
    }

    /// Sets the drop eligible indicator.
    pub fn set_dei(&mut self, dei: bool) {
        self.set_tci(self.tci() & !0x1000 | u16::from(dei) << 12);
    }

    /// Sets the VLAN id; only twelve bits are kept.
    pub fn set_id(&mut self, id: u16) {
        self.set_tci(self.tci() & 0xf000 | id & 0xfff);
    }

    /// Sets the type of what follows.
    pub fn set_ether_type(&mut self, ether_type: EtherType) {
        set_u16(self.bytes_mut(), field::ETHER_TYPE, ether_type.0);
    }

    fn set_tci(&mut self, tci: u16) {
        set_u16(self.bytes_mut(), field::TCI, tci);
    }
}

/// The meaning of a VLAN tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr {
    /// Priority code point, 0 to 7.
    pub pcp: Priority,
    /// Drop eligible.
    pub dei: bool,
    /// VLAN id; 0 is a priority tag.
    pub id: u16,
    /// Type of what follows.
    pub ether_type: EtherType,
}

impl Repr {
    /// Reads the tag.
    pub fn parse<T: AsRef<[u8]>>(tag: &Tag<T>) -> Self {
        Self {
            pcp: tag.pcp(),
            dei: tag.dei(),
            id: tag.id(),
            ether_type: tag.ether_type(),
        }
    }

    /// Writes the tag at the start of `buffer`.
    ///
    /// # Errors
    /// [`PacketError::Truncated`] when the buffer is too short; [`PacketError::Malformed`] when
    /// priority or id do not fit the tag.
    pub fn emit(&self, buffer: &mut [u8]) -> Result<(), PacketError> {
        let header = "VLAN tag";
        let wrong = |field, value: u16, rule| {
            Err(PacketError::Malformed {
                header,
                field,
                value: value.into(),
                rule,
            })
        };
        if self.pcp.get() > 7 {
            return wrong("priority", self.pcp.get().into(), "which must be at most 7");
        }
        if self.id > 0xfff {
            return wrong("VLAN id", self.id, "which must be at most 4095");
        }
        let mut tag = Tag::new_checked(room(buffer, header, HEADER_LEN)?)?;
        tag.set_tci(0);
        tag.set_pcp(self.pcp);
        tag.set_dei(self.dei);
        tag.set_id(self.id);
        tag.set_ether_type(self.ether_type);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn round_trip(pcp in 0_u8..8, dei: bool, id in 0_u16..4096, ether_type: u16) {
            let repr = Repr { pcp: Priority::new(pcp), dei, id, ether_type: EtherType(ether_type) };
            let mut buffer = [0xff; HEADER_LEN];
            repr.emit(&mut buffer).unwrap();
            prop_assert_eq!(Repr::parse(&Tag::new_checked(&buffer).unwrap()), repr);
            prop_assert_eq!(u16::from_be_bytes([buffer[0], buffer[1]]), u16::from(pcp) << 13 | u16::from(dei) << 12 | id);
        }
    }

    #[test]
    fn values_out_of_range_are_refused() {
        let good = Repr {
            pcp: Priority::new(7),
            dei: false,
            id: 1,
            ether_type: EtherType::IPV4,
        };
        let mut buffer = [0; HEADER_LEN];
        assert!(
            Repr {
                pcp: Priority::new(8),
                ..good
            }
            .emit(&mut buffer)
            .is_err()
        );
        assert!(Repr { id: 4096, ..good }.emit(&mut buffer).is_err());
        assert!(good.emit(&mut buffer[..3]).is_err());
    }
}
