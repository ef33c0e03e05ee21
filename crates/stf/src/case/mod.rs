//! The Simple Test Framework: statements of a case file.
//!
//! The format is p4c's (`tools/stf`), one statement a line, `#` begins a comment, keywords in any
//! case:
//!
//! ```text
//! add TABLE [PRIORITY] KEY:MATCH ... ACTION(NAME:VALUE, ...) [= ID]
//! setdefault TABLE ACTION(NAME:VALUE, ...)
//! remove all
//! packet PORT HEX ...
//! expect PORT [HEX* ... [$]]          no_packet          wait
//! check_counter NAME(INDEX|ID) [packets|bytes ==|!=|<|<=|>|>= N]
//! mc_mgrp_create G   mc_node_create RID PORT...   mc_node_update NODE PORT...
//! mc_node_associate G NODE
//! mirroring_add S PORT   mirroring_add_mc S G   mirroring_delete S   mirroring_get S
//! counter_read NAME I   counter_write NAME I PACKETS BYTES
//! register_read NAME I   register_write NAME I VALUE   register_reset NAME
//! meter_get_rates NAME I   meter_set_rates NAME I RATE:BURST RATE:BURST
//! meter_array_set_rates NAME RATE:BURST RATE:BURST      (rates per microsecond)
//! ```
//!
//! Matches are `VALUE`, `VALUE/LEN`, `VALUE&&&MASK`, `LOW..HIGH` and numbers with `*` for digits
//! that do not matter. Statements of our own, for what p4c's format cannot say:
//!
//! ```text
//! member PROFILE ID ACTION(NAME:VALUE, ...)
//! group PROFILE ID MEMBER[:WEIGHT[@PORT]] ...       (the port is watched)
//! add TABLE ... @member(ID)      add TABLE ... @group(ID)
//! wait MILLISECONDS              port_down PORT     port_up PORT
//! check_register NAME(INDEX) == N
//! value_set NAME MATCH ...       (all that the set holds from now on; members of several fields: MATCH,MATCH)
//! check_digest NAME VALUE ...    (the oldest message not checked yet)
//! no_digest                      (no message waits)
//! check_queue PORT QUEUE         (where the last packet out of the port waited)
//! ```

mod lex;
mod number;
mod parse;

use thiserror::Error;

pub use number::Number;
pub use parse::parse;

/// What is wrong with a case file.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: {message}")]
pub struct ParseError {
    /// Line, from 1.
    pub line: usize,
    /// What was expected or found.
    pub message: String,
}

/// A case file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Case {
    /// Statements with their lines, from 1.
    pub statements: Vec<(usize, Statement)>,
}

/// How an entry matches a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Match {
    /// A value, possibly with digits that do not matter.
    Value(Number),
    /// `value/len`.
    Prefix(Number, u32),
    /// `value&&&mask`.
    Mask(Number, Number),
    /// `low..high`.
    Range(Number, Number),
}

/// An action with named arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionText {
    /// Its name, or the end of it.
    pub name: String,
    /// Arguments by parameter name.
    pub args: Vec<(String, Number)>,
}

/// What an entry does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryText {
    /// An action.
    Action(ActionText),
    /// A member of the table's profile.
    Member(u32),
    /// A group of the table's profile.
    Group(u32),
}

/// What `check_counter` compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CounterPart {
    /// Packets.
    Packets,
    /// Bytes.
    Bytes,
}

/// A comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Comparison {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

impl std::fmt::Display for Comparison {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Eq => "==",
            Self::Ne => "!=",
            Self::Lt => "<",
            Self::Le => "<=",
            Self::Gt => ">",
            Self::Ge => ">=",
        })
    }
}

impl Comparison {
    /// Whether it holds.
    #[must_use]
    pub const fn holds(self, a: u64, b: u64) -> bool {
        match self {
            Self::Eq => a == b,
            Self::Ne => a != b,
            Self::Lt => a < b,
            Self::Le => a <= b,
            Self::Gt => a > b,
            Self::Ge => a >= b,
        }
    }
}

/// A cell of a counter: by index, or, of a direct counter, by the name given to an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CellName {
    /// An index.
    Index(usize),
    /// An entry's name.
    Entry(String),
}

/// A rate per microsecond, and a burst.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// Units per second.
    pub per_second: u64,
    /// Units.
    pub burst: u64,
}

impl Eq for Rate {}

/// An expected packet: hexadecimal digits, `*` for any, and whether nothing may follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// Digits in upper case, and `*`.
    pub digits: String,
    /// Whether the packet ends where the digits do.
    pub exact_length: bool,
}

/// A member of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupMemberText {
    /// Its number.
    pub member: u32,
    /// Its weight.
    pub weight: u32,
    /// The port it watches.
    pub watch_port: Option<u16>,
}

/// A statement.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Statement {
    Add {
        table: String,
        priority: Option<i32>,
        key: Vec<(String, Match)>,
        action: EntryText,
        id: Option<String>,
    },
    SetDefault {
        table: String,
        action: ActionText,
    },
    RemoveAll,
    Packet {
        port: u16,
        bytes: Vec<u8>,
    },
    /// Without a pattern: one packet of any content.
    Expect {
        port: u16,
        pattern: Option<Pattern>,
    },
    NoPacket,
    Wait {
        milliseconds: u64,
    },
    CheckCounter {
        counter: String,
        cell: CellName,
        check: Option<(CounterPart, Comparison, u64)>,
    },
    CheckRegister {
        register: String,
        index: usize,
        comparison: Comparison,
        value: u64,
    },
    MulticastGroup {
        group: u16,
    },
    MulticastNode {
        rid: u16,
        ports: Vec<u16>,
    },
    MulticastNodeUpdate {
        node: usize,
        ports: Vec<u16>,
    },
    MulticastAssociate {
        group: u16,
        node: usize,
    },
    Mirror {
        session: u32,
        port: u16,
    },
    MirrorGroup {
        session: u32,
        group: u16,
    },
    MirrorDelete {
        session: u32,
    },
    MirrorGet {
        session: u32,
    },
    CounterRead {
        counter: String,
        index: usize,
    },
    CounterWrite {
        counter: String,
        index: usize,
        packets: u64,
        bytes: u64,
    },
    RegisterRead {
        register: String,
        index: usize,
    },
    RegisterWrite {
        register: String,
        index: usize,
        value: Number,
    },
    RegisterReset {
        register: String,
    },
    MeterGetRates {
        meter: String,
        index: usize,
    },
    /// `index` is `None` for the whole array.
    MeterSetRates {
        meter: String,
        index: Option<usize>,
        rates: Vec<Rate>,
    },
    Member {
        profile: String,
        id: u32,
        action: ActionText,
    },
    Group {
        profile: String,
        id: u32,
        members: Vec<GroupMemberText>,
    },
    Port {
        port: u16,
        up: bool,
    },
    ValueSet {
        set: String,
        members: Vec<Vec<Match>>,
    },
    CheckDigest {
        digest: String,
        values: Vec<Number>,
    },
    NoDigest,
    CheckQueue {
        port: u16,
        queue: u8,
    },
}
