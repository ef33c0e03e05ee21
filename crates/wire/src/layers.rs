//! A packet taken apart: the headers that are there, in one value with a one-line description.

use std::fmt;

use quantities::Priority;

use crate::checksum::Sum;
use crate::{EtherType, IpProtocol, PacketError};
use crate::{arp, ethernet, ipv4, ipv6, pfc, tcp, udp, vlan};

/// The headers of a packet. What is not known stays in [`Layers::payload`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layers<'a> {
    /// The Ethernet header.
    pub ethernet: ethernet::Repr,
    /// The VLAN tag, if any.
    pub vlan: Option<vlan::Repr>,
    /// What the frame carries.
    pub network: Network,
    /// Ports, where the IP packet is UDP or TCP and not a later fragment.
    pub transport: Option<Transport>,
    /// Bytes after the last header that is known; frame padding excluded under IP.
    pub payload: &'a [u8],
}

/// What a frame carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Network {
    /// An ARP packet.
    Arp(arp::Repr),
    /// An IPv4 header.
    Ipv4 {
        /// Differentiated services code point.
        dscp: u8,
        /// Explicit congestion notification.
        ecn: u8,
        /// Time to live.
        ttl: u8,
        /// What the payload is.
        protocol: IpProtocol,
        /// Source address.
        src: std::net::Ipv4Addr,
        /// Destination address.
        dst: std::net::Ipv4Addr,
        /// Whether the header checksum is right.
        checksum_right: bool,
    },
    /// An IPv6 header.
    Ipv6(ipv6::Repr),
    /// A PFC frame.
    Pfc(pfc::Repr),
    /// Something else.
    Other(EtherType),
}

/// UDP or TCP as far as flows are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transport {
    /// UDP or TCP.
    pub protocol: IpProtocol,
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// Whether the checksum is right (for UDP: or absent).
    pub checksum_right: bool,
}

impl<'a> Layers<'a> {
    /// Takes a packet apart. Wrong checksums are told, not refused.
    ///
    /// # Errors
    /// [`PacketError`] of the first header that is announced and does not hold.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, PacketError> {
        let frame = ethernet::Frame::new_checked(bytes)?;
        let ethernet = ethernet::Repr::parse(&frame);
        let mut rest = &bytes[ethernet::HEADER_LEN..];
        let mut ether_type = ethernet.ether_type;
        let mut vlan = None;
        if ether_type == EtherType::VLAN {
            let tag = vlan::Repr::parse(&vlan::Tag::new_checked(rest)?);
            rest = &rest[vlan::HEADER_LEN..];
            ether_type = tag.ether_type;
            vlan = Some(tag);
        }
        let (network, transport, payload) = match ether_type {
            EtherType::IPV4 => parse_ipv4(rest)?,
            EtherType::IPV6 => parse_ipv6(rest)?,
            EtherType::ARP => {
                let arp = arp::Repr::parse(&arp::Packet::new_checked(rest)?);
                (Network::Arp(arp), None, &rest[arp::PACKET_LEN..])
            }
            EtherType::MAC_CONTROL if vlan.is_none() => match pfc::Frame::new_checked(bytes) {
                Ok(frame) => (
                    Network::Pfc(pfc::Repr::parse(&frame)),
                    None,
                    &rest[rest.len()..],
                ),
                Err(_) => (Network::Other(ether_type), None, rest),
            },
            other => (Network::Other(other), None, rest),
        };
        Ok(Self {
            ethernet,
            vlan,
            network,
            transport,
            payload,
        })
    }

    /// The differentiated services code point, under IP.
    #[must_use]
    pub fn dscp(&self) -> Option<u8> {
        match &self.network {
            Network::Ipv4 { dscp, .. } => Some(*dscp),
            Network::Ipv6(header) => Some(header.dscp),
            _ => None,
        }
    }

    /// The priority code point, in a tagged frame.
    #[must_use]
    pub fn pcp(&self) -> Option<Priority> {
        self.vlan.map(|tag| tag.pcp)
    }

    /// Whether every checksum that the packet has is right.
    #[must_use]
    pub fn checksums_right(&self) -> bool {
        let network = !matches!(
            self.network,
            Network::Ipv4 {
                checksum_right: false,
                ..
            }
        );
        network
            && self
                .transport
                .is_none_or(|transport| transport.checksum_right)
    }
}

type Parsed<'a> = (Network, Option<Transport>, &'a [u8]);

