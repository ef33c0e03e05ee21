//! What an engine takes on at most.

use serde_json::{Value, json};

use crate::Refusal;

/// Bytes of a request.
pub const MAX_REQUEST_BYTES: usize = 4 << 20;
/// Switches of a network.
pub const MAX_SWITCHES: u64 = 3_000;
/// Hosts of a network.
pub const MAX_HOSTS: u64 = 20_000;
/// Links of a network.
pub const MAX_LINKS: u64 = 60_000;
/// Flows of a simulation.
pub const MAX_FLOWS: u64 = 20_000;
/// Simulated time, in nanoseconds.
pub const MAX_DURATION: u64 = 1_000_000_000;
/// Events of one slice of a simulation.
pub const MAX_EVENTS: u64 = 4_000_000;
/// Simulations at a time.
pub const MAX_SIMULATIONS: usize = 4;
/// Bytes of a packet.
pub const MAX_PACKET_BYTES: usize = 9_216;

/// Packets that a program is given at a time.
pub const MAX_PACKETS: usize = 10_000;

/// Who asks, and so what is refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Trust {
    /// Anybody: sizes and steps are limited, and no file of the machine is read.
    #[default]
    Anybody,
    /// Whoever runs the process, and could do all of it without the engine.
    Owner,
}

impl Trust {
    /// Refuses what is more than a limit.
    pub(crate) fn at_most<N, M>(self, what: &'static str, most: M, given: N) -> Result<(), Refusal>
    where
        N: TryInto<u64>,
        M: TryInto<u64>,
    {
        let most = most.try_into().unwrap_or(u64::MAX);
        let given = given.try_into().unwrap_or(u64::MAX);
        if given <= most || self == Self::Owner {
            return Ok(());
        }
        Err(Refusal::Limit { what, most, given })
    }
}

/// All limits, for a page to tell; nothing where there are none.
pub(crate) fn all(trust: Trust) -> Value {
    if trust == Trust::Owner {
        return Value::Null;
    }
    json!({
        "request_bytes": MAX_REQUEST_BYTES,
        "switches": MAX_SWITCHES,
        "hosts": MAX_HOSTS,
        "links": MAX_LINKS,
        "flows": MAX_FLOWS,
        "duration_ms": MAX_DURATION / 1_000_000,
        "events_per_slice": MAX_EVENTS,
        "simulations": MAX_SIMULATIONS,
        "packet_bytes": MAX_PACKET_BYTES,
        "packets": MAX_PACKETS,
    })
}
