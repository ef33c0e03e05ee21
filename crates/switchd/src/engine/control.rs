//! The control plane's copy of the control state, and how batches get from it to the data plane as
//! a whole.
//!
//! A batch is made in a [`Transaction`] on the copy. To put it in force the copies change places:
//! the data plane gets the one that has the batch, between two packets and whatever the batch's
//! size, and the batch is made once more in the one that comes back. Packets never wait for a
//! batch, and none ever sees a part of one. Threads of the data plane have one copy together, and
//! each changes to the other when it comes to it; the old one is the control plane's again when the
//! last has left it.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use p4exec::externs::counter::CounterCell;
use p4exec::externs::meter::{Marked, MeterConfig};
use p4exec::state::{ControlState, Delta, Transaction};
use p4exec::tables::Slot;
use p4exec::{Executor as _, RuntimeState};
use p4ir::{ExternId, TableId};
use quantities::Nanos;

use super::{BoxedExecutor, EngineError, EngineHandle, Retired};

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

/// The control state as the control plane sees it: always that of the data plane after the last
/// commit.
pub struct Control {
    plane: Plane,
    /// Nobody else has it but while [`Control::commit`] runs.
    state: Arc<ControlState>,
}

impl Control {
    /// The copy for an executor that does not run yet; [`Control::launch`] lets it.
    #[must_use]
    pub fn new(engine: &EngineHandle, executor: BoxedExecutor) -> Self {
        Self {
            state: Arc::new(ControlState::clone(&executor.state().control)),
            plane: Plane::Waiting(engine.clone(), Mutex::new(executor)),
        }
    }

    /// Runs the executor from now on, with all that was committed before.
    ///
    /// What ran before comes back.
    ///
    /// # Errors
    /// [`EngineError::Stopped`].
    pub fn launch(&mut self) -> Result<Retired, EngineError> {
        let engine = self.engine().clone();
        let old = std::mem::replace(&mut self.plane, Plane::Running(engine.clone()));
        match old {
            Plane::Waiting(_, executor) => engine.replace(
                executor
                    .into_inner()
                    .unwrap_or_else(PoisonError::into_inner),
            ),
            Plane::Running(_) | Plane::Elsewhere(_) => Ok(Retired::default()),
        }
    }

    /// A copy of the state as it is, which no packet uses: it can be read, but what packets change
    /// cannot, and [`Control::commit`] reaches no data plane.
    #[must_use]
    pub fn copy(&self) -> Self {
        Self {
            plane: Plane::Elsewhere(self.engine().clone()),
            state: Arc::new(ControlState::clone(&self.state)),
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
        &self.state
    }

    /// Begins a batch; [`Control::commit`] puts what it changed in force.
    pub fn begin(&mut self) -> Transaction<'_> {
        Arc::make_mut(&mut self.state).begin()
    }

    /// Puts a batch that was made in the copy in force, and returns when the data plane has it.
    ///
    /// # Errors
    /// [`EngineError`] if there is no data plane any more.
    pub fn commit(&mut self, delta: Delta) -> Result<(), EngineError> {
        if delta.is_empty() {
            return Ok(());
        }
        self.state = match &mut self.plane {
            Plane::Waiting(engine, executor) => {
                let executor = executor.get_mut().unwrap_or_else(PoisonError::into_inner);
                let mut place = Arc::clone(&self.state);
                let state = executor.state_mut();
                state.swap_control(&mut place, &delta, engine.now());
                delta.replay(Arc::make_mut(&mut place));
                place
            }
            Plane::Elsewhere(_) => return Err(EngineError::NoProgram),
            Plane::Running(engine) => exchange(engine, &self.state, delta)?,
        };
        Ok(())
    }

    /// What cells of an indexed counter have counted, on all threads.
    ///
    /// # Errors
    /// [`EngineError`] if there is no data plane any more.
    pub fn counted(
        &self,
        counter: ExternId,
        range: Range<usize>,
    ) -> Result<Vec<CounterCell>, EngineError> {
        let look = move |state: &mut RuntimeState, _| {
            let cells = state.counter(counter).map(|array| array.cells.as_slice());
            let cells = cells.ok().and_then(|cells| cells.get(range));
            cells.unwrap_or_default().to_vec()
        };
        let all = self.visit_each(look)?;
        Ok(sum(all, |a, b| *a = a.with(b)))
    }

    /// Looks at the state with the registers, the meters and the times of hits between two packets:
    /// every packet sees that one.
    ///
    /// # Errors
    /// [`EngineError`] if there is no data plane any more.
    pub fn visit_one<R: Send + 'static>(
        &self,
        look: impl FnOnce(&mut RuntimeState, Nanos) -> R + Send + 'static,
    ) -> Result<R, EngineError> {
        match &self.plane {
            Plane::Running(engine) => engine.visit_first(look),
            Plane::Elsewhere(_) => Err(EngineError::NoProgram),
            Plane::Waiting(engine, executor) => {
                let mut executor = executor.lock().unwrap_or_else(PoisonError::into_inner);
                Ok(look(executor.state_mut(), engine.now()))
            }
        }
    }

    /// Looks at every state that packets change.
    fn visit_each<R: Send + 'static>(
        &self,
        look: impl FnOnce(&mut RuntimeState, Nanos) -> R + Clone + Send + 'static,
    ) -> Result<Vec<R>, EngineError> {
        match &self.plane {
            Plane::Running(engine) => engine.visit_each(|_| look.clone()),
            Plane::Waiting(..) | Plane::Elsewhere(_) => self.visit_one(look).map(|one| vec![one]),
        }
    }

    /// What packets did to some entries of a table, on all threads; `None` stands for the default
    /// entry.
    ///
    /// # Errors
    /// [`EngineError`] if there is no data plane any more.
    pub fn entry_data(
        &self,
        table: TableId,
        slots: Vec<Option<Slot>>,
    ) -> Result<Vec<EntryData>, EngineError> {
        let look = move |state: &mut RuntimeState, now: Nanos| {
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
        };
        let all = self.visit_each(look)?;
        Ok(sum(all, |a: &mut EntryData, b| {
            a.counter = a.counter.with(b.counter);
        }))
    }
}

/// Gives the data plane a copy that has a batch, and returns the one that it had, with the batch.
fn exchange(
    engine: &EngineHandle,
    new: &Arc<ControlState>,
    delta: Delta,
) -> Result<Arc<ControlState>, EngineError> {
    let delta = Arc::new(delta);
    let mut old = engine.visit_each(|thread| {
        let (mut place, delta) = (Arc::clone(new), Arc::clone(&delta));
        move |state: &mut RuntimeState, now: Nanos| {
            match thread {
                0 => state.swap_control(&mut place, &delta, now),
                _ => state.swap_control_beside(&mut place, &delta, now),
            }
            place
        }
    })?;
    // All threads have left the old copy: it is nobody's but ours when one of these is left.
    old.truncate(1);
    let mut old = old.pop().ok_or(EngineError::NoProgram)?;
    delta.replay(Arc::make_mut(&mut old));
    Ok(old)
}

/// What threads saw of the same things, together.
fn sum<T>(all: Vec<Vec<T>>, add: impl Fn(&mut T, T)) -> Vec<T> {
    let mut all = all.into_iter();
    let mut total = all.next().unwrap_or_default();
    for seen in all {
        total
            .iter_mut()
            .zip(seen)
            .for_each(|(total, seen)| add(total, seen));
    }
    total
}
