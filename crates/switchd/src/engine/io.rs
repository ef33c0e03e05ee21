//! Packets between the data-plane thread and the ports: flat batches, and the trait every kind of port I/O implements.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use quantities::{PortId, Priority};

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

/// Packets one after the other in one buffer, which is kept when the batch is emptied: nothing is allocated per packet.
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

/// What the data-plane thread needs of the ports. It alone calls this; nothing here may block but [`PortIo::wait`].
pub trait PortIo: Send {
    /// Adds packets that wait on the ports to `batch`, a burst at most (some hundred), fairly over the ports.
    fn receive(&mut self, batch: &mut PacketBatch);

    /// Sends packets. What a port does not take now (its ring is full) is lost; the implementation counts it.
    fn transmit(&mut self, batch: &PacketBatch);

    /// Sleeps until a packet waits, [`Wake::wake`] was called, or the time is over; `None` waits without end.
    fn wait(&mut self, timeout: Option<Duration>);

    /// What wakes this one.
    fn waker(&self) -> Arc<dyn Wake>;
}

/// The most packets [`MemoryIo`] hands over at once.
const MEMORY_BURST: usize = 256;

#[derive(Default)]
struct Wires {
    inward: VecDeque<(PortId, Vec<u8>)>,
    outward: VecDeque<(PortId, Priority, Vec<u8>)>,
    woken: bool,
}

#[derive(Default)]
struct Memory {
    wires: Mutex<Wires>,
    inward: Condvar,
    outward: Condvar,
}

impl Memory {
    fn lock(&self) -> MutexGuard<'_, Wires> {
        self.wires.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wake for Memory {
    fn wake(&self) {
        self.lock().woken = true;
        self.inward.notify_one();
    }
}

/// Ports that exist in memory only: the switch's end.
pub struct MemoryIo(Arc<Memory>);

/// Ports that exist in memory only: the other end of all wires.
#[derive(Clone)]
pub struct MemoryWires(Arc<Memory>);

impl MemoryIo {
    /// Both ends.
    #[must_use]
    pub fn new() -> (Self, MemoryWires) {
        let memory = Arc::new(Memory::default());
        (Self(Arc::clone(&memory)), MemoryWires(memory))
    }
}

impl PortIo for MemoryIo {
    fn receive(&mut self, batch: &mut PacketBatch) {
        let mut wires = self.0.lock();
        let burst = wires.inward.len().min(MEMORY_BURST);
        for (port, packet) in wires.inward.drain(..burst) {
            batch.push(port, Priority::default(), &packet);
        }
    }

    fn transmit(&mut self, batch: &PacketBatch) {
        let mut wires = self.0.lock();
        for packet in batch.iter() {
            let bytes = packet.bytes.to_vec();
            wires.outward.push_back((packet.port, packet.queue, bytes));
        }
        self.0.outward.notify_all();
    }

    fn wait(&mut self, timeout: Option<Duration>) {
        let asleep = |wires: &mut Wires| wires.inward.is_empty() && !wires.woken;
        let wires = self.0.lock();
        let mut wires = match timeout {
            Some(timeout) => {
                let waited = self.0.inward.wait_timeout_while(wires, timeout, asleep);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
            None => {
                let waited = self.0.inward.wait_while(wires, asleep);
                waited.unwrap_or_else(PoisonError::into_inner)
            }
        };
        wires.woken = false;
    }

    fn waker(&self) -> Arc<dyn Wake> {
        Arc::clone(&self.0) as Arc<dyn Wake>
    }
}

impl MemoryWires {
    /// Puts a packet on a port's wire.
    pub fn send(&self, port: PortId, packet: &[u8]) {
        self.0.lock().inward.push_back((port, packet.to_vec()));
        self.0.inward.notify_one();
    }

    /// The next packet the switch sent, whatever the port; `None` if none comes in time.
    #[must_use]
    pub fn receive(&self, timeout: Duration) -> Option<(PortId, Vec<u8>)> {
        let deadline = Instant::now() + timeout;
        let mut wires = self.0.lock();
        loop {
            if let Some((port, _, packet)) = wires.outward.pop_front() {
                return Some((port, packet));
            }
            let left = deadline.checked_duration_since(Instant::now())?;
            let waited = self.0.outward.wait_timeout(wires, left);
            wires = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}
