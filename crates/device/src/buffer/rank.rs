//! Queues by rank, as pFabric has them (pFabric13 section 4.2): the most urgent packet leaves
//! first, the least urgent one makes room.
//!
//! A packet says its flow and its rank in the first eight bytes of its UDP payload, four each, in
//! network order; the lower the rank, the more urgent. What is not UDP, or too short, is more
//! urgent than everything else: control traffic.

use super::ecn;

const UDP: u8 = 17;
const IPV4: [u8; 2] = [0x08, 0x00];
const IPV6: [u8; 2] = [0x86, 0xdd];

/// What a packet says of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Rank {
    pub(super) flow: u32,
    pub(super) rank: u32,
}

impl Rank {
    /// What is written in a packet.
    pub(super) fn read(bytes: &[u8]) -> Self {
        Self::written(bytes).unwrap_or_default()
    }

    fn written(bytes: &[u8]) -> Option<Self> {
        let (ether_type, ip) = ecn::payload(bytes)?;
        let first = *bytes.get(ip)?;
        let (protocol, udp) = match ether_type {
            IPV4 => (*bytes.get(ip + 9)?, ip + 4 * usize::from(first & 15)),
            IPV6 => (*bytes.get(ip + 6)?, ip + 40),
            _ => return None,
        };
        if protocol != UDP {
            return None;
        }
        let word = |at: usize| {
            bytes
                .get(at..at + 4)?
                .try_into()
                .ok()
                .map(u32::from_be_bytes)
        };
        Some(Self {
            flow: word(udp + 8)?,
            rank: word(udp + 12)?,
        })
    }
}

/// How far from the head of a queue with these ranks the least urgent packet is, the last one of
/// several, if it is less urgent than `rank`.
pub(super) fn least_urgent(ranks: impl Iterator<Item = Rank>, rank: Rank) -> Option<u32> {
    let (at, worst) = (0..)
        .zip(ranks)
        .max_by_key(|(at, found)| (found.rank, *at))?;
    (worst.rank > rank.rank).then_some(at)
}

/// How far from the head of a queue with these ranks the packet is that leaves first: the earliest
/// one of the flow that has the most urgent one, so that a flow's packets stay in order.
pub(super) fn most_urgent(ranks: impl Iterator<Item = Rank> + Clone) -> u32 {
    let ranks = (0..).zip(ranks);
    let Some((at, best)) = ranks.clone().min_by_key(|(at, found)| (found.rank, *at)) else {
        return 0;
    };
    let earliest = ranks.clone().find(|(_, found)| found.flow == best.flow);
    earliest.map_or(at, |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(flow: u32, rank: u32) -> Vec<u8> {
        let payload = [flow.to_be_bytes(), rank.to_be_bytes()].concat();
        let builder = wire::PacketBuilder::new().ipv4([10, 0, 0, 1], [10, 0, 0, 2]);
        let payload: [u8; 8] = payload.try_into().unwrap();
        builder.udp(1, 2).payload(payload).build().unwrap()
    }

    #[test]
    fn rank_and_flow_are_read_behind_vlan_tags_too() {
        let mut bytes = packet(7, 1_000);
        let expected = Rank {
            flow: 7,
            rank: 1_000,
        };
        assert_eq!(Rank::read(&bytes), expected);
        bytes.splice(12..12, [0x81, 0, 0x20, 1]);
        assert_eq!(Rank::read(&bytes), expected);
        for length in 0..bytes.len().min(50) {
            assert_eq!(Rank::read(&bytes[..length]), Rank::default());
        }
    }
}
