//! Packets that wait in a shared buffer: the rates of the ports and the timers of PFC in order of
//! time.

use std::collections::VecDeque;

use quantities::{Nanos, PortId};

use crate::buffer::{Buffer, Departure};
use crate::{Transmit, ports::Ports};

/// How late a device may be asked and still act at the time that was due. Whoever drives it by a
/// real clock is always late by a little; ports keep their rate on average nevertheless.
const CATCH_UP: Nanos = Nanos::new(20_000_000);

/// What becomes due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Task {
    /// A port has sent its frame.
    Free(PortId),
    /// The timers of the buffer.
    Timers,
}

/// A shared buffer, what its ports send, and what is due when.
#[derive(Clone, Debug)]
pub struct Buffered {
    pub(crate) buffer: Buffer,
    /// In order of time; what is due at the same time, in the order in which it was added.
    agenda: VecDeque<(Nanos, Task)>,
    /// The earliest time at which the agenda has the timers.
    armed: Option<Nanos>,
    /// Frames whose first bit has left, to be handed over.
    started: VecDeque<(PortId, Departure)>,
    /// The number of the frame that was handed over last: its bytes are in use until the next call.
    handed: Option<u32>,
    /// Tasks that are done.
    tasks: u64,
}

impl Buffered {
    pub(super) const fn new(buffer: Buffer) -> Self {
        Self {
            buffer,
            agenda: VecDeque::new(),
            armed: None,
            started: VecDeque::new(),
            handed: None,
            tasks: 0,
        }
    }

    pub(crate) const fn tasks(&self) -> u64 {
        self.tasks
    }

    /// The port of the task that is due next, if it is about a port.
    #[inline]
    pub(crate) fn next_port(&self) -> Option<PortId> {
        match self.agenda.front() {
            Some((_, Task::Free(port))) => Some(*port),
            Some((_, Task::Timers)) | None => None,
        }
    }

    /// Starts frames on the ports that have become ready, and notes when the timers go off. To be
    /// called after every change of the buffer.
    #[inline]
    pub(crate) fn settle(&mut self, now: Nanos, ports: &mut Ports) {
        if self.buffer.has_ready() {
            self.start_ready(now, ports);
        }
        if let Some(timer) = self.buffer.next_timer()
            && self.armed.is_none_or(|armed| timer < armed)
        {
            self.armed = Some(timer);
            self.add(timer, Task::Timers);
        }
    }

    fn start_ready(&mut self, now: Nanos, ports: &mut Ports) {
        while let Some(port) = self.buffer.next_ready() {
            if let Some(started) = self.start(now, port, ports) {
                self.started.push_back(started);
            }
        }
    }

    #[inline]
    fn start(
        &mut self,
        now: Nanos,
        port: PortId,
        ports: &mut Ports,
    ) -> Option<(PortId, Departure)> {
        let departure = self.buffer.start(now, port)?;
        ports.count_sent(port, departure.length.get());
        self.add(departure.until, Task::Free(port));
        Some((port, departure))
    }

    /// Adds a task behind those that are due at the same time.
    #[inline]
    fn add(&mut self, at: Nanos, task: Task) {
        if self.agenda.back().is_none_or(|(due, _)| *due <= at) {
            self.agenda.push_back((at, task));
        } else {
            let place = self.agenda.partition_point(|(due, _)| *due <= at);
            self.agenda.insert(place, (at, task));
        }
    }

    #[inline]
    pub(super) fn poll_transmit(&mut self, now: Nanos, ports: &mut Ports) -> Option<Transmit<'_>> {
        if let Some(handed) = self.handed.take() {
            self.buffer.free(handed);
        }
        let (port, departure) = loop {
            if !self.started.is_empty()
                && let Some(started) = self.started.pop_front()
            {
                break started;
            }
            if self.agenda.front().is_none_or(|(due, _)| *due > now) {
                return None;
            }
            if let Some(started) = self.work(now, ports) {
                break started;
            }
        };
        self.handed = Some(departure.frame());
        Some(Transmit {
            port,
            bytes: self.buffer.leaving(&departure),
            padding: departure.padding,
            queue: departure.class,
            ing_prio: departure.ing_prio,
            eg_prio: departure.class.unwrap_or_default(),
            until: departure.until,
        })
    }

    /// Does the next task; the frame that starts at the port that has become free. Frames of other
    /// ports, which that may set off, come after it.
    fn work(&mut self, now: Nanos, ports: &mut Ports) -> Option<(PortId, Departure)> {
        let (due, task) = self.agenda.pop_front()?;
        self.tasks += 1;
        let at = due.max(now - CATCH_UP);
        let started = match task {
            Task::Free(port) => self.start(at, port, ports),
            Task::Timers => {
                if self.armed == Some(due) {
                    self.armed = None;
                }
                self.buffer.run_timers(at);
                None
            }
        };
        self.settle(now, ports);
        started
    }

    #[inline]
    pub(super) fn poll_timeout(&self) -> Option<Nanos> {
        match self.started.is_empty() {
            true => self.agenda.front().map(|(due, _)| *due),
            false => Some(Nanos::new(0)),
        }
    }
}
