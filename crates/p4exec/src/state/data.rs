//! The data part of the state: what packets change, and the ports.
//!
//! Direct counters, direct meters and times of last hits are kept per table and slot here, beside
//! the arrays of the extern objects; the entries themselves are in the control part.

use std::ops::Range;

use p4ir::{Entity as _, ExternId, TableId};
use quantities::{Bytes, Nanos, PortId};

use super::control::{Binding, ControlState, no_such};
use super::{Delta, StateError};
use crate::externs::counter::{CounterArray, CounterCell};
use crate::externs::digest::DigestQueue;
use crate::externs::meter::{Colour, Marked, Meter, MeterArray, MeterConfig, MeterKind};
use crate::externs::random::RandomSource;
use crate::externs::register::RegisterArray;
use crate::ports::PortSet;
use crate::tables::Slot;
use crate::tables::revision::Revision;
use crate::value::Bits;

/// The cells of one extern object.
#[derive(Clone, Debug)]
pub enum ExternState {
    /// `counter`.
    Counter(CounterArray),
    /// `meter`.
    Meter(MeterArray),
    /// `register`.
    Register(RegisterArray),
    /// An object without cells of its own: profiles are in the control part, direct counters and
    /// meters with their tables.
    None,
}

/// When an entry was last used.
#[derive(Clone, Copy, Debug, Default)]
struct Times {
    last_hit: Nanos,
    /// When the entry was last reported idle.
    reported: Nanos,
}

/// What the data part keeps for the entries of one table: only what the program asks for.
#[derive(Clone, Debug, Default)]
pub struct TableCells {
    counters: Option<Vec<CounterCell>>,
    meters: Option<Vec<Meter>>,
    times: Option<Vec<Times>>,
    default_counter: CounterCell,
    default_meter: Meter,
    /// The direct registers, which have a cell for each entry.
    registers: Vec<ExternId>,
}

/// The cell of a direct register for what a look-up found: the first one is that of a miss.
pub(crate) fn entry_cell(slot: Option<Slot>) -> u64 {
    slot.map_or(0, |slot| u64::from(slot) + 1)
}

/// The item of a slot, made if need be.
fn at<T: Clone + Default>(items: &mut Vec<T>, slot: Slot) -> &mut T {
    let slot = slot as usize;
    if slot >= items.len() {
        items.resize(slot + 1, T::default());
    }
    &mut items[slot]
}

impl TableCells {
    pub(super) fn new(binding: Binding, registers: Vec<ExternId>) -> Self {
        Self {
            registers,
            counters: binding.counter.then(Vec::new),
            meters: binding.meter.then(Vec::new),
            times: binding.idle_timeout.then(Vec::new),
            ..Self::default()
        }
    }

    /// Cells for the same things, nothing counted in them.
    fn empty(&self) -> Self {
        Self {
            counters: self.counters.as_ref().map(|_| Vec::new()),
            meters: self.meters.as_ref().map(|_| Vec::new()),
            times: self.times.as_ref().map(|_| Vec::new()),
            registers: self.registers.clone(),
            ..Self::default()
        }
    }

    /// Whether anything is kept for entries.
    #[inline]
    pub(crate) const fn keeps(&self) -> bool {
        self.counters.is_some()
            || self.meters.is_some()
            || self.times.is_some()
            || !self.registers.is_empty()
    }

    /// Notes that a packet hit an entry.
    #[inline]
    pub fn hit(&mut self, slot: Slot, now: Nanos) {
        if let Some(times) = &mut self.times {
            at(times, slot).last_hit = now;
        }
    }

    /// Counts a packet for an entry, or for the default action.
    #[inline]
    pub fn count(&mut self, slot: Option<Slot>, length: Bytes) {
        match (slot, &mut self.counters) {
            (None, _) => self.default_counter.count(length),
            (Some(slot), Some(counters)) => at(counters, slot).count(length),
            (Some(_), None) => {}
        }
    }

    /// Meters a packet for an entry, or for the default action.
    #[inline]
    pub fn meter(
        &mut self,
        slot: Option<Slot>,
        now: Nanos,
        kind: MeterKind,
        length: Bytes,
    ) -> Colour {
        match (slot, &mut self.meters) {
            (None, _) => self.default_meter.execute(now, kind, length),
            (Some(slot), Some(meters)) => at(meters, slot).execute(now, kind, length),
            (Some(_), None) => Colour::Green,
        }
    }

