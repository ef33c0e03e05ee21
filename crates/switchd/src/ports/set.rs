//! All ports together: what a data-plane thread drives, and the handle that changes it while
//! packets flow.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crossbeam_channel::{Sender, bounded};
use linuxnet::Poller;
use quantities::{PortId, Priority};

use super::claim::Claims;
use super::links::Links;
use super::open::{PortOptions, Wire, open};
use super::{LineStats, PortBinding, PortError, PortSpec, lock};
use crate::engine::io::{PacketBatch, PortIo, Wake};
use crate::engine::{EngineError, EngineHandle};

/// The most frames taken from one port before the next has its turn.
const TURN: usize = 64;
/// Slots of the receive rings of all interfaces together, at the start: many interfaces have
/// shorter rings.
const SLOTS: usize = 1 << 16;
/// The fewest slots of a ring.
const FEWEST_SLOTS: usize = 512;
/// The highest port number; 511 is where v1model's `mark_to_drop` sends.
const HIGHEST: u16 = 510;

/// A port as the operator sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortInfo {
    /// Its number.
    pub port: PortId,
    /// What it is connected to.
    pub spec: PortSpec,
    /// What passed.
    pub stats: LineStats,
}

/// What the handle asks of a data-plane thread.
enum Change {
    Add(Box<Wire>),
    Remove(PortId),
    Stats(Sender<Vec<(PortId, LineStats)>>),
}

/// Between the handle and a thread.
struct Shared {
    changed: AtomicBool,
    changes: Mutex<Vec<Change>>,
    wake: linuxnet::Wake,
}

impl Shared {
    fn ask(&self, change: Change) {
        lock(&self.changes).push(change);
        self.changed.store(true, Ordering::Release);
        self.wake.wake();
    }
}

impl Wake for Shared {
    fn wake(&self) {
        self.wake.wake();
    }
}

/// The ports as a data-plane thread drives them.
pub struct PortSet {
    wires: Vec<Wire>,
    /// The place in `wires` of a port number.
    places: Vec<Option<usize>>,
    /// Whose turn is first.
    turn: usize,
    shared: Arc<Shared>,
    poller: Poller,
    files_from: Instant,
    /// Frames to ports that are not there.
    lost: u64,
    /// The frames to send by the place of their port; kept for its memory.
    order: Vec<(usize, usize)>,
}

/// The ways to all sets of ports, one for each thread.
type Sets = Arc<[Arc<Shared>]>;

/// The control side of the ports.
pub struct Ports {
    sets: Sets,
    bindings: Arc<Mutex<Vec<PortBinding>>>,
    claims: Arc<Mutex<Claims>>,
    options: PortOptions,
    engine: Option<EngineHandle>,
    links: Option<Links>,
}

impl Ports {
    /// Opens the ports: the handle, and the set for [`crate::engine::Engine::start`].
    ///
    /// # Errors
    /// The first port that cannot be opened.
    pub fn open(
        bindings: &[PortBinding],
        options: PortOptions,
    ) -> Result<(Self, PortSet), PortError> {
        let mut set = PortSet::new(&options)?;
        let ports = Self::fill(std::slice::from_mut(&mut set), bindings, options)?;
        Ok((ports, set))
    }

    /// Opens the ports for so many threads: the handle, and the sets for
    /// [`crate::engine::Engine::start_threads`].
    ///
    /// Frames that come in at interfaces and from files are shared out among the threads, those of
    /// a flow to one. Datagrams, and files that can be read only once, come to the first thread.
    /// All threads send by all ports.
    ///
    /// # Errors
    /// As [`Ports::open`]; interfaces that are to be opened by AF_XDP.
    pub fn open_threads(
        bindings: &[PortBinding],
        options: PortOptions,
        threads: usize,
    ) -> Result<(Self, Vec<PortSet>), PortError> {
        let sets = (0..threads).map(|_| PortSet::new(&options));
        let mut sets = sets.collect::<Result<Vec<_>, _>>()?;
        let ports = Self::fill(&mut sets, bindings, options)?;
        Ok((ports, sets))
    }

