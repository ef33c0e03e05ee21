//! Packets between the data-plane thread and the ports: flat batches, and the trait every kind of
//! port I/O implements.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use quantities::{PortId, Priority};

use super::flow::thread_of;

/// Where one packet of a [`PacketBatch`] lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    port: PortId,
    queue: Priority,
    start: u32,
    end: u32,
}

/// One packet of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketRef<'a> {
    /// Where it came in, or where it leaves.
    pub port: PortId,
    /// The egress queue; zero for a packet that came in.
    pub queue: Priority,
    /// Its bytes.
    pub bytes: &'a [u8],
}

/// Packets one after the other in one buffer, which is kept when the batch is emptied: nothing is
/// allocated per packet.
#[derive(Clone, Debug, Default)]
pub struct PacketBatch {
    bytes: Vec<u8>,
    places: Vec<Place>,
}

impl PacketBatch {
    /// Empties it and keeps its memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.places.clear();
    }

    /// Adds a packet.
    pub fn push(&mut self, port: PortId, queue: Priority, packet: &[u8]) {
        let start = self.bytes.len() as u32;
        self.bytes.extend_from_slice(packet);
        let end = self.bytes.len() as u32;
        self.places.push(Place {
            port,
            queue,
            start,
            end,
        });
    }

    /// Number of packets.
    #[must_use]
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// A packet by its place.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<PacketRef<'_>> {
        self.places.get(index).map(|p| self.packet(p))
    }

    /// The packets in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = PacketRef<'_>> {
        self.places.iter().map(|p| self.packet(p))
    }

    fn packet(&self, place: &Place) -> PacketRef<'_> {
        PacketRef {
            port: place.port,
            queue: place.queue,
            bytes: &self.bytes[place.start as usize..place.end as usize],
        }
    }
}

/// Ends the sleep of [`PortIo::wait`] from another thread.
pub trait Wake: Send + Sync {
    /// Wakes the data-plane thread; if it is not asleep, its next [`PortIo::wait`] returns at once.
    fn wake(&self);
}

/// What the data-plane thread needs of the ports. It alone calls this; nothing here may block but
/// [`PortIo::wait`].
pub trait PortIo: Send {
    /// Adds packets that wait on the ports to `batch`, a burst at most (some hundred), fairly over
    /// the ports.
    fn receive(&mut self, batch: &mut PacketBatch);

    /// Sends packets. What a port does not take now (its ring is full) is lost; the implementation
    /// counts it.
    fn transmit(&mut self, batch: &PacketBatch);

    /// Sleeps until a packet waits, [`Wake::wake`] was called, or the time is over; `None` waits
    /// without end.
    fn wait(&mut self, timeout: Option<Duration>);

    /// What wakes this one.
    fn waker(&self) -> Arc<dyn Wake>;
}

/// The most packets [`MemoryIo`] hands over at once.
const MEMORY_BURST: usize = 256;

/// What a thread may wait for.
#[derive(Default)]
struct Waiting {
    packets: VecDeque<(PortId, Vec<u8>)>,
    woken: bool,
}

/// Packets for one thread.
#[derive(Default)]
struct Inward {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

/// Packets that threads have sent.
#[derive(Default)]
struct Outward {
    packets: Mutex<VecDeque<(PortId, Vec<u8>)>>,
    changed: Condvar,
}

/// Whoever panicked with it has left nothing half done.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Wake for Inward {
    fn wake(&self) {
        lock(&self.waiting).woken = true;
        self.changed.notify_one();
    }
}

/// Ports that exist in memory only: the end of a thread of the switch.
pub struct MemoryIo {
    inward: Arc<Inward>,
    outward: Arc<Outward>,
}

/// Ports that exist in memory only: the other end of all wires.
#[derive(Clone)]
pub struct MemoryWires {
    inward: Arc<[Arc<Inward>]>,
    outward: Arc<Outward>,
}

impl MemoryIo {
    /// Both ends.
    #[must_use]
    pub fn new() -> (Self, MemoryWires) {
        let (inward, outward) = (Arc::<Inward>::default(), Arc::default());
        let wires = MemoryWires {
            inward: [Arc::clone(&inward)].into(),
            outward: Arc::clone(&outward),
        };
        (Self { inward, outward }, wires)
    }

    /// The ends of so many threads, among which flows are shared out, and the other end.
    #[must_use]
    pub fn several(threads: usize) -> (Vec<Self>, MemoryWires) {
        let inward: Vec<Arc<Inward>> = (0..threads).map(|_| Arc::default()).collect();
        let outward = Arc::<Outward>::default();
        let end = |inward: &Arc<Inward>| Self {
            inward: Arc::clone(inward),
            outward: Arc::clone(&outward),
        };
        let ends = inward.iter().map(end).collect();
        let inward = inward.into();
        (ends, MemoryWires { inward, outward })
    }
}

impl PortIo for MemoryIo {
    fn receive(&mut self, batch: &mut PacketBatch) {
        let packets = &mut lock(&self.inward.waiting).packets;
        let burst = packets.len().min(MEMORY_BURST);
        for (port, packet) in packets.drain(..burst) {
            batch.push(port, Priority::default(), &packet);
        }
    }

    fn transmit(&mut self, batch: &PacketBatch) {
        let sent = batch.iter().map(|p| (p.port, p.bytes.to_vec()));
        lock(&self.outward.packets).extend(sent);
        self.outward.changed.notify_all();
    }

    fn wait(&mut self, timeout: Option<Duration>) {
        let asleep = |waiting: &mut Waiting| waiting.packets.is_empty() && !waiting.woken;
        let (waiting, changed) = (lock(&self.inward.waiting), &self.inward.changed);
        let mut waiting = match timeout {
            Some(timeout) => {
                let waited = changed.wait_timeout_while(waiting, timeout, asleep);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
            None => {
                let waited = changed.wait_while(waiting, asleep);
                waited.unwrap_or_else(PoisonError::into_inner)
            }
        };
        waiting.woken = false;
    }

    fn waker(&self) -> Arc<dyn Wake> {
        Arc::clone(&self.inward) as Arc<dyn Wake>
    }
}

impl MemoryWires {
    /// Puts a packet on a port's wire.
    pub fn send(&self, port: PortId, packet: &[u8]) {
        let Some(inward) = self.inward.get(thread_of(packet, self.inward.len())) else {
            return;
        };
        let arrived = (port, packet.to_vec());
        lock(&inward.waiting).packets.push_back(arrived);
        inward.changed.notify_one();
    }

    /// The next packet the switch sent, whatever the port; `None` if none comes in time.
    #[must_use]
    pub fn receive(&self, timeout: Duration) -> Option<(PortId, Vec<u8>)> {
        let deadline = Instant::now() + timeout;
        let mut packets = lock(&self.outward.packets);
        loop {
            if let Some(packet) = packets.pop_front() {
                return Some(packet);
            }
            let left = deadline.checked_duration_since(Instant::now())?;
            let waited = self.outward.changed.wait_timeout(packets, left);
            packets = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}
