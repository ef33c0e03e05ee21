//! The control plane's copy of the state, and how batches of changes get from it to the data plane as a whole.

use std::sync::{Mutex, PoisonError};

use p4exec::externs::counter::CounterCell;
use p4exec::externs::meter::MeterConfig;
use p4exec::state::Undone;
use p4exec::tables::{EntryHandle, EntryPriority, FieldMatch, Table};
use p4exec::{RuntimeState, StateError, Update};
use p4ir::TableId;
use units::Nanos;

use super::{BoxedExecutor, EngineError, EngineHandle};

/// An entry by what the control plane knows it by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EntryName {
    /// One match per key field.
    pub key: Vec<FieldMatch>,
    /// Its priority.
    pub priority: EntryPriority,
}

/// A change of the state.
#[derive(Clone, Debug)]
pub enum Change {
    /// Of anything that updates know.
    State(Update),
    /// Of the direct counter of an entry.
    DirectCounter(TableId, EntryName, CounterCell),
    /// Of the direct meter of an entry.
    DirectMeter(TableId, EntryName, Option<MeterConfig>),
}

/// What packets did to an entry.
#[derive(Clone, Copy, Debug, Default)]
pub struct EntryData {
    /// Its direct counter.
    pub counter: CounterCell,
    /// The configuration of its direct meter.
    pub meter: Option<MeterConfig>,
    /// How long ago a packet last hit it, or it was installed.
    pub since_hit: Nanos,
}

/// Where the program runs.
enum Plane {
    /// On the data-plane thread.
    Running(EngineHandle),
    /// Nowhere yet.
    Waiting(EngineHandle, Mutex<BoxedExecutor>),
}

/// A point to go back to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mark {
    undone: usize,
    pending: usize,
}

/// The state as the control plane sees it. Entries, profiles, replication and value sets are always those that the data plane
/// has after the last committed batch; counters, meters, registers and hit times here mean nothing, ask the data plane for
/// them with [`Control::visit`].
pub struct Control {
    plane: Plane,
    state: RuntimeState,
    pending: Vec<Change>,
    undone: Vec<Undone>,
}

fn find(table: &Table, name: &EntryName) -> Result<EntryHandle, StateError> {
    Ok(table.find(&name.key, name.priority)?)
}

/// Makes a change in the data plane; the copy has accepted it before.
fn make(state: &mut RuntimeState, change: Change, now: Nanos) -> Result<(), StateError> {
    let update = match change {
        Change::State(update) => update,
        Change::DirectCounter(table, name, value) => Update::SetDirectCounter {
            table,
            entry: find(state.table(table)?, &name)?,
            value,
        },
        Change::DirectMeter(table, name, config) => Update::SetDirectMeter {
            table,
            entry: find(state.table(table)?, &name)?,
            config,
        },
    };
    state.apply(update, now)
}

fn make_all(state: &mut RuntimeState, changes: Vec<Change>, now: Nanos) {
    for change in changes {
        if let Err(error) = make(state, change, now) {
            // The copy accepted it and both are the same, so this cannot be.
            tracing::error!(%error, "the data plane refused what its copy accepted");
        }
    }
}

impl Control {
    /// The copy for an executor that does not run yet; [`Control::launch`] lets it.
    #[must_use]
    pub fn new(engine: &EngineHandle, executor: BoxedExecutor) -> Self {
        Self {
            state: executor.state().clone(),
            plane: Plane::Waiting(engine.clone(), Mutex::new(executor)),
            pending: Vec::new(),
            undone: Vec::new(),
        }
    }

    /// Runs the executor from now on, with all that was committed before.
    ///
    /// # Errors
    /// [`EngineError::Stopped`].
    pub fn launch(&mut self) -> Result<(), EngineError> {
        let engine = self.engine().clone();
        let old = std::mem::replace(&mut self.plane, Plane::Running(engine.clone()));
        match old {
            Plane::Waiting(_, executor) => engine.replace(
                executor
                    .into_inner()
                    .unwrap_or_else(PoisonError::into_inner),
            ),
            Plane::Running(_) => Ok(()),
        }
    }

