//! Checksums that change in place: IPv4's, whole and incremental (RFC 1624).

use pnet_packet::ipv4::{Ipv4Packet, MutableIpv4Packet, checksum};

/// Whether the header checksum of an IPv4 packet is right.
#[must_use]
pub fn is_right(packet: &Ipv4Packet<'_>) -> bool {
    packet.get_checksum() == checksum(packet)
}

/// Writes the checksum of the IPv4 header at the start of a buffer anew; nothing if the buffer is
/// shorter than a header.
pub fn fill_ipv4(header: &mut [u8]) {
    if let Some(mut packet) = MutableIpv4Packet::new(header) {
        let sum = checksum(&packet.to_immutable());
        packet.set_checksum(sum);
    }
}

/// The checksum after one word of the data has changed: RFC 1624, equation 3.
///
/// The same as computing it anew, for data with at least one bit set (a header always has one).
#[must_use]
pub fn update(old_checksum: u16, old_word: u16, new_word: u16) -> u16 {
    let sum = u32::from(!old_checksum) + u32::from(!old_word) + u32::from(new_word);
    let folded = (sum & 0xffff) + (sum >> 16);
    // The second fold leaves 16 bits.
    !((folded & 0xffff) + (folded >> 16)) as u16
}

#[cfg(test)]
mod tests {
    use pnet_packet::util::checksum;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn worked_examples() {
        // RFC 1624, section 4: 0xdd2f with 0x5555 -> 0x3285 becomes 0x0000.
        assert_eq!(update(0xdd2f, 0x5555, 0x3285), 0x0000);
        let mut header = [
            0x45, 0, 0, 20, 0, 0, 0x40, 0, 64, 17, 9, 9, 10, 0, 0, 1, 10, 0, 0, 2,
        ];
        fill_ipv4(&mut header);
        assert_eq!(header[10..12], [0x26, 0xd7]);
        fill_ipv4(&mut header[..19]);
    }

    proptest! {
        #[test]
        fn incremental_is_whole(mut words in prop::collection::vec(any::<u16>(), 2..20), at: prop::sample::Index, new: u16) {
            words[0] |= 0x4000;
            let sum = |words: &[u16]| {
                let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_be_bytes()).collect();
                checksum(&bytes, usize::MAX)
            };
            let at = 1 + at.index(words.len() - 1);
            let before = sum(&words);
            let old = std::mem::replace(&mut words[at], new);
            prop_assert_eq!(update(before, old, new), sum(&words));
        }
    }
}