    fn fill(
        sets: &mut [PortSet],
        bindings: &[PortBinding],
        mut options: PortOptions,
    ) -> Result<Self, PortError> {
        let rings = bindings.len().max(1) * sets.len().max(1);
        let share = (SLOTS / rings).max(FEWEST_SLOTS);
        options.packet.ring_frames = options.packet.ring_frames.min(share);
        let mut known: Vec<PortBinding> = Vec::new();
        let mut claims = Claims::new();
        for binding in bindings {
            check(binding, &known, &options)?;
            let (wires, claim) = open(binding, &options, &claims, sets.len())?;
            for (set, wire) in sets.iter_mut().zip(wires) {
                set.add(wire);
            }
            claims.extend(claim.map(|claim| (binding.port, claim)));
            known.push(binding.clone());
        }
        Ok(Self {
            sets: sets.iter().map(|set| Arc::clone(&set.shared)).collect(),
            bindings: Arc::new(Mutex::new(known)),
            claims: Arc::new(Mutex::new(claims)),
            options,
            engine: None,
            links: None,
        })
    }

    /// The numbers of the ports, rising.
    #[must_use]
    pub fn numbers(&self) -> Vec<PortId> {
        let mut numbers: Vec<_> = lock(&self.bindings).iter().map(|b| b.port).collect();
        numbers.sort_unstable();
        numbers
    }

    /// The ports and what they are connected to, by rising number.
    #[must_use]
    pub fn bindings(&self) -> Vec<PortBinding> {
        let mut bindings = lock(&self.bindings).clone();
        bindings.sort_by_key(|binding| binding.port);
        bindings
    }

    /// Tells the engine from now on which links are up; it has been told of every link when this
    /// returns.
    ///
    /// # Errors
    /// [`PortError::Setup`] when links cannot be watched.
    pub fn attach(&mut self, engine: &EngineHandle) -> Result<(), PortError> {
        self.engine = Some(engine.clone());
        for binding in lock(&self.bindings).iter() {
            name(engine, binding);
        }
        let reopen = {
            let (sets, options) = (Arc::clone(&self.sets), self.options.clone());
            let claims = Arc::clone(&self.claims);
            move |binding: &PortBinding| {
                let mut claims = lock(&claims);
                match open(binding, &options, &claims, sets.len()) {
                    Ok((wires, claim)) => {
                        claims.extend(claim.map(|claim| (binding.port, claim)));
                        for (set, wire) in sets.iter().zip(wires) {
                            set.ask(Change::Remove(binding.port));
                            set.ask(Change::Add(Box::new(wire)));
                        }
                        true
                    }
                    Err(error) => {
                        tracing::warn!(%error, "the interface is there again and does not open");
                        false
                    }
                }
            }
        };
        let bindings = Arc::clone(&self.bindings);
        self.links = Some(Links::watch(bindings, engine.clone(), reopen)?);
        Ok(())
    }

    /// Adds a port while packets flow.
    ///
    /// # Errors
    /// A number that is taken or out of range, or a line that cannot be opened.
    pub fn add(&mut self, binding: PortBinding) -> Result<(), PortError> {
        {
            let mut bindings = lock(&self.bindings);
            check(&binding, &bindings, &self.options)?;
            let mut claims = lock(&self.claims);
            let (wires, claim) = open(&binding, &self.options, &claims, self.sets.len())?;
            claims.extend(claim.map(|claim| (binding.port, claim)));
            // The data plane first: it would lose what comes from a port that it does not know.
            self.tell(|engine| {
                name(engine, &binding);
                engine.set_port_exists(binding.port, true)
            });
            for (set, wire) in self.sets.iter().zip(wires) {
                set.ask(Change::Add(Box::new(wire)));
            }
            bindings.push(binding.clone());
        }
        if let Some(links) = &self.links {
            links.look_again();
        }
        Ok(())
    }

