//! What a shared-buffer switch counts.

use quantities::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

/// What a class of a port saw, in both directions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassCounters {
    /// Packets taken in by this port with this ING_PRIO.
    pub accepted: u64,
    /// Their bytes.
    pub accepted_bytes: u64,
    /// Packets that came in by this port with this ING_PRIO, a lossy one, and found no room.
    pub refused_lossy: u64,
    /// Likewise, but lossless: a violation of the promise, which no correct configuration allows.
    pub refused_lossless: u64,
    /// PFC frames sent that told the sender to stop.
    pub pauses_sent: u64,
    /// Of these, those that only renewed a pause.
    pub pauses_renewed: u64,
    /// PFC frames sent that told the sender to go on.
    pub resumes_sent: u64,
    /// The most bytes charged to this port and class at one time.
    pub ingress_peak: Bytes,
    /// The most bytes in headroom at one time.
    pub headroom_peak: Bytes,
    /// Packets sent by this port from this class's queue.
    pub sent: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Packets marked as they joined the queue (ECN).
    pub marked: u64,
    /// Packets thrown away with the queue when the link went down, or by a PFC watchdog.
    pub flushed: u64,
    /// Packets that gave their place in the queue to a more urgent one.
    #[serde(default)]
    pub evicted: u64,
    /// PFC frames received that said stop.
    pub pauses_received: u64,
    /// PFC frames received that said go on.
    pub resumes_received: u64,
    /// Time that the queue was paused, but for a pause that still lasts (see
    /// [`super::Buffer::paused`]).
    pub paused: Nanos,
    /// The longest that the queue was, in bytes.
    pub queue_peak: Bytes,
}

/// What the whole switch counts. At any time `offered` is the sum of `accepted` and of the three
/// kinds of refused, and `accepted` that of `sent`, `flushed`, `evicted` and `queued`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BufferCounters {
    /// Packets that the program wanted sent.
    pub offered: u64,
    /// Packets that got a place.
    pub accepted: u64,
    /// Packets that have left, to the last bit.
    pub sent: u64,
    /// Packets waiting, or on their way out.
    pub queued: u64,
    /// Lossy packets without a place.
    pub refused_lossy: u64,
    /// Lossless packets without a place.
    pub refused_lossless: u64,
    /// Packets that a PFC watchdog kept out.
    #[serde(default)]
    pub refused_storm: u64,
    /// Packets thrown away because their link went down, or by a PFC watchdog.
    pub flushed: u64,
    /// Lossy packets that gave their place in a ranked queue to a more urgent one.
    #[serde(default)]
    pub evicted: u64,
    /// The most bytes in the buffer at one time.
    pub peak: Bytes,
}
