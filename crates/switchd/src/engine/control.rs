//! The control plane's copy of the control state, and how batches get from it to the data plane as a whole.
//!
//! A batch is made in a [`Transaction`] on the copy. To put it in force the copies change places: the data plane gets the one that
//! has the batch, between two packets and whatever the batch's size, and the batch is made once more in the one that comes back.
//! Packets never wait for a batch, and none ever sees a part of one.

use std::sync::{Arc, Mutex, PoisonError};

use p4exec::RuntimeState;
use p4exec::externs::counter::CounterCell;
use p4exec::externs::meter::{Marked, MeterConfig};
use p4exec::state::{ControlState, Delta, Transaction};
use p4exec::tables::Slot;
use p4ir::TableId;
use quantities::Nanos;

use super::{BoxedExecutor, EngineError, EngineHandle};

/// What packets did to an entry.
#[derive(Clone, Copy, Debug, Default)]
pub struct EntryData {
    /// Its direct counter.
    pub counter: CounterCell,
    /// The configuration of its direct meter.
    pub meter: Option<MeterConfig>,
    /// What the direct meter has marked, by colour.
    pub marked: Marked,
    /// How long ago a packet last hit it, or it was installed.
    pub since_hit: Nanos,
}

/// Where the program runs.
enum Plane {
    /// On the data-plane thread.
    Running(EngineHandle),
    /// Nowhere yet.
    Waiting(EngineHandle, Mutex<BoxedExecutor>),
    /// Elsewhere: this is a copy to be read.
    Elsewhere(EngineHandle),
}

/// The control state as the control plane sees it: always that of the data plane after the last commit.
pub struct Control {
    plane: Plane,
    /// Away only while [`Control::commit`] runs.
    state: Option<Box<ControlState>>,
}

/// Why the copy is always there: `commit` puts one back before it returns.
const STATE_PRESENT: &str = "commit puts a copy back";

impl Control {
    /// The copy for an executor that does not run yet; [`Control::launch`] lets it.
    #[must_use]
    pub fn new(engine: &EngineHandle, executor: BoxedExecutor) -> Self {
        Self {
            state: Some(Box::new(executor.state().control.clone())),
            plane: Plane::Waiting(engine.clone(), Mutex::new(executor)),
        }
    }

    /// Runs the executor from now on, with all that was committed before.
    ///
    /// The executor that ran before comes back.
    ///
    /// # Errors
    /// [`EngineError::Stopped`].
    pub fn launch(&mut self) -> Result<Option<BoxedExecutor>, EngineError> {
        let engine = self.engine().clone();
        let old = std::mem::replace(&mut self.plane, Plane::Running(engine.clone()));
        match old {
            Plane::Waiting(_, executor) => engine.replace(
                executor
                    .into_inner()
                    .unwrap_or_else(PoisonError::into_inner),
            ),
            Plane::Running(_) | Plane::Elsewhere(_) => Ok(None),
        }
    }

    /// A copy of the state as it is, which no packet uses: it can be read, but neither [`Control::visit`] nor
    /// [`Control::commit`] reach a data plane.
    #[must_use]
    pub fn copy(&self) -> Self {
        Self {
            plane: Plane::Elsewhere(self.engine().clone()),
            state: self.state.clone(),
        }
    }

    /// The way to the data plane.
    #[must_use]
    pub const fn engine(&self) -> &EngineHandle {
        match &self.plane {
            Plane::Running(engine) | Plane::Waiting(engine, _) | Plane::Elsewhere(engine) => engine,
        }
    }

    /// The state.
    #[must_use]
    pub fn state(&self) -> &ControlState {
        self.state.as_ref().expect(STATE_PRESENT)
    }

    /// Begins a batch; [`Control::commit`] puts what it changed in force.
    pub fn begin(&mut self) -> Transaction<'_> {
        self.state.as_mut().expect(STATE_PRESENT).begin()
    }

    /// Puts a batch that was made in the copy in force, and returns when the data plane has it.
    ///
    /// # Errors
    /// [`EngineError`] if there is no data plane any more.
    pub fn commit(&mut self, delta: Delta) -> Result<(), EngineError> {
        if delta.is_empty() {
            return Ok(());
        }
        let mut copy = self.state.take().expect(STATE_PRESENT);
        let swapped = match &mut self.plane {
            Plane::Waiting(engine, executor) => {
                let executor = executor.get_mut().unwrap_or_else(PoisonError::into_inner);
                let state = executor.state_mut();
                state.swap_control(&mut copy, &delta, engine.now());
                delta.replay(&mut copy);
                self.state = Some(copy);
                return Ok(());
            }
            Plane::Elsewhere(_) => {
                self.state = Some(copy);
                return Err(EngineError::NoProgram);
            }
            // The copy travels in a place of its own, so that it comes back even if nobody takes it.
            Plane::Running(engine) => {
                let place = Arc::new(Mutex::new(Some(copy)));
                let there = Arc::clone(&place);
                let swapped = engine.visit(move |state, now| {
                    let mut there = there.lock().unwrap_or_else(PoisonError::into_inner);
                    if let Some(copy) = there.as_mut() {
                        state.swap_control(copy, &delta, now);
                    }
                    delta
                });
                self.state = place.lock().unwrap_or_else(PoisonError::into_inner).take();
                swapped
            }
        };
        swapped?.replay(self.state.as_mut().expect(STATE_PRESENT));
        Ok(())
    }

    /// Looks at the state that packets change, between two of them.
    ///
    /// # Errors
    /// [`EngineError`] if there is no data plane any more.
    pub fn visit<R: Send + 'static>(
        &self,
        look: impl FnOnce(&mut RuntimeState, Nanos) -> R + Send + 'static,
    ) -> Result<R, EngineError> {
        match &self.plane {
            Plane::Running(engine) => engine.visit(look),
            Plane::Elsewhere(_) => Err(EngineError::NoProgram),
            Plane::Waiting(engine, executor) => {
                let mut executor = executor.lock().unwrap_or_else(PoisonError::into_inner);
                Ok(look(executor.state_mut(), engine.now()))
            }
        }
    }

    /// What packets did to some entries of a table, `None` standing for the default entry.
    ///
    /// # Errors
    /// [`EngineError`] if there is no data plane any more.
    pub fn entry_data(
        &self,
        table: TableId,
        slots: Vec<Option<Slot>>,
    ) -> Result<Vec<EntryData>, EngineError> {
        self.visit(move |state, now| {
            let Some(cells) = state.data.cells(table) else {
                return vec![EntryData::default(); slots.len()];
            };
            let data = |slot: &Option<Slot>| {
                let hit = slot.and_then(|slot| cells.last_hit(slot)).unwrap_or(now);
                EntryData {
                    counter: cells.counter(*slot),
                    meter: cells.meter_config(*slot),
                    marked: cells.marked(*slot),
                    since_hit: Nanos::new(now.get().saturating_sub(hit.get())),
                }
            };
            slots.iter().map(data).collect()
        })
    }
}
