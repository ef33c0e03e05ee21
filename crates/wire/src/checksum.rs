//! The Internet checksum (RFC 1071), whole and incremental (RFC 1624).

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::IpProtocol;

/// A running one's complement sum of 16-bit words.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sum(u64);

impl Sum {
    /// The sum of nothing.
    #[must_use]
    pub fn new() -> Self {
        Self(0)
    }

    /// Adds one word.
    #[must_use]
    pub fn word(self, word: u16) -> Self {
        Self(self.0 + u64::from(word))
    }

    /// Adds bytes as big-endian words. An odd last byte counts as the high half of a word, so only
    /// the last piece of the data may be odd.
    #[must_use]
    pub fn bytes(self, bytes: &[u8]) -> Self {
        let pairs = bytes.chunks_exact(2);
        let odd = pairs
            .remainder()
            .first()
            .map_or(0, |&byte| u64::from(byte) << 8);
        let whole: u64 = pairs
            .map(|pair| u64::from(u16::from_be_bytes([pair[0], pair[1]])))
            .sum();
        Self(self.0 + whole + odd)
    }

    /// Adds the pseudo header of UDP and TCP over IPv4 (RFC 768, RFC 9293).
    #[must_use]
    pub fn pseudo_v4(
        self,
        src: Ipv4Addr,
        dst: Ipv4Addr,
        protocol: IpProtocol,
        length: u16,
    ) -> Self {
        self.bytes(&src.octets())
            .bytes(&dst.octets())
            .word(u16::from(protocol.0))
            .word(length)
    }

    /// Adds the pseudo header of upper layers over IPv6 (RFC 8200, 8.1).
    #[must_use]
    pub fn pseudo_v6(
        self,
        src: Ipv6Addr,
        dst: Ipv6Addr,
        protocol: IpProtocol,
        length: u32,
    ) -> Self {
        self.bytes(&src.octets())
            .bytes(&dst.octets())
            .bytes(&length.to_be_bytes())
            .word(u16::from(protocol.0))
    }

    /// The checksum: the complement of the sum folded to 16 bits. Over data that contains its own
    /// right checksum it is 0.
    #[must_use]
    pub fn checksum(self) -> u16 {
        let mut sum = self.0;
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        // The loop leaves 16 bits.
        !(sum as u16)
    }
}

/// The checksum of bytes.
#[must_use]
pub fn checksum(bytes: &[u8]) -> u16 {
    Sum::new().bytes(bytes).checksum()
}

/// The checksum after one word of the data has changed: RFC 1624, equation 3.
///
/// The same as computing it anew, for data with at least one bit set (a header always has one).
#[must_use]
pub fn update(old_checksum: u16, old_word: u16, new_word: u16) -> u16 {
    Sum::new()
        .word(!old_checksum)
        .word(!old_word)
        .word(new_word)
        .checksum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn worked_examples() {
        // RFC 1071, section 3: the sum is ddf2.
        assert_eq!(
            checksum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]),
            !0xddf2
        );
        // RFC 1624, section 4: 0xdd2f with 0x5555 -> 0x3285 becomes 0x0000.
        assert_eq!(update(0xdd2f, 0x5555, 0x3285), 0x0000);
        assert_eq!(checksum(&[]), 0xffff);
        assert_eq!(checksum(&[0x12]), !0x1200);
    }

    proptest! {
        #[test]
        fn incremental_is_whole(mut words in prop::collection::vec(any::<u16>(), 2..20), at: prop::sample::Index, new: u16) {
            words[0] |= 0x4000;
            let bytes = |words: &[u16]| words.iter().flat_map(|w| w.to_be_bytes()).collect::<Vec<_>>();
            let at = 1 + at.index(words.len() - 1);
            let before = checksum(&bytes(&words));
            let old = std::mem::replace(&mut words[at], new);
            prop_assert_eq!(update(before, old, new), checksum(&bytes(&words)));
        }

        #[test]
        fn verifies_itself(mut bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            if bytes.len() % 2 == 1 {
                bytes.push(0);
            }
            let sum = checksum(&bytes);
            bytes.extend(sum.to_be_bytes());
            prop_assert_eq!(checksum(&bytes), 0);
        }

        #[test]
        fn pieces_add_up(a in prop::collection::vec(any::<u8>(), 0..32), b in prop::collection::vec(any::<u8>(), 0..33)) {
            let even = &a[..a.len() / 2 * 2];
            let joined = [even, &b].concat();
            prop_assert_eq!(Sum::new().bytes(even).bytes(&b).checksum(), checksum(&joined));
        }
    }
}
