//! Everything that outlives a packet: tables, profiles, externs, replication, value sets, ports.
//!
//! A [`RuntimeState`] is made from a program (with its initial entries) and changed by
//! [`Update`]s, one at a time or all or nothing ([`RuntimeState::apply_batch`]). Both executors
//! run on the same state, so what the control plane sees does not depend on which one runs.

mod build;
mod replication;
mod update;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use p4ir::{ActionId, Entity as _, ExternId, TableId, ValidProgram, ValueSetId};
use thiserror::Error;
use units::PortId;

use crate::externs::counter::{CounterArray, CounterKind};
use crate::externs::digest::DigestQueue;
use crate::externs::hash::{HashAlgorithm, Hashers};
use crate::externs::meter::{MeterArray, MeterKind};
use crate::externs::random::RandomSource;
use crate::externs::register::RegisterArray;
use crate::tables::key::KeyError;
use crate::tables::profile::ProfileError;
use crate::tables::{ActionProfile, FieldMatch, GroupId, KeyLayout, MemberId, Table, TableError};
use crate::value::Bits;

pub use build::BuildError;
pub(crate) use build::{const_bits, hash_algorithm};
pub use replication::{CloneSession, Replica, Replication};
pub use update::Update;

/// The state of one extern object.
#[derive(Clone, Debug)]
pub enum ExternState {
    /// `counter`.
    Counter(CounterArray),
    /// `meter`.
    Meter(MeterArray),
    /// `register`.
    Register(RegisterArray),
    /// `action_profile` or `action_selector`.
    Profile {
        /// Members and groups.
        profile: ActionProfile,
        /// How the selector hashes.
        algorithm: HashAlgorithm,
        /// How many bits of the hash count.
        hash_width: u32,
    },
    /// `direct_counter`: its cells are in the entries of its table.
    DirectCounter(CounterKind),
    /// `direct_meter`: likewise.
    DirectMeter(MeterKind),
    /// An object without state.
    Stateless,
}

/// A parser value set.
#[derive(Clone, Debug)]
pub struct ValueSetState {
    /// The control-plane name.
    pub name: String,
    layout: KeyLayout,
    size: usize,
    members: Vec<Vec<FieldMatch>>,
}

impl ValueSetState {
    /// The members as they were set.
    #[must_use]
    pub fn members(&self) -> &[Vec<FieldMatch>] {
        &self.members
    }

    /// Whether some member matches the values.
    #[must_use]
    pub fn contains(&self, values: &[Bits]) -> bool {
        self.members
            .iter()
            .any(|m| m.iter().zip(values).all(|(m, v)| m.matches(v)))
    }
}

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
    /// The member or group is in use by entries.
    #[error("{what} of action profile `{profile}` is in use by {count} table entries")]
    InUse {
        /// The profile.
        profile: String,
        /// "member 3", say.
        what: String,
        /// How many entries name it.
        count: usize,
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

/// A member or group as entries name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ProfileRef {
    Member(MemberId),
    Group(GroupId),
}

/// See the module documentation.
#[derive(Clone, Debug)]
pub struct RuntimeState {
    program: Arc<ValidProgram>,
    tables: Vec<Table>,
    externs: Vec<ExternState>,
    value_sets: Vec<ValueSetState>,
    /// How many entries name each member and group.
    references: BTreeMap<(ExternId, ProfileRef), usize>,
    /// Multicast groups and clone sessions.
    pub replication: Replication,
    /// Hash algorithms; the custom CRCs can be set.
    pub hashers: Hashers,
    /// The generator behind `random`.
    pub random: RandomSource,
    /// Messages not yet fetched.
    pub digests: DigestQueue,
    ports_down: BTreeSet<PortId>,
    port_count: u16,
}

impl RuntimeState {
    /// The program this is the state of.
    #[must_use]
    pub const fn program(&self) -> &Arc<ValidProgram> {
        &self.program
    }

    /// A table.
    pub fn table(&self, id: TableId) -> Result<&Table, StateError> {
        let error = || StateError::NoSuch {
            what: "table",
            id: id.to_string(),
        };
        self.tables.get(id.index()).ok_or_else(error)
    }

    /// A table, for the packet path: entries' counters, meters and times.
    pub(crate) fn table_mut(&mut self, id: TableId) -> Option<&mut Table> {
        self.tables.get_mut(id.index())
    }

    /// All tables in program order.
    pub fn tables(&self) -> impl Iterator<Item = (TableId, &Table)> {
        self.tables
            .iter()
            .enumerate()
            .map(|(i, t)| (TableId::new(i), t))
    }

    /// The table of a control-plane name.
    #[must_use]
    pub fn table_named(&self, name: &str) -> Option<TableId> {
        self.program.table_by_name(name)
    }

    /// The action of a control-plane name.
    #[must_use]
    pub fn action_named(&self, name: &str) -> Option<ActionId> {
        self.program.action_by_name(name)
    }

    /// An extern object's state.
    #[must_use]
    pub fn extern_state(&self, id: ExternId) -> Option<&ExternState> {
        self.externs.get(id.index())
    }

    pub(crate) fn extern_mut(&mut self, id: ExternId) -> Option<&mut ExternState> {
        self.externs.get_mut(id.index())
    }

    /// The extern object of a control-plane name.
    #[must_use]
    pub fn extern_named(&self, name: &str) -> Option<ExternId> {
        self.program.extern_by_name(name)
    }

    /// An indexed counter.
    pub fn counter(&self, id: ExternId) -> Result<&CounterArray, StateError> {
        match self.extern_state(id) {
            Some(ExternState::Counter(counter)) => Ok(counter),
            _ => Err(StateError::NoSuch {
                what: "counter",
                id: id.to_string(),
            }),
        }
    }

    /// An indexed meter.
    pub fn meter(&self, id: ExternId) -> Result<&MeterArray, StateError> {
        match self.extern_state(id) {
            Some(ExternState::Meter(meter)) => Ok(meter),
            _ => Err(StateError::NoSuch {
                what: "meter",
                id: id.to_string(),
            }),
        }
    }

    /// A register array.
    pub fn register(&self, id: ExternId) -> Result<&RegisterArray, StateError> {
        match self.extern_state(id) {
            Some(ExternState::Register(register)) => Ok(register),
            _ => Err(StateError::NoSuch {
                what: "register",
                id: id.to_string(),
            }),
        }
    }

    /// An action profile.
    pub fn profile(&self, id: ExternId) -> Result<&ActionProfile, StateError> {
        match self.extern_state(id) {
            Some(ExternState::Profile { profile, .. }) => Ok(profile),
            _ => Err(StateError::NoSuch {
                what: "action profile",
                id: id.to_string(),
            }),
        }
    }

    /// A value set.
    pub fn value_set(&self, id: ValueSetId) -> Result<&ValueSetState, StateError> {
        let error = || StateError::NoSuch {
            what: "value set",
            id: id.to_string(),
        };
        self.value_sets.get(id.index()).ok_or_else(error)
    }

    /// Says that a port went up or down: members that watch it come and go at once, and the
    /// program's port status changes with the next packet.
    pub fn set_port_up(&mut self, port: PortId, up: bool) {
        if up {
            self.ports_down.remove(&port);
        } else {
            self.ports_down.insert(port);
        }
    }

    /// Whether a port is up. Ports are up until they are said to be down.
    #[must_use]
    pub fn is_port_up(&self, port: PortId) -> bool {
        !self.ports_down.contains(&port)
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
        for port in &self.ports_down {
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
}
