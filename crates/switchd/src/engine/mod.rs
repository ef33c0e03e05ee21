//! The engine: one thread or several, each with a data plane of its own (device, executor, ports),
//! on which a packet stays from its arrival to its end; everybody else holds an [`EngineHandle`]
//! and sends commands, which threads serve between stretches of packets.
//!
//! The control plane keeps a copy of the control state of its own ([`control::Control`]): it checks
//! batches there and hands only what was accepted to the data plane, as a whole. Reads of tables
//! never reach these threads; counters, meters, registers and hit times live there and are fetched
//! by short visits.
//!
//! All threads share one control state, which they only read. If packets do nothing but count,
//! every thread counts for itself and whoever reads sums up; what a program has of registers,
//! meters or idle timeouts is one state, which threads take in turns (`plane`; ADR 15).
//!
//! Time is a monotonic clock, counted from the start of the engine, and passed down as an argument.

pub mod control;
mod executor;
pub mod flow;
mod handle;
pub mod io;
pub mod lossless;
mod notify;
mod plane;
mod port_table;
mod thread;

use std::num::NonZeroU8;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Instant;

use crossbeam_channel::unbounded;
use device::Egress;
use device::buffer::{BufferConfig, BufferError, PortConfig};
use quantities::{BitRate, Bytes, Nanos, PortId};
use thiserror::Error;
use tokio::sync::mpsc;
use wire::MacAddr;

pub use executor::{BoxedExecutor, ExecutorKind, ReadyProgram, ThreadExecutor};
use handle::ThreadEnd;
pub use handle::{EngineHandle, Retired};
use io::PortIo;
use notify::Notifier;
pub use notify::{Notification, PortChange};
pub use port_table::{PortEvent, PortState, PortStates};
use thread::{CommandFlag, DataPlane, Inbox};

/// What an engine starts with.
#[derive(Clone, Debug, Default)]
pub struct EngineConfig {
    /// The ports at the start, all up until said otherwise.
    pub ports: Vec<PortId>,
    /// The port that leads to the controller; packets sent there become [`Notification::PacketIn`].
    pub cpu_port: Option<PortId>,
    /// What runs programs.
    pub executor: ExecutorKind,
    /// Egress queues per port, chosen by `standard_metadata.priority`; `None`: packets leave in
    /// order, whatever it is.
    pub queues: Option<NonZeroU8>,
    /// Packets wait in a lossless shared buffer like this one (PFC) until their port is free,
    /// instead of `queues`.
    pub lossless: Option<BufferConfig>,
    /// Where `random` starts; with several threads that have states of their own, the first of
    /// them, and the next one higher.
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
    /// There is no such port, or it is the CPU port.
    #[error("there is no port {0}")]
    NoPort(PortId),
    /// A thread could not be started.
    #[error("the data-plane thread cannot be started: {0}")]
    Start(String),
    /// This holds for all packets together, and threads see some each.
    #[error(
        "{0} take one thread of the data plane, which sees all packets; start the switch with one"
    )]
    OneThread(&'static str),
    /// The buffer of a lossless switch cannot be like that.
    #[error(transparent)]
    Lossless(#[from] BufferError),
}

/// The CPU port of a lossless switch: it never is the bottleneck.
const CPU_RATE: BitRate = BitRate::gbps(100);
/// What takes one thread, in [`EngineError::OneThread`].
const QUEUES: &str = "egress queues";
/// What the controller may send of a lossless class beyond the threshold.
const CPU_HEADROOM: Bytes = Bytes::new(1 << 16);

/// What packets leave by; a buffer has a place for the controller's packets.
fn egress(config: &EngineConfig) -> Result<Egress, BufferError> {
    let Some(mut lossless) = config.lossless.clone() else {
        let queues = |count| Egress::queues(Some(count), config.cpu_port);
        return Ok(config.queues.map_or_else(Egress::default, queues));
    };
    let known = |port| lossless.ports.iter().any(|p| p.port == port);
    if let Some(port) = config.cpu_port.filter(|port| !known(*port)) {
        lossless.ports.push(PortConfig {
            port,
            rate: CPU_RATE,
            headroom: CPU_HEADROOM,
            mac: MacAddr::from([0; 6]),
            reaction: Nanos::default(),
        });
    }
    Egress::buffer(lossless)
}

/// What a thread of the data plane is called, by its number.
#[must_use]
pub fn thread_name(number: usize) -> String {
    match number {
        0 => "data-plane".to_owned(),
        _ => format!("data-plane-{number}"),
    }
}

/// The engine itself: stops the threads when dropped.
pub struct Engine {
    handle: EngineHandle,
    threads: Vec<JoinHandle<()>>,
}

impl Engine {
    /// Starts one thread. What it has to tell comes out of the receiver.
    ///
    /// # Errors
    /// [`EngineError::Start`] if the system gives no thread; [`EngineError::Lossless`].
    pub fn start(
        config: &EngineConfig,
        io: impl PortIo + 'static,
    ) -> Result<(Self, mpsc::Receiver<Notification>), EngineError> {
        Self::start_threads(config, vec![io])
    }

    /// Starts a thread for each of these, which have the same ports and see to it that every packet
    /// comes to one of them, those of a flow to the same.
    ///
    /// # Errors
    /// As [`Engine::start`]; [`EngineError::OneThread`] for queues or a lossless buffer with
    /// several.
    pub fn start_threads<I: PortIo + 'static>(
        config: &EngineConfig,
        ios: Vec<I>,
    ) -> Result<(Self, mpsc::Receiver<Notification>), EngineError> {
        let egress = egress(config)?;
        if ios.len() > 1 && config.queues.is_some() {
            return Err(EngineError::OneThread(QUEUES));
        }
        if ios.len() > 1 && config.lossless.is_some() {
            return Err(EngineError::OneThread("lossless ports"));
        }
        let (notifier, notifications) = Notifier::new();
        let origin = config.origin.unwrap_or_else(Instant::now);
        let (mut ends, mut planes) = (Vec::new(), Vec::new());
        for (number, io) in ios.into_iter().enumerate() {
            let (commands, inbox) = unbounded();
            let waiting_flag = Arc::new(CommandFlag::default());
            ends.push(ThreadEnd::new(commands, &waiting_flag, io.waker()));
            let inbox = Inbox {
                number,
                commands: inbox,
                waiting_flag,
                notifier: notifier.another(),
                origin,
            };
            planes.push(DataPlane::new(io, inbox, config, egress.clone()));
        }
        let mut engine = Self {
            handle: EngineHandle::new(config, origin, ends)?,
            threads: Vec::new(),
        };
        for (number, plane) in planes.into_iter().enumerate() {
            let thread = std::thread::Builder::new().name(thread_name(number));
            let thread = thread.spawn(move || plane.run());
            let thread = thread.map_err(|e| EngineError::Start(e.to_string()))?;
            engine.threads.push(thread);
        }
        Ok((engine, notifications))
    }

    /// The way to it.
    #[must_use]
    pub const fn handle(&self) -> &EngineHandle {
        &self.handle
    }

    /// Ends the threads after the commands that were given before, and waits for them.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        self.handle.stop();
        for thread in self.threads.drain(..) {
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
