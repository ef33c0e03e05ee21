//! Headers of `pnet_packet`, checked.

use pnet_packet::arp::{ArpHardwareTypes, ArpPacket};
use pnet_packet::ethernet::{EtherType, EtherTypes, EthernetPacket};
use pnet_packet::ipv4::Ipv4Packet;
use pnet_packet::ipv6::Ipv6Packet;
use pnet_packet::tcp::TcpPacket;
use pnet_packet::udp::UdpPacket;
use pnet_packet::vlan::VlanPacket;
use quantities::Priority;

use crate::PacketError;

/// Length of an Ethernet header in bytes.
pub const ETHERNET_LEN: usize = EthernetPacket::minimum_packet_size();
/// Length of a VLAN tag after the EtherType that announces it.
pub const VLAN_LEN: usize = VlanPacket::minimum_packet_size();
/// Length of an ARP packet for IPv4 over Ethernet.
pub const ARP_LEN: usize = ArpPacket::minimum_packet_size();
/// Length of an IPv4 header without options.
pub const IPV4_LEN: usize = Ipv4Packet::minimum_packet_size();
/// Length of an IPv6 header without extensions.
pub const IPV6_LEN: usize = Ipv6Packet::minimum_packet_size();
/// Length of a UDP header.
pub const UDP_LEN: usize = UdpPacket::minimum_packet_size();
/// Length of a TCP header without options.
pub const TCP_LEN: usize = TcpPacket::minimum_packet_size();

/// The first bytes of a buffer.
fn first<'a>(
    header: &'static str,
    needed: usize,
    bytes: &'a [u8],
) -> Result<&'a [u8], PacketError> {
    let have = bytes.len();
    bytes.get(..needed).ok_or(PacketError::Truncated {
        header,
        needed,
        have,
    })
}

/// Refuses a field unless it holds.
fn require(
    holds: bool,
    header: &'static str,
    field: &'static str,
    value: impl Into<u64>,
    rule: &'static str,
) -> Result<(), PacketError> {
    match holds {
        true => Ok(()),
        false => Err(PacketError::Malformed {
            header,
            field,
            value: value.into(),
            rule,
        }),
    }
}

/// A view of a whole buffer that must have room for the fixed fields.
macro_rules! view {
    ($packet:ident, $header:expr, $bytes:expr) => {{
        let bytes = $bytes;
        $packet::new(bytes).ok_or(PacketError::Truncated {
            header: $header,
            needed: $packet::minimum_packet_size(),
            have: bytes.len(),
        })
    }};
}

/// An Ethernet II frame (IEEE 802.3), without preamble and frame check sequence.
///
/// # Errors
/// [`PacketError::Truncated`].
pub fn ethernet(bytes: &[u8]) -> Result<EthernetPacket<'_>, PacketError> {
    view!(EthernetPacket, "Ethernet header", bytes)
}

/// A VLAN tag (IEEE 802.1Q), from its tag control information on.
///
/// # Errors
/// [`PacketError::Truncated`].
pub fn vlan(bytes: &[u8]) -> Result<VlanPacket<'_>, PacketError> {
    view!(VlanPacket, "VLAN tag", bytes)
}

/// An ARP packet for IPv4 over Ethernet (RFC 826).
///
/// # Errors
/// [`PacketError`] if it is too short, or for other protocols.
pub fn arp(bytes: &[u8]) -> Result<ArpPacket<'_>, PacketError> {
    const HEADER: &str = "ARP packet";
    let packet = view!(ArpPacket, HEADER, bytes)?;
    let (hardware, protocol) = (packet.get_hardware_type(), packet.get_protocol_type());
    let ethernet = hardware == ArpHardwareTypes::Ethernet && packet.get_hw_addr_len() == 6;
    let rule = "and only Ethernet (1) is known";
    require(ethernet, HEADER, "hardware type", hardware.0, rule)?;
    let ipv4 = protocol == EtherTypes::Ipv4 && packet.get_proto_addr_len() == 4;
    let rule = "and only IPv4 (2048) is known";
    require(ipv4, HEADER, "protocol type", protocol.0, rule)?;
    Ok(packet)
}

