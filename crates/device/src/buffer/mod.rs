//! The shared buffer of a lossless switch, without I/O and without a clock (TaggerDraft sections
//! 3.3 and 6.1; IEEE 802.1Qbb).
//!
//! Every packet is charged to its (input port, ING_PRIO) when it is accepted and until its last bit
//! has left the switch, and waits in the queue of its (output port, EG_PRIO). When a lossless class
//! of an input port has used its share, a PFC frame tells the sender to stop; what arrives until
//! that takes effect goes to the class's headroom. The pause is renewed before it ends, and lifted
//! when the use has fallen. Queues stop while a PFC frame from the far end says so. Lossless
//! packets are refused only when headroom overflows, which is counted as a violation; lossy ones
//! when their queue is too long.
//!
//! The driver owns time: it offers packets ([`Buffer::offer`]), hands in PFC frames
//! ([`Buffer::receive_pfc`]), asks ports that are ready for their next frame
//! ([`Buffer::next_ready`], [`Buffer::transmit`]), asks again when that frame has left
//! ([`Departure::until`]), and comes back at [`Buffer::next_timer`]. In a [`Device`](crate::Device)
//! the egress does all of this.

mod config;
mod counters;
mod ecn;
mod frames;
mod pause;
mod rank;
mod schedule;
mod store;
mod storm;
mod waits;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::mem::offset_of;

use p4exec::{prefetch, prefetch_behind};
use quantities::{Bytes, Nanos, PortId, Priority};
use wire::pfc;

pub use config::{
    Alpha, BufferConfig, BufferError, CLASSES, ClassSet, ETHERNET_OVERHEAD, Ecn, PortConfig,
    QueueLimit, Scheduler, Threshold,
};
pub use counters::{BufferCounters, ClassCounters};
pub use frames::{Frames, LINE};
pub use pause::PauseEdge;
pub use storm::StormAction;
pub use waits::{Held, HeldBack, Resume, Snapshot, Wait};

use pause::{ReceivedPause, Timer};
use rank::Rank;
use schedule::Turn;
use store::{Fifo, Put, Store};

/// A packet that the program wants sent.
#[derive(Clone, Copy, Debug)]
pub struct Offer<'a> {
    /// Where it came in.
    pub in_port: PortId,
    /// ING_PRIO: the class that it is charged to there.
    pub ing_prio: Priority,
    /// Where it is to leave.
    pub out_port: PortId,
    /// EG_PRIO: the queue in which it waits.
    pub eg_prio: Priority,
    /// Its bytes.
    pub bytes: &'a [u8],
    /// Zero bytes at its end that a simulation need not carry about.
    pub padding: u32,
}

/// Why a packet got no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Its queue is too long, or the shared buffer is full.
    #[error("no room for a lossy packet to port {0}")]
    Lossy(PortId),
    /// Headroom overflowed: the promise of losslessness is broken.
    #[error("no headroom for a lossless packet from port {port}, priority {class}")]
    Lossless {
        /// Where it came in.
        port: PortId,
        /// ING_PRIO.
        class: Priority,
    },
    /// A PFC watchdog throws the queue's packets away, or those of its class that come in by its
    /// port.
    #[error("a PFC storm at port {port}, priority {class}")]
    Storm {
        /// The port.
        port: PortId,
        /// The class.
        class: Priority,
    },
    /// The switch has no such port, or it is down.
    #[error("port {0} does not exist or is down")]
    Port(PortId),
}

/// A frame that has started to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// When its last bit leaves: the time to ask the port again.
    pub until: Nanos,
    /// Its length with padding.
    pub length: Bytes,
    /// Zero bytes at its end that were not held.
    pub padding: u32,
    /// The queue it came from; nothing for a PFC frame.
    pub class: Option<Priority>,
    /// ING_PRIO: the class that it is charged to at its input port; zero for a PFC frame.
    pub ing_prio: Priority,
    /// The number of its bytes.
    frame: u32,
}

impl Departure {
    /// The number of its bytes, for [`Buffer::free`].
    #[inline]
    pub(crate) const fn frame(&self) -> u32 {
        self.frame
    }
}

/// What is on the wire of a port.
#[derive(Clone, Copy, Debug)]
enum Wire {
    Idle,
    Pfc,
    Packet {
        in_port: u16,
        in_class: u8,
        class: u8,
        length: u32,
    },
}

/// What a class of an input port has used.
#[derive(Clone, Copy, Debug, Default)]
struct Ingress {
    shared: u64,
    headroom: u64,
    xoff: bool,
}

