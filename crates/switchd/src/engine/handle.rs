//! The way to the data plane: commands for one thread or for all.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crossbeam_channel::{Sender, bounded};
use device::buffer::Buffer;
use device::{PortCounters, QueueRange, QueueSetting};
use p4exec::{BuildError, Executor as _, RuntimeState};
use p4ir::ValidProgram;
use quantities::{Nanos, PortId};
use tokio::sync::broadcast;

use super::io::Wake;
use super::lossless::Totals;
use super::plane::Share;
use super::port_table::{PortEvent, PortState, PortStates, PortTable};
use super::thread::{Command, CommandFlag, Injected, Visit, since};
use super::{
    BoxedExecutor, EngineConfig, EngineCounters, EngineError, ExecutorKind, QUEUES, ReadyProgram,
};
use crate::port_names::PortNames;

/// The way to one thread.
#[derive(Clone)]
pub(super) struct ThreadEnd {
    commands: Sender<Command>,
    waiting_flag: Arc<CommandFlag>,
    waker: Arc<dyn Wake>,
}

impl ThreadEnd {
    pub(super) fn new(
        commands: Sender<Command>,
        waiting_flag: &Arc<CommandFlag>,
        waker: Arc<dyn Wake>,
    ) -> Self {
        Self {
            commands,
            waiting_flag: Arc::clone(waiting_flag),
            waker,
        }
    }

    fn send(&self, command: Command) -> Result<(), EngineError> {
        self.commands
            .send(command)
            .map_err(|_| EngineError::Stopped)?;
        self.waiting_flag.set();
        self.waker.wake();
        Ok(())
    }
}

/// The way to the data plane; clones reach the same one.
#[derive(Clone)]
pub struct EngineHandle {
    first: ThreadEnd,
    others: Arc<[ThreadEnd]>,
    /// The ports. Locked while all threads get a command, so that commands have the same order
    /// there.
    table: Arc<Mutex<PortTable>>,
    origin: Instant,
    executor: ExecutorKind,
    seed: u64,
    cpu_port: Option<PortId>,
    port_names: Arc<PortNames>,
    injected: Arc<AtomicUsize>,
}

/// What ran before another program: freed when this is.
#[derive(Default)]
pub struct Retired {
    _old: Vec<Share>,
}

/// A visit whose result goes to who asked; nothing where there is no state.
fn visit<R: Send + 'static>(
    look: impl FnOnce(&mut RuntimeState, Nanos) -> R + Send + 'static,
    answer: Sender<Option<R>>,
) -> Visit {
    Box::new(move |state, now| {
        // The asker waits; if it is gone nobody needs the answer.
        let _ = answer.send(state.map(|state| look(state, now)));
    })
}

impl EngineHandle {
    /// The way to an engine of these threads.
    pub(super) fn new(
        config: &EngineConfig,
        origin: Instant,
        threads: Vec<ThreadEnd>,
    ) -> Result<Self, EngineError> {
        let mut threads = threads.into_iter();
        let no_ports = || EngineError::Start("nothing to serve".to_owned());
        let ports = config.ports.iter().copied();
        let ports = ports.filter(|port| config.cpu_port != Some(*port));
        Ok(Self {
            first: threads.next().ok_or_else(no_ports)?,
            others: threads.collect(),
            table: Arc::new(Mutex::new(PortTable::new(ports))),
            origin,
            executor: config.executor,
            seed: config.seed,
            cpu_port: config.cpu_port,
            port_names: Arc::default(),
            injected: Arc::default(),
        })
    }

    /// The ways to all threads, in their order.
    fn ends(&self) -> impl Iterator<Item = &ThreadEnd> {
        std::iter::once(&self.first).chain(self.others.iter())
    }

    /// Asks the first thread.
    fn ask<R>(&self, make: impl FnOnce(Sender<R>) -> Command) -> Result<R, EngineError> {
        let (sender, receiver) = bounded(1);
        self.first.send(make(sender))?;
        receiver.recv().map_err(|_| EngineError::Stopped)
    }

    /// Tells every thread, each by its number; two who tell at once are heard in the same order by
    /// all.
    fn tell_all(&self, make: impl FnMut(usize) -> Command) -> Result<(), EngineError> {
        self.tell_each(&self.table(), make)
    }

