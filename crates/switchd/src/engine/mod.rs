//! The engine: one thread owns the data plane (device, executor, ports); everybody else holds an [`EngineHandle`] and sends
//! it commands, which the thread serves between stretches of packets.
//!
//! The control plane keeps a copy of the control state of its own ([`control::Control`]): it checks batches there and hands
//! only what was accepted to the data plane, as a whole. Reads of tables never reach this thread; counters, meters, registers and
//! hit times live here and are fetched by short visits.
//!
//! Time is the thread's own monotonic clock, counted from the start of the engine, and passed down as an argument.

pub mod control;
pub mod io;
pub mod lossless;
mod notify;
mod thread;

use std::num::NonZeroU8;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Instant;

use crossbeam_channel::{Sender, bounded, unbounded};
use device::buffer::{Buffer, BufferConfig, BufferError, PortConfig};
use device::{EgressQueues, PortCounters, QueueRange, QueueSetting};
use p4exec::{BuildError, Compiled, Executor, Interpreter, Object, RuntimeState};
use p4ir::ValidProgram;
use quantities::{BitRate, Bytes, Nanos, PortId};
use serde::{Deserialize, Serialize};
use thiserror::Error;
use tokio::sync::mpsc;
use wire::MacAddr;

use crate::port_names::PortNames;
use io::{PortIo, Wake};
use lossless::Totals;
use notify::Notifier;
pub use notify::{Notification, PortChange};
use thread::{Command, CommandFlag, DataPlane, Injected};

/// An executor that can move to the data-plane thread.
pub type BoxedExecutor = Box<dyn Executor + Send>;

/// Which executor runs programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ExecutorKind {
    /// The reference interpreter.
    #[default]
    Interp,
    /// Machine code, made when a program is loaded.
    Compile,
}

impl ExecutorKind {
    /// An executor of this kind with the program's first state.
    ///
    /// # Errors
    /// [`BuildError`] if the program is not for v1model, or uses what the executor lacks.
    pub fn build(self, program: Arc<ValidProgram>) -> Result<BoxedExecutor, BuildError> {
        match self {
            Self::Interp => Ok(Box::new(Interpreter::new(program)?)),
            Self::Compile => Ok(Box::new(Compiled::new(program)?)),
        }
    }

    /// Does what takes long, and proves that the program's first state can be made: the rest, [`ExecutorKind::link`], takes time by the
    /// size of the program, and may be done in another process.
    ///
    /// # Errors
    /// As [`ExecutorKind::build`].
    pub fn prepare(self, program: Arc<ValidProgram>) -> Result<ReadyProgram, BuildError> {
        let object = match self {
            Self::Interp => {
                Interpreter::new(Arc::clone(&program))?;
                None
            }
            Self::Compile => Some(Compiled::generate(&program)?),
        };
        Ok(ReadyProgram { program, object })
    }

    /// An executor of this kind, with the program's first state, of what [`ExecutorKind::prepare`] made.
    ///
    /// # Errors
    /// As [`ExecutorKind::build`].
    pub fn link(self, ready: ReadyProgram) -> Result<BoxedExecutor, BuildError> {
        match (self, ready.object) {
            (Self::Compile, Some(object)) => Ok(Box::new(Compiled::link(ready.program, object)?)),
            _ => self.build(ready.program),
        }
    }
}

/// A program that is ready to be run, in this process or another of the same build.
#[derive(Debug)]
pub struct ReadyProgram {
    /// The program.
    pub program: Arc<ValidProgram>,
    /// Its machine code, for an executor that runs such.
    pub object: Option<Object>,
}

/// What an engine starts with.
#[derive(Clone, Debug, Default)]
pub struct EngineConfig {
    /// The ports at the start, all up until said otherwise.
    pub ports: Vec<PortId>,
    /// The port that leads to the controller; packets sent there become [`Notification::PacketIn`].
    pub cpu_port: Option<PortId>,
    /// What runs programs.
    pub executor: ExecutorKind,
    /// Egress queues per port, chosen by `standard_metadata.priority`; `None`: packets leave in order, whatever it is.
    pub queues: Option<NonZeroU8>,
    /// Packets wait in a lossless shared buffer like this one (PFC) until their port is free, instead of `queues`.
    pub lossless: Option<BufferConfig>,
    /// Where `random` starts.
    pub seed: u64,
    /// The origin of the engine's clock; now if absent.
    pub origin: Option<Instant>,
}

/// What the engine counted since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EngineCounters {
    /// Packets that came before any program.
    pub without_program: u64,
    /// Packets to the controller, digests and port changes that were lost because nobody took them.
    pub notifications_lost: u64,
}

/// Why the engine did not do what was asked.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum EngineError {
    /// It has stopped.
    #[error("the data plane has stopped")]
    Stopped,
    /// No program was loaded yet.
    #[error("no forwarding pipeline is loaded; set one with SetForwardingPipelineConfig")]
    NoProgram,
    /// The thread could not be started.
    #[error("the data-plane thread cannot be started: {0}")]
    Start(String),
    /// The buffer of a lossless switch cannot be like that.
    #[error(transparent)]
    Lossless(#[from] BufferError),
}

