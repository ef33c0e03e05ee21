//! Marking packets of ECN-capable senders (RFC 3168).

use super::config::Ecn;

/// EtherTypes behind which an IP header may stand: a VLAN tag, the shim of the generated programs.
const VLAN: [u8; 2] = [0x81, 0x00];
const SHIM: [u8; 2] = [0x88, 0xb5];
const IPV4: [u8; 2] = [0x08, 0x00];
const IPV6: [u8; 2] = [0x86, 0xdd];
/// The shim of `p4src/headers.p4`: its length, and where it has the numbers of hops that follow it
/// and the EtherType of what comes then.
const SHIM_LEN: usize = 14;
const SHIM_HOPS: [usize; 2] = [10, 11];
const SHIM_ETHER_TYPE: usize = 12;

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

/// The EtherType behind VLAN tags and shims, and where what it names begins.
pub(super) fn payload(bytes: &[u8]) -> Option<([u8; 2], usize)> {
    let kind = |at: usize| bytes.get(at..at + 2)?.try_into().ok();
    let (mut ether_type, mut at) = (kind(12)?, 14);
    loop {
        match ether_type {
            VLAN => {
                ether_type = kind(at + 2)?;
                at += 4;
            }
            SHIM => {
                let hops = SHIM_HOPS.map(|place| bytes.get(at + place).copied());
                ether_type = kind(at + SHIM_ETHER_TYPE)?;
                at += SHIM_LEN + usize::from(hops[0]?) + usize::from(hops[1]?);
            }
            _ => return Some((ether_type, at)),
        }
    }
}

/// Sets "congestion experienced" in the IP header, and mends IPv4's checksum. False, and nothing
/// changed, for what is not IP or not ECN-capable; true where it is set, or was already.
pub(super) fn mark(bytes: &mut [u8]) -> bool {
    let Some((ether_type, ip)) = payload(bytes) else {
        return false;
    };
    match ether_type {
        IPV4 if bytes.len() >= ip + 20 => {
            if bytes[ip + 1] & 3 == 0 {
                return false;
            }
            let old = u16::from_be_bytes([bytes[ip], bytes[ip + 1]]);
            bytes[ip + 1] |= 3;
            let new = u16::from_be_bytes([bytes[ip], bytes[ip + 1]]);
            let sum = u16::from_be_bytes([bytes[ip + 10], bytes[ip + 11]]);
            let sum = wire::checksum::update(sum, old, new);
            bytes[ip + 10..ip + 12].copy_from_slice(&sum.to_be_bytes());
            true
        }
        IPV6 if bytes.len() >= ip + 40 => {
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
    use wire::PacketBuilder;
    use wire::checksum::is_right;
    use wire::headers::{self, Layers};

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
            assert!(is_right(&headers::ipv4(&bytes[ip..]).unwrap()));
            assert_eq!(Layers::parse(&bytes).unwrap().dscp(), Some(5));
        }
        assert!(!mark(&mut [0; 13]));
    }

    #[test]
    fn packets_behind_the_shim_are_marked_too() {
        for hops in [[0, 0], [3, 2]] {
            let builder = PacketBuilder::new().ipv4([10, 0, 0, 1], [10, 0, 0, 2]);
            let plain = builder.ecn(2).udp(1, 2).build().unwrap();
            let mut shim = [0u8; SHIM_LEN];
            shim[10..12].copy_from_slice(&hops);
            shim[12..].copy_from_slice(&IPV4);
            let mut bytes = plain[..12].to_vec();
            bytes.extend(SHIM);
            bytes.extend(shim);
            bytes.extend(vec![7; usize::from(hops[0] + hops[1])]);
            let ip = bytes.len();
            bytes.extend(&plain[14..]);
            assert!(mark(&mut bytes));
            assert_eq!(bytes[ip + 1] & 3, 3);
            assert!(is_right(&headers::ipv4(&bytes[ip..]).unwrap()));
            // Cut short in the shim, or among its hops.
            assert!(!mark(&mut bytes[..20]));
            assert!(!mark(&mut bytes[..ip]));
        }
    }

    #[test]
    fn marks_become_likelier_as_the_queue_grows() {
        let ecn = Ecn {
            kmin: quantities::Bytes::new(1_000),
            kmax: quantities::Bytes::new(3_000),
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