    /// The way to the data plane.
    #[must_use]
    pub const fn engine(&self) -> &EngineHandle {
        match &self.plane {
            Plane::Running(engine) | Plane::Waiting(engine, _) => engine,
        }
    }

    /// The state; see the type on what it says and what it does not.
    #[must_use]
    pub const fn state(&self) -> &RuntimeState {
        &self.state
    }

    /// Here, to go back to.
    #[must_use]
    pub const fn mark(&self) -> Mark {
        Mark {
            undone: self.undone.len(),
            pending: self.pending.len(),
        }
    }

    /// Makes one change in the copy; the data plane sees it after [`Control::commit`].
    ///
    /// # Errors
    /// [`StateError`] if the state refuses; nothing has changed then.
    pub fn stage(&mut self, change: Change) -> Result<(), StateError> {
        match &change {
            Change::State(update) => {
                let now = self.engine().now();
                self.undone
                    .push(self.state.apply_undoable(update.clone(), now)?);
            }
            Change::DirectCounter(table, name, _) | Change::DirectMeter(table, name, _) => {
                find(self.state.table(*table)?, name)?;
            }
        }
        self.pending.push(change);
        Ok(())
    }

    /// Takes back everything staged since a mark.
    pub fn roll_back(&mut self, mark: Mark) {
        let now = self.engine().now();
        for undone in self.undone.drain(mark.undone..).rev() {
            self.state.undo(undone, now);
        }
        self.pending.truncate(mark.pending);
    }

    /// Hands all staged changes to the data plane, between two packets, and returns when they are in force.
    ///
    /// # Errors
    /// [`EngineError`] if there is no data plane any more.
    pub fn commit(&mut self) -> Result<(), EngineError> {
        self.undone.clear();
        if self.pending.is_empty() {
            return Ok(());
        }
        let changes = std::mem::take(&mut self.pending);
        match &mut self.plane {
            Plane::Running(engine) => {
                engine.visit(move |state, now| make_all(state, changes, now))?;
            }
            Plane::Waiting(engine, executor) => {
                let executor = executor.get_mut().unwrap_or_else(PoisonError::into_inner);
                make_all(executor.state_mut(), changes, engine.now());
            }
        }
        Ok(())
    }

    /// Looks at the state that packets change, between two of them.
    ///
    /// # Errors
    /// [`EngineError`] if there is no data plane any more.
    pub fn visit<R: Send + 'static>(
        &self,
        look: impl FnOnce(&RuntimeState, Nanos) -> R + Send + 'static,
    ) -> Result<R, EngineError> {
        match &self.plane {
            Plane::Running(engine) => engine.visit(|state, now| look(state, now)),
            Plane::Waiting(engine, executor) => {
                let executor = executor.lock().unwrap_or_else(PoisonError::into_inner);
                Ok(look(executor.state(), engine.now()))
            }
        }
    }

    /// What packets did to some entries of a table; nothing for entries that are gone.
    ///
    /// # Errors
    /// [`EngineError`] if there is no data plane any more.
    pub fn entry_data(
        &self,
        table: TableId,
        names: Vec<EntryName>,
    ) -> Result<Vec<EntryData>, EngineError> {
        self.visit(move |state, now| {
            let data = |name: &EntryName| {
                let table = state.table(table).ok()?;
                let entry = table.entry(find(table, name).ok()?)?;
                Some(EntryData {
                    counter: entry.counter,
                    meter: entry.meter.config(),
                    since_hit: Nanos::new(now.get().saturating_sub(entry.last_hit.get())),
                })
            };
            names
                .iter()
                .map(|name| data(name).unwrap_or_default())
                .collect()
        })
    }
}