/// The CPU port of a lossless switch: it never is the bottleneck.
const CPU_RATE: BitRate = BitRate::gbps(100);
/// What the controller may send of a lossless class beyond the threshold.
const CPU_HEADROOM: Bytes = Bytes::new(1 << 16);

/// The buffer with a place for the controller's packets.
fn with_cpu(config: &EngineConfig) -> Result<Option<BufferConfig>, BufferError> {
    let Some(mut lossless) = config.lossless.clone() else {
        return Ok(None);
    };
    let known = |port| lossless.ports.iter().any(|p| p.port == port);
    if let Some(port) = config.cpu_port.filter(|port| !known(*port)) {
        lossless.ports.push(PortConfig {
            port,
            rate: CPU_RATE,
            headroom: CPU_HEADROOM,
            mac: MacAddr([0; 6]),
            reaction: Nanos::default(),
        });
    }
    Buffer::new(lossless.clone()).map(|_| Some(lossless))
}

/// The way to the data plane; clones reach the same one.
#[derive(Clone)]
pub struct EngineHandle {
    commands: Sender<Command>,
    waiting_flag: Arc<CommandFlag>,
    waker: Arc<dyn Wake>,
    origin: Instant,
    executor: ExecutorKind,
    seed: u64,
    cpu_port: Option<PortId>,
    port_names: Arc<PortNames>,
    injected: Arc<AtomicUsize>,
}

/// The engine itself: stops the thread when dropped.
pub struct Engine {
    handle: EngineHandle,
    thread: Option<JoinHandle<()>>,
}

impl Engine {
    /// Starts the thread. What it has to tell comes out of the receiver.
    ///
    /// # Errors
    /// [`EngineError::Start`] if the system gives no thread; [`EngineError::Lossless`].
    pub fn start(
        config: &EngineConfig,
        io: impl PortIo + 'static,
    ) -> Result<(Self, mpsc::Receiver<Notification>), EngineError> {
        let (commands, inbox) = unbounded();
        let (notifier, notifications) = Notifier::new();
        let lossless = with_cpu(config)?;
        let origin = config.origin.unwrap_or_else(Instant::now);
        let (waiting_flag, waker) = (Arc::new(CommandFlag::default()), io.waker());
        let handle = EngineHandle {
            commands,
            waiting_flag: Arc::clone(&waiting_flag),
            waker,
            origin,
            executor: config.executor,
            seed: config.seed,
            cpu_port: config.cpu_port,
            port_names: Arc::default(),
            injected: Arc::default(),
        };
        let (ports, cpu) = (&config.ports, config.cpu_port);
        let queues = config.queues.map(|count| EgressQueues::new(Some(count)));
        let plane = DataPlane::new(
            io,
            ports,
            cpu,
            queues,
            lossless,
            inbox,
            waiting_flag,
            notifier,
            origin,
        );
        let thread = std::thread::Builder::new()
            .name("data-plane".to_owned())
            .spawn(move || plane.run())
            .map_err(|e| EngineError::Start(e.to_string()))?;
        let engine = Self {
            handle,
            thread: Some(thread),
        };
        Ok((engine, notifications))
    }

    /// The way to it.
    #[must_use]
    pub const fn handle(&self) -> &EngineHandle {
        &self.handle
    }

    /// Ends the thread after the commands that were given before, and waits for it.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        // If it has ended already there is nothing to tell it.
        let _ = self.handle.send(Command::Stop);
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was already reported by its own hook.
            let _ = thread.join();
        }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.end();
    }
}

impl EngineHandle {
    fn send(&self, command: Command) -> Result<(), EngineError> {
        self.commands
            .send(command)
            .map_err(|_| EngineError::Stopped)?;
        self.waiting_flag.set();
        self.waker.wake();
        Ok(())
    }

    fn ask<R>(&self, make: impl FnOnce(Sender<R>) -> Command) -> Result<R, EngineError> {
        let (sender, receiver) = bounded(1);
        self.send(make(sender))?;
        receiver.recv().map_err(|_| EngineError::Stopped)
    }

    /// The port that leads to the controller.
    #[must_use]
    pub const fn cpu_port(&self) -> Option<PortId> {
        self.cpu_port
    }

    /// What the ports are called.
    #[must_use]
    pub const fn port_names(&self) -> &Arc<PortNames> {
        &self.port_names
    }

    /// Time on the engine's clock.
    #[must_use]
    pub fn now(&self) -> Nanos {
        let elapsed = self.origin.elapsed().as_nanos();
        Nanos::new(u64::try_from(elapsed).unwrap_or(u64::MAX))
    }

    /// An executor for a program, made on the caller's thread; [`EngineHandle::replace`] runs it.
    ///
    /// # Errors
    /// [`BuildError`] if the program cannot be run; the old one goes on.
    pub fn build(&self, program: Arc<ValidProgram>) -> Result<BoxedExecutor, BuildError> {
        let mut executor = self.executor.build(program)?;
        executor.state_mut().data.seed(self.seed);
        Ok(executor)
    }

