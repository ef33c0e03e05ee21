//! A data-plane thread: bursts of packets, and between them the control plane's commands.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, TryRecvError};
use device::buffer::Buffer;
use device::{Device, Egress, Frame, PortCounters, QueueRange, QueueSetting, Queues};
use p4exec::externs::digest::Digest;
use p4exec::{Executor as _, RuntimeState};
use quantities::{Nanos, PortId};

use super::io::{PacketBatch, PortIo};
use super::lossless::Totals;
use super::notify::{Notification, Notifier, PortChange};
use super::plane::{Running, Share};
use super::{BoxedExecutor, EngineConfig, EngineCounters};

/// Packets between two looks at the commands: a port that goes down is known within as many.
const LOOK_EVERY: usize = 32;

/// The longest sleep: commands wake the thread, so this only bounds the harm of a lost wake-up.
const LONGEST_SLEEP: Duration = Duration::from_millis(100);

/// Sleeping is no finer than this: a packet that may leave sooner is waited for awake.
const FINEST: Duration = Duration::from_millis(1);

/// Rounds without packet or command before the thread sleeps: waking costs more than looking again.
const IDLE_ROUNDS: u32 = 64;

/// Work for a thread with its state, the answer travels in the closure; nothing before the first
/// program, and where another thread answers for the state that they share.
pub(crate) type Visit = Box<dyn FnOnce(Option<&mut RuntimeState>, Nanos) + Send>;

/// Rates of a lossless switch are held by sleeping this finely; a thread that wakes late catches
/// up.
const FINE: Duration = Duration::from_micros(20);

/// Work for the thread that owns the buffer.
pub(crate) type Inspect = Box<dyn FnOnce(Option<&Buffer>, Totals, Nanos) + Send>;

/// What the control plane asks of the data plane.
pub(crate) enum Command {
    /// Runs another program from now on; the old executor comes back to be freed elsewhere.
    Replace(Share, crossbeam_channel::Sender<Option<Share>>),
    /// Looks at or changes the state between two packets.
    Visit(Visit),
    /// Takes a packet in as if it came from this port.
    Inject(PortId, Injected),
    /// A link came up or went down, said at this time.
    PortUp { port: PortId, up: bool, told: Nanos },
    /// A port came, or went.
    PortExists(PortId, bool),
    /// Counters of all ports.
    PortCounters(crossbeam_channel::Sender<Vec<(PortId, PortCounters)>>),
    /// Ports and whether they are up.
    Ports(crossbeam_channel::Sender<Vec<(PortId, bool)>>),
    /// Counters of the engine.
    Counters(crossbeam_channel::Sender<EngineCounters>),
    /// Changes egress queues; whether there are such.
    Queues(QueueRange, QueueSetting, crossbeam_channel::Sender<bool>),
    /// Looks at the lossless buffer.
    Inspect(Inspect),
    /// Ends the thread after the commands before it.
    Stop,
}

/// What a packet that waits takes besides its bytes.
const OVERHEAD: usize = 64;

/// A packet on its way to the data plane, counted while it waits.
pub(super) struct Injected {
    packet: Vec<u8>,
    waiting: Arc<AtomicUsize>,
}

impl Injected {
    pub(super) fn new(packet: Vec<u8>, waiting: Arc<AtomicUsize>) -> Self {
        waiting.fetch_add(packet.len() + OVERHEAD, Ordering::Relaxed);
        Self { packet, waiting }
    }
}

impl Drop for Injected {
    fn drop(&mut self) {
        self.waiting
            .fetch_sub(self.packet.len() + OVERHEAD, Ordering::Relaxed);
    }
}

/// Says that commands wait, so that the packet loop need not lock the channel.
#[derive(Default)]
pub(crate) struct CommandFlag(AtomicBool);

impl CommandFlag {
    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Release);
    }

    fn take(&self) -> bool {
        self.0.load(Ordering::Relaxed) && self.0.swap(false, Ordering::Acquire)
    }
}

/// Ports and egress before the first program: the device needs an executor.
enum Plane {
    Bare(Vec<(PortId, bool)>, Box<Egress>),
    Running(Box<Running>),
}

/// Where a thread gets its commands, and what it shares with the others.
pub(crate) struct Inbox {
    /// Which of the threads it is: the first one answers and tells where one is enough.
    pub(crate) number: usize,
    pub(crate) commands: Receiver<Command>,
    pub(crate) waiting_flag: Arc<CommandFlag>,
    pub(crate) notifier: Notifier,
    pub(crate) origin: Instant,
}

pub(crate) struct DataPlane<I> {
    io: I,
    inbox: Inbox,
    cpu_port: Option<PortId>,
    plane: Plane,
    is_lossless: bool,
    counters: EngineCounters,
    /// What a lossless switch lost.
    totals: Totals,
    received: PacketBatch,
    sent: PacketBatch,
    digests: Vec<Digest>,
}

