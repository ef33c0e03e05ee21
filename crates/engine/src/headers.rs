//! A packet as headers and fields, for people. What a program parses is its own matter; these are
//! the headers that ours have (`p4src/headers.p4`), and what follows them are bytes.

use p4gen::layout::SHIM_BYTES;
use serde::Serialize;
use simulator::embedded::FailoverHeader;
use wire::headers::{
    ARP_LEN, ETHERNET_LEN, IPV6_LEN, UDP_LEN, VLAN_LEN, arp, ethernet, ipv4, ipv6, tcp, udp, vlan,
};
use wire::{EtherType, EtherTypes, IpNextHeaderProtocol, IpNextHeaderProtocols};

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
    let frame = ethernet(bytes).ok()?;
    found.push(Header {
        name: "ethernet",
        fields: vec![
            ("dst", frame.get_destination().to_string()),
            ("src", frame.get_source().to_string()),
            ("type", ether(frame.get_ethertype())),
        ],
    });
    let mut kind = frame.get_ethertype();
    let mut rest = &bytes[ETHERNET_LEN..];
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
    if kind == EtherTypes::Vlan
        && let Ok(tag) = vlan(rest)
    {
        found.push(Header {
            name: "vlan",
            fields: vec![
                ("pcp", tag.get_priority_code_point().0.to_string()),
                ("dei", tag.get_drop_eligible_indicator().to_string()),
                ("vid", tag.get_vlan_identifier().to_string()),
                ("type", ether(tag.get_ethertype())),
            ],
        });
        kind = tag.get_ethertype();
        rest = &rest[VLAN_LEN..];
    }
    Some(network(kind, rest, found).unwrap_or(rest))
}

fn network<'a>(kind: EtherType, rest: &'a [u8], found: &mut Vec<Header>) -> Option<&'a [u8]> {
    match kind {
        EtherTypes::Ipv4 => {
            let packet = ipv4(rest).ok()?;
            found.push(Header {
                name: "ipv4",
                fields: vec![
                    ("src", packet.get_source().to_string()),
                    ("dst", packet.get_destination().to_string()),
                    ("dscp", packet.get_dscp().to_string()),
                    ("ecn", packet.get_ecn().to_string()),
                    ("ttl", packet.get_ttl().to_string()),
                    ("protocol", packet.get_next_level_protocol().0.to_string()),
                    ("length", packet.get_total_length().to_string()),
                    ("checksum", right(wire::checksum::is_right(&packet))),
                ],
            });
            let rest = rest.get(usize::from(packet.get_header_length()) * 4..)?;
            Some(transport(packet.get_next_level_protocol(), rest, found).unwrap_or(rest))
        }
        EtherTypes::Ipv6 => {
            let packet = ipv6(rest).ok()?;
            found.push(Header {
                name: "ipv6",
                fields: vec![
                    ("src", packet.get_source().to_string()),
                    ("dst", packet.get_destination().to_string()),
                    ("dscp", (packet.get_traffic_class() >> 2).to_string()),
                    ("ecn", (packet.get_traffic_class() & 3).to_string()),
                    ("hop_limit", packet.get_hop_limit().to_string()),
                    ("next_header", packet.get_next_header().0.to_string()),
                ],
            });
            let rest = rest.get(IPV6_LEN..)?;
            Some(transport(packet.get_next_header(), rest, found).unwrap_or(rest))
        }
        EtherTypes::Arp => {
            let packet = arp(rest).ok()?;
            found.push(Header {
                name: "arp",
                fields: vec![
                    ("sender", packet.get_sender_proto_addr().to_string()),
                    ("target", packet.get_target_proto_addr().to_string()),
                ],
            });
            rest.get(ARP_LEN..)
        }
        _ => None,
    }
}

fn transport<'a>(
    protocol: IpNextHeaderProtocol,
    rest: &'a [u8],
    found: &mut Vec<Header>,
) -> Option<&'a [u8]> {
    let ports = |name, src: u16, dst: u16| Header {
        name,
        fields: vec![("src", src.to_string()), ("dst", dst.to_string())],
    };
    if protocol == IpNextHeaderProtocols::Udp {
        let datagram = udp(rest).ok()?;
        found.push(ports(
            "udp",
            datagram.get_source(),
            datagram.get_destination(),
        ));
        return rest.get(UDP_LEN..);
    }
    if protocol == IpNextHeaderProtocols::Tcp {
        let segment = tcp(rest).ok()?;
        found.push(ports(
            "tcp",
            segment.get_source(),
            segment.get_destination(),
        ));
        return rest.get(usize::from(segment.get_data_offset()) * 4..);
    }
    None
}

fn right(right: bool) -> String {
    if right { "right" } else { "wrong" }.to_owned()
}

fn ether(kind: EtherType) -> String {
    let name = match kind {
        EtherTypes::Ipv4 => " IPv4",
        EtherTypes::Ipv6 => " IPv6",
        EtherTypes::Arp => " ARP",
        EtherTypes::Vlan => " VLAN",
        EtherType(SHIM) => " shim",
        _ => "",
    };
    format!("0x{:04x}{name}", kind.0)
}
