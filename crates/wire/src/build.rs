//! Whole packets from a few words: Ethernet, optionally a VLAN tag, IPv4 or IPv6 or something
//! else, UDP or TCP, a payload; lengths and checksums filled in.

use std::net::{Ipv4Addr, Ipv6Addr};

use quantities::Priority;

use crate::checksum::Sum;
use crate::{EtherType, IpProtocol, MacAddr, PacketError};
use crate::{arp, ethernet, ipv4, ipv6, tcp, udp, vlan};

/// Builds one packet. Parts that are not asked for are left out; fields that are not set have the
/// value that a host would send (time to live 64, code point 0).
#[derive(Clone, Debug)]
pub struct PacketBuilder {
    src: MacAddr,
    dst: MacAddr,
    vlan: Option<(u16, Priority)>,
    network: Network,
    transport: Transport,
    dscp: u8,
    ecn: u8,
    ttl: u8,
    payload: Vec<u8>,
    pad_to: usize,
}

#[derive(Clone, Copy, Debug)]
enum Network {
    None(EtherType),
    Arp(arp::Repr),
    V4(Ipv4Addr, Ipv4Addr),
    V6(Ipv6Addr, Ipv6Addr),
}

#[derive(Clone, Copy, Debug)]
enum Transport {
    None(IpProtocol),
    Udp { src_port: u16, dst_port: u16 },
    Tcp(tcp::Repr),
}

impl Default for PacketBuilder {
    fn default() -> Self {
        Self {
            src: MacAddr([0x02, 0, 0, 0, 0, 1]),
            dst: MacAddr([0x02, 0, 0, 0, 0, 2]),
            vlan: None,
            // The first EtherType set aside for local experiments (IEEE 802).
            network: Network::None(EtherType(0x88b5)),
            // Likewise for IP protocols (RFC 3692).
            transport: Transport::None(IpProtocol(253)),
            dscp: 0,
            ecn: 0,
            ttl: 64,
            payload: Vec::new(),
            pad_to: 0,
        }
    }
}

impl PacketBuilder {
    /// A bare Ethernet frame between two locally administered addresses.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Source and destination MAC address.
    #[must_use]
    pub fn mac(mut self, src: impl Into<MacAddr>, dst: impl Into<MacAddr>) -> Self {
        (self.src, self.dst) = (src.into(), dst.into());
        self
    }

    /// A VLAN tag; id 0 makes it a priority tag.
    #[must_use]
    pub fn vlan(mut self, id: u16, pcp: Priority) -> Self {
        self.vlan = Some((id, pcp));
        self
    }

    /// The EtherType of a frame that is neither ARP nor IP.
    #[must_use]
    pub fn ether_type(mut self, ether_type: EtherType) -> Self {
        self.network = Network::None(ether_type);
        self
    }

    /// An ARP packet.
    #[must_use]
    pub fn arp(mut self, arp: arp::Repr) -> Self {
        self.network = Network::Arp(arp);
        self
    }

    /// An IPv4 header.
    #[must_use]
    pub fn ipv4(mut self, src: impl Into<Ipv4Addr>, dst: impl Into<Ipv4Addr>) -> Self {
        self.network = Network::V4(src.into(), dst.into());
        self
    }

    /// An IPv6 header.
    #[must_use]
    pub fn ipv6(mut self, src: impl Into<Ipv6Addr>, dst: impl Into<Ipv6Addr>) -> Self {
        self.network = Network::V6(src.into(), dst.into());
        self
    }

    /// Differentiated services code point of the IP header, 0 to 63.
    #[must_use]
    pub fn dscp(mut self, dscp: u8) -> Self {
        self.dscp = dscp;
        self
    }

    /// Explicit congestion notification of the IP header, 0 to 3.
    #[must_use]
    pub fn ecn(mut self, ecn: u8) -> Self {
        self.ecn = ecn;
        self
    }

