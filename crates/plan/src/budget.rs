//! What a switch has: priorities, ports, TCAM, buffer; and the PFC headroom that lossless
//! priorities take from the buffer (TaggerDraft section 3.3).

use quantities::{BitRate, Bytes, Metres, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topology::{SwitchId, Topology};

/// Size of a PFC frame (TaggerDraft section 3.3).
pub const PFC_FRAME: Bytes = Bytes::new(64);

/// What a sender may take to act on a PAUSE: 60 quanta of 512 bits (TaggerDraft section 3.3; IEEE
/// 802.1Qbb).
const PROCESSING_BITS: u64 = 60 * 512;

/// Propagation in copper: 500 ns per 100 m (TaggerDraft section 3.3).
const NANOS_PER_METRE: u64 = 5;

/// The limits that a plan must fit. They are the switch's, so they do not depend on the target
/// language.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Budget {
    /// How many lossless priorities a switch has beside the lossy one.
    pub lossless_priorities: u8,
    /// How many ports a switch may have.
    pub ports: u16,
    /// TCAM for tag rules, in bits per switch; no limit if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tcam_bits: Option<u64>,
    /// Packet buffer of a switch, in bytes, where the topology does not say.
    pub buffer: Bytes,
    /// Largest frame, in bytes.
    pub mtu: Bytes,
}

impl Default for Budget {
    /// A commodity switch of TaggerDraft: 8 priorities of which one is lossy, a 12 MiB buffer, MTU
    /// 1500.
    fn default() -> Self {
        Self {
            lossless_priorities: 7,
            ports: 511,
            tcam_bits: None,
            buffer: topology::BUFFER,
            mtu: topology::MTU,
        }
    }
}

/// How long a signal travels along a cable.
#[must_use]
pub fn propagation(length: Metres) -> Nanos {
    Nanos::new(u64::from(length.get()) * NANOS_PER_METRE)
}

/// PFC headroom of one port and priority: 2 (MTU + PFC frame + rate * wire) + rate * processing
/// (TaggerDraft equation 1), rounded up to a byte.
#[must_use]
pub fn headroom(rate: BitRate, length: Metres, mtu: Bytes) -> Bytes {
    let wire_bits =
        u128::from(rate.get()) * u128::from(propagation(length).get()) * 2 / 1_000_000_000;
    let frame_bits = 16 * (u128::from(mtu.get()) + u128::from(PFC_FRAME.get()));
    let bits = wire_bits + frame_bits + u128::from(PROCESSING_BITS);
    Bytes::new(u64::try_from(bits.div_ceil(8)).unwrap_or(u64::MAX))
}

/// What lossless priorities cost one switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SwitchHeadroom {
    /// Headroom of one lossless priority over all plugged ports.
    pub per_priority: Bytes,
    /// Headroom of the port that needs most, for one priority.
    pub per_port_max: Bytes,
    /// For how many lossless priorities the buffer has room.
    pub affordable: u64,
}

/// The headroom of a switch under a budget.
#[must_use]
pub fn switch_headroom(topology: &Topology, switch: SwitchId, budget: &Budget) -> SwitchHeadroom {
    let buffer = topology.switch(switch).buffer.unwrap_or(budget.buffer);
    let mut total = 0u64;
    let mut most = 0u64;
    for (_, peer) in topology.peers(switch) {
        let link = topology.link(peer.link);
        let one = headroom(link.rate, link.length, budget.mtu).get();
        total = total.saturating_add(one);
        most = most.max(one);
    }
    SwitchHeadroom {
        per_priority: Bytes::new(total),
        per_port_max: Bytes::new(most),
        affordable: buffer.get().checked_div(total).unwrap_or(u64::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headroom_of_the_papers() {
        let mtu = Bytes::new(1500);
        let at = |gbps| headroom(BitRate::gbps(gbps), Metres::new(300), mtu);
        assert_eq!(at(40), Bytes::new(21_968));
        assert_eq!(at(100), Bytes::new(44_468));
        assert_eq!(propagation(Metres::new(300)), Nanos::new(1500));
    }

    #[test]
    fn headroom_never_overflows() {
        let most = headroom(
            BitRate::new(u64::MAX),
            Metres::new(u32::MAX),
            Bytes::new(u64::MAX),
        );
        assert_eq!(most, Bytes::new(u64::MAX));
    }
}