/// An IPv4 packet (RFC 791), without padding of the frame.
///
/// # Errors
/// [`PacketError`] if it is no IPv4, or if lengths contradict each other or the buffer.
pub fn ipv4(bytes: &[u8]) -> Result<Ipv4Packet<'_>, PacketError> {
    const HEADER: &str = "IPv4 header";
    let packet = view!(Ipv4Packet, HEADER, bytes)?;
    let version = packet.get_version();
    require(version == 4, HEADER, "version", version, "which must be 4")?;
    let length = u16::from(packet.get_header_length()) * 4;
    let rule = "which must be at least 20 bytes";
    let enough = usize::from(length) >= IPV4_LEN;
    require(enough, HEADER, "header length", length, rule)?;
    first(HEADER, length.into(), bytes)?;
    let total = packet.get_total_length();
    let rule = "which must be at least the header length";
    require(total >= length, HEADER, "total length", total, rule)?;
    view!(
        Ipv4Packet,
        HEADER,
        first("IPv4 packet", total.into(), bytes)?
    )
}

/// An IPv6 packet (RFC 8200), without padding of the frame. Extension headers are payload.
///
/// # Errors
/// [`PacketError`] if it is no IPv6, or if its length contradicts the buffer.
pub fn ipv6(bytes: &[u8]) -> Result<Ipv6Packet<'_>, PacketError> {
    const HEADER: &str = "IPv6 header";
    let packet = view!(Ipv6Packet, HEADER, bytes)?;
    let version = packet.get_version();
    require(version == 6, HEADER, "version", version, "which must be 6")?;
    let total = IPV6_LEN + usize::from(packet.get_payload_length());
    view!(Ipv6Packet, HEADER, first("IPv6 packet", total, bytes)?)
}

/// A UDP datagram (RFC 768), without what stands behind it.
///
/// # Errors
/// [`PacketError`] if its length contradicts the header or the buffer.
pub fn udp(bytes: &[u8]) -> Result<UdpPacket<'_>, PacketError> {
    const HEADER: &str = "UDP header";
    let length = view!(UdpPacket, HEADER, bytes)?.get_length();
    let enough = usize::from(length) >= UDP_LEN;
    let rule = "which must be at least 8";
    require(enough, HEADER, "length", length, rule)?;
    view!(
        UdpPacket,
        HEADER,
        first("UDP datagram", length.into(), bytes)?
    )
}

/// A TCP segment (RFC 9293), which takes the whole buffer.
///
/// # Errors
/// [`PacketError`] if the length of its header contradicts the buffer.
pub fn tcp(bytes: &[u8]) -> Result<TcpPacket<'_>, PacketError> {
    const HEADER: &str = "TCP header";
    let packet = view!(TcpPacket, HEADER, bytes)?;
    let length = u16::from(packet.get_data_offset()) * 4;
    let rule = "which must be at least 20 bytes";
    let enough = usize::from(length) >= TCP_LEN;
    require(enough, HEADER, "header length", length, rule)?;
    first(HEADER, length.into(), bytes)?;
    Ok(packet)
}

/// What a frame carries, behind a VLAN tag or not.
#[derive(Debug, PartialEq)]
pub struct Layers<'a> {
    /// The VLAN tag, if any.
    pub vlan: Option<VlanPacket<'a>>,
    /// Type of the payload. Below 0x0600 it is a length (IEEE 802.3, 3.2.6).
    pub ether_type: EtherType,
    /// What follows the Ethernet header and the tag.
    pub payload: &'a [u8],
}

impl<'a> Layers<'a> {
    /// Reads the Ethernet header and the tag of a frame.
    ///
    /// # Errors
    /// [`PacketError::Truncated`].
    pub fn parse(bytes: &'a [u8]) -> Result<Self, PacketError> {
        let ether_type = ethernet(bytes)?.get_ethertype();
        let payload = &bytes[ETHERNET_LEN..];
        if ether_type != EtherTypes::Vlan {
            return Ok(Self {
                vlan: None,
                ether_type,
                payload,
            });
        }
        let tag = vlan(payload)?;
        Ok(Self {
            ether_type: tag.get_ethertype(),
            payload: &payload[VLAN_LEN..],
            vlan: Some(tag),
        })
    }

    /// The differentiated services code point (RFC 2474), under IP.
    #[must_use]
    pub fn dscp(&self) -> Option<u8> {
        match self.ether_type {
            EtherTypes::Ipv4 => Some(ipv4(self.payload).ok()?.get_dscp()),
            EtherTypes::Ipv6 => Some(ipv6(self.payload).ok()?.get_traffic_class() >> 2),
            _ => None,
        }
    }

    /// The priority code point, in a tagged frame.
    #[must_use]
    pub fn pcp(&self) -> Option<Priority> {
        let tag = self.vlan.as_ref()?;
        Some(Priority::new(tag.get_priority_code_point().0))
    }
}