    /// Takes a port away while packets flow.
    ///
    /// # Errors
    /// [`PortError::Unknown`].
    pub fn remove(&mut self, port: PortId) -> Result<(), PortError> {
        {
            let mut bindings = lock(&self.bindings);
            let place = bindings.iter().position(|b| b.port == port);
            bindings.remove(place.ok_or(PortError::Unknown(port))?);
            lock(&self.claims).remove(&port);
        }
        self.tell(|engine| engine.set_port_exists(port, false));
        for set in self.sets.iter() {
            set.ask(Change::Remove(port));
        }
        Ok(())
    }

    fn tell(&self, what: impl FnOnce(&EngineHandle) -> Result<(), EngineError>) {
        if let Some(engine) = &self.engine {
            // An engine that has stopped has no ports.
            let _ = what(engine);
        }
    }

    /// The ports with what passed over each, by rising number. What passed is unknown (zero) when
    /// the data plane has stopped.
    #[must_use]
    pub fn list(&self) -> Vec<PortInfo> {
        let answers = self.sets.iter().map(|set| {
            let (sender, receiver) = bounded(1);
            set.ask(Change::Stats(sender));
            receiver
        });
        let answers: Vec<_> = answers.collect();
        let deadline = Instant::now() + Duration::from_secs(1);
        let stats: Vec<(PortId, LineStats)> = answers
            .iter()
            .flat_map(|answer| answer.recv_deadline(deadline).unwrap_or_default())
            .collect();
        let mut list: Vec<PortInfo> = lock(&self.bindings)
            .iter()
            .map(|binding| PortInfo {
                port: binding.port,
                spec: binding.spec.clone(),
                stats: stats
                    .iter()
                    .filter(|(port, _)| *port == binding.port)
                    .map(|(_, stats)| *stats)
                    .fold(LineStats::default(), LineStats::with),
            })
            .collect();
        list.sort_by_key(|info| info.port);
        list
    }
}

impl fmt::Debug for Ports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ports")
            .field("bindings", &*lock(&self.bindings))
            .finish_non_exhaustive()
    }
}

/// Tells the control plane what a port is called.
fn name(engine: &EngineHandle, binding: &PortBinding) {
    let interface = match &binding.spec {
        PortSpec::Interface(name) => Some(name.as_str()),
        _ => None,
    };
    engine.port_names().set(binding.port, interface);
}

/// Whether a port may have this number and this interface.
fn check(
    binding: &PortBinding,
    known: &[PortBinding],
    options: &PortOptions,
) -> Result<(), PortError> {
    let port = binding.port;
    if port.get() > HIGHEST {
        return Err(PortError::Range(port));
    }
    if options.cpu_port == Some(port) {
        return Err(PortError::Cpu(port));
    }
    if known.iter().any(|b| b.port == port) {
        return Err(PortError::Taken(port));
    }
    if let PortSpec::Interface(interface) = &binding.spec
        && let Some(other) = known.iter().find(|b| b.spec == binding.spec)
    {
        return Err(PortError::Shared {
            port,
            interface: interface.clone(),
            other: other.port,
        });
    }
    Ok(())
}

impl PortSet {
    fn new(options: &PortOptions) -> Result<Self, PortError> {
        let poller = Poller::new()?;
        let shared = Arc::new(Shared {
            changed: AtomicBool::new(false),
            changes: Mutex::new(Vec::new()),
            wake: poller.wake(),
        });
        Ok(Self {
            wires: Vec::new(),
            places: Vec::new(),
            turn: 0,
            shared,
            poller,
            files_from: Instant::now() + options.files_wait,
            lost: 0,
            order: Vec::new(),
        })
    }

    fn add(&mut self, wire: Wire) {
        if let Some(descriptor) = wire.line.descriptor()
            && let Err(error) = self.poller.add(&descriptor)
        {
            tracing::error!(port = %wire.port, %error, "the port may be served late");
        }
        self.wires.push(wire);
        self.index();
    }

    fn remove(&mut self, port: PortId) {
        // Closing a descriptor ends waiting for it.
        self.wires.retain(|wire| wire.port != port);
        self.index();
    }

    fn index(&mut self) {
        self.places.clear();
        for (place, wire) in self.wires.iter().enumerate() {
            let number = usize::from(wire.port.get());
            if self.places.len() <= number {
                self.places.resize(number + 1, None);
            }
            self.places[number] = Some(place);
        }
        self.turn = 0;
    }

