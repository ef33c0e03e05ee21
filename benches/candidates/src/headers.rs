//! Headers: `wire` (pnet_packet behind checks), etherparse. A frame of 64 bytes is taken apart and
//! both of its checksums are looked at.

use etherparse::{NetSlice, PacketBuilder, SlicedPacket, TransportSlice};
use wire::headers::{Layers, ipv4, udp};
use wire::{Packet as _, checksum};

use crate::{microseconds, row};

/// Destination port and whether both checksums are right.
fn ours(frame: &[u8]) -> Option<(u16, bool)> {
    let packet = ipv4(Layers::parse(frame).ok()?.payload).ok()?;
    let datagram = udp(packet.payload()).ok()?;
    let (from, to) = (packet.get_source(), packet.get_destination());
    let sum = wire::pnet::udp::ipv4_checksum(&datagram, &from, &to);
    let right = checksum::is_right(&packet) && datagram.get_checksum() == sum;
    Some((datagram.get_destination(), right))
}

fn etherparse(frame: &[u8]) -> Option<(u16, bool)> {
    let sliced = SlicedPacket::from_ethernet(frame).ok()?;
    let (Some(NetSlice::Ipv4(ip)), Some(TransportSlice::Udp(udp))) =
        (&sliced.net, &sliced.transport)
    else {
        return None;
    };
    let (ip, header) = (ip.header().to_header(), udp.to_header());
    let sum = header.calc_checksum_ipv4(&ip, udp.payload()).ok()?;
    let right = ip.calc_header_checksum() == ip.header_checksum && sum == header.checksum;
    Some((udp.destination_port(), right))
}

pub fn compare() {
    let builder = PacketBuilder::ethernet2([2; 6], [4; 6])
        .ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
        .udp(1, 2);
    let mut frame = Vec::new();
    builder
        .write(&mut frame, &[7; 22])
        .expect("memory takes everything");
    assert_eq!((frame.len(), ours(&frame)), (64, Some((2, true))));
    assert_eq!(ours(&frame), etherparse(&frame));
    let what = "a frame of 64 bytes with its checksums";
    row(
        what,
        "wire",
        microseconds(200_000, || ours(std::hint::black_box(&frame))),
        64,
    );
    row(
        what,
        "etherparse",
        microseconds(200_000, || etherparse(std::hint::black_box(&frame))),
        64,
    );
}