#[cfg(test)]
mod tests {
    use pnet_packet::Packet;
    use proptest::prelude::*;

    use super::*;
    use crate::PacketBuilder;

    fn said<T: std::fmt::Debug>(read: Result<T, PacketError>) -> String {
        read.unwrap_err().to_string()
    }

    #[test]
    fn headers_that_lie_about_their_length_are_refused() {
        let frame = PacketBuilder::new()
            .ipv4([1; 4], [2; 4])
            .udp(3, 4)
            .build()
            .unwrap();
        let good = &frame[ETHERNET_LEN..];
        let with = |at: usize, byte: u8| {
            let mut bytes = good.to_vec();
            bytes[at] = byte;
            bytes
        };
        assert_eq!(
            said(ipv4(&with(0, 0x65))),
            "the IPv4 header has version 6, which must be 4"
        );
        assert!(said(ipv4(&with(0, 0x44))).contains("header length 16, which must be at least 20"));
        assert_eq!(
            said(ipv4(&with(0, 0x4f))),
            "the IPv4 header needs 60 bytes and there are 28"
        );
        assert!(said(ipv4(&with(3, 19))).contains("total length 19, which must be at least"));
        assert_eq!(
            said(ipv4(&with(3, 29))),
            "the IPv4 packet needs 29 bytes and there are 28"
        );
        assert_eq!(
            said(ethernet(&[0; 13])),
            "the Ethernet header needs 14 bytes and there are 13"
        );
        assert_eq!(
            said(vlan(&[0; 3])),
            "the VLAN tag needs 4 bytes and there are 3"
        );
        assert_eq!(
            said(ipv6(good)),
            "the IPv6 header needs 40 bytes and there are 28"
        );
        assert_eq!(
            said(ipv6(&[0x60, 0, 0, 0, 0, 1].repeat(7)[..40])),
            "the IPv6 packet needs 41 bytes and there are 40"
        );
        assert!(said(udp(&with(25, 7)[20..])).contains("length 7, which must be at least 8"));
        assert_eq!(
            said(udp(&with(25, 9)[20..])),
            "the UDP datagram needs 9 bytes and there are 8"
        );
        assert!(said(tcp(&[0x40; 20])).contains("header length 16, which must be at least 20"));
        assert_eq!(
            said(tcp(&[0x60; 23])),
            "the TCP header needs 24 bytes and there are 23"
        );
    }

    #[test]
    fn arp_of_other_protocols_is_refused() {
        let good = [&[0, 1, 8, 0, 6, 4, 0, 1][..], &[7; 20]].concat();
        assert_eq!(arp(&good).unwrap().get_target_hw_addr(), [7u8; 6]);
        for at in [1, 2, 4, 5] {
            let mut other = good.clone();
            other[at] ^= 0x40;
            assert!(arp(&other).is_err(), "byte {at}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_safe(bytes in prop::collection::vec(any::<u8>(), 0..100), first: Option<(u8, u8)>) {
            let mut bytes = bytes;
            if let (Some((version, length)), true) = (first, bytes.len() > 3) {
                (bytes[0], bytes[2], bytes[3]) = ([0x45, 0x4f, 0x60][usize::from(version % 3)], 0, length);
            }
            let within = |payload: &[u8]| payload.len() <= bytes.len();
            prop_assert!(arp(&bytes).is_ok_and(|p| within(p.payload())) || arp(&bytes).is_err());
            if let Ok(packet) = ipv4(&bytes) {
                let header = usize::from(packet.get_header_length()) * 4;
                prop_assert_eq!(header + packet.payload().len(), usize::from(packet.get_total_length()));
                let _ = crate::checksum::is_right(&packet);
            }
            if let Ok(packet) = ipv6(&bytes) {
                prop_assert_eq!(packet.payload().len(), usize::from(packet.get_payload_length()));
            }
            if let Ok(packet) = udp(&bytes) {
                prop_assert_eq!(packet.payload().len() + UDP_LEN, usize::from(packet.get_length()));
            }
            if let Ok(packet) = tcp(&bytes) {
                let header = usize::from(packet.get_data_offset()) * 4;
                prop_assert_eq!(header + packet.payload().len(), bytes.len());
            }
            if let Ok(layers) = Layers::parse(&bytes) {
                let _ = (layers.dscp(), layers.pcp());
            }
        }
    }
}