    /// Time to live or hop limit of the IP header.
    #[must_use]
    pub fn ttl(mut self, ttl: u8) -> Self {
        self.ttl = ttl;
        self
    }

    /// A UDP header.
    #[must_use]
    pub fn udp(mut self, src_port: u16, dst_port: u16) -> Self {
        self.transport = Transport::Udp { src_port, dst_port };
        self
    }

    /// A TCP header.
    #[must_use]
    pub fn tcp(mut self, tcp: tcp::Repr) -> Self {
        self.transport = Transport::Tcp(tcp);
        self
    }

    /// What comes after the last header.
    #[must_use]
    pub fn payload(mut self, payload: impl AsRef<[u8]>) -> Self {
        self.payload = payload.as_ref().to_vec();
        self
    }

    /// Zero bytes after the end of a shorter packet, up to this length; Ethernet wants
    /// [`ethernet::MIN_FRAME_LEN`].
    #[must_use]
    pub fn pad_to(mut self, length: usize) -> Self {
        self.pad_to = length;
        self
    }

    /// The packet.
    ///
    /// # Errors
    /// [`PacketError`] when a value does not fit its field, or when UDP or TCP was asked for
    /// without IP.
    pub fn build(&self) -> Result<Vec<u8>, PacketError> {
        let (ether_type, body) = self.network_bytes()?;
        let mut packet = vec![0; ethernet::HEADER_LEN];
        let outer = if self.vlan.is_some() {
            EtherType::VLAN
        } else {
            ether_type
        };
        ethernet::Repr {
            dst: self.dst,
            src: self.src,
            ether_type: outer,
        }
        .emit(&mut packet)?;
        if let Some((id, pcp)) = self.vlan {
            let mut tag = [0; vlan::HEADER_LEN];
            vlan::Repr {
                pcp,
                dei: false,
                id,
                ether_type,
            }
            .emit(&mut tag)?;
            packet.extend(tag);
        }
        packet.extend(body);
        if packet.len() < self.pad_to {
            packet.resize(self.pad_to, 0);
        }
        Ok(packet)
    }

    fn network_bytes(&self) -> Result<(EtherType, Vec<u8>), PacketError> {
        match self.network {
            Network::V4(src, dst) => Ok((EtherType::IPV4, self.ipv4_bytes(src, dst)?)),
            Network::V6(src, dst) => Ok((EtherType::IPV6, self.ipv6_bytes(src, dst)?)),
            Network::None(ether_type) => {
                self.no_transport()?;
                Ok((ether_type, self.payload.clone()))
            }
            Network::Arp(arp) => {
                self.no_transport()?;
                let mut bytes = vec![0; arp::PACKET_LEN];
                arp.emit(&mut bytes)?;
                bytes.extend(&self.payload);
                Ok((EtherType::ARP, bytes))
            }
        }
    }

    fn no_transport(&self) -> Result<(), PacketError> {
        match self.transport {
            Transport::None(_) => Ok(()),
            _ => Err(PacketError::Build(
                "UDP and TCP need IPv4 or IPv6 below them".into(),
            )),
        }
    }

    fn ipv4_bytes(&self, src: Ipv4Addr, dst: Ipv4Addr) -> Result<Vec<u8>, PacketError> {
        let (protocol, body) = self.transport_bytes(|protocol, length| {
            // A longer body is refused by the header below.
            Sum::new().pseudo_v4(src, dst, protocol, length as u16)
        })?;
        let header = ipv4::Repr {
            dscp: self.dscp,
            ecn: self.ecn,
            identification: 0,
            dont_fragment: true,
            more_fragments: false,
            fragment_offset: 0,
            ttl: self.ttl,
            protocol,
            src,
            dst,
            options: &[],
            payload_len: body.len(),
        };
        let mut bytes = vec![0; header.header_len()];
        header.emit(&mut bytes)?;
        bytes.extend(body);
        Ok(bytes)
    }