impl<I: PortIo> DataPlane<I> {
    /// A thread's data plane, whose packets leave by `egress`.
    pub(crate) fn new(io: I, inbox: Inbox, config: &EngineConfig, egress: Egress) -> Self {
        let ports = config.ports.iter().chain(&config.cpu_port);
        let mut ports: Vec<_> = ports.map(|p| (*p, true)).collect();
        ports.sort_unstable();
        ports.dedup();
        Self {
            io,
            inbox,
            cpu_port: config.cpu_port,
            is_lossless: matches!(egress, Egress::Buffer(_)),
            plane: Plane::Bare(ports, Box::new(egress)),
            counters: EngineCounters::default(),
            totals: Totals::default(),
            received: PacketBatch::default(),
            sent: PacketBatch::default(),
            digests: Vec::new(),
        }
    }

    /// Runs until told to stop, or until nobody is left who could tell.
    pub(crate) fn run(mut self) {
        let mut idle = 0;
        // Ports that hold their rates wait all the time: looking again would cost more than waking.
        let (patience, finest) = match self.is_lossless {
            true => (1, FINE),
            false => (IDLE_ROUNDS, FINEST),
        };
        loop {
            let Some(commanded) = self.obey() else {
                return;
            };
            self.received.clear();
            self.io.receive(&mut self.received);
            if self.received.is_empty() {
                idle = if commanded { 0 } else { idle + 1 };
                let nap = self.release();
                if idle > patience && nap >= finest {
                    self.io.wait(Some(nap));
                } else {
                    std::hint::spin_loop();
                }
                continue;
            }
            idle = 0;
            if !self.burst() {
                return;
            }
        }
    }

    /// Sends packets whose time has come, and says how long nothing needs to be done.
    fn release(&mut self) -> Duration {
        let due = match &self.plane {
            Plane::Running(running) => running.device.poll_timeout(),
            Plane::Bare(..) => None,
        };
        let Some(due) = due else {
            return LONGEST_SLEEP;
        };
        let now = self.now();
        if due <= now {
            self.flush(now);
            return Duration::ZERO;
        }
        LONGEST_SLEEP.min(Duration::from_nanos(due.get() - now.get()))
    }

    fn now(&self) -> Nanos {
        since(self.inbox.origin)
    }

    /// Processes what was received, and sends in one go what came of each stretch. False: stop.
    fn burst(&mut self) -> bool {
        let received = std::mem::take(&mut self.received);
        let mut go_on = true;
        for start in (0..received.len()).step_by(LOOK_EVERY) {
            // Before the packets, not after: what was said before they came is in force for them.
            if self.obey().is_none() {
                go_on = false;
                break;
            }
            let now = self.now();
            let mut frames = [Frame::new(PortId::new(0), &[]); LOOK_EVERY];
            let packets = (start..received.len()).filter_map(|i| received.get(i));
            let mut count = 0;
            for (place, packet) in frames.iter_mut().zip(packets) {
                *place = Frame::new(packet.port, packet.bytes);
                count += 1;
            }
            self.accept(now, frames.get(..count).unwrap_or_default());
            self.flush(now);
        }
        self.received = received;
        go_on
    }

