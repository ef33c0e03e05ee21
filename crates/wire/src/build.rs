//! Whole packets from a few words: Ethernet, optionally a VLAN tag, IPv4 or IPv6 or something
//! else, UDP, a payload; lengths and checksums filled in.

use std::net::{Ipv4Addr, Ipv6Addr};

use pnet_base::MacAddr;
use pnet_packet::ethernet::{EtherType, EtherTypes, Ethernet, MutableEthernetPacket};
use pnet_packet::ip::{IpNextHeaderProtocol, IpNextHeaderProtocols};
use pnet_packet::ipv4::{Ipv4, Ipv4Flags, MutableIpv4Packet};
use pnet_packet::ipv6::{Ipv6, MutableIpv6Packet};
use pnet_packet::udp::{self, MutableUdpPacket, Udp, UdpPacket};
use pnet_packet::vlan::{ClassOfService, MutableVlanPacket, Vlan};
use quantities::Priority;

use crate::headers::{IPV4_LEN, UDP_LEN};
use crate::{PacketError, checksum};

/// The shortest frame without its frame check sequence (IEEE 802.3).
pub const MIN_FRAME_LEN: usize = 60;

/// Builds one packet. Parts that are not asked for are left out; fields that are not set have the
/// value that a host would send (time to live 64, code point 0).
#[derive(Clone, Debug)]
pub struct PacketBuilder {
    src: MacAddr,
    dst: MacAddr,
    vlan: Option<(u16, Priority)>,
    network: Network,
    udp: Option<(u16, u16)>,
    protocol: IpNextHeaderProtocol,
    dscp: u8,
    ecn: u8,
    ttl: u8,
    payload: Vec<u8>,
    pad_to: usize,
}

#[derive(Clone, Copy, Debug)]
enum Network {
    None(EtherType),
    V4(Ipv4Addr, Ipv4Addr),
    V6(Ipv6Addr, Ipv6Addr),
}

impl Default for PacketBuilder {
    fn default() -> Self {
        Self {
            src: MacAddr(0x02, 0, 0, 0, 0, 1),
            dst: MacAddr(0x02, 0, 0, 0, 0, 2),
            vlan: None,
            // The first EtherType set aside for local experiments (IEEE 802).
            network: Network::None(EtherType(0x88b5)),
            udp: None,
            // Likewise for IP protocols (RFC 3692).
            protocol: IpNextHeaderProtocol(253),
            dscp: 0,
            ecn: 0,
            ttl: 64,
            payload: Vec::new(),
            pad_to: 0,
        }
    }
}

