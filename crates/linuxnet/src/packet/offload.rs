//! Frames made whole: what a sending host left to its network card is done here. Bytes only.
//!
//! The header is `struct virtio_net_hdr` (virtio 1.2, section 5.1.6), in the order of this machine.

/// Room before a frame for the tag that goes back in, in bytes.
pub(super) const TAG_ROOM: usize = 4;
/// Room before a queued frame's virtio header, in bytes.
pub(super) const QUEUE_ROOM: usize = 16;
/// The largest frame that a host hands to a card, with room and headers, in bytes.
pub(super) const LARGEST_FRAME: usize = (1 << 16) + 256;

const NEEDS_CHECKSUM: u8 = 1;
const LARGE_TCP4: u8 = 1;
const LARGE_TCP6: u8 = 4;
const LARGE_UDP: u8 = 5;
/// A flag beside the kind: the first segment carries CWR alone.
const LARGE_ECN: u8 = 0x80;

const TCP_FIN_PSH: u8 = 0x09;
const TCP_CWR: u8 = 0x80;
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const TAGS: [u16; 3] = [0x8100, 0x88a8, 0x9100];

/// What the sender left undone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct VnetHeader {
    needs_checksum: bool,
    large: u8,
    segment: usize,
    checksum_start: usize,
    checksum_offset: usize,
}

impl VnetHeader {
    /// Its length, in bytes.
    pub(super) const LENGTH: usize = 10;

    /// Reads it.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; Self::LENGTH] = bytes.try_into().ok()?;
        let half = |at: usize| usize::from(u16::from_ne_bytes([bytes[at], bytes[at + 1]]));
        Some(Self {
            needs_checksum: bytes[0] & NEEDS_CHECKSUM != 0,
            large: bytes[1] & !LARGE_ECN,
            segment: half(4),
            checksum_start: half(6),
            checksum_offset: half(8),
        })
    }

    /// The frame is to be cut into segments.
    pub(super) const fn is_large(&self) -> bool {
        self.large != 0
    }
}

/// Sums 16-bit words as the Internet checksum does (RFC 1071), not yet folded or inverted.
fn sum(bytes: &[u8], mut start: u64) -> u64 {
    // Four bytes at a time in big-endian order: the fold brings the halves together.
    let (words, rest) = bytes.as_chunks::<4>();
    for word in words {
        start += u64::from(u32::from_be_bytes(*word));
    }
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    start + u64::from(u32::from_be_bytes(last))
}