fn parse_ipv4(bytes: &[u8]) -> Result<Parsed<'_>, PacketError> {
    let packet = ipv4::Packet::new_checked(bytes)?;
    let payload = &bytes[packet.header_len()..packet.total_len()];
    let network = Network::Ipv4 {
        dscp: packet.dscp(),
        ecn: packet.ecn(),
        ttl: packet.ttl(),
        protocol: packet.protocol(),
        src: packet.src(),
        dst: packet.dst(),
        checksum_right: packet.verify_checksum(),
    };
    if packet.fragment_offset() != 0 {
        return Ok((network, None, payload));
    }
    // At most 65535, since it lies within a packet whose total length is 16 bits.
    let length = payload.len() as u16;
    let pseudo = Sum::new().pseudo_v4(packet.src(), packet.dst(), packet.protocol(), length);
    // The first of several fragments has the header but not all that its checksum covers.
    let whole = !packet.more_fragments();
    let (transport, payload) = parse_transport(packet.protocol(), payload, pseudo, whole)?;
    Ok((network, transport, payload))
}

fn parse_ipv6(bytes: &[u8]) -> Result<Parsed<'_>, PacketError> {
    let packet = ipv6::Packet::new_checked(bytes)?;
    let header = ipv6::Repr::parse(&packet);
    let payload = &bytes[ipv6::HEADER_LEN..ipv6::HEADER_LEN + packet.payload_len()];
    let length = payload.len() as u32;
    let pseudo = Sum::new().pseudo_v6(header.src, header.dst, header.next_header, length);
    let (transport, payload) = parse_transport(header.next_header, payload, pseudo, true)?;
    Ok((Network::Ipv6(header), transport, payload))
}

fn parse_transport(
    protocol: IpProtocol,
    bytes: &[u8],
    pseudo: Sum,
    whole: bool,
) -> Result<(Option<Transport>, &[u8]), PacketError> {
    match protocol {
        IpProtocol::UDP if whole => {
            let datagram = udp::Datagram::new_checked(bytes)?;
            let transport = Transport {
                protocol,
                src_port: datagram.src_port(),
                dst_port: datagram.dst_port(),
                checksum_right: datagram.verify_checksum(pseudo),
            };
            Ok((
                Some(transport),
                &bytes[udp::HEADER_LEN..usize::from(datagram.length())],
            ))
        }
        IpProtocol::TCP if whole => {
            let segment = tcp::Segment::new_checked(bytes)?;
            let transport = Transport {
                protocol,
                src_port: segment.src_port(),
                dst_port: segment.dst_port(),
                checksum_right: segment.verify_checksum(pseudo),
            };
            Ok((Some(transport), &bytes[segment.header_len()..]))
        }
        _ => Ok((None, bytes)),
    }
}

impl fmt::Display for Layers<'_> {
    /// One line: addresses, ports, tag carriers, time to live.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(tag) = &self.vlan {
            write!(f, "vlan {} pcp {} ", tag.id, tag.pcp)?;
        }
        let ports = |transport: &Option<Transport>| match transport {
            Some(t) => (format!(":{}", t.src_port), format!(":{}", t.dst_port)),
            None => (String::new(), String::new()),
        };
        let (src_port, dst_port) = ports(&self.transport);
        match &self.network {
            Network::Arp(arp) => write!(f, "ARP {} > {}", arp.sender_ip, arp.target_ip)?,
            Network::Ipv4 {
                dscp,
                ttl,
                protocol,
                src,
                dst,
                ..
            } => write!(
                f,
                "{src}{src_port} > {dst}{dst_port} {protocol} dscp {dscp} ttl {ttl}"
            )?,
            Network::Ipv6(h) => write!(
                f,
                "[{}]{src_port} > [{}]{dst_port} {} dscp {} hop limit {}",
                h.src, h.dst, h.next_header, h.dscp, h.hop_limit
            )?,
            Network::Pfc(pfc) => {
                f.write_str("PFC")?;
                for (class, time) in pfc.times.iter().enumerate() {
                    if let Some(pfc::Quanta(quanta)) = time {
                        write!(f, " {class}={quanta}")?;
                    }
                }
            }
            Network::Other(ether_type) => write!(
                f,
                "{} > {} type {ether_type}",
                self.ethernet.src, self.ethernet.dst
            )?,
        }
        write!(f, " ({} bytes)", self.payload.len())?;
        if self.checksums_right() {
            Ok(())
        } else {
            f.write_str(" CHECKSUM WRONG")
        }
    }
}