    /// The direct counter of an entry, or of the default action.
    #[must_use]
    pub fn counter(&self, slot: Option<Slot>) -> CounterCell {
        let Some(slot) = slot else {
            return self.default_counter;
        };
        let cells = self.counters.as_deref().unwrap_or_default();
        cells.get(slot as usize).copied().unwrap_or_default()
    }

    /// The configuration of the direct meter of an entry, or of the default action.
    #[must_use]
    pub fn meter_config(&self, slot: Option<Slot>) -> Option<MeterConfig> {
        let Some(slot) = slot else {
            return self.default_meter.config();
        };
        let cells = self.meters.as_deref().unwrap_or_default();
        cells.get(slot as usize).and_then(Meter::config)
    }

    /// What the direct meter of an entry, or of the default action, has marked.
    #[must_use]
    pub fn marked(&self, slot: Option<Slot>) -> Marked {
        let Some(slot) = slot else {
            return *self.default_meter.marked();
        };
        let cells = self.meters.as_deref().unwrap_or_default();
        cells
            .get(slot as usize)
            .map_or_else(Marked::default, |meter| *meter.marked())
    }

    /// When a packet last hit an entry (or it was installed); `None` if the table keeps no times.
    #[must_use]
    pub fn last_hit(&self, slot: Slot) -> Option<Nanos> {
        let times = self.times.as_deref()?.get(slot as usize);
        Some(times.map_or(Nanos::default(), |t| t.last_hit))
    }

    /// Makes the cells of a slot those of a new entry.
    fn reset(&mut self, slot: Slot, now: Nanos) {
        if let Some(counters) = &mut self.counters {
            *at(counters, slot) = CounterCell::default();
        }
        if let Some(meters) = &mut self.meters {
            *at(meters, slot) = Meter::default();
        }
        self.touch(slot, now);
    }

    fn touch(&mut self, slot: Slot, now: Nanos) {
        if let Some(times) = &mut self.times {
            *at(times, slot) = Times {
                last_hit: now,
                reported: now,
            };
        }
    }

    fn set_counter(&mut self, slot: Option<Slot>, value: CounterCell) {
        match (slot, &mut self.counters) {
            (None, _) => self.default_counter = value,
            (Some(slot), Some(counters)) => *at(counters, slot) = value,
            (Some(_), None) => {}
        }
    }

    fn set_meter(&mut self, slot: Option<Slot>, config: Option<MeterConfig>) {
        match (slot, &mut self.meters) {
            (None, _) => self.default_meter.configure(config),
            (Some(slot), Some(meters)) => at(meters, slot).configure(config),
            (Some(_), None) => {}
        }
    }

    fn set_marked(&mut self, slot: Option<Slot>, marked: Marked) {
        match (slot, &mut self.meters) {
            (None, _) => self.default_meter.set_marked(marked),
            (Some(slot), Some(meters)) => at(meters, slot).set_marked(marked),
            (Some(_), None) => {}
        }
    }
}

/// A change to the data part that belongs to a batch.
#[derive(Clone, Debug)]
pub(super) enum DataOp {
    /// An entry is new.
    Reset(TableId, Slot),
    /// An entry was changed: its idle time starts anew.
    Touch(TableId, Slot),
    DirectCounter(TableId, Option<Slot>, CounterCell),
    DirectMeter(TableId, Option<Slot>, Option<MeterConfig>),
    DirectMarked(TableId, Option<Slot>, Box<Marked>),
    Counter(ExternId, usize, CounterCell),
    Meter(ExternId, usize, Option<MeterConfig>),
    Marked(ExternId, usize, Box<Marked>),
    Register(ExternId, usize, Bits),
}

/// See the module documentation.
#[derive(Clone, Debug)]
pub struct DataState {
    pub(super) cells: Vec<TableCells>,
    pub(super) externs: Vec<ExternState>,
    /// The generator behind `random`.
    pub random: RandomSource,
    /// Messages not yet fetched.
    pub digests: DigestQueue,
    ports: PortSet,
    ports_revision: Revision,
    port_count: u16,
}

impl DataState {
    pub(super) fn new(cells: Vec<TableCells>, externs: Vec<ExternState>) -> Self {
        Self {
            cells,
            externs,
            random: RandomSource::new(0),
            digests: DigestQueue::default(),
            ports: PortSet::default(),
            ports_revision: Revision::new(),
            port_count: u16::MAX,
        }
    }