/// Folds and inverts a sum.
fn finish(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// Completes the checksum of a frame behind [`TAG_ROOM`]; the field holds the sum of the
/// pseudo-header already. `None` when the places lie outside the frame.
pub(super) fn complete(header: &VnetHeader, bytes: &mut [u8]) -> Option<()> {
    if !header.needs_checksum {
        return Some(());
    }
    let frame = bytes.get_mut(TAG_ROOM..)?;
    let covered = frame.get_mut(header.checksum_start..)?;
    let value = match finish(sum(covered, 0)) {
        0 => 0xffff, // in UDP zero says that there is none; in TCP both are the same
        value => value,
    };
    let field = covered.get_mut(header.checksum_offset..header.checksum_offset + 2)?;
    field.copy_from_slice(&value.to_be_bytes());
    Some(())
}

/// Completes a partial checksum that is known by its value alone: that of the pseudo-header. Where
/// the checksum is complete and happens to have this value, it is computed again and stays the
/// same, so that no whole frame is changed.
pub(super) fn complete_by_sight(frame: &mut [u8]) {
    // Nothing is done to what is not TCP or UDP over IP, whole.
    let _ = try_complete(frame);
}

fn try_complete(frame: &mut [u8]) -> Option<()> {
    let (mut network, mut kind) = (14, half(frame, 12)?);
    while TAGS.contains(&kind) {
        kind = half(frame, network + 2)?;
        network += 4;
    }
    let (transport, protocol, addresses, end) = match kind {
        IPV4 => {
            let length = usize::from(frame.get(network)? & 0xf) * 4;
            // Fragments carry no checksum of their own.
            if length < 20 || half(frame, network + 6)? & 0x3fff != 0 {
                return None;
            }
            let protocol = *frame.get(network + 9)?;
            let end = network + usize::from(half(frame, network + 2)?);
            (network + length, protocol, network + 12..network + 20, end)
        }
        IPV6 => {
            let protocol = *frame.get(network + 6)?;
            let end = network + 40 + usize::from(half(frame, network + 4)?);
            (network + 40, protocol, network + 8..network + 40, end)
        }
        _ => return None,
    };
    let field = match protocol {
        6 => 16,
        17 => 6,
        _ => return None,
    };
    let length = end.checked_sub(transport)?;
    let pseudo = sum(frame.get(addresses)?, u64::from(protocol) + length as u64);
    if half(frame, transport + field)? != !finish(pseudo) {
        return None;
    }
    let value = match finish(sum(frame.get(transport..end)?, 0)) {
        0 => 0xffff,
        value => value,
    };
    frame
        .get_mut(transport + field..transport + field + 2)?
        .copy_from_slice(&value.to_be_bytes());
    Some(())
}

/// Puts a tag behind the addresses, which move into the room before the frame.
pub(super) fn put_tag(bytes: &mut [u8], tag: [u8; 4]) -> &mut [u8] {
    const ADDRESSES: usize = 12;
    if bytes.len() >= TAG_ROOM + ADDRESSES {
        bytes.copy_within(TAG_ROOM..TAG_ROOM + ADDRESSES, 0);
        bytes[ADDRESSES..ADDRESSES + TAG_ROOM].copy_from_slice(&tag);
    }
    bytes
}

/// Where the headers of a large frame lie, from the start of the frame.
struct Layout {
    network: usize,
    version6: bool,
    transport: usize,
    payload: usize,
}

impl Layout {
    fn find(header: &VnetHeader, frame: &[u8]) -> Option<Self> {
        let mut network = 14;
        let mut kind = half(frame, 12)?;
        while TAGS.contains(&kind) {
            kind = half(frame, network + 2)?;
            network += 4;
        }
        let version6 = match kind {
            IPV4 => false,
            IPV6 => true,
            _ => return None,
        };
        let transport = header.checksum_start;
        let length = match header.large {
            LARGE_UDP => 8,
            _ => usize::from(frame.get(transport + 12)? >> 4) * 4,
        };
        let payload = transport + length;
        let least = network + if version6 { 40 } else { 20 };
        (transport >= least && length >= 8 && payload <= frame.len()).then_some(Self {
            network,
            version6,
            transport,
            payload,
        })
    }
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]))
}

fn put_half(bytes: &mut [u8], at: usize, value: usize) {
    // Lengths of IP fit 16 bits: a segment is never longer than what the host's MTU allowed.
    bytes[at..at + 2].copy_from_slice(&(value as u16).to_be_bytes());
}

/// Cuts a large frame into the segments the host meant, complete with lengths and checksums.
/// `None` when it is not one of TCP or UDP over IP, or its headers do not fit.
pub(super) fn cut(
    header: &VnetHeader,
    bytes: &mut [u8],
    tag: Option<[u8; 4]>,
    scratch: &mut Vec<u8>,
    each: &mut impl FnMut(&mut [u8]),
) -> Option<()> {
    let frame = bytes.get(TAG_ROOM..)?;
    if !matches!(header.large, LARGE_TCP4 | LARGE_TCP6 | LARGE_UDP) || header.segment == 0 {
        return None;
    }
    let layout = Layout::find(header, frame)?;
    let (headers, payload) = frame.split_at(layout.payload);
    let last = payload.len().div_ceil(header.segment).saturating_sub(1);
    for (number, part) in payload.chunks(header.segment).enumerate() {
        scratch.clear();
        scratch.extend_from_slice(&[0; TAG_ROOM]);
        scratch.extend_from_slice(headers);
        scratch.extend_from_slice(part);
        let segment = &mut scratch[TAG_ROOM..];
        if header.large != LARGE_UDP {
            follow(
                segment,
                &layout,
                number * header.segment,
                number == 0,
                number == last,
            );
        }
        renew(segment, &layout, number, header.large == LARGE_UDP);
        match tag {
            None => each(segment),
            Some(tag) => each(put_tag(scratch, tag)),
        }
    }
    Some(())
}

