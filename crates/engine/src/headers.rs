//! A packet as headers and fields, for people. What a program parses is its own matter; these are
//! the headers that ours have (`p4src/headers.p4`), and what follows them are bytes.

use p4gen::layout::SHIM_BYTES;
use serde::Serialize;
use simulator::embedded::FailoverHeader;
use wire::{EtherType, IpProtocol};
use wire::{arp, ethernet, ipv4, ipv6, tcp, udp, vlan};

/// EtherType of the shim (`p4src/layout.p4`: `ETHERTYPE_SHIM`).
const SHIM: u16 = 0x88B5;

/// A header of a packet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Header {
    pub(crate) name: &'static str,
    pub(crate) fields: Vec<(&'static str, String)>,
}

/// The headers of a packet, as far as they can be told, and how many bytes follow.
pub(crate) fn headers(bytes: &[u8]) -> (Vec<Header>, usize) {
    let mut found = Vec::new();
    let rest = ethernet_and_on(bytes, &mut found).unwrap_or(bytes);
    (found, rest.len())
}

/// Reads what begins a frame; nothing if it is too short.
fn ethernet_and_on<'a>(bytes: &'a [u8], found: &mut Vec<Header>) -> Option<&'a [u8]> {
    let frame = ethernet::Frame::new_checked(bytes).ok()?;
    found.push(Header {
        name: "ethernet",
        fields: vec![
            ("dst", frame.dst().to_string()),
            ("src", frame.src().to_string()),
            ("type", ether(frame.ether_type())),
        ],
    });
    let mut kind = frame.ether_type();
    let mut rest = &bytes[ethernet::HEADER_LEN..];
    if kind == EtherType(SHIM)
        && let Some(header) = FailoverHeader::read(bytes)
    {
        let reverse = header.reverse.as_deref().unwrap_or_default();
        let hops = header.forward.len() + reverse.len();
        let list = |hops: &[u8]| {
            let hops: Vec<String> = hops.iter().map(ToString::to_string).collect();
            hops.join(" ")
        };
        found.push(Header {
            name: "shim",
            fields: vec![
                ("version", header.version.to_string()),
                ("multipath", header.multipath.to_string()),
                ("destination", header.destination.to_string()),
                ("resilience", header.tag.to_string()),
                ("lossless_tag", rest.get(7)?.to_string()),
                ("tree", header.tree.to_string()),
                ("hop_limit", header.hop_limit.to_string()),
                ("forward", list(&header.forward)),
                ("reverse", list(reverse)),
            ],
        });
        let length = SHIM_BYTES as usize;
        let carried = rest.get(length - 2..length)?;
        kind = EtherType(u16::from_be_bytes(carried.try_into().ok()?));
        rest = rest.get(length + hops..)?;
    }
    if kind == EtherType::VLAN
        && let Ok(tag) = vlan::Tag::new_checked(rest)
    {
        found.push(Header {
            name: "vlan",
            fields: vec![
                ("pcp", tag.pcp().to_string()),
                ("dei", u8::from(tag.dei()).to_string()),
                ("vid", tag.id().to_string()),
                ("type", ether(tag.ether_type())),
            ],
        });
        kind = tag.ether_type();
        rest = &rest[vlan::HEADER_LEN..];
    }
    Some(network(kind, rest, found).unwrap_or(rest))
}

fn network<'a>(kind: EtherType, rest: &'a [u8], found: &mut Vec<Header>) -> Option<&'a [u8]> {
    match kind {
        EtherType::IPV4 => {
            let packet = ipv4::Packet::new_checked(rest).ok()?;
            found.push(Header {
                name: "ipv4",
                fields: vec![
                    ("src", packet.src().to_string()),
                    ("dst", packet.dst().to_string()),
                    ("dscp", packet.dscp().to_string()),
                    ("ecn", packet.ecn().to_string()),
                    ("ttl", packet.ttl().to_string()),
                    ("protocol", packet.protocol().0.to_string()),
                    ("length", packet.total_len().to_string()),
                    ("checksum", right(packet.verify_checksum())),
                ],
            });
            let rest = rest.get(packet.header_len()..)?;
            Some(transport(packet.protocol(), rest, found).unwrap_or(rest))
        }
        EtherType::IPV6 => {
            let packet = ipv6::Packet::new_checked(rest).ok()?;
            found.push(Header {
                name: "ipv6",
                fields: vec![
                    ("src", packet.src().to_string()),
                    ("dst", packet.dst().to_string()),
                    ("dscp", packet.dscp().to_string()),
                    ("ecn", packet.ecn().to_string()),
                    ("hop_limit", packet.hop_limit().to_string()),
                    ("next_header", packet.next_header().0.to_string()),
                ],
            });
            let rest = rest.get(ipv6::HEADER_LEN..)?;
            Some(transport(packet.next_header(), rest, found).unwrap_or(rest))
        }
        EtherType::ARP => {
            let packet = arp::Packet::new_checked(rest).ok()?;
            found.push(Header {
                name: "arp",
                fields: vec![
                    ("sender", packet.sender_ip().to_string()),
                    ("target", packet.target_ip().to_string()),
                ],
            });
            rest.get(arp::PACKET_LEN..)
        }
        _ => None,
    }
}

fn transport<'a>(
    protocol: IpProtocol,
    rest: &'a [u8],
    found: &mut Vec<Header>,
) -> Option<&'a [u8]> {
    let ports = |name, src: u16, dst: u16| Header {
        name,
        fields: vec![("src", src.to_string()), ("dst", dst.to_string())],
    };
    if protocol == IpProtocol::UDP {
        let datagram = udp::Datagram::new_checked(rest).ok()?;
        found.push(ports("udp", datagram.src_port(), datagram.dst_port()));
        return rest.get(udp::HEADER_LEN..);
    }
    if protocol == IpProtocol::TCP {
        let segment = tcp::Segment::new_checked(rest).ok()?;
        found.push(ports("tcp", segment.src_port(), segment.dst_port()));
        return rest.get(segment.header_len()..);
    }
    None
}

fn right(right: bool) -> String {
    if right { "right" } else { "wrong" }.to_owned()
}

fn ether(kind: EtherType) -> String {
    let name = match kind {
        EtherType::IPV4 => " IPv4",
        EtherType::IPV6 => " IPv6",
        EtherType::ARP => " ARP",
        EtherType::VLAN => " VLAN",
        EtherType(SHIM) => " shim",
        _ => "",
    };
    format!("0x{:04x}{name}", kind.0)
}
