//! Ethernet II frames (IEEE 802.3), without preamble and frame check sequence.

use std::fmt;
use std::str::FromStr;

use crate::PacketError;
use crate::view::{Field, get_array, get_u16, room, set_u16};

/// Length of the header in bytes.
pub const HEADER_LEN: usize = 14;

/// The shortest frame without its frame check sequence.
pub const MIN_FRAME_LEN: usize = 60;

mod field {
    use super::Field;
    pub(super) const DST: Field = 0..6;
    pub(super) const SRC: Field = 6..12;
    pub(super) const ETHER_TYPE: Field = 12..14;
}

/// A 48-bit MAC address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MacAddr(pub [u8; 6]);

impl MacAddr {
    /// All stations.
    pub const BROADCAST: Self = Self([0xff; 6]);

    /// Whether it stands for a group of stations, broadcast included.
    #[must_use]
    pub fn is_multicast(self) -> bool {
        self.0[0] & 1 == 1
    }
}

impl fmt::Display for MacAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl From<[u8; 6]> for MacAddr {
    fn from(bytes: [u8; 6]) -> Self {
        Self(bytes)
    }
}

impl FromStr for MacAddr {
    type Err = PacketError;

    fn from_str(text: &str) -> Result<Self, PacketError> {
        let wrong = || PacketError::MacAddr(text.to_owned());
        let mut bytes = [0; 6];
        let mut parts = text.split(':');
        for byte in &mut bytes {
            let part = parts.next().ok_or_else(wrong)?;
            if part.is_empty() || part.len() > 2 || !part.bytes().all(|b| b.is_ascii_hexdigit()) {
                return Err(wrong());
            }
            *byte = u8::from_str_radix(part, 16).map_err(|_| wrong())?;
        }
        if parts.next().is_some() {
            Err(wrong())
        } else {
            Ok(Self(bytes))
        }
    }
}

/// What a frame carries (IEEE registry).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EtherType(pub u16);

impl EtherType {
    /// IPv4, RFC 894.
    pub const IPV4: Self = Self(0x0800);
    /// ARP, RFC 826.
    pub const ARP: Self = Self(0x0806);
    /// A VLAN tag follows, IEEE 802.1Q.
    pub const VLAN: Self = Self(0x8100);
    /// IPv6, RFC 2464.
    pub const IPV6: Self = Self(0x86dd);
    /// MAC control: PAUSE and PFC, IEEE 802.3 annex 31.
    pub const MAC_CONTROL: Self = Self(0x8808);
    /// LLDP, IEEE 802.1AB.
    pub const LLDP: Self = Self(0x88cc);
}

/// Whether a frame is MAC control, PFC among it: no bridge forwards it, whatever it says.
#[must_use]
#[inline]
pub fn is_mac_control(frame: &[u8]) -> bool {
    frame.get(field::ETHER_TYPE) == Some(&EtherType::MAC_CONTROL.0.to_be_bytes())
}

impl fmt::Display for EtherType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#06x}", self.0)
    }
}

view! {
    /// View of an Ethernet frame.
    Frame, "Ethernet header", HEADER_LEN, |_| Ok(())
}

impl<T: AsRef<[u8]>> Frame<T> {
    /// Destination address.
    pub fn dst(&self) -> MacAddr {
        MacAddr(get_array(self.bytes(), field::DST))
    }

    /// Source address.
    pub fn src(&self) -> MacAddr {
        MacAddr(get_array(self.bytes(), field::SRC))
    }

    /// Type of what follows. Below 0x0600 it is a length (IEEE 802.3, 3.2.6).
    pub fn ether_type(&self) -> EtherType {
        EtherType(get_u16(self.bytes(), &field::ETHER_TYPE))
    }
}

impl<T: AsRef<[u8]> + AsMut<[u8]>> Frame<T> {
    /// Sets the destination address.
    pub fn set_dst(&mut self, address: MacAddr) {
        self.bytes_mut()[field::DST].copy_from_slice(&address.0);
    }

    /// Sets the source address.
    pub fn set_src(&mut self, address: MacAddr) {
        self.bytes_mut()[field::SRC].copy_from_slice(&address.0);
    }

    /// Sets the type of what follows.
    pub fn set_ether_type(&mut self, ether_type: EtherType) {
        set_u16(self.bytes_mut(), field::ETHER_TYPE, ether_type.0);
    }
}

/// The meaning of an Ethernet header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr {
    /// Destination address.
    pub dst: MacAddr,
    /// Source address.
    pub src: MacAddr,
    /// Type of what follows.
    pub ether_type: EtherType,
}

impl Repr {
    /// Reads the header.
    pub fn parse<T: AsRef<[u8]>>(frame: &Frame<T>) -> Self {
        Self {
            dst: frame.dst(),
            src: frame.src(),
            ether_type: frame.ether_type(),
        }
    }

    /// Writes the header at the start of `buffer`.
    ///
    /// # Errors
    /// [`PacketError::Truncated`] when the buffer is too short.
    pub fn emit(&self, buffer: &mut [u8]) -> Result<(), PacketError> {
        let mut frame = Frame::new_checked(room(buffer, "Ethernet header", HEADER_LEN)?)?;
        frame.set_dst(self.dst);
        frame.set_src(self.src);
        frame.set_ether_type(self.ether_type);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_as_text() {
        let address: MacAddr = "02:00:0a:1:2:ff".parse().unwrap();
        assert_eq!(address, MacAddr([2, 0, 10, 1, 2, 255]));
        assert_eq!(address.to_string(), "02:00:0a:01:02:ff");
        for wrong in [
            "",
            "1:2:3:4:5",
            "1:2:3:4:5:6:7",
            "1:2:3:4:5:100",
            "1:2:3:4:5:+6",
            "::::::",
        ] {
            assert!(wrong.parse::<MacAddr>().is_err(), "{wrong}");
        }
        assert!(MacAddr::BROADCAST.is_multicast() && !address.is_multicast());
    }

    #[test]
    fn short_frames_are_refused() {
        let error = Frame::new_checked([0_u8; 13]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the Ethernet header needs 14 bytes and there are 13"
        );
    }
}
