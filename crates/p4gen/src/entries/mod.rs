//! Table entries: from a checked plan to typed, name-based entries, and from those to every format
//! that a switch or its tools load.
//!
//! [`SwitchEntries`] is what one switch gets: entries of tables, members and groups of action
//! profiles, multicast groups, clone sessions. Names are the control plane's (P4Info), values know
//! their width, priorities are P4Runtime's (the largest wins). Four formats carry the same:
//!
//! | format | module | for |
//! |---|---|---|
//! | `entries.txtpb`, `entries.binpb` | [`write_request`] | P4Runtime: a `p4.v1.WriteRequest` as text, or in binary |
//! | `runtime.json` | [`runtime_json`] | the controller of p4lang/tutorials |
//! | `commands.txt` | [`commands`] | BMv2's `simple_switch_CLI` |
//! | `bfrt.json` | [`bfrt`] | BF Runtime (Tofino) |
//!
//! Every format has a writer and a reader, and both go through the program's P4Info: what does not
//! fit the program is an [`EntriesError`] and is never written. Reading what was written gives the
//! same entries, in the order of [`SwitchEntries::arrange`].

use std::path::Path;

use p4runtime::{BytestringError, NameError, P4InfoIndex, TextError};

pub mod bfrt;
pub mod commands;
mod device_ports;
mod model;
mod request_text;
mod resolve;
mod rows;
pub mod runtime_json;
#[cfg(test)]
mod tests;
pub mod value_text;
pub mod write_request;
pub(crate) mod writer;

pub use device_ports::DevicePorts;
pub(crate) use device_ports::Ports;
pub use model::{
    ActionCall, CloneSession, EntryAction, Group, Key, MatchValue, Member, MulticastGroup, Name,
    Replica, SwitchEntries, TableEntry,
};
pub use rows::{Row, RowKind, rows};

/// Reads entries of a file whose name tells the format: `.json` is [`runtime_json`], `.txt` is
/// [`commands`], all else [`write_request`].
///
/// # Errors
/// [`EntriesError`] if the text is not in that format, or does not fit the program.
pub fn read_named(
    name: &str,
    text: &str,
    info: &P4InfoIndex,
) -> Result<SwitchEntries, EntriesError> {
    match Path::new(name).extension().and_then(|e| e.to_str()) {
        Some("json") => runtime_json::read(name, text, info).map(|(entries, _)| entries),
        Some("txt") => commands::read(name, text, info),
        _ => write_request::read_text(name, text, info),
    }
}

