//! The control plane's copy of the state, and how batches of updates get from it to the data plane as a whole.

use p4exec::{RuntimeState, StateError, Update};

use super::{BoxedExecutor, EngineError, EngineHandle};

/// What to do when an update of a batch is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Atomicity {
    /// Make the others all the same.
    Continue,
    /// Make none.
    AllOrNothing,
}

/// The state as the control plane sees it. Entries, profiles, replication and value sets are always those that the data plane
/// has after the last committed batch; counters, meters, registers and hit times here mean nothing, ask the data plane for them.
pub struct Control {
    engine: EngineHandle,
    state: RuntimeState,
    pending: Vec<Update>,
}

impl Control {
    /// Runs a new executor from now on and becomes the copy of its state.
    ///
    /// # Errors
    /// [`EngineError::Stopped`].
    pub fn launch(engine: &EngineHandle, executor: BoxedExecutor) -> Result<Self, EngineError> {
        let mut control = Self::prepare(engine, &executor);
        control.pending.clear();
        engine.replace(executor)?;
        Ok(control)
    }

    /// The copy for an executor that does not run yet.
    #[must_use]
    pub fn prepare(engine: &EngineHandle, executor: &BoxedExecutor) -> Self {
        Self {
            engine: engine.clone(),
            state: executor.state().clone(),
            pending: Vec::new(),
        }
    }

    /// The state; see the type on what it says and what it does not.
    #[must_use]
    pub const fn state(&self) -> &RuntimeState {
        &self.state
    }

    /// Makes one change in the copy; the data plane sees it after [`Control::commit`].
    ///
    /// # Errors
    /// [`StateError`] if the state refuses; nothing has changed then.
    pub fn stage(&mut self, update: Update) -> Result<(), StateError> {
        self.state.apply(update.clone(), self.engine.now())?;
        self.pending.push(update);
        Ok(())
    }

    /// Hands all staged changes to the data plane, between two packets, and returns when they are in force.
    ///
    /// # Errors
    /// [`EngineError`] if there is no data plane any more.
    pub fn commit(&mut self) -> Result<(), EngineError> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let updates = std::mem::take(&mut self.pending);
        let applied = self
            .engine
            .visit(move |state, now| state.apply_batch(updates, now))?;
        if let Err((index, error)) = applied {
            // The copy accepted it and both are the same, so this cannot be.
            tracing::error!(index, %error, "the data plane refused what its copy accepted");
        }
        Ok(())
    }
}
