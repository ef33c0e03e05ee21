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

use ::entries::MatchKind;
use ::entries::catalog::match_kind;
use p4runtime::p4::config::v1::Table;
use p4runtime::{BytestringError, NameError, P4InfoIndex, TextError};

pub mod bfrt;
pub mod commands;
mod device_ports;
mod notation;
mod request_text;
mod rows;
pub mod runtime_json;
#[cfg(test)]
mod tests;
pub mod value_text;
pub mod write_request;
pub(crate) mod writer;

pub use ::entries::{
    Bits, Bytestring, Catalog, CloneSession, EntryAction, EntryError, FieldMatch, Group, GroupId,
    Key, Member, MemberId, MulticastGroup, Name, NamedAction, NamedCall, Replica, SwitchEntries,
    TableEntry,
};
pub use device_ports::DevicePorts;
pub(crate) use device_ports::Ports;
pub use notation::Notation;
pub use rows::{Row, RowKind, rows, rows_for_people};

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

/// A name that the program does not have, with its place.
fn named(at: impl Into<String>, source: NameError) -> EntriesError {
    ::entries::Problem::from(source).at(at).into()
}

/// Whether entries of the table have a priority.
fn has_priority(table: &Table) -> bool {
    let mut kinds = table.match_fields.iter().filter_map(match_kind);
    kinds.any(MatchKind::needs_priority)
}

/// Width of a match field or parameter in bits.
fn width(bitwidth: i32, what: &str) -> Result<u32, ::entries::Problem> {
    match u32::try_from(bitwidth) {
        Ok(width) if width > 0 => Ok(width),
        _ => Err(::entries::Problem::Incomplete(format!(
            "{what} has no width"
        ))),
    }
}

/// The bytes to which a clone session's packets are cut; 0 if they are not.
fn packet_length(switch: &str, id: u32, session: &CloneSession) -> Result<u16, EntriesError> {
    u16::try_from(session.truncate_to.unwrap_or(0)).map_err(|_| {
        let why = "clones are cut to 65535 bytes at most";
        let at = format!("{switch}, clone session {id}");
        ::entries::Problem::Rule(why).at(at).into()
    })
}

/// Puts entries that were read in order, and holds them against the program.
fn fitted(mut entries: SwitchEntries, info: &P4InfoIndex) -> Result<SwitchEntries, EntriesError> {
    let catalog = Catalog::of_p4info(info.info());
    catalog.arrange(&mut entries)?;
    catalog.resolve(&entries)?;
    Ok(entries)
}

/// Why entries do not fit a program, cannot be written in a format, or cannot be read from it.
#[derive(Debug, thiserror::Error)]
pub enum EntriesError {
    /// An entry does not fit the program.
    #[error(transparent)]
    Entry(#[from] EntryError),
    /// What the plan says does not fit the program or the switch.
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

/// How what a plan says does not fit the program or the switch.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// No maps say what the plan's rules say.
    #[error("maps: {0}")]
    Maps(String),
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
    /// An entry does not fit the program.
    #[error(transparent)]
    Entry(#[from] ::entries::Problem),
}

impl Problem {
    /// The layout of the program lacks something that the entry needs.
    pub(crate) fn missing(what: impl Into<String>) -> Self {
        ::entries::Problem::Incomplete(what.into()).into()
    }

    /// A value does not fit a match field or parameter of a table or action.
    pub(crate) fn value(part: &str, owner: &str, source: BytestringError) -> Self {
        let what = format!("{part} of {owner}");
        ::entries::Problem::Value { what, source }.into()
    }
}
