//! ARP for IPv4 over Ethernet (RFC 826).

use std::net::Ipv4Addr;

use crate::view::{Field, get_array, get_u16, room, set_u16};
use crate::{EtherType, MacAddr, PacketError};

/// Length of the packet in bytes.
pub const PACKET_LEN: usize = 28;

mod field {
    use super::Field;
    pub(super) const HARDWARE: Field = 0..2;
    pub(super) const PROTOCOL: Field = 2..4;
    pub(super) const HARDWARE_LEN: usize = 4;
    pub(super) const PROTOCOL_LEN: usize = 5;
    pub(super) const OPERATION: Field = 6..8;
    pub(super) const SENDER_MAC: Field = 8..14;
    pub(super) const SENDER_IP: Field = 14..18;
    pub(super) const TARGET_MAC: Field = 18..24;
    pub(super) const TARGET_IP: Field = 24..28;
}

/// Question or answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Operation(pub u16);

impl Operation {
    /// Who has the target address?
    pub const REQUEST: Self = Self(1);
}

view! {
    /// View of an ARP packet for IPv4 over Ethernet.
    Packet, "ARP packet", PACKET_LEN, check
}

fn check(bytes: &[u8]) -> Result<(), PacketError> {
    let wrong = |field, value, rule| {
        Err(PacketError::Malformed {
            header: "ARP packet",
            field,
            value,
            rule,
        })
    };
    let hardware = get_u16(bytes, &field::HARDWARE);
    let protocol = get_u16(bytes, &field::PROTOCOL);
    if hardware != 1 || bytes[field::HARDWARE_LEN] != 6 {
        return wrong(
            "hardware type",
            hardware.into(),
            "and only Ethernet (1) is known",
        );
    }
    if protocol != EtherType::IPV4.0 || bytes[field::PROTOCOL_LEN] != 4 {
        return wrong(
            "protocol type",
            protocol.into(),
            "and only IPv4 (2048) is known",
        );
    }
    Ok(())
}

impl<T: AsRef<[u8]>> Packet<T> {
    /// Question or answer.
    pub fn operation(&self) -> Operation {
        Operation(get_u16(self.bytes(), &field::OPERATION))
    }

    /// MAC address of the sender.
    pub fn sender_mac(&self) -> MacAddr {
        MacAddr(get_array(self.bytes(), field::SENDER_MAC))
    }

    /// IPv4 address of the sender.
    pub fn sender_ip(&self) -> Ipv4Addr {
        Ipv4Addr::from(get_array::<4>(self.bytes(), field::SENDER_IP))
    }

    /// MAC address of the target, zero in a question.
    pub fn target_mac(&self) -> MacAddr {
        MacAddr(get_array(self.bytes(), field::TARGET_MAC))
    }

    /// IPv4 address of the target.
    pub fn target_ip(&self) -> Ipv4Addr {
        Ipv4Addr::from(get_array::<4>(self.bytes(), field::TARGET_IP))
    }
}

/// The meaning of an ARP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr {
    /// Question or answer.
    pub operation: Operation,
    /// MAC address of the sender.
    pub sender_mac: MacAddr,
    /// IPv4 address of the sender.
    pub sender_ip: Ipv4Addr,
    /// MAC address of the target.
    pub target_mac: MacAddr,
    /// IPv4 address of the target.
    pub target_ip: Ipv4Addr,
}

impl Repr {
    /// Reads the packet.
    pub fn parse<T: AsRef<[u8]>>(packet: &Packet<T>) -> Self {
        Self {
            operation: packet.operation(),
            sender_mac: packet.sender_mac(),
            sender_ip: packet.sender_ip(),
            target_mac: packet.target_mac(),
            target_ip: packet.target_ip(),
        }
    }

    /// Writes the packet at the start of `buffer`.
    ///
    /// # Errors
    /// [`PacketError::Truncated`] when the buffer is too short.
    pub fn emit(&self, buffer: &mut [u8]) -> Result<(), PacketError> {
        let bytes = room(buffer, "ARP packet", PACKET_LEN)?;
        set_u16(bytes, field::HARDWARE, 1);
        set_u16(bytes, field::PROTOCOL, EtherType::IPV4.0);
        bytes[field::HARDWARE_LEN] = 6;
        bytes[field::PROTOCOL_LEN] = 4;
        set_u16(bytes, field::OPERATION, self.operation.0);
        bytes[field::SENDER_MAC].copy_from_slice(&self.sender_mac.0);
        bytes[field::SENDER_IP].copy_from_slice(&self.sender_ip.octets());
        bytes[field::TARGET_MAC].copy_from_slice(&self.target_mac.0);
        bytes[field::TARGET_IP].copy_from_slice(&self.target_ip.octets());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn round_trip(operation: u16, macs: [[u8; 6]; 2], ips: [[u8; 4]; 2]) {
            let repr = Repr {
                operation: Operation(operation),
                sender_mac: MacAddr(macs[0]),
                sender_ip: ips[0].into(),
                target_mac: MacAddr(macs[1]),
                target_ip: ips[1].into(),
            };
            let mut buffer = [0xff; PACKET_LEN];
            repr.emit(&mut buffer).unwrap();
            prop_assert_eq!(Repr::parse(&Packet::new_checked(&buffer).unwrap()), repr);
        }
    }

    #[test]
    fn other_kinds_are_refused() {
        let repr = Repr {
            operation: Operation::REQUEST,
            sender_mac: MacAddr::default(),
            sender_ip: Ipv4Addr::LOCALHOST,
            target_mac: MacAddr::default(),
            target_ip: Ipv4Addr::LOCALHOST,
        };
        let mut buffer = [0; PACKET_LEN];
        repr.emit(&mut buffer).unwrap();
        for at in [1, 2, 4, 5] {
            let mut other = buffer;
            other[at] ^= 0x40;
            assert!(Packet::new_checked(&other).is_err(), "byte {at}");
        }
    }
}