impl Ingress {
    const fn used(&self) -> u64 {
        self.shared + self.headroom
    }
}

/// Of [`ClassCounters`], what changes with every packet: a line of the processor's cache, with
/// [`Class::last_sent`].
#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    accepted: u64,
    accepted_bytes: u64,
    ingress_peak: Bytes,
    headroom_peak: Bytes,
    sent: u64,
    sent_bytes: u64,
    queue_peak: Bytes,
}

/// A class of a port, in both directions. What packets of one class touch lies together: a driver
/// of many switches waits for memory more than for anything else.
#[derive(Clone, Debug, Default)]
#[repr(C, align(64))]
struct Class {
    ingress: Ingress,
    queue: Fifo,
    counted: Counted,
    last_sent: Nanos,
    /// What is not in `counted`.
    counters: ClassCounters,
    /// Since when the input port's sender has been told to stop, or to go on, and when it is told
    /// so again.
    told_since: Nanos,
    renew_at: Nanos,
    paused_until: Nanos,
    paused_since: Nanos,
    /// The timer under way that may end a pause: one set later, for an earlier time, takes the
    /// place of the one before.
    expiry: Option<Nanos>,
}

#[derive(Clone, Debug)]
#[repr(C, align(64))]
struct Port {
    wire: Wire,
    up: bool,
    ready: bool,
    says: bool,
    /// Masks of classes.
    waiting: u8,
    paused: u8,
    /// Masks of classes that do not obey PFC, and of those whose packets are thrown away.
    deaf: u8,
    dropping: u8,
    /// Mask of classes with a timer under way.
    renewal_armed: u8,
    free_at: Nanos,
    /// What the wire's time was rounded by, in 1/rate of a nanosecond.
    fraction: u64,
    config: PortConfig,
    turn: Turn,
    classes: [Class; CLASSES],
    /// What the next PFC frame is to say; `None` in all if there is nothing to say.
    say: pfc::Repr,
    heard: VecDeque<ReceivedPause>,
}

/// See the module documentation.
#[derive(Clone, Debug)]
pub struct Buffer {
    config: BufferConfig,
    /// By port number.
    ports: Vec<Option<Port>>,
    store: Store,
    shared: u64,
    shared_used: u64,
    used: u64,
    /// Input ports and classes that are told to stop.
    stopped: Vec<(u16, u8)>,
    /// Whether one of them was stopped though nothing is charged to it: no release of its own frees
    /// it.
    starved: bool,
    ready: VecDeque<PortId>,
    timers: BinaryHeap<Reverse<Timer>>,
    /// When the first of them goes off.
    soonest: Option<Nanos>,
    chance: u64,
    counters: BufferCounters,
    pause_log: Option<Vec<PauseEdge>>,
}

#[inline]
fn bit(class: u8) -> u8 {
    1 << (class & 7)
}

/// A port, without the rest of the buffer.
#[inline]
fn place(ports: &mut [Option<Port>], id: PortId) -> Option<&mut Port> {
    ports.get_mut(usize::from(id.get()))?.as_mut()
}

#[inline]
fn index(class: Priority) -> (u8, usize) {
    let class = class.get() & 7;
    (class, usize::from(class))
}

impl Buffer {
    /// An empty buffer; all ports are up.
    ///
    /// # Errors
    /// [`BufferError`] when it cannot work like that.
    pub fn new(config: BufferConfig) -> Result<Self, BufferError> {
        let shared = config.check()?.get();
        let last = config.ports.iter().map(|p| p.port.get()).max();
        let mut ports: Vec<Option<Port>> = Vec::new();
        ports.resize_with(last.map_or(0, |last| usize::from(last) + 1), || None);
        for &port in &config.ports {
            ports[usize::from(port.port.get())] = Some(Port::new(port));
        }
        Ok(Self {
            chance: config.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            config,
            ports,
            store: Store::default(),
            shared,
            shared_used: 0,
            used: 0,
            stopped: Vec::new(),
            starved: false,
            ready: VecDeque::new(),
            timers: BinaryHeap::new(),
            soonest: None,
            counters: BufferCounters::default(),
            pause_log: None,
        })
    }

    /// How it is configured.
    #[must_use]
    pub const fn config(&self) -> &BufferConfig {
        &self.config
    }

    /// What the whole switch counted.
    #[must_use]
    pub const fn counters(&self) -> BufferCounters {
        self.counters
    }