    /// Whether packets do nothing but count in it: then executors that run packets beside each
    /// other may have one each, and what was counted is the sum. A register, a meter or the time of
    /// a hit is one value that every packet has to see.
    #[must_use]
    pub fn only_counts(&self) -> bool {
        let counts =
            |state: &ExternState| matches!(state, ExternState::Counter(_) | ExternState::None);
        let cells = |cells: &TableCells| cells.meters.is_none() && cells.times.is_none();
        self.externs.iter().all(counts) && self.cells.iter().all(cells)
    }

    /// The part of another executor that runs packets beside this one's: the same ports, nothing
    /// counted.
    pub(super) fn beside(&self) -> Self {
        let zeroed = |state: &ExternState| match state {
            ExternState::Counter(counter) => {
                let (name, size) = (counter.name.clone(), counter.cells.len());
                ExternState::Counter(CounterArray::new(name, counter.kind, size))
            }
            other => other.clone(),
        };
        Self {
            cells: self.cells.iter().map(TableCells::empty).collect(),
            externs: self.externs.iter().map(zeroed).collect(),
            random: self.random.clone(),
            digests: DigestQueue::default(),
            ports: self.ports.clone(),
            ports_revision: self.ports_revision,
            port_count: self.port_count,
        }
    }

    /// The cells of a table's entries.
    #[must_use]
    pub fn cells(&self, id: TableId) -> Option<&TableCells> {
        self.cells.get(id.index())
    }

    /// The cells of a table's entries.
    #[must_use]
    #[inline]
    pub fn cells_mut(&mut self, id: TableId) -> Option<&mut TableCells> {
        self.cells.get_mut(id.index())
    }

    /// An extern object's cells.
    #[must_use]
    pub fn extern_state(&self, id: ExternId) -> Option<&ExternState> {
        self.externs.get(id.index())
    }

    /// An extern object's cells.
    #[must_use]
    pub fn extern_mut(&mut self, id: ExternId) -> Option<&mut ExternState> {
        self.externs.get_mut(id.index())
    }

    /// The cells of all extern objects.
    pub(crate) fn externs_mut(&mut self) -> &mut [ExternState] {
        &mut self.externs
    }

    /// An indexed counter.
    ///
    /// # Errors
    /// [`StateError::NoSuch`].
    pub fn counter(&self, id: ExternId) -> Result<&CounterArray, StateError> {
        match self.extern_state(id) {
            Some(ExternState::Counter(counter)) => Ok(counter),
            _ => Err(no_such("counter", id)),
        }
    }

    /// An indexed meter.
    ///
    /// # Errors
    /// [`StateError::NoSuch`].
    pub fn meter(&self, id: ExternId) -> Result<&MeterArray, StateError> {
        match self.extern_state(id) {
            Some(ExternState::Meter(meter)) => Ok(meter),
            _ => Err(no_such("meter", id)),
        }
    }

    /// A register array.
    ///
    /// # Errors
    /// [`StateError::NoSuch`].
    pub fn register(&self, id: ExternId) -> Result<&RegisterArray, StateError> {
        match self.extern_state(id) {
            Some(ExternState::Register(register)) => Ok(register),
            _ => Err(no_such("register", id)),
        }
    }

    /// Which ports are down.
    #[must_use]
    pub const fn ports(&self) -> &PortSet {
        &self.ports
    }

    /// Says that a port went up or down: members that watch it come and go at once, and the
    /// program's port status changes with the next packet.
    pub fn set_port_up(&mut self, port: PortId, up: bool) {
        if self.ports.set_up(port, up) {
            self.ports_revision = Revision::new();
        }
    }

    /// Changes with the ports that are up.
    #[inline]
    pub(crate) const fn ports_revision(&self) -> Revision {
        self.ports_revision
    }

    /// Whether a port is up. Ports are up until they are said to be down.
    #[must_use]
    pub fn is_port_up(&self, port: PortId) -> bool {
        self.ports.is_up(port)
    }

    /// Says that the switch has the ports below `count` only; until then it has all.
    pub const fn set_port_count(&mut self, count: u16) {
        self.port_count = count;
    }

    /// The port status as a bit string: bit *p* is set if the switch has port *p* and it is up.
    #[must_use]
    pub fn port_status(&self, width: u32) -> Bits {
        let have = width.min(u32::from(self.port_count));
        let mut bits = Bits::ones(have).resize_unsigned(width);
        for port in self.ports.down() {
            let port = u32::from(port.get());
            if port < have {
                bits = bits.with_slice(port, port, &Bits::zero(1));
            }
        }
        bits
    }

