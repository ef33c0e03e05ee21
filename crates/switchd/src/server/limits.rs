//! What clients may take of the server, each limit with its number: nobody who can connect may
//! exhaust memory, threads or descriptors. docs/switch.md lists them with the errors they give.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// The limits of a server. "In all" is over all connections; a client is one connection.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections in all; further ones are closed at once.
    pub connections: usize,
    /// How long a connection may take to say its first words.
    pub hello: Duration,
    /// How long nothing may come of a connection; peers that live answer pings in between.
    pub silence: Duration,
    /// Calls in progress of a client, which waits with further ones.
    pub calls_of_client: u32,
    /// Calls in progress in all.
    pub calls: usize,
    /// Bytes of requests that are received or worked on, of a client.
    pub requests_of_client: usize,
    /// The same in all.
    pub requests: usize,
    /// Updates of a Write.
    pub updates: usize,
    /// Entities of a Read.
    pub entities: usize,
    /// Reads of a client that wait or have not been taken to the end.
    pub reads_of_client: usize,
    /// The same in all.
    pub reads: usize,
    /// Threads that reads have; further reads wait for one.
    pub read_threads: usize,
    /// A read whose client takes nothing for so long is ended when others wait.
    pub stalled: Duration,
    /// A read whose client takes nothing for so long is ended.
    pub patience: Duration,
    /// How long writers may wait for a read of what packets change.
    pub hindrance: Duration,
    /// Bytes of an answer that are kept for a slow client where the state cannot be.
    pub answer: usize,
    /// Bytes of answers of Read and GetForwardingPipelineConfig that are kept in all.
    pub answers: usize,
    /// Bytes of copies of the state that are kept for slow clients.
    pub copies: usize,
    /// Streams of a client.
    pub streams_of_client: usize,
    /// Streams of a role.
    pub streams_of_role: usize,
    /// Streams in all.
    pub streams: usize,
    /// How long a stream may take to arbitrate.
    pub arbitration: Duration,
    /// Roles that are remembered until the switch restarts.
    pub roles: usize,
    /// Bytes of a role's name.
    pub role_name: usize,
    /// Bytes of a role's config.
    pub role_config: usize,
    /// Bytes that wait for the client of a stream; more is lost.
    pub outbox: usize,
    /// Bytes that wait for all clients of streams.
    pub outboxes: usize,
    /// Bytes of packets from clients that wait for the data plane.
    pub packets_out: usize,
    /// What clients of gNMI may take beside this.
    pub gnmi: GnmiLimits,
}

/// The limits of gNMI.
#[derive(Clone, Copy, Debug)]
pub struct GnmiLimits {
    /// Paths of a Get, subscriptions of a Subscribe, operations of a Set.
    pub paths: usize,
    /// Bytes of the answer to a Get.
    pub answer: usize,
    /// Bytes of such answers that are kept in all.
    pub answers: usize,
    /// Values that are remembered for subscriptions, in all, so that only changes are sent.
    pub values: usize,
    /// Bytes of updates that wait for clients, in all.
    pub waiting: usize,
    /// The shortest interval between samples, and between heartbeats.
    pub interval: Duration,
    /// A subscription whose client takes nothing for so long is ended.
    pub patience: Duration,
}

impl GnmiLimits {
    /// The limits unless told otherwise.
    pub const DEFAULT: Self = Self {
        paths: 1024,
        answer: 4 * MIB,
        answers: 32 * MIB,
        values: 1 << 20,
        waiting: 32 * MIB,
        interval: Duration::from_millis(100),
        patience: Duration::from_secs(60),
    };
}

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

impl Limits {
    /// The limits unless told otherwise.
    pub const DEFAULT: Self = Self {
        connections: 1024,
        hello: Duration::from_secs(10),
        silence: Duration::from_secs(60),
        calls_of_client: 256,
        calls: 2048,
        requests_of_client: 96 * MIB,
        requests: 192 * MIB,
        updates: 1 << 18,
        entities: 4096,
        reads_of_client: 128,
        reads: 512,
        read_threads: 32,
        stalled: Duration::from_secs(1),
        patience: Duration::from_secs(60),
        hindrance: Duration::from_secs(2),
        answer: 64 * MIB,
        answers: 128 * MIB,
        copies: 192 * MIB,
        streams_of_client: 128,
        streams_of_role: 64,
        streams: 512,
        arbitration: Duration::from_secs(30),
        roles: 256,
        role_name: 256,
        role_config: 16 * KIB,
        outbox: 4 * MIB,
        outboxes: 64 * MIB,
        packets_out: 16 * MIB,
        gnmi: GnmiLimits::DEFAULT,
    };
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// The longest message of a call that is not SetForwardingPipelineConfig; clients may rely on 4 MB
/// (P4Runtime 1.5, "gRPC Server Maximum Receive Message Size").
pub const MAX_CALL: usize = 16 * MIB;

/// The longest request of a Read or message on a stream, the least that clients may rely on
/// (P4Runtime 1.5, "gRPC Server Maximum Receive Message Size").
pub const MAX_SMALL: usize = 4 * MIB;

/// A number of things of which some are taken: calls, streams, bytes.
#[derive(Debug)]
pub struct Places {
    most: usize,
    taken: AtomicUsize,
}

impl Places {
    /// So many, all free.
    #[must_use]
    pub fn new(most: usize) -> Arc<Self> {
        Arc::new(Self {
            most,
            taken: AtomicUsize::new(0),
        })
    }

    /// How many there are.
    #[must_use]
    pub const fn most(&self) -> usize {
        self.most
    }

    /// How many are taken.
    #[must_use]
    pub fn taken(&self) -> usize {
        self.taken.load(Ordering::Relaxed)
    }

    /// Takes some, until what comes back is dropped; `None` if there are not so many left.
    #[must_use]
    pub fn take(self: &Arc<Self>, count: usize) -> Option<Permit> {
        let fits = |taken: usize| taken.checked_add(count).filter(|sum| *sum <= self.most);
        self.taken
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits)
            .ok()?;
        Some(Permit {
            of: Arc::clone(self),
            count,
        })
    }
}

/// Places that are taken until this is dropped.
#[derive(Debug)]
pub struct Permit {
    of: Arc<Places>,
    count: usize,
}

impl Permit {
    /// How many these are.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.count
    }

    /// Takes more of the same; whether there were so many.
    #[must_use]
    pub fn more(&mut self, count: usize) -> bool {
        let Some(mut more) = self.of.take(count) else {
            return false;
        };
        self.count += std::mem::take(&mut more.count);
        true
    }

    /// Gives all back but so many.
    pub fn keep(&mut self, count: usize) {
        let rest = self.count.saturating_sub(count);
        self.of.taken.fetch_sub(rest, Ordering::Relaxed);
        self.count -= rest;
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.keep(0);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn places_are_given_back() {
        let places = Places::new(10);
        let mut some = places.take(4).unwrap();
        assert!(some.more(5) && !some.more(2));
        assert!(places.take(2).is_none() && places.take(1).is_some());
        some.keep(3);
        assert_eq!(places.taken(), 3);
        drop(some);
        assert_eq!(places.taken(), 0);
        assert!(places.take(usize::MAX).is_none());
    }
}