    /// What a class of a port counted; nothing for a port that is not there.
    #[must_use]
    pub fn class_counters(&self, port: PortId, class: Priority) -> Option<ClassCounters> {
        let class = &self.port(port)?.classes[index(class).1];
        let Counted {
            accepted,
            accepted_bytes,
            ingress_peak,
            headroom_peak,
            sent,
            sent_bytes,
            queue_peak,
        } = class.counted;
        Some(ClassCounters {
            accepted,
            accepted_bytes,
            ingress_peak,
            headroom_peak,
            sent,
            sent_bytes,
            queue_peak,
            ..class.counters
        })
    }

    /// Bytes in the buffer.
    #[must_use]
    pub const fn used(&self) -> Bytes {
        Bytes::new(self.used)
    }

    /// Bytes charged to an input port and class: all, and those in headroom.
    #[must_use]
    pub fn ingress_use(&self, port: PortId, class: Priority) -> (Bytes, Bytes) {
        let ingress = self.port(port).map(|p| p.classes[index(class).1].ingress);
        let ingress = ingress.unwrap_or_default();
        (Bytes::new(ingress.used()), Bytes::new(ingress.headroom))
    }

    /// Bytes and packets that wait in a queue.
    #[must_use]
    pub fn queue(&self, port: PortId, class: Priority) -> (Bytes, u32) {
        let queue = self.port(port).map(|p| &p.classes[index(class).1].queue);
        queue.map_or((Bytes::default(), 0), |queue| {
            (Bytes::new(queue.bytes()), queue.packets())
        })
    }

    /// The queues that are not empty, and bytes that wait in them, in order of port and class.
    pub fn queues(&self) -> impl Iterator<Item = (PortId, Priority, Bytes)> {
        let ports = self.ports.iter().flatten().filter(|p| p.waiting != 0);
        ports.flat_map(|port| {
            let classes = (0..CLASSES as u8).filter(|&class| port.waiting & bit(class) != 0);
            classes.map(|class| {
                let bytes = port.classes[usize::from(class)].queue.bytes();
                (port.config.port, Priority::new(class), Bytes::new(bytes))
            })
        })
    }

    #[inline]
    pub(crate) fn prefetch(&self, port: PortId) {
        // Whether there is a port would have to be read from what is not in the cache yet.
        if let Some(port) = self.ports.get(usize::from(port.get())) {
            prefetch(port);
            // Mostly there is one lossless class, the first.
            const CLASS: usize = offset_of!(Port, classes) + size_of::<Class>();
            prefetch_behind(port, CLASS + offset_of!(Class, ingress));
            prefetch_behind(port, CLASS + offset_of!(Class, counted));
        }
    }

    #[inline]
    fn port(&self, port: PortId) -> Option<&Port> {
        self.ports.get(usize::from(port.get()))?.as_ref()
    }

    #[inline]
    fn port_mut(&mut self, port: PortId) -> Option<&mut Port> {
        place(&mut self.ports, port)
    }

    /// Gives a packet its place, or not.
    ///
    /// # Errors
    /// [`Refusal`]: the packet is lost, and counted.
    pub fn offer(&mut self, now: Nanos, offer: Offer<'_>) -> Result<(), Refusal> {
        let (in_class, in_at) = index(offer.ing_prio);
        let (class, at) = match self.config.tied_priorities {
            true => (in_class, in_at),
            false => index(offer.eg_prio),
        };
        let Some(out) = self.port(offer.out_port).filter(|p| p.up) else {
            return Err(Refusal::Port(offer.out_port));
        };
        let Some(input) = self.port(offer.in_port) else {
            return Err(Refusal::Port(offer.in_port));
        };
        let queue = out.classes[at].queue.bytes();
        let storms = [out.dropping & bit(class), input.dropping & bit(in_class)];
        self.counters.offered += 1;
        if storms != [0, 0] {
            self.counters.refused_storm += 1;
            let (port, class) = match storms {
                [0, _] => (offer.in_port, in_class),
                _ => (offer.out_port, class),
            };
            let class = Priority::new(class);
            return Err(Refusal::Storm { port, class });
        }
        let held = u32::try_from(offer.bytes.len()).unwrap_or(u32::MAX);
        let padding = offer.padding.min(u32::MAX - held);
        let length = u64::from(held + padding);
        let ranked = self.ranked(class);
        let queue = match ranked {
            true => self.make_room(now, &offer, class, length),
            false => queue,
        };
        if let Err(refusal) = self.admit(now, &offer, in_class, queue, length) {
            match refusal {
                Refusal::Lossy(_) => self.counters.refused_lossy += 1,
                Refusal::Lossless { .. } => self.counters.refused_lossless += 1,
                Refusal::Storm { .. } | Refusal::Port(_) => {}
            }
            return Err(refusal);
        }
        self.counters.accepted += 1;
        self.counters.queued += 1;
        self.used += length;
        self.counters.peak = self.counters.peak.max(Bytes::new(self.used));
        let put = Put {
            bytes: offer.bytes,
            padding,
            in_port: offer.in_port.get(),
            in_class,
        };
        let Some(port) = place(&mut self.ports, offer.out_port) else {
            return Err(Refusal::Port(offer.out_port));
        };
        let place = &mut port.classes[at];
        let bytes = self.store.push(&mut place.queue, put);
        if let Some(ecn) = self.config.ecn
            && queue >= ecn.kmin.get()
            && ecn.marks(queue, &mut self.chance)
            && ecn::mark(bytes)
        {
            place.counters.marked += 1;
        }
        if ranked {
            self.store.note_rank(&place.queue);
        }
        let peak = &mut place.counted.queue_peak;
        *peak = (*peak).max(Bytes::new(place.queue.bytes()));
        port.waiting |= bit(class);
        if matches!(port.wire, Wire::Idle) && !port.ready && port.paused & bit(class) == 0 {
            port.ready = true;
            self.ready.push_back(offer.out_port);
        }
        Ok(())
    }