/// The TCP header of a later segment: its place in the stream; FIN and PSH only with the last, CWR
/// only with the first.
fn follow(segment: &mut [u8], layout: &Layout, offset: usize, first: bool, last: bool) {
    let tcp = &mut segment[layout.transport..];
    let start = u32::from_be_bytes([tcp[4], tcp[5], tcp[6], tcp[7]]);
    let sequence = start.wrapping_add(offset as u32);
    tcp[4..8].copy_from_slice(&sequence.to_be_bytes());
    if !last {
        tcp[13] &= !TCP_FIN_PSH;
    }
    if !first {
        tcp[13] &= !TCP_CWR;
    }
}

/// Lengths and checksums of a segment; the identification counts up, as a host would have done.
fn renew(segment: &mut [u8], layout: &Layout, number: usize, udp: bool) {
    let (network, transport) = (layout.network, layout.transport);
    let length = segment.len() - transport;
    if udp {
        put_half(segment, transport + 4, length);
    }
    let addresses = if layout.version6 {
        put_half(segment, network + 4, segment.len() - network - 40);
        network + 8..network + 40
    } else {
        put_half(segment, network + 2, segment.len() - network);
        let identification = u16::from_be_bytes([segment[network + 4], segment[network + 5]])
            .wrapping_add(number as u16);
        segment[network + 4..network + 6].copy_from_slice(&identification.to_be_bytes());
        put_half(segment, network + 10, 0);
        let checksum = finish(sum(&segment[network..transport], 0));
        segment[network + 10..network + 12].copy_from_slice(&checksum.to_be_bytes());
        network + 12..network + 20
    };
    let (protocol, field) = if udp { (17, 6) } else { (6, 16) };
    put_half(segment, transport + field, 0);
    let pseudo = sum(&segment[addresses], protocol + length as u64);
    let checksum = match finish(sum(&segment[transport..], pseudo)) {
        0 => 0xffff,
        value => value,
    };
    let field = transport + field;
    segment[field..field + 2].copy_from_slice(&checksum.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The checksum, word by word.
    fn plain(bytes: &[u8]) -> u16 {
        let mut total = 0u32;
        for pair in bytes.chunks(2) {
            total += u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
        }
        while total > 0xffff {
            total = (total & 0xffff) + (total >> 16);
        }
        !(total as u16)
    }

    #[test]
    fn sums_agree_with_the_plain_way() {
        let bytes: Vec<u8> = (0..1501u32).map(|i| (i * 7 + 3) as u8).collect();
        for length in [0, 1, 2, 3, 4, 5, 20, 63, 64, 1500, 1501] {
            assert_eq!(
                finish(sum(&bytes[..length], 0)),
                plain(&bytes[..length]),
                "{length}"
            );
        }
    }

    /// A TCP frame over IPv4 with `payload` bytes, and the header that asks for segments.
    fn large(payload: usize) -> (VnetHeader, Vec<u8>) {
        let mut bytes = vec![0; TAG_ROOM];
        bytes.extend_from_slice(&[2; 12]);
        bytes.extend_from_slice(&IPV4.to_be_bytes());
        bytes.extend_from_slice(&[
            0x45, 0, 0, 0, 0, 7, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
        ]);
        bytes.extend_from_slice(&[
            0, 1, 0, 2, 0, 0, 0, 9, 0, 0, 0, 0, 0x50, 0x19, 1, 0, 0, 0, 0, 0,
        ]);
        bytes.extend((0..payload).map(|i| i as u8));
        let header = VnetHeader {
            needs_checksum: true,
            large: LARGE_TCP4,
            segment: 1000,
            checksum_start: 34,
            checksum_offset: 16,
        };
        (header, bytes)
    }

    #[test]
    fn large_frames_become_proper_segments() {
        let (header, mut bytes) = large(2500);
        let mut segments = Vec::new();
        let done = cut(&header, &mut bytes, None, &mut Vec::new(), &mut |s| {
            segments.push(s.to_vec())
        });
        assert_eq!(done, Some(()));
        let lengths: Vec<usize> = segments.iter().map(Vec::len).collect();
        assert_eq!(lengths, [1054, 1054, 554]);
        for (number, segment) in segments.iter().enumerate() {
            assert_eq!(finish(sum(&segment[14..34], 0)), 0, "IPv4 checksum");
            let length = segment.len() - 34;
            let pseudo = sum(&segment[26..34], 6 + length as u64);
            assert_eq!(finish(sum(&segment[34..], pseudo)), 0, "TCP checksum");
            assert_eq!(segment[19], 7 + number as u8, "identification");
            assert_eq!(&segment[38..42], (9 + 1000 * number as u32).to_be_bytes());
            assert_eq!(segment[47] & TCP_FIN_PSH != 0, number == 2);
        }
        let joined: Vec<u8> = segments.iter().flat_map(|s| s[54..].to_vec()).collect();
        assert_eq!(joined, (0..2500).map(|i| i as u8).collect::<Vec<u8>>());
    }

    #[test]
    fn tags_go_back_behind_the_addresses() {
        let mut bytes = vec![0, 0, 0, 0];
        bytes.extend(1..=12);
        bytes.extend([8, 0, 99]);
        let tagged = put_tag(&mut bytes, [0x81, 0, 0xe0, 5]);
        let want: Vec<u8> = (1..=12).chain([0x81, 0, 0xe0, 5, 8, 0, 99]).collect();
        assert_eq!(tagged, want);
    }

    #[test]
    fn partial_checksums_are_completed() {
        let (mut header, mut bytes) = large(11);
        header.large = 0;
        let length = bytes.len() - TAG_ROOM - 34;
        let pseudo = !finish(sum(&bytes[TAG_ROOM + 26..TAG_ROOM + 34], 6 + length as u64));
        bytes[TAG_ROOM + 50..TAG_ROOM + 52].copy_from_slice(&pseudo.to_be_bytes());
        assert_eq!(complete(&header, &mut bytes), Some(()));
        let pseudo = sum(&bytes[TAG_ROOM + 26..TAG_ROOM + 34], 6 + length as u64);
        assert_eq!(finish(sum(&bytes[TAG_ROOM + 34..], pseudo)), 0);
    }

    #[test]
    fn partial_checksums_are_known_by_sight_and_whole_ones_stay() {
        let (_, mut bytes) = large(11);
        let frame = &mut bytes[TAG_ROOM..];
        let total = frame.len() - 14;
        put_half(frame, 16, total);
        let length = frame.len() - 34;
        let pseudo = sum(&frame[26..34], 6 + length as u64);
        put_half(frame, 50, usize::from(!finish(pseudo)));
        frame[14 + 6] = 0; // not a fragment
        complete_by_sight(frame);
        assert_eq!(finish(sum(&frame[34..], pseudo)), 0, "completed");
        let whole = frame.to_vec();
        complete_by_sight(frame);
        assert_eq!(frame, whole);
        for length in 0..frame.len() {
            complete_by_sight(&mut frame[..length].to_vec());
        }
    }

    #[test]
    fn damaged_headers_lose_the_frame_and_nothing_else() {
        let (header, bytes) = large(2500);
        for length in 0..bytes.len().min(80) {
            let mut short = bytes[..length].to_vec();
            let _ = cut(&header, &mut short, None, &mut Vec::new(), &mut |_| ());
            let _ = complete(&header, &mut short);
        }
        for start in [0, 10, 33, 60_000] {
            let odd = VnetHeader {
                checksum_start: start,
                ..header
            };
            let _ = cut(&odd, &mut bytes.clone(), None, &mut Vec::new(), &mut |_| ());
            let _ = complete(&odd, &mut bytes.clone());
        }
    }
}