/// The bytes of a header with its payload, which `pnet_packet` has as a struct.
macro_rules! bytes_of {
    ($packet:ident, $fields:expr) => {{
        let fields = $fields;
        let mut bytes = vec![0; $packet::packet_size(&fields)];
        if let Some(mut packet) = $packet::new(&mut bytes) {
            packet.populate(&fields);
        }
        bytes
    }};
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

    /// The EtherType of a frame that is not IP.
    #[must_use]
    pub fn ether_type(mut self, ether_type: EtherType) -> Self {
        self.network = Network::None(ether_type);
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

    /// What the IP header says of its payload, where that is not UDP.
    #[must_use]
    pub fn protocol(mut self, protocol: IpNextHeaderProtocol) -> Self {
        self.protocol = protocol;
        self
    }

    /// A UDP header.
    #[must_use]
    pub fn udp(mut self, src_port: u16, dst_port: u16) -> Self {
        self.udp = Some((src_port, dst_port));
        self
    }

    /// What comes after the last header.
    #[must_use]
    pub fn payload(mut self, payload: impl AsRef<[u8]>) -> Self {
        self.payload = payload.as_ref().to_vec();
        self
    }

    /// Zero bytes after the end of a shorter packet, up to this length; Ethernet wants
    /// [`MIN_FRAME_LEN`].
    #[must_use]
    pub fn pad_to(mut self, length: usize) -> Self {
        self.pad_to = length;
        self
    }

    /// The packet.
    ///
    /// # Errors
    /// [`PacketError`] when a value does not fit its field, or when UDP was asked for without IP.
    pub fn build(&self) -> Result<Vec<u8>, PacketError> {
        let (ethertype, mut payload) = match self.network {
            Network::V4(src, dst) => (EtherTypes::Ipv4, self.ipv4_bytes(src, dst)?),
            Network::V6(src, dst) => (EtherTypes::Ipv6, self.ipv6_bytes(src, dst)?),
            Network::None(_) if self.udp.is_some() => {
                let why = "UDP needs IPv4 or IPv6 below it";
                return Err(PacketError::Build(why.to_owned()));
            }
            Network::None(ether_type) => (ether_type, self.payload.clone()),
        };
        if let Some((id, pcp)) = self.vlan {
            at_most("VLAN tag", "priority", pcp.get().into(), 7)?;
            at_most("VLAN tag", "VLAN id", id.into(), 0xfff)?;
            let tag = Vlan {
                priority_code_point: ClassOfService(pcp.get()),
                drop_eligible_indicator: 0,
                vlan_identifier: id,
                ethertype,
                payload,
            };
            payload = bytes_of!(MutableVlanPacket, tag);
        }
        let frame = Ethernet {
            destination: self.dst,
            source: self.src,
            ethertype: self.vlan.map_or(ethertype, |_| EtherTypes::Vlan),
            payload,
        };
        let mut packet = bytes_of!(MutableEthernetPacket, frame);
        packet.resize(packet.len().max(self.pad_to), 0);
        Ok(packet)
    }

    fn ipv4_bytes(&self, source: Ipv4Addr, destination: Ipv4Addr) -> Result<Vec<u8>, PacketError> {
        self.check("IPv4 header", IPV4_LEN)?;
        let (next_level_protocol, payload) =
            self.body(|udp| udp::ipv4_checksum(udp, &source, &destination));
        let header = Ipv4 {
            version: 4,
            header_length: 5,
            dscp: self.dscp,
            ecn: self.ecn,
            // The length was checked.
            total_length: (IPV4_LEN + payload.len()) as u16,
            identification: 0,
            flags: Ipv4Flags::DontFragment,
            fragment_offset: 0,
            ttl: self.ttl,
            next_level_protocol,
            checksum: 0,
            source,
            destination,
            options: Vec::new(),
            payload,
        };
        let mut bytes = bytes_of!(MutableIpv4Packet, header);
        checksum::fill_ipv4(&mut bytes);
        Ok(bytes)
    }

    fn ipv6_bytes(&self, source: Ipv6Addr, destination: Ipv6Addr) -> Result<Vec<u8>, PacketError> {
        self.check("IPv6 header", 0)?;
        let (next_header, payload) =
            self.body(|udp| udp::ipv6_checksum(udp, &source, &destination));
        let header = Ipv6 {
            version: 6,
            traffic_class: self.dscp << 2 | self.ecn,
            flow_label: 0,
            // The length was checked.
            payload_length: payload.len() as u16,
            next_header,
            hop_limit: self.ttl,
            source,
            destination,
            payload,
        };
        Ok(bytes_of!(MutableIpv6Packet, header))
    }

    /// Checks the traffic class and the length that an IP header is to state. The length covers
    /// `counted` bytes besides UDP and payload.
    fn check(&self, header: &'static str, counted: usize) -> Result<(), PacketError> {
        at_most(header, "DSCP", self.dscp.into(), 63)?;
        at_most(header, "ECN", self.ecn.into(), 3)?;
        let udp = self.udp.map_or(0, |_| UDP_LEN);
        let length = (counted + udp).saturating_add(self.payload.len());
        at_most(header, "length", length as u64, u16::MAX.into())
    }

    /// What an IP header is followed by, with UDP's checksum as the caller makes it.
    fn body(&self, sum: impl Fn(&UdpPacket<'_>) -> u16) -> (IpNextHeaderProtocol, Vec<u8>) {
        let Some((source, destination)) = self.udp else {
            return (self.protocol, self.payload.clone());
        };
        let header = Udp {
            source,
            destination,
            // The length was checked.
            length: (UDP_LEN + self.payload.len()) as u16,
            checksum: 0,
            payload: self.payload.clone(),
        };
        let mut bytes = bytes_of!(MutableUdpPacket, header);
        if let Some(mut datagram) = MutableUdpPacket::new(&mut bytes) {
            // A sum of zero is sent as all ones, for zero means none (RFC 768).
            let sum = match sum(&datagram.to_immutable()) {
                0 => 0xffff,
                sum => sum,
            };
            datagram.set_checksum(sum);
        }
        (IpNextHeaderProtocols::Udp, bytes)
    }
}

/// Refuses a value that does not fit its field.
fn at_most(
    header: &'static str,
    field: &'static str,
    value: u64,
    most: u64,
) -> Result<(), PacketError> {
    match value <= most {
        true => Ok(()),
        false => Err(PacketError::Malformed {
            header,
            field,
            value,
            rule: "which does not fit the field",
        }),
    }
}

#[cfg(test)]
mod tests {
    use pnet_packet::Packet;
    use proptest::prelude::*;

    use super::*;
    use crate::headers::{self, Layers};

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
    }

    #[test]
    fn impossible_packets_are_refused() {
        let udp = PacketBuilder::new().udp(1, 2);
        let error = udp.build().unwrap_err().to_string();
        assert!(error.contains("needs IPv4 or IPv6"), "{error}");
        let ip = PacketBuilder::new().ipv4([0; 4], [0; 4]);
        assert!(ip.clone().dscp(64).build().is_err());
        assert!(ip.clone().ecn(4).build().is_err());
        assert!(ip.clone().payload(vec![0; 65516]).build().is_err());
        assert!(
            ip.clone()
                .udp(1, 2)
                .payload(vec![0; 1 << 20])
                .build()
                .is_err()
        );
        assert!(
            ip.clone()
                .udp(1, 2)
                .payload(vec![0xff; 65507])
                .build()
                .is_ok()
        );
        assert!(ip.payload(vec![0; 65515]).build().is_ok());
        let vlan = |id, pcp| PacketBuilder::new().vlan(id, Priority::new(pcp)).build();
        assert!(vlan(4095, 7).is_ok() && vlan(4096, 0).is_err() && vlan(0, 8).is_err());
    }

    #[test]
    fn other_frames() {
        let lldp = PacketBuilder::new()
            .ether_type(EtherTypes::Lldp)
            .payload([7])
            .pad_to(MIN_FRAME_LEN)
            .build()
            .unwrap();
        let layers = Layers::parse(&lldp).unwrap();
        assert_eq!((layers.ether_type, lldp.len()), (EtherTypes::Lldp, 60));
    }

    prop_compose! {
        fn packets()(
            v6: bool, tagged: Option<(u16, u8)>, ports: [u16; 2],
            addresses: [[u8; 16]; 2], dscp in 0_u8..64, ecn in 0_u8..4, ttl: u8,
            payload in prop::collection::vec(any::<u8>(), 0..80), pad in 0_usize..100,
        ) -> (Vec<u8>, PacketBuilder) {
            let mut builder = PacketBuilder::new().dscp(dscp).ecn(ecn).ttl(ttl).payload(&payload).pad_to(pad);
            if let Some((id, pcp)) = tagged {
                builder = builder.vlan(id % 4096, Priority::new(pcp % 8));
            }
            let [src, dst] = addresses;
            builder = if v6 { builder.ipv6(src, dst) } else {
                builder.ipv4([src[0], src[1], src[2], src[3]], [dst[0], dst[1], dst[2], dst[3]])
            };
            builder = builder.udp(ports[0], ports[1]);
            (builder.build().unwrap(), builder)
        }
    }

    proptest! {
        #[test]
        fn what_is_built_is_parsed((bytes, built) in packets()) {
            let layers = Layers::parse(&bytes).unwrap();
            prop_assert_eq!(layers.dscp(), Some(built.dscp));
            prop_assert_eq!(layers.pcp(), built.vlan.map(|(_, pcp)| pcp));
            let (ttl, datagram, sum) = match built.network {
                Network::V4(src, dst) => {
                    let ip = headers::ipv4(layers.payload).unwrap();
                    prop_assert!(checksum::is_right(&ip));
                    prop_assert_eq!((ip.get_source(), ip.get_destination()), (src, dst));
                    let datagram = ip.payload().to_vec();
                    let sum = udp::ipv4_checksum(&headers::udp(&datagram).unwrap(), &src, &dst);
                    (ip.get_ttl(), datagram, sum)
                }
                Network::V6(src, dst) => {
                    let ip = headers::ipv6(layers.payload).unwrap();
                    prop_assert_eq!((ip.get_source(), ip.get_destination()), (src, dst));
                    let datagram = ip.payload().to_vec();
                    let sum = udp::ipv6_checksum(&headers::udp(&datagram).unwrap(), &src, &dst);
                    (ip.get_hop_limit(), datagram, sum)
                }
                Network::None(_) => unreachable!(),
            };
            prop_assert_eq!(ttl, built.ttl);
            let datagram = headers::udp(&datagram).unwrap();
            prop_assert_eq!(datagram.get_checksum(), if sum == 0 { 0xffff } else { sum });
            prop_assert_eq!(datagram.payload(), &built.payload[..]);
        }

        #[test]
        fn cut_packets_are_errors_not_panics((bytes, _) in packets(), cut: prop::sample::Index) {
            let cut = &bytes[..cut.index(bytes.len())];
            if let Ok(layers) = Layers::parse(cut) {
                let _ = (layers.dscp(), layers.pcp());
            }
        }
    }
}