    /// Whether a class's queues go by rank.
    #[inline]
    fn ranked(&self, class: u8) -> bool {
        self.config.ranked.is_some() && self.config.lossless.bits() & bit(class) == 0
    }

    /// Throws away what is less urgent than a packet, until that has room in its queue or nothing
    /// is left to be thrown away; what the queue holds then.
    fn make_room(&mut self, now: Nanos, offer: &Offer<'_>, class: u8, length: u64) -> u64 {
        let limit = self.config.ranked.map_or(u64::MAX, Bytes::get);
        let rank = Rank::read(offer.bytes);
        let at = usize::from(class & 7);
        loop {
            let Some(port) = place(&mut self.ports, offer.out_port) else {
                return u64::MAX;
            };
            let queue = &mut port.classes[at].queue;
            if queue.bytes() + length <= limit {
                return queue.bytes();
            }
            let Some(evicted) = rank::least_urgent(self.store.ranks(queue), rank)
                .and_then(|worst| self.store.pop_at(queue, worst))
            else {
                return queue.bytes();
            };
            if queue.is_empty() {
                port.waiting &= !bit(class);
            }
            port.classes[at].counters.evicted += 1;
            self.store.free(evicted.frame);
            self.counters.evicted += 1;
            self.release(
                now,
                evicted.in_port,
                evicted.in_class,
                evicted.length.into(),
            );
        }
    }

    /// Charges a packet to its input port and class. `queue` is how many bytes wait where it wants
    /// to go.
    fn admit(
        &mut self,
        now: Nanos,
        offer: &Offer<'_>,
        in_class: u8,
        queue: u64,
        length: u64,
    ) -> Result<(), Refusal> {
        let lossless = self.config.lossless.bits() & bit(in_class) != 0;
        let free = self.shared - self.shared_used;
        let room = free >= length;
        let Some(port) = place(&mut self.ports, offer.in_port) else {
            return Err(Refusal::Port(offer.in_port));
        };
        let at = usize::from(in_class & 7);
        let Class {
            ingress,
            counted,
            counters,
            ..
        } = &mut port.classes[at];
        let limit = match self.config.ranked {
            Some(limit) => limit.get(),
            None => self.config.lossy_limit.of(free),
        };
        let too_long = !room || queue.saturating_add(length) > limit;
        if !lossless && too_long {
            counters.refused_lossy += 1;
            return Err(Refusal::Lossy(offer.out_port));
        }
        let (stop, fits);
        if !lossless || (!ingress.xoff && room) {
            ingress.shared += length;
            self.shared_used += length;
            let limit = self.config.threshold.stop_at(free - length);
            (stop, fits) = (lossless && ingress.shared >= limit, true);
        } else {
            fits = ingress.headroom + length <= port.config.headroom.get();
            stop = !ingress.xoff;
            if fits {
                ingress.headroom += length;
                counted.headroom_peak = counted.headroom_peak.max(Bytes::new(ingress.headroom));
            } else {
                counters.refused_lossless += 1;
            }
        }
        if fits {
            counted.accepted += 1;
            counted.accepted_bytes += length;
            counted.ingress_peak = counted.ingress_peak.max(Bytes::new(ingress.used()));
        }
        if stop {
            self.stop(now, offer.in_port, in_class);
        }
        if fits {
            return Ok(());
        }
        self.starved = true;
        Err(Refusal::Lossless {
            port: offer.in_port,
            class: offer.ing_prio,
        })
    }