    #[cold]
    fn change(&mut self) {
        self.shared.changed.store(false, Ordering::Relaxed);
        let changes = std::mem::take(&mut *lock(&self.shared.changes));
        for change in changes {
            match change {
                Change::Add(wire) => self.add(*wire),
                Change::Remove(port) => self.remove(port),
                Change::Stats(answer) => {
                    let stats = |wire: &mut Wire| (wire.port, wire.line.stats());
                    // Who asked may have given up.
                    let _ = answer.send(self.wires.iter_mut().map(stats).collect());
                }
            }
        }
    }

    /// Plays in frames of input files, in the order in which they were captured, over all files.
    fn play(&mut self, batch: &mut PacketBatch) {
        if Instant::now() < self.files_from {
            return;
        }
        for _ in 0..TURN {
            let inputs = self.wires.iter_mut().filter_map(|wire| wire.input.as_mut());
            let timed = inputs.filter_map(|input| input.time().map(|time| (time, input)));
            let Some((_, input)) = timed.min_by_key(|(time, input)| (*time, input.port)) else {
                return;
            };
            let (port, frame) = (input.port, input.take().unwrap_or_default());
            batch.push(port, Priority::default(), &frame);
        }
    }

    fn has_input(&self) -> bool {
        let inputs = self.wires.iter().filter_map(|wire| wire.input.as_ref());
        inputs.into_iter().any(|input| input.time().is_some())
    }
}

impl PortIo for PortSet {
    fn receive(&mut self, batch: &mut PacketBatch) {
        if self.shared.changed.load(Ordering::Acquire) {
            self.change();
        }
        let count = self.wires.len();
        for step in 0..count {
            let place = (self.turn + step) % count;
            let Wire {
                port, line, tap, ..
            } = &mut self.wires[place];
            match tap {
                None => {
                    line.receive(TURN, &mut |frame| {
                        batch.push(*port, Priority::default(), frame)
                    });
                }
                Some(tap) => {
                    let mut log = lock(&tap.inward);
                    let taken = line.receive(TURN, &mut |frame| {
                        log.write(frame);
                        batch.push(*port, Priority::default(), frame);
                    });
                    if taken > 0 {
                        log.flush();
                    }
                }
            }
        }
        if count > 0 {
            self.turn = (self.turn + 1) % count;
        }
        if self.has_input() {
            self.play(batch);
        }
    }

    fn transmit(&mut self, batch: &PacketBatch) {
        self.order.clear();
        for (number, packet) in batch.iter().enumerate() {
            let place = self.places.get(usize::from(packet.port.get()));
            match place.copied().flatten() {
                Some(place) => self.order.push((place, number)),
                None => self.lost += 1,
            }
        }
        // Every port gets its packets at once, and in order.
        self.order.sort_by_key(|(place, _)| *place);
        for run in self.order.chunk_by(|a, b| a.0 == b.0) {
            let Some(wire) = self.wires.get_mut(run[0].0) else {
                continue;
            };
            let frame = |(_, number): &(usize, usize)| Some(batch.get(*number)?.bytes);
            if let Some(tap) = &mut wire.tap {
                let mut log = lock(&tap.outward);
                for frame in run.iter().filter_map(frame) {
                    log.write(frame);
                }
                log.flush();
            }
            wire.line.send_all(&mut run.iter().filter_map(frame));
        }
    }

    fn wait(&mut self, timeout: Option<Duration>) {
        let mut timeout = timeout;
        if self.has_input() {
            let left = self.files_from.saturating_duration_since(Instant::now());
            timeout = Some(timeout.map_or(left, |t| t.min(left)));
        }
        if let Err(error) = self.poller.wait(timeout) {
            tracing::error!(%error, "waiting for packets");
        }
        for wire in &mut self.wires {
            wire.line.woken();
        }
    }

    fn waker(&self) -> Arc<dyn Wake> {
        Arc::clone(&self.shared) as Arc<dyn Wake>
    }
}