    fn table(&self) -> MutexGuard<'_, PortTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell_each(
        &self,
        _order: &PortTable,
        mut make: impl FnMut(usize) -> Command,
    ) -> Result<(), EngineError> {
        let mut numbered = self.ends().enumerate();
        numbered.try_for_each(|(number, end)| end.send(make(number)))
    }

    /// Asks every thread, and returns what they said in their order.
    fn ask_all<R>(
        &self,
        mut make: impl FnMut(usize, Sender<R>) -> Command,
    ) -> Result<Vec<R>, EngineError> {
        let mut answers = Vec::new();
        self.tell_all(|number| {
            let (sender, receiver) = bounded(1);
            answers.push(receiver);
            make(number, sender)
        })?;
        let answers = answers.into_iter();
        answers
            .map(|answer| answer.recv().map_err(|_| EngineError::Stopped))
            .collect()
    }

    /// Ends the threads after the commands that were given before.
    pub(super) fn stop(&self) {
        for end in self.ends() {
            // If it has ended already there is nothing to tell it.
            let _ = end.send(Command::Stop);
        }
    }

    /// How many threads run packets.
    #[must_use]
    pub fn threads(&self) -> usize {
        1 + self.others.len()
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
        since(self.origin)
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

    /// An executor for a program that [`ExecutorKind::prepare`] has made ready;
    /// [`EngineHandle::replace`] runs it.
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

    /// Runs another executor from the next packet on, beside it others of its kind on the other
    /// threads. The old ones come back, to be freed where that holds up nobody.
    ///
    /// # Errors
    /// [`EngineError::Stopped`].
    pub fn replace(&self, executor: BoxedExecutor) -> Result<Retired, EngineError> {
        let mut shares: Vec<Option<Share>> = Share::out(executor, self.threads(), self.seed)
            .into_iter()
            .map(Some)
            .collect();
        let old = self.ask_all(|number, answer| match shares[number].take() {
            Some(share) => Command::Replace(share, answer),
            // Every thread is told once.
            None => Command::Stop,
        })?;
        Ok(Retired {
            _old: old.into_iter().flatten().collect(),
        })
    }

    /// Looks at or changes the state of the first thread between two packets, and waits for the
    /// result. Registers, meters and the times of hits are there, whatever the number of threads;
    /// what each counts for itself is not: [`EngineHandle::visit_each`]. Be brief: packets wait.
    ///
    /// # Errors
    /// [`EngineError::NoProgram`] before the first program, [`EngineError::Stopped`].
    pub fn visit_first<R: Send + 'static>(
        &self,
        look: impl FnOnce(&mut RuntimeState, Nanos) -> R + Send + 'static,
    ) -> Result<R, EngineError> {
        let looked = self.ask(|answer| Command::Visit(visit(look, answer)))?;
        looked.ok_or(EngineError::NoProgram)
    }

    /// Looks at or changes every state that packets change, each between two packets, and waits for
    /// all: one for each thread if packets do nothing but count, else the one that all have. `make`
    /// is told which it is. Be brief: packets wait.
    ///
    /// # Errors
    /// As [`EngineHandle::visit_first`].
    pub fn visit_each<R: Send + 'static, F>(
        &self,
        mut make: impl FnMut(usize) -> F,
    ) -> Result<Vec<R>, EngineError>
    where
        F: FnOnce(&mut RuntimeState, Nanos) -> R + Send + 'static,
    {
        let looked = self.ask_all(|number, answer| Command::Visit(visit(make(number), answer)))?;
        let looked: Vec<R> = looked.into_iter().flatten().collect();
        if looked.is_empty() {
            return Err(EngineError::NoProgram);
        }
        Ok(looked)
    }

    /// Takes a packet in as if it came from this port, without waiting. It must be a port of the
    /// switch.
    ///
    /// # Errors
    /// [`EngineError::Stopped`].
    pub fn inject(&self, port: PortId, packet: Vec<u8>) -> Result<(), EngineError> {
        let packet = Injected::new(packet, Arc::clone(&self.injected));
        self.first.send(Command::Inject(port, packet))
    }

    /// Bytes of packets that were injected and that the data plane has not taken yet.
    #[must_use]
    pub fn injected(&self) -> usize {
        self.injected.load(Ordering::Relaxed)
    }

    /// Says that a link came up or went down; the next packet that the data plane takes up sees it.
    /// Ports that do not exist are not minded.
    ///
    /// # Errors
    /// [`EngineError::Stopped`].
    pub fn set_port_up(&self, port: PortId, up: bool) -> Result<(), EngineError> {
        let mut table = self.table();
        self.change_port(&mut table, port, up, |state| state.link_up = up)
    }

    /// Lets packets pass these ports, or not, whatever their links do; the next packet that the
    /// data plane takes up sees it. The interfaces themselves are not changed.
    ///
    /// # Errors
    /// [`EngineError::NoPort`], and nothing has changed; [`EngineError::Stopped`].
    pub fn set_ports_enabled(&self, ports: &BTreeMap<PortId, bool>) -> Result<(), EngineError> {
        let mut table = self.table();
        if let Some(port) = ports.keys().find(|port| !table.contains(**port)) {
            return Err(EngineError::NoPort(*port));
        }
        ports.iter().try_for_each(|(&port, &enabled)| {
            self.change_port(&mut table, port, enabled, |state| state.enabled = enabled)
        })
    }

    /// Changes a port in the table and in the data plane, and sends an event. `up` is the state of
    /// a port that the table does not have.
    fn change_port(
        &self,
        table: &mut PortTable,
        port: PortId,
        up: bool,
        change: impl FnOnce(&mut PortState),
    ) -> Result<(), EngineError> {
        let told = self.now();
        let changed = table.change(port, change);
        let up = changed.map_or(up, |(_, after)| after.is_up());
        self.tell_each(table, |_| Command::PortUp { port, up, told })?;
        if let Some((before, after)) = changed {
            table.announce(before, after);
        }
        Ok(())
    }

    /// Adds a port, up and enabled, or takes one away.
    ///
    /// # Errors
    /// [`EngineError::Stopped`].
    pub fn set_port_exists(&self, port: PortId, exists: bool) -> Result<(), EngineError> {
        let mut table = self.table();
        self.tell_each(&table, |_| Command::PortExists(port, exists))?;
        if self.cpu_port != Some(port) {
            table.set_exists(port, exists);
        }
        Ok(())
    }

    /// The ports, the CPU port excepted, in rising order.
    #[must_use]
    pub fn port_states(&self) -> PortStates {
        self.table().states()
    }

    /// Changes of ports from now on, each after the data plane has it.
    #[must_use]
    pub fn port_events(&self) -> broadcast::Receiver<PortEvent> {
        self.table().listen()
    }

    /// The ports in rising order (the CPU port too), and whether they are up.
    ///
    /// # Errors
    /// [`EngineError::Stopped`].
    pub fn ports(&self) -> Result<Vec<(PortId, bool)>, EngineError> {
        self.ask(Command::Ports)
    }

    /// What a port saw, on all threads; `None` if there is no such port.
    ///
    /// # Errors
    /// [`EngineError::Stopped`].
    pub fn port_counters(&self, port: PortId) -> Result<Option<PortCounters>, EngineError> {
        Ok(self.all_port_counters()?.remove(&port))
    }

    /// What every port saw (the CPU port too), on all threads.
    ///
    /// # Errors
    /// [`EngineError::Stopped`].
    pub fn all_port_counters(&self) -> Result<BTreeMap<PortId, PortCounters>, EngineError> {
        let mut sums: BTreeMap<PortId, PortCounters> = BTreeMap::new();
        let seen = self.ask_all(|_, answer| Command::PortCounters(answer))?;
        for (port, counters) in seen.into_iter().flatten() {
            let sum = sums.entry(port).or_default();
            *sum = sum.with(counters);
        }
        Ok(sums)
    }

    /// Changes depth or rate of egress queues; whether there are such queues.
    ///
    /// # Errors
    /// [`EngineError::OneThread`] if there are several threads; [`EngineError::Stopped`].
    pub fn set_queues(
        &self,
        range: QueueRange,
        setting: QueueSetting,
    ) -> Result<bool, EngineError> {
        if self.threads() > 1 {
            return Err(EngineError::OneThread(QUEUES));
        }
        self.ask(|answer| Command::Queues(range, setting, answer))
    }

    /// What the engine itself counted, on all threads.
    ///
    /// # Errors
    /// [`EngineError::Stopped`].
    pub fn counters(&self) -> Result<EngineCounters, EngineError> {
        let counted = self.ask_all(|_, answer| Command::Counters(answer))?;
        let sum = |a: EngineCounters, b: EngineCounters| EngineCounters {
            without_program: a.without_program + b.without_program,
            notifications_lost: a.notifications_lost + b.notifications_lost,
        };
        Ok(counted.into_iter().fold(EngineCounters::default(), sum))
    }

    /// Looks at the buffer of a lossless switch between two packets; nothing if it is none, or has
    /// no program yet.
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