    /// Takes a packet's charge back: headroom first, so that it is whole again before the sender
    /// goes on.
    fn release(&mut self, now: Nanos, in_port: u16, class: u8, length: u64) {
        self.used -= length;
        self.counters.queued -= 1;
        if let Some(port) = place(&mut self.ports, PortId::new(in_port)) {
            let ingress = &mut port.classes[usize::from(class & 7)].ingress;
            let headroom = ingress.headroom.min(length);
            ingress.headroom -= headroom;
            ingress.shared -= length - headroom;
            self.shared_used -= length - headroom;
        }
        if self.stopped.is_empty() {
            return;
        }
        if matches!(self.config.threshold, Threshold::Fixed { .. }) && !self.starved {
            return self.try_resume(now, in_port, class);
        }
        // More is free now: any class may have come below its threshold.
        let mut at = 0;
        while let Some(&(port, class)) = self.stopped.get(at) {
            self.try_resume(now, port, class);
            at += usize::from(self.stopped.get(at) == Some(&(port, class)));
        }
        self.starved &= !self.stopped.is_empty();
    }

    /// Whether [`Buffer::next_ready`] has ports to look at.
    #[inline]
    pub(crate) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// A port whose wire is idle and that may have a frame to send.
    #[inline]
    pub fn next_ready(&mut self) -> Option<PortId> {
        match self.ready.is_empty() {
            true => None,
            false => self.take_ready(),
        }
    }

    fn take_ready(&mut self) -> Option<PortId> {
        while let Some(id) = self.ready.pop_front() {
            let Some(port) = self.port_mut(id) else {
                continue;
            };
            port.ready = false;
            if matches!(port.wire, Wire::Idle) {
                return Some(id);
            }
        }
        None
    }

    /// Ends what is on a port's wire, if its time has come, and starts the next frame, whose bytes
    /// take the place of those of `into`. Nothing if the port is busy, down, paused, or has nothing
    /// to send.
    pub fn transmit(&mut self, now: Nanos, id: PortId, into: &mut Vec<u8>) -> Option<Departure> {
        let departure = self.start(now, id)?;
        into.clear();
        into.extend_from_slice(self.leaving(&departure));
        self.free(departure.frame);
        Some(departure)
    }

    /// The bytes of a frame that has started, but for its padding.
    #[inline]
    pub(crate) fn leaving(&self, departure: &Departure) -> &[u8] {
        let held = departure.length.get() as usize - departure.padding as usize;
        self.store.bytes(departure.frame, held)
    }

    /// The bytes of a frame that has started are not needed any more.
    #[inline]
    pub(crate) fn free(&mut self, frame: u32) {
        self.store.free(frame);
    }

