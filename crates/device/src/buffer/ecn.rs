//! Marking packets of ECN-capable senders (RFC 3168).

use super::config::Ecn;

/// EtherTypes behind which an IP header may stand.
const VLAN: [u8; 2] = [0x81, 0x00];
const IPV4: [u8; 2] = [0x08, 0x00];
const IPV6: [u8; 2] = [0x86, 0xdd];

impl Ecn {
    /// Whether a packet that finds a queue of so many bytes, not less than `kmin`, is marked.
    pub(super) fn marks(&self, queue: u64, chance: &mut u64) -> bool {
        if queue >= self.kmax.get() {
            return true;
        }
        let span = (self.kmax.get() - self.kmin.get()) as f64;
        let probability = self.pmax * (queue - self.kmin.get()) as f64 / span;
        // xorshift64*: cheap, and the same everywhere.
        *chance ^= *chance >> 12;
        *chance ^= *chance << 25;
        *chance ^= *chance >> 27;
        let drawn = (chance.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) as f64;
        drawn < probability * (1u64 << 53) as f64
    }
}

/// Sets "congestion experienced" in the IP header, and mends IPv4's checksum. False, and nothing
/// changed, for what is not IP or not ECN-capable; true where it is set, or was already.
pub(super) fn mark(bytes: &mut [u8]) -> bool {
    let mut at = 12;
    while bytes.get(at..at + 2) == Some(&VLAN) {
        at += 4;
    }
    let ip = at + 2;
    match bytes.get(at..ip) {
        Some(kind) if kind == IPV4 && bytes.len() >= ip + 20 => {
            if bytes[ip + 1] & 3 == 0 {
                return false;
            }
            let old = u16::from_be_bytes([bytes[ip], bytes[ip + 1]]);
            bytes[ip + 1] |= 3;
            let new = u16::from_be_bytes([bytes[ip], bytes[ip + 1]]);
            let sum = u16::from_be_bytes([bytes[ip + 10], bytes[ip + 11]]);
            let sum = packet::checksum::update(sum, old, new);
            bytes[ip + 10..ip + 12].copy_from_slice(&sum.to_be_bytes());
            true
        }
        Some(kind) if kind == IPV6 && bytes.len() >= ip + 40 => {
            if bytes[ip + 1] & 0x30 == 0 {
                return false;
            }
            bytes[ip + 1] |= 0x30;
            true
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use packet::PacketBuilder;
    use packet::checksum::checksum;
    use packet::layers::Layers;

    use super::*;

    #[test]
    fn ipv4_is_marked_and_its_checksum_stays_right() {
        for (vlan, ecn) in [(false, 1), (true, 2), (false, 3), (true, 0)] {
            let builder = PacketBuilder::new()
                .ipv4([10, 0, 0, 1], [10, 0, 0, 2])
                .dscp(5)
                .ecn(ecn)
                .udp(1, 2);
            let mut bytes = builder.build().unwrap();
            if vlan {
                bytes.splice(12..12, [0x81, 0, 0x20, 1]);
            }
            assert_eq!(mark(&mut bytes), ecn != 0, "not all are ECN-capable");
            let ip = if vlan { 18 } else { 14 };
            assert_eq!(bytes[ip + 1] & 3, if ecn == 0 { 0 } else { 3 });
            assert_eq!(
                checksum(&bytes[ip..ip + 20]),
                0,
                "the sum of a right header"
            );
            assert_eq!(Layers::parse(&bytes).unwrap().dscp(), Some(5));
        }
        assert!(!mark(&mut [0; 13]));
    }

    #[test]
    fn marks_become_likelier_as_the_queue_grows() {
        let ecn = Ecn {
            kmin: units::Bytes::new(1_000),
            kmax: units::Bytes::new(3_000),
            pmax: 0.5,
        };
        let mut chance = 7;
        let mut share = |queue| {
            (0..10_000)
                .filter(|_| ecn.marks(queue, &mut chance))
                .count()
        };
        assert_eq!(share(1_000), 0);
        assert!((2_200..2_800).contains(&share(2_000)));
        assert_eq!(share(3_000), 10_000);
    }
}
