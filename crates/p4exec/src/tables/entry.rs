//! What a table is made of: actions, entries, its fixed part, and why it refuses an operation.

use std::fmt;

use p4ir::ActionId;
use quantities::Nanos;
use thiserror::Error;

use super::Slot;
use super::key::{FieldMatch, KeyError, KeyField};
use crate::externs::counter::CounterCell;
use crate::externs::meter::MeterConfig;
use crate::value::Bits;

/// A member of an action profile, numbered by the control plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MemberId(pub u32);

/// A group of an action profile, numbered by the control plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupId(pub u32);

/// An action with its arguments.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ActionCall {
    /// Which action.
    pub action: ActionId,
    /// One value per control-plane parameter, each of its parameter's width.
    pub args: Vec<Bits>,
}

/// One action of a one-shot selector.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WeightedCall {
    /// What to do.
    pub call: ActionCall,
    /// The share of packets, relative to the other weights; at least 1.
    pub weight: u32,
    /// If given, the member counts only while this port is up.
    pub watch_port: Option<quantities::PortId>,
}

/// What an entry does when it wins. `C` is a call of an action: by the program's numbers for the
/// executor, by names before they are looked up. `S` is a one-shot set; `Infallible` where there is
/// none.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum EntryAction<C = ActionCall, S = Vec<WeightedCall>> {
    /// Runs an action.
    Call(C),
    /// Runs the action of a member of the table's action profile.
    Member(MemberId),
    /// Runs the action of a member that the selector picks from a group.
    Group(GroupId),
    /// Runs one action of a set, picked by the selector.
    OneShot(S),
}

/// How entries of one table rank when several match: the largest wins, as in P4Runtime.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryPriority(pub i32);

/// Names an entry of one table while it exists; handles of deleted entries are used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryHandle(pub Slot);

impl fmt::Display for EntryHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

/// An entry to be inserted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEntry {
    /// One match per key field.
    pub key: Vec<FieldMatch>,
    /// Ignored by tables whose entries have none.
    pub priority: EntryPriority,
    /// What the entry does.
    pub action: EntryAction,
    /// Whether the program itself declares it `const`.
    pub is_const: bool,
    /// What else the control plane says about it.
    pub options: EntryOptions,
}

/// What a control plane may say about an entry besides key and action.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EntryOptions {
    /// The controller's own note, kept and returned.
    pub controller_metadata: Vec<u8>,
    /// Reported idle after this long without a hit, if not zero.
    pub idle_timeout: Nanos,
    /// The direct counter's first value; zero (or, on a change, as it was) if not given.
    pub counter: Option<CounterCell>,
    /// The direct meter's configuration; none (or, on a change, as it was) if not given.
    pub meter: Option<Option<MeterConfig>>,
}

/// An installed entry, as the control plane sees it. Counters, meters and times are in the data
/// part of the state ([`crate::state::TableCells`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// One canonical match per key field.
    pub key: Vec<FieldMatch>,
    /// Zero in tables whose entries have none.
    pub priority: EntryPriority,
    /// What the entry does.
    pub action: EntryAction,
    /// Whether the program itself declares it `const`.
    pub is_const: bool,
    /// The controller's own note, kept and returned.
    pub controller_metadata: Vec<u8>,
    /// Reported idle after this long without a hit, if not zero.
    pub idle_timeout: Nanos,
}

/// An action as a table offers it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionSpec {
    /// Which action.
    pub id: ActionId,
    /// Its name, for messages.
    pub name: String,
    /// Widths of its control-plane parameters.
    pub params: Vec<u32>,
    /// Whether entries may use it (not `@defaultonly`).
    pub in_entries: bool,
    /// Whether it may be the default action (not `@tableonly`).
    pub as_default: bool,
}

/// The fixed part of a table, from the program.
#[derive(Clone, Debug)]
pub struct TableSpec {
    /// The control-plane name.
    pub name: String,
    /// Key fields in order.
    pub keys: Vec<KeyField>,
    /// Actions the table offers.
    pub actions: Vec<ActionSpec>,
    /// The action of a miss; `None` does nothing.
    pub default_action: Option<ActionCall>,
    /// Whether that action is `const`.
    pub const_default: bool,
    /// Whether the entries are `const`: the control plane may not touch them.
    pub const_entries: bool,
    /// The most entries, if the program says.
    pub size: Option<usize>,
    /// Whether entries name members or groups of an action profile instead of actions.
    pub indirect: bool,
}

impl TableSpec {
    /// A table whose entries name members or groups of an action profile; a miss does nothing.
    #[must_use]
    pub fn of_profile(name: &str, keys: Vec<KeyField>) -> Self {
        Self {
            name: name.to_owned(),
            keys,
            actions: Vec::new(),
            default_action: None,
            const_default: false,
            const_entries: false,
            size: None,
            indirect: true,
        }
    }
}

/// Why a table refuses an operation.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TableError {
    /// The key does not fit the table.
    #[error("table `{table}`: {source}")]
    Key {
        /// The table.
        table: String,
        /// What is wrong.
        source: KeyError,
    },
    /// The table does not offer the action, or not in this place.
    #[error("table `{table}` does not allow action {action} {place}")]
    ActionNotAllowed {
        /// The table.
        table: String,
        /// The action.
        action: ActionId,
        /// "in entries" or "as default action".
        place: &'static str,
    },
    /// The action has another number of parameters.
    #[error("table `{table}`: action `{action}` takes {expected} arguments, {given} given")]
    ArgumentCount {
        /// The table.
        table: String,
        /// The action.
        action: String,
        /// Parameters.
        expected: usize,
        /// Arguments.
        given: usize,
    },
    /// An argument is too large for its parameter.
    #[error(
        "table `{table}`: argument {index} of action `{action}` is {value}, \
         too large for {width} bits"
    )]
    ArgumentTooWide {
        /// The table.
        table: String,
        /// The action.
        action: String,
        /// Which argument, from 0.
        index: usize,
        /// Its width.
        width: u32,
        /// The argument.
        value: String,
    },
    /// A direct action in a table with an action profile, or the reverse.
    #[error("table `{table}` {0}", if *.indirect {
        "has an action profile: name a member or a group of it"
    } else {
        "has no action profile: give an action"
    })]
    Implementation {
        /// The table.
        table: String,
        /// Whether the table has a profile.
        indirect: bool,
    },
    /// There is such an entry already.
    #[error("table `{table}` already has an entry for {key} (priority {priority})")]
    Duplicate {
        /// The table.
        table: String,
        /// The key.
        key: String,
        /// The priority.
        priority: i32,
    },
    /// A packed key or action that was not made for this table. Our own bug.
    #[error("table `{table}`: the packed {what} is not of this table")]
    Foreign {
        /// The table.
        table: String,
        /// "key" or "action".
        what: &'static str,
    },
    /// There is no such entry.
    #[error("table `{table}` has no entry {entry}")]
    NotFound {
        /// The table.
        table: String,
        /// The key or the handle.
        entry: String,
    },
    /// The table is full.
    #[error("table `{table}` is full: its size is {size} entries")]
    Full {
        /// The table.
        table: String,
        /// The size the program declares.
        size: usize,
    },
    /// The program declares the entries `const`.
    #[error("the entries of table `{table}` are const: the program alone decides them")]
    ConstEntries {
        /// The table.
        table: String,
    },
    /// The program declares the default action `const`.
    #[error("the default action of table `{table}` is const")]
    ConstDefault {
        /// The table.
        table: String,
    },
}
