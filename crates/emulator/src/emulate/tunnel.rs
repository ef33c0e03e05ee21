//! IP in IP (RFC 2003): packets within packets, as hosts write them and as the highest switches
//! unwrap them.

use wire::headers::{self, ETHERNET_LEN};
use wire::pnet::ipv4::{Ipv4Packet, MutableIpv4Packet};
use wire::{IpNextHeaderProtocols, Packet, PacketBuilder, PacketError, checksum};

/// Bytes of an Ethernet header, and of a VLAN tag behind it.
const ETHERNET: usize = 14;
const VLAN: usize = 4;
const IPV4: [u8; 2] = [0x08, 0x00];
const TAGGED: [u8; 2] = [0x81, 0x00];

/// Where the IPv4 header of a frame begins, behind a VLAN tag or not; nothing if it has none.
pub(super) fn ip_at(frame: &[u8]) -> Option<usize> {
    let kind = |at: usize| frame.get(at..at + 2);
    match kind(ETHERNET - 2)? {
        kind if kind == IPV4 => Some(ETHERNET),
        kind_ if kind_ == TAGGED && kind(ETHERNET + VLAN - 2)? == IPV4 => Some(ETHERNET + VLAN),
        _ => None,
    }
}

/// The IPv4 packet of a frame, without what fills the frame up.
pub(super) fn packet(frame: &[u8]) -> Option<Ipv4Packet<'_>> {
    headers::ipv4(&frame[ip_at(frame)?..]).ok()
}

/// The first frame with the packet of the second in it: same addresses and class of service,
/// another protocol.
///
/// # Errors
/// Frames without IPv4, or too long ones.
pub(super) fn wrap(
    outer: &[u8],
    source: std::net::Ipv4Addr,
    inner: &[u8],
) -> Result<Vec<u8>, PacketError> {
    let missing = || PacketError::Build("a probe is no IPv4 packet".to_owned());
    let at = ip_at(outer).ok_or_else(missing)?;
    let (around, within) = (
        packet(outer).ok_or_else(missing)?,
        packet(inner).ok_or_else(missing)?,
    );
    let wrapped = PacketBuilder::new()
        .ipv4(source, around.get_destination())
        .dscp(around.get_dscp())
        .ttl(around.get_ttl())
        .protocol(IpNextHeaderProtocols::IpIp)
        .payload(within.packet())
        .build()?;
    Ok([&outer[..at], &wrapped[ETHERNET_LEN..]].concat())
}

/// The frame with what was in its packet instead of it, at the class of service that it had on the
/// way (RFC 2983's uniform model); nothing if there is no packet in it.
pub(super) fn unwrap(frame: &[u8]) -> Option<Vec<u8>> {
    let at = ip_at(frame)?;
    let outer = packet(frame)?;
    if outer.get_next_level_protocol() != IpNextHeaderProtocols::IpIp {
        return None;
    }
    let within = headers::ipv4(outer.payload()).ok()?;
    let mut bare = [&frame[..at], within.packet()].concat();
    MutableIpv4Packet::new(&mut bare[at..])?.set_dscp(outer.get_dscp());
    checksum::fill_ipv4(&mut bare[at..]);
    Some(bare)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn frame(to: u8, dscp: u8) -> Vec<u8> {
        let addressed = PacketBuilder::new().ipv4([10, 0, 0, 1], [10, 0, 0, to]);
        addressed
            .dscp(dscp)
            .udp(5000, 4791)
            .payload([7; 9])
            .build()
            .unwrap()
    }

    #[test]
    fn what_was_wrapped_comes_out_with_the_class_of_the_way() {
        let source = Ipv4Addr::new(192, 0, 2, 1);
        let mut wrapped = wrap(&frame(2, 3), source, &frame(3, 0)).unwrap();
        let outer = packet(&wrapped).unwrap();
        assert_eq!(
            (outer.get_source(), outer.get_destination()),
            (source, Ipv4Addr::new(10, 0, 0, 2))
        );
        assert!(checksum::is_right(&outer) && outer.get_dscp() == 3);
        // A short frame is filled up on the way.
        wrapped.extend([0; 5]);
        let bare = unwrap(&wrapped).unwrap();
        let inner = packet(&bare).unwrap();
        assert_eq!(
            (inner.get_destination(), inner.get_ttl()),
            (Ipv4Addr::new(10, 0, 0, 3), 64)
        );
        assert!(checksum::is_right(&inner) && inner.get_dscp() == 3);
        assert_eq!(bare.len(), frame(3, 0).len());
        assert_eq!(unwrap(&bare), None, "nothing is in it");
    }

    #[test]
    fn vlan_tags_stay_and_other_frames_are_none() {
        let tagged = PacketBuilder::new()
            .vlan(7, quantities::Priority::new(3))
            .ipv4([10, 0, 0, 1], [10, 0, 0, 2])
            .udp(1, 2)
            .build()
            .unwrap();
        let wrapped = wrap(&tagged, Ipv4Addr::LOCALHOST, &frame(3, 0)).unwrap();
        let bare = unwrap(&wrapped).unwrap();
        assert_eq!(bare[..18], tagged[..18]);
        assert_eq!(
            packet(&bare).unwrap().get_destination(),
            Ipv4Addr::new(10, 0, 0, 3)
        );
        assert_eq!(unwrap(&[]), None);
        assert_eq!(unwrap(&[0; 60]), None);
        assert!(wrap(&[0; 60], Ipv4Addr::LOCALHOST, &tagged).is_err());
    }
}