    fn accept(&mut self, now: Nanos, frames: &[Frame<'_>]) {
        let Plane::Running(running) = &mut self.plane else {
            self.counters.without_program += frames.len() as u64;
            return;
        };
        let shared = running.shares_state();
        let device = &mut *running.enter();
        // Time does not go back for a state that several threads have had.
        let now = if shared {
            since(self.inbox.origin)
        } else {
            now
        };
        device.accept(now, frames);
        if self.is_lossless {
            self.totals.count(frames, device.drops());
        }
        take_digests(device, &mut self.digests);
    }

    /// Sends what leaves by now, and tells the control plane what came for it.
    fn flush(&mut self, now: Nanos) {
        if let Plane::Running(running) = &mut self.plane {
            while let Some(frame) = running.device.poll_transmit(now) {
                if Some(frame.port) != self.cpu_port {
                    let queue = frame.queue.unwrap_or_default();
                    self.sent.push(frame.port, queue, frame.bytes);
                } else if frame.queue.is_some() {
                    // The controller gets no PFC frames.
                    let packet = Notification::PacketIn(frame.bytes.to_vec());
                    self.inbox.notifier.tell(packet);
                }
            }
        }
        if !self.sent.is_empty() {
            self.io.transmit(&self.sent);
            self.sent.clear();
        }
        for digest in self.digests.drain(..) {
            let notification = Notification::Digest(digest, now);
            self.inbox.notifier.tell(notification);
        }
    }

    /// Serves the commands that wait: whether there were any; `None` to stop.
    fn obey(&mut self) -> Option<bool> {
        if !self.inbox.waiting_flag.take() {
            return Some(false);
        }
        loop {
            match self.inbox.commands.try_recv() {
                Ok(Command::Stop) | Err(TryRecvError::Disconnected) => return None,
                Ok(command) => self.serve(command),
                Err(TryRecvError::Empty) => return Some(true),
            }
        }
    }

    fn serve(&mut self, command: Command) {
        let now = self.now();
        match command {
            Command::Replace(share, answer) => {
                // Whoever asked may have gone: then the old executor is freed here.
                let _ = answer.send(self.replace(share));
            }
            Command::Visit(visit) => match &mut self.plane {
                Plane::Running(running) if self.inbox.number == 0 || !running.shares_state() => {
                    visit(Some(running.enter().executor_mut().state_mut()), now);
                }
                _ => visit(None, now),
            },
            Command::Inject(port, bytes) => {
                self.accept(now, &[Frame::new(port, &bytes.packet)]);
                self.flush(now);
            }
            Command::PortUp { port, up, told } => {
                if self.set_port_up(now, port, up) && self.inbox.number == 0 {
                    let noted = self.now();
                    self.inbox.notifier.tell(Notification::Port(PortChange {
                        port,
                        up,
                        told,
                        noted,
                    }));
                }
                self.flush(now);
            }
            Command::Inspect(inspect) => {
                let buffer = match &self.plane {
                    Plane::Running(running) => running.device.buffer(),
                    Plane::Bare(..) => None,
                };
                inspect(buffer, self.totals, now);
            }
            Command::PortExists(port, exists) => self.set_port_exists(now, port, exists),
            Command::PortCounters(answer) => {
                let counters = match &self.plane {
                    Plane::Running(running) => {
                        let device = &running.device;
                        let counters = |(port, _)| Some((port, device.counters(port).ok()?));
                        device.ports().filter_map(counters).collect()
                    }
                    Plane::Bare(ports, _) => {
                        let none = |(port, _): &(PortId, bool)| (*port, PortCounters::default());
                        ports.iter().map(none).collect()
                    }
                };
                let _ = answer.send(counters);
            }
            Command::Ports(answer) => {
                let ports = match &self.plane {
                    Plane::Running(running) => running.device.ports().collect(),
                    Plane::Bare(ports, _) => ports.clone(),
                };
                let _ = answer.send(ports);
            }
            Command::Counters(answer) => {
                self.counters.notifications_lost = self.inbox.notifier.lost();
                let _ = answer.send(self.counters);
            }
            Command::Queues(range, setting, answer) => {
                let egress = match &mut self.plane {
                    Plane::Running(running) => running.device.egress_mut(),
                    Plane::Bare(_, egress) => egress,
                };
                let changed = set_queues(egress, self.cpu_port, range, setting);
                let _ = answer.send(changed);
            }
            Command::Stop => {}
        }
    }

    fn replace(&mut self, share: Share) -> Option<Share> {
        match &mut self.plane {
            Plane::Running(running) => Some(running.replace(share)),
            Plane::Bare(ports, egress) => {
                let (ports, egress) = (std::mem::take(ports), std::mem::take(&mut **egress));
                let mut device = Device::new(share.executor, ports.iter().map(|(port, _)| *port));
                device.set_egress(egress);
                for (port, up) in ports {
                    // They were just given to it.
                    let _ = device.set_link_up(Nanos::default(), port, up);
                }
                self.plane = Plane::Running(Box::new(Running::new(device, share.one)));
                None
            }
        }
    }

    /// Changes the status of a port; whether there is such a port.
    fn set_port_up(&mut self, now: Nanos, port: PortId, up: bool) -> bool {
        match &mut self.plane {
            Plane::Running(running) => running.enter().set_link_up(now, port, up).is_ok(),
            Plane::Bare(ports, _) => match ports.iter_mut().find(|(p, _)| *p == port) {
                Some(place) => {
                    place.1 = up;
                    true
                }
                None => false,
            },
        }
    }

    fn set_port_exists(&mut self, now: Nanos, port: PortId, exists: bool) {
        match &mut self.plane {
            Plane::Running(running) if exists => running.enter().add_port(now, port),
            // A port that is not there need not be taken away.
            Plane::Running(running) => drop(running.enter().remove_port(now, port)),
            Plane::Bare(ports, _) => {
                ports.retain(|(p, _)| exists || *p != port);
                if exists && !ports.iter().any(|(p, _)| *p == port) {
                    ports.push((port, true));
                    ports.sort_unstable();
                }
            }
        }
    }
}

/// Time on the engine's clock.
pub(super) fn since(origin: Instant) -> Nanos {
    let elapsed = origin.elapsed().as_nanos();
    Nanos::new(u64::try_from(elapsed).unwrap_or(u64::MAX))
}

/// Changes the queues of an egress; whether there are such queues. A buffer has its own.
fn set_queues(
    egress: &mut Egress,
    cpu_port: Option<PortId>,
    range: QueueRange,
    setting: QueueSetting,
) -> bool {
    match egress {
        Egress::Queues(queues) => queues.set(range, setting),
        Egress::Immediate(_) => {
            let mut queues = Queues::new(None, cpu_port);
            let changed = queues.set(range, setting);
            // Queues cost a copy of every packet: they are not made for nothing.
            if changed {
                *egress = Egress::Queues(queues);
            }
            changed
        }
        Egress::Buffer(_) => false,
    }
}

/// Takes the digests that packets made. To be called while the device has its state.
fn take_digests(device: &mut Device<BoxedExecutor>, into: &mut Vec<Digest>) {
    if !device.executor().state().data.digests.is_empty() {
        into.extend(device.executor_mut().state_mut().data.digests.take());
    }
}
