//! Everything that outlives a packet, in two parts: what the control plane decides
//! ([`ControlState`]: tables, profiles, replication, value sets, hash algorithms) and what packets
//! change ([`DataState`]: counters, meters, registers, times, digests, random numbers, ports).
//!
//! A [`RuntimeState`] is made from a program (with its initial entries) and changed by
//! [`Update`]s, one at a time or all or nothing ([`RuntimeState::apply_batch`]). Both executors
//! run on the same state, so what the control plane sees does not depend on which one runs.
//!
//! A switch that must not stop for updates keeps a second copy of the control part: it runs a
//! [`Transaction`] there ([`ControlState::begin`]), gives the copy and the [`Delta`] to whoever
//! runs packets ([`RuntimeState::swap_control`], between two packets), and replays the delta on the
//! copy it gets back ([`Delta::replay`]). Slots are the same in both copies at all times.

mod build;
mod control;
mod data;
mod replication;
mod transaction;
mod update;

use std::sync::Arc;

use p4ir::{ActionId, ExternId, TableId, ValidProgram, ValueSetId};
use quantities::PortId;
use thiserror::Error;

use crate::externs::counter::CounterArray;
use crate::externs::meter::MeterArray;
use crate::externs::register::RegisterArray;
use crate::tables::key::KeyError;
use crate::tables::profile::ProfileError;
use crate::tables::{ActionProfile, Table, TableError};
use crate::value::Bits;

pub(crate) use build::check_main;
pub use build::{BuildError, MAX_STATE_BYTES};
pub(crate) use build::{const_bits, described_crc, hash_algorithm};
pub use control::{ControlState, ExternConfig, ProfileState, ValueSetState};
pub(crate) use data::entry_cell;
pub use data::{DataState, ExternState, TableCells};
pub use replication::{CloneSession, Copies, Replica, Replication};
pub use transaction::{Delta, Mark, Transaction};
pub use update::{EntryRef, Update};

/// Why the state refuses an operation. The caller's input is wrong, or the program forbids it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum StateError {
    /// A table refuses.
    #[error(transparent)]
    Table(#[from] TableError),
    /// A profile refuses.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// A value set's member does not fit.
    #[error("value set `{name}`: {source}")]
    ValueSetKey {
        /// The value set.
        name: String,
        /// What is wrong.
        source: KeyError,
    },
    /// A value set is too small.
    #[error("value set `{name}` holds at most {size} members, {given} given")]
    ValueSetFull {
        /// The value set.
        name: String,
        /// Its size.
        size: usize,
        /// Members given.
        given: usize,
    },
    /// The handle is not of this program, or is another kind of thing.
    #[error("there is no {what} {id} in this program")]
    NoSuch {
        /// E.g. "counter".
        what: &'static str,
        /// Its handle.
        id: String,
    },
    /// An index beyond the array.
    #[error("index {index} is beyond the {size} cells of `{name}`")]
    Index {
        /// The array.
        name: String,
        /// The index.
        index: usize,
        /// Cells.
        size: usize,
    },
    /// No such multicast group or clone session.
    #[error("there is no {what} {id}")]
    NoReplication {
        /// "multicast group" or "clone session".
        what: &'static str,
        /// Its number.
        id: u32,
    },
    /// Group 0 means "no multicast".
    #[error("multicast group 0 cannot be used: 0 means no multicast")]
    GroupZero,
}

/// See the module documentation.
#[derive(Clone, Debug)]
pub struct RuntimeState {
    /// What the control plane decides. Executors that run packets beside each other share it; who
    /// changes it alone has it alone, and copies nothing.
    pub control: Arc<ControlState>,
    /// What packets change.
    pub data: DataState,
}

impl RuntimeState {
    /// The state of another executor that runs packets beside this one's, under the same control
    /// part: its counters start at zero.
    #[must_use]
    pub fn beside(&self) -> Self {
        Self {
            control: Arc::clone(&self.control),
            data: self.data.beside(),
        }
    }