    /// [`Buffer::transmit`], but the frame's bytes stay in the buffer until [`Buffer::free`].
    pub(crate) fn start(&mut self, now: Nanos, id: PortId) -> Option<Departure> {
        let at = usize::from(id.get());
        let port = self.ports.get_mut(at)?.as_mut()?;
        if now < port.free_at || !port.up {
            return None;
        }
        let wire = std::mem::replace(&mut port.wire, Wire::Idle);
        if let Wire::Packet {
            in_port,
            in_class,
            class,
            length,
        } = wire
        {
            let counted = &mut port.classes[usize::from(class & 7)].counted;
            counted.sent += 1;
            counted.sent_bytes += u64::from(length);
            self.counters.sent += 1;
            self.release(now, in_port, in_class, length.into());
        }
        let overhead = self.config.wire_overhead.get();
        let port = self.ports.get_mut(at)?.as_mut()?;
        if port.says {
            let frame = self.store.keep(&port.say.to_bytes());
            port.say.times = [None; CLASSES];
            port.says = false;
            port.wire = Wire::Pfc;
            let length = pfc::FRAME_LEN as u64;
            return Some(Departure {
                until: port.occupy(now, length + overhead),
                length: Bytes::new(length),
                padding: 0,
                class: None,
                ing_prio: Priority::default(),
                frame,
            });
        }
        let ready = port.waiting & !port.paused;
        if ready == 0 {
            return None;
        }
        let (classes, store) = (&port.classes, &self.store);
        let by_rank = match self.config.ranked {
            Some(_) => !self.config.lossless.bits(),
            None => 0,
        };
        let ahead = |class: u8| match by_rank & bit(class) {
            0 => 0,
            _ => rank::most_urgent(store.ranks(&classes[usize::from(class & 7)].queue)),
        };
        let length = |class: u8| {
            let queue = &classes[usize::from(class & 7)].queue;
            queue.length_at(ahead(class))
        };
        let class = port
            .turn
            .pick(&self.config.scheduler, ready, port.waiting, length);
        let first = ahead(class);
        let place = &mut port.classes[usize::from(class & 7)];
        let packet = self.store.pop_at(&mut place.queue, first)?;
        place.last_sent = now;
        if place.queue.is_empty() {
            port.waiting &= !bit(class);
        }
        let length = packet.length;
        port.wire = Wire::Packet {
            in_port: packet.in_port,
            in_class: packet.in_class,
            class,
            length,
        };
        Some(Departure {
            until: port.occupy(now, u64::from(length) + overhead),
            length: Bytes::new(length.into()),
            padding: packet.padding,
            class: Some(Priority::new(class)),
            ing_prio: Priority::new(packet.in_class),
            frame: packet.frame,
        })
    }

    /// Says that a link came up or went down. What waits for a link that is down is thrown away,
    /// and counted; pauses in either direction end with the link.
    pub fn set_port_up(&mut self, now: Nanos, id: PortId, up: bool) {
        let Some(port) = self.port_mut(id) else {
            return;
        };
        if port.up == up {
            return;
        }
        port.up = up;
        port.heard.clear();
        for class in 0..CLASSES as u8 {
            self.unpause(now, id, class);
        }
        if up {
            self.renew_all(now, id);
        } else {
            self.flush(now, id);
        }
    }

    /// Throws a queue away; tells how many packets.
    fn flush_class(&mut self, now: Nanos, id: PortId, class: u8) -> u64 {
        let at = usize::from(class & 7);
        let mut flushed = 0;
        while let Some(port) = place(&mut self.ports, id)
            && let Some(packet) = self.store.pop_at(&mut port.classes[at].queue, 0)
        {
            port.classes[at].counters.flushed += 1;
            self.store.free(packet.frame);
            self.counters.flushed += 1;
            flushed += 1;
            self.release(now, packet.in_port, packet.in_class, packet.length.into());
        }
        if let Some(port) = self.port_mut(id) {
            port.waiting &= !bit(class);
        }
        flushed
    }

    fn flush(&mut self, now: Nanos, id: PortId) {
        for class in 0..CLASSES as u8 {
            self.flush_class(now, id, class);
        }
        let Some(port) = self.port_mut(id) else {
            return;
        };
        port.waiting = 0;
        port.says = false;
        port.say.times = [None; CLASSES];
        // What was on the wire, packet or PFC frame, is lost on it, but it has left the switch.
        port.free_at = now;
        if let Wire::Packet {
            in_port,
            in_class,
            length,
            ..
        } = std::mem::replace(&mut port.wire, Wire::Idle)
        {
            self.counters.sent += 1;
            self.release(now, in_port, in_class, length.into());
        }
    }
}

impl Port {
    fn new(config: PortConfig) -> Self {
        Self {
            wire: Wire::Idle,
            up: true,
            ready: false,
            says: false,
            waiting: 0,
            paused: 0,
            deaf: 0,
            dropping: 0,
            renewal_armed: 0,
            free_at: Nanos::default(),
            fraction: 0,
            turn: Turn::default(),
            classes: Default::default(),
            say: pfc::Repr {
                src: config.mac,
                times: [None; CLASSES],
            },
            heard: VecDeque::new(),
            config,
        }
    }

    /// Takes the wire for so many bytes; until when. Fractions of nanoseconds are carried over, so
    /// that a busy port keeps its rate.
    #[inline]
    fn occupy(&mut self, now: Nanos, bytes: u64) -> Nanos {
        let rate = self.config.rate.get();
        if now > self.free_at {
            self.fraction = 0;
        }
        let scaled = bytes
            .saturating_mul(8_000_000_000)
            .saturating_add(self.fraction);
        self.fraction = scaled % rate;
        self.free_at = Nanos::new(now.get().saturating_add(scaled / rate));
        self.free_at
    }
}