/// Why entries do not fit a program, cannot be written in a format, or cannot be read from it.
#[derive(Debug, thiserror::Error)]
pub enum EntriesError {
    /// The program has no such table, key, action, parameter or profile.
    #[error("{at}: {source}")]
    Name {
        /// Where, such as "s1, entry 3 of ingress.classify".
        at: String,
        /// What is missing.
        source: NameError,
    },
    /// Something is there but does not fit the program.
    #[error("{at}: {problem}")]
    Unfit {
        /// Where.
        at: String,
        /// What does not fit.
        problem: Problem,
    },
    /// The format has no way to say this.
    #[error("{at}: {format} cannot express {what}")]
    Inexpressible {
        /// Where.
        at: String,
        /// The format.
        format: &'static str,
        /// What it cannot express.
        what: &'static str,
    },
    /// A file is not in its format.
    #[error("{at}: {problem}")]
    Syntax {
        /// File kind and line or element.
        at: String,
        /// What is wrong, and what is expected.
        problem: String,
    },
    /// The text format of a protobuf message failed.
    #[error(transparent)]
    Text(#[from] TextError),
    /// JSON failed.
    #[error("runtime.json: {0}")]
    Json(#[from] serde_json::Error),
}

/// How an entry does not fit its table, action or profile.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// No maps say what the plan's rules say.
    #[error("maps: {0}")]
    Maps(String),
    /// An exact key is left out; only it has no "don't care".
    #[error("the exact key {0} is missing")]
    ExactKeyMissing(String),
    /// A key is there twice.
    #[error("the key {0} is given twice")]
    KeyTwice(String),
    /// A key's value is of another match kind than the table's.
    #[error("the key {key} is matched {expected}, not {found}")]
    MatchKind {
        /// The key.
        key: String,
        /// The table's kind.
        expected: &'static str,
        /// The value's kind.
        found: &'static str,
    },
    /// A value is wider or narrower than the program's field or parameter.
    #[error("{what} has {expected} bits, the value {value} has {found}")]
    Width {
        /// Key or parameter.
        what: String,
        /// Bits of the program.
        expected: u32,
        /// Bits of the value.
        found: u32,
        /// The value.
        value: String,
    },
    /// A value does not fit its field or parameter.
    #[error("{what}: {source}")]
    Value {
        /// Key or parameter.
        what: String,
        /// Why not.
        source: BytestringError,
    },
    /// Bits outside prefix or mask are set, a prefix is too long, or a range ends before it starts.
    #[error("the key {key} is not in its normal form: {rule}")]
    NotNormal {
        /// The key.
        key: String,
        /// What the normal form wants.
        rule: &'static str,
    },
    /// A value that matches everything is written by leaving the key out.
    #[error("the key {0} matches everything; leave it out")]
    DontCareWritten(String),
    /// The table needs priorities, and this one is not positive.
    #[error("the table has ternary, range or optional keys, so the priority must be at least 1")]
    PriorityMissing,
    /// The table has no priorities.
    #[error("the table has only exact and LPM keys, so there is no priority")]
    PriorityUnexpected,
    /// The table does not list the action, or not for this use.
    #[error("{action} is not an action for {usage} of this table; there are: {allowed}")]
    ActionNotAllowed {
        /// The action.
        action: String,
        /// "entries" or "the default entry".
        usage: &'static str,
        /// Those that it lists.
        allowed: String,
    },
    /// A parameter has no value.
    #[error("the parameter {param} of {action} has no value")]
    ParamMissing {
        /// The action.
        action: String,
        /// The parameter.
        param: String,
    },
    /// A parameter has two values.
    #[error("the parameter {0} is given twice")]
    ParamTwice(String),
    /// The table's actions are members of a profile, or they are not.
    #[error("{0}")]
    Indirection(&'static str),
    /// A default entry has keys or a priority.
    #[error("a default entry has neither keys nor a priority")]
    DefaultWithKeys,
    /// The entry or group refers to a member or group that is not there.
    #[error("there is no {kind} {id} in {profile}")]
    NoSuchMember {
        /// "member" or "group".
        kind: &'static str,
        /// The id.
        id: u32,
        /// The profile.
        profile: String,
    },
    /// Ids of a profile's members or groups do not count from 1.
    #[error(
        "{kind}s of a profile are numbered 1, 2, 3, ... in order, for BMv2's command line numbers \
         them itself; here {expected} is due and {found} comes"
    )]
    NotNumbered {
        /// "member" or "group".
        kind: &'static str,
        /// The id that is due.
        expected: u32,
        /// The id that is there.
        found: u32,
    },
    /// A multicast group or clone session has an id that its kind cannot have, or has it twice.
    #[error("{0}")]
    Replication(&'static str),
    /// Two ports of a switch have one device port.
    #[error("ports {} and {} both have device port {device}; give each its own", ports[0], ports[1])]
    DevicePort {
        /// The ports of the plan.
        ports: [u16; 2],
        /// The device port.
        device: u16,
    },
    /// A port of a switch is that of a pipe's packet generator.
    #[error(
        "port {port} has device port {device}, which is the packet generator's; say with --device-ports which device \
         ports the switch has"
    )]
    GeneratorPort {
        /// The port of the plan.
        port: u16,
        /// The device port.
        device: u16,
    },
    /// A failover table says what the program's header or tables cannot hold.
    #[error("{0}")]
    Failover(String),
    /// Forwarding contradicts itself or is too large.
    #[error("{0}")]
    Forwarding(&'static str),
    /// A table or profile has more entries than the program gives it room.
    #[error("{what} has room for {size} and gets {count}")]
    Full {
        /// Table, profile or group.
        what: String,
        /// Room.
        size: u64,
        /// Entries, members, or members of the group.
        count: u64,
    },
    /// The P4Info itself lacks something that the entry needs.
    #[error("the program's description is incomplete: {0}")]
    P4Info(String),
}