    /// Starts the random numbers over from another seed.
    pub fn seed(&mut self, seed: u64) {
        self.random = RandomSource::new(seed);
    }

    /// Brings the data part in line with a batch that the control part has taken: cells of new
    /// entries start anew, and written cells get their values. Takes time by the length of the
    /// batch, whatever the tables hold.
    pub fn apply(&mut self, delta: &Delta, now: Nanos) {
        for op in delta.data() {
            self.apply_one(op, now);
        }
    }

    /// The same in a state that runs packets beside the one that the batch was applied to: there
    /// written counters got their values, here they become zero, so that the sum is what was
    /// written.
    pub fn apply_beside(&mut self, delta: &Delta, now: Nanos) {
        for op in delta.data() {
            let zero = CounterCell::default();
            match op {
                DataOp::DirectCounter(table, slot, _) => {
                    self.apply_one(&DataOp::DirectCounter(*table, *slot, zero), now);
                }
                DataOp::Counter(id, index, _) => {
                    self.apply_one(&DataOp::Counter(*id, *index, zero), now);
                }
                other => self.apply_one(other, now),
            }
        }
    }

    fn apply_one(&mut self, op: &DataOp, now: Nanos) {
        match op {
            DataOp::Reset(table, slot) => {
                let Some(cells) = self.cells.get_mut(table.index()) else {
                    return;
                };
                cells.reset(*slot, now);
                for id in &cells.registers {
                    if let Some(ExternState::Register(register)) = self.externs.get_mut(id.index())
                    {
                        register.begin(*slot as usize + 1);
                    }
                }
            }
            DataOp::Touch(table, slot) => {
                if let Some(cells) = self.cells_mut(*table) {
                    cells.touch(*slot, now);
                }
            }
            DataOp::DirectCounter(table, slot, value) => {
                if let Some(cells) = self.cells_mut(*table) {
                    cells.set_counter(*slot, *value);
                }
            }
            DataOp::DirectMeter(table, slot, config) => {
                if let Some(cells) = self.cells_mut(*table) {
                    cells.set_meter(*slot, *config);
                }
            }
            DataOp::DirectMarked(table, slot, marked) => {
                if let Some(cells) = self.cells_mut(*table) {
                    cells.set_marked(*slot, **marked);
                }
            }
            DataOp::Counter(id, index, value) => {
                if let Some(ExternState::Counter(counter)) = self.extern_mut(*id)
                    && let Some(cell) = counter.cells.get_mut(*index)
                {
                    *cell = *value;
                }
            }
            DataOp::Meter(id, index, config) => {
                if let Some(ExternState::Meter(meter)) = self.extern_mut(*id)
                    && let Some(cell) = meter.cells.get_mut(*index)
                {
                    cell.configure(*config);
                }
            }
            DataOp::Marked(id, index, marked) => {
                if let Some(ExternState::Meter(meter)) = self.extern_mut(*id)
                    && let Some(cell) = meter.cells.get_mut(*index)
                {
                    cell.set_marked(**marked);
                }
            }
            DataOp::Register(id, index, value) => {
                if let Some(ExternState::Register(register)) = self.extern_mut(*id) {
                    register.write(*index, value);
                }
            }
        }
    }

    /// The entries in some slots of a table that have gone their idle timeout without a hit since
    /// they were last reported (or installed, changed or hit), in slot order; each is reported
    /// again after another timeout (P4Runtime 1.5, section 9.1.8). Takes time by the number of
    /// slots, so that who must not be held up long asks for a few at a time.
    pub fn take_idle(
        &mut self,
        control: &ControlState,
        table: TableId,
        now: Nanos,
        slots: Range<Slot>,
    ) -> Vec<Slot> {
        let Ok(entries) = control.table(table) else {
            return Vec::new();
        };
        let Some(times) = self.cells_mut(table).and_then(|c| c.times.as_mut()) else {
            return Vec::new();
        };
        let mut idle = Vec::new();
        for entry in entries.iter_from(slots.start) {
            let slot = entry.handle().0;
            if slot >= slots.end {
                break;
            }
            let timeout = entry.idle_timeout().get();
            if timeout == 0 {
                continue;
            }
            let times = at(times, slot);
            let since = times.last_hit.max(times.reported);
            if now.get().saturating_sub(since.get()) >= timeout {
                times.reported = now;
                idle.push(slot);
            }
        }
        idle
    }
}