    fn ipv6_bytes(&self, src: Ipv6Addr, dst: Ipv6Addr) -> Result<Vec<u8>, PacketError> {
        let (next_header, body) = self.transport_bytes(|protocol, length| {
            Sum::new().pseudo_v6(src, dst, protocol, length as u32)
        })?;
        let header = ipv6::Repr {
            dscp: self.dscp,
            ecn: self.ecn,
            flow_label: 0,
            payload_len: body.len(),
            next_header,
            hop_limit: self.ttl,
            src,
            dst,
        };
        let mut bytes = vec![0; ipv6::HEADER_LEN];
        header.emit(&mut bytes)?;
        bytes.extend(body);
        Ok(bytes)
    }

    /// Transport header and payload, with the checksum over the pseudo header that the caller
    /// makes from protocol and length.
    fn transport_bytes(
        &self,
        pseudo: impl Fn(IpProtocol, usize) -> Sum,
    ) -> Result<(IpProtocol, Vec<u8>), PacketError> {
        match self.transport {
            Transport::None(protocol) => Ok((protocol, self.payload.clone())),
            Transport::Udp { src_port, dst_port } => {
                let mut bytes = vec![0; udp::HEADER_LEN];
                let payload_len = self.payload.len();
                udp::Repr {
                    src_port,
                    dst_port,
                    payload_len,
                }
                .emit(&mut bytes)?;
                bytes.extend(&self.payload);
                let sum = pseudo(IpProtocol::UDP, bytes.len());
                udp::Datagram::new_checked(&mut bytes)?.fill_checksum(sum);
                Ok((IpProtocol::UDP, bytes))
            }
            Transport::Tcp(header) => {
                let mut bytes = vec![0; tcp::MIN_HEADER_LEN];
                header.emit(&mut bytes)?;
                bytes.extend(&self.payload);
                let sum = pseudo(IpProtocol::TCP, bytes.len());
                tcp::Segment::new_checked(&mut bytes)?.fill_checksum(sum);
                Ok((IpProtocol::TCP, bytes))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::layers::{Layers, Network as Parsed};

    #[test]
    fn a_known_packet() {
        let bytes = PacketBuilder::new()
            .mac([2, 0, 0, 0, 0, 0xa], [2, 0, 0, 0, 0, 0xb])
            .ipv4([10, 0, 0, 1], [10, 0, 0, 2])
            .dscp(1)
            .udp(1, 2)
            .payload(b"hi")
            .build()
            .unwrap();
        let expected = [
            2, 0, 0, 0, 0, 0xb, 2, 0, 0, 0, 0, 0xa, 0x08, 0x00, // Ethernet
            0x45, 0x04, 0, 30, 0, 0, 0x40, 0, 64, 17, 0x26, 0xc9, 10, 0, 0, 1, 10, 0, 0,
            2, // IPv4
            0, 1, 0, 2, 0, 10, 0x83, 0x6b, b'h', b'i', // UDP
        ];
        assert_eq!(bytes, expected);
        let layers = Layers::parse(&bytes).unwrap();
        assert_eq!(
            layers.to_string(),
            "10.0.0.1:1 > 10.0.0.2:2 UDP dscp 1 ttl 64 (2 bytes)"
        );
    }

    #[test]
    fn a_broken_checksum_is_told() {
        let mut bytes = PacketBuilder::new()
            .ipv4([1, 1, 1, 1], [2, 2, 2, 2])
            .build()
            .unwrap();
        bytes[22] -= 1;
        let layers = Layers::parse(&bytes).unwrap();
        assert!(!layers.checksums_right());
        assert!(layers.to_string().ends_with("CHECKSUM WRONG"));
    }

    #[test]
    fn impossible_packets_are_refused() {
        let udp = PacketBuilder::new().udp(1, 2);
        assert!(
            udp.build()
                .unwrap_err()
                .to_string()
                .contains("need IPv4 or IPv6")
        );
        let ip = PacketBuilder::new().ipv4([0; 4], [0; 4]);
        assert!(ip.clone().dscp(64).build().is_err());
        assert!(ip.clone().payload(vec![0; 65516]).build().is_err());
        assert!(ip.payload(vec![0; 65515]).build().is_ok());
        let vlan = PacketBuilder::new().vlan(5000, Priority::new(0));
        assert!(vlan.build().is_err());
    }

    #[test]
    fn other_frames() {
        let arp = arp::Repr {
            operation: arp::Operation::REQUEST,
            sender_mac: MacAddr([2; 6]),
            sender_ip: [10, 0, 0, 1].into(),
            target_mac: MacAddr::default(),
            target_ip: [10, 0, 0, 2].into(),
        };
        let bytes = PacketBuilder::new().arp(arp).pad_to(60).build().unwrap();
        assert_eq!(bytes.len(), 60);
        assert_eq!(Layers::parse(&bytes).unwrap().network, Parsed::Arp(arp));
        let lldp = PacketBuilder::new()
            .ether_type(EtherType::LLDP)
            .payload([7])
            .build()
            .unwrap();
        assert_eq!(
            Layers::parse(&lldp).unwrap().network,
            Parsed::Other(EtherType::LLDP)
        );
    }

    prop_compose! {
        fn packets()(
            v6: bool, tcp: bool, tagged: Option<(u16, u8)>, ports: [u16; 2],
            addresses: [[u8; 16]; 2], dscp in 0_u8..64, ecn in 0_u8..4, ttl: u8,
            payload in prop::collection::vec(any::<u8>(), 0..80), pad in 0_usize..100,
        ) -> (Vec<u8>, u8, u8, Vec<u8>) {
            let mut builder = PacketBuilder::new().dscp(dscp).ecn(ecn).ttl(ttl).payload(&payload).pad_to(pad);
            if let Some((id, pcp)) = tagged {
                builder = builder.vlan(id % 4096, Priority::new(pcp % 8));
            }
            let [src, dst] = addresses;
            builder = if v6 { builder.ipv6(src, dst) } else {
                builder.ipv4([src[0], src[1], src[2], src[3]], [dst[0], dst[1], dst[2], dst[3]])
            };
            builder = if tcp {
                builder.tcp(tcp::Repr { src_port: ports[0], dst_port: ports[1], sequence: 1, acknowledgment: 2, flags: 0x18, window: 9 })
            } else {
                builder.udp(ports[0], ports[1])
            };
            (builder.build().unwrap(), dscp, ttl, payload)
        }
    }

    proptest! {
        #[test]
        fn what_is_built_is_parsed((bytes, dscp, ttl, payload) in packets()) {
            let layers = Layers::parse(&bytes).unwrap();
            prop_assert!(layers.checksums_right(), "{}", layers);
            prop_assert_eq!(layers.dscp(), Some(dscp));
            let hop_limit = match &layers.network {
                crate::layers::Network::Ipv4 { ttl, .. } => Some(*ttl),
                crate::layers::Network::Ipv6(header) => Some(header.hop_limit),
                _ => None,
            };
            prop_assert_eq!(hop_limit, Some(ttl));
            prop_assert_eq!(layers.payload, payload);
        }

        #[test]
        fn cut_packets_are_errors_not_panics((bytes, ..) in packets(), cut: prop::sample::Index, flip: prop::sample::Index) {
            let _ = Layers::parse(&bytes[..cut.index(bytes.len())]);
            let mut flipped = bytes.clone();
            let at = flip.index(flipped.len() * 8);
            flipped[at / 8] ^= 1 << (at % 8);
            if let Ok(layers) = Layers::parse(&flipped) {
                let _ = layers.to_string();
            }
        }

        #[test]
        fn any_bytes_are_safe(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Layers::parse(&bytes);
        }
    }
}
