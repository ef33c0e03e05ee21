//! What a lossless switch tells of itself: its buffer, its ports, and what it lost.

use device::buffer::{Buffer, BufferCounters, ClassCounters, HeldBack, Refusal, Snapshot, Wait};
use device::{DeviceDrop, Frame};
use quantities::{BitRate, Bytes, Nanos, PortId, Priority};
use serde::{Deserialize, Serialize};
use wire::pfc::is_mac_control;

/// What a lossless switch lost, by cause, and what it processed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Frames that came in, PFC frames not counted.
    pub processed: u64,
    /// Lossless packets without headroom: violations.
    pub lossless: u64,
    /// Lossy packets without room.
    pub lossy: u64,
    /// Packets that the program dropped.
    pub program: u64,
    /// Packets from or to ports that were down.
    pub link_down: u64,
}

impl Totals {
    /// Counts a burst, and what was lost of it.
    pub(super) fn count(&mut self, burst: &[Frame<'_>], drops: &[DeviceDrop]) {
        let processed = burst.iter().filter(|frame| !is_mac_control(frame.bytes));
        self.processed += processed.count() as u64;
        for drop in drops {
            *match drop {
                DeviceDrop::Buffer(Refusal::Lossless { .. }) => &mut self.lossless,
                DeviceDrop::Buffer(Refusal::Lossy(_)) => &mut self.lossy,
                DeviceDrop::Program(_) => &mut self.program,
                DeviceDrop::PortDown(_) | DeviceDrop::NoSuchPort(_) | DeviceDrop::Buffer(_) => {
                    &mut self.link_down
                }
            } += 1;
        }
    }
}

/// What a lossless switch tells of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LosslessStatus {
    /// Time since the switch started, in nanoseconds.
    pub now: Nanos,
    /// The packet buffer.
    pub capacity: Bytes,
    /// What all headroom leaves of it.
    pub shared: Bytes,
    /// Bytes in it.
    pub used: Bytes,
    /// The lossless classes.
    pub lossless: Vec<Priority>,
    /// What the buffer counted.
    pub buffer: BufferCounters,
    /// What was lost, and why.
    pub totals: Totals,
    /// The ports, by number.
    pub ports: Vec<PortFigures>,
    /// Queues that are paused and have packets, and whose buffer those hold.
    pub waits: Vec<Wait>,
    /// Input ports and classes that are told to stop.
    pub held_back: Vec<HeldBack>,
    /// Paused queues that nothing has left for longer than any pause lasts: what a deadlock looks
    /// like to one of its switches. That it is one, only all of them together can tell.
    pub stalled: Vec<Stalled>,
}

/// A port of a lossless switch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortFigures {
    /// Its number.
    pub port: PortId,
    /// How fast it sends, in bits per second.
    pub rate: BitRate,
    /// Headroom of each lossless class.
    pub headroom: Bytes,
    /// Its classes that saw anything.
    pub classes: Vec<ClassFigures>,
}

/// A class of a port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassFigures {
    /// The priority.
    pub class: Priority,
    /// Bytes charged to the port and this ING_PRIO now.
    pub used: Bytes,
    /// Of these, in headroom.
    pub headroom_used: Bytes,
    /// Bytes in the port's queue of this EG_PRIO now.
    pub queued: Bytes,
    /// Packets there.
    pub queued_packets: u32,
    /// Whether the queue is paused.
    pub paused: bool,
    /// What was counted since the start, and watermarks.
    pub counters: ClassCounters,
}

/// A queue that does not move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stalled {
    /// The output port.
    pub port: PortId,
    /// EG_PRIO.
    pub class: Priority,
    /// For how long, in nanoseconds.
    pub lasts: Nanos,
}

impl LosslessStatus {
    /// Reads a buffer.
    #[must_use]
    pub fn of(buffer: &Buffer, totals: Totals, now: Nanos) -> Self {
        let config = buffer.config();
        let Snapshot {
            waits, held_back, ..
        } = buffer.snapshot();
        let stalled = waits.iter().filter_map(|wait| {
            let lasts = Nanos::new(now.get().saturating_sub(wait.since.get()));
            (lasts > wait.timer).then_some(Stalled {
                port: wait.port,
                class: wait.class,
                lasts,
            })
        });
        let classes = || (0..8).map(Priority::new);
        Self {
            now,
            capacity: config.capacity,
            shared: config.shared().unwrap_or_default(),
            used: buffer.used(),
            lossless: classes().filter(|c| config.lossless.contains(*c)).collect(),
            buffer: buffer.counters(),
            totals,
            ports: config
                .ports
                .iter()
                .map(|port| PortFigures {
                    port: port.port,
                    rate: port.rate,
                    headroom: port.headroom,
                    classes: classes()
                        .filter_map(|class| ClassFigures::of(buffer, port.port, class))
                        .collect(),
                })
                .collect(),
            stalled: stalled.collect(),
            waits,
            held_back,
        }
    }
}

impl ClassFigures {
    /// Nothing for a class that saw nothing.
    fn of(buffer: &Buffer, port: PortId, class: Priority) -> Option<Self> {
        let counters = buffer.class_counters(port, class)?;
        let (used, headroom_used) = buffer.ingress_use(port, class);
        let (queued, queued_packets) = buffer.queue(port, class);
        (counters != ClassCounters::default()).then(|| Self {
            class,
            used,
            headroom_used,
            queued,
            queued_packets,
            paused: buffer.is_paused(port, class),
            counters,
        })
    }
}