    /// An executor for a program that [`ExecutorKind::prepare`] has made ready; [`EngineHandle::replace`] runs it.
    ///
    /// # Errors
    /// [`BuildError`] if the program cannot be run; the old one goes on.
    pub fn link(&self, ready: ReadyProgram) -> Result<BoxedExecutor, BuildError> {
        let mut executor = self.executor.link(ready)?;
        executor.state_mut().data.seed(self.seed);
        Ok(executor)
    }

    /// What runs programs.
    #[must_use]
    pub const fn executor(&self) -> ExecutorKind {
        self.executor
    }

    /// Runs another executor from the next packet on. The old one comes back, to be freed where that holds up nobody.
    ///
    /// # Errors
    /// [`EngineError::Stopped`].
    pub fn replace(&self, executor: BoxedExecutor) -> Result<Option<BoxedExecutor>, EngineError> {
        self.ask(|answer| Command::Replace(executor, answer))
    }

    /// Looks at or changes the data plane's state between two packets, and waits for the result. Be brief: packets wait.
    ///
    /// # Errors
    /// [`EngineError::NoProgram`] before the first program, [`EngineError::Stopped`].
    pub fn visit<R: Send + 'static>(
        &self,
        look: impl FnOnce(&mut RuntimeState, Nanos) -> R + Send + 'static,
    ) -> Result<R, EngineError> {
        let (sender, receiver) = bounded(1);
        self.send(Command::Visit(Box::new(move |state, now| {
            // The asker waits; if it is gone nobody needs the answer.
            let _ = sender.send(state.map(|state| look(state, now)));
        })))?;
        match receiver.recv() {
            Ok(Some(result)) => Ok(result),
            Ok(None) => Err(EngineError::NoProgram),
            Err(_) => Err(EngineError::Stopped),
        }
    }

    /// Takes a packet in as if it came from this port, without waiting. It must be a port of the switch.
    ///
    /// # Errors
    /// [`EngineError::Stopped`].
    pub fn inject(&self, port: PortId, packet: Vec<u8>) -> Result<(), EngineError> {
        let packet = Injected::new(packet, Arc::clone(&self.injected));
        self.send(Command::Inject(port, packet))
    }

    /// Bytes of packets that were injected and that the data plane has not taken yet.
    #[must_use]
    pub fn injected(&self) -> usize {
        self.injected.load(Ordering::Relaxed)
    }

    /// Says that a link came up or went down; the next packet that the data plane takes up sees it. Ports that do not exist are not minded.
    ///
    /// # Errors
    /// [`EngineError::Stopped`].
    pub fn set_port_up(&self, port: PortId, up: bool) -> Result<(), EngineError> {
        let told = self.now();
        self.send(Command::PortUp { port, up, told })
    }

    /// Adds a port, up, or takes one away.
    ///
    /// # Errors
    /// [`EngineError::Stopped`].
    pub fn set_port_exists(&self, port: PortId, exists: bool) -> Result<(), EngineError> {
        self.send(Command::PortExists(port, exists))
    }

    /// The ports in rising order (the CPU port too), and whether they are up.
    ///
    /// # Errors
    /// [`EngineError::Stopped`].
    pub fn ports(&self) -> Result<Vec<(PortId, bool)>, EngineError> {
        self.ask(Command::Ports)
    }

    /// What a port saw; `None` if there is no such port.
    ///
    /// # Errors
    /// [`EngineError::Stopped`].
    pub fn port_counters(&self, port: PortId) -> Result<Option<PortCounters>, EngineError> {
        self.ask(|answer| Command::PortCounters(port, answer))
    }

    /// Changes depth or rate of egress queues; whether there are such queues.
    ///
    /// # Errors
    /// [`EngineError::Stopped`].
    pub fn set_queues(
        &self,
        range: QueueRange,
        setting: QueueSetting,
    ) -> Result<bool, EngineError> {
        self.ask(|answer| Command::Queues(range, setting, answer))
    }

    /// What the engine itself counted.
    ///
    /// # Errors
    /// [`EngineError::Stopped`].
    pub fn counters(&self) -> Result<EngineCounters, EngineError> {
        self.ask(Command::Counters)
    }

    /// Looks at the buffer of a lossless switch between two packets; nothing if it is none, or has no program yet.
    ///
    /// # Errors
    /// [`EngineError::Stopped`].
    pub fn inspect<R: Send + 'static>(
        &self,
        look: impl FnOnce(&Buffer, Totals, Nanos) -> R + Send + 'static,
    ) -> Result<Option<R>, EngineError> {
        self.ask(|answer| {
            Command::Inspect(Box::new(move |buffer, totals, now| {
                // The asker waits; if it is gone nobody needs the answer.
                let _ = answer.send(buffer.map(|buffer| look(buffer, totals, now)));
            }))
        })
    }
}