    /// What an executor has while its state is elsewhere: nothing. It can run no packet with it.
    #[must_use]
    pub fn absent(program: Arc<ValidProgram>) -> Self {
        Self {
            control: Arc::new(ControlState::empty(program)),
            data: DataState::new(Vec::new(), Vec::new()),
        }
    }

    /// The program this is the state of.
    #[must_use]
    pub fn program(&self) -> &Arc<ValidProgram> {
        self.control.program()
    }

    /// A table.
    ///
    /// # Errors
    /// [`StateError::NoSuch`].
    pub fn table(&self, id: TableId) -> Result<&Table, StateError> {
        self.control.table(id)
    }

    /// All tables in program order.
    pub fn tables(&self) -> impl Iterator<Item = (TableId, &Table)> {
        self.control.tables()
    }

    /// The table of a control-plane name.
    #[must_use]
    pub fn table_named(&self, name: &str) -> Option<TableId> {
        self.control.table_named(name)
    }

    /// The action of a control-plane name.
    #[must_use]
    pub fn action_named(&self, name: &str) -> Option<ActionId> {
        self.control.action_named(name)
    }

    /// The extern object of a control-plane name.
    #[must_use]
    pub fn extern_named(&self, name: &str) -> Option<ExternId> {
        self.control.extern_named(name)
    }

    /// An extern object's cells.
    #[must_use]
    pub fn extern_state(&self, id: ExternId) -> Option<&ExternState> {
        self.data.extern_state(id)
    }

    /// What the control part knows of an extern object.
    #[must_use]
    pub fn extern_config(&self, id: ExternId) -> Option<&ExternConfig> {
        self.control.extern_config(id)
    }

    /// An indexed counter.
    ///
    /// # Errors
    /// [`StateError::NoSuch`].
    pub fn counter(&self, id: ExternId) -> Result<&CounterArray, StateError> {
        self.data.counter(id)
    }

    /// An indexed meter.
    ///
    /// # Errors
    /// [`StateError::NoSuch`].
    pub fn meter(&self, id: ExternId) -> Result<&MeterArray, StateError> {
        self.data.meter(id)
    }

    /// A register array.
    ///
    /// # Errors
    /// [`StateError::NoSuch`].
    pub fn register(&self, id: ExternId) -> Result<&RegisterArray, StateError> {
        self.data.register(id)
    }

    /// An action profile.
    ///
    /// # Errors
    /// [`StateError::NoSuch`].
    pub fn profile(&self, id: ExternId) -> Result<&ActionProfile, StateError> {
        self.control.profile(id)
    }

    /// A value set.
    ///
    /// # Errors
    /// [`StateError::NoSuch`].
    pub fn value_set(&self, id: ValueSetId) -> Result<&ValueSetState, StateError> {
        self.control.value_set(id)
    }

    /// Multicast groups and clone sessions.
    #[must_use]
    pub fn replication(&self) -> &Replication {
        &self.control.replication
    }

    /// The cells of a table's entries.
    ///
    /// # Errors
    /// [`StateError::NoSuch`].
    pub fn cells(&self, id: TableId) -> Result<&TableCells, StateError> {
        let cells = self.data.cells(id);
        cells.ok_or_else(|| control::no_such("table", id))
    }

    /// Says that a port went up or down: [`DataState::set_port_up`].
    pub fn set_port_up(&mut self, port: PortId, up: bool) {
        self.data.set_port_up(port, up);
    }

    /// Says that the switch has the ports below `count` only; until then it has all.
    pub const fn set_port_count(&mut self, count: u16) {
        self.data.set_port_count(count);
    }

    /// The port status as a bit string: [`DataState::port_status`].
    #[must_use]
    pub fn port_status(&self, width: u32) -> Bits {
        self.data.port_status(width)
    }
}
